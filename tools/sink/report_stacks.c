/* report_stacks.c - see report_stacks.h. The engine is sb_calls; frames' notes are their nodes, as long as
 * the thread's note is of the same generation. */
#include "sink/report_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "vector.h"

/* ---- Nodes ------------------------------------------------------------------------------------ */

static uint32_t slot_of(const struct report_stacks *stacks, const struct report_node *node)
{
	const uint64_t key = ((uint64_t)node->parent << 32 | node->function << 2 |
	                      (uint32_t)node->kernel << 1 | (uint32_t)node->unsure) *
	                     0x9e3779b97f4a7c15;

	return (uint32_t)(key >> 32) & (stacks->nslots - 1);
}

static void enter_slot(struct report_stacks *stacks, uint32_t index)
{
	uint32_t *slot = &stacks->slot[slot_of(stacks, &stacks->node[index])];

	stacks->node[index].beside = *slot;
	*slot = index;
}

/* Roots have no parent, and no neighbours. */
static void enter_parent(struct report_stacks *stacks, uint32_t index)
{
	struct report_node *node = &stacks->node[index];

	if (!node->parent)
		return;
	node->next = stacks->node[node->parent].child;
	stacks->node[node->parent].child = index;
}

static int grow(struct report_stacks *stacks)
{
	const uint32_t capacity = stacks->capacity ? 2 * stacks->capacity : 1024; /* at most 2^31 */
	struct report_node *node = reallocarray(stacks->node, capacity, sizeof(*node));
	uint32_t *slot;

	if (!node)
		return -1;
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
static uint32_t add_node(struct report_stacks *stacks, const struct report_node *wanted)
{
	uint32_t index;

	if (stacks->nnodes == stacks->capacity && grow(stacks))
		return 0;
	index = stacks->nnodes++;
	stacks->node[index] = *wanted;
	enter_slot(stacks, index);
	enter_parent(stacks, index);
	return index;
}

/* The node that is @wanted below its parent; that itself where it is too deep. Zero: no memory. */
static uint32_t find_child(struct report_stacks *stacks, const struct report_node *wanted, uint32_t depth)
{
	for (uint32_t i = stacks->slot[slot_of(stacks, wanted)]; i; i = stacks->node[i].beside) {
		const struct report_node *node = &stacks->node[i];

		if (node->parent == wanted->parent && node->function == wanted->function &&
		    node->kernel == wanted->kernel && node->unsure == wanted->unsure)
			return i;
	}
	if (depth >= report_depth_most)
		return wanted->parent;
	return add_node(stacks, wanted);
}

static uint32_t child_of(struct report_stacks *stacks, uint32_t parent, const struct sb_call_frame *frame,
                         uint32_t depth)
{
	const struct report_node wanted = {.parent = parent,
	                                   .function = frame->function->index,
	                                   .kernel = frame->ip >> 63,
	                                   .unsure = frame->unsure != 0};

	return find_child(stacks, &wanted, depth);
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
		total[i] += stacks->node[i].self;
		total[stacks->node[i].parent] += total[i];
	}
	return total;
}

/* How many instructions a node needs so that no more than half of the room is taken. */
static uint64_t find_least(const struct report_stacks *stacks, const uint64_t *total)
{
	uint64_t least = total[0] / stacks->most + 1;
	uint32_t kept = UINT32_MAX;

	while (kept > stacks->most / 2 && least <= total[0]) {
		least *= 2;
		kept = 0;
		for (uint32_t i = 1; i < stacks->nnodes; i++)
			kept += total[i] >= least;
	}
	return least;
}

/* Nodes keep their order. @total becomes, of each node, where it is now, or who has its instructions. */
static void give_up_below(struct report_stacks *stacks, uint64_t *total, uint64_t least)
{
	const uint32_t nnodes = stacks->nnodes;
	uint64_t *place = total;

	memset(stacks->slot, 0, stacks->nslots * sizeof(*stacks->slot));
	stacks->nnodes = 1;
	for (uint32_t i = 1; i < nnodes; i++) {
		struct report_node node = stacks->node[i];
		const uint32_t above = node.parent ? (uint32_t)place[node.parent] : 0;

		if (above && total[i] < least) {
			stacks->node[above].self += node.self;
			place[i] = above;
			continue;
		}
		node.parent = above;
		node.child = node.next = 0;
		stacks->node[stacks->nnodes] = node;
		enter_slot(stacks, stacks->nnodes);
		enter_parent(stacks, stacks->nnodes);
		place[i] = stacks->nnodes++;
	}
	for (uint32_t i = 0; i < stacks->ngroups; i++)
		stacks->group[i].root = (uint32_t)place[stacks->group[i].root];
}

/* Zero or -sbe_nomem. */
static int make_room(struct report_stacks *stacks)
{
	uint64_t *total;

	if (stacks->nnodes + report_depth_most < stacks->most)
		return 0;
	/* In a billion nodes nothing is given up: memory is. */
	if (stacks->most == report_nodes_all)
		return -sbe_nomem;
	total = report_stacks_totals(stacks);
	if (!total)
		return -sbe_nomem;
	give_up_below(stacks, total, find_least(stacks, total));
	free(total);
	stacks->generation++;
	/* Each process has a root, however many there are. */
	if (stacks->nnodes > stacks->most / 2)
		stacks->most *= 2;
	return 0;
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
	group->root = add_node(stacks, &(struct report_node){.function = stacks->ngroups});
	return group->root ? (int64_t)stacks->ngroups++ : -1;
}

/* The thread's note: the generation, its group, and one. */
static int place_frames(struct report_stacks *stacks, struct sb_call_thread *thread)
{
	const int64_t group = group_of(stacks, thread);
	uint32_t node;

	if (group < 0)
		return -sbe_nomem;
	thread->note.number = (uint64_t)stacks->generation << 32 | ((uint64_t)group + 1);
	node = stacks->group[group].root;
	for (uint32_t i = 0; i < thread->depth; i++) {
		node = child_of(stacks, node, &thread->frame[i], i);
		if (!node)
			return -sbe_nomem;
		thread->frame[i].note.number = node;
	}
	return 0;
}

static bool is_in_place(const struct report_stacks *stacks, const struct sb_call_thread *thread)
{
	const uint32_t number = (uint32_t)thread->note.number;
	const struct report_group *group = number ? &stacks->group[number - 1] : NULL;

	return group && thread->note.number >> 32 == stacks->generation && group->pid == thread->pid &&
	       group->container == container_of(thread);
}

/* ---- What the engine says --------------------------------------------------------------------- */

static int on_enter(void *context, struct sb_call_thread *thread)
{
	struct report_stacks *stacks = context;
	struct sb_call_frame *top = sb_calls_top(thread);

	if (keep_function(stacks, top->function) || make_room(stacks))
		return -sbe_nomem;
	if (thread->depth == 1 || !is_in_place(stacks, thread))
		return place_frames(stacks, thread);
	top->note.number = child_of(stacks, (uint32_t)thread->frame[thread->depth - 2].note.number, top,
	                            thread->depth - 1);
	return top->note.number ? 0 : -sbe_nomem;
}

static int on_run(void *context, struct sb_call_thread *thread, uint64_t ninsn)
{
	struct report_stacks *stacks = context;

	if (!is_in_place(stacks, thread) && (make_room(stacks) || place_frames(stacks, thread)))
		return -sbe_nomem;
	stacks->node[sb_calls_top(thread)->note.number].self += ninsn;
	return 0;
}

/* One that was called above frames that are in place. */
static int add_sum(struct report_stacks *stacks, const struct sb_calls_sum *sum, uint32_t index)
{
	const struct report_node wanted = {.parent = stacks->summed[sum->below],
	                                   .function = sum->function->index,
	                                   .kernel = sum->is_kernel != 0};
	const uint32_t depth = stacks->deep[sum->below] + 1;
	uint32_t node;

	if (keep_function(stacks, sum->function) || make_room(stacks))
		return -sbe_nomem;
	node = find_child(stacks, &wanted, depth);
	if (!node)
		return -sbe_nomem;
	stacks->node[node].self += sum->ninsn;
	stacks->summed[index] = node;
	stacks->deep[index] = depth;
	return 0;
}

static int on_sums(void *context, struct sb_call_thread *thread, const struct sb_calls_sum *sum,
                   uint32_t count)
{
	struct report_stacks *stacks = context;
	int status = on_run(stacks, thread, sum[0].ninsn);

	if (status == 0 && (vector_reach(&stacks->summed, &stacks->nsummed, count, sizeof(*stacks->summed)) ||
	                    vector_reach(&stacks->deep, &stacks->ndeep, count, sizeof(*stacks->deep))))
		status = -sbe_nomem;
	if (status < 0)
		return status;
	stacks->summed[0] = (uint32_t)sb_calls_top(thread)->note.number;
	stacks->deep[0] = thread->depth - 1;
	for (uint32_t i = 1; i < count && status == 0; i++)
		status = add_sum(stacks, &sum[i], i);
	return status;
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

/* A node and what it is sorted by. */
struct node_key {
	uint64_t key;
	uint32_t node;
};

static int compare_keys(const void *left, const void *right)
{
	const struct node_key *a = left, *b = right;

	return (a->key > b->key) - (a->key < b->key);
}

/* The lists of what is below nodes are made anew: those that come first are put in front last. */
static void link_sorted(struct report_stacks *stacks, struct node_key *key, const uint32_t *rank)
{
	uint32_t count = 0;

	for (uint32_t i = 1; i < stacks->nnodes; i++) {
		struct report_node *node = &stacks->node[i];

		node->child = node->next = 0;
		if (node->parent)
			key[count++] = (struct node_key){(uint64_t)rank[node->function] << 2 |
			                                         (uint64_t)node->kernel << 1 | node->unsure,
			                                 i};
	}
	qsort(key, count, sizeof(*key), compare_keys);
	while (count)
		enter_parent(stacks, key[--count].node);
}

int report_stacks_sort(struct report_stacks *stacks, uint32_t **rank, const struct sb_function ***order,
                       uint32_t *count)
{
	struct node_key *key = calloc(stacks->nnodes, sizeof(*key));

	*count = 0;
	*rank = calloc(stacks->nfunctions + 1, sizeof(**rank));
	*order = calloc(stacks->nfunctions + 1, sizeof(struct sb_function *));
	if (!key || !*rank || !*order) {
		free(key);
		return -1;
	}
	for (size_t i = 0; i < stacks->nfunctions; i++)
		if (stacks->function[i])
			(*order)[(*count)++] = stacks->function[i];
	qsort(*order, *count, sizeof(struct sb_function *), compare_functions);
	for (uint32_t i = 0; i < *count; i++)
		(*rank)[(*order)[i]->index] = i;
	link_sorted(stacks, key, *rank);
	free(key);
	return 0;
}

/* ---- Begin and end ---------------------------------------------------------------------------- */

int report_stacks_init(struct report_stacks *stacks, const struct sink_context *context, uint32_t most)
{
	const struct sb_calls_options options = {.size = sizeof(options),
	                                         .symbols = context->symbols,
	                                         .clock = context->clock,
	                                         .system = context->system,
	                                         .holes = context->cut};
	const struct sb_calls_consumer consumer = {
	        .context = stacks, .run = on_run, .enter = on_enter, .sums = on_sums};

	*stacks = (struct report_stacks){.nnodes = 1, .most = most};
	if (grow(stacks))
		return -1;
	memset(&stacks->node[0], 0, sizeof(stacks->node[0]));
	return sb_calls_new(&stacks->calls, &options, &consumer, NULL) < 0 ? -1 : 0;
}

void report_stacks_free(struct report_stacks *stacks)
{
	sb_calls_free(stacks->calls);
	free(stacks->node);
	free(stacks->slot);
	free(stacks->group);
	free(stacks->function);
	free(stacks->summed);
	free(stacks->deep);
	*stacks = (struct report_stacks){0};
}
