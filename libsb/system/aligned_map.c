/* aligned_map.c - see aligned_map.h. */
#include "system/aligned_map.h"

#include <stdint.h>
#include <sys/mman.h>

void *aligned_map(size_t size)
{
	const size_t more = size + ALIGNED_MAP_HUGE;
	uint8_t *map =
	        mmap(NULL, more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t before;

	if (map == MAP_FAILED)
		return NULL;
	/* What is too much is given back. */
	before = (ALIGNED_MAP_HUGE - (uintptr_t)map % ALIGNED_MAP_HUGE) % ALIGNED_MAP_HUGE;
	if (before)
		munmap(map, before);
	munmap(map + before + size, more - before - size);
	return map + before;
}
