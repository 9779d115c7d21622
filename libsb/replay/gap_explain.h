/* gap_explain.h - why decoding failed, as far as the model knows, and what that means for the flow before it.
 */
#ifndef SB_GAP_EXPLAIN_H
#define SB_GAP_EXPLAIN_H

#include "replay/stream_replay.h"

/* Fills in the reason for the decoder's error, its address and its details. */
void gap_explain(struct sb_gap *gap, const struct stream_replay *replay, int errcode);

/* Whether the flow up to such an error is right: it ran into code that is known to be missing, or the address
 * comes straight from the trace. */
int gap_leaves_flow_right(const struct sb_gap *gap, const struct stream_replay *replay, int errcode);

/* How decoding goes on behind such an error. */
enum gap_resume gap_resume(const struct sb_gap *gap, const struct stream_replay *replay, int errcode);

#endif
