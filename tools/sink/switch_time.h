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

#endif
