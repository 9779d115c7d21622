/* span_blocks.c - see span_blocks.h. */
#include "replay/span_blocks.h"

#include <stdlib.h>
#include <string.h>

#include <sb/error.h>

int span_blocks_init(struct span_blocks *blocks, int for_writing)
{
	*blocks = (struct span_blocks){.for_writing = for_writing};
	if (array_reserve(&blocks->of, &blocks->capacity, 0, sizeof(*blocks->of)) < 0)
		return -sbe_nomem;
	span_blocks_clear(blocks);
	return 0;
}

void span_blocks_fini(struct span_blocks *blocks)
{
	free(blocks->of);
	index_slots_free(&blocks->slots);
	arena_free(&blocks->lengths);
	*blocks = (struct span_blocks){0};
}

void span_blocks_clear(struct span_blocks *blocks)
{
	arena_free(&blocks->lengths);
	blocks->lengths = (struct arena){0};
	blocks->of[0] = (struct span_block){0};
	blocks->count = 1;
	blocks->last = 0;
	index_slots_clear(&blocks->slots);
}

int span_block_is(const struct span_block *known, const struct pt_run_block *block)
{
	const struct pt_run_block *is = &known->block;

	return is->ip == block->ip && is->end_ip == block->end_ip && is->ninsn == block->ninsn &&
	       is->mode == block->mode && is->iclass == block->iclass && is->flags == block->flags &&
	       memcmp(is->length, block->length, block->ninsn) == 0;
}

static uint32_t hash(const struct pt_run_block *block)
{
	return (uint32_t)((block->ip * 0x9e3779b97f4a7c15u ^ block->end_ip * 0xc2b2ae3d27d4eb4fu) >> 32);
}

uint32_t span_blocks_find(const struct span_blocks *blocks, const struct pt_run_block *block)
{
	struct index_search search = index_search(hash(block));
	uint32_t number;

	while ((number = index_slots_next(&blocks->slots, &search)))
		if (span_block_is(&blocks->of[number], block))
			break;
	return number;
}

uint32_t span_blocks_add(struct span_blocks *blocks, const struct pt_run_block *block)
{
	uint8_t *length = arena_alloc(&blocks->lengths, block->ninsn);
	const uint32_t number = blocks->count;

	if (!length || array_reserve(&blocks->of, &blocks->capacity, number, sizeof(*blocks->of)) < 0 ||
	    (blocks->for_writing && index_slots_add(&blocks->slots, hash(block), number) < 0))
		return 0;
	memcpy(length, block->length, block->ninsn);
	blocks->of[number] = (struct span_block){.block = *block};
	blocks->of[number].block.length = length;
	blocks->count += 1;
	return number;
}
