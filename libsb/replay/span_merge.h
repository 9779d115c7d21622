/* span_merge.h - hands out what the spans of a recording hold, in the order of a replay. */
#ifndef SB_SPAN_MERGE_H
#define SB_SPAN_MERGE_H

#include "replay/span_strand.h"

struct span_merge_order {
	int by_time; /* from stream .first_cpu on, see struct sb_replay_options */
	size_t first_cpu;
};

/* @sums: which of the ways in which flow was added up (enum sb_sums). Zero or a negative code. */
int span_merge(const struct replay_world *world, const struct sb_span_source *source, struct ledger *ledger,
               struct span_merge_order order, unsigned int sums, struct sb_error *err);

#endif
