/* fork_memory.c - see fork_memory.h. */
#include "replay/fork_memory.h"

#include <stdlib.h>

#include "replay/fork_code.h"
#include "replay/ip_scan.h"
#include "replay/lost_spans.h"
#include "system/arena.h"
#include "system/system.h"

/* When a child ran first, and where. */
struct first_run {
	uint64_t from; /* first: sorted by it */
	uint64_t to;
	int32_t cpu; /* -1: it never ran */
	struct fork_fact *fact;
	int is_over; /* it has come to user space */
	int is_doubtful;
};

struct run_of_pid {
	uint64_t pid; /* first: sorted by it; those of one pid by time */
	struct first_run *run;
};

struct forks {
	const struct sb_system *system;
	uint64_t slack;
	struct fork_code code;
	struct first_run *run;     /* owned, and the next two */
	struct run_of_pid *by_pid; /* all, */
	struct first_run **here;   /* and those on a CPU, by time: they do not overlap */
	size_t count, nhere;
	struct lost_spans lost;
	int lacks_switches;
};

static uint64_t plus(uint64_t time, uint64_t slack)
{
	return time < UINT64_MAX - slack ? time + slack : UINT64_MAX;
}

/* ---- When --------------------------------------------------------------------------------------- */

static int list_runs(struct forks *forks, struct fork_fact *fact, size_t count)
{
	forks->count = count;
	forks->run = calloc(count ? count : 1, sizeof(*forks->run));
	forks->by_pid = calloc(count ? count : 1, sizeof(*forks->by_pid));
	forks->here = calloc(count ? count : 1, sizeof(struct first_run *));
	if (!forks->run || !forks->by_pid || !forks->here)
		return -sbe_nomem;
	for (size_t i = 0; i < count; ++i) {
		forks->run[i] = (struct first_run){.from = UINT64_MAX, .cpu = -1, .fact = &fact[i]};
		forks->by_pid[i] = (struct run_of_pid){(uint32_t)fact[i].pid, &forks->run[i]};
	}
	return array_sort(forks->by_pid, count, sizeof(*forks->by_pid));
}

/* The fork that made whoever is called @pid at @time; NULL: none of these. */
static struct first_run *find_run(const struct forks *forks, int32_t pid, uint64_t time)
{
	size_t i =
	        pid < 0 ? 0 : array_above(forks->by_pid, forks->count, sizeof(*forks->by_pid), (uint32_t)pid);

	for (; i > 0 && forks->by_pid[i - 1].pid == (uint32_t)pid; --i)
		if (forks->by_pid[i - 1].run->fact->time <= time)
			return forks->by_pid[i - 1].run;
	return NULL;
}

static void look_at_switches(struct forks *forks, int32_t cpu)
{
	size_t count;
	const struct sb_sched *sched = sb_system_schedule(forks->system, cpu, &count);

	forks->lacks_switches |= system_switch_losses(forks->system, cpu) != switch_losses_none;
	for (size_t i = 0; i < count; ++i) {
		struct first_run *run = find_run(forks, sched[i].pid, sched[i].time);

		system_schedule_pass(forks->system, cpu, i);
		/* How it came to be before the recording, no trace shows. */
		if (!run || !run->fact->time || run->from <= sched[i].time)
			continue;
		run->from = sched[i].time;
		run->to = i + 1 < count ? sched[i + 1].time : UINT64_MAX;
		run->cpu = cpu;
	}
}

static void list_here(struct forks *forks, int32_t cpu)
{
	forks->nhere = 0;
	for (size_t i = 0; i < forks->count; ++i)
		if (forks->run[i].cpu == cpu)
			forks->here[forks->nhere++] = &forks->run[i];
}

/* ---- Where it came to user space ------------------------------------------------------------------ */

/* It is the last one of those that it may have come from: what ran before came earlier, and it makes no
 * process of its own in so short a time. */
static void take_call(struct first_run *run, enum fork_call call)
{
	static const enum fork_memory memory[] = {[fork_call_copies] = fork_copies,
	                                          [fork_call_shares] = fork_shares,
	                                          [fork_call_any] = fork_unknown};

	if (call != fork_call_none)
		run->fact->memory = memory[call];
}

/* Where execution goes on where an interrupt stopped it, no call returns; and who comes to where the child
 * has nothing, at about the time when it was switched to, is whoever ran before. */
static int come_to(struct forks *forks, struct first_run *run, const struct ip_seen *seen)
{
	const struct sb_map *map = fork_code_map(forks->system, run->fact->pid, seen->ip, run->from);
	const int is_sure = seen->from > plus(run->from, forks->slack);
	int call = !map && !is_sure && seen->ip ? fork_call_none : fork_call_any;

	if (map)
		call = fork_code_look_up(&forks->code, map, seen->ip);
	if (call < 0)
		return call;
	take_call(run, seen->is_resumed && call == fork_call_any ? fork_call_none : (enum fork_call)call);
	/* It was surely there by now, if not before; and what comes back from such a call, when the child
	 * runs as far as the trace's time is right, is the child. */
	run->is_over = is_sure || (seen->from >= run->from && run->fact->memory != fork_unknown);
	return 0;
}

/* Those that may have run then are few: all others are before or behind. */
static int on_ip(void *context, const struct ip_seen *seen)
{
	struct forks *forks = context;
	size_t low = 0, high = forks->nhere;
	int status = 0;

	if (!seen->is_entry)
		return 0;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (plus(forks->here[middle]->to, forks->slack) < seen->from)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < forks->nhere && forks->here[low]->from <= plus(seen->to, forks->slack) && status == 0;
	     ++low)
		if (!forks->here[low]->is_over)
			status = come_to(forks, forks->here[low], seen);
	return status;
}

/* Where switches are missing, it may have run before. */
static void doubt_early_runs(struct forks *forks)
{
	for (size_t i = 0; i < forks->count; ++i) {
		struct first_run *run = &forks->run[i];

		run->is_doubtful |=
		        forks->lacks_switches || lost_spans_meet(&forks->lost, run->fact->time, run->from);
	}
}

static int look_at_trace(struct forks *forks, const struct sb_perfdata *perfdata)
{
	const struct ip_sink sink = {forks, on_ip};
	size_t nstreams;
	const struct sb_aux_stream *stream = sb_perfdata_streams(perfdata, &nstreams);
	int status = 0;

	for (size_t i = 0; i < nstreams; ++i)
		look_at_switches(forks, stream[i].cpu);
	doubt_early_runs(forks);
	if (array_sort(forks->run, forks->count, sizeof(*forks->run)) < 0)
		return -sbe_nomem;
	for (size_t i = 0; i < nstreams && status == 0; ++i) {
		list_here(forks, stream[i].cpu);
		if (forks->nhere && stream[i].cpu >= 0)
			status = ip_scan(perfdata, forks->system, &stream[i], &sink);
	}
	return status;
}

int fork_memory_find(const struct sb_perfdata *perfdata, const struct sb_system *system,
                     struct sb_resolver *resolver, uint64_t slack, struct fork_fact *fact, size_t count)
{
	struct forks forks = {
	        .system = system, .slack = slack, .code = {.resolver = resolver, .system = system}};
	int status = lost_spans_init(&forks.lost, system, perfdata);

	if (status == 0)
		status = list_runs(&forks, fact, count);
	if (status == 0)
		status = look_at_trace(&forks, perfdata);
	for (size_t i = 0; status == 0 && i < count; ++i)
		if (forks.run[i].is_doubtful)
			forks.run[i].fact->memory = fork_unknown;
	fork_code_fini(&forks.code);
	lost_spans_fini(&forks.lost);
	free(forks.run);
	free(forks.by_pid);
	free(forks.here);
	return status;
}
