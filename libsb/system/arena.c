/* arena.c - see arena.h. */
#include "system/arena.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <sb/error.h>

#include "bisect.h"
#include "system/aligned_map.h"

enum {
	CACHE_LINE = 64,
	BLOCK_SIZE = 256 * 1024, /* of the first ones */
	FIRST_BLOCKS = 16,
	ALIGNMENT = 16
};

struct arena_block {
	struct arena_block *next;
	size_t used, size; /* of bytes */
	int is_mapped;
	_Alignas(CACHE_LINE) uint8_t bytes[];
};

/* Of a large model, nearly everything that is looked at is somewhere else: in few huge pages, the processor
 * finds it sooner, and the system has fewer to give. */
static struct arena_block *map_block(void)
{
	struct arena_block *block = aligned_map(ALIGNED_MAP_HUGE);

	if (!block)
		return NULL;
	(void)madvise(block, ALIGNED_MAP_HUGE, MADV_HUGEPAGE);
	block->size = ALIGNED_MAP_HUGE - sizeof(*block);
	block->is_mapped = 1;
	return block;
}

static struct arena_block *allocate_block(void)
{
	struct arena_block *block = aligned_alloc(CACHE_LINE, BLOCK_SIZE);

	if (!block)
		return NULL;
	block->size = BLOCK_SIZE - sizeof(*block);
	block->is_mapped = 0;
	return block;
}

static struct arena_block *add_block(struct arena *arena)
{
	struct arena_block *block = arena->nblocks < FIRST_BLOCKS ? NULL : map_block();

	if (!block)
		block = allocate_block();
	if (!block)
		return NULL;
	block->next = arena->block;
	block->used = 0;
	arena->block = block;
	arena->nblocks += 1;
	return block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	struct arena_block *block = arena->block;
	void *memory;

	size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	if (size > BLOCK_SIZE - sizeof(*block))
		return NULL;
	if (!block || block->size - block->used < size) {
		block = add_block(arena);
		if (!block)
			return NULL;
	}
	memory = block->bytes + block->used;
	block->used += size;
	/* What was mapped is zero, and is not used again. */
	return block->is_mapped ? memory : memset(memory, 0, size);
}

void arena_free(struct arena *arena)
{
	while (arena->block) {
		struct arena_block *next = arena->block->next;

		if (arena->block->is_mapped)
			munmap(arena->block, ALIGNED_MAP_HUGE);
		else
			free(arena->block);
		arena->block = next;
	}
	arena->nblocks = 0;
}

int array_grow(void *array, size_t *capacity, size_t count, size_t more, size_t size)
{
	const size_t wanted = array_capacity(*capacity, count, more);
	void *bytes;

	if (wanted == *capacity)
		return 0;
	memcpy(&bytes, array, sizeof(bytes));
	bytes = reallocarray(bytes, wanted, size);
	if (!bytes)
		return -sbe_nomem;
	memcpy(array, &bytes, sizeof(bytes));
	*capacity = wanted;
	return 0;
}

int array_reserve(void *array, size_t *capacity, size_t count, size_t size)
{
	return array_reserve_more(array, capacity, count, 1, size);
}

static uint64_t time_at(const uint8_t *bytes, size_t index, size_t size)
{
	uint64_t time;

	memcpy(&time, bytes + index * size, sizeof(time));
	return time;
}

size_t array_above(const void *array, size_t count, size_t size, uint64_t key)
{
	struct bisect at = {.high = count};

	while (bisect_more(&at))
		bisect_go(&at, time_at(array, at.middle, size) <= key);
	return at.low;
}

/* Merges the sorted [begin, middle) and [middle, end) of @from into @to. */
static inline void merge(uint8_t *restrict to, const uint8_t *restrict from, size_t begin, size_t middle,
                         size_t end, size_t size)
{
	size_t left = begin, right = middle;

	for (size_t i = begin; i < end; ++i) {
		const int take_right = left == middle || (right < end && time_at(from, right, size) <
		                                                                 time_at(from, left, size));

		memcpy(to + i * size, from + (take_right ? right++ : left++) * size, size);
	}
}

/* The same for the sizes that are common: copying a known size takes an instruction or two. */
static void merge_runs(uint8_t *to, const uint8_t *from, size_t begin, size_t middle, size_t end, size_t size)
{
	switch (size) {
	case 16:
		merge(to, from, begin, middle, end, 16);
		break;
	case 24:
		merge(to, from, begin, middle, end, 24);
		break;
	case 32:
		merge(to, from, begin, middle, end, 32);
		break;
	default:
		merge(to, from, begin, middle, end, size);
		break;
	}
}

/* Where the sorted run that begins at @begin ends. */
static size_t run_end(const uint8_t *bytes, size_t begin, size_t count, size_t size)
{
	size_t end = begin + 1;

	while (end < count && time_at(bytes, end - 1, size) <= time_at(bytes, end, size))
		end += 1;
	return end;
}

/* Merges each two neighbouring runs. Returns how many are left: one when all is sorted. */
static size_t merge_pairs(uint8_t *to, const uint8_t *from, size_t count, size_t size)
{
	size_t nruns = 0;

	for (size_t begin = 0, middle, end; begin < count; begin = end) {
		middle = end = run_end(from, begin, count, size);
		if (middle < count)
			end = run_end(from, middle, count, size);
		merge_runs(to, from, begin, middle, end, size);
		nruns += 1;
	}
	return nruns;
}

/* Merges each run into what is sorted before it, moving only what it has to pass: what several CPUs recorded
 * comes in runs that overlap a little. Returns the end of what is sorted; less than @count: it was too much
 * to move. */
static size_t insert_runs(uint8_t *array, uint8_t *scratch, size_t count, size_t size)
{
	size_t end = run_end(array, 0, count, size), budget = count;

	while (end < count) {
		const size_t begin = end,
		             place = array_above(array, begin, size, time_at(array, begin, size));
		const size_t passed = begin - place;
		size_t left = 0, right = begin;

		if (passed > budget)
			break;
		budget -= passed;
		end = run_end(array, begin, count, size);
		memcpy(scratch, array + place * size, passed * size);
		/* Behind the last of those it passes, the run is in its place. */
		for (size_t to = place; left < passed; ++to) {
			const int take_right =
			        right < end && time_at(array, right, size) < time_at(scratch, left, size);

			memcpy(array + to * size,
			       take_right ? array + right++ * size : scratch + left++ * size, size);
		}
	}
	return end;
}

/* Merges neighbouring runs until there is only one. */
static void merge_all(uint8_t *array, uint8_t *scratch, size_t count, size_t size)
{
	uint8_t *from = array, *to = scratch;
	size_t nruns;

	do {
		uint8_t *swap = from;

		nruns = merge_pairs(to, from, count, size);
		from = to;
		to = swap;
	} while (nruns > 1);
	if (from != array)
		memcpy(array, from, count * size);
}

int array_sort(void *array, size_t count, size_t size)
{
	uint8_t *scratch;

	if (!count || run_end(array, 0, count, size) == count)
		return 0;
	scratch = reallocarray(NULL, count, size);
	if (!scratch)
		return -sbe_nomem;
	if (insert_runs(array, scratch, count, size) < count)
		merge_all(array, scratch, count, size);
	free(scratch);
	return 0;
}
