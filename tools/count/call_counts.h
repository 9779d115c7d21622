/* tools/count/call_counts.h - who called whom how often, from which line, and how many instructions it took:
 * out of call stacks. */
#ifndef TOOLS_COUNT_CALL_COUNTS_H
#define TOOLS_COUNT_CALL_COUNTS_H

#include <stdbool.h>

#include <sb/call_stack.h>
#include <sb/source_lines.h>

/* A function, as it is told: whatever has no name in a file is one. */
struct call_function {
	const char *dso, *name; /* the symbols'; NULL: not known */
	const char *file;       /* of the line where it begins, the sb_source_lines'; NULL: not known */
	uint32_t line;
};

/* Calls of one function by another one, from one line. */
struct call_edge {
	uint32_t caller, callee; /* indices of functions */
	const char *file;        /* of the line; NULL: not known, or it was no call */
	uint32_t line;
	uint64_t calls;
	uint64_t ninsn; /* with all that was called, and what the kernel did meanwhile */
};

struct call_counts;

/* How much of the edges is not certain: the stack did not fit, or what became of a function is not known, as
 * trace was lost. */
struct call_doubts {
	uint64_t calls;   /* all; a function that goes on when its stack comes again, too */
	uint64_t guesses; /* of these */
};

/* All borrowed. @cut: flow has holes, so all is a guess. NULL: out of memory. */
struct call_counts *call_counts_new(struct sb_symbols *symbols, struct sb_source_lines *lines,
                                    const struct sb_clock *clock, const struct sb_system *system, bool cut);
void call_counts_free(struct call_counts *counts); /* NULL is fine */

/* Flow, of all CPUs in the order of time, also added up (sb_sums_edges); zero, or negative: out of memory;
 * -sbe_order: as sb_calls_flow(). */
int call_counts_flow(struct call_counts *counts, const struct sb_flow *flow);
int call_counts_gap(struct call_counts *counts, const struct sb_gap *gap);

/* The function of that name, which may be new: its index; negative: out of memory. */
int64_t call_counts_function(struct call_counts *counts, const char *dso, const char *name);
/* After the last flow; zero, or negative: out of memory. */
int call_counts_finish(struct call_counts *counts);
/* In the end. Functions are sorted by name, edges by caller, callee, file and line: in whichever order they
 * came. *rank (to be freed) says, of each function's index, what it is now. Zero, or negative: out of memory.
 */
int call_counts_sort(struct call_counts *counts, uint32_t **rank);
const struct call_function *call_counts_functions(const struct call_counts *counts, size_t *count);
const struct call_edge *call_counts_edges(const struct call_counts *counts, size_t *count);
struct call_doubts call_counts_doubts(const struct call_counts *counts);

#endif
