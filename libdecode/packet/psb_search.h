/* Searching PSB packets, in both directions. */
#ifndef PT_PSB_SEARCH_H
#define PT_PSB_SEARCH_H

#include "intel-pt.h"

enum { pt_psb_size = 16 };

/* The first complete PSB in [pos, end); NULL when there is none. Of a row of the pattern that is longer
 * than a PSB, the last 16 bytes count: what is before them is the end of another packet. */
const uint8_t *pt_psb_forward(const uint8_t *pos, const uint8_t *end);

/* The last complete PSB in [begin, pos); NULL when there is none. */
const uint8_t *pt_psb_backward(const uint8_t *pos, const uint8_t *begin);

/* Whether a complete PSB starts at @pos. */
int pt_psb_at(const uint8_t *pos, const uint8_t *end);

#endif
