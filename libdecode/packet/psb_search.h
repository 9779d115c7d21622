/* Searching PSB packets, in both directions. */
#ifndef PT_PSB_SEARCH_H
#define PT_PSB_SEARCH_H

#include "intel-pt.h"

enum { pt_psb_size = 16 };

/* The first complete PSB that starts in [pos, end); NULL when there is none. */
const uint8_t *pt_psb_forward(const uint8_t *pos, const uint8_t *end);

/* The last complete PSB that ends at or before @pos and starts at or after @begin; NULL when there is none. */
const uint8_t *pt_psb_backward(const uint8_t *pos, const uint8_t *begin);

/* Whether a complete PSB starts at @pos. */
int pt_psb_at(const uint8_t *pos, const uint8_t *end);

#endif
