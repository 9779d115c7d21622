/* lost_time.h - when records were lost, of whatever kind and CPU.
 */
#ifndef SB_LOST_TIME_H
#define SB_LOST_TIME_H

#include <stddef.h>
#include <stdint.h>

#include "bisect.h"

/* perf clock, ns; both included. */
struct lost_time {
	uint64_t from, to;
};

/* In the order of times; none overlaps another one. Borrowed. */
struct lost_times {
	const struct lost_time *of;
	size_t count;
};

/* Whether there is one at some time from @from to @to. */
static inline int lost_times_meet(const struct lost_times *times, uint64_t from, uint64_t to)
{
	struct bisect at = {.high = times->count};

	while (bisect_more(&at))
		bisect_go(&at, times->of[at.middle].from <= to);
	return at.low && times->of[at.low - 1].to >= from;
}

#endif
