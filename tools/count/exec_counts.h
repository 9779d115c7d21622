/* tools/count/exec_counts.h - how often each piece of code ran, and what followed on what: exact counts of
 * basic blocks and of the ways between them.
 *
 * Flow comes in paths, and most paths come again and again: what is counted on the way are whole paths, and
 * the ways from one to the next of the same thread. They are taken apart at the end, or when there are too
 * many of them. So the cost is that of paths, and memory goes with the code that ran and the processes that
 * ran it, not with the length of the recording.
 */
#ifndef TOOLS_COUNT_EXEC_COUNTS_H
#define TOOLS_COUNT_EXEC_COUNTS_H

#include <sb/clock.h>
#include <sb/replay.h>

#include "count/code_table.h"

struct exec_counts;

/* NULL: out of memory. @clock (may be NULL) is the recording's. @cut: flow has holes, so that there is no
 * telling what followed on what. @by_process: each process has counts of its own, also of code that it
 * shares. */
struct exec_counts *exec_counts_new(const struct sb_clock *clock, bool cut, bool by_process);
void exec_counts_free(struct exec_counts *counts); /* NULL is fine */

/* Flow, of all CPUs in the order of time, also added up: with sb_sums_ways (by process:
 * sb_sums_processes), or when it is cut, sb_sums_blocks. Zero, or negative: out of memory. */
int exec_counts_flow(struct exec_counts *counts, const struct sb_flow *flow);
/* Who ran there did not go straight on. */
void exec_counts_gap(struct exec_counts *counts, const struct sb_gap *gap);

/* All that was counted, to be read; NULL: out of memory. More can be counted afterwards. */
const struct code_table *exec_counts_table(struct exec_counts *counts);

#endif
