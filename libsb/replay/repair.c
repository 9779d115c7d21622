/* repair.c - see repair.h. */
#include "replay/repair.h"

#include "system/system.h"

/* ---- Trials ------------------------------------------------------------------------------------- */

/* The present time; or when @pid begins, if that is later. */
static uint64_t first_moment(const struct repair_place *place, int32_t pid)
{
	const struct sb_system *system = place->evidence->system;
	const struct sb_space *space = sb_system_space(system, pid, place->now);
	uint64_t first = place->now;

	if (space)
		return first;
	for (uint64_t at = place->until; (space = sb_system_space(system, pid, at)); at = first - 1)
		first = space->from;
	return first;
}

/* When @pid may run what comes; and as long as its other threads can change what it has mapped. */
static struct code_window window_of(const struct repair_place *place, int32_t pid)
{
	const int is_alone = evidence_only_thread(place->evidence, pid) >= 0;

	return (struct code_window){place->evidence->system, pid, first_moment(place, pid),
	                            is_alone ? place->until : UINT64_MAX};
}

/* By then, somebody else has its number. */
static int has_ended(const struct repair_place *place, int32_t pid)
{
	const struct sb_space *space = sb_system_space(place->evidence->system, pid, place->now);

	return space && place->now > space->to && place->now - space->to > place->until - place->now;
}

/* Who @pid is, or what it has mapped, is not known: that it has no code somewhere refutes nothing. */
static int is_strange(const struct repair_place *place, const struct strangers *strangers, int32_t pid)
{
	return pid < 0 || has_ended(place, pid) ||
	       strangers_have(strangers, pid, place->now, place->until - place->now);
}

/* The only one of @suspects who can have run what comes: an index; their number: that is not known; or
 * -pte_nomem. */
static int find(const struct repair_place *place, const struct suspects *suspects)
{
	const struct strangers *strangers;
	struct code_window window[TRIAL_SUBJECTS_MAX];

	if (suspects->count < 2 || suspects->count > TRIAL_SUBJECTS_MAX)
		return suspects->count;
	strangers = evidence_strangers(place->evidence);
	if (!strangers)
		return -pte_nomem;
	for (int i = 0; i < suspects->count; ++i) {
		if (is_strange(place, strangers, suspects->pid[i]))
			return suspects->count;
		window[i] = window_of(place, suspects->pid[i]);
	}
	place->trial->lost = &strangers->lost;
	return trial_find(place->trial, place->decoder, window, suspects->count, place->is_whole);
}

static int may_repair(const struct switch_track *track)
{
	return !(track->without >> sb_switch_repaired & 1);
}

/* ------------------------------------------------------------------------------------------------- */

int repair_doubt(const struct repair_place *place, struct switch_track *track,
                 const struct switch_track *before, const struct suspects *suspects)
{
	int found;

	if (!may_repair(track) || !suspects_are_all(suspects, before))
		return 0;
	found = find(place, suspects);
	if (found < 0 || found == suspects->count)
		return found < 0 ? found : 0;
	*track = *before;
	switch_track_infer(track, suspects->pid[found],
	                   evidence_only_thread(place->evidence, suspects->pid[found]), sb_switch_repaired);
	return 1;
}

static int has_code(const struct repair_place *place, int32_t pid, uint64_t ip, uint64_t time)
{
	return space_has_code(sb_system_space(place->evidence->system, pid, time), &ip, 1, time);
}

/* Adds those who are switched to next and have code at @ip, then or in the end. */
static void add_next(const struct repair_place *place, const struct switch_track *track, uint64_t ip,
                     struct suspects *suspects)
{
	for (size_t i = track->next; i < track->nscheds && track->sched[i].time <= place->until &&
	                             suspects->count < EVIDENCE_SUSPECTS_MAX;
	     ++i) {
		const struct sb_sched *entry = &track->sched[i];

		schedule_use_around(&track->use, i);
		if (!suspects_have(suspects, entry->pid) && (has_code(place, entry->pid, ip, entry->time) ||
		                                             has_code(place, entry->pid, ip, place->until)))
			suspects->pid[suspects->count++] = entry->pid;
	}
}

/* Whether one of those who are switched to next may have any code. Positive, zero, or -pte_nomem. */
static int is_strange_next(const struct repair_place *place, const struct switch_track *track)
{
	const struct strangers *strangers = evidence_strangers(place->evidence);

	if (!strangers)
		return -pte_nomem;
	for (size_t i = track->next; i < track->nscheds && track->sched[i].time <= place->until; ++i) {
		schedule_use_around(&track->use, i);
		if (is_strange(place, strangers, track->sched[i].pid))
			return 1;
	}
	return 0;
}

/* The only thread of @pid that is switched to next; -1: there are several. */
static int32_t next_thread(const struct repair_place *place, const struct switch_track *track, int32_t pid)
{
	int32_t tid = -1;
	int nthreads = 0;

	for (size_t i = track->next; i < track->nscheds && track->sched[i].time <= place->until; ++i) {
		schedule_use_around(&track->use, i);
		if (track->sched[i].pid == pid) {
			nthreads += track->sched[i].tid != tid;
			tid = track->sched[i].tid;
		}
	}
	return nthreads == 1 ? tid : -1;
}

int repair_early(const struct repair_place *place, struct switch_track *track, uint64_t ip)
{
	struct suspects suspects = {.pid = {track->pid}, .count = 1, .nknown = 1};
	int found;

	if (!may_repair(track))
		return 0;
	add_next(place, track, ip, &suspects);
	if (suspects.count < 2)
		return 0;
	found = is_strange_next(place, track);
	if (found)
		return found < 0 ? found : 0;
	found = find(place, &suspects);
	if (found <= 0 || found == suspects.count)
		return found < 0 ? found : 0;
	switch_track_infer(track, suspects.pid[found], next_thread(place, track, suspects.pid[found]),
	                   sb_switch_repaired);
	return 1;
}

int repair_late(const struct repair_place *place, const struct switch_track *track, struct late_time *late,
                struct late_verdict *verdict)
{
	const struct strangers *strangers = evidence_strangers(place->evidence);
	struct suspects suspects = {.count = verdict->nsuspects};
	const struct late_suspect *right;
	int found;

	if (!strangers)
		return -pte_nomem;
	if (!may_repair(track) || verdict->is_full)
		return 0;
	for (int i = 0; i < suspects.count; ++i) {
		suspects.pid[i] = verdict->suspect[i].pid;
		if (suspects.pid[i] <= 0 ||
		    strangers_have(strangers, suspects.pid[i], place->now, place->now))
			return 0;
	}
	found = find(place, &suspects);
	if (found < 0 || found == suspects.count)
		return found < 0 ? found : 0;
	right = &verdict->suspect[found];
	verdict->pid = right->pid;
	verdict->tid = right->tid;
	verdict->moment = right->moment;
	late->low = right->first;
	return 1;
}
