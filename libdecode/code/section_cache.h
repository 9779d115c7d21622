/* The section cache's inside: what an image asks it. */
#ifndef PT_SECTION_CACHE_H
#define PT_SECTION_CACHE_H

#include "code/section.h"
#include "intel-pt.h"

/* The section @isid and where it is meant to lie. The caller gets a reference of its own. Zero, or
 * -pte_bad_image when the cache has no such section. From any thread. */
int pt_iscache_lookup(struct pt_image_section_cache *iscache, int isid, struct pt_section **section,
                      uint64_t *vaddr);

/* How much of @size bytes at @vaddr fits below 2^64. */
static inline uint64_t pt_clip_to_address_space(uint64_t vaddr, uint64_t size)
{
	uint64_t room = -vaddr; /* zero stands for 2^64 */

	return room && size > room ? room : size;
}

#endif
