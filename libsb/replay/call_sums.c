/* call_sums.c - see call_sums.h. */
#include "replay/call_sums.h"

#include <stdlib.h>
#include <string.h>

#include "replay/call_edges.h"
#include "replay/call_internal.h"
#include "replay/elsewhere.h"
#include "system/arena.h"
#include "system/index_slots.h"

enum {
	sums_most = 1 << 14,  /* of all items; then, these are written */
	items_most = 1 << 10, /* likewise */
	edges_most = 1 << 16, /* likewise */
	hands = 1 << 6,       /* threads at hand */
	kept_most = 1 << 7    /* an item that had more of something gives its memory back */
};

/* A function above the base, or the base itself: the first one. */
struct sum {
	const struct known_function *function;
	struct sb_flow_call_sum is;
};

/* Its arrays are owned. */
struct item {
	struct sb_flow head;
	int is_raw;       /* blocks still belong to the flow */
	uint64_t until;   /* when the thread, or its process, gets another name */
	uint64_t tsc;     /* of its last block */
	uint64_t nblocks; /* that were added up */
	uint64_t learned; /* how often something had been, when it began */
	struct sb_flow_calls is;
	struct pt_run_block *block;
	size_t nraw, block_capacity;
	uint8_t *length; /* of the blocks' instructions, which they point to when all are there */
	size_t nlengths, length_capacity;
	struct sum *sum;
	size_t nsums, sum_capacity;
	struct sb_flow_call_frame *frame;
	size_t frame_capacity;
	struct call_edges base; /* when they are wanted: of the frame below */
};

/* A thread at hand. */
struct hand {
	struct call_thread thread;
	int is_taken;
	uint64_t tsc;             /* of its last flow */
	uint64_t passed;          /* struct call_sums, when that came */
	struct item *item;        /* that is open; NULL: none is */
	struct index_slots slots; /* of the item's sums: index + 1 */
};

struct call_sums {
	struct span_writer *writer; /* borrowed */
	unsigned int what;
	const struct replay_world *world;
	const struct sb_clock *clock;
	struct sb_calls *calls;   /* owned; only for what it does to threads */
	struct hand *hand[hands]; /* owned; by thread */
	struct hand *now;         /* whose flow comes; NULL: nobody's did yet */
	uint64_t passed;          /* how often the CPU may have switched */
	struct elsewhere elsewhere;
	/* Of the flow that comes: */
	const struct sb_flow *flow;
	int is_beginning;     /* none of its blocks came yet */
	uint64_t left_before; /* the thread's .left_ip then */
	int is_credited;
	uint64_t returns; /* those up to here were added to items */
	/* Items that are not written, in the order in which they began, and behind them those that were. */
	struct item **item; /* owned */
	size_t nitems, nrooms, item_capacity;
	size_t nsums;               /* of all that are not written */
	int32_t told_pid, told_tid; /* of the one that was written last */
	struct call_number *number; /* owned; by function's index */
	size_t number_capacity, nnumbers;
	uint32_t nfunctions;              /* that have one */
	struct sb_flow_call_sum *written; /* owned; those of the item that is written, as is */
	size_t written_capacity;
	struct call_edges above; /* when they are wanted: of functions above the base */
};

static uint64_t time_of(const struct call_sums *sums, uint64_t tsc)
{
	return sums->clock->time_mult ? sb_clock_tsc_to_ns(sums->clock, tsc) : tsc;
}

/* ---- Sums ------------------------------------------------------------------------------------- */

static uint32_t hash_of(uint32_t below, const struct known_function *function)
{
	return (uint32_t)(((uintptr_t)function >> 3 ^ (uint64_t)below << 32) * 0x9e3779b97f4a7c15u >> 32);
}

/* The index of the sum of a function that is entered as @frame above another one's; or a negative code. */
static int64_t sum_of(struct call_sums *sums, uint32_t below, const struct sb_call_frame *frame)
{
	const struct known_function *function = known_function(frame->function);
	const uint32_t hash = hash_of(below, function);
	struct index_slots *slots = &sums->now->slots;
	struct item *item = sums->now->item;
	struct index_search search = index_search(hash);
	uint32_t number;

	while ((number = index_slots_next(slots, &search)))
		if (item->sum[number - 1].function == function && item->sum[number - 1].is.below == below)
			return number - 1;
	if (array_reserve(&item->sum, &item->sum_capacity, item->nsums, sizeof(*item->sum)) < 0)
		return -sbe_nomem;
	item->sum[item->nsums++] =
	        (struct sum){.function = function,
	                     .is = {.ip = frame->ip,
	                            .below = below,
	                            .is_kernel = call_is_kernel(frame->ip) != 0,
	                            .is_called = call_is_called((enum sb_enter)frame->how) != 0}};
	sums->nsums += 1;
	if (index_slots_add(slots, hash, (uint32_t)item->nsums) < 0)
		return -sbe_nomem;
	return (int64_t)item->nsums - 1;
}

/* From here on, all that happens above the innermost frame is known, if that is one that can be told. */
static int begin_sums(struct call_sums *sums)
{
	struct call_thread *thread = &sums->now->thread;
	struct sb_call_frame *top = thread->public.depth ? sb_calls_top(&thread->public) : NULL;
	struct item *item = sums->now->item;

	if (!top || thread->low >= thread->high || known_function(top->function)->traits & traits_of_go ||
	    thread->loan.number || thread->may_park)
		return 0;
	if (array_reserve(&item->sum, &item->sum_capacity, 0, sizeof(*item->sum)) < 0)
		return -sbe_nomem;
	item->is_raw = 0;
	thread->base = thread->public.depth;
	/* Wherever else it has code: what is at hand is where it must go on. */
	top->low = thread->low;
	top->high = thread->high;
	top->note.number = 0;
	item->sum[0] = (struct sum){.function = known_function(top->function)};
	item->nsums = 1;
	sums->nsums += 1;
	item->is.low = top->low;
	item->is.high = top->high;
	item->is.is_named = top->function->name != NULL;
	return 0;
}

/* ---- Items end --------------------------------------------------------------------------------- */

static int add_frames(struct item *item, const struct call_thread *thread)
{
	const struct sb_call_thread *public = &thread->public;
	const uint32_t base = thread->base, count = public->depth - base;

	if (array_reserve_more(&item->frame, &item->frame_capacity, 0, count, sizeof(*item->frame)) < 0)
		return -sbe_nomem;
	for (uint32_t i = 0; i < count; ++i) {
		const struct sb_call_frame *frame = &public->frame[base + i];

		item->frame[i] =
		        (struct sb_flow_call_frame){frame->ip,  frame->from_ip, frame->return_ip,
		                                    frame->how, frame->flags,   public->ninsn - frame->ninsn};
	}
	item->is.frame = item->frame;
	item->is.nframes = count;
	return 0;
}

/* Returns up to here are those of the thread that ran. */
static void count_returns(struct call_sums *sums)
{
	const uint64_t returns = sums->calls->doubts.returns;

	if (sums->now && sums->now->item)
		sums->now->item->is.returns += returns - sums->returns;
	sums->returns = returns;
}

/* The thread's open item ends: it is written when those that began before it are. The thread left before
 * @left_ip behind it. */
static int end_item(struct call_sums *sums, struct hand *hand, uint64_t left_ip)
{
	const struct call_thread *thread = &hand->thread;
	struct item *item = hand->item;

	if (!item)
		return 0;
	count_returns(sums);
	hand->item = NULL;
	if (item->nsums > kept_most)
		index_slots_free(&hand->slots);
	else
		index_slots_clear(&hand->slots);
	item->head.left_ip = left_ip;
	item->is.tsc_to = item->tsc;
	item->is_raw |= !item->nblocks;
	if (item->is_raw)
		return 0;
	item->is.is_plain = thread->came_back;
	item->is.goes_internal = thread->goes_internal;
	item->is.end_low = thread->low;
	item->is.end_high = thread->high;
	item->is.end_ip = thread->last.end_ip;
	item->is.next_ip = thread->last.next_ip;
	item->is.iclass = thread->last.iclass;
	return add_frames(item, thread);
}

/* ---- Items are written ------------------------------------------------------------------------- */

/* What must hold of a function where it is told of. */
static uint8_t traits_of(const struct sb_flow_call_sum *sum)
{
	return (uint8_t)(1 | (sum->jumps != 0) << 1 | (sum->is_learned != 0) << 2);
}

/* A function that is told of first gets the next number, and is told by where it was entered. Positive: there
 * is nothing about it that was not told before; or -sbe_nomem. */
static int number(struct call_sums *sums, const struct sum *sum, struct sb_flow_call_sum *written)
{
	struct call_number *is;
	int known;

	const size_t index = sum->function->public.index, before = sums->nnumbers;

	if (array_reserve_more(&sums->number, &sums->number_capacity, 0, index + 1, sizeof(*sums->number)) <
	    0)
		return -sbe_nomem;
	if (index >= before) {
		memset(sums->number + before, 0, (index + 1 - before) * sizeof(*sums->number));
		sums->nnumbers = index + 1;
	}
	is = &sums->number[index];
	if (is->number)
		written->ip = 0;
	else
		is->number = ++sums->nfunctions;
	written->function = is->number - 1;
	known = !(traits_of(written) & ~is->traits);
	is->traits |= traits_of(written);
	return known;
}

/* Who called whom says it all: of functions, only that there are such is told, and only once. */
static int add_functions(struct call_sums *sums, struct item *item)
{
	struct sb_flow_call_sum *written = sums->written;
	size_t count = 1;

	*written = item->sum[0].is;
	for (size_t i = 1; i < item->nsums; ++i) {
		int known;

		written[count] = item->sum[i].is;
		known = number(sums, &item->sum[i], &written[count]);
		if (known < 0)
			return known;
		written->ninsn += written[count].ninsn;
		written[count].ninsn = 0;
		written[count].below = (uint32_t)count - 1;
		count += !known;
	}
	item->is.nsums = (uint32_t)count;
	return 0;
}

/* What ran in which stack. */
static int add_stacks(struct call_sums *sums, struct item *item)
{
	for (size_t i = 0; i < item->nsums; ++i) {
		sums->written[i] = item->sum[i].is;
		if (i && number(sums, &item->sum[i], &sums->written[i]) < 0)
			return -sbe_nomem;
	}
	item->is.nsums = (uint32_t)item->nsums;
	return 0;
}

static int add_sums(struct call_sums *sums, struct item *item)
{
	if (array_reserve_more(&sums->written, &sums->written_capacity, 0, item->nsums,
	                       sizeof(*sums->written)) < 0)
		return -sbe_nomem;
	/* Numbers begin anew with each piece: the one before may not be read. */
	if (!sums->writer->nfunctions) {
		sums->nfunctions = 0;
		sums->nnumbers = 0;
	}
	if ((sums->what & sb_sums_calls ? add_stacks(sums, item) : add_functions(sums, item)) < 0)
		return -sbe_nomem;
	item->is.sum = sums->written;
	return item->base.count && call_edges_tell(&item->base, 0, sums->number, &item->is) < 0 ? -sbe_nomem
	                                                                                        : 0;
}

static int write_item(struct call_sums *sums, struct item *item)
{
	struct pt_run_path path = {.block = item->block, .nblocks = (uint32_t)item->nraw, .id = ptr_no_id};
	const struct pt_run_path *only = &path;
	const uint8_t *length = item->length;
	struct sb_flow flow = item->head;
	const int status = item->is_raw ? 0 : add_sums(sums, item);

	for (size_t i = 0; i < item->nraw; ++i) {
		item->block[i].length = length;
		length += item->block[i].ninsn;
		path.ninsn += item->block[i].ninsn;
	}
	flow.path = &only;
	flow.npaths = 1;
	flow.nblocks = path.nblocks;
	flow.ninsn = path.ninsn;
	flow.numbering = sums->writer->numbering;
	flow.calls = &item->is;
	sums->told_pid = flow.pid;
	sums->told_tid = flow.tid;
	return status < 0 ? status : span_write_flow(sums->writer, &flow, 1);
}

/* When others' items were written behind those of the thread whose flow came last: that it is that one. */
static int write_last(struct call_sums *sums)
{
	const struct hand *now = sums->now;
	const struct sb_call_thread *thread = now ? &now->thread.public : NULL;
	const struct sb_flow_calls calls = {.tsc_to = now ? now->tsc : 0};
	struct sb_flow flow;

	if (!now || (thread->pid == sums->told_pid && thread->tid == sums->told_tid))
		return 0;
	sums->told_pid = thread->pid;
	sums->told_tid = thread->tid;
	flow = (struct sb_flow){.cpu = thread->cpu,
	                        .pid = thread->pid,
	                        .tid = thread->tid,
	                        .tsc = now->tsc,
	                        .membership = thread->membership,
	                        .epoch = thread->epoch,
	                        .calls = &calls};
	return span_write_flow(sums->writer, &flow, 0);
}

static void free_item(struct item *item)
{
	free(item->block);
	free(item->length);
	free(item->sum);
	free(item->frame);
	call_edges_fini(&item->base);
	*item = (struct item){0};
}

static int is_large(const struct item *item)
{
	return item->block_capacity > kept_most || item->length_capacity > 8 * kept_most ||
	       item->sum_capacity > kept_most || item->frame_capacity > kept_most ||
	       item->base.capacity > kept_most;
}

/* All items end, and are written in the order in which they began: what other CPUs have is put in between by
 * that. */
static int flush(struct call_sums *sums)
{
	int status = 0;

	for (size_t i = 0; i < hands && status == 0; ++i)
		if (sums->hand[i] && sums->hand[i]->item)
			status = end_item(sums, sums->hand[i], sums->hand[i]->thread.left_ip);
	for (size_t i = 0; i < sums->nitems && status == 0; ++i)
		status = write_item(sums, sums->item[i]);
	for (size_t i = 0; i < sums->nitems; ++i)
		if (is_large(sums->item[i]))
			free_item(sums->item[i]);
	sums->nitems = sums->nsums = 0;
	return status;
}

static int is_full(const struct call_sums *sums)
{
	return sums->nsums >= sums_most || sums->nitems >= items_most;
}

/* What all items have in common. Their functions have numbers. */
static int write_edges(struct call_sums *sums)
{
	struct sb_flow_calls told = {0};
	int status = 0;

	for (size_t at = 0; at < sums->above.count && status == 0;) {
		const struct call_edge_space space = sums->above.edge[at].space;
		const int64_t count = call_edges_tell(&sums->above, at, sums->number, &told);

		if (count < 0)
			return (int)count;
		status = span_write_edges(sums->writer, space.pid, space.epoch, &told);
		at += (size_t)count;
	}
	call_edges_clear(&sums->above);
	return status;
}

static uint64_t until_of(const struct call_sums *sums, const struct sb_flow *flow)
{
	const uint64_t now = time_of(sums, flow->tsc);
	uint64_t thread, process;

	sb_system_comm_until(sums->world->system, flow->pid, flow->tid, now, &thread);
	sb_system_comm_until(sums->world->system, flow->pid, flow->pid, now, &process);
	return thread < process ? thread : process;
}

/* One that has nothing but memory. NULL: there is none. */
static struct item *next_item(struct call_sums *sums)
{
	struct item *item;

	if (sums->nitems == sums->nrooms) {
		if (array_reserve(&sums->item, &sums->item_capacity, sums->nrooms, sizeof(item)) < 0)
			return NULL;
		item = calloc(1, sizeof(*item));
		if (!item)
			return NULL;
		sums->item[sums->nrooms++] = item;
	}
	item = sums->item[sums->nitems++];
	item->nblocks = item->nraw = item->nlengths = item->nsums = 0;
	call_edges_clear(&item->base);
	return item;
}

/* With the flow's next block. */
static int begin_item(struct call_sums *sums)
{
	struct item *item = next_item(sums);
	struct call_thread *thread = &sums->now->thread;

	if (!item)
		return -sbe_nomem;
	sums->now->item = item;
	item->is_raw = 1;
	item->head = *sums->flow;
	item->until = until_of(sums, sums->flow);
	item->learned = sums->calls->places->learned;
	item->is = (struct sb_flow_calls){.credit = sums->is_beginning ? call_credit(sums->flow->ninsn) : 0};
	sums->is_credited = 1;
	sums->returns = sums->calls->doubts.returns;
	thread->since = call_places_time(sums->calls->places, sums->flow->tsc);
	thread->came_back = thread->goes_internal = thread->by_learned = 0;
	return 0;
}

static int add_raw(struct item *item, const struct pt_run_block *block)
{
	if (array_reserve(&item->block, &item->block_capacity, item->nraw, sizeof(*item->block)) < 0 ||
	    array_reserve_more(&item->length, &item->length_capacity, item->nlengths, block->ninsn, 1) < 0)
		return -sbe_nomem;
	item->block[item->nraw++] = *block;
	memcpy(item->length + item->nlengths, block->length, block->ninsn);
	item->nlengths += block->ninsn;
	return 0;
}

/* ---- What the engine says --------------------------------------------------------------------- */

static int on_cut(void *context, struct call_thread *thread)
{
	struct call_sums *sums = context;
	int status;

	if (sums->now->item->is_raw)
		return 0;
	status = call_tell_run(sums->calls, thread);
	if (status == 0)
		status = end_item(sums, sums->now, sums->is_beginning ? sums->left_before : 0);
	if (status == 0 && is_full(sums))
		status = flush(sums);
	return status == 0 ? begin_item(sums) : status;
}

/* Before a block is counted, and after what it does to the stack. */
static uint32_t on_count(void *context, struct sb_call_thread *public, const struct sb_flow *flow,
                         const struct pt_run_block *block)
{
	struct call_sums *sums = context;
	struct item *item = sums->now->item;

	(void)public;
	if (!sums->is_credited)
		item->is.more_credit += call_credit(flow->ninsn);
	sums->is_credited = 1;
	sums->is_beginning = 0;
	item->tsc = flow->tsc;
	if (!item->is_raw) {
		item->nblocks += 1;
		return block->ninsn;
	}
	if (add_raw(item, block) < 0 || begin_sums(sums) < 0)
		sums->writer->failed = -sbe_nomem;
	return 0;
}

static int on_run(void *context, struct sb_call_thread *thread, uint64_t ninsn)
{
	struct item *item = ((struct call_sums *)context)->now->item;

	if (!item->is_raw)
		item->sum[sb_calls_top(thread)->note.number].is.ninsn += ninsn;
	return 0;
}

/* The frame that is left returns to the one that called it. */
static int add_edge(struct call_sums *sums, const struct sb_call_thread *thread)
{
	const struct sb_call_frame *top = sb_calls_top(thread);
	const int is_base = thread->depth - 1 == sums->now->thread.base;
	const struct call_edge edge = {
	        .caller = is_base ? NULL : known_function(top[-1].function),
	        .callee = known_function(top->function),
	        .space = {thread->pid, thread->epoch},
	        .is = {.ip = top->begin ? top->begin : top->ip,
	               .from_ip = sb_call_is_made((enum sb_enter)top->how) ? top->from_ip : 0,
	               .calls = 1,
	               .ninsn = thread->ninsn - top->ninsn}};

	return call_edges_add(is_base ? &sums->now->item->base : &sums->above, &edge);
}

static int on_enter(void *context, struct sb_call_thread *thread)
{
	struct call_sums *sums = context;
	struct sb_call_frame *top = sb_calls_top(thread);
	struct item *item = sums->now->item;
	const uint32_t above = thread->depth - sums->now->thread.base;
	int64_t index;

	if (item->is_raw)
		return 0;
	/* Without stacks, what is above the frame is one. */
	index = sum_of(sums, sums->what & sb_sums_calls ? (uint32_t)top[-1].note.number : 0, top);
	if (index < 0)
		return -sbe_nomem;
	top->note.number = (uint64_t)index;
	if (above > item->is.deepest)
		item->is.deepest = above;
	return 0;
}

static int on_leave(void *context, struct sb_call_thread *thread, enum sb_leave how)
{
	struct call_sums *sums = context;
	struct call_thread *now = &sums->now->thread;
	const struct item *item = sums->now->item;
	const uint8_t is_learned = now->by_learned != 0;

	now->by_learned = 0;
	if (item->is_raw)
		return 0;
	if (how == sb_leave_tail) {
		struct sb_flow_call_sum *sum = &item->sum[sb_calls_top(thread)->note.number].is;

		sum->is_learned |= is_learned;
		sum->jumps |= now->last.iclass != ptic_return;
	}
	return sums->what & sb_sums_edges ? add_edge(sums, thread) : 0;
}

/* ---- Threads ----------------------------------------------------------------------------------- */

/* Nothing is known of what the thread did up to now. */
static void reset(struct call_thread *thread, const struct sb_flow *flow)
{
	const struct call_thread room = {.public.frame = thread->public.frame,
	                                 .frame_capacity = thread->frame_capacity,
	                                 .landing = thread->landing,
	                                 .landing_capacity = thread->landing_capacity};

	*thread = room;
	thread->public.pid = flow->pid;
	thread->public.tid = flow->tid;
	thread->public.cpu = flow->cpu;
}

static int is_of(const struct hand *hand, const struct sb_flow *flow)
{
	const struct sb_call_thread *thread = &hand->thread.public;

	return hand->is_taken && flow->pid == thread->pid && flow->tid == thread->tid &&
	       flow->cpu == thread->cpu;
}

static struct hand **slot_of(struct call_sums *sums, const struct sb_flow *flow)
{
	return &sums->hand[((uint32_t)flow->tid * 0x9e3779b1u ^ (uint32_t)flow->pid * 0x85ebca6bu) >> 26];
}

/* Whether the thread has run elsewhere since it was here, if anybody knows; or a negative code. What nobody
 * knows the thread of is its CPU's alone. */
static int was_elsewhere(struct call_sums *sums, const struct hand *hand, const struct sb_flow *flow)
{
	if (flow->tid <= 0)
		return 0;
	if (!sums->elsewhere.is_open && elsewhere_open(&sums->elsewhere, sums->world, flow->cpu) < 0)
		return -sbe_nomem;
	return elsewhere_since(&sums->elsewhere, flow->tid, time_of(sums, hand->tsc),
	                       time_of(sums, flow->tsc));
}

/* The flow's thread becomes the one that runs. */
static int take_up(struct call_sums *sums, const struct sb_flow *flow)
{
	struct hand **slot = slot_of(sums, flow), *hand = *slot;
	int status = 0, goes_on;

	_Static_assert(hands == 1 << 6, "a slot for each number of 6 bits");
	if (!hand)
		hand = *slot = calloc(1, sizeof(*hand));
	if (!hand)
		return -sbe_nomem;
	goes_on = is_of(hand, flow);
	if (goes_on) {
		status = was_elsewhere(sums, hand, flow);
		goes_on = !status;
	}
	count_returns(sums);
	if (status >= 0 && !goes_on)
		status = end_item(sums, hand, hand->thread.left_ip);
	if (status >= 0 && !goes_on)
		reset(&hand->thread, flow);
	hand->is_taken = 1;
	hand->passed = sums->passed;
	sums->now = hand;
	return status < 0 ? status : 0;
}

/* What threads do behind this may have something in between. */
static void let_go(struct call_sums *sums)
{
	for (size_t i = 0; i < hands; ++i)
		if (sums->hand[i])
			sums->hand[i]->is_taken = 0;
	sums->now = NULL;
}

void call_sums_pass(struct call_sums *sums)
{
	sums->passed += 1;
}

int call_sums_flush(struct call_sums *sums)
{
	int status = flush(sums);

	if (status == 0)
		status = write_last(sums);
	let_go(sums);
	return status == 0 ? write_edges(sums) : status;
}

/* ---- Flow ------------------------------------------------------------------------------------- */

/* Whether what is added up goes on with @flow. What was learned since holds only behind where it was. */
static int goes_on(const struct call_sums *sums, const struct item *item, const struct sb_flow *flow)
{
	return flow->epoch == item->head.epoch && flow->membership == item->head.membership &&
	       item->learned == sums->calls->places->learned && time_of(sums, flow->tsc) < item->until;
}

/* There is room for more. */
static int make_room(struct call_sums *sums)
{
	const int edges = sums->above.count >= edges_most;
	const int status = edges || is_full(sums) ? flush(sums) : 0;

	return status == 0 && edges ? write_edges(sums) : status;
}

static int begin_flow(struct call_sums *sums, const struct sb_flow *flow)
{
	struct hand *hand = sums->now;
	struct sb_call_thread *thread;
	int status = 0;

	if (!hand || !is_of(hand, flow) || hand->passed != sums->passed)
		status = take_up(sums, flow);
	if (status < 0)
		return status;
	hand = sums->now;
	if (hand->item && !goes_on(sums, hand->item, flow))
		status = end_item(sums, hand, hand->thread.left_ip);
	if (status == 0)
		status = make_room(sums);
	thread = &hand->thread.public;
	thread->tsc = flow->tsc;
	thread->membership = flow->membership;
	hand->tsc = flow->tsc;
	sums->flow = flow;
	sums->is_beginning = 1;
	sums->is_credited = 0;
	sums->left_before = hand->thread.left_ip;
	return status == 0 && !hand->item ? begin_item(sums) : status;
}

int call_sums_add(struct call_sums *sums, const struct sb_flow *flow)
{
	int status = flow->npaths ? begin_flow(sums, flow) : 0;

	if (status < 0 || !flow->npaths)
		return status;
	status = call_flow_add(sums->calls, &sums->now->thread, flow);
	/* The next flow's beginning is to be seen. */
	return status == 0 && sums->now->item->is_raw ? end_item(sums, sums->now, flow->left_ip) : status;
}

/* ---- Life ------------------------------------------------------------------------------------- */

int call_sums_new(struct call_sums **result, struct span_writer *writer, const struct replay_world *world,
                  unsigned int what)
{
	struct call_sums *sums = calloc(1, sizeof(*sums));
	const struct sb_calls_options options = {.size = sizeof(options),
	                                         .symbols = world->symbols,
	                                         .clock = &sb_perfdata_info(world->perfdata)->clock,
	                                         .system = world->system};
	const struct sb_calls_consumer consumer = {
	        .context = sums, .run = on_run, .enter = on_enter, .leave = on_leave, .counts = on_count};

	*result = sums;
	if (!sums)
		return -sbe_nomem;
	sums->writer = writer;
	sums->what = what;
	sums->world = world;
	sums->clock = options.clock;
	if (sb_calls_new(&sums->calls, &options, &consumer, NULL) < 0)
		return -sbe_nomem;
	sums->calls->cut = on_cut;
	return 0;
}

static void free_hand(struct hand *hand)
{
	if (!hand)
		return;
	free(hand->thread.public.frame);
	free(hand->thread.landing);
	index_slots_free(&hand->slots);
	free(hand);
}

void call_sums_free(struct call_sums *sums)
{
	if (!sums)
		return;
	sb_calls_free(sums->calls);
	for (size_t i = 0; i < hands; ++i)
		free_hand(sums->hand[i]);
	for (size_t i = 0; i < sums->nrooms; ++i) {
		free_item(sums->item[i]);
		free(sums->item[i]);
	}
	free(sums->item);
	elsewhere_fini(&sums->elsewhere);
	free(sums->number);
	free(sums->written);
	call_edges_fini(&sums->above);
	free(sums);
}
