/* span_shapes.h - which functions sums are of (span_format.h), but not what ran in them, comes as it came
 * before: half of all sums are of an item that has just those of an earlier one, a shape, and what ran is all
 * that is told of these.
 *
 * Each item with a few sums that are of no shape is one, with the next number. Where there is no room for it,
 * numbers begin anew with it. Who writes does the same as who reads. Zeroed, there are none.
 */
#ifndef SB_SPAN_SHAPES_H
#define SB_SPAN_SHAPES_H

#include <stddef.h>

#include <sb/replay.h>

#include "system/index_slots.h"

enum {
	SPAN_SHAPE_MOST = 1 << 7,  /* sums in one, and at least two */
	SPAN_SHAPES_SUMS = 1 << 15 /* in all of them, at most */
};

struct span_shape {
	uint32_t first, count;
};

struct span_shapes {
	struct sb_flow_call_sum *sum; /* owned; of all shapes, and behind these room for others */
	size_t nsums, sum_capacity;
	struct span_shape *shape; /* owned */
	size_t nshapes, shape_capacity;
	struct index_slots slots; /* of shapes, number + 1: only for who writes */
};

void span_shapes_fini(struct span_shapes *shapes);
void span_shapes_clear(struct span_shapes *shapes);

/* Room for so many sums of an item, which are of no shape. NULL: no memory. */
struct sb_flow_call_sum *span_shapes_room(struct span_shapes *shapes, uint32_t count);
/* What is there, now, is a shape, if it can be one. Zero or -sbe_nomem. */
int span_shapes_keep(struct span_shapes *shapes, uint32_t count);

static inline int span_shape_can_be(uint32_t count)
{
	return count > 1 && count <= SPAN_SHAPE_MOST;
}

/* The shape that an item's sums are of. Negative: of none. *hash: of them, for the next one. */
int64_t span_shapes_find(const struct span_shapes *shapes, const struct sb_flow_call_sum *sum, uint32_t count,
                         uint32_t *hash);
/* For who writes: they are of a new one, if they can be. Zero or -sbe_nomem. */
int span_shapes_add(struct span_shapes *shapes, const struct sb_flow_call_sum *sum, uint32_t count,
                    uint32_t hash);

#endif
