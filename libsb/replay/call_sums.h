/* call_sums.h - calls of a span added up: what ran in which call stack, not in which order.
 *
 * A span does not know what is on the stacks that its threads came with. But what happens above a frame, from
 * calls to where they return, is the same whatever is below it: there, the stacks' engine runs as it will
 * where all is known, and says before each step that depends on more (sb_calls.cut). What was added up so far
 * is written then, with the frames that it got to, and after it the blocks of such a step, which whoever
 * knows the whole stack does himself (call_take.c): an item is a flow with these blocks, and what came behind
 * them.
 *
 * Who called whom is added up over all items: only what the frame below called belongs to one (call_edges.h).
 *
 * What a thread did before, and what it does behind others, is one as long as it was on no other CPU
 * meanwhile (elsewhere.h): threads of one CPU take turns. Their items are written in the order in which they
 * began, many at a time.
 */
#ifndef SB_CALL_SUMS_H
#define SB_CALL_SUMS_H

#include "replay/span_write.h"
#include "replay/walker.h"

struct call_sums;

/* @what: of sb_sums_stacks. Zero or -sbe_nomem. The world has symbols. */
int call_sums_new(struct call_sums **sums, struct span_writer *writer, const struct replay_world *world,
                  unsigned int what);
void call_sums_free(struct call_sums *sums); /* NULL is fine */

int call_sums_add(struct call_sums *sums, const struct sb_flow *flow);
/* The CPU may have switched: the thread that comes next may have been elsewhere. */
void call_sums_pass(struct call_sums *sums);
/* Writes all: what comes is begun anew. */
int call_sums_flush(struct call_sums *sums);

#endif
