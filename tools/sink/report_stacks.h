/* tools/sink/report_stacks.h - how many instructions ran in which call stack of which process, for the
 * report.
 *
 * A tree for each process (in each container that it was in). When there are too many nodes, those with the
 * least instructions so far are put aside (report_aside.h); so many that nobody is put aside who has more
 * than one in .finest of all instructions in the end. What was put aside counts in the end for whoever is
 * there of those that it ran in, so that all that have more are exact, whatever the order of the flow was.
 * Stacks deeper than report_depth_most count for the function above. */
#ifndef TOOLS_SINK_REPORT_STACKS_H
#define TOOLS_SINK_REPORT_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include <sb/call_stack.h>

#include "sink/report_aside.h"
#include "sink/sink.h"

enum {
	report_depth_most = 512,
	report_nodes_least = 4 * report_depth_most, /* that can be asked for */
	report_nodes_most = 1 << 20,                /* when nothing is asked for */
	report_nodes_all = INT32_MAX,               /* as good as any number */
};

struct report_node {
	uint32_t parent; /* indices; 0: none. Node 0 is not used */
	uint32_t key;    /* report_key(); of a root: of the group's index */
	uint32_t child;  /* when they are sorted; before, of sums: the node that came behind this one last */
	uint32_t link;   /* of a node of the same parent, when they are sorted; before, in the same slot */
	uint64_t self;
	uint64_t below;   /* of what was put aside below it */
	uint64_t missing; /* how much it may have had before, at most, when it was put aside */
};

/* Node keys are sorted as functions are, what the kernel's and a guess are behind what is not. */
static inline uint32_t report_key(uint32_t function, bool kernel, bool unsure)
{
	return function << 2 | (uint32_t)kernel << 1 | (uint32_t)unsure;
}

static inline uint32_t report_function(const struct report_node *node)
{
	return node->key >> 2;
}

/* 1: unsure, 2: kernel */
static inline uint32_t report_flags(const struct report_node *node)
{
	return node->key & 3;
}

struct report_group {
	int32_t pid;
	const struct sb_container *container; /* NULL: outside of all, or not known */
	uint32_t root;                        /* a node */
};

struct report_stacks {
	struct sb_calls *calls;    /* owned */
	struct report_node *node;  /* owned */
	uint32_t nnodes, capacity; /* nnodes: with node 0 */
	uint32_t most;             /* nodes in memory; more only where too many have too much */
	uint32_t finest;           /* no less than one in so many instructions is told of */
	uint64_t least;            /* who has less was put aside last */
	struct report_aside aside;
	uint32_t *summed; /* owned; of sums that come: their nodes */
	size_t nsummed;
	uint32_t generation; /* of nodes' indices: how often some were put aside */
	uint32_t *slot;      /* owned; nodes by parent and function */
	uint32_t nslots;
	struct report_group *group; /* owned */
	uint32_t ngroups;
	const struct sb_function **function; /* owned; by index, of the engine */
	size_t nfunctions;
};

/* @most: nodes in memory, report_nodes_least or more; @finest: above zero. Zero, or negative: no memory. */
int report_stacks_init(struct report_stacks *stacks, const struct sink_context *context, uint32_t most,
                       uint32_t finest);
/* After the last flow: what was put aside comes back. Zero, -sbe_io with errno: it cannot be read, or another
 * negative code: no memory. */
int report_stacks_finish(struct report_stacks *stacks);
/* The instructions of each node and of what is below it, to be freed; of node 0: all. NULL: no memory. */
uint64_t *report_stacks_totals(const struct report_stacks *stacks);
/* How many instructions a node needs to be told of: more than one in .finest, and so many that no more than
 * @told are (but for roots). Zero: no memory. */
uint64_t report_stacks_least(const struct report_stacks *stacks, const uint64_t *total, uint32_t told);
/* For the output, functions and what is below a node have an order that does not depend on which came first:
 * nodes are sorted, and *rank (to be freed), by functions' indices, is their place in *order (likewise),
 * which has *count functions that are used. Nothing is added any more. Zero, or negative: no memory. */
int report_stacks_sort(struct report_stacks *stacks, uint32_t **rank, const struct sb_function ***order,
                       uint32_t *count);
void report_stacks_free(struct report_stacks *stacks);

#endif
