/* tools/diff/difference_print.h - a difference as text, and as JSON. */
#ifndef TOOLS_DIFF_DIFFERENCE_PRINT_H
#define TOOLS_DIFF_DIFFERENCE_PRINT_H

#include "diff/difference.h"

struct difference_print {
	const struct difference *difference;
	enum tally_by by;
	const char *a, *b; /* what was compared */
	size_t most;       /* rows of each kind; 0: all */
};

/* Zero, or negative: out of memory, or broken. */
int difference_print_text(const struct difference_print *print, struct output *output);
int difference_print_json(const struct difference_print *print, struct output *output);

#endif
