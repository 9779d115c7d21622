/* call_tree.c - see call_tree.h. */
#include "sink/call_tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sb/container.h>

#include "sink/flow_filter.h"
#include "sink/printable.h"
#include "sink/switch_time.h"
#include "vector.h"

enum { shown_of_id = 64 };

/* What ran since the last time stamp, of one node. */
struct ran {
	struct call_node *node;
	uint64_t ninsn;
};

struct tree_thread {
	struct call_node *root;                 /* its group; NULL: not known yet */
	const struct sb_membership *membership; /* for which it is the root */
	uint64_t until;                         /* and up to when */
	struct ran *ran;                        /* owned */
	size_t nran, capacity;
	uint64_t since; /* when that ran */
	int32_t cpu;    /* where */
};

struct tree_cpu {
	int32_t cpu;
	uint32_t thread; /* that ran last */
};

struct call_tree {
	struct sink_context context;
	enum call_tree_group group;
	enum call_tree_weight weight;
	struct sb_calls *calls; /* owned */
	struct call_names names;
	struct call_node root;
	struct call_node **slot; /* owned, and so are the nodes */
	size_t nslots, nnodes;
	struct tree_thread *thread; /* owned; by index */
	size_t nthreads;
	struct tree_cpu *cpu; /* owned */
	size_t ncpus;
	struct call_node **summed; /* owned; nodes of sums that come */
	size_t nsummed;
	bool failed; /* no memory, where that could not be told */
};

/* ---- Nodes ------------------------------------------------------------------------------------- */

static size_t slot_of(const struct call_node *parent, const char *name, bool unsure, size_t nslots)
{
	const uint64_t key = ((uintptr_t)parent >> 4 ^ (uintptr_t)name << 9 ^ unsure) * 0x9e3779b97f4a7c15;

	return (key ^ key >> 29) & (nslots - 1);
}

static int grow(struct call_tree *tree)
{
	const size_t nslots = tree->nslots ? 2 * tree->nslots : 1024;
	struct call_node **slot = calloc(nslots, sizeof(struct call_node *));

	if (!slot)
		return -1;
	for (size_t i = 0; i < tree->nslots; i++)
		for (struct call_node *node = tree->slot[i], *next; node; node = next) {
			const size_t to = slot_of(node->parent, node->name, node->unsure, nslots);

			next = node->beside;
			node->beside = slot[to];
			slot[to] = node;
		}
	free(tree->slot);
	tree->slot = slot;
	tree->nslots = nslots;
	return 0;
}

/* NULL: no memory. */
static __attribute__((noinline)) struct call_node *add_child(struct call_tree *tree, struct call_node *parent,
                                                             const char *name, bool unsure)
{
	struct call_node **slot, *node;

	if (!name || (tree->nnodes >= tree->nslots && grow(tree)))
		return NULL;
	node = malloc(sizeof(*node));
	if (!node)
		return NULL;
	slot = &tree->slot[slot_of(parent, name, unsure, tree->nslots)];
	*node = (struct call_node){
	        .parent = parent, .name = name, .unsure = unsure, .next = parent->child, .beside = *slot};
	parent->child = *slot = node;
	tree->nnodes++;
	return node;
}

static inline struct call_node *child_of(struct call_tree *tree, struct call_node *parent, const char *name,
                                         bool unsure)
{
	struct call_node *node = NULL;

	if (tree->nslots)
		node = tree->slot[slot_of(parent, name, unsure, tree->nslots)];
	while (node && (node->parent != parent || node->name != name || node->unsure != unsure))
		node = node->beside;
	return node ? node : add_child(tree, parent, name, unsure);
}

const struct call_node *call_node_after(const struct call_node *node)
{
	if (node->child)
		return node->child;
	while (node && !node->next)
		node = node->parent;
	return node ? node->next : NULL;
}

/* ---- Groups ------------------------------------------------------------------------------------ */

static uint64_t time_of(const struct call_tree *tree, uint64_t tsc)
{
	const struct sb_clock *clock = tree->context.clock;

	return clock && clock->time_mult ? sb_clock_tsc_to_ns(clock, tsc) : tsc;
}

static void put_container(char *text, size_t size, const struct sb_membership *membership)
{
	const struct sb_container *container = membership ? membership->container : NULL;
	char id[4 * 64 + 1];

	if (!container)
		snprintf(text, size, "(outside)");
	else
		snprintf(text, size, "%s %s", sb_container_kind_name(container->kind),
		         printable(id, *container->id ? container->id : "-", shown_of_id));
}

static const char *group_name(struct call_tree *tree, const struct sb_call_thread *thread, uint64_t *until)
{
	const struct sb_system *system = tree->context.system;
	const int32_t tid = tree->group == group_process ? thread->pid : thread->tid;
	const char *comm = "";
	char text[512], name[4 * 16 + 1] = "";

	*until = UINT64_MAX;
	if (system && tree->group != group_container && tree->group != group_none)
		comm = sb_system_comm_until(system, thread->pid, tid, time_of(tree, thread->tsc), until);
	if (!*comm)
		comm = thread->pid == 0 && thread->tid == 0 ? "swapper" : "?";
	printable(name, comm, 16);
	switch (tree->group) {
	case group_comm:
		snprintf(text, sizeof(text), "%s", name);
		break;
	case group_process:
		snprintf(text, sizeof(text), "%s (%" PRId32 ")", name, thread->pid);
		break;
	case group_thread:
		snprintf(text, sizeof(text), "%s (%" PRId32 "/%" PRId32 ")", name, thread->pid, thread->tid);
		break;
	case group_container:
		put_container(text, sizeof(text), thread->membership);
		break;
	case group_none:
		return call_names_keep(&tree->names, "all");
	}
	return call_names_keep(&tree->names, text);
}

static struct tree_thread *thread_of(struct call_tree *tree, uint32_t index)
{
	if (vector_reach(&tree->thread, &tree->nthreads, index, sizeof(*tree->thread)))
		return NULL;
	return &tree->thread[index];
}

/* Gives each frame of @thread its node. */
static int place_frames(struct call_tree *tree, const struct tree_thread *own, struct sb_call_thread *thread)
{
	struct call_node *node = own->root;

	for (uint32_t i = 0; i < thread->depth; i++) {
		struct sb_call_frame *frame = &thread->frame[i];

		node = child_of(tree, node, call_names_of(&tree->names, frame->function), frame->unsure);
		if (!node)
			return -sbe_nomem;
		frame->note.pointer = node;
	}
	return 0;
}

static int same_group(const struct call_tree *tree, const struct tree_thread *own,
                      const struct sb_call_thread *thread)
{
	return own->root && time_of(tree, thread->tsc) < own->until &&
	       (tree->group != group_container || own->membership == thread->membership);
}

/* The thread's root, and with it all its frames, when it belongs to another group than before. */
static int find_group(struct call_tree *tree, struct tree_thread *own, struct sb_call_thread *thread)
{
	struct call_node *before = own->root;

	if (same_group(tree, own, thread))
		return 0;
	own->root = child_of(tree, &tree->root, group_name(tree, thread, &own->until), false);
	own->membership = thread->membership;
	if (!own->root)
		return -sbe_nomem;
	return own->root == before ? 0 : place_frames(tree, own, thread);
}

/* ---- What the engine says ----------------------------------------------------------------------- */

static int on_enter(void *context, struct sb_call_thread *thread)
{
	struct call_tree *tree = context;
	struct tree_thread *own = thread_of(tree, thread->index);
	struct sb_call_frame *top = sb_calls_top(thread);
	struct call_node *parent;

	if (!own)
		return -sbe_nomem;
	if (thread->depth == 1 && find_group(tree, own, thread) < 0)
		return -sbe_nomem;
	parent = thread->depth > 1 ? thread->frame[thread->depth - 2].note.pointer : own->root;
	top->note.pointer = child_of(tree, parent, call_names_of(&tree->names, top->function), top->unsure);
	return top->note.pointer ? 0 : -sbe_nomem;
}

/* ---- Time --------------------------------------------------------------------------------------- */

/* What a thread ran since a time stamp took until @now. */
static void settle(struct call_tree *tree, struct tree_thread *own, uint64_t now)
{
	const bool has_clock = tree->context.clock && tree->context.clock->time_mult;
	const struct sb_system *system = has_clock ? tree->context.system : NULL;
	const uint64_t end =
	        now > own->since ? switched_before(system, own->cpu, own->since, now) : own->since;
	const uint64_t time = end - own->since;
	uint64_t all = 0, ninsn = 0, given = 0;

	for (size_t i = 0; i < own->nran; i++)
		all += own->ran[i].ninsn;
	for (size_t i = 0; i < own->nran; i++) {
		uint64_t upto;

		ninsn += own->ran[i].ninsn;
		upto = (uint64_t)((unsigned __int128)time * ninsn / all);
		if (own->ran[i].node)
			own->ran[i].node->self += upto - given;
		given = upto;
	}
	own->nran = 0;
}

static struct tree_cpu *cpu_of(struct call_tree *tree, int32_t cpu)
{
	struct tree_cpu *bigger;

	for (size_t i = 0; i < tree->ncpus; i++)
		if (tree->cpu[i].cpu == cpu)
			return &tree->cpu[i];
	bigger = realloc(tree->cpu, (tree->ncpus + 1) * sizeof(*bigger));
	if (!bigger)
		return NULL;
	tree->cpu = bigger;
	tree->cpu[tree->ncpus] = (struct tree_cpu){.cpu = cpu, .thread = UINT32_MAX};
	return &tree->cpu[tree->ncpus++];
}

/* Before @flow is taken: whoever ran on its CPU ran until now. */
static int end_times(struct call_tree *tree, const struct sb_flow *flow)
{
	struct tree_cpu *cpu = cpu_of(tree, flow->cpu);

	if (!cpu)
		return -sbe_nomem;
	if (cpu->thread != UINT32_MAX)
		settle(tree, &tree->thread[cpu->thread], time_of(tree, flow->tsc));
	return 0;
}

static int keep_ran(struct call_tree *tree, const struct sb_call_thread *thread, struct call_node *node,
                    uint64_t ninsn)
{
	struct tree_thread *own = &tree->thread[thread->index];
	const uint64_t now = time_of(tree, thread->tsc);
	struct tree_cpu *cpu = cpu_of(tree, thread->cpu);

	if (!cpu)
		return -sbe_nomem;
	if (own->nran && (own->since != now || own->cpu != thread->cpu)) /* it went to another CPU */
		settle(tree, own, now);
	if (vector_reserve(&own->ran, &own->capacity, own->nran, sizeof(*own->ran)))
		return -sbe_nomem;
	own->ran[own->nran++] = (struct ran){.node = node, .ninsn = ninsn};
	own->since = now;
	own->cpu = thread->cpu;
	cpu->thread = thread->index;
	return 0;
}

static int on_run(void *context, struct sb_call_thread *thread, uint64_t ninsn)
{
	struct call_tree *tree = context;
	struct tree_thread *own = thread_of(tree, thread->index);
	const struct sb_call_frame *top = sb_calls_top(thread);
	struct call_node *node;

	if (!own || find_group(tree, own, thread) < 0)
		return -sbe_nomem;
	node = top->note.pointer;
	if (node->unsure != top->unsure && place_frames(tree, own, thread) < 0)
		return -sbe_nomem;
	node = top->note.pointer;
	if (tree->weight == weight_time)
		return keep_ran(tree, thread, node, ninsn);
	node->self += ninsn;
	return 0;
}

/* Only by instructions: time is spread over all that ran in it. */
static int on_sums(void *context, struct sb_call_thread *thread, const struct sb_calls_sum *sum,
                   uint32_t count)
{
	struct call_tree *tree = context;
	int status = on_run(tree, thread, sum[0].ninsn);

	if (status < 0 || vector_reach(&tree->summed, &tree->nsummed, count, sizeof(*tree->summed)))
		return -sbe_nomem;
	tree->summed[0] = sb_calls_top(thread)->note.pointer;
	for (uint32_t i = 1; i < count; i++) {
		struct call_node *node = child_of(tree, tree->summed[sum[i].below],
		                                  call_names_of(&tree->names, sum[i].function), false);

		if (!node)
			return -sbe_nomem;
		node->self += sum[i].ninsn;
		tree->summed[i] = node;
	}
	return 0;
}

unsigned int call_tree_takes_sums(const struct sink_setting *setting, size_t nsettings)
{
	for (size_t i = 0; i < nsettings; i++)
		if (!strcmp(setting[i].option->name, "weight") && strcmp(setting[i].value, "instructions"))
			return sb_sums_none;
	return sb_sums_calls;
}

/* Instructions that do not count take time, too. */
static uint32_t on_count(void *context, struct sb_call_thread *thread, const struct sb_flow *flow,
                         const struct pt_run_block *block)
{
	struct call_tree *tree = context;
	const uint32_t count = flow_part_count(tree->context.part, flow, block);

	if (tree->weight == weight_time && count < block->ninsn &&
	    (!thread_of(tree, thread->index) || keep_ran(tree, thread, NULL, block->ninsn - count)))
		tree->failed = true;
	return count;
}

/* ---- The whole ---------------------------------------------------------------------------------- */

int call_tree_flow(struct call_tree *tree, const struct sb_flow *flow)
{
	int status = tree->weight == weight_time && flow->npaths ? end_times(tree, flow) : 0;

	if (status == 0)
		status = sb_calls_flow(tree->calls, flow);
	return tree->failed ? -sbe_nomem : status;
}

int call_tree_gap(struct call_tree *tree, const struct sb_gap *gap)
{
	return sb_calls_gap(tree->calls, gap);
}

static int compare(const void *left, const void *right)
{
	const struct call_node *a = *(const struct call_node *const *)left;
	const struct call_node *b = *(const struct call_node *const *)right;
	const int names = strcmp(a->name, b->name);

	return names ? names : a->unsure - b->unsure;
}

/* @room: for as many nodes as there are. */
static void sort_children(struct call_node *node, struct call_node **room)
{
	size_t count = 0;

	for (struct call_node *child = node->child; child; child = child->next)
		room[count++] = child;
	if (count < 2)
		return;
	qsort(room, count, sizeof(*room), compare);
	for (size_t i = 0; i < count; i++)
		room[i]->next = i + 1 < count ? room[i + 1] : NULL;
	node->child = room[0];
}

/* Without recursion: stacks are as deep as the recording says. */
static void sum_up(struct call_node *root)
{
	struct call_node *node = root;

	for (;;) {
		while (node->child) {
			node->total = node->self;
			node = node->child;
		}
		node->total = node->self;
		for (;;) {
			if (node == root)
				return;
			node->parent->total += node->total;
			if (node->next)
				break;
			node = node->parent;
		}
		node = node->next;
	}
}

int call_tree_finish(struct call_tree *tree)
{
	struct call_node **room = malloc((tree->nnodes + 1) * sizeof(struct call_node *));
	int status;

	if (!room)
		return -sbe_nomem;
	status = sb_calls_finish(tree->calls);
	sort_children(&tree->root, room);
	for (size_t i = 0; i < tree->nslots; i++)
		for (struct call_node *node = tree->slot[i]; node; node = node->beside)
			sort_children(node, room);
	free(room);
	sum_up(&tree->root);
	return status;
}

const struct call_node *call_tree_root(const struct call_tree *tree)
{
	return &tree->root;
}

const char *call_tree_unit(const struct call_tree *tree)
{
	if (tree->weight == weight_instructions)
		return "instructions";
	return tree->context.clock && tree->context.clock->time_mult ? "ns" : "ticks";
}

/* ---- Making and options ------------------------------------------------------------------------- */

struct call_tree *call_tree_new(const struct sink_context *context, enum call_tree_group group,
                                enum call_tree_weight weight)
{
	const struct sb_calls_options options = {.size = sizeof(options),
	                                         .symbols = context->symbols,
	                                         .clock = context->clock,
	                                         .system = context->system,
	                                         .holes = context->cut};
	struct call_tree *tree = calloc(1, sizeof(*tree));
	struct sb_calls_consumer consumer = {
	        .context = tree, .run = on_run, .enter = on_enter, .sums = on_sums};

	if (!tree)
		return NULL;
	tree->context = *context;
	tree->group = group;
	tree->weight = weight;
	tree->root.name = "all";
	consumer.counts = context->part ? on_count : NULL;
	if (sb_calls_new(&tree->calls, &options, &consumer, NULL) == 0)
		return tree;
	call_tree_free(tree);
	return NULL;
}

void call_tree_free(struct call_tree *tree)
{
	if (!tree)
		return;
	sb_calls_free(tree->calls);
	for (size_t i = 0; i < tree->nslots; i++)
		for (struct call_node *node = tree->slot[i], *next; node; node = next) {
			next = node->beside;
			free(node);
		}
	free(tree->slot);
	for (size_t i = 0; i < tree->nthreads; i++)
		free(tree->thread[i].ran);
	free(tree->thread);
	free(tree->cpu);
	free(tree->summed);
	call_names_free(&tree->names);
	free(tree);
}

int call_tree_set_group(enum call_tree_group *group, const char *value, struct option_error *error)
{
	static const char *const name[] = {"comm", "process", "thread", "container", "none"};
	const int index = option_choose(name, sizeof(name) / sizeof(name[0]), value, error);

	if (index < 0)
		return -1;
	*group = (enum call_tree_group)index;
	return 0;
}

int call_tree_set_weight(enum call_tree_weight *weight, const char *value, struct option_error *error)
{
	static const char *const name[] = {"instructions", "time"};
	const int index = option_choose(name, sizeof(name) / sizeof(name[0]), value, error);

	if (index < 0)
		return -1;
	*weight = (enum call_tree_weight)index;
	return 0;
}
