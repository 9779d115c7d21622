/* ordered_tree.c - see ordered_tree.h. */
#include "code/ordered_tree.h"

/* A node's address is known to nobody who chooses keys. */
static uint64_t priority_of(const struct pt_tree_node *node)
{
	uint64_t value = (uintptr_t)node;

	value = (value ^ value >> 33) * 0xff51afd7ed558ccdu;
	value = (value ^ value >> 33) * 0xc4ceb9fe1a85ec53u;
	return value ^ value >> 33;
}

void pt_tree_insert(struct pt_tree_node **root, struct pt_tree_node *node, pt_tree_less_fn *less)
{
	struct pt_tree_node **link = root, **left = &node->left, **right = &node->right, *rest;

	node->priority = priority_of(node);
	while (*link && (*link)->priority >= node->priority)
		link = less(node, *link) ? &(*link)->left : &(*link)->right;
	/* What stood there is divided into what comes before the node and what comes after it. */
	rest = *link;
	*link = node;
	while (rest) {
		if (less(node, rest)) {
			*right = rest;
			right = &rest->left;
			rest = rest->left;
		} else {
			*left = rest;
			left = &rest->right;
			rest = rest->right;
		}
	}
	*left = NULL;
	*right = NULL;
}

/* All of @left comes before all of @right. */
static void join(struct pt_tree_node **link, struct pt_tree_node *left, struct pt_tree_node *right)
{
	while (left && right) {
		if (left->priority >= right->priority) {
			*link = left;
			link = &left->right;
			left = left->right;
		} else {
			*link = right;
			link = &right->left;
			right = right->left;
		}
	}
	*link = left ? left : right;
}

void pt_tree_remove(struct pt_tree_node **root, struct pt_tree_node *node, pt_tree_less_fn *less)
{
	struct pt_tree_node **link = root;

	while (*link != node)
		link = less(node, *link) ? &(*link)->left : &(*link)->right;
	join(link, node->left, node->right);
}

struct pt_tree_node *pt_tree_pop(struct pt_tree_node **root)
{
	struct pt_tree_node *node = *root;

	if (node)
		join(root, node->left, node->right);
	return node;
}
