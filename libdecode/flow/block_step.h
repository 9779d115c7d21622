/* One block of pt_blk_next() on foot, where everything that it needs is at hand. */
#ifndef PT_BLOCK_STEP_H
#define PT_BLOCK_STEP_H

#include "flow/flow.h"

/* The block that ends where the next bit of the present TNT is used; @stop_kinds ends blocks, too, as in
 * struct pt_flow_sink. Fills *block, but for flags; the flow stands behind it, and has fetched the next unit
 * if that was the last bit. Zero: it takes more than that, and nothing was done. */
int pt_block_step(struct pt_flow *flow, uint32_t stop_kinds, struct pt_block *block);

#endif
