/* What a section cache keeps of sections that nobody uses: their mappings and block graphs, up to a limit.
 *
 * A section is in use while anyone but the cache holds a reference to it: an image, a decoder, a read.
 * When the last one lets go, the section becomes the newest of those kept; beyond the limit the oldest
 * lose their bytes and graph, and get new ones when they are used again. A section that is in use is
 * never touched, so nothing that a decoder stands in goes away.
 *
 * The keeper outlives its cache for as long as sections of the cache are in use.
 */
#ifndef PT_SECTION_KEEPER_H
#define PT_SECTION_KEEPER_H

#include "code/section.h"

/* Without a limit; NULL when memory is short. */
struct pt_keeper *pt_keeper_make(void);

/* Binds @section, which has no keeper and one reference: the cache's. */
void pt_keeper_adopt(struct pt_keeper *keeper, struct pt_section *section);

void pt_keeper_set_limit(struct pt_keeper *keeper, uint64_t limit);

/* A reference to @section for somebody who holds none, given by the cache. */
struct pt_section *pt_keeper_get(struct pt_keeper *keeper, struct pt_section *section);

/* Gives back a reference, perhaps the last one but for the cache's. */
void pt_keeper_put(struct pt_keeper *keeper, struct pt_section *section);

/* The cache goes: nothing is kept from now on. It must then put its sections, which free the keeper. */
void pt_keeper_close(struct pt_keeper *keeper);

#endif
