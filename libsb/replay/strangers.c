/* strangers.c - see strangers.h. */
#include "replay/strangers.h"

#include <stdlib.h>
#include <string.h>

#include "system/arena.h"
#include "system/process.h"
#include "system/schedule.h"

/* ---- Making ------------------------------------------------------------------------------------- */

static int add(struct strangers *strangers, int32_t pid, uint64_t from, uint64_t to)
{
	if (array_reserve(&strangers->of, &strangers->capacity, strangers->count, sizeof(*strangers->of)) < 0)
		return -sbe_nomem;
	strangers->of[strangers->count++] = (struct stranger){(uint32_t)pid, from, to};
	return 0;
}

static int add_joined(struct strangers *strangers, int32_t pid, int32_t tid)
{
	const uint64_t key = (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;

	if (strangers->njoined && strangers->joined[strangers->njoined - 1] == key)
		return 0;
	if (array_reserve(&strangers->joined, &strangers->joined_capacity, strangers->njoined,
	                  sizeof(*strangers->joined)) < 0)
		return -sbe_nomem;
	strangers->joined[strangers->njoined++] = key;
	return 0;
}

/* Somebody ran. As a rule, the numbers are known; those of a thread may be although nothing is known of its
 * process: where a record names it in passing. */
static int see(struct strangers *strangers, int32_t pid, int32_t tid)
{
	int status = 0;

	if (pid <= 0 || tid <= 0)
		return 0;
	if (!process_is_known(system_processes(strangers->system), pid))
		status = add(strangers, pid, 0, UINT64_MAX);
	if (status < 0 || sb_system_thread_pid(strangers->system, tid) == pid)
		return status;
	return add_joined(strangers, pid, tid);
}

static int see_cpu(struct strangers *strangers, int32_t cpu)
{
	size_t nscheds, nseen;
	const struct sb_sched *sched = sb_system_schedule(strangers->system, cpu, &nscheds);
	const struct sb_seen *seen = system_seen(strangers->system, cpu, &nseen);
	int status = 0;

	for (size_t i = 0; i < nscheds && status == 0; ++i) {
		system_schedule_pass(strangers->system, cpu, i);
		status = see(strangers, sched[i].prev_pid, sched[i].prev_tid);
		if (status == 0)
			status = see(strangers, sched[i].pid, sched[i].tid);
	}
	for (size_t i = 0; i < nseen && status == 0; ++i)
		status = see(strangers, seen[i].pid, seen[i].tid);
	return status;
}

/* Those that follow each other and are the same become one. */
static void unite(struct strangers *strangers)
{
	size_t kept = 0, njoined = 0;

	for (size_t i = 0; i < strangers->count; ++i) {
		const struct stranger *one = &strangers->of[i],
		                      *last = kept ? &strangers->of[kept - 1] : NULL;

		if (!last || last->pid != one->pid || last->from != one->from || last->to != one->to)
			strangers->of[kept++] = *one;
	}
	strangers->count = kept;
	for (size_t i = 0; i < strangers->njoined; ++i)
		if (!njoined || strangers->joined[njoined - 1] != strangers->joined[i])
			strangers->joined[njoined++] = strangers->joined[i];
	strangers->njoined = njoined;
}

static int latest_first(const void *left, const void *right)
{
	const struct stranger *a = left, *b = right;

	if (a->to != b->to)
		return a->to > b->to ? -1 : 1;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static int sort(struct strangers *strangers)
{
	if (array_sort(strangers->of, strangers->count, sizeof(*strangers->of)) < 0 ||
	    array_sort(strangers->joined, strangers->njoined, sizeof(*strangers->joined)) < 0)
		return -sbe_nomem;
	unite(strangers);
	strangers->latest = calloc(strangers->count + 1, sizeof(*strangers->latest));
	if (!strangers->latest)
		return -sbe_nomem;
	if (strangers->count) {
		memcpy(strangers->latest, strangers->of, strangers->count * sizeof(*strangers->of));
		qsort(strangers->latest, strangers->count, sizeof(*strangers->latest), latest_first);
	}
	return 0;
}

int strangers_init(struct strangers *strangers, const struct sb_system *system,
                   const struct sb_perfdata *perfdata)
{
	const struct process_table *processes = system_processes(system);
	const size_t ncpus = system_schedule(system)->ncpus;
	int status = 0;

	*strangers = (struct strangers){.system = system};
	for (size_t i = 0; i < processes->nstrangers && status == 0; ++i) {
		const struct process_stranger *is = &processes->stranger[i];

		if (is->pid > 0)
			status = add(strangers, is->pid, is->from, is->to);
	}
	for (size_t i = 0; i < ncpus && status == 0; ++i)
		status = see_cpu(strangers, (int32_t)i);
	if (status == 0)
		status = lost_spans_init(&strangers->lost, system, perfdata);
	return status < 0 ? status : sort(strangers);
}

void strangers_fini(struct strangers *strangers)
{
	free(strangers->of);
	free(strangers->latest);
	free(strangers->joined);
	lost_spans_fini(&strangers->lost);
	*strangers = (struct strangers){0};
}

/* ---- Asking ------------------------------------------------------------------------------------- */

static int is_at(const struct stranger *stranger, uint64_t time, uint64_t slack)
{
	return time + slack >= stranger->from && (time < slack || time - slack <= stranger->to);
}

int strangers_have(const struct strangers *strangers, int32_t pid, uint64_t time, uint64_t slack)
{
	const uint64_t key = (uint32_t)pid;
	size_t i = pid > 0 ? array_above(strangers->of, strangers->count, sizeof(*strangers->of), key - 1)
	                   : strangers->count;

	while (i < strangers->count && strangers->of[i].pid == key)
		if (is_at(&strangers->of[i++], time, slack))
			return 1;
	return 0;
}

size_t strangers_add(const struct strangers *strangers, uint64_t time, uint64_t slack, int32_t *pid,
                     size_t count, size_t max)
{
	for (size_t i = 0; i < strangers->count && count < max; ++i) {
		const struct stranger *one = &strangers->latest[i];
		size_t same = 0;

		if (time > slack && time - slack > one->to)
			break;
		if (!is_at(one, time, slack))
			continue;
		while (same < count && pid[same] != (int32_t)one->pid)
			same += 1;
		if (same == count)
			pid[count++] = (int32_t)one->pid;
	}
	return count;
}

/* Whether switches alone tell of a thread of @pid that is not @tid. */
static int has_joined(const struct strangers *strangers, int32_t pid, int32_t tid)
{
	const uint64_t first = (uint64_t)(uint32_t)pid << 32;
	size_t i = array_above(strangers->joined, strangers->njoined, sizeof(*strangers->joined), first);

	for (; i < strangers->njoined && strangers->joined[i] >> 32 == (uint32_t)pid; ++i)
		if ((int32_t)(uint32_t)strangers->joined[i] != tid)
			return 1;
	return 0;
}

int32_t strangers_only_thread(const struct strangers *strangers, int32_t pid)
{
	return has_joined(strangers, pid, -1) ? -1 : system_only_thread(strangers->system, pid);
}

int strangers_has_other_threads(const struct strangers *strangers, int32_t pid, int32_t tid)
{
	return has_joined(strangers, pid, tid) || system_has_other_threads(strangers->system, pid, tid);
}
