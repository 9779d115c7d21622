/* tools/count/tally.h - exact counts of functions, lines or blocks as rows that two recordings can be
 * compared by, and the file that holds them: tab-separated lines, the first one "sbtrace-tally", 1, and
 * "function", "line" or "block"; then for each row FILE, NAME, BEGIN, END, COUNT, CALLS, sorted.
 *
 *   function  FILE is what it is in, NAME its name or "-"; COUNT instructions, CALLS of its first one
 *   line      FILE is the source file, BEGIN the line; COUNT times that it ran
 *   block     FILE, NAME as for functions; instructions at BEGIN up to END, in hex, ran COUNT times each
 */
#ifndef TOOLS_COUNT_TALLY_H
#define TOOLS_COUNT_TALLY_H

#include <sb/error.h>
#include <sb/source_lines.h>

#include "count/code_view.h"
#include "count/pool.h"
#include "output.h"

enum tally_by { tally_function, tally_line, tally_block, tally_bys };
extern const char *const tally_by_name[tally_bys];

struct tally_row {
	const char *file, *name;
	uint64_t begin, end, count, calls;
};

struct tally {
	enum tally_by by;
	struct tally_row *row; /* owned; sorted by file, name (not for blocks), begin, end */
	size_t nrows, room;
	struct pool strings;
};

/* Makes *tally; zero, or negative: out of memory. Lines that did not run are left out. To be ended by
 * tally_fini() in any case. */
int tally_make(struct tally *tally, enum tally_by by, const struct code_view *view,
               struct sb_symbols *symbols, struct sb_source_lines *lines);
void tally_fini(struct tally *tally); /* zeroed is fine */

int tally_write(const struct tally *tally, struct output *output); /* zero, or negative: broken */

/* Positive: the file is none. Errors name file and line. */
int tally_read(struct tally *tally, const char *path, struct sb_error *err);

/* As rows are sorted. */
int tally_compare(enum tally_by by, const struct tally_row *a, const struct tally_row *b);

#endif
