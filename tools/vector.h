/* tools/vector.h - arrays that grow, and searching them. */
#ifndef TOOLS_VECTOR_H
#define TOOLS_VECTOR_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for one more element: *array has @count elements of @size bytes, and room for *room. Zero, or
 * negative: out of memory. */
static inline int vector_reserve(void *array, size_t *room, size_t count, size_t size)
{
	const size_t more = *room ? 2 * *room : 64;
	void *old, *new;

	if (count < *room)
		return 0;
	memcpy(&old, array, sizeof(old));
	new = reallocarray(old, more, size);
	if (!new)
		return -1;
	memcpy(array, &new, sizeof(new));
	*room = more;
	return 0;
}

/* Makes element @index one of *array, all of whose *count elements of @size bytes can be used: new ones are
 * zero. Zero, or negative: out of memory. */
static inline int vector_reach(void *array, size_t *count, size_t index, size_t size)
{
	const size_t wanted = 2 * index + 64;
	void *old;
	char *new;

	if (index < *count)
		return 0;
	memcpy(&old, array, sizeof(old));
	new = reallocarray(old, wanted, size);
	if (!new)
		return -1;
	memset(new + *count *size, 0, (wanted - *count) * size);
	memcpy(array, &new, sizeof(new));
	*count = wanted;
	return 0;
}

/* In an array that is sorted by the uint64_t at the beginning of each element: the index of the first one
 * whose number is not below @key; @count: none is. */
static inline size_t vector_from(const void *array, size_t count, size_t size, uint64_t key)
{
	size_t low = 0, high = count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		uint64_t number;

		memcpy(&number, (const char *)array + middle * size, sizeof(number));
		if (number < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#endif
