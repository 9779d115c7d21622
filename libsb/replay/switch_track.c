/* switch_track.c - see switch_track.h. */
#include "replay/switch_track.h"

#include <string.h>

#include "system/arena.h"

void switch_track_init(struct switch_track *track, const struct sb_sched *sched, size_t nscheds)
{
	*track = (struct switch_track){
	        .sched = sched, .nscheds = nscheds, .pid = -1, .tid = -1, .from_pid = -1, .from_tid = -1};
}

/* The next entry is entry @next; those beside it are looked at as well. */
static void go_on_at(struct switch_track *track, size_t next)
{
	track->next = next;
	schedule_use_around(&track->use, next);
}

/* The next entry is past, whether it took effect or not. */
static const struct sb_sched *pass_next(struct switch_track *track)
{
	const struct sb_sched *entry = &track->sched[track->next];

	go_on_at(track, track->next + 1);
	return entry;
}

void switch_track_take(struct switch_track *track, const struct sb_sched *sched, size_t nscheds,
                       const struct schedule_use *use)
{
	track->sched = sched;
	track->nscheds = nscheds;
	track->use = *use;
	go_on_at(track, track->next);
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* It is known who runs; -1: nobody knows. */
static void come_from(struct switch_track *track, int32_t pid, int32_t tid)
{
	track->from_pid = tid < 0 ? -1 : pid;
	track->from_tid = tid;
	track->nunknown = track->nlate = 0;
	track->unknown_until = track->stale_until = 0;
}

void switch_track_forget(struct switch_track *track, int jump)
{
	go_on_at(track, 0);
	track->pid = track->tid = -1;
	track->by_time = track->inferred = track->is_fresh = track->is_half = 0;
	track->passed = 1;
	track->jump = jump;
	come_from(track, -1, -1);
	memset(track->nswitches, 0, sizeof(track->nswitches));
}

/* To where @now lies in the first @high entries of the schedule. */
static void seek(struct switch_track *track, size_t high, uint64_t now)
{
	go_on_at(track, array_above(track->sched, high, sizeof(*track->sched), now));
	track->pid = track->next ? track->sched[track->next - 1].pid : -1;
	track->tid = track->next ? track->sched[track->next - 1].tid : -1;
	track->by_time = track->next != 0;
	track->inferred = track->is_fresh = track->is_half = 0;
	come_from(track, track->pid, track->tid);
}

static void run(struct switch_track *track, int32_t pid, int32_t tid, enum sb_switch_evidence evidence)
{
	const uint64_t stale = later(track->unknown_until, track->stale_until);

	track->nswitches[evidence] += pid != track->pid || tid != track->tid;
	if (tid >= 0 || track->tid >= 0) {
		come_from(track, pid, tid);
		track->stale_until = stale;
	}
	track->pid = pid;
	track->tid = tid;
	track->inferred = 0;
}

static void take_next(struct switch_track *track, int by_time)
{
	const struct sb_sched *entry = pass_next(track);

	run(track, entry->pid, entry->tid, by_time ? sb_switch_by_time : sb_switch_seen);
	come_from(track, entry->pid, entry->tid);
	track->by_time = by_time;
	track->is_half = 0;
	track->is_fresh = 1;
}

/* ns: a record of @entry was made then, by whoever came; UINT64_MAX: none was, or only perhaps. */
static uint64_t proof_of(const struct sb_sched *entry)
{
	if (entry->records & sb_sched_out || !entry->records)
		return entry->in_after && entry->in_after < UINT32_MAX ? entry->time + entry->in_after
		                                                       : UINT64_MAX;
	return entry->time;
}

/* ns: when the pass of @entry has been seen at the latest. */
static uint64_t due_until(const struct switch_track *track, const struct sb_sched *entry)
{
	return entry->time + track->slack + SWITCH_TRACK_DELAY;
}

/* Whether the pass of @entry, whose time has come, may be yet to come, as one of its records says. */
static int is_under_way(const struct switch_track *track, const struct sb_sched *entry, uint64_t now)
{
	const uint64_t proof = proof_of(entry);

	return entry->records != sb_sched_other &&
	       now <= (entry->in_after && proof != UINT64_MAX ? proof : due_until(track, entry));
}

/* Whether the switch that is half done still is. */
static int is_half_at(const struct switch_track *track, uint64_t now)
{
	const struct sb_sched *entry = switch_track_next(track);

	return track->is_half && is_under_way(track, entry, now) &&
	       (track->next + 1 == track->nscheds || entry[1].time > now);
}

/* Whether the only pass without a record was that of @entry, which has come: it names who ran before. */
static int is_only_pass(const struct switch_track *track, const struct sb_sched *entry)
{
	return track->nunknown == 1 && track->from_tid >= 0 && entry->prev_tid == track->from_tid &&
	       entry->prev_pid == track->from_pid && entry->records != sb_sched_other;
}

/* Whether a pass without a record may be that of @entry, or may be behind it: time stood still. */
static int is_unclear(const struct switch_track *track, const struct sb_sched *entry)
{
	return entry->time <= track->stale_until ||
	       (entry->time <= track->unknown_until && !is_only_pass(track, entry));
}

/* Whether nobody knows who runs since whoever @entry names made a record. */
static int is_obsolete(const struct switch_track *track, const struct sb_sched *entry)
{
	return is_unclear(track, entry) && proof_of(entry) <= later(track->stale_until, track->unknown_until);
}

/* Whether more passes were seen without a record, while time stood still, than there are records of that
 * time: which of them those are is not known, nor who runs behind the last one. */
static int has_more_passes(const struct switch_track *track)
{
	size_t end;

	if (!track->sees_passes || !track->nlate)
		return 0;
	end = array_above(track->sched, track->nscheds, sizeof(*track->sched), track->unknown_until);
	schedule_use_around(&track->use, end);
	return end < track->next + track->nlate;
}

/* Whether nothing shows that whoever @entry names, whose time has come, still runs. */
static int is_passed_by(const struct switch_track *track, const struct sb_sched *entry, uint64_t now)
{
	return entry->time <= track->unknown_until && (proof_of(entry) > now || is_obsolete(track, entry));
}

void switch_track_go_to(struct switch_track *track, uint64_t now)
{
	int has_more;

	if (track->jump && now) {
		seek(track, track->nscheds, now);
		track->jump = 0;
	}
	/* Time went back. That of what was seen may have been later than the trace says. */
	if ((track->by_time || !track->stands_still) && track->next &&
	    track->sched[track->next - 1].time > now)
		seek(track, track->next, now);
	has_more = has_more_passes(track);
	while (switch_track_until(track) <= now && !is_half_at(track, now))
		if (has_more && is_passed_by(track, switch_track_next(track), now))
			pass_next(track);
		else
			take_next(track, 1);
}

int switch_track_expects(const struct switch_track *track, uint64_t now)
{
	const struct sb_sched *last = track->next ? &track->sched[track->next - 1] : NULL;

	return track->by_time && last && is_under_way(track, last, now);
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

void switch_track_settle(struct switch_track *track, int32_t pid, int32_t tid, size_t next)
{
	go_on_at(track, next);
	track->pid = pid;
	track->tid = tid;
	track->by_time = track->inferred = track->is_half = 0;
	come_from(track, pid, tid);
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

/* That records do not say who runs from some time on is no news where it is seen that nobody was switched to.
 */
static void take_proven(struct switch_track *track, const struct sb_sched *entry)
{
	if (entry->tid >= 0 && !is_obsolete(track, entry)) {
		take_next(track, 0);
		return;
	}
	pass_next(track);
	track->is_half = 0;
}

void switch_track_prove(struct switch_track *track, uint64_t now)
{
	const struct sb_sched *entry;

	while ((entry = switch_track_next(track)) && proof_of(entry) <= now)
		take_proven(track, entry);
}

/* Where the flow was not known, whoever came may have made no record before they went, or only the record by
 * which they came, and that not yet. */
static int has_missed(const struct switch_track *track, uint64_t now, uint64_t until)
{
	const struct sb_sched *entry = switch_track_next(track);

	if (!entry)
		return 0;
	if (track->stands_still && until > now && entry->time <= until)
		return 1;
	return !track->is_whole &&
	       (switch_track_lacks_record(track) ||
	        (entry->records == sb_sched_in && entry->time <= now + track->slack + SWITCH_TRACK_DELAY));
}

void switch_track_regain(struct switch_track *track, uint64_t now, uint64_t until)
{
	if (!track->sees_passes)
		return;
	if (switch_track_expects(track, now)) {
		go_on_at(track, track->next - 1);
		track->by_time = 0;
		track->is_half = 1;
	} else if (!has_missed(track, now, until)) {
		return;
	}
	switch_track_doubt(track);
	if (track->stands_still && until > now)
		track->stale_until = later(track->stale_until, until);
}

/* Whether the switch that is half done is the one that is seen: its second record comes later, and soon; or
 * no other switch does. */
static int is_other_half(const struct switch_track *track, const struct switch_seen *seen)
{
	const struct sb_sched *entry = switch_track_next(track);
	const uint64_t proof = proof_of(entry);

	if (seen->pid >= 0 && seen->pid != entry->pid)
		return 0;
	if (proof == UINT64_MAX)
		return track->is_whole && (track->next + 1 == track->nscheds || entry[1].time > seen->until);
	return seen->until <= proof && (track->is_whole || proof <= due_until(track, entry));
}

/* What is long overdue was not seen. */
static void skip_overdue(struct switch_track *track, uint64_t now)
{
	while (track->next + 1 < track->nscheds && due_until(track, &track->sched[track->next + 1]) < now)
		if (is_unclear(track, switch_track_next(track)))
			pass_next(track);
		else
			take_next(track, 0);
}

/* Leaves out what cannot be the switch that is seen, although it is past, and what was the pass before. */
static void skip_past(struct switch_track *track, const struct switch_seen *seen)
{
	const struct sb_sched *entry;

	skip_overdue(track, seen->now);
	while ((entry = switch_track_next(track)) && entry->time <= seen->now)
		if (proof_of(entry) <= seen->now)
			take_proven(track, entry);
		else if (is_unclear(track, entry) && proof_of(entry) != UINT64_MAX)
			break;
		else if (is_unclear(track, entry))
			pass_next(track);
		else if (seen->pid >= 0 && seen->pid != entry->pid)
			take_next(track, 0);
		else
			break;
	/* Who makes a record in time, but came from whoever was known, came by the pass before. */
	if (entry && entry->records == sb_sched_in && entry->time <= seen->now + track->slack &&
	    entry->time > track->stale_until && track->nunknown == 1 && explains(track, entry, 1) &&
	    !explains(track, entry, 2))
		take_next(track, 0);
}

/* Whether the pass that is seen is that of the next entry. */
static int is_next(const struct switch_track *track, const struct switch_seen *seen)
{
	const struct sb_sched *entry = switch_track_next(track);

	if (!entry || (seen->pid >= 0 && seen->pid != entry->pid) || entry->records == sb_sched_other)
		return 0;
	if (entry->time <= later(track->stale_until, track->unknown_until))
		return 0;
	if (entry->time <= seen->now)
		return 1;
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
	const uint64_t until = seen->until > seen->now + track->slack ? seen->until : 0;
	const struct switch_track before = *track;

	if (seen->pid < 0)
		switch_track_doubt(track);
	else
		switch_track_infer(track, seen->pid, seen->tid, sb_switch_by_paging);
	if (track->tid >= 0) {
		track->stale_until = later(track->stale_until, until);
		return;
	}
	track->from_pid = before.from_pid;
	track->from_tid = before.from_tid;
	track->nunknown = before.nunknown < UINT32_MAX ? before.nunknown + 1 : before.nunknown;
	track->unknown_until = later(before.unknown_until, until);
	track->nlate = !until                                        ? before.nlate
	               : track->unknown_until > before.unknown_until ? 1
	                                                             : before.nlate + 1;
	track->stale_until = before.stale_until;
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
	if (track->is_half && is_other_half(track, seen)) {
		take_next(track, 0);
		return;
	}
	if (track->is_half && proof_of(switch_track_next(track)) == UINT64_MAX)
		pass_next(track);
	track->is_half = 0;
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
	if (track->is_half)
		take_next(track, 0);
	while ((entry = switch_track_next(track)) && due_until(track, entry) < now)
		if (is_unclear(track, entry))
			pass_next(track);
		else
			take_next(track, 1);
	/* The record of the pass that was seen last. */
	if (entry && entry->records == sb_sched_in && entry->time <= now + track->slack && track->nunknown &&
	    explains(track, entry, track->nunknown))
		take_next(track, 0);
}
