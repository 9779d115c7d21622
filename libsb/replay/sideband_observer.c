/* sideband_observer.c - see sideband_observer.h. */
#include "replay/sideband_observer.h"

#include <intel-pt-run.h>
#include <string.h>

#include "replay/look_ahead.h"
#include "replay/observed_time.h"
#include "replay/repair.h"
#include "replay/user_stretch.h"
#include "system/system.h"

enum { TSC_BITS = 56 }; /* of a TSC packet */

uint64_t sideband_observer_now(const struct sideband_observer *observer)
{
	uint64_t tsc;

	if (pt_blk_time(observer->decoder, &tsc, NULL, NULL) < 0)
		return 0;
	return observed_ns(observer, tsc);
}

static void earlier(uint64_t *limit, uint64_t time)
{
	if (time < *limit)
		*limit = time;
}

/* When to look again for what is mapped then. As long as the time only goes in steps, the last one before the
 * change is soon enough. */
static uint64_t epoch_limit(const struct sideband_observer *observer)
{
	const uint64_t to = observer->epoch->to, slack = observer->track.slack;

	if (!observer->in_steps || to == UINT64_MAX)
		return to;
	return observer->is_coarse || to < slack ? 0 : to - slack;
}

/* When to look again. What waits for tracing to be turned off needs no tick, and neither does what waits for
 * the kernel to switch. */
static void set_limit(struct sideband_observer *observer, uint64_t now)
{
	const int waiting = observer->state == ptds_enabled;
	uint64_t limit = UINT64_MAX, tsc;

	if (observer->epoch)
		earlier(&limit, epoch_limit(observer));
	if (observer->kernel)
		earlier(&limit, kernel_image_until(observer->kernel));
	if (!waiting) {
		if (observer->space && observer->space->to > now)
			earlier(&limit, observer->space->to);
		earlier(&limit, switch_track_until(&observer->track));
	}
	tsc = limit == UINT64_MAX ? UINT64_MAX : sb_clock_ns_to_tsc(observer->clock, limit);
	observer->base.tick.limit =
	        tsc == UINT64_MAX || tsc < observer->tsc_base ? tsc : tsc - observer->tsc_base;
}

static void find_space(struct sideband_observer *observer, uint64_t now)
{
	const int32_t pid = observer->track.pid;

	observer->space = pid < 0 ? NULL : space_living(observer->system, pid, now, observer->track.slack);
}

/* What the filter says of whoever runs, and where they belong. */
static void find_out(struct sideband_observer *observer, uint64_t now)
{
	const struct switch_track *track = &observer->track;
	struct flow_owner *who = &observer->who;
	struct filter_subject subject = {.pid = track->pid, .tid = track->tid};

	if (now >= observer->who_from && now < observer->who_to && who->pid == track->pid &&
	    who->tid == track->tid)
		return;
	subject.membership = sb_system_membership(observer->system, track->pid, track->tid, now);
	observer->who_from = subject.membership ? subject.membership->from : 0;
	observer->who_to = subject.membership ? subject.membership->to : UINT64_MAX;
	if (observer->filter->by_name) {
		uint64_t until;

		subject.comm = sb_system_comm_until(observer->system, track->pid, track->tid, now, &until);
		observer->who_from = now;
		earlier(&observer->who_to, until);
	}
	*who = (struct flow_owner){.pid = track->pid,
	                           .tid = track->tid,
	                           .membership = subject.membership,
	                           .unwanted = !filter_wants(observer->filter, observer->memory, &subject)};
}

static void begin_run(struct sideband_observer *observer)
{
	const struct switch_track *track = &observer->track;

	/* Where the kernel is traced, tracing need not be turned off when something changes: it changes
	 * there. */
	if (observer->in_kernel || observer->who.pid != track->pid || observer->who.tid != track->tid)
		find_out(observer, sideband_observer_now(observer));
	observer->run = observer->who;
	observer->run_epoch = observer->epoch;
}

/* Whether what is mapped stays up to the next MTC packet, as it mostly does. */
static int stays_mapped(const struct sideband_observer *observer, uint64_t now)
{
	const struct sb_space *space = observer->space;
	const struct sb_epoch *epoch = observer->epoch;
	uint64_t mtc;

	if (epoch->from > now)
		return 0;
	if (epoch->to == UINT64_MAX && space->to == UINT64_MAX)
		return 1;
	mtc = observed_next_mtc(observer);
	return mtc && epoch->to > observed_ns(observer, mtc) && space->to > observed_ns(observer, mtc);
}

/* What whoever runs has mapped, as far as it is certain while time stands still. */
static struct pt_image *find_certain(struct sideband_observer *observer)
{
	const struct sb_epoch *epoch = observer->epoch;
	const uint64_t now = sideband_observer_now(observer);
	struct code_window window = {observer->system, observer->space->pid, now, now};
	struct code_window_ends ends;

	if (stays_mapped(observer, now) || observed_is_exact(observer, now))
		return image_builder_get(observer->images, epoch);
	window.to = observed_latest(observer);
	if (!sb_system_space(observer->system, window.pid, now))
		window.from = observer->space->from;
	ends = code_window_ends(&window);
	if (ends.first == ends.last && code_window_begins_early(&window))
		return image_builder_get(observer->images, epoch);
	observer->doubt = ends;
	return image_builder_certain(observer->images, &window, &ends);
}

static struct pt_image *find_image(struct sideband_observer *observer)
{
	observer->doubt = (struct code_window_ends){NULL, NULL};
	if (observer->in_guest)
		return image_builder_get(observer->images, NULL);
	if (observer->in_kernel)
		return observer->kernel->image;
	return observer->epoch && (observer->in_steps || observed_is_lost(observer))
	               ? find_certain(observer)
	               : image_builder_get(observer->images, observer->epoch);
}

static int use_image(struct sideband_observer *observer)
{
	struct pt_image *image = find_image(observer);

	if (!image)
		return -pte_nomem;
	if (image == observer->image)
		return 0;
	observer->image = image;
	return pt_blk_set_image(observer->decoder, image);
}

/* Applies what is due. @boundary: tracing is off, or is just being turned on. */
static int apply(struct sideband_observer *observer, uint64_t now, int boundary)
{
	int status = 0;

	if (boundary) {
		/* At a PSB behind a jump, time is exact. */
		if (observer->track.jump)
			observer->exact = now;
		switch_track_go_to(&observer->track, now && now == observer->still ? observer->settled : now);
		if (now)
			switch_track_regain(&observer->track, now,
			                    !observer->is_coarse || now == observer->exact
			                            ? now
			                            : observed_latest(observer));
		find_space(observer, now);
		find_out(observer, now);
	}
	observer->epoch = observer->space ? sb_space_epoch(observer->space, now) : NULL;
	if (observer->kernel)
		status = kernel_image_go_to(observer->kernel, now);
	/* With tracing off, nothing is executed before it is turned on, which is told. */
	if (status == 0 && observer->state != ptds_disabled)
		status = use_image(observer);
	set_limit(observer, now);
	return status;
}

/* Whether the decoder came to another PSB since this was asked last. */
static int is_behind_psb(struct sideband_observer *observer)
{
	const uint64_t before = observer->psb;
	uint64_t read;

	if (pt_blk_get_psb_offset(observer->decoder, &observer->psb, &read) < 0)
		return 1;
	return observer->psb != before;
}

/* User space is entered at @now, if the trace says it right. */
static struct repair_place repair_here(struct sideband_observer *observer, uint64_t now, int is_whole)
{
	return (struct repair_place){.trial = observer->trial,
	                             .decoder = observer->decoder,
	                             .evidence = observer->evidence,
	                             .now = now,
	                             .until = observer->is_coarse || observer->is_late
	                                              ? observed_latest(observer)
	                                              : now + observer->track.slack,
	                             .is_whole = is_whole};
}

/* What records say goes without saying - unless the next switch comes too soon. As repair_early(). */
static int examine_early(struct sideband_observer *observer, uint64_t now, uint64_t ip, int is_whole)
{
	struct switch_track *track = &observer->track;
	struct repair_place place;

	if (observer->kernel || observer->is_coarse || track->losses || track->inferred || !now ||
	    switch_track_until(track) > now + track->slack)
		return 0;
	/* Where time stands still, all has been looked into. */
	if (observer->is_late && !late_time_is_stamped(observer->decoder, &observer->next_tsc))
		return 0;
	place = repair_here(observer, now, is_whole);
	return repair_early(&place, track, ip);
}

/* Sets right who runs, where that does not go without saying. */
static int settle(struct sideband_observer *observer, struct evidence_place *place, int is_whole)
{
	const struct switch_track before = observer->track;
	struct repair_place repair;
	struct suspects suspects;
	uint64_t ips[LOOK_AHEAD_MAX];
	int status;

	place->nips = look_ahead(observer->decoder, *place->ip, ips);
	place->ip = ips;
	status = evidence_settle(observer->evidence, &observer->track, place, &suspects);
	place->nips = 1;
	if (status < 0 || observer->track.pid >= 0 || observer->kernel)
		return status;
	repair = repair_here(observer, place->now, is_whole);
	return repair_doubt(&repair, &observer->track, &before, &suspects);
}

/* User space is entered at @ip: is it that of whoever runs? */
static int examine(struct sideband_observer *observer, uint64_t now, uint64_t ip, int resumed, int is_whole)
{
	const int standing = observed_is_standing(observer, now);
	struct evidence_place place = {.ip = &ip,
	                               .nips = 1,
	                               .now = now,
	                               .until = standing ? observed_latest(observer) : now,
	                               .is_late = observer->is_coarse ? observer->is_late : standing,
	                               .cr3 = observer->cr3,
	                               .resumed = resumed,
	                               .interrupted = observer->interrupted || observer->is_unbroken,
	                               .has_strayed = observer->has_strayed};
	const int needed = evidence_is_needed(observer->evidence, &observer->track, observer->space, &place);
	uint64_t moment;
	int status;

	/* The time stands still, and is not that of the place. */
	if (now == observer->judged && now)
		return 0;
	if (needed < 0)
		return -pte_nomem;
	if (needed) {
		/* In the middle of user space, nothing new is known before the next PSB. */
		if (is_behind_psb(observer))
			observer->examined = 0;
		if (resumed < 0 && observer->examined && observer->track.pid < 0)
			return 0;
		observer->examined = 1;
		status = settle(observer, &place, is_whole);
	} else {
		status = resumed < 0 ? 0 : examine_early(observer, now, ip, is_whole);
		if (status == 0)
			return 0;
	}
	if (status < 0)
		return -pte_nomem;
	place.ip = &ip;
	observer->space = NULL;
	if (observer->track.pid >= 0)
		observer->space = evidence_space(observer->evidence, &observer->track, &place, &moment);
	observer->epoch = observer->space ? sb_space_epoch(observer->space, moment) : NULL;
	find_out(observer, now);
	begin_run(observer);
	return use_image(observer);
}

/* The kernel was left to @ip, where time stands still: page tables do not tell threads of one process apart,
 * and whoever was switched to meanwhile may run, too - unless each switch was seen, and has its record. */
static int doubt_coarse(struct sideband_observer *observer, uint64_t now, uint64_t ip)
{
	struct switch_track *track = &observer->track;
	const struct evidence_place place = {.ip = &ip, .nips = 1, .now = now, .cr3 = observer->cr3};
	const struct strangers *strangers;
	int status = 0, is_owner;

	if (!observer->is_coarse || track->pid <= 0 || !switch_track_next(track) ||
	    (observer->sees_switches && track->is_whole && !track->inferred))
		return 0;
	is_owner = evidence_is_owner(observer->evidence, track->pid, &place, &status);
	if (status < 0)
		return -pte_nomem;
	if (is_owner &&
	    (track->tid < 0 || !evidence_has_other_threads(observer->evidence, track->pid, track->tid)))
		return 0;
	strangers = evidence_strangers(observer->evidence);
	if (!strangers)
		return -pte_nomem;
	if (!late_time_others(strangers, track, ip, observed_latest(observer), is_owner))
		return 0;
	switch_track_infer(track, is_owner ? track->pid : -1, -1, sb_switch_uncertain);
	if (!is_owner) {
		observer->space = NULL;
		observer->epoch = NULL;
	}
	find_out(observer, now);
	begin_run(observer);
	return use_image(observer);
}

/* The trace's time says too little: settles who runs, and returns one, or zero: it says enough. */
static int settle_late(struct sideband_observer *observer, uint64_t now, uint64_t ip, int is_whole)
{
	enum sb_switch_evidence says = sb_switch_by_address;
	const struct switch_track *track = &observer->track;
	const struct strangers *strangers;
	struct late_verdict verdict;
	struct late_entry entry = {.now = now};
	uint64_t ips[LOOK_AHEAD_MAX];
	int status;

	/* Where records are missing, others may run than the schedule says. */
	if (track->losses || !switch_track_next(track) || !observed_is_standing(observer, now))
		return 0;
	entry.until = observed_latest(observer);
	if (switch_track_until(track) > entry.until)
		return 0;
	strangers = evidence_strangers(observer->evidence);
	if (!strangers)
		return -pte_nomem;
	entry.ip = ips;
	entry.nips = look_ahead(observer->decoder, ip, ips);
	entry.stays = late_time_stays_on(observer->decoder, &observer->next_tsc);
	if (!late_time_judge(&observer->late, strangers, track, &entry, &verdict))
		return 0;
	observer->judged = now;
	if (verdict.pid < 0) {
		const struct repair_place place = repair_here(observer, now, is_whole);

		status = repair_late(&place, track, &observer->late, &verdict);
		if (status < 0)
			return status;
		says = status ? sb_switch_repaired : sb_switch_uncertain;
	}
	if (entry.stays && verdict.pid >= 0) {
		/* As the records say, then. */
		observer->still = now;
		observer->settled = entry.until;
		switch_track_go_to(&observer->track, entry.until);
	} else {
		switch_track_infer(&observer->track, verdict.pid, verdict.tid, says);
	}
	observer->space =
	        track->pid < 0 ? NULL : sb_system_space(observer->system, track->pid, verdict.moment);
	observer->epoch = observer->space ? sb_space_epoch(observer->space, verdict.moment) : NULL;
	find_out(observer, now);
	begin_run(observer);
	status = use_image(observer);
	return status < 0 ? status : 1;
}

int sideband_observer_enabled(struct sideband_observer *observer, uint64_t ip, int resumed, int is_whole)
{
	uint64_t now;
	int settled;

	if (ip >> 63 || pt_blk_is_non_root(observer->decoder))
		return 0;
	now = sideband_observer_now(observer);
	observer->judged = 0;
	settled = settle_late(observer, now, ip, is_whole);
	if (!settled)
		settled = examine(observer, now, ip, resumed, is_whole);
	observer->track.is_fresh = 0;
	observer->interrupted = 0;
	observer->has_strayed = 0;
	observer->is_unbroken = observer->track.losses != switch_losses_none;
	return settled < 0 ? settled : 0;
}

void sideband_observer_disabled(struct sideband_observer *observer, int interrupted)
{
	observer->interrupted = interrupted && observer->track.losses != switch_losses_none;
	observer->is_unbroken = 0;
}

void sideband_observer_lose_way(struct sideband_observer *observer)
{
	observer->interrupted = observer->is_unbroken = 0;
}

static uint64_t passed_psb(const struct sideband_observer *observer)
{
	uint64_t passed, read;

	return pt_blk_get_psb_offset(observer->decoder, &passed, &read) < 0 ? UINT64_MAX : passed;
}

/* Tracing was turned off where the flow was not known, perhaps since the last packet that tells the time. */
static void note_off(struct sideband_observer *observer)
{
	observed_latest(observer);
	if (!late_time_is_stamped(observer->decoder, &observer->next_tsc))
		observer->off_time = sideband_observer_now(observer);
}

void sideband_observer_stray(struct sideband_observer *observer, int strays)
{
	sideband_observer_lose_way(observer);
	if (strays && observer->is_coarse)
		note_off(observer);
	observer->has_strayed = observer->is_lost = strays;
	observer->stray_psb = strays ? passed_psb(observer) : UINT64_MAX;
}

/* User space may have been left and entered again, and what is recorded by now came before. */
static int go_on(struct sideband_observer *observer, uint64_t now)
{
	const int status = apply(observer, now, 1);

	begin_run(observer);
	return status;
}

/* The flow is known again, in user space at @ip. */
static int regain(struct sideband_observer *observer, uint64_t now, uint64_t ip)
{
	int settled = 0;

	observer->judged = 0;
	/* At a PSB, time is exact, and who runs then has been found already. */
	if (passed_psb(observer) == observer->stray_psb)
		settled = settle_late(observer, now, ip, 0);
	if (!settled)
		settled = examine(observer, now, ip, 0, 0);
	observer->has_strayed = 0;
	return settled < 0 ? settled : 0;
}

int sideband_observer_overflowed(struct sideband_observer *observer, uint64_t ip)
{
	const uint64_t now = sideband_observer_now(observer);
	int status = 0;

	if (ip >> 63)
		return observer->sees_switches ? go_on(observer, now) : 0;
	if (observer->kernel || !observer->has_strayed)
		return 0;
	if (!observed_is_lost(observer))
		status = go_on(observer, now);
	if (status == 0)
		status = regain(observer, now, ip);
	/* What was mapped may not be any more. */
	return status == 0 && observed_is_lost(observer) ? use_image(observer) : status;
}

/* Whether the flow is in a virtual machine. It comes back to the kernel, which it was entered from. */
static int is_in_guest(struct sideband_observer *observer)
{
	const int was_in_guest = observer->in_guest;

	observer->in_guest = pt_blk_is_non_root(observer->decoder) > 0;
	if (was_in_guest && !observer->in_guest)
		observer->in_kernel = observer->kernel != NULL;
	return observer->in_guest;
}

/* The flow comes from user space to the kernel, or back; or to a virtual machine, or back; or it begins at
 * @ip. */
static int on_crossing(void *context, uint64_t ip)
{
	struct sideband_observer *observer = context;
	const uint64_t now = sideband_observer_now(observer);
	int resumed = -1, left, status;

	if (is_in_guest(observer)) {
		begin_run(observer);
		return use_image(observer);
	}
	left = observer->in_kernel && !(ip >> 63);
	if (observer->sees_switches)
		switch_track_prove(&observer->track, now);
	if (observer->kernel && ip >> 63 && !observer->in_kernel)
		observer->track.passed = 0;
	observer->in_kernel = observer->kernel && ip >> 63;
	if (left) {
		switch_track_leave_kernel(&observer->track, now);
		find_space(observer, now);
		if (observer->sees_switches)
			resumed = !observer->track.passed;
	}
	status = apply(observer, now, 0);
	/* Blocks come behind this. */
	find_out(observer, now);
	begin_run(observer);
	if (status < 0 || ip >> 63)
		return status;
	if (observer->has_strayed && !observer->kernel)
		return regain(observer, now, ip);
	status = examine(observer, now, ip, resumed, 0);
	return status < 0 || !left ? status : doubt_coarse(observer, now, ip);
}

void sideband_observer_paging(struct sideband_observer *observer, uint64_t cr3)
{
	if (!observer->asks_cr3 || cr3 == observer->cr3)
		return;
	/* Its own pages in the kernel and in user space are told apart by who needs it. */
	if (!cr3)
		observer->mm_insns = 0;
	else if (observer->cr3 && (cr3 ^ observer->cr3) != CR3_ISOLATED)
		observer->mm_insns = 1;
	observer->cr3 = cr3;
}

void sideband_observer_begin_run(struct sideband_observer *observer)
{
	/* Time went on; all that came before has been looked at for switches. */
	if (observer->in_kernel && observer->asks_cr3 && observer->sees_switches)
		switch_track_prove(&observer->track, sideband_observer_now(observer));
	begin_run(observer);
}

/* Just before it switches to another process, the kernel puts its page tables in force. */
static int32_t switched_to(struct sideband_observer *observer, uint64_t now, int *status)
{
	const uint64_t since = observer->mm_insns;

	*status = 0;
	observer->mm_insns = 0;
	return since ? evidence_switched_to(observer->evidence, &observer->track, observer->cr3, now, status)
	             : -1;
}

/* How late a run may be that began at @now: the packet that tells the time next may have been read already.
 */
static uint64_t run_until(struct sideband_observer *observer, uint64_t now)
{
	const uint64_t read = sideband_observer_now(observer);

	return read > now ? read : observed_latest(observer);
}

int sideband_observer_pass(struct sideband_observer *observer, uint64_t tsc)
{
	const uint64_t now = tsc ? observed_ns(observer, tsc) : 0;
	struct switch_seen seen = {.now = now, .until = now, .tid = -1};
	int status;

	seen.pid = switched_to(observer, now, &status);
	if (status < 0)
		return -pte_nomem;
	if (seen.pid >= 0)
		seen.tid = evidence_only_thread(observer->evidence, seen.pid);
	if (observer->is_coarse)
		seen.until = run_until(observer, now);
	switch_track_pass(&observer->track, &seen);
	find_out(observer, now);
	begin_run(observer);
	return 0;
}

static int on_tick(struct pt_observer *self, uint64_t tsc, uint32_t lost_mtc, uint32_t lost_cyc)
{
	struct sideband_observer *observer = self->context;

	(void)lost_mtc;
	(void)lost_cyc;
	/* Before the first TSC packet, the time is relative. */
	if (pt_blk_time(observer->decoder, &tsc, NULL, NULL) < 0)
		return 0;
	if (observer->state != ptds_enabled)
		observer->exact = observed_ns(observer, tsc);
	return apply(observer, observed_ns(observer, tsc), observer->state != ptds_enabled);
}

static int on_state(struct pt_observer *self, enum pt_decode_state state)
{
	struct sideband_observer *observer = self->context;
	const uint64_t now = sideband_observer_now(observer);
	/* Where the flow begins at a PSB, user space was entered before that, too. */
	const int was_in = observer->was_on || (observer->state == ptds_unknown && state == ptds_enabled);
	int status;

	observer->state = state;
	/* At a PSB, where nothing is known of before, time is exact. */
	if (state == ptds_disabled)
		observer->off_time = observer->was_on ? now : 0;
	observer->was_on = state == ptds_enabled;
	status = state == ptds_unknown ? 0 : apply(observer, now, 1);
	if (state == ptds_enabled)
		observer->exact = 0;
	/* What has taken effect by now did so before user space was entered. */
	if (was_in && !observer->kernel)
		observer->track.is_fresh = 0;
	return status;
}

/* They do not change within a year: any record's time tells them. */
uint64_t sideband_upper_bits(const struct sb_clock *clock, const struct sb_sched *sched, size_t nscheds)
{
	uint64_t tsc = nscheds ? sb_clock_ns_to_tsc(clock, sched[nscheds - 1].time) : 0;

	return tsc == UINT64_MAX ? 0 : tsc >> TSC_BITS << TSC_BITS;
}

static void take_schedule(struct sideband_observer *observer, const struct observed_schedule *schedule)
{
	struct switch_track *track = &observer->track;

	observer->asks_cr3 = !schedule->is_whole || !observer->sees_switches || observer->is_coarse;
	switch_track_take(track, schedule->sched, schedule->nscheds, &schedule->use);
	schedule_use_around(&track->use, schedule->nscheds);
	/* Threads that have come to their end have no number in records. */
	track->is_whole = schedule->is_whole || schedule->losses == switch_losses_none;
	/* The kernel's own switching shows, where it is traced. */
	track->losses = observer->kernel ? switch_losses_none : schedule->losses;
	observer->tsc_base = sideband_upper_bits(observer->clock, schedule->sched, schedule->nscheds);
}

void sideband_observer_init(struct sideband_observer *observer, const struct sideband_sources *sources,
                            const struct observed_schedule *schedule)
{
	*observer = (struct sideband_observer){.system = sources->system,
	                                       .clock = sources->clock,
	                                       .images = sources->images,
	                                       .filter = sources->filter,
	                                       .memory = sources->memory,
	                                       .kernel = sources->kernel,
	                                       .evidence = sources->evidence,
	                                       .trial = sources->trial};
	observer->sees_switches =
	        sources->kernel && sources->kernel->text && sources->kernel->text->switch_ip;
	observer->in_steps = sources->in_steps;
	observer->is_coarse = sources->is_coarse;
	switch_track_init(&observer->track, schedule->sched, schedule->nscheds);
	take_schedule(observer, schedule);
	observer->track.slack = sources->slack;
	observer->track.without = sources->without;
	observer->track.sees_passes = observer->sees_switches;
	observer->track.stands_still = observer->is_coarse && observer->sees_switches;
	observer->is_late = sources->is_late;
	observer->next_tsc = late_tsc_unknown;
	find_out(observer, 0);
}

int sideband_observer_watch(struct sideband_observer *observer, struct pt_block_decoder *decoder)
{
	int status;

	observer->base = (struct pt_observer){.size = sizeof(observer->base), .context = observer};
	observer->base.tick.callback = on_tick;
	observer->base.state.callback = on_state;
	observer->decoder = decoder;
	observer->state = ptds_unknown;
	observer->image = NULL;
	status = use_image(observer);
	if (status == 0)
		status = pt_blk_set_crossing(decoder, on_crossing, observer);
	return status < 0 ? status : pt_blk_attach_obsv(decoder, &observer->base);
}

/* Nobody knows who runs. */
static int forget(struct sideband_observer *observer, int jump)
{
	observer->base.tick.limit = 0;
	switch_track_forget(&observer->track, jump);
	observer->in_kernel = 0;
	observer->in_guest = 0;
	sideband_observer_stray(observer, 0);
	observer->examined = 0;
	observer->late = (struct late_time){0};
	observer->next_tsc = late_tsc_unknown;
	observer->judged = 0;
	observer->still = observer->settled = 0;
	observer->off_time = observer->exact = 0;
	observer->was_on = 0;
	observer->cr3 = observer->mm_insns = 0;
	observer->who_from = observer->who_to = 0;
	find_out(observer, 0);
	observer->space = NULL;
	observer->epoch = NULL;
	return use_image(observer);
}

void sideband_observer_know(const struct sideband_observer *observer, struct flow_owner *owner, uint64_t now)
{
	struct filter_subject subject = {.pid = owner->pid, .tid = owner->tid};

	subject.membership = sb_system_membership(observer->system, owner->pid, owner->tid, now);
	if (observer->filter->by_name) {
		uint64_t until;

		subject.comm = sb_system_comm_until(observer->system, owner->pid, owner->tid, now, &until);
	}
	owner->membership = subject.membership;
	owner->unwanted = !filter_wants(observer->filter, observer->memory, &subject);
}

void sideband_observer_settle(struct sideband_observer *observer, const struct flow_owner *owner, size_t next)
{
	const uint64_t now = sideband_observer_now(observer);

	switch_track_settle(&observer->track, owner->pid, owner->tid, next);
	find_space(observer, now);
	find_out(observer, now);
	begin_run(observer);
}

int sideband_observer_move(struct sideband_observer *observer, const struct observed_schedule *schedule)
{
	take_schedule(observer, schedule);
	return forget(observer, 0);
}

void sideband_observer_begin_buffer(struct sideband_observer *observer)
{
	observer->examined = 0;
	observer->psb = UINT64_MAX;
	trial_begin_buffer(observer->trial);
	observer->next_tsc = late_tsc_unknown;
}

int sideband_observer_jump(struct sideband_observer *observer)
{
	return forget(observer, 1);
}
