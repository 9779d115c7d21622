/* observed_time.h - what the time says that an observer has.
 *
 * A trace's time is that of the last packet that told any: what is recorded up to the next one may have come.
 */
#ifndef SB_OBSERVED_TIME_H
#define SB_OBSERVED_TIME_H

#include "replay/sideband_observer.h"

/* The perf clock's time of @tsc, which a packet has. */
uint64_t observed_ns(const struct sideband_observer *observer, uint64_t tsc);

/* The time stamp of the MTC packet that is due next; 0: none is, as far as is known. */
uint64_t observed_next_mtc(const struct sideband_observer *observer);

/* When the next packet comes that tells the time; UINT64_MAX: there is none. */
uint64_t observed_latest(struct sideband_observer *observer);

/* Whether no packet has told the time since an overflow. */
int observed_is_lost(struct sideband_observer *observer);

/* Who is alone in a process maps nothing while user space runs, and nothing else comes before tracing is
 * turned off again. Where the kernel is not traced, all that came until then is there with a TSC packet right
 * before it was turned on; without MTC packets, with one since it was turned off. */
int observed_is_exact(struct sideband_observer *observer, uint64_t now);

/* User space is entered: whether @now may be past, and others may have been switched to since. With a TSC
 * packet right before it, time is exact; but not that of the TSC packet by which an idle CPU awakes. Behind
 * an overflow, no cycles tell the time either, before another packet does. */
int observed_is_standing(struct sideband_observer *observer, uint64_t now);

#endif
