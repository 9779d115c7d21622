/* switch_time.h - when a CPU was given to somebody else, as its schedule says. */
#ifndef TOOLS_SINK_SWITCH_TIME_H
#define TOOLS_SINK_SWITCH_TIME_H

#include <sb/system.h>

#include "vector.h"

/* The first switch of @cpu behind @from, if it is before @to (both perf clock, ns); else @to. @system may be
 * NULL. */
static inline uint64_t switched_before(const struct sb_system *system, int32_t cpu, uint64_t from,
                                       uint64_t to)
{
	const struct sb_sched *sched;
	size_t count = 0, next;

	if (!system || from == UINT64_MAX)
		return to;
	sched = sb_system_schedule(system, cpu, &count);
	next = vector_from(sched, count, sizeof(*sched), from + 1);
	return next < count && sched[next].time < to ? sched[next].time : to;
}

/* The same again and again for one CPU, mostly a little later each time. */
struct switch_search {
	const struct sb_sched *sched;
	size_t count, next; /* next: of the first switch behind the time that was asked for last */
};

static inline struct switch_search switch_search(const struct sb_system *system, int32_t cpu)
{
	struct switch_search search = {0};

	if (system)
		search.sched = sb_system_schedule(system, cpu, &search.count);
	return search;
}

static inline uint64_t switch_search_before(struct switch_search *search, uint64_t from, uint64_t to)
{
	const struct sb_sched *sched = search->sched;

	if (from == UINT64_MAX)
		return to;
	if (search->next && sched[search->next - 1].time > from)
		search->next = vector_from(sched, search->count, sizeof(*sched), from + 1);
	while (search->next < search->count && sched[search->next].time <= from)
		search->next++;
	return search->next < search->count && sched[search->next].time < to ? sched[search->next].time : to;
}

#endif
