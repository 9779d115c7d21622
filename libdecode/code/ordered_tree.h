/* An ordered tree of nodes that lie inside of what they order: a treap. Its shape depends on priorities that
 * the keys' maker cannot choose, so that its depth is logarithmic whatever comes in whatever order.
 *
 * Searching is up to the owner, who knows the keys: smaller ones are on the left. It changes nothing, so
 * any number of threads may search. */
#ifndef PT_ORDERED_TREE_H
#define PT_ORDERED_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pt_tree_node {
	struct pt_tree_node *left, *right;
	uint64_t priority; /* no node's is greater than its parent's */
};

/* Whether @a comes before @b. */
typedef bool pt_tree_less_fn(const struct pt_tree_node *a, const struct pt_tree_node *b);

/* The struct of type @type that has @node as its member @member. */
#define PT_TREE_ENTRY(node, type, member) ((type *)((uintptr_t)(node)-offsetof(type, member)))

/* No node of the tree may equal @node. */
void pt_tree_insert(struct pt_tree_node **root, struct pt_tree_node *node, pt_tree_less_fn *less);

/* @node is in the tree. */
void pt_tree_remove(struct pt_tree_node **root, struct pt_tree_node *node, pt_tree_less_fn *less);

/* Takes the topmost node out; NULL when there is none. For emptying a tree in linear time. */
struct pt_tree_node *pt_tree_pop(struct pt_tree_node **root);

#endif
