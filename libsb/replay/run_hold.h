/* run_hold.h - what the decoder gives goes to the ledger, each part under the name of whoever executed it.
 */
#ifndef SB_RUN_HOLD_H
#define SB_RUN_HOLD_H

#include "replay/stream_replay.h"

/* A run that the decoder just gave. What is not proven to have run is left out; where the kernel is seen
 * switching, the observer learns of it. Zero or a negative code. */
int run_hold(struct stream_replay *replay, const struct pt_run *run);

#endif
