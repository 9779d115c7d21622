/* observed_time.c - see observed_time.h. */
#include "replay/observed_time.h"

#include <intel-pt-run.h>

uint64_t observed_ns(const struct sideband_observer *observer, uint64_t tsc)
{
	return sb_clock_tsc_to_ns(observer->clock, tsc | observer->tsc_base);
}

uint64_t observed_next_mtc(const struct sideband_observer *observer)
{
	uint64_t tsc;

	return !observer->is_coarse && pt_blk_time_bound(observer->decoder, &tsc) >= 0 ? tsc : 0;
}

uint64_t observed_latest(struct sideband_observer *observer)
{
	const uint64_t tsc =
	        late_time_until(observer->decoder, observed_next_mtc(observer), &observer->next_tsc);

	return tsc == UINT64_MAX ? UINT64_MAX : observed_ns(observer, tsc);
}

int observed_is_lost(struct sideband_observer *observer)
{
	if (!observer->is_lost)
		return 0;
	observed_latest(observer);
	observer->is_lost = late_time_is_lost(observer->decoder, &observer->next_tsc);
	return observer->is_lost;
}

int observed_is_exact(struct sideband_observer *observer, uint64_t now)
{
	const struct switch_track *track = &observer->track;

	if (!observer->is_late || observed_is_lost(observer) || track->tid < 0 ||
	    evidence_has_other_threads(observer->evidence, track->pid, track->tid))
		return 0;
	if (observer->is_coarse)
		return now != observer->off_time;
	observed_latest(observer);
	return late_time_is_stamped(observer->decoder, &observer->next_tsc);
}

int observed_is_standing(struct sideband_observer *observer, uint64_t now)
{
	const uint64_t mtc = observed_next_mtc(observer);
	/* Where the kernel is traced, its switching shows once it is known who was there. */
	const int asks = observer->has_strayed || !observer->kernel;

	if (!now || !(observer->is_late || (asks && observed_is_lost(observer))))
		return 0;
	if (observer->is_coarse && now == observer->off_time)
		return 1;
	if (mtc && switch_track_until(&observer->track) > observed_ns(observer, mtc))
		return 0;
	observed_latest(observer);
	return !late_time_is_stamped(observer->decoder, &observer->next_tsc) || !observer->track.pid;
}
