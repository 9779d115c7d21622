/* report_stacks.c - see report_stacks.h. The engine is sb_calls; frames' notes are their nodes, as long as
 * the thread's note is of the same generation. */
#include "sink/report_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "vector.h"

/* ---- Nodes ------------------------------------------------------------------------------------ */

static uint32_t slot_of(const struct report_stacks *stacks, uint32_t parent, uint32_t key)
{
	return (uint32_t)(((uint64_t)parent << 32 | key) * 0x9e3779b97f4a7c15 >> 32) & (stacks->nslots - 1);
}

static void enter_slot(struct report_stacks *stacks, uint32_t index)
{
	struct report_node *node = &stacks->node[index];
	uint32_t *slot = &stacks->slot[slot_of(stacks, node->parent, node->key)];

	node->link = *slot;
	*slot = index;
}

static int grow(struct report_stacks *stacks)
{
	const uint32_t capacity = stacks->capacity ? 2 * stacks->capacity : 1024; /* at most 2^31 */
	struct report_node *node = reallocarray(stacks->node, capacity, sizeof(*node));
	uint32_t *slot;

	if (!node)
		return -1;
	if (!stacks->capacity)
		node[0] = (struct report_node){0}; /* none, and nobody's child: all that are have a parent */
	stacks->node = node;
	slot = calloc(capacity, sizeof(*slot));
	if (!slot)
		return -1;
	free(stacks->slot);
	stacks->slot = slot;
	stacks->nslots = stacks->capacity = capacity;
	for (uint32_t i = 1; i < stacks->nnodes; i++)
		enter_slot(stacks, i);
	return 0;
}

/* Zero: no memory. */
static uint32_t add_node(struct report_stacks *stacks, uint32_t parent, uint32_t key)
{
	uint32_t index;

	if (stacks->nnodes == stacks->capacity && grow(stacks))
		return 0;
	index = stacks->nnodes++;
	stacks->node[index] = (struct report_node){.parent = parent, .key = key, .missing = stacks->least};
	enter_slot(stacks, index);
	return index;
}

static inline bool is_child(const struct report_node *node, uint32_t parent, uint32_t key)
{
	return !((node->parent ^ parent) | (node->key ^ key));
}

/* Zero: there is none. */
static inline uint32_t find_child(const struct report_stacks *stacks, uint32_t parent, uint32_t key)
{
	uint32_t i = stacks->slot[slot_of(stacks, parent, key)];

	while (i && !is_child(&stacks->node[i], parent, key))
		i = stacks->node[i].link;
	return i;
}

/* The node below @parent; that itself where it is too deep. Zero: no memory. */
static uint32_t child_of(struct report_stacks *stacks, uint32_t parent, uint32_t key, uint32_t depth)
{
	const uint32_t known = find_child(stacks, parent, key);

	if (known)
		return known;
	return depth >= report_depth_most ? parent : add_node(stacks, parent, key);
}

/* A frame's note: its node, and whether it was a guess when it got that. */
enum { note_unsure_shift = 32 };

/* Places the frame above @parent. Zero: no memory. */
static uint32_t place_frame(struct report_stacks *stacks, uint32_t parent, struct sb_call_frame *frame,
                            bool unsure, uint32_t depth)
{
	const uint32_t key = report_key(frame->function->index, frame->ip >> 63, unsure),
	               node = child_of(stacks, parent, key, depth);

	frame->note.number = (uint64_t)unsure << note_unsure_shift | node;
	return node;
}

/* How many frames are up to the node, which is none of them when it is a root. */
static uint32_t depth_of(const struct report_stacks *stacks, uint32_t node)
{
	uint32_t depth = 0;

	while ((node = stacks->node[node].parent))
		depth++;
	return depth;
}

static int keep_function(struct report_stacks *stacks, const struct sb_function *function)
{
	const uint32_t index = function->index;

	if (vector_reach(&stacks->function, &stacks->nfunctions, index, sizeof(*stacks->function)))
		return -1;
	stacks->function[index] = function;
	return 0;
}

/* ---- Too many nodes --------------------------------------------------------------------------- */

uint64_t *report_stacks_totals(const struct report_stacks *stacks)
{
	uint64_t *total = calloc(stacks->nnodes, sizeof(*total));

	/* Children have higher numbers than their parents. */
	for (uint32_t i = stacks->nnodes; total && i-- > 1;) {
		total[i] += stacks->node[i].self + stacks->node[i].below;
		total[stacks->node[i].parent] += total[i];
	}
	return total;
}

enum { gone = 1u << 31 }; /* with the index of the node that it would be below */

/* @total becomes, of each node that is to be put aside, gone; of others 0. Such a node may have had what is
 * missing, too, but no more than the one above. */
static void choose_gone(const struct report_stacks *stacks, uint64_t *total)
{
	total[0] = 0;
	for (uint32_t i = 1; i < stacks->nnodes; i++) {
		const struct report_node *node = &stacks->node[i];
		const bool is_light = node->parent && total[i] + node->missing < stacks->least;

		total[i] = is_light ? gone : total[node->parent];
	}
}

/* All nodes, those that stay without their instructions. Zero, or negative: they must stay in memory. */
static int put_aside(struct report_stacks *stacks, const uint64_t *is_gone)
{
	int status = report_aside_begin(&stacks->aside, stacks->nnodes - 1);

	for (uint32_t i = 1; i < stacks->nnodes && !status; i++) {
		const struct report_node *node = &stacks->node[i];

		status = report_aside_row(&stacks->aside,
		                          &(struct report_row){.parent = node->parent,
		                                               .key = node->key,
		                                               .self = is_gone[i] ? node->self : 0});
	}
	return status ? status : report_aside_end(&stacks->aside);
}

/* Nodes keep their order. @is_gone becomes, of each node, where it is now, or who is above it. */
static void remove_gone(struct report_stacks *stacks, uint64_t *is_gone)
{
	const uint32_t nnodes = stacks->nnodes;
	uint64_t *place = is_gone;

	memset(stacks->slot, 0, stacks->nslots * sizeof(*stacks->slot));
	stacks->nnodes = 1;
	for (uint32_t i = 1; i < nnodes; i++) {
		struct report_node node = stacks->node[i];
		const uint32_t above = (uint32_t)place[node.parent];

		if (is_gone[i]) {
			stacks->node[above].below += node.self + node.below;
			place[i] = above;
			continue;
		}
		node.parent = above;
		node.child = 0;
		stacks->node[stacks->nnodes] = node;
		enter_slot(stacks, stacks->nnodes);
		place[i] = stacks->nnodes++;
	}
	for (uint32_t i = 0; i < stacks->ngroups; i++)
		stacks->group[i].root = (uint32_t)place[stacks->group[i].root];
}

static int make_room_now(struct report_stacks *stacks, uint64_t wanted)
{
	uint64_t *total;

	/* In a billion nodes there is no room: memory is out. */
	if (stacks->most == report_nodes_all)
		return -sbe_nomem;
	total = report_stacks_totals(stacks);
	if (!total)
		return -sbe_nomem;
	stacks->least = total[0] / stacks->finest + 1;
	choose_gone(stacks, total);
	if (put_aside(stacks, total) == 0) {
		remove_gone(stacks, total);
		stacks->generation++;
	}
	free(total);
	while (stacks->nnodes + wanted >= stacks->most / 2 && stacks->most < report_nodes_all)
		stacks->most = stacks->most < report_nodes_all / 2 ? 2 * stacks->most : report_nodes_all;
	return 0;
}

/* Room for so many more nodes, and a stack. Zero or -sbe_nomem. */
static int make_room(struct report_stacks *stacks, uint64_t more)
{
	const uint64_t wanted = more + report_depth_most;

	return stacks->nnodes + wanted < stacks->most ? 0 : make_room_now(stacks, wanted);
}

/* ---- What was put aside ----------------------------------------------------------------------- */

/* Where a node that was put aside is now, or, with gone, which one of those above it is there. */
static uint32_t place_of(const struct report_stacks *stacks, const struct report_row *row, uint32_t above)
{
	uint32_t known;

	if (!row->parent)
		return stacks->group[row->key >> 2].root;
	known = above & gone ? 0 : find_child(stacks, above, row->key);
	return known ? known : above | gone;
}

static int take_round(struct report_stacks *stacks)
{
	struct report_row row;
	uint32_t nrows, *place;
	int status = report_aside_next(&stacks->aside, &nrows);

	place = status ? NULL : calloc((size_t)nrows + 1, sizeof(*place));
	if (!place)
		return status ? status : -sbe_nomem;
	for (uint32_t i = 1; i <= nrows; i++) {
		status = report_aside_read(&stacks->aside, &row);
		if (status)
			break;
		place[i] = place_of(stacks, &row, place[row.parent]);
		stacks->node[place[i] & ~gone].self += row.self;
	}
	free(place);
	return status;
}

int report_stacks_finish(struct report_stacks *stacks)
{
	int status = sb_calls_finish(stacks->calls) < 0 ? -1 : 0;

	for (uint32_t i = 1; i < stacks->nnodes; i++)
		stacks->node[i].below = 0;
	report_aside_rewind(&stacks->aside);
	for (uint32_t i = 0; i < stacks->aside.nrounds && !status; i++)
		status = take_round(stacks);
	return status;
}

/* ---- Who is told of --------------------------------------------------------------------------- */

static int compare_totals(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a < b) - (a > b);
}

uint64_t report_stacks_least(const struct report_stacks *stacks, const uint64_t *total, uint32_t told)
{
	uint64_t least = total[0] / stacks->finest + 1, *sorted = calloc(stacks->nnodes, sizeof(*sorted));
	uint32_t count = 0;

	if (!sorted)
		return 0;
	for (uint32_t i = 1; i < stacks->nnodes; i++)
		if (stacks->node[i].parent && total[i] >= least)
			sorted[count++] = total[i];
	if (count > told) {
		qsort(sorted, count, sizeof(*sorted), compare_totals);
		least = sorted[told] + 1;
	}
	free(sorted);
	return least;
}

/* ---- Groups ----------------------------------------------------------------------------------- */

static const struct sb_container *container_of(const struct sb_call_thread *thread)
{
	return thread->membership ? thread->membership->container : NULL;
}

/* The index of the thread's group. Negative: no memory. */
static int64_t group_of(struct report_stacks *stacks, const struct sb_call_thread *thread)
{
	const struct sb_container *container = container_of(thread);
	struct report_group *group;

	for (uint32_t i = stacks->ngroups; i-- > 0;)
		if (stacks->group[i].pid == thread->pid && stacks->group[i].container == container)
			return i;
	group = reallocarray(stacks->group, stacks->ngroups + 1, sizeof(*group));
	if (!group)
		return -1;
	stacks->group = group;
	group += stacks->ngroups;
	*group = (struct report_group){.pid = thread->pid, .container = container};
	group->root = add_node(stacks, 0, report_key(stacks->ngroups, false, false));
	return group->root ? (int64_t)stacks->ngroups++ : -1;
}

/* The thread's note: the generation, its group, and one. The outermost @known frames are where they were,
 * whatever has become a guess since. */
static int place_frames(struct report_stacks *stacks, struct sb_call_thread *thread, uint32_t known)
{
	const int64_t group = group_of(stacks, thread);
	uint32_t node;

	if (group < 0)
		return -sbe_nomem;
	thread->note.number = (uint64_t)stacks->generation << 32 | ((uint64_t)group + 1);
	node = stacks->group[group].root;
	for (uint32_t i = 0; i < thread->depth; i++) {
		struct sb_call_frame *frame = &thread->frame[i];
		const bool unsure =
		        i < known ? frame->note.number >> note_unsure_shift != 0 : frame->unsure != 0;

		node = place_frame(stacks, node, frame, unsure, i);
		if (!node)
			return -sbe_nomem;
	}
	return 0;
}

static bool is_in_group(const struct report_stacks *stacks, const struct sb_call_thread *thread)
{
	const uint32_t number = (uint32_t)thread->note.number;
	const struct report_group *group = number ? &stacks->group[number - 1] : NULL;

	return group && group->pid == thread->pid && group->container == container_of(thread);
}

static bool is_in_place(const struct report_stacks *stacks, const struct sb_call_thread *thread)
{
	return thread->note.number >> 32 == stacks->generation && is_in_group(stacks, thread);
}

/* ---- What the engine says --------------------------------------------------------------------- */

static int on_enter(void *context, struct sb_call_thread *thread)
{
	struct report_stacks *stacks = context;
	struct sb_call_frame *top = sb_calls_top(thread);
	const uint32_t below = thread->depth - 1;

	if (keep_function(stacks, top->function) || make_room(stacks, 0))
		return -sbe_nomem;
	if (!below || !is_in_place(stacks, thread))
		return place_frames(stacks, thread, is_in_group(stacks, thread) ? below : 0);
	return place_frame(stacks, (uint32_t)thread->frame[below - 1].note.number, top, top->unsure != 0,
	                   below)
	               ? 0
	               : -sbe_nomem;
}

static int on_run(void *context, struct sb_call_thread *thread, uint64_t ninsn)
{
	struct report_stacks *stacks = context;

	if (!is_in_place(stacks, thread) &&
	    (make_room(stacks, 0) ||
	     place_frames(stacks, thread, is_in_group(stacks, thread) ? thread->depth : 0)))
		return -sbe_nomem;
	stacks->node[(uint32_t)sb_calls_top(thread)->note.number].self += ninsn;
	return 0;
}

/* The node of one that there was not yet. Zero: no memory. */
static __attribute__((noinline)) uint32_t new_sum(struct report_stacks *stacks,
                                                  const struct sb_function *function, uint32_t below,
                                                  uint32_t key)
{
	if (keep_function(stacks, function))
		return 0;
	return child_of(stacks, below, key, depth_of(stacks, below));
}

/* The node of one that did not come behind @last when that was here last. Zero: no memory. */
static __attribute__((noinline)) uint32_t find_sum(struct report_stacks *stacks,
                                                   const struct sb_calls_sum *sum, uint32_t below,
                                                   uint32_t key, uint32_t last)
{
	uint32_t node = find_child(stacks, below, key);

	if (!node)
		node = new_sum(stacks, sum->function, below, key);
	stacks->node[last].child = node;
	return node;
}

/* What was called above frames that are in place. Nodes are mostly those that came there before. Zero or
 * -sbe_nomem. */
static int add_sums(struct report_stacks *stacks, const struct sb_calls_sum *sum, uint32_t count)
{
	uint32_t *summed = stacks->summed, last = summed[0];
	struct report_node *node = stacks->node, *at = &node[last];

	for (uint32_t i = 1; i < count; i++) {
		const uint32_t below = summed[sum[i].below],
		               key = report_key(sum[i].function->index, sum[i].is_kernel != 0, false);
		uint32_t next = at->child;

		at = &node[next];
		if (!is_child(at, below, key)) {
			next = find_sum(stacks, &sum[i], below, key, last);
			if (!next)
				return -sbe_nomem;
			node = stacks->node;
			at = &node[next];
		}
		at->self += sum[i].ninsn;
		summed[i] = last = next;
	}
	return 0;
}

static int on_sums(void *context, struct sb_call_thread *thread, const struct sb_calls_sum *sum,
                   uint32_t count)
{
	struct report_stacks *stacks = context;
	/* Nodes stay where they are meanwhile. */
	int status = make_room(stacks, count);

	if (status == 0)
		status = on_run(stacks, thread, sum[0].ninsn);
	if (status == 0 && vector_reach(&stacks->summed, &stacks->nsummed, count, sizeof(*stacks->summed)))
		status = -sbe_nomem;
	if (status < 0)
		return status;
	stacks->summed[0] = (uint32_t)sb_calls_top(thread)->note.number;
	return add_sums(stacks, sum, count);
}

/* ---- In order --------------------------------------------------------------------------------- */

static int compare_names(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

static int compare_functions(const void *left, const void *right)
{
	const struct sb_function *a = *(const struct sb_function *const *)left,
	                         *b = *(const struct sb_function *const *)right;
	int order = compare_names(a->name, b->name);

	order = order ? order : compare_names(a->dso, b->dso);
	order = order ? order : (a->address > b->address) - (a->address < b->address);
	return order ? order : compare_names(a->mangled, b->mangled);
}

static uint32_t rank_of(const struct report_node *node, const uint32_t *rank)
{
	return rank[report_function(node)] << 2 | report_flags(node);
}

/* What is below a node becomes a list. Roots have no neighbours. @first: zeros, one for each rank and one
 * more. */
static void link_sorted(struct report_stacks *stacks, const uint32_t *rank, uint32_t *first, size_t nranks,
                        uint32_t *sorted)
{
	uint32_t count = 0;

	for (uint32_t i = 1; i < stacks->nnodes; i++)
		if (stacks->node[i].parent)
			first[rank_of(&stacks->node[i], rank) + 1]++;
	for (size_t i = 0; i < nranks; i++)
		first[i + 1] += first[i];
	count = first[nranks];
	for (uint32_t i = 1; i < stacks->nnodes; i++) {
		struct report_node *node = &stacks->node[i];

		node->child = node->link = 0;
		if (node->parent)
			sorted[first[rank_of(node, rank)]++] = i;
	}
	/* Those that come first are put in front last. */
	while (count) {
		struct report_node *node = &stacks->node[sorted[--count]];

		node->link = stacks->node[node->parent].child;
		stacks->node[node->parent].child = sorted[count];
	}
}

int report_stacks_sort(struct report_stacks *stacks, uint32_t **rank, const struct sb_function ***order,
                       uint32_t *count)
{
	uint32_t *first, *sorted;
	size_t nranks;

	*count = 0;
	*rank = calloc(stacks->nfunctions + 1, sizeof(**rank));
	*order = calloc(stacks->nfunctions + 1, sizeof(struct sb_function *));
	if (!*rank || !*order)
		return -1;
	for (size_t i = 0; i < stacks->nfunctions; i++)
		if (stacks->function[i])
			(*order)[(*count)++] = stacks->function[i];
	qsort(*order, *count, sizeof(struct sb_function *), compare_functions);
	for (uint32_t i = 0; i < *count; i++)
		(*rank)[(*order)[i]->index] = i;
	nranks = (size_t)*count << 2;
	first = calloc(nranks + 1, sizeof(*first));
	sorted = calloc(stacks->nnodes, sizeof(*sorted));
	if (first && sorted)
		link_sorted(stacks, *rank, first, nranks, sorted);
	free(first);
	free(sorted);
	return first && sorted ? 0 : -1;
}

/* ---- Begin and end ---------------------------------------------------------------------------- */

int report_stacks_init(struct report_stacks *stacks, const struct sink_context *context, uint32_t most,
                       uint32_t finest)
{
	const struct sb_calls_options options = {.size = sizeof(options),
	                                         .symbols = context->symbols,
	                                         .clock = context->clock,
	                                         .system = context->system,
	                                         .holes = context->cut};
	const struct sb_calls_consumer consumer = {
	        .context = stacks, .run = on_run, .enter = on_enter, .sums = on_sums};

	*stacks = (struct report_stacks){.nnodes = 1, .most = most, .finest = finest};
	if (grow(stacks))
		return -1;
	memset(&stacks->node[0], 0, sizeof(stacks->node[0]));
	return sb_calls_new(&stacks->calls, &options, &consumer, NULL) < 0 ? -1 : 0;
}

void report_stacks_free(struct report_stacks *stacks)
{
	sb_calls_free(stacks->calls);
	report_aside_free(&stacks->aside);
	free(stacks->node);
	free(stacks->slot);
	free(stacks->group);
	free(stacks->function);
	free(stacks->summed);
	*stacks = (struct report_stacks){0};
}
