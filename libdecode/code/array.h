/* Arrays that grow: the one place that doubles. */
#ifndef PT_ARRAY_H
#define PT_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

/* @array with room for at least @needed elements of @element bytes, at least doubled if it had to
 * grow; its new address, or NULL when memory is short (@array is then as it was). */
static inline void *pt_array_reserve(void *array, size_t *capacity, size_t needed, size_t element)
{
	size_t larger = *capacity * 2 > needed ? *capacity * 2 : needed;

	if (array && needed <= *capacity)
		return array;
	if (larger < 4)
		larger = 4;
	array = reallocarray(array, larger, element);
	if (array)
		*capacity = larger;
	return array;
}

#endif
