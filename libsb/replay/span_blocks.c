/* span_blocks.c - see span_blocks.h. */
#include "replay/span_blocks.h"

#include <stdlib.h>
#include <string.h>

#include <sb/error.h>

enum { SLOTS_LEAST = 1 << 10 };

int span_blocks_init(struct span_blocks *blocks, int for_writing)
{
	*blocks = (struct span_blocks){.nslots = for_writing ? SLOTS_LEAST : 0};
	if (for_writing)
		blocks->slot = calloc(blocks->nslots, sizeof(*blocks->slot));
	if ((for_writing && !blocks->slot) ||
	    array_reserve(&blocks->of, &blocks->capacity, 0, sizeof(*blocks->of)) < 0)
		return -sbe_nomem;
	span_blocks_clear(blocks);
	return 0;
}

void span_blocks_fini(struct span_blocks *blocks)
{
	free(blocks->of);
	free(blocks->slot);
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
	if (blocks->nslots)
		memset(blocks->slot, 0, blocks->nslots * sizeof(*blocks->slot));
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
	uint32_t slot = hash(block) & (blocks->nslots - 1);

	for (; blocks->slot[slot]; slot = (slot + 1) & (blocks->nslots - 1))
		if (span_block_is(&blocks->of[blocks->slot[slot]], block))
			return blocks->slot[slot];
	return 0;
}

static void put_slot(struct span_blocks *blocks, uint32_t number)
{
	uint32_t slot = hash(&blocks->of[number].block) & (blocks->nslots - 1);

	while (blocks->slot[slot])
		slot = (slot + 1) & (blocks->nslots - 1);
	blocks->slot[slot] = number;
}

static int grow_slots(struct span_blocks *blocks)
{
	uint32_t *bigger = calloc(2 * (size_t)blocks->nslots, sizeof(*bigger));

	if (!bigger)
		return -sbe_nomem;
	free(blocks->slot);
	blocks->slot = bigger;
	blocks->nslots *= 2;
	for (uint32_t i = 1; i < blocks->count; ++i)
		put_slot(blocks, i);
	return 0;
}

uint32_t span_blocks_add(struct span_blocks *blocks, const struct pt_run_block *block)
{
	uint8_t *length = arena_alloc(&blocks->lengths, block->ninsn);
	const uint32_t number = blocks->count;

	if (!length || array_reserve(&blocks->of, &blocks->capacity, number, sizeof(*blocks->of)) < 0 ||
	    (blocks->nslots && 2 * number >= blocks->nslots && grow_slots(blocks) < 0))
		return 0;
	memcpy(length, block->length, block->ninsn);
	blocks->of[number] = (struct span_block){.block = *block};
	blocks->of[number].block.length = length;
	blocks->count += 1;
	if (blocks->nslots)
		put_slot(blocks, number);
	return number;
}
