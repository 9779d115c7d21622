/* call_tree.h - how much ran in which call stack: a tree with a node for each.
 *
 * The nodes below the root are groups: commands, processes, threads or containers; below them are functions.
 * Stacks that are a guess (sb_call_frame.unsure) have nodes of their own. The sum of all nodes' .self is what
 * the account counts as instructions, or, by time, the time between the time stamps of a CPU for which a
 * thread's flow says that it ran, spread over the instructions in between.
 */
#ifndef TOOLS_SINK_CALL_TREE_H
#define TOOLS_SINK_CALL_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include <sb/call_stack.h>

#include "sink/call_names.h"
#include "sink/sink.h"

enum call_tree_group { group_comm, group_process, group_thread, group_container, group_none };
enum call_tree_weight { weight_instructions, weight_time };

struct call_node {
	struct call_node *parent; /* NULL: the root */
	struct call_node *child;  /* the first; in call_tree_finish()'s order */
	struct call_node *next;   /* of the same parent */
	struct call_node *beside; /* in the same slot */
	const char *name;         /* of the function or group */
	bool unsure;
	uint64_t self, total; /* without and with those below; total: after call_tree_finish() */
};

struct call_tree;

/* Symbols are @context's. NULL: out of memory. */
struct call_tree *call_tree_new(const struct sink_context *context, enum call_tree_group group,
                                enum call_tree_weight weight);
void call_tree_free(struct call_tree *tree); /* NULL is fine */

/* Zero, or negative: out of memory. */
int call_tree_flow(struct call_tree *tree, const struct sb_flow *flow);
int call_tree_gap(struct call_tree *tree, const struct sb_gap *gap);
/* Sums up, and sorts children by name, those that are a guess behind those that are not. */
int call_tree_finish(struct call_tree *tree);

const struct call_node *call_tree_root(const struct call_tree *tree);
/* "instructions", "ns", or "ticks" where the clock is not known. */
const char *call_tree_unit(const struct call_tree *tree);

/* The next node in the order of a list of the tree: a node, then what is below it. NULL: it was the last. */
const struct call_node *call_node_after(const struct call_node *node);

/* What a sink takes added up that has nothing but such a tree: by instructions, calls. */
unsigned int call_tree_takes_sums(const struct sink_setting *setting, size_t nsettings);

/* The options "by" and "weight" of sinks. */
int call_tree_set_group(enum call_tree_group *group, const char *value, struct option_error *error);
int call_tree_set_weight(enum call_tree_weight *weight, const char *value, struct option_error *error);

#endif
