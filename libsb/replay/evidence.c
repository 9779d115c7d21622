/* evidence.c - see evidence.h. */
#include "replay/evidence.h"

#include "system/kin.h"
#include "system/system.h"

void evidence_init(struct evidence *evidence, const struct sb_perfdata *perfdata,
                   const struct sb_system *system, uint64_t slack)
{
	evidence->system = system;
	address_index_init(&evidence->addresses, system);
	evidence->addresses.perfdata = perfdata;
	evidence->addresses.slack = slack;
	cr3_map_init(&evidence->cr3s, perfdata, system, &evidence->addresses, slack);
	lost_maps_init(&evidence->maps, system);
}

void evidence_fini(struct evidence *evidence)
{
	cr3_map_fini(&evidence->cr3s);
	address_index_fini(&evidence->addresses);
	lost_maps_fini(&evidence->maps);
}

/* ---- The space ---------------------------------------------------------------------------------- */

const struct sb_space *evidence_space(const struct evidence *evidence, const struct switch_track *track,
                                      const struct evidence_place *place, uint64_t *moment)
{
	const uint64_t now = place->now;
	const uint64_t moments[] = {now, now + track->slack};

	for (size_t i = 0; i < sizeof(moments) / sizeof(moments[0]); ++i) {
		const struct sb_space *space =
		        space_living(evidence->system, track->pid, moments[i], track->slack);

		/* What a stranger maps comes in the place of what it may have had from its parent. */
		if (i && space && space_is_strange(space))
			break;
		*moment = moments[i];
		if (space_has_code(space, place->ip, 1, moments[i]))
			return space;
	}
	*moment = now;
	return space_living(evidence->system, track->pid, now, track->slack);
}

/* ---- Who ---------------------------------------------------------------------------------------- */

int suspects_have(const struct suspects *suspects, int32_t pid)
{
	for (int i = 0; i < suspects->count; ++i)
		if (suspects->pid[i] == pid)
			return 1;
	return 0;
}

/* Whether the first one has code there, and nobody else may have. */
static int is_only_one(const struct suspects *suspects)
{
	return suspects->count == 1 && suspects->nknown == 1;
}

int32_t evidence_only_thread(struct evidence *evidence, int32_t pid)
{
	const struct strangers *strangers = address_index_strangers(&evidence->addresses);

	return strangers ? strangers_only_thread(strangers, pid) : -1;
}

int evidence_has_other_threads(struct evidence *evidence, int32_t pid, int32_t tid)
{
	const struct strangers *strangers = address_index_strangers(&evidence->addresses);

	return !strangers || strangers_has_other_threads(strangers, pid, tid);
}

static int is_stranger(struct evidence *evidence, int32_t pid, uint64_t time, uint64_t slack)
{
	const struct strangers *strangers = address_index_strangers(&evidence->addresses);

	return strangers && strangers_have(strangers, pid, time, slack);
}

const struct strangers *evidence_strangers(struct evidence *evidence)
{
	return address_index_strangers(&evidence->addresses);
}

/* Of several threads of a process, addresses do not tell which one runs. */
static void infer_process(struct evidence *evidence, struct switch_track *track, int32_t pid,
                          enum sb_switch_evidence says)
{
	switch_track_infer(track, pid, evidence_only_thread(evidence, pid), says);
}

/* ---- By addresses ------------------------------------------------------------------------------- */

/* Whether somebody but @pid may have code there of whom nobody knows. */
static int is_strange(const struct suspects *suspects, int32_t pid)
{
	const int strangers = suspects->count - suspects->nknown;

	for (int i = suspects->nknown; i < suspects->count; ++i)
		if (suspects->pid[i] == pid)
			return strangers > 1;
	return strangers > 0;
}

/* The records on both sides of the place leave out a switch: it was before or it is behind. Returns whether
 * that is settled. */
static int settle_lost_record(struct evidence *evidence, struct switch_track *track,
                              const struct suspects *suspects, int resumed)
{
	const struct sb_sched *next = switch_track_next(track);
	const int before = suspects_have(suspects, track->pid),
	          behind = suspects_have(suspects, next->prev_pid);

	if (!before && !behind)
		return 0;
	if (!before && is_strange(suspects, next->prev_pid))
		switch_track_doubt(track);
	else if (!before)
		infer_process(evidence, track, next->prev_pid, sb_switch_by_address);
	else if (behind && resumed != 1 && track->pid == next->prev_pid)
		switch_track_infer(track, track->pid, -1, sb_switch_by_address);
	else if (behind && resumed != 1)
		switch_track_doubt(track);
	return 1;
}

/* Whether nothing says that who was concluded to run still does. */
static int is_doubtful(const struct switch_track *track, const struct suspects *suspects,
                       const struct evidence_place *place)
{
	return track->inferred && place->resumed == 0 && suspects->count > 1;
}

/* ns around the place's time in which its real one lies. */
static uint64_t slack_of(const struct switch_track *track, const struct evidence_place *place)
{
	const uint64_t length = place->until - place->now;

	return length < UINT64_MAX - place->now - track->slack ? length + track->slack : length;
}

/* Of @nips addresses, those that are suspected have code at all. Those that records name come first, as there
 * is room for so many only. */
static void add_strangers(struct evidence *evidence, const struct switch_track *track,
                          const struct evidence_place *place, size_t nips, struct suspects *suspects)
{
	const uint64_t now = place->now, slack = slack_of(track, place);
	const struct strangers *strangers = address_index_strangers(&evidence->addresses);
	const struct sb_sched *next = switch_track_next(track);
	const int32_t named[] = {track->pid, next ? next->prev_pid : -1};

	if (!strangers)
		return;
	for (size_t i = 0; i < 2; ++i)
		if (suspects->count < EVIDENCE_SUSPECTS_MAX && !suspects_have(suspects, named[i]) &&
		    strangers_have(strangers, named[i], now, slack))
			suspects->pid[suspects->count++] = named[i];
	suspects->count = address_index_add_strangers(&evidence->addresses, place->ip, nips, now, slack,
	                                              suspects->pid, suspects->count, EVIDENCE_SUSPECTS_MAX);
}

/* Who has code at as many of the addresses as anybody has: where the rest is, a mapping's record is lost, or
 * its process's. */
static void find_suspects(struct evidence *evidence, const struct switch_track *track,
                          const struct evidence_place *place, struct suspects *suspects)
{
	const struct index_span when = {place->now, place->until};
	size_t nips = place->nips;

	do
		suspects->count =
		        address_index_find_within(&evidence->addresses, place->ip, nips, &when, track->slack,
		                                  suspects->pid, EVIDENCE_SUSPECTS_MAX);
	while (!suspects->count && --nips);
	suspects->nknown = suspects->count;
	if (suspects->count >= 0)
		add_strangers(evidence, track, place, nips, suspects);
}

/* Of a thread of the kernel, which has nothing mapped at all. */
static int is_kernels(const struct sb_space *space, uint64_t now)
{
	const struct sb_epoch *epoch = space ? sb_space_epoch(space, now) : NULL;

	return space && space_is_kernels(space) && !(epoch && sb_epoch_map(epoch, 0));
}

/* Whether records say who runs, and nothing can be said against it: that nothing is known to be mapped where
 * it runs means that a record of a mapping is missing, or of its fork; and where nothing at all is, all of
 * them are. */
static int is_recorded(struct evidence *evidence, const struct switch_track *track, uint64_t now)
{
	return track->pid > 0 && !track->inferred &&
	       (!is_kernels(sb_system_space(evidence->system, track->pid, now), now) ||
	        is_stranger(evidence, track->pid, now, track->slack));
}

static void settle_by_address(struct evidence *evidence, struct switch_track *track,
                              const struct suspects *suspects, const struct evidence_place *place)
{
	if (switch_track_lacks_record(track) && settle_lost_record(evidence, track, suspects, place->resumed))
		return;
	if (track->pid > 0 && (!suspects->count || suspects_have(suspects, track->pid)) &&
	    !is_doubtful(track, suspects, place))
		return;
	if (is_recorded(evidence, track, place->now))
		return;
	if (is_only_one(suspects))
		infer_process(evidence, track, suspects->pid[0], sb_switch_by_address);
	else if (suspects->count)
		switch_track_doubt(track);
}

/* ---- Without records that should be there ------------------------------------------------------- */

/* Whether it is still the same thread that goes on. That execution goes on where it stopped proves little
 * where the next record says that another one came, or where many records are lost and the process has more
 * threads: those run the same code, and may stop at the same place. That it goes on elsewhere than where an
 * interrupt came says that it is another one, or a signal. Where time stands still, what has just been
 * applied may be long past, and what is due may have come. */
static int goes_on(struct evidence *evidence, const struct switch_track *track,
                   const struct evidence_place *place)
{
	if ((track->is_fresh && !place->is_late && !place->has_strayed) ||
	    (place->resumed < 0 && place->interrupted))
		return 1;
	if (place->is_late && switch_track_until(track) <= place->until)
		return 0;
	if (!switch_track_is_confirmed(track))
		return 0;
	if (place->resumed == 1)
		return track->losses != switch_losses_many ||
		       !evidence_has_other_threads(evidence, track->pid, track->tid);
	return track->losses == switch_losses_few && !track->inferred && !place->interrupted;
}

static void settle_doubting(struct evidence *evidence, struct switch_track *track,
                            const struct suspects *suspects, const struct evidence_place *place)
{
	const int fits = track->pid > 0 && (!suspects->count || suspects_have(suspects, track->pid));

	if (fits && goes_on(evidence, track, place))
		return;
	if (!is_only_one(suspects) || (!fits && track->is_fresh && is_recorded(evidence, track, place->now)))
		switch_track_doubt(track);
	else if (!fits || evidence_has_other_threads(evidence, track->pid, track->tid))
		infer_process(evidence, track, suspects->pid[0], sb_switch_by_address);
}

/* ---- By page tables ----------------------------------------------------------------------------- */

/* Whether two processes have one memory at @now, or may have it: one was forked from the other, and no more
 * is known of how. */
static int may_be_one(const struct sb_space *a, const struct sb_space *b, uint64_t now)
{
	return a && b && now < a->to && now < b->to && kin_memory(a, b) != fork_copies;
}

/* Whether @pid, which has code at the place, may share the page tables of @owner: until its exec, a child of
 * vfork() does. */
static int may_share(struct evidence *evidence, int32_t pid, int32_t owner,
                     const struct evidence_place *place)
{
	const struct sb_space *space = sb_system_space(evidence->system, pid, place->now);
	const struct sb_space *owners = sb_system_space(evidence->system, owner, place->now);
	const struct sb_epoch *epoch = space ? sb_space_epoch(space, place->now) : NULL;
	const struct sb_epoch *mapped = owners ? sb_space_epoch(owners, place->now) : NULL;

	if (pid != owner && is_stranger(evidence, pid, place->now, 0))
		return !cr3_map_has_another(&evidence->cr3s, pid, place->cr3, place->now);
	return pid != owner && epoch && mapped &&
	       ((epoch->root == mapped->root && epoch->code == mapped->code) ||
	        may_be_one(space, owners, place->now)) &&
	       !cr3_map_has_another(&evidence->cr3s, pid, place->cr3, place->now);
}

/* The page tables are @owner's: leaves it and those that may share them. */
static void leave_sharers(struct evidence *evidence, struct suspects *suspects, int32_t owner,
                          const struct evidence_place *place)
{
	struct suspects left = {.pid = {owner}, .count = 1, .nknown = 1};

	for (int i = 0; i < suspects->count && left.count < EVIDENCE_SUSPECTS_MAX; ++i)
		if (may_share(evidence, suspects->pid[i], owner, place)) {
			left.pid[left.count++] = suspects->pid[i];
			left.nknown += i < suspects->nknown;
		}
	*suspects = left;
}

/* Who has the page tables at the place; cr3_unknown without any. */
static int32_t find_owner(struct evidence *evidence, const struct evidence_place *place, int *status)
{
	*status = 0;
	return place->cr3 ? cr3_map_find(&evidence->cr3s, place->cr3, place->now, status) : cr3_unknown;
}

/* Whether the page tables are not those of whoever is said to run, although they may be nobody's that is
 * known. */
static int is_refuted(const struct evidence *evidence, const struct switch_track *track,
                      const struct evidence_place *place)
{
	return place->cr3 && track->pid > 0 &&
	       cr3_map_has_another(&evidence->cr3s, track->pid, place->cr3, place->now);
}

static void settle_by_paging(struct evidence *evidence, struct switch_track *track,
                             const struct suspects *suspects, const struct evidence_place *place)
{
	const int known = suspects_have(suspects, track->pid);

	if (switch_track_lacks_record(track) && known) {
		settle_lost_record(evidence, track, suspects, place->resumed);
		return;
	}
	if (known && !is_doubtful(track, suspects, place))
		return;
	if (is_only_one(suspects))
		infer_process(evidence, track, suspects->pid[0], sb_switch_by_paging);
	else
		switch_track_doubt(track);
}

int evidence_is_owner(struct evidence *evidence, int32_t pid, const struct evidence_place *place, int *status)
{
	return find_owner(evidence, place, status) == pid;
}

/* Whether others may have the page tables that are @owner's, too: who runs, who will, or who has its memory.
 */
static int may_be_others(struct evidence *evidence, const struct switch_track *track, int32_t owner,
                         const struct evidence_place *place)
{
	const struct sb_space *space = sb_system_space(evidence->system, owner, place->now);
	const struct sb_sched *next = switch_track_next(track);

	return (space && kin_is_shared(space)) || may_share(evidence, track->pid, owner, place) ||
	       (next && may_share(evidence, next->pid, owner, place));
}

int32_t evidence_switched_to(struct evidence *evidence, const struct switch_track *track, uint64_t cr3,
                             uint64_t now, int *status)
{
	const struct evidence_place place = {.cr3 = cr3, .now = now};
	const int32_t owner = find_owner(evidence, &place, status);

	return owner > 0 && !may_be_others(evidence, track, owner, &place) ? owner : -1;
}

/* ------------------------------------------------------------------------------------------------- */

int evidence_is_needed(struct evidence *evidence, const struct switch_track *track,
                       const struct sb_space *space, const struct evidence_place *place)
{
	int32_t owner;
	int status;

	if (track->losses && !goes_on(evidence, track, place))
		return 1;
	if (track->pid <= 0 || switch_track_lacks_record(track) || (track->inferred && place->resumed == 0) ||
	    !space_has_code(space, place->ip, 1, place->now))
		return 1;
	owner = find_owner(evidence, place, &status);
	if (status < 0)
		return status;
	if (owner >= 0)
		return owner != track->pid && !may_share(evidence, track->pid, owner, place);
	return owner == cr3_contradictory || is_refuted(evidence, track, place);
}

int evidence_settle(struct evidence *evidence, struct switch_track *track, const struct evidence_place *place,
                    struct suspects *suspects)
{
	int32_t owner;
	int status;

	find_suspects(evidence, track, place, suspects);
	if (suspects->count < 0)
		return -sbe_nomem;
	owner = find_owner(evidence, place, &status);
	if (status < 0)
		return status;
	if (owner >= 0) {
		leave_sharers(evidence, suspects, owner, place);
		settle_by_paging(evidence, track, suspects, place);
	} else if (owner == cr3_contradictory || is_refuted(evidence, track, place)) {
		switch_track_doubt(track);
	} else if (track->losses) {
		settle_doubting(evidence, track, suspects, place);
	} else {
		settle_by_address(evidence, track, suspects, place);
	}
	return 0;
}

int suspects_are_all(const struct suspects *suspects, const struct switch_track *before)
{
	if (suspects->count == EVIDENCE_SUSPECTS_MAX || suspects->nknown < suspects->count)
		return 0;
	/* Of whom a record has just told, a mapping may be missing. */
	return !before->is_fresh || before->pid <= 0 || suspects_have(suspects, before->pid);
}
