/* sideband_state.c - what decides how an observer goes on: see sideband_observer.h. */
#include "replay/sideband_observer.h"

struct sideband_state sideband_observer_state(const struct sideband_observer *observer)
{
	const struct switch_track *track = &observer->track;
	const uint64_t now = sideband_observer_now(observer);
	/* The kernel asks, too, where it is traced and switches are not all seen, or not when. */
	const int is_lossy = track->losses || (observer->kernel && observer->asks_cr3);
	const int in_user = observer->state == ptds_enabled && !observer->in_kernel && !observer->in_guest;

	return (struct sideband_state){
	        .state = observer->state,
	        .in_guest = observer->in_guest,
	        .expects_switch = switch_track_expects(track, now),
	        .is_fresh = is_lossy && track->is_fresh,
	        .inferred = is_lossy && track->inferred,
	        .interrupted = observer->interrupted,
	        .is_unbroken = observer->is_unbroken,
	        .has_strayed = observer->has_strayed,
	        .just_off = observer->is_late && observer->state != ptds_enabled && observer->off_time == now,
	        .who = observer->who,
	        .is_judged = now && observer->judged == now,
	        .space = observer->space,
	        .epoch = observer->epoch,
	        .doubt = in_user ? observer->doubt : (struct code_window_ends){NULL, NULL},
	        .next = track->next,
	        .from_pid = track->from_pid,
	        .from_tid = track->from_tid,
	        .nunknown = track->nunknown,
	        .nlate = track->nlate,
	        .unknown_until = track->unknown_until,
	        .stale_until = switch_track_until(track) <= track->stale_until ? track->stale_until : 0,
	        .is_half = track->is_half,
	        .passed = is_lossy && observer->in_kernel && track->passed,
	        .by_time = is_lossy && track->by_time,
	        .late = late_time_low(&observer->late, track),
	        .limit = observer->base.tick.limit,
	        .cr3 = observer->cr3,
	        .mm_insns = observer->mm_insns};
}

int sideband_state_equal(const struct sideband_state *a, const struct sideband_state *b)
{
	return a->state == b->state && a->in_guest == b->in_guest && a->expects_switch == b->expects_switch &&
	       a->who.pid == b->who.pid && a->who.tid == b->who.tid &&
	       a->who.membership == b->who.membership && a->who.unwanted == b->who.unwanted &&
	       a->space == b->space && a->epoch == b->epoch && a->doubt.first == b->doubt.first &&
	       a->doubt.last == b->doubt.last && a->next == b->next && a->from_pid == b->from_pid &&
	       a->from_tid == b->from_tid && a->nunknown == b->nunknown && a->nlate == b->nlate &&
	       a->unknown_until == b->unknown_until && a->stale_until == b->stale_until &&
	       a->is_half == b->is_half && a->passed == b->passed && a->by_time == b->by_time &&
	       a->late == b->late && a->is_fresh == b->is_fresh && a->inferred == b->inferred &&
	       a->interrupted == b->interrupted && a->is_unbroken == b->is_unbroken &&
	       a->has_strayed == b->has_strayed && a->just_off == b->just_off &&
	       a->is_judged == b->is_judged && a->limit == b->limit && a->cr3 == b->cr3 &&
	       a->mm_insns == b->mm_insns;
}
