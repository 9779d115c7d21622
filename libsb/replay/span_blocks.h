/* span_blocks.h - blocks that a span has told of, by number, and which ones came behind each of them lately.
 *
 * What is executed next is nearly always one of two blocks. So a path of blocks is told by how often in a row
 * it was the one that came last time, and where it was not, whether it was the one before that, or which one.
 * Who writes and who reads keep the same numbers and the same guesses.
 */
#ifndef SB_SPAN_BLOCKS_H
#define SB_SPAN_BLOCKS_H

#include <intel-pt-run.h>

#include "system/arena.h"
#include "system/index_slots.h"

/* When there are so many, they are forgotten before the next flow, and numbers begin anew. */
enum { SPAN_BLOCKS_MAX = 1 << 18 };

struct span_block {
	struct pt_run_block block; /* its lengths are in the arena */
	uint32_t next[2];          /* what came behind it: last time, and before that; numbers */
};

struct span_blocks {
	struct span_block *of; /* owned; by number; 0 is none: what comes before the first */
	uint32_t count;
	size_t capacity;
	struct arena lengths;
	struct index_slots slots; /* of whoever writes: numbers by content */
	int for_writing;
	uint32_t last; /* the block that came last */
};

/* @for_writing: span_blocks_find() is asked. Zero or -sbe_nomem. */
int span_blocks_init(struct span_blocks *blocks, int for_writing);
void span_blocks_fini(struct span_blocks *blocks);

/* Forgets all. */
void span_blocks_clear(struct span_blocks *blocks);
static inline int span_blocks_are_full(const struct span_blocks *blocks)
{
	return blocks->count >= SPAN_BLOCKS_MAX;
}

/* The number of the block that has the content of @block; 0: there is none. */
uint32_t span_blocks_find(const struct span_blocks *blocks, const struct pt_run_block *block);
/* One more, a copy: its number; 0: no memory. */
uint32_t span_blocks_add(struct span_blocks *blocks, const struct pt_run_block *block);

/* Whether the block @number has the content of @block. */
int span_block_is(const struct span_block *known, const struct pt_run_block *block);

/* The block @number comes behind the last one, which was not guessed. */
static inline void span_blocks_come(struct span_blocks *blocks, uint32_t number)
{
	struct span_block *last = &blocks->of[blocks->last];

	last->next[1] = last->next[0];
	last->next[0] = number;
	blocks->last = number;
}

#endif
