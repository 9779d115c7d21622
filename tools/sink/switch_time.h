/* switch_time.h - when a CPU was given to somebody else, as its schedule says. */
#ifndef TOOLS_SINK_SWITCH_TIME_H
#define TOOLS_SINK_SWITCH_TIME_H

#include <sb/system.h>

#include "sink/sink.h"
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

/* The switches of @cpu that are replayed: of CPUs and the span that are wanted, with the one that says who
 * ran when the span begins. */
static inline const struct sb_sched *switches_replayed(const struct sink_context *context, int32_t cpu,
                                                       size_t *count)
{
	const struct sb_sched *sched = sb_system_schedule(context->system, cpu, count);
	const struct sink_filter *wanted = context->replayed;
	size_t first, behind = *count, i = 0;

	if (!wanted)
		return sched;
	while (i < wanted->ncpus && wanted->cpu[i] != cpu)
		i++;
	if (wanted->ncpus && i == wanted->ncpus)
		*count = 0;
	if (!*count || !wanted->tsc_to || !context->clock->time_mult)
		return sched;
	first = vector_from(sched, *count, sizeof(*sched),
	                    sb_clock_tsc_to_ns(context->clock, wanted->tsc_from) + 1);
	if (wanted->tsc_to < UINT64_MAX)
		behind = vector_from(sched, *count, sizeof(*sched),
		                     sb_clock_tsc_to_ns(context->clock, wanted->tsc_to) + 1);
	first -= first != 0;
	*count = behind > first ? behind - first : 0;
	return sched + first;
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
