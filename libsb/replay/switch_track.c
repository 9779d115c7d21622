/* switch_track.c - see switch_track.h. */
#include "replay/switch_track.h"

#include <string.h>

#include "system/arena.h"

void switch_track_init(struct switch_track *track, const struct sb_sched *sched, size_t nscheds)
{
	*track = (struct switch_track){
	        .sched = sched, .nscheds = nscheds, .pid = -1, .tid = -1, .from_pid = -1, .from_tid = -1};
}

/* It is known who runs; -1: nobody knows. */
static void come_from(struct switch_track *track, int32_t pid, int32_t tid)
{
	track->from_pid = tid < 0 ? -1 : pid;
	track->from_tid = tid;
	track->nunknown = 0;
	track->unknown_until = 0;
}

void switch_track_forget(struct switch_track *track, int jump)
{
	track->next = 0;
	track->pid = track->tid = -1;
	track->by_time = track->inferred = track->is_fresh = 0;
	track->passed = 1;
	track->jump = jump;
	come_from(track, -1, -1);
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
	come_from(track, track->pid, track->tid);
}

static void run(struct switch_track *track, int32_t pid, int32_t tid, enum sb_switch_evidence evidence)
{
	track->nswitches[evidence] += pid != track->pid || tid != track->tid;
	if (tid >= 0 || track->tid >= 0)
		come_from(track, pid, tid);
	track->pid = pid;
	track->tid = tid;
	track->inferred = 0;
}

static void take_next(struct switch_track *track, int by_time)
{
	const struct sb_sched *entry = &track->sched[track->next++];

	run(track, entry->pid, entry->tid, by_time ? sb_switch_by_time : sb_switch_seen);
	come_from(track, entry->pid, entry->tid);
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

/* ns: a record of @entry was made then, by whoever came; UINT64_MAX: none was, or only perhaps. */
static uint64_t proof_of(const struct sb_sched *entry)
{
	if (entry->records & sb_sched_out || !entry->records)
		return entry->in_after ? entry->time + entry->in_after : UINT64_MAX;
	return entry->time;
}

/* ns: when the pass of @entry has been seen at the latest. */
static uint64_t due_until(const struct switch_track *track, const struct sb_sched *entry)
{
	return entry->time + track->slack + SWITCH_TRACK_DELAY;
}

int switch_track_expects(const struct switch_track *track, uint64_t now)
{
	const struct sb_sched *last = track->next ? &track->sched[track->next - 1] : NULL;

	if (!track->by_time || !last || last->records == sb_sched_other)
		return 0;
	return now <= (last->in_after ? proof_of(last) : due_until(track, last));
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

/* Whether the pass of @entry may be the @count-th one since it was known who ran, as its records name who ran
 * before: somebody who was not known came by a pass, and whoever was known came back by two of them. */
static int explains(const struct switch_track *track, const struct sb_sched *entry, uint32_t count)
{
	const int comes_from = entry->prev_pid == track->from_pid && entry->prev_tid == track->from_tid;

	if (track->from_tid < 0 || entry->prev_tid < 0 || count > 2)
		return 1;
	return comes_from == (count == 1);
}

/* Whether the passes without a record may be those of @entry, or may be behind it: time stood still. */
static int is_unclear(const struct switch_track *track, const struct sb_sched *entry)
{
	return !track->is_whole && entry->time <= track->unknown_until &&
	       !(track->nunknown == 1 && track->from_tid >= 0 && explains(track, entry, 1));
}

/* That records do not say who runs from some time on is no news where it is seen that nobody was switched to.
 */
void switch_track_prove(struct switch_track *track, uint64_t now)
{
	const uint64_t unknown_until = track->unknown_until;
	const struct sb_sched *entry;

	while ((entry = switch_track_next(track)) && proof_of(entry) <= now)
		if (entry->tid < 0 || is_unclear(track, entry))
			track->next += 1;
		else
			take_next(track, 0);
	/* Whoever comes next may have come by one of the passes without a record. */
	if (entry && unknown_until && !track->unknown_until && entry->time <= now) {
		switch_track_doubt(track);
		track->unknown_until = unknown_until;
		track->nunknown = 1;
	}
}

/* What is long overdue was not seen. */
static void skip_overdue(struct switch_track *track, uint64_t now)
{
	while (track->next + 1 < track->nscheds && due_until(track, &track->sched[track->next + 1]) < now)
		take_next(track, 0);
}

/* Leaves out what cannot be the switch that is seen, although it is past, and what was the pass before. */
static void skip_past(struct switch_track *track, const struct switch_seen *seen)
{
	const struct sb_sched *entry;

	skip_overdue(track, seen->now);
	while ((entry = switch_track_next(track)) && entry->time <= seen->now)
		if (is_unclear(track, entry))
			track->next += 1;
		else if (seen->pid >= 0 && seen->pid != entry->pid)
			take_next(track, 0);
		else
			break;
	/* Who makes a record in time, but came from whoever was known, came by the pass before. */
	if (entry && entry->records == sb_sched_in && entry->time <= seen->now + track->slack &&
	    track->nunknown == 1 && explains(track, entry, 1) && !explains(track, entry, 2))
		take_next(track, 0);
}

/* Whether the pass that is seen is that of the next entry. */
static int is_next(const struct switch_track *track, const struct switch_seen *seen)
{
	const struct sb_sched *entry = switch_track_next(track);

	if (!entry || (seen->pid >= 0 && seen->pid != entry->pid) || entry->records == sb_sched_other)
		return 0;
	if (entry->time <= seen->now)
		return entry->time > track->unknown_until;
	/* While time stands still, passes and records come in order, where none is missing. */
	if (entry->time > seen->now + track->slack &&
	    (entry->time > seen->until || !track->is_whole || track->nunknown || track->tid < 0))
		return 0;
	if (track->tid < 0 && track->pid >= 0 && entry->prev_pid >= 0 && entry->prev_pid != track->pid)
		return 0;
	return explains(track, entry, track->nunknown + 1);
}

/* No record is of the switch that was seen. */
static void pass_without_record(struct switch_track *track, const struct switch_seen *seen)
{
	const int32_t from_pid = track->from_pid, from_tid = track->from_tid;
	const uint32_t nunknown = track->nunknown;
	const uint64_t unknown_until = track->unknown_until;

	if (seen->pid < 0)
		switch_track_doubt(track);
	else
		switch_track_infer(track, seen->pid, seen->tid, sb_switch_by_paging);
	if (track->tid >= 0)
		return;
	track->from_pid = from_pid;
	track->from_tid = from_tid;
	track->nunknown = nunknown < UINT32_MAX ? nunknown + 1 : nunknown;
	track->unknown_until = seen->until > seen->now + track->slack ? seen->until : unknown_until;
}

void switch_track_pass(struct switch_track *track, const struct switch_seen *seen)
{
	const int expected =
	        switch_track_expects(track, seen->now) && (seen->pid < 0 || seen->pid == track->pid);
	struct switch_seen what = *seen;

	track->passed = 1;
	track->by_time = 0;
	if (expected)
		return;
	switch_track_prove(track, seen->now);
	/* Nobody puts their own page tables in force to switch: the kernel had used others for a while. */
	if (track->tid >= 0 && what.pid == track->pid)
		what.pid = what.tid = -1;
	skip_past(track, &what);
	if (is_next(track, &what))
		take_next(track, 0);
	else
		pass_without_record(track, &what);
}

void switch_track_leave_kernel(struct switch_track *track, uint64_t now)
{
	const struct sb_sched *entry;

	switch_track_prove(track, now);
	while ((entry = switch_track_next(track)) && due_until(track, entry) < now)
		if (is_unclear(track, entry))
			track->next += 1;
		else
			take_next(track, 1);
	/* The record of the pass that was seen last. */
	if (entry && entry->records == sb_sched_in && entry->time <= now + track->slack && track->nunknown &&
	    explains(track, entry, track->nunknown))
		take_next(track, 0);
}
