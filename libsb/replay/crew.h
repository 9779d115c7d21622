/* crew.h - a replay on several threads.
 *
 * Workers take the pieces of the plan in order, and each decodes its own as if decoding had begun there. When
 * it comes to where the next piece begins, it compares (joint.h): if whoever took that piece began just as
 * this one goes on, this one is done with its own; else it goes on, and what the other did is dropped. So
 * what comes out is what one decoder gives that goes from the beginning to the end, whatever the number of
 * workers and the size of pieces. The calling thread hands it out in order.
 *
 * Memory is bounded: only so many pieces wait in line, with only so much flow. The worker of the first piece
 * in line may always go on, so that nobody waits forever.
 */
#ifndef SB_CREW_H
#define SB_CREW_H

#include "replay/plan.h"

/* Replays all streams with @jobs workers into @ledger, whose sink is called by the calling thread alone.
 * Zero or a negative code; positive: nothing was done, as no thread can be had. */
int crew_replay(const struct replay_world *world, struct ledger *ledger, unsigned int jobs,
                uint64_t piece_size, struct sb_error *err);

/* How many workers are of use for so many bytes of trace. @jobs: as wanted, 0: one for each CPU. */
unsigned int crew_size(unsigned int jobs, uint64_t bytes, uint64_t piece_size);

#endif
