/* tools/count/line_counts.h - how often each line of source ran, each function was called, each branch went
 * which way; also those that never did, as far as the files that ran have DWARF.
 *
 * Of code that was compiled without optimisation, counts are those that gcov(1) tells. A line of a function
 * ran as often as the instruction of it that ran most often; a line with a whole loop in it as often as it
 * was left for another one, and once more for each time around. Where the compiler made several functions of
 * a line (inlining, templates), it is their sum. What a function does first is of the line that declares it.
 * Branches are those of conditional jumps that were executed: first not taken, then taken; of jumps to
 * several places, each place. Files that are not wanted (struct code_part) are left out.
 */
#ifndef TOOLS_COUNT_LINE_COUNTS_H
#define TOOLS_COUNT_LINE_COUNTS_H

#include <sb/source_lines.h>

#include "count/code_view.h"

struct line_count {
	const char *file;
	uint32_t line;
	uint64_t count;
};

struct line_function {
	const char *file;
	uint32_t line;
	const char *name;
	uint64_t count;
};

struct line_branch {
	const char *file;
	uint32_t line;
	uint32_t jump, branch; /* which one of the line, in the order of addresses, and which way */
	uint64_t count;
};

/* Each sorted by file, line and what else there is; strings are the sb_source_lines'. */
struct line_counts {
	struct line_count *line;        /* owned */
	struct line_function *function; /* owned */
	struct line_branch *branch;     /* owned */
	size_t nlines, nfunctions, nbranches;
};

/* Zero, or negative: out of memory. To be ended by line_counts_fini() in any case. */
int line_counts_make(struct line_counts *counts, const struct code_view *view, struct sb_source_lines *lines);
void line_counts_fini(struct line_counts *counts);

#endif
