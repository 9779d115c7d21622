/* switch_track.c - see switch_track.h. */
#include "replay/switch_track.h"

#include <string.h>

#include "system/arena.h"

void switch_track_init(struct switch_track *track, const struct sb_sched *sched, size_t nscheds)
{
	*track = (struct switch_track){.sched = sched, .nscheds = nscheds, .pid = -1, .tid = -1};
}

void switch_track_forget(struct switch_track *track, int jump)
{
	track->next = 0;
	track->pid = track->tid = -1;
	track->by_time = track->inferred = track->is_fresh = 0;
	track->passed = 1;
	track->jump = jump;
	memset(track->nswitches, 0, sizeof(track->nswitches));
}

/* To where @now lies in the first @high entries of the schedule. */
static void seek(struct switch_track *track, size_t high, uint64_t now)
{
	track->next = array_above(track->sched, high, sizeof(*track->sched), now);
	track->pid = track->next ? track->sched[track->next - 1].pid : -1;
	track->tid = track->next ? track->sched[track->next - 1].tid : -1;
	track->by_time = track->next != 0;
	track->inferred = track->is_fresh = 0;
}

static void run(struct switch_track *track, int32_t pid, int32_t tid, enum sb_switch_evidence evidence)
{
	track->nswitches[evidence] += pid != track->pid || tid != track->tid;
	track->pid = pid;
	track->tid = tid;
	track->inferred = 0;
}

static void take_next(struct switch_track *track, int by_time)
{
	const struct sb_sched *entry = &track->sched[track->next++];

	run(track, entry->pid, entry->tid, by_time ? sb_switch_by_time : sb_switch_seen);
	track->by_time = by_time;
	track->is_fresh = 1;
}

void switch_track_go_to(struct switch_track *track, uint64_t now)
{
	if (track->jump && now) {
		seek(track, track->nscheds, now);
		track->jump = 0;
	}
	/* Time went back. */
	if (track->next && track->sched[track->next - 1].time > now)
		seek(track, track->next, now);
	while (switch_track_until(track) <= now)
		take_next(track, 1);
}

int switch_track_expects(const struct switch_track *track, uint64_t now)
{
	return track->by_time && track->next &&
	       now <= track->sched[track->next - 1].time + track->slack + SWITCH_TRACK_DELAY;
}

int switch_track_lacks_record(const struct switch_track *track)
{
	const struct sb_sched *entry = switch_track_next(track);

	return entry && entry->prev_tid >= 0 && track->tid >= 0 &&
	       (entry->prev_tid != track->tid || entry->prev_pid != track->pid);
}

int switch_track_is_confirmed(const struct switch_track *track)
{
	const struct sb_sched *entry = switch_track_next(track);

	return !entry || (entry->prev_tid == track->tid && entry->prev_pid == track->pid);
}

void switch_track_infer(struct switch_track *track, int32_t pid, int32_t tid,
                        enum sb_switch_evidence evidence)
{
	if (track->without >> evidence & 1) {
		pid = tid = -1;
		evidence = sb_switch_uncertain;
	}
	run(track, pid, tid, evidence);
	track->inferred = 1;
}

void switch_track_doubt(struct switch_track *track)
{
	switch_track_infer(track, -1, -1, sb_switch_uncertain);
}

/* No record is of the switch that was seen. */
static void pass_without_record(struct switch_track *track, int32_t pid, int32_t tid)
{
	if (pid < 0)
		switch_track_doubt(track);
	else
		switch_track_infer(track, pid, tid, sb_switch_by_paging);
}

void switch_track_pass(struct switch_track *track, uint64_t now, int32_t pid, int32_t tid)
{
	const int expected = switch_track_expects(track, now) && (pid < 0 || pid == track->pid);

	track->passed = 1;
	track->by_time = 0;
	if (expected)
		return;
	/* What is long overdue was not seen. */
	while (track->next + 1 < track->nscheds &&
	       track->sched[track->next + 1].time + track->slack + SWITCH_TRACK_DELAY < now)
		take_next(track, 0);
	/* Whose it was, other things may say. */
	if (switch_track_until(track) > now + track->slack || switch_track_lacks_record(track) ||
	    (pid >= 0 && pid != switch_track_next(track)->pid))
		pass_without_record(track, pid, tid);
	else
		take_next(track, 0);
}

void switch_track_leave_kernel(struct switch_track *track, uint64_t now)
{
	while (track->next < track->nscheds &&
	       track->sched[track->next].time + track->slack + SWITCH_TRACK_DELAY < now)
		take_next(track, 1);
}
