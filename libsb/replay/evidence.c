/* evidence.c - see evidence.h. */
#include "replay/evidence.h"

#include "system/system.h"

enum { PIDS_MAX = 16 };

int evidence_init(struct evidence *evidence, const struct sb_system *system)
{
	evidence->system = system;
	address_index_init(&evidence->addresses, system);
	if (lost_maps_init(&evidence->maps, system) == 0)
		return 0;
	address_index_fini(&evidence->addresses);
	evidence->system = NULL;
	return -sbe_nomem;
}

void evidence_fini(struct evidence *evidence)
{
	address_index_fini(&evidence->addresses);
	lost_maps_fini(&evidence->maps);
}

int evidence_is_needed(const struct switch_track *track, const struct sb_space *space,
                       const struct evidence_place *place)
{
	return track->pid <= 0 || switch_track_lacks_record(track) ||
	       (track->inferred && place->resumed == 0) || !space_has_code(space, place->ip, 1, place->now);
}

/* ---- The space ---------------------------------------------------------------------------------- */

const struct sb_space *evidence_space(const struct evidence *evidence, const struct switch_track *track,
                                      const struct evidence_place *place, uint64_t *moment)
{
	const uint64_t now = place->now;
	const uint64_t moments[] = {now, now + track->slack};

	for (size_t i = 0; i < sizeof(moments) / sizeof(moments[0]); ++i) {
		const struct sb_space *space = sb_system_space(evidence->system, track->pid, moments[i]);

		*moment = moments[i];
		if (space_has_code(space, place->ip, 1, moments[i]))
			return space;
	}
	*moment = now;
	return sb_system_space(evidence->system, track->pid, now);
}

/* ---- Who ---------------------------------------------------------------------------------------- */

struct suspects {
	int32_t pid[PIDS_MAX];
	int count;
};

static int is_among(const struct suspects *suspects, int32_t pid)
{
	for (int i = 0; i < suspects->count; ++i)
		if (suspects->pid[i] == pid)
			return 1;
	return 0;
}

/* Of several threads of a process, addresses do not tell which one runs. */
static void infer_process(const struct evidence *evidence, struct switch_track *track, int32_t pid)
{
	switch_track_infer(track, pid, system_only_thread(evidence->system, pid));
}

/* The records on both sides of the place leave out a switch: it was before or it is behind. Returns whether
 * that is settled. */
static int settle_lost_record(const struct evidence *evidence, struct switch_track *track,
                              const struct suspects *suspects, int resumed)
{
	const struct sb_sched *next = switch_track_next(track);
	const int before = is_among(suspects, track->pid), behind = is_among(suspects, next->prev_pid);

	if (!before && !behind)
		return 0;
	if (!before)
		infer_process(evidence, track, next->prev_pid);
	else if (behind && resumed != 1 && track->pid == next->prev_pid)
		switch_track_infer(track, track->pid, -1);
	else if (behind && resumed != 1)
		switch_track_infer(track, -1, -1);
	return 1;
}

/* Whether nothing says that who was concluded to run still does. */
static int is_doubtful(const struct switch_track *track, const struct suspects *suspects,
                       const struct evidence_place *place)
{
	return track->inferred && place->resumed == 0 && suspects->count > 1;
}

/* Who has code at as many of the addresses as anybody has. */
static void find_suspects(struct evidence *evidence, const struct switch_track *track,
                          const struct evidence_place *place, struct suspects *suspects)
{
	size_t nips = place->nips;

	do
		suspects->count = address_index_find(&evidence->addresses, place->ip, nips, place->now,
		                                     track->slack, suspects->pid, PIDS_MAX);
	while (!suspects->count && --nips);
}

/* Whether records say who runs, and nothing can be said against it: that nothing is known to be mapped where
 * it runs means that a record of a mapping is missing. Kernel threads have nothing mapped at all. */
static int is_recorded(const struct evidence *evidence, const struct switch_track *track, uint64_t now)
{
	const struct sb_space *space = sb_system_space(evidence->system, track->pid, now);
	const struct sb_epoch *epoch = space ? sb_space_epoch(space, now) : NULL;

	return !track->inferred && epoch && sb_epoch_map(epoch, 0);
}

int evidence_settle(struct evidence *evidence, struct switch_track *track, const struct evidence_place *place)
{
	struct suspects suspects;

	find_suspects(evidence, track, place, &suspects);
	if (suspects.count < 0)
		return -sbe_nomem;
	if (switch_track_lacks_record(track) &&
	    settle_lost_record(evidence, track, &suspects, place->resumed))
		return 0;
	if (track->pid > 0 && (!suspects.count || is_among(&suspects, track->pid)) &&
	    !is_doubtful(track, &suspects, place))
		return 0;
	if (track->pid > 0 && is_recorded(evidence, track, place->now))
		return 0;
	if (suspects.count == 1)
		infer_process(evidence, track, suspects.pid[0]);
	else if (suspects.count)
		switch_track_infer(track, -1, -1);
	return 0;
}
