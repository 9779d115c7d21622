/* lanes.h - a replay of several CPUs side by side, whose flow is handed out in the order of time.
 *
 * Each stream has a thread with a walker of its own, which goes from the stream's beginning to its end, and
 * puts what it comes to in line. The calling thread hands out what comes first of what is first in each line,
 * so it waits until there is something in each. As what is in a line does not depend on when it got there,
 * what comes out does not depend on the number of jobs.
 *
 * Memory is bounded: a thread whose line is full waits. So many threads as there are jobs decode at a time,
 * and the one that the caller waits for is among them, so nobody waits forever.
 */
#ifndef SB_LANES_H
#define SB_LANES_H

#include "replay/walker.h"

/* More streams than this are refused: each takes a thread, and memory for what it learns of the code. */
enum { LANES_MAX = 2048 };

/* Replays @count streams into @ledger, whose sink is called by the calling thread alone, with @jobs threads
 * at a time. Zero or a negative code. */
int lanes_replay(const struct replay_world *world, const struct sb_aux_stream *stream, size_t count,
                 struct ledger *ledger, unsigned int jobs, struct sb_error *err);

#endif
