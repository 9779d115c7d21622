/* arena.c - see arena.h. */
#include "system/arena.h"

#include <stdlib.h>
#include <string.h>

#include <sb/error.h>

enum { BLOCK_SIZE = 256 * 1024, ALIGNMENT = 16 };

struct arena_block {
	struct arena_block *next;
	size_t used;
	_Alignas(ALIGNMENT) uint8_t bytes[BLOCK_SIZE];
};

void *arena_alloc(struct arena *arena, size_t size)
{
	struct arena_block *block = arena->block;
	void *memory;

	size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	if (size > BLOCK_SIZE)
		return NULL;
	if (!block || BLOCK_SIZE - block->used < size) {
		block = malloc(sizeof(*block));
		if (!block)
			return NULL;
		block->next = arena->block;
		block->used = 0;
		arena->block = block;
	}
	memory = block->bytes + block->used;
	block->used += size;
	return memset(memory, 0, size);
}

void arena_free(struct arena *arena)
{
	while (arena->block) {
		struct arena_block *next = arena->block->next;

		free(arena->block);
		arena->block = next;
	}
}

int array_reserve(void *array, size_t *capacity, size_t count, size_t size)
{
	void *bytes;
	size_t more;

	if (count < *capacity)
		return 0;
	more = *capacity ? 2 * *capacity : 8;
	memcpy(&bytes, array, sizeof(bytes));
	bytes = reallocarray(bytes, more, size);
	if (!bytes)
		return -sbe_nomem;
	memcpy(array, &bytes, sizeof(bytes));
	*capacity = more;
	return 0;
}

static uint64_t time_at(const uint8_t *bytes, size_t index, size_t size)
{
	uint64_t time;

	memcpy(&time, bytes + index * size, sizeof(time));
	return time;
}

static int is_sorted(const uint8_t *bytes, size_t count, size_t size)
{
	for (size_t i = 1; i < count; ++i)
		if (time_at(bytes, i, size) < time_at(bytes, i - 1, size))
			return 0;
	return 1;
}

/* Merges the sorted [begin, middle) and [middle, end) of @from into @to. */
static void merge(uint8_t *to, const uint8_t *from, size_t begin, size_t middle, size_t end, size_t size)
{
	size_t left = begin, right = middle;

	for (size_t i = begin; i < end; ++i) {
		const int take_right = left == middle || (right < end && time_at(from, right, size) <
		                                                                 time_at(from, left, size));

		memcpy(to + i * size, from + (take_right ? right++ : left++) * size, size);
	}
}

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

int array_sort_by_time(void *array, size_t count, size_t size)
{
	uint8_t *from = array, *to, *scratch;

	if (is_sorted(array, count, size))
		return 0;
	scratch = reallocarray(NULL, count, size);
	if (!scratch)
		return -sbe_nomem;
	to = scratch;
	for (size_t width = 1; width < count; width *= 2) {
		uint8_t *swap = from;

		for (size_t i = 0; i < count; i += 2 * width)
			merge(to, from, i, min_size(i + width, count), min_size(i + 2 * width, count), size);
		from = to;
		to = swap;
	}
	if (from != array)
		memcpy(array, from, count * size);
	free(scratch);
	return 0;
}
