/* box_tree.h - which of many intervals hold an address, at a time: boxes in two dimensions, and those that a
 * line across them meets.
 *
 * Filled, built, and from then on only asked: threads may share it. Boxes that lie next to each other are
 * looked at together, so that a question takes about as long as there are answers, plus the logarithm of the
 * number of boxes.
 */
#ifndef SB_BOX_TREE_H
#define SB_BOX_TREE_H

#include <stddef.h>
#include <stdint.h>

struct box_span {
	uint64_t begin, end; /* end exclusive; first: sorted by it */
	uint64_t from, to;   /* to inclusive */
};

struct box {
	struct box_span span;
	uint64_t value;
};

/* Neighbours, and what they span. */
struct box_group {
	struct box_span span;
	size_t first;
	uint32_t count;
	int of_groups; /* else of boxes */
};

struct box_tree {
	struct box *box; /* owned */
	size_t count, capacity;
	struct box_group *group; /* owned; the last one is the root */
	size_t ngroups, group_capacity;
};

/* Zero or -sbe_nomem. */
int box_tree_add(struct box_tree *tree, const struct box *box);
int box_tree_build(struct box_tree *tree);
void box_tree_free(struct box_tree *tree);

/* Calls @callback for the boxes that hold @at and share a moment with [from, to], always in the same order.
 * Ends when it returns something else than zero, and returns that. */
int box_tree_find(const struct box_tree *tree, uint64_t at, uint64_t from, uint64_t to,
                  int (*callback)(void *context, const struct box *box), void *context);

#endif
