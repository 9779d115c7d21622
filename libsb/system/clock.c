/* clock.c - time stamp counter <-> perf clock, exact and monotonic over the whole range.
 *
 * The formula in <sb/clock.h> is floor(tsc * mult / 2^shift) + zero, written so that the kernel's
 * 64 bits do; with 128 bits it is one product. The kernel's time_zero is a wrapped negative number
 * where the counter ran before the clock did; taken as signed, nothing wraps.
 */
#include <sb/clock.h>

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 i128;

static int is_known(const struct sb_clock *clock)
{
	return clock->time_mult != 0 && clock->time_shift < 64;
}

static uint64_t clamp(i128 value)
{
	if (value < 0)
		return 0;
	return value > (i128)UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

uint64_t sb_clock_tsc_to_ns(const struct sb_clock *clock, uint64_t tsc)
{
	if (!is_known(clock))
		return 0;
	return clamp((i128)(((u128)tsc * clock->time_mult) >> clock->time_shift) + (int64_t)clock->time_zero);
}

uint64_t sb_clock_ns_to_tsc(const struct sb_clock *clock, uint64_t ns)
{
	i128 elapsed = (i128)ns - (int64_t)clock->time_zero;
	u128 tsc;

	/* All counts before the clock's zero have time 0, so its first count is 0. */
	if (!is_known(clock) || elapsed <= 0 || !ns)
		return 0;
	/* elapsed < 2^65 and time_shift < 64: at most 128 bits. Rounding up must not carry over. */
	tsc = ((((u128)elapsed << clock->time_shift) - 1) / clock->time_mult) + 1;
	return tsc > UINT64_MAX ? UINT64_MAX : (uint64_t)tsc;
}
