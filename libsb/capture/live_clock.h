/* live_clock.h - the time that records have, for what we write ourselves. */
#ifndef SB_LIVE_CLOCK_H
#define SB_LIVE_CLOCK_H

#include <stdint.h>

/* How far the clock of perf records is ahead of CLOCK_MONOTONIC_RAW; both count nanoseconds of the same
 * hardware, so that this holds for minutes. */
struct live_clock {
	int64_t ahead;
};

/* Zero or -errno. */
int live_clock_set(struct live_clock *clock);
uint64_t live_clock_now(const struct live_clock *clock);

#endif
