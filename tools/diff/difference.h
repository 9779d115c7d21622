/* tools/diff/difference.h - what two tallies do not have in common. */
#ifndef TOOLS_DIFF_DIFFERENCE_H
#define TOOLS_DIFF_DIFFERENCE_H

#include "count/tally.h"

/* A function, a line, or a stretch of instructions: a block, or as much of it as counted alike in both. */
struct difference_row {
	const char *file, *name; /* the tallies' */
	uint64_t begin, end;
	uint64_t a, b, a_calls, b_calls;
};

struct difference {
	struct difference_row *row; /* owned; only in A, then only in B, then moved; the most first in each */
	size_t only_a, only_b, moved, room;
	uint64_t same; /* rows that did not move */
};

/* Of tallies of one kind, which must outlive the difference. Zero, or negative: out of memory. To be ended by
 * difference_fini() in any case. */
int difference_make(struct difference *difference, const struct tally *a, const struct tally *b);
void difference_fini(struct difference *difference);

#endif
