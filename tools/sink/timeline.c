/* timeline.c - see timeline.h.
 *
 * What a flow brought waits, with its CPU, until the time is known at which it was over: when the CPU's next
 * flow comes, or the thread's on another one. */
#include "sink/timeline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sink/switch_time.h"
#include "vector.h"

/* A function was entered or left, after so many instructions of the flow. */
struct waiting {
	uint64_t ninsn;
	const struct sb_function *function; /* NULL: left */
	bool unsure;
};

struct timeline_cpu {
	int32_t cpu;
	int32_t pid, tid;
	uint32_t thread;
	uint64_t begin;          /* of the waiting ones' flow */
	uint64_t first, last;    /* times at which anything ran; first > last: nothing did */
	uint64_t ninsn;          /* of the flow, so far */
	bool busy;               /* a flow waits */
	struct waiting *waiting; /* owned */
	size_t count, capacity;
};

struct open_slice {
	const struct sb_function *function;
	const char *name;
	uint64_t id, begin;
	uint64_t ninsn;  /* of the thread, when it began */
	uint64_t inside; /* instructions of slices inside that are over */
	int32_t cpu;
	bool unsure;
};

struct timeline_thread {
	bool known;
	uint64_t now;
	uint64_t ninsn;           /* until now */
	size_t cpu;               /* where it ran last */
	struct open_slice *slice; /* owned; the outermost first */
	size_t depth, capacity;
};

struct timeline {
	struct sink_context context;
	struct timeline_consumer consumer;
	uint32_t deepest;
	struct sb_calls *calls; /* owned */
	struct call_names names;
	struct timeline_cpu *cpu; /* owned */
	size_t ncpus;
	struct timeline_thread *thread; /* owned; by index */
	size_t nthreads;
	/* Owned; those that were told: open addressing, one more than the number, 0: free. */
	int32_t *process;
	size_t nslots, nprocesses;
	uint64_t nslices;
	size_t current; /* the CPU whose flow is taken */
};

bool timeline_has_clock(const struct timeline *timeline)
{
	return timeline->context.clock && timeline->context.clock->time_mult;
}

static uint64_t time_of(const struct timeline *timeline, uint64_t tsc)
{
	return timeline_has_clock(timeline) ? sb_clock_tsc_to_ns(timeline->context.clock, tsc) : tsc;
}

/* ---- Slices ------------------------------------------------------------------------------------- */

static struct timeline_thread *thread_of(struct timeline *timeline, uint32_t index)
{
	if (vector_reach(&timeline->thread, &timeline->nthreads, index, sizeof(*timeline->thread)))
		return NULL;
	return &timeline->thread[index];
}

static struct timeline_slice slice_of(const struct timeline_thread *thread, const struct timeline_cpu *cpu)
{
	const struct open_slice *open = &thread->slice[thread->depth - 1];
	const uint64_t ninsn = thread->ninsn - open->ninsn;

	return (struct timeline_slice){.cpu = open->cpu,
	                               .pid = cpu->pid,
	                               .tid = cpu->tid,
	                               .thread = cpu->thread,
	                               .depth = (uint32_t)thread->depth,
	                               .id = open->id,
	                               .parent = thread->depth > 1 ? open[-1].id : 0,
	                               .name = open->name,
	                               .function = open->function,
	                               .begin = open->begin,
	                               .end = thread->now,
	                               .ninsn = ninsn,
	                               .self = ninsn - open->inside,
	                               .unsure = open->unsure};
}

static int32_t *process_slot(int32_t *slot, size_t nslots, int32_t key)
{
	size_t i = (uint32_t)key * 0x9e3779b1u >> 8 & (nslots - 1);

	while (slot[i] && slot[i] != key)
		i = (i + 1) & (nslots - 1);
	return &slot[i];
}

/* Whether @pid was not met before; negative: no memory. A process that is not known has the number -1. */
static int is_new_process(struct timeline *timeline, int32_t pid)
{
	const int32_t key = pid < 0 ? -1 : pid + 1;
	int32_t *slot;

	if (2 * timeline->nprocesses >= timeline->nslots) {
		const size_t nslots = timeline->nslots ? 2 * timeline->nslots : 64;
		int32_t *bigger = calloc(nslots, sizeof(*bigger));

		if (!bigger)
			return -sbe_nomem;
		for (size_t i = 0; i < timeline->nslots; i++)
			if (timeline->process[i])
				*process_slot(bigger, nslots, timeline->process[i]) = timeline->process[i];
		free(timeline->process);
		timeline->process = bigger;
		timeline->nslots = nslots;
	}
	slot = process_slot(timeline->process, timeline->nslots, key);
	if (*slot)
		return 0;
	*slot = key;
	timeline->nprocesses++;
	return 1;
}

static const char *comm_of(const struct timeline *timeline, int32_t pid, int32_t tid)
{
	const struct sb_system *system = timeline->context.system;
	const char *comm = system ? sb_system_comm(system, pid, tid, UINT64_MAX) : "";

	return *comm ? comm : pid == 0 ? "swapper" : "?";
}

/* Tells of a thread, and of its process, before their first slices. */
static int introduce(struct timeline *timeline, const struct timeline_slice *slice)
{
	const struct timeline_consumer *consumer = &timeline->consumer;
	int status = is_new_process(timeline, slice->pid);

	if (status > 0)
		status = consumer->process ? consumer->process(consumer->context, slice,
		                                               comm_of(timeline, slice->pid, slice->pid))
		                           : 0;
	if (status == 0 && consumer->thread)
		status =
		        consumer->thread(consumer->context, slice, comm_of(timeline, slice->pid, slice->tid));
	return status;
}

static int begin_slice(struct timeline *timeline, const struct timeline_cpu *cpu,
                       const struct waiting *waiting)
{
	struct timeline_thread *thread = &timeline->thread[cpu->thread];
	const char *name = call_names_of(&timeline->names, waiting->function);
	struct timeline_slice slice;
	int status = 0;

	if (!name || vector_reserve(&thread->slice, &thread->capacity, thread->depth, sizeof(*thread->slice)))
		return -sbe_nomem;
	thread->slice[thread->depth++] = (struct open_slice){.function = waiting->function,
	                                                     .name = name,
	                                                     .id = ++timeline->nslices,
	                                                     .begin = thread->now,
	                                                     .ninsn = thread->ninsn,
	                                                     .cpu = cpu->cpu,
	                                                     .unsure = waiting->unsure};
	slice = slice_of(thread, cpu);
	if (!thread->known)
		status = introduce(timeline, &slice);
	thread->known = true;
	if (status == 0 && timeline->consumer.begin)
		status = timeline->consumer.begin(timeline->consumer.context, &slice);
	return status;
}

static int end_slice(struct timeline *timeline, const struct timeline_cpu *cpu)
{
	struct timeline_thread *thread = &timeline->thread[cpu->thread];
	struct timeline_slice slice;

	if (!thread->depth)
		return 0;
	slice = slice_of(thread, cpu);
	thread->depth -= 1;
	if (thread->depth)
		thread->slice[thread->depth - 1].inside += slice.ninsn;
	return timeline->consumer.end ? timeline->consumer.end(timeline->consumer.context, &slice) : 0;
}

/* What waits on @cpu was over at @now. */
static int settle(struct timeline *timeline, struct timeline_cpu *cpu, uint64_t now)
{
	struct timeline_thread *thread;
	uint64_t time, before;
	int status = 0;

	if (!cpu->busy)
		return 0;
	thread = &timeline->thread[cpu->thread];
	before = thread->ninsn;
	if (timeline_has_clock(timeline))
		now = switched_before(timeline->context.system, cpu->cpu, cpu->begin, now);
	time = now > cpu->begin ? now - cpu->begin : 0;
	if (cpu->ninsn < UINT64_MAX / slowest_ns && time > cpu->ninsn * slowest_ns)
		time = cpu->ninsn * slowest_ns;
	for (size_t i = 0; i < cpu->count && status == 0; i++) {
		const struct waiting *waiting = &cpu->waiting[i];
		const unsigned __int128 part = (unsigned __int128)time * waiting->ninsn;
		const uint64_t at = cpu->begin + (cpu->ninsn ? (uint64_t)(part / cpu->ninsn) : 0);

		if (at > thread->now)
			thread->now = at;
		thread->ninsn = before + waiting->ninsn;
		status = waiting->function ? begin_slice(timeline, cpu, waiting) : end_slice(timeline, cpu);
	}
	thread->ninsn = before + cpu->ninsn;
	if (cpu->begin + time > thread->now)
		thread->now = cpu->begin + time;
	if (thread->now > cpu->last)
		cpu->last = thread->now;
	cpu->count = 0;
	cpu->busy = false;
	return status;
}

/* ---- What the engine says ------------------------------------------------------------------------ */

static int add(struct timeline *timeline, const struct sb_call_thread *thread, bool enters)
{
	struct timeline_cpu *cpu = &timeline->cpu[timeline->current];
	const struct sb_call_frame *top = sb_calls_top(thread);

	if (timeline->deepest && thread->depth > timeline->deepest)
		return 0;
	if (vector_reserve(&cpu->waiting, &cpu->capacity, cpu->count, sizeof(*cpu->waiting)))
		return -sbe_nomem;
	cpu->waiting[cpu->count++] = (struct waiting){
	        .ninsn = cpu->ninsn, .function = enters ? top->function : NULL, .unsure = top->unsure};
	return 0;
}

/* The flow that is taken is @thread's: whatever waits on another CPU of it was before. */
static int take_thread(struct timeline *timeline, const struct sb_call_thread *thread)
{
	struct timeline_cpu *cpu = &timeline->cpu[timeline->current];
	struct timeline_thread *own = thread_of(timeline, thread->index);
	int status = 0;

	if (!own)
		return -sbe_nomem;
	if (own->cpu != timeline->current && own->cpu < timeline->ncpus) {
		struct timeline_cpu *other = &timeline->cpu[own->cpu];

		if (other->busy && other->thread == thread->index)
			status = settle(timeline, other, cpu->begin);
	}
	own->cpu = timeline->current;
	cpu->thread = thread->index;
	cpu->pid = thread->pid;
	cpu->tid = thread->tid;
	cpu->busy = true;
	return status;
}

static int on_run(void *context, struct sb_call_thread *thread, uint64_t ninsn)
{
	struct timeline *timeline = context;
	const int status = take_thread(timeline, thread);

	timeline->cpu[timeline->current].ninsn += ninsn;
	return status;
}

static int on_enter(void *context, struct sb_call_thread *thread)
{
	struct timeline *timeline = context;
	const int status = take_thread(timeline, thread);

	return status < 0 ? status : add(timeline, thread, true);
}

static int on_leave(void *context, struct sb_call_thread *thread, enum sb_leave how)
{
	struct timeline *timeline = context;
	int status = 0;

	(void)how;
	/* At the end, one thread comes after the other, each on the CPU where it was last. */
	if (timeline->current == SIZE_MAX) {
		struct timeline_cpu last = {.pid = thread->pid, .tid = thread->tid, .thread = thread->index};

		if (timeline->deepest && thread->depth > timeline->deepest)
			return 0;
		return end_slice(timeline, &last);
	}
	status = take_thread(timeline, thread);
	return status < 0 ? status : add(timeline, thread, false);
}

/* ---- Flow and gaps -------------------------------------------------------------------------------- */

static struct timeline_cpu *cpu_of(struct timeline *timeline, int32_t number)
{
	struct timeline_cpu *bigger;

	for (size_t i = 0; i < timeline->ncpus; i++)
		if (timeline->cpu[i].cpu == number)
			return &timeline->cpu[i];
	bigger = realloc(timeline->cpu, (timeline->ncpus + 1) * sizeof(*bigger));
	if (!bigger)
		return NULL;
	timeline->cpu = bigger;
	timeline->cpu[timeline->ncpus] = (struct timeline_cpu){.cpu = number, .first = UINT64_MAX};
	return &timeline->cpu[timeline->ncpus++];
}

int timeline_flow(struct timeline *timeline, const struct sb_flow *flow)
{
	struct timeline_cpu *cpu = cpu_of(timeline, flow->cpu);
	const uint64_t now = time_of(timeline, flow->tsc);
	int status;

	if (!cpu)
		return -sbe_nomem;
	status = settle(timeline, cpu, now);
	if (status < 0)
		return status;
	cpu->begin = now;
	cpu->ninsn = 0;
	if (flow->tsc && now < cpu->first)
		cpu->first = now;
	timeline->current = (size_t)(cpu - timeline->cpu);
	return sb_calls_flow(timeline->calls, flow);
}

int timeline_gap(struct timeline *timeline, const struct sb_gap *gap)
{
	const uint64_t begin = time_of(timeline, gap->tsc_from);
	const uint64_t end = gap->tsc_to > gap->tsc_from ? time_of(timeline, gap->tsc_to) : begin;
	int status = sb_calls_gap(timeline->calls, gap);

	if (status == 0 && timeline->consumer.gap && gap->tsc_from)
		status = timeline->consumer.gap(timeline->consumer.context, gap, begin, end);
	return status;
}

/* ---- The end -------------------------------------------------------------------------------------- */

static int tell_runs(struct timeline *timeline, const struct timeline_cpu *cpu)
{
	const struct sb_system *system = timeline->context.system;
	const struct sb_sched *sched;
	size_t count = 0;
	int status = 0;

	if (!system || !timeline->consumer.run || !timeline_has_clock(timeline) || cpu->first > cpu->last)
		return 0;
	sched = sb_system_schedule(system, cpu->cpu, &count);
	for (size_t i = 0; i < count && status == 0; i++) {
		const uint64_t next = i + 1 < count ? sched[i + 1].time : cpu->last;
		const struct timeline_run run = {
		        .cpu = cpu->cpu,
		        .pid = sched[i].pid,
		        .tid = sched[i].tid,
		        .begin = sched[i].time > cpu->first ? sched[i].time : cpu->first,
		        .end = next < cpu->last ? next : cpu->last,
		        .comm = sb_system_comm(system, sched[i].pid, sched[i].tid, sched[i].time)};

		if (sched[i].pid >= 0 && run.begin < run.end)
			status = timeline->consumer.run(timeline->consumer.context, &run);
	}
	return status;
}

static int compare_cpus(const void *a, const void *b)
{
	const struct timeline_cpu *left = a, *right = b;

	return left->cpu < right->cpu ? -1 : left->cpu > right->cpu;
}

int timeline_finish(struct timeline *timeline)
{
	int status = 0;

	/* What ran last took no time that anybody knows: at most what the instructions may take. */
	for (size_t i = 0; i < timeline->ncpus && status == 0; i++)
		status = settle(timeline, &timeline->cpu[i], timeline->cpu[i].begin);
	timeline->current = SIZE_MAX;
	if (status == 0)
		status = sb_calls_finish(timeline->calls);
	if (timeline->ncpus)
		qsort(timeline->cpu, timeline->ncpus, sizeof(*timeline->cpu), compare_cpus);
	for (size_t i = 0; i < timeline->ncpus && status == 0; i++)
		status = tell_runs(timeline, &timeline->cpu[i]);
	return status;
}

struct timeline *timeline_new(const struct sink_context *context, const struct timeline_consumer *consumer,
                              uint32_t deepest)
{
	const struct sb_calls_options options = {.size = sizeof(options),
	                                         .symbols = context->symbols,
	                                         .clock = context->clock,
	                                         .system = context->system,
	                                         .holes = context->cut};
	struct timeline *timeline = calloc(1, sizeof(*timeline));
	const struct sb_calls_consumer calls = {
	        .context = timeline, .run = on_run, .enter = on_enter, .leave = on_leave};

	if (!timeline)
		return NULL;
	timeline->context = *context;
	timeline->consumer = *consumer;
	timeline->deepest = deepest;
	if (sb_calls_new(&timeline->calls, &options, &calls, NULL) == 0)
		return timeline;
	timeline_free(timeline);
	return NULL;
}

void timeline_free(struct timeline *timeline)
{
	if (!timeline)
		return;
	sb_calls_free(timeline->calls);
	for (size_t i = 0; i < timeline->ncpus; i++)
		free(timeline->cpu[i].waiting);
	for (size_t i = 0; i < timeline->nthreads; i++)
		free(timeline->thread[i].slice);
	free(timeline->cpu);
	free(timeline->thread);
	free(timeline->process);
	call_names_free(&timeline->names);
	free(timeline);
}
