/* tools/count/vector.h - arrays that grow. */
#ifndef TOOLS_COUNT_VECTOR_H
#define TOOLS_COUNT_VECTOR_H

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

#endif
