/* switch_window.c - see switch_window.h. */
#include "replay/switch_window.h"

#include <string.h>

#include "system/arena.h"

/* Where it is of use, and where all passes are seen. */
static int is_wanted(const struct switch_track *track)
{
	return track->stands_still && track->sees_passes && !track->is_whole;
}

void switch_window_begin(struct switch_window *window, const struct sideband_observer *observer,
                         struct ledger *ledger)
{
	const struct switch_track *track = &observer->track;

	window->is_open = is_wanted(track);
	if (!window->is_open)
		return;
	window->from = sideband_observer_now(observer);
	window->pid = window->tid = -1;
	if (track->tid >= 0 && !switch_track_expects(track, window->from)) {
		window->pid = track->pid;
		window->tid = track->tid;
	}
	window->first = ledger_cut(ledger);
	window->handed_out = ledger->handed_out;
	memcpy(window->nswitches, track->nswitches, sizeof(window->nswitches));
	window->npasses = 0;
}

void switch_window_pass(struct switch_window *window, struct ledger *ledger)
{
	if (!window->is_open)
		return;
	if (window->npasses == SWITCH_WINDOW_PASSES_MAX)
		window->is_open = 0;
	else
		window->pass[window->npasses++] = ledger_cut(ledger);
}

/* ---- Which switches were between both PSBs ------------------------------------------------------- */

/* Entries of the schedule. */
struct run_of_switches {
	const struct sb_sched *first;
	size_t count;
};

/* When the last record was made that @entry is made of. */
static uint64_t last_record(const struct sb_sched *entry)
{
	return entry->in_after < UINT32_MAX ? entry->time + entry->in_after : entry->time;
}

/* When the pass of the @i-th entry was at the earliest: behind the record of whoever went; or behind those of
 * the entry before, by which they came. */
static uint64_t earliest(const struct switch_track *track, size_t i)
{
	const struct sb_sched *entry = &track->sched[i];

	if (entry->records & sb_sched_out)
		return entry->time;
	return i ? last_record(&entry[-1]) : 0;
}

/* When it was at the latest: before the record of whoever came; or before those of the next entry. */
static uint64_t latest(const struct switch_track *track, size_t i)
{
	const struct sb_sched *entry = &track->sched[i];

	if (!(entry->records & sb_sched_out))
		return entry->time;
	if (entry->records & sb_sched_in && entry->in_after && entry->in_after < UINT32_MAX)
		return entry->time + entry->in_after;
	return i + 1 < track->nscheds ? entry[1].time : UINT64_MAX;
}

static int is_same(int32_t pid, int32_t tid, int32_t other_pid, int32_t other_tid)
{
	return pid == other_pid && tid == other_tid;
}

/* Whether whoever runs at @time is another one than made the record by which they went before: then they
 * have gone. */
static int has_gone(const struct switch_track *track, const struct sb_sched *entry, uint64_t time,
                    const struct flow_owner *runs)
{
	return entry->time + track->slack < time && runs->tid >= 0 &&
	       !is_same(entry->prev_pid, entry->prev_tid, runs->pid, runs->tid);
}

/* All switches with records in the window, up to @until. Zero: one may be among them or not, or something
 * else than records of switches says who ran. */
static int find_switches(const struct switch_track *track, const struct switch_window *window, uint64_t until,
                         struct run_of_switches *found)
{
	const struct flow_owner first = {.pid = window->pid, .tid = window->tid};
	const uint64_t from = window->from;
	size_t i = array_above(track->sched, track->nscheds, sizeof(*track->sched), from);

	i -= i != 0;
	schedule_use_around(&track->use, i);
	*found = (struct run_of_switches){.first = &track->sched[i]};
	for (; i < track->nscheds && track->sched[i].time < until + track->slack; ++i) {
		const struct sb_sched *entry = &track->sched[i];
		const int is_past = entry->time + track->slack < from;

		schedule_use_around(&track->use, i + 1);
		if (entry->records & sb_sched_other || !entry->records || entry->tid < 0) {
			if (!is_past)
				return 0;
		} else if (latest(track, i) >= from - track->slack && !has_gone(track, entry, from, &first)) {
			if (earliest(track, i) < from + track->slack ||
			    latest(track, i) > until - track->slack)
				return 0;
			found->count += 1;
			continue;
		}
		found->first = entry + 1;
	}
	return 1;
}

static void add_runner(struct switch_window *window, size_t *npasses, int32_t pid, int32_t tid)
{
	*npasses += 1;
	if (*npasses <= window->npasses)
		window->who[*npasses] = (struct flow_owner){.pid = pid, .tid = tid};
}

/* Lists who ran behind each pass, if there were no more than there must have been: so many. */
static size_t list_runners(struct switch_window *window, const struct run_of_switches *found)
{
	size_t npasses = 0;
	int32_t pid = window->pid, tid = window->tid;

	if (tid < 0 && found->count) {
		pid = found->first->prev_pid;
		tid = found->first->prev_tid;
	}
	window->who[0] = (struct flow_owner){.pid = pid, .tid = tid};
	for (size_t i = 0; i < found->count; ++i) {
		const struct sb_sched *entry = &found->first[i];

		if (tid >= 0 && entry->prev_tid >= 0 && !is_same(pid, tid, entry->prev_pid, entry->prev_tid))
			add_runner(window, &npasses, entry->prev_pid, entry->prev_tid);
		add_runner(window, &npasses, entry->pid, entry->tid);
		pid = entry->pid;
		tid = entry->tid;
	}
	return npasses;
}

/* ---- Names ----------------------------------------------------------------------------------------- */

/* Where the part behind so many passes ends in the ledger. */
static size_t part_end(const struct switch_window *window, const struct ledger *ledger, size_t npasses)
{
	return npasses < window->npasses ? window->pass[npasses] : ledger->nitems;
}

/* Whether all of a part may be @owner's. */
static int may_name(const struct ledger *ledger, size_t from, size_t to, const struct flow_owner *owner)
{
	for (size_t i = from; i < to; ++i) {
		const struct ledger_place *place = &ledger->item[i].place;

		if (ledger->item[i].kind == held_gap)
			return 0;
		if (place->tid >= 0 ? !is_same(place->pid, place->tid, owner->pid, owner->tid)
		                    : place->pid >= 0 && place->pid != owner->pid)
			return 0;
		/* What was left out as nobody's is not there any more. */
		if (place->tid < 0 && place->unwanted == ledger_unwanted && !owner->unwanted)
			return 0;
	}
	return 1;
}

static void name(struct ledger *ledger, size_t from, size_t to, const struct flow_owner *owner)
{
	for (size_t i = from; i < to; ++i) {
		struct ledger_place *place = &ledger->item[i].place;

		if (place->tid >= 0)
			continue;
		place->pid = owner->pid;
		place->tid = owner->tid;
		place->membership = owner->membership;
		place->unwanted = owner->unwanted ? ledger_unwanted : ledger_wanted;
	}
}

/* Names the first @nparts parts; zero: something contradicts that. */
static int name_parts(const struct switch_window *window, size_t nparts, struct sideband_observer *observer,
                      struct ledger *ledger)
{
	for (int is_sure = 0; is_sure < 2; ++is_sure)
		for (size_t i = 0, from = window->first; i < nparts;
		     from = part_end(window, ledger, i), ++i) {
			struct flow_owner owner = window->who[i];
			const size_t to = part_end(window, ledger, i);

			if (owner.tid < 0)
				continue;
			sideband_observer_know(observer, &owner, window->from);
			if (is_sure)
				name(ledger, from, to, &owner);
			else if (!may_name(ledger, from, to, &owner))
				return 0;
		}
	return 1;
}

/* ------------------------------------------------------------------------------------------------------ */

/* The first entry of the schedule that has not taken effect at @until, when @last runs. */
static size_t first_later(const struct switch_track *track, const struct switch_window *window,
                          uint64_t until, const struct flow_owner *last)
{
	size_t i = array_above(track->sched, track->nscheds, sizeof(*track->sched), until);
	const struct sb_sched *before = i ? &track->sched[i - 1] : NULL;

	schedule_use_note(&track->use, i > 1 ? i - 2 : 0, i + 1);
	/* Whoever runs made a record in the window that they go. */
	if (before && before->records & sb_sched_out && before->time > window->from &&
	    latest(track, i - 1) > until && is_same(before->prev_pid, before->prev_tid, last->pid, last->tid))
		return i - 1;
	while (i < track->nscheds && track->sched[i].time < until + track->slack &&
	       is_same(track->sched[i].pid, track->sched[i].tid, last->pid, last->tid)) {
		i += 1;
		schedule_use_around(&track->use, i);
	}
	return i;
}

/* It is known who ran behind each pass: the track goes on from there. */
static void settle(const struct switch_window *window, struct sideband_observer *observer, uint64_t until)
{
	struct switch_track *track = &observer->track;
	const struct flow_owner *last = &window->who[window->npasses];

	memcpy(track->nswitches, window->nswitches, sizeof(track->nswitches));
	track->nswitches[sb_switch_seen] += window->npasses;
	if (last->tid >= 0)
		sideband_observer_settle(observer, last, first_later(track, window, until, last));
}

/* Whether the track has come to the same. */
static int agrees(const struct switch_window *window, const struct switch_track *track)
{
	const struct flow_owner *last = &window->who[window->npasses];

	return track->tid < 0 || last->tid < 0 || is_same(last->pid, last->tid, track->pid, track->tid);
}

void switch_window_end(struct switch_window *window, struct sideband_observer *observer,
                       struct ledger *ledger)
{
	const struct switch_track *track = &observer->track;
	struct run_of_switches found;
	size_t npasses = 0;
	uint64_t until;
	int is_known;

	if (!window->is_open || window->handed_out != ledger->handed_out)
		return;
	window->is_open = 0;
	until = sideband_observer_now(observer);
	is_known = find_switches(track, window, until, &found);
	if (is_known)
		npasses = list_runners(window, &found);
	/* Passes are seen, all of them: there cannot have been more. */
	if (npasses > window->npasses)
		return;
	if (!is_known || npasses < window->npasses)
		window->who[0] = (struct flow_owner){.pid = window->pid, .tid = window->tid};
	is_known = npasses == window->npasses && (is_known || !npasses);
	if (is_known && !agrees(window, track))
		return;
	if (name_parts(window, is_known ? npasses + 1 : 1, observer, ledger) && is_known)
		settle(window, observer, until);
}
