/* switch_time.h - when a CPU was given to somebody else, as its schedule says. */
#ifndef TOOLS_SINK_SWITCH_TIME_H
#define TOOLS_SINK_SWITCH_TIME_H

#include <sb/system.h>

/* The first switch of @cpu behind @from, if it is before @to (both perf clock, ns); else @to. @system may be
 * NULL. */
static inline uint64_t switched_before(const struct sb_system *system, int32_t cpu, uint64_t from, uint64_t to)
{
	const struct sb_sched *sched;
	size_t count = 0, low = 0, high;

	if (!system)
		return to;
	sched = sb_system_schedule(system, cpu, &count);
	for (high = count; low < high;) {
		const size_t middle = low + (high - low) / 2;

		if (sched[middle].time > from)
			high = middle;
		else
			low = middle + 1;
	}
	return low < count && sched[low].time < to ? sched[low].time : to;
}

#endif
