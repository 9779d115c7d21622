/* tools/sink/flow_filter.h - the part of flow that a sink asked for: of some CPUs, threads, times, addresses
 * or functions. What is cut out of blocks stays blocks. */
#ifndef TOOLS_SINK_FLOW_FILTER_H
#define TOOLS_SINK_FLOW_FILTER_H

#include <stdbool.h>

#include "sink/sink.h"

struct flow_filter;

/* @wanted and @context are borrowed. NULL: out of memory. */
struct flow_filter *flow_filter_new(const struct sink_filter *wanted, const struct sink_context *context);
void flow_filter_free(struct flow_filter *filter); /* NULL is fine */

/* *part is @flow itself, or what of it is wanted, until the next call; NULL: nothing. Zero or -sbe_nomem. */
int flow_filter_apply(struct flow_filter *filter, const struct sb_flow *flow, const struct sb_flow **part);

/* For who takes whole flow, and counts a part of it: @filter of the sink and @all of all sinks; each may be
 * NULL. */
struct flow_part {
	struct flow_filter *filter[2];
};

/* Before the blocks of @flow are asked for. Whether any of the flow's process is wanted. */
bool flow_part_begin(const struct flow_part *part, const struct sb_flow *flow);
/* How many instructions of @block, a block of @flow, are wanted. */
uint32_t flow_part_count(const struct flow_part *part, const struct sb_flow *flow,
                         const struct pt_run_block *block);

/* By CPU, process and time, as far as they are known. */
bool flow_filter_wants_gap(const struct flow_filter *filter, const struct sb_gap *gap);

/* Likewise, as flow. */
bool flow_filter_wants_event(struct flow_filter *filter, const struct sb_flow_event *event);

#endif
