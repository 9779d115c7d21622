/* sb/clock.h - between the time stamp counter and perf's clock (perf_event_open(2), "time_zero").
 *
 *   ns = time_zero + (tsc >> time_shift) * time_mult + (((tsc & (2^time_shift - 1)) * time_mult) >>
 * time_shift)
 *
 * time_zero counts as signed: the kernel gives a wrapped negative number where the counter started
 * before the clock. Both functions are monotonic over the whole range and saturate at its ends.
 */
#ifndef SB_CLOCK_H
#define SB_CLOCK_H

#include <stdint.h>

#include <sb/export.h>

struct sb_clock {
	uint16_t time_shift;
	uint32_t time_mult; /* 0 (or a time_shift above 63): no conversion is known, both functions give 0 */
	uint64_t time_zero;
};

sb_export uint64_t sb_clock_tsc_to_ns(const struct sb_clock *clock, uint64_t tsc);

/* The smallest time stamp count whose time is >= @ns; 0 for times before the counter's zero, and
 * UINT64_MAX where there is no such count. So ns_to_tsc(tsc_to_ns(tsc)) <= tsc. */
sb_export uint64_t sb_clock_ns_to_tsc(const struct sb_clock *clock, uint64_t ns);

#endif
