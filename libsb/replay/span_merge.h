/* span_merge.h - hands out what the spans of a recording hold, in the order of a replay. */
#ifndef SB_SPAN_MERGE_H
#define SB_SPAN_MERGE_H

#include "replay/span_strand.h"

/* @by_time: in the order of time from stream @first_cpu on, see struct sb_replay_options. Zero or a negative
 * code. */
int span_merge(const struct replay_world *world, const struct sb_span_source *source, struct ledger *ledger,
               int by_time, size_t first_cpu, struct sb_error *err);

#endif
