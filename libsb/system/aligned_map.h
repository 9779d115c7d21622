/* aligned_map.h - pages of memory from a round address on. */
#ifndef SB_ALIGNED_MAP_H
#define SB_ALIGNED_MAP_H

#include <stddef.h>

/* The size of a huge page. */
enum { ALIGNED_MAP_HUGE = 2 << 20 };

/* Private, zeroed, and not made before they are written to; the address is a multiple of ALIGNED_MAP_HUGE.
 * Ends with munmap(2). NULL: there are no more. */
void *aligned_map(size_t size);

#endif
