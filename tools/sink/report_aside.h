/* tools/sink/report_aside.h - call stacks that had to make room, in a temporary file.
 *
 * Rounds of rows, each by itself: a row for each node, behind that of its parent, which it names by its
 * number in the round (from 1 on). So a round can be read without room for more than where its nodes are now.
 */
#ifndef TOOLS_SINK_REPORT_ASIDE_H
#define TOOLS_SINK_REPORT_ASIDE_H

#include <stdint.h>
#include <stdio.h>

struct report_row {
	uint32_t parent; /* 0: a root */
	uint32_t key;    /* of the node */
	uint64_t self;   /* instructions that were put aside */
};

struct report_aside {
	FILE *file;       /* owned; NULL: nothing was put aside */
	uint32_t nrounds; /* that are there as a whole */
	int failed;       /* nothing more can be put there */
};

/* A round of so many rows begins. Zero, or negative: it cannot be written, nor can any other one. */
int report_aside_begin(struct report_aside *aside, uint32_t nrows);
int report_aside_row(struct report_aside *aside, const struct report_row *row);
int report_aside_end(struct report_aside *aside);

/* From the first round on. */
void report_aside_rewind(struct report_aside *aside);
/* How many rows the next round has. Zero, or -sbe_io with errno: it cannot be read. */
int report_aside_next(struct report_aside *aside, uint32_t *nrows);
int report_aside_read(struct report_aside *aside, struct report_row *row);

void report_aside_free(struct report_aside *aside);

#endif
