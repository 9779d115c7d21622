/* The common case of the walk for who only counts blocks: through short TNTs and TIPs, one after the other,
 * along ways that the count cache knows. */
#ifndef PT_FLOW_COUNT_H
#define PT_FLOW_COUNT_H

#include "flow/flow.h"

/* As pt_flow_walk_units(), but the blocks are counted in @sink. */
int pt_flow_count_units(struct pt_flow *flow, struct pt_flow_sink *sink, const uint8_t *until);

#endif
