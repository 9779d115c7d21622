/* arena.h - memory of the system model, which only grows until it is freed as a whole; and the two
 * helpers that its tables share: growing an array, and sorting it without changing the order of
 * equal elements.
 */
#ifndef SB_ARENA_H
#define SB_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct arena_block;

struct arena {
	struct arena_block *block; /* the newest, the older ones behind it */
	size_t nblocks;
};

/* Zeroed, aligned for any type (and to cache lines, if all sizes are multiples of them); NULL when there is
 * no memory. @size is small (below 64 KiB). */
void *arena_alloc(struct arena *arena, size_t size);
void arena_free(struct arena *arena);

/* The capacity that an array of @count elements needs for @more; that which it has when it is enough. */
static inline size_t array_capacity(size_t capacity, size_t count, size_t more)
{
	size_t wanted = capacity ? capacity : 8;

	if (more <= capacity && count <= capacity - more)
		return capacity;
	while (wanted < count + more)
		wanted *= 2;
	return wanted;
}

/* Makes room for one more element: *array has @count elements of @size bytes, and room for *capacity.
 * Zero or -sbe_nomem. */
int array_reserve(void *array, size_t *capacity, size_t count, size_t size);
/* The same for @more elements. */
int array_grow(void *array, size_t *capacity, size_t count, size_t more, size_t size);
/* The same, where there mostly is room. */
static inline int array_reserve_more(void *array, size_t *capacity, size_t count, size_t more, size_t size)
{
	if (count <= *capacity && more <= *capacity - count)
		return 0;
	return array_grow(array, capacity, count, more, size);
}

/* Sorts @count elements of @size bytes by the uint64_t at their beginning; stable. Zero or -sbe_nomem. */
int array_sort(void *array, size_t count, size_t size);

/* In an array that is sorted so: the index of the first element whose number is above @key; @count: none is.
 */
size_t array_above(const void *array, size_t count, size_t size, uint64_t key);

#endif
