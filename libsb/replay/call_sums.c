/* call_sums.c - see call_sums.h. */
#include "replay/call_sums.h"

#include <stdlib.h>
#include <string.h>

#include "replay/call_edges.h"
#include "replay/call_internal.h"
#include "system/arena.h"
#include "system/index_slots.h"

enum {
	sums_most = 1 << 14, /* then, all are written */
	edges_most = 1 << 16 /* likewise */
};

/* A function above the base, or the base itself: the first one. */
struct sum {
	const struct known_function *function;
	struct sb_flow_call_sum is;
};

struct call_sums {
	struct span_writer *writer; /* borrowed */
	unsigned int what;
	const struct sb_system *system;
	const struct sb_clock *clock;
	struct sb_calls *calls; /* owned; only for what it does to the thread */
	struct call_thread thread;
	/* Of the flow that comes: */
	const struct sb_flow *flow;
	int is_beginning;     /* none of its blocks came yet */
	uint64_t left_before; /* the thread's .left_ip then */
	int is_credited;
	/* The item. */
	int is_open;
	int is_raw; /* blocks still belong to the flow */
	struct sb_flow head;
	uint64_t until;   /* when the thread, or its process, gets another name */
	uint64_t tsc;     /* of its last block */
	uint64_t returns; /* before it */
	uint64_t nblocks; /* that were added up */
	struct sb_flow_calls is;
	struct pt_run_block *block; /* owned */
	size_t nraw, block_capacity;
	uint8_t *length; /* owned; of the blocks' instructions, which they point to when all are there */
	size_t nlengths, length_capacity;
	struct sum *sum; /* owned */
	size_t nsums, sum_capacity;
	struct index_slots slots;   /* of sums: index + 1 */
	struct call_number *number; /* owned; by function's index */
	size_t number_capacity, nnumbers;
	uint32_t nfunctions;              /* that have one */
	struct sb_flow_call_sum *written; /* owned; those of the item that is written, as is: */
	struct sb_flow_call_frame *frame; /* owned */
	size_t written_capacity, frame_capacity;
	/* When they are wanted: */
	struct call_edges base, above; /* of the frame below the item's, of functions on it */
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
	struct index_search search = index_search(hash);
	uint32_t number;

	while ((number = index_slots_next(&sums->slots, &search)))
		if (sums->sum[number - 1].function == function && sums->sum[number - 1].is.below == below)
			return number - 1;
	if (array_reserve(&sums->sum, &sums->sum_capacity, sums->nsums, sizeof(*sums->sum)) < 0)
		return -sbe_nomem;
	sums->sum[sums->nsums++] =
	        (struct sum){.function = function,
	                     .is = {.ip = frame->ip,
	                            .below = below,
	                            .is_kernel = call_is_kernel(frame->ip) != 0,
	                            .is_called = call_is_called((enum sb_enter)frame->how) != 0}};
	if (index_slots_add(&sums->slots, hash, (uint32_t)sums->nsums) < 0)
		return -sbe_nomem;
	return (int64_t)sums->nsums - 1;
}

/* From here on, all that happens above the innermost frame is known, if that is one that can be told. */
static void begin_sums(struct call_sums *sums, struct call_thread *thread)
{
	struct sb_call_frame *top = thread->public.depth ? sb_calls_top(&thread->public) : NULL;

	if (!top || thread->low >= thread->high || known_function(top->function)->traits & traits_of_go ||
	    thread->loan.number || thread->may_park)
		return;
	sums->is_raw = 0;
	thread->base = thread->public.depth;
	/* Wherever else it has code: what is at hand is where it must go on. */
	top->low = thread->low;
	top->high = thread->high;
	top->note.number = 0;
	sums->sum[0] = (struct sum){.function = known_function(top->function)};
	sums->nsums = 1;
	sums->is.low = top->low;
	sums->is.high = top->high;
	sums->is.is_named = top->function->name != NULL;
}

/* ---- Items ------------------------------------------------------------------------------------ */

static int add_frames(struct call_sums *sums)
{
	const struct sb_call_thread *thread = &sums->thread.public;
	const uint32_t base = sums->thread.base, count = thread->depth - base;

	if (array_reserve_more(&sums->frame, &sums->frame_capacity, 0, count, sizeof(*sums->frame)) < 0)
		return -sbe_nomem;
	for (uint32_t i = 0; i < count; ++i) {
		const struct sb_call_frame *frame = &thread->frame[base + i];

		sums->frame[i] =
		        (struct sb_flow_call_frame){frame->ip,  frame->from_ip, frame->return_ip,
		                                    frame->how, frame->flags,   thread->ninsn - frame->ninsn};
	}
	sums->is.frame = sums->frame;
	sums->is.nframes = count;
	return 0;
}

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
static int add_functions(struct call_sums *sums)
{
	struct sb_flow_call_sum *written = sums->written;
	size_t count = 1;

	*written = sums->sum[0].is;
	for (size_t i = 1; i < sums->nsums; ++i) {
		int known;

		written[count] = sums->sum[i].is;
		known = number(sums, &sums->sum[i], &written[count]);
		if (known < 0)
			return known;
		written->ninsn += written[count].ninsn;
		written[count].ninsn = 0;
		written[count].below = (uint32_t)count - 1;
		count += !known;
	}
	sums->is.nsums = (uint32_t)count;
	return 0;
}

/* What ran in which stack. */
static int add_stacks(struct call_sums *sums)
{
	for (size_t i = 0; i < sums->nsums; ++i) {
		sums->written[i] = sums->sum[i].is;
		if (i && number(sums, &sums->sum[i], &sums->written[i]) < 0)
			return -sbe_nomem;
	}
	sums->is.nsums = (uint32_t)sums->nsums;
	return 0;
}

static int add_sums(struct call_sums *sums)
{
	const struct call_thread *thread = &sums->thread;

	if (array_reserve_more(&sums->written, &sums->written_capacity, 0, sums->nsums,
	                       sizeof(*sums->written)) < 0)
		return -sbe_nomem;
	/* Numbers begin anew with each piece: the one before may not be read. */
	if (!sums->writer->nfunctions) {
		sums->nfunctions = 0;
		sums->nnumbers = 0;
	}
	if ((sums->what & sb_sums_calls ? add_stacks(sums) : add_functions(sums)) < 0)
		return -sbe_nomem;
	sums->is.sum = sums->written;
	sums->is.is_plain = thread->came_back;
	sums->is.goes_internal = thread->goes_internal;
	sums->is.returns = sums->calls->doubts.returns - sums->returns;
	sums->is.end_low = thread->low;
	sums->is.end_high = thread->high;
	sums->is.end_ip = thread->last.end_ip;
	sums->is.next_ip = thread->last.next_ip;
	sums->is.iclass = thread->last.iclass;
	if (sums->base.count && call_edges_tell(&sums->base, 0, sums->number, &sums->is) < 0)
		return -sbe_nomem;
	return add_frames(sums);
}

/* The thread left before @left_ip behind it. */
static int write_item(struct call_sums *sums, uint64_t left_ip)
{
	struct pt_run_path path = {.block = sums->block, .nblocks = (uint32_t)sums->nraw, .id = ptr_no_id};
	const struct pt_run_path *only = &path;
	const uint8_t *length = sums->length;
	struct sb_flow flow = sums->head;
	int status = sums->is_raw || !sums->nblocks ? 0 : add_sums(sums);

	for (size_t i = 0; i < sums->nraw; ++i) {
		sums->block[i].length = length;
		length += sums->block[i].ninsn;
		path.ninsn += sums->block[i].ninsn;
	}
	flow.path = &only;
	flow.npaths = 1;
	flow.nblocks = path.nblocks;
	flow.ninsn = path.ninsn;
	flow.left_ip = left_ip;
	flow.numbering = sums->writer->numbering;
	flow.calls = &sums->is;
	sums->is.tsc_to = sums->tsc;
	sums->is_open = 0;
	index_slots_clear(&sums->slots);
	call_edges_clear(&sums->base);
	return status < 0 ? status : span_write_flow(sums->writer, &flow, 1);
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

	sb_system_comm_until(sums->system, flow->pid, flow->tid, now, &thread);
	sb_system_comm_until(sums->system, flow->pid, flow->pid, now, &process);
	return thread < process ? thread : process;
}

/* With the flow's next block. */
static void begin_item(struct call_sums *sums)
{
	sums->is_open = sums->is_raw = 1;
	sums->head = *sums->flow;
	sums->until = until_of(sums, sums->flow);
	sums->returns = sums->calls->doubts.returns;
	sums->nblocks = sums->nraw = sums->nlengths = sums->nsums = 0;
	sums->is = (struct sb_flow_calls){.credit = sums->is_beginning ? call_credit(sums->flow->ninsn) : 0};
	sums->is_credited = 1;
	sums->thread.since = call_places_time(sums->calls->places, sums->flow->tsc);
	sums->thread.came_back = sums->thread.goes_internal = sums->thread.by_learned = 0;
}

static int add_raw(struct call_sums *sums, const struct pt_run_block *block)
{
	if (array_reserve(&sums->block, &sums->block_capacity, sums->nraw, sizeof(*sums->block)) < 0 ||
	    array_reserve_more(&sums->length, &sums->length_capacity, sums->nlengths, block->ninsn, 1) < 0)
		return -sbe_nomem;
	sums->block[sums->nraw++] = *block;
	memcpy(sums->length + sums->nlengths, block->length, block->ninsn);
	sums->nlengths += block->ninsn;
	return 0;
}

/* ---- What the engine says --------------------------------------------------------------------- */

static int on_cut(void *context, struct call_thread *thread)
{
	struct call_sums *sums = context;
	int status;

	if (sums->is_raw)
		return 0;
	status = call_tell_run(sums->calls, thread);
	if (status == 0)
		status = write_item(sums, sums->is_beginning ? sums->left_before : 0);
	if (status == 0)
		begin_item(sums);
	return status;
}

/* Before a block is counted, and after what it does to the stack. */
static uint32_t on_count(void *context, struct sb_call_thread *public, const struct sb_flow *flow,
                         const struct pt_run_block *block)
{
	struct call_sums *sums = context;

	(void)public;
	if (!sums->is_credited)
		sums->is.more_credit += call_credit(flow->ninsn);
	sums->is_credited = 1;
	sums->is_beginning = 0;
	sums->tsc = flow->tsc;
	if (!sums->is_raw) {
		sums->nblocks += 1;
		return block->ninsn;
	}
	if (add_raw(sums, block) < 0)
		sums->writer->failed = -sbe_nomem;
	begin_sums(sums, &sums->thread);
	return 0;
}

static int on_run(void *context, struct sb_call_thread *thread, uint64_t ninsn)
{
	struct call_sums *sums = context;

	if (!sums->is_raw)
		sums->sum[sb_calls_top(thread)->note.number].is.ninsn += ninsn;
	return 0;
}

/* The frame that is left returns to the one that called it. */
static int add_edge(struct call_sums *sums, const struct sb_call_thread *thread)
{
	const struct sb_call_frame *top = sb_calls_top(thread);
	const int is_base = thread->depth - 1 == sums->thread.base;
	const struct call_edge edge = {
	        .caller = is_base ? NULL : known_function(top[-1].function),
	        .callee = known_function(top->function),
	        .space = {thread->pid, thread->epoch},
	        .is = {.ip = top->begin ? top->begin : top->ip,
	               .from_ip = sb_call_is_made((enum sb_enter)top->how) ? top->from_ip : 0,
	               .calls = 1,
	               .ninsn = thread->ninsn - top->ninsn}};

	return call_edges_add(is_base ? &sums->base : &sums->above, &edge);
}

static int on_enter(void *context, struct sb_call_thread *thread)
{
	struct call_sums *sums = context;
	struct sb_call_frame *top = sb_calls_top(thread);
	const uint32_t above = thread->depth - sums->thread.base;
	int64_t index;

	if (sums->is_raw)
		return 0;
	/* Without stacks, what is above the frame is one. */
	index = sum_of(sums, sums->what & sb_sums_calls ? (uint32_t)top[-1].note.number : 0, top);
	if (index < 0)
		return -sbe_nomem;
	top->note.number = (uint64_t)index;
	if (above > sums->is.deepest)
		sums->is.deepest = above;
	return 0;
}

static int on_leave(void *context, struct sb_call_thread *thread, enum sb_leave how)
{
	struct call_sums *sums = context;
	struct sb_flow_call_sum *sum = &sums->sum[sb_calls_top(thread)->note.number].is;

	if (!sums->is_raw && how == sb_leave_tail) {
		sum->is_learned |= sums->thread.by_learned != 0;
		sum->jumps |= sums->thread.last.iclass != ptic_return;
	}
	sums->thread.by_learned = 0;
	return !sums->is_raw && sums->what & sb_sums_edges ? add_edge(sums, thread) : 0;
}

/* ---- Flow ------------------------------------------------------------------------------------- */

static int flush(struct call_sums *sums)
{
	return sums->is_open ? write_item(sums, sums->thread.left_ip) : 0;
}

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
}

int call_sums_break(struct call_sums *sums)
{
	static const struct sb_flow nobody = {.pid = -1, .tid = -1};
	const int status = flush(sums);

	reset(&sums->thread, &nobody);
	return status;
}

int call_sums_flush(struct call_sums *sums)
{
	const int status = call_sums_break(sums);

	return status == 0 ? write_edges(sums) : status;
}

/* Whether what is added up goes on with @flow. */
static int goes_on(const struct call_sums *sums, const struct sb_flow *flow)
{
	return flow->epoch == sums->head.epoch && flow->membership == sums->head.membership &&
	       time_of(sums, flow->tsc) < sums->until && sums->nsums < sums_most;
}

static int begin_flow(struct call_sums *sums, const struct sb_flow *flow)
{
	struct sb_call_thread *thread = &sums->thread.public;
	int status = 0;

	if (flow->pid != thread->pid || flow->tid != thread->tid || flow->cpu != thread->cpu) {
		status = call_sums_break(sums);
		reset(&sums->thread, flow);
	} else if (sums->is_open && !goes_on(sums, flow)) {
		status = flush(sums);
	}
	if (status == 0 && sums->above.count >= edges_most)
		status = sums->is_open ? flush(sums) : 0;
	if (status == 0 && sums->above.count >= edges_most)
		status = write_edges(sums);
	thread->cpu = flow->cpu;
	thread->tsc = flow->tsc;
	thread->membership = flow->membership;
	sums->flow = flow;
	sums->is_beginning = 1;
	sums->is_credited = 0;
	sums->left_before = sums->thread.left_ip;
	if (!sums->is_open)
		begin_item(sums);
	return status;
}

int call_sums_add(struct call_sums *sums, const struct sb_flow *flow)
{
	int status = flow->npaths ? begin_flow(sums, flow) : 0;

	if (status < 0 || !flow->npaths)
		return status;
	status = call_flow_add(sums->calls, &sums->thread, flow);
	/* The next flow's beginning is to be seen. */
	return status == 0 && sums->is_raw ? flush(sums) : status;
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
	sums->system = world->system;
	sums->clock = options.clock;
	sums->thread.public.cpu = -1;
	if (array_reserve(&sums->sum, &sums->sum_capacity, 0, sizeof(*sums->sum)) < 0 ||
	    sb_calls_new(&sums->calls, &options, &consumer, NULL) < 0)
		return -sbe_nomem;
	sums->calls->cut = on_cut;
	return 0;
}

void call_sums_free(struct call_sums *sums)
{
	if (!sums)
		return;
	sb_calls_free(sums->calls);
	free(sums->thread.public.frame);
	free(sums->thread.landing);
	free(sums->block);
	free(sums->length);
	free(sums->sum);
	free(sums->number);
	free(sums->written);
	free(sums->frame);
	call_edges_fini(&sums->base);
	call_edges_fini(&sums->above);
	index_slots_free(&sums->slots);
	free(sums);
}
