/* tools/sink/report_stacks.h - how many instructions ran in which call stack of which process, for the
 * report.
 *
 * A tree for each process (in each container that it was in). When there are too many nodes, those with the
 * least instructions are given up, which count for the function above them from then on; so do stacks deeper
 * than report_depth_most. Which have the least by then depends on the order of all flow: what was added up
 * (sb_sums_calls) only does where all are kept. */
#ifndef TOOLS_SINK_REPORT_STACKS_H
#define TOOLS_SINK_REPORT_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include <sb/call_stack.h>

#include "sink/sink.h"

enum {
	report_depth_most = 512,
	report_nodes_least = 4 * report_depth_most, /* that can be asked for */
	report_nodes_most = 1 << 18,                /* when nothing is asked for */
	report_nodes_all = INT32_MAX,               /* as good as any number */
};

struct report_node {
	uint32_t parent, child, next, beside; /* indices; 0: none. Node 0 is not used */
	uint32_t function;                    /* its index; of a root: the group's */
	bool kernel, unsure;
	uint64_t self;
};

struct report_group {
	int32_t pid;
	const struct sb_container *container; /* NULL: outside of all, or not known */
	uint32_t root;                        /* a node */
};

struct report_stacks {
	struct sb_calls *calls;    /* owned */
	struct report_node *node;  /* owned */
	uint32_t nnodes, capacity; /* nnodes: with node 0 */
	uint32_t most;             /* nodes; more only where there are more processes than that */
	uint32_t *summed, *deep;   /* owned; of sums that come: their nodes, and how deep they are */
	size_t nsummed, ndeep;
	uint32_t generation; /* of nodes' indices: how often some were given up */
	uint32_t *slot;      /* owned; nodes by parent and function */
	uint32_t nslots;
	struct report_group *group; /* owned */
	uint32_t ngroups;
	const struct sb_function **function; /* owned; by index, of the engine */
	size_t nfunctions;
};

/* @most: nodes to be kept, report_nodes_least or more. Zero, or negative: no memory. */
int report_stacks_init(struct report_stacks *stacks, const struct sink_context *context, uint32_t most);
/* The instructions of each node and of what is below it, to be freed; of node 0: all. NULL: no memory. */
uint64_t *report_stacks_totals(const struct report_stacks *stacks);
/* For the output, functions and what is below a node have an order that does not depend on which came first:
 * nodes are sorted, and *rank (to be freed), by functions' indices, is their place in *order (likewise),
 * which has *count functions that are used. Zero, or negative: no memory. */
int report_stacks_sort(struct report_stacks *stacks, uint32_t **rank, const struct sb_function ***order,
                       uint32_t *count);
void report_stacks_free(struct report_stacks *stacks);

#endif
