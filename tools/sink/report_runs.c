/* report_runs.c - see report_runs.h. */
#include "sink/report_runs.h"

#include <stdlib.h>

#include "sink/switch_time.h"
#include "vector.h"

struct report_running {
	int32_t cpu, pid;
	size_t row;                    /* of the CPU, in .time */
	uint32_t process;              /* UINT32_MAX: nobody is known to run */
	uint64_t since;                /* ticks */
	struct switch_search switches; /* of the CPU */
	/* Turns behind that at .since, up to before .until (TSC): the process is still in the bin of .since.
	 */
	uint64_t until, latest;
	uint64_t nblocks;      /* theirs */
	uint64_t user, kernel; /* the sums of all, also of that at .since */
	const struct sb_membership *membership;
};

void report_runs_init(struct report_runs *runs, const struct sink_context *context)
{
	*runs = (struct report_runs){.context = context, .time.shift = 6};
}

void report_runs_free(struct report_runs *runs)
{
	report_time_free(&runs->time);
	free(runs->process);
	free(runs->slot);
	free(runs->running);
	free(runs->place);
}

/* ---- Processes -------------------------------------------------------------------------------- */

static uint32_t *slot_of(const struct report_runs *runs, int32_t pid)
{
	uint32_t at = (uint32_t)pid * 0x9e3779b1u >> 7 & (runs->nslots - 1);

	while (runs->slot[at] && runs->process[runs->slot[at] - 1].pid != pid)
		at = (at + 1) & (runs->nslots - 1);
	return &runs->slot[at];
}

static int grow(struct report_runs *runs)
{
	const uint32_t nslots = runs->nslots ? 2 * runs->nslots : 256;
	struct report_process *process = reallocarray(runs->process, nslots / 2, sizeof(*process));
	uint32_t *slot;

	if (!process)
		return -1;
	runs->process = process;
	slot = calloc(nslots, sizeof(*slot));
	if (!slot)
		return -1;
	free(runs->slot);
	runs->slot = slot;
	runs->nslots = nslots;
	for (uint32_t i = 0; i < runs->nprocesses; i++)
		*slot_of(runs, process[i].pid) = i + 1;
	return 0;
}

struct report_process *report_runs_process(struct report_runs *runs, int32_t pid)
{
	uint32_t *slot;

	if (2 * runs->nprocesses >= runs->nslots && grow(runs))
		return NULL;
	slot = slot_of(runs, pid);
	if (!*slot) {
		runs->process[runs->nprocesses] = (struct report_process){.pid = pid};
		*slot = ++runs->nprocesses;
	}
	return &runs->process[*slot - 1];
}

/* ---- Time ------------------------------------------------------------------------------------- */

static uint64_t time_of(const struct report_runs *runs, uint64_t tsc)
{
	return runs->context->clock->time_mult ? sb_clock_tsc_to_ns(runs->context->clock, tsc) : tsc;
}

/* One that is new has a row of its own, behind which others move. */
static int find_rows(struct report_runs *runs, int32_t cpu)
{
	if (report_time_cpu(&runs->time, cpu) < 0)
		return -1;
	for (size_t i = 0; i < runs->nrunning; i++)
		runs->running[i].row = (size_t)report_time_cpu(&runs->time, runs->running[i].cpu);
	return 0;
}

/* NULL: no memory. */
static struct report_running *new_running(struct report_runs *runs, int32_t cpu, size_t place)
{
	struct report_running *running =
	        reallocarray(runs->running, runs->nrunning + 1, sizeof(*runs->running));

	if (!running)
		return NULL;
	runs->running = running;
	if (vector_reach(&runs->place, &runs->nplaces, place, sizeof(*runs->place)))
		return NULL;
	running += runs->nrunning;
	*running = (struct report_running){.cpu = cpu, .process = UINT32_MAX};
	/* Its schedule is in ns. */
	running->switches =
	        switch_search(runs->context->clock->time_mult ? runs->context->system : NULL, cpu);
	runs->place[place] = (uint32_t)++runs->nrunning;
	return find_rows(runs, cpu) ? NULL : running;
}

static inline struct report_running *running_on(struct report_runs *runs, int32_t cpu)
{
	/* -1: trace of no CPU's */
	const size_t place = (size_t)((int64_t)cpu + 1);

	if (place < runs->nplaces && runs->place[place])
		return &runs->running[runs->place[place] - 1];
	return new_running(runs, cpu, place);
}

/* Whoever ran on the CPU ran until @now at most. */
static int end_running(struct report_runs *runs, struct report_running *running, uint64_t now)
{
	uint64_t end;

	if (running->process == UINT32_MAX || now <= running->since)
		return 0;
	end = switch_search_before(&running->switches, running->since, now);
	return report_time_add_span(&runs->time, running->row, running->process, running->since, end);
}

/* ---- Turns and gaps --------------------------------------------------------------------------- */

static void see_time(struct report_runs *runs, uint64_t now)
{
	if (!now)
		return;
	runs->first = !runs->begun || now < runs->first ? now : runs->first;
	runs->last = now > runs->last ? now : runs->last;
	runs->begun = true;
}

/* The latest turn says which one a process is in: by its time, then by its CPU. Those of no CPU come first of
 * all, one after the other. */
static void see_container(struct report_process *process, const struct sb_membership *membership,
                          uint64_t tsc, int32_t cpu)
{
	const int32_t before = process->container ? process->contained_cpu : -1;

	if (!membership || !membership->container)
		return;
	if (before >= 0 &&
	    (cpu < 0 || tsc < process->contained || (tsc == process->contained && cpu < before)))
		return;
	process->container = membership->container;
	process->contained = tsc;
	process->contained_cpu = cpu;
}

/* What was added up behind the turn at .since counts for the process. When the last of it was. */
static uint64_t settle_process(struct report_runs *runs, const struct report_running *running,
                               struct report_process *process)
{
	const uint64_t now = time_of(runs, running->latest);

	process->last = now > process->last ? now : process->last;
	process->nblocks += running->nblocks;
	see_container(process, running->membership, running->latest, running->cpu);
	see_time(runs, now);
	return now;
}

/* What was added up counts where it was. Zero, or negative: no memory. */
static int settle(struct report_runs *runs, struct report_running *running)
{
	struct report_process *process;
	uint64_t since = running->since;

	if (!running->until)
		return 0;
	running->until = 0;
	process = &runs->process[running->process];
	process->user += running->user;
	process->kernel += running->kernel;
	if (running->nblocks)
		running->since = settle_process(runs, running, process);
	return report_time_add(&runs->time, running->row, since, running->process,
	                       (const uint64_t[3]){running->since - since, running->user, running->kernel});
}

/* From now on, turns of the process are added up until somebody else's, or the bin's end. */
static void begin_adding(struct report_runs *runs, struct report_running *running,
                         const struct sb_flow_turn *turn)
{
	const struct sb_clock *clock = runs->context->clock;
	const uint64_t width = 1ull << runs->time.shift, end = (running->since | (width - 1)) + 1;
	uint64_t until = switch_search_before(&running->switches, running->since, end);

	running->until = clock->time_mult ? sb_clock_ns_to_tsc(clock, until) : until;
	running->latest = turn->tsc;
	running->pid = turn->pid;
	running->membership = turn->membership;
	running->kernel = turn->ninsn_kernel;
	running->user = turn->ninsn - turn->ninsn_kernel;
	running->nblocks = 0;
}

/* Counts the turn at .since where nothing is added up with it. Zero, or negative: no memory. */
static int add_alone(struct report_runs *runs, const struct report_running *running,
                     const struct sb_flow_turn *turn)
{
	struct report_process *process = &runs->process[running->process];
	const uint64_t kernel = turn->ninsn_kernel, user = turn->ninsn - kernel;

	process->user += user;
	process->kernel += kernel;
	return report_time_add(&runs->time, running->row, running->since, running->process,
	                       (const uint64_t[3]){0, user, kernel});
}

static int begin_running(struct report_runs *runs, struct report_running *running,
                         const struct sb_flow_turn *turn)
{
	const uint64_t now = time_of(runs, turn->tsc);
	struct report_process *process = report_runs_process(runs, turn->pid);

	if (!process || settle(runs, running) || end_running(runs, running, now))
		return -1;
	process->first = process->nblocks ? process->first : now;
	process->last = now > process->last ? now : process->last;
	process->nblocks += turn->nblocks;
	see_container(process, turn->membership, turn->tsc, turn->cpu);
	running->process = (uint32_t)(process - runs->process);
	running->since = now;
	see_time(runs, now);
	if (now && turn->nblocks)
		begin_adding(runs, running, turn);
	return running->until ? 0 : add_alone(runs, running, turn);
}

static inline int add_turn(struct report_runs *runs, const struct sb_flow_turn *turn)
{
	struct report_running *running = running_on(runs, turn->cpu);

	if (!running)
		return -1;
	if (turn->tsc >= running->until || turn->tsc < running->latest || turn->pid != running->pid ||
	    turn->membership != running->membership)
		return begin_running(runs, running, turn);
	running->latest = turn->tsc_to;
	running->user += turn->ninsn - turn->ninsn_kernel;
	running->kernel += turn->ninsn_kernel;
	running->nblocks += turn->nblocks;
	return 0;
}

int report_runs_add(struct report_runs *runs, const struct sb_flow_turn *turn, size_t nturns)
{
	int status = 0;

	for (size_t i = 0; i < nturns && !status; i++)
		status = add_turn(runs, &turn[i]);
	return status;
}

uint64_t report_runs_until(const struct report_runs *runs, int32_t cpu)
{
	const size_t place = (size_t)((int64_t)cpu + 1);

	return place < runs->nplaces && runs->place[place] ? runs->running[runs->place[place] - 1].until : 0;
}

int report_runs_gap(struct report_runs *runs, const struct sb_gap *gap)
{
	const uint64_t at = time_of(runs, gap->tsc_from);
	struct report_running *running;

	if (gap->cpu < 0 || !gap->tsc_from)
		return 0;
	running = running_on(runs, gap->cpu);
	if (!running || settle(runs, running) || end_running(runs, running, at))
		return -1;
	running->process = UINT32_MAX;
	see_time(runs, at);
	return report_time_add(&runs->time, running->row, at, report_gap | (uint32_t)gap->reason,
	                       (const uint64_t[3]){0, 1, gap->bytes});
}

int report_runs_finish(struct report_runs *runs)
{
	for (size_t i = 0; i < runs->nrunning; i++)
		if (settle(runs, &runs->running[i]))
			return -1;
	for (size_t i = 0; i < runs->nrunning; i++)
		if (end_running(runs, &runs->running[i], runs->last))
			return -1;
	return 0;
}
