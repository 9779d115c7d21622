/* stream_replay.c - see stream_replay.h.
 *
 * The decoder is synchronised, followed to the end of the segment or to an error, and synchronised
 * again. Every byte is accounted for on the way: as decoded, or as part of the gap between an
 * error and the PSB where decoding goes on.
 */
#include "replay/stream_replay.h"

#include <inttypes.h>

#include "replay/gap_explain.h"
#include "replay/overflow_gap.h"
#include "replay/psb_left.h"
#include "replay/run_hold.h"
#include "replay/stream_event.h"
#include "replay/user_stretch.h"
#include "system/system.h"

/* What following the flow came to. */
enum course { course_end, course_border, course_lost };

/* How much of the trace stays in memory behind the flow. */
enum { RELEASE_STEP = 256 * 1024 };

/* By how much an estimate of time may be ahead of the next TSC packet: with MTC, about one period; where only
 * cycles are counted, or nobody knows, as much as the core's frequency may change from one TSC to the next.
 */
uint64_t stream_replay_slack(const struct sb_perfdata_info *info)
{
	enum { LEAST = 1 << 12, CYCLES_ALONE = 1 << 20 };

	if (info->pt_mtc && info->tsc_ctc_den && info->pt_mtc_freq < 32)
		return LEAST + ((uint64_t)info->tsc_ctc_num << info->pt_mtc_freq) / info->tsc_ctc_den;
	return info->has_pt && !info->pt_cyc ? LEAST : CYCLES_ALONE;
}

uint64_t stream_replay_slack_ns(const struct sb_perfdata_info *info)
{
	struct sb_clock length = info->clock;

	length.time_zero = 0;
	return sb_clock_tsc_to_ns(&length, stream_replay_slack(info));
}

int stream_replay_init(struct stream_replay *replay, const struct sb_perfdata *perfdata,
                       const struct pt_config *config, struct ledger *ledger, struct image_builder *images,
                       struct sideband_observer *observer, struct sb_error *err)
{
	const struct kernel_image *kernel = observer->kernel;

	*replay = (struct stream_replay){.perfdata = perfdata,
	                                 .config = config,
	                                 .tsc_slack = stream_replay_slack(sb_perfdata_info(perfdata)),
	                                 .ledger = ledger,
	                                 .images = images,
	                                 .observer = observer,
	                                 .err = err,
	                                 .border = UINT64_MAX};
	patch_trial_init(&replay->patches, kernel, observer->clock);
	if (run_watch_init(&replay->watch, kernel && kernel->text ? kernel->text->switch_ip : 0) < 0)
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	return 0;
}

static void forget_ahead(struct stream_replay *replay)
{
	pt_pkt_free_decoder(replay->ahead);
	replay->ahead = NULL;
}

void stream_replay_fini(struct stream_replay *replay)
{
	forget_ahead(replay);
	pt_blk_free_decoder(replay->decoder);
	replay->decoder = NULL;
	patch_trial_fini(&replay->patches);
	run_watch_fini(&replay->watch);
}

/* ---- Where the decoder is ---------------------------------------------------------------------- */

static uint64_t clip(const struct stream_replay *replay, uint64_t offset)
{
	return offset < replay->segment->stop ? offset : replay->segment->stop;
}

/* The last PSBs that the flow has come to, and that the decoder has read. */
struct psbs {
	uint64_t passed, read;
};

static struct psbs psbs(const struct stream_replay *replay)
{
	struct psbs found;

	if (pt_blk_get_psb_offset(replay->decoder, &found.passed, &found.read) < 0)
		return (struct psbs){0};
	return found;
}

/* Where the decoder reads, which may be ahead of the flow. */
static uint64_t read_offset(const struct stream_replay *replay)
{
	uint64_t offset;

	return pt_blk_get_offset(replay->decoder, &offset) < 0 ? 0 : offset;
}

static uint64_t present_tsc(const struct stream_replay *replay)
{
	uint64_t tsc;

	if (pt_blk_time(replay->decoder, &tsc, NULL, NULL) < 0)
		return replay->ledger->last_tsc;
	tsc |= replay->observer->tsc_base;
	return tsc > replay->ledger->last_tsc ? tsc : replay->ledger->last_tsc;
}

/* ---- Gaps ------------------------------------------------------------------------------------- */

static struct sb_gap gap_here(const struct stream_replay *replay, enum sb_gap_reason reason, uint64_t offset)
{
	return (struct sb_gap){.reason = reason,
	                       .cpu = replay->ledger->cpu,
	                       .pid = replay->observer->track.pid,
	                       .tid = replay->observer->track.tid,
	                       .tsc_from = present_tsc(replay),
	                       .offset = replay->segment->aux_offset + offset};
}

/* Everything up to @offset is decoded. */
static int account_to(struct stream_replay *replay, uint64_t offset)
{
	const uint64_t end = clip(replay, offset), from = replay->accounted;

	if (end <= from)
		return 0;
	replay->accounted = end;
	return ledger_decoded(replay->ledger, end - from);
}

/* From @offset on, nothing is decoded. */
static int open_gap(struct stream_replay *replay, const struct sb_gap *gap, uint64_t offset)
{
	const int status = account_to(replay, offset);
	replay->gap = *gap;
	replay->gap.offset = replay->segment->aux_offset + replay->accounted;
	replay->gap_end = replay->accounted;
	replay->in_gap = 1;
	return status;
}

/* From @offset on, decoding goes on - if that comes to something. */
static void end_gap(struct stream_replay *replay, uint64_t offset)
{
	replay->gap_end = offset;
	replay->gap.tsc_to = present_tsc(replay);
}

/* It did: what was found since is right. */
static int settle_gap(struct stream_replay *replay)
{
	const uint64_t offset = clip(replay, replay->gap_end);
	const uint64_t end = offset > replay->accounted ? offset : replay->accounted;

	if (!replay->in_gap)
		return 0;
	replay->in_gap = 0;
	replay->gap.bytes = end - replay->accounted;
	replay->accounted = end;
	/* Trace that begins with a PSB lacks nothing. */
	if (!replay->gap.bytes &&
	    (replay->gap.reason == sb_gap_no_sync || replay->gap.reason == sb_gap_truncated))
		return 0;
	return ledger_gap(replay->ledger, &replay->gap);
}

/* What is held back is right, and so is the end of the gap before it. */
static int confirm(struct stream_replay *replay)
{
	const int status = settle_gap(replay);

	return status < 0 ? status : ledger_confirm(replay->ledger);
}

/* Which patches were in force is found out anew. */
static void forget_patches(struct stream_replay *replay)
{
	if (replay->observer->kernel)
		kernel_image_forget_choices(replay->observer->kernel);
	patch_trial_begin(&replay->patches);
}

/* The decoder failed. */
static int lose_way(struct stream_replay *replay, int errcode)
{
	struct sb_gap gap = gap_here(replay, sb_gap_decode_error, 0);
	int right, status;

	sideband_observer_paging(replay->observer, 0);
	switch_window_spoil(&replay->window);
	gap_explain(&gap, replay, errcode);
	right = gap_leaves_flow_right(&gap, replay, errcode) && ledger_holds(replay->ledger);
	/* What was taken for a patch that was in force may not have been. */
	if (gap.reason == sb_gap_decode_error && replay->observer->kernel &&
	    replay->observer->kernel->nchosen) {
		right = 0;
		kernel_image_forget_choices(replay->observer->kernel);
	}
	replay->resume = gap_resume(&gap, replay, errcode);
	status = right ? confirm(replay) : ledger_discard(replay->ledger);
	/* It did not get far enough since the gap before to make another one. */
	if (status < 0 || replay->in_gap)
		return status;
	return open_gap(replay, &gap, right ? read_offset(replay) : replay->confirmed);
}

/* ---- Following the flow ------------------------------------------------------------------------- */

/* Errors that are ours, not the trace's. */
static int is_fatal(int errcode)
{
	return errcode == -pte_nomem || errcode == -pte_internal || errcode == -pte_invalid;
}

static int fatal(const struct stream_replay *replay, int errcode)
{
	return sb_error_set(replay->err, errcode == -pte_nomem ? -sbe_nomem : -sbe_decode, NULL, UINT64_MAX,
	                    "CPU %d, trace offset 0x%" PRIx64 ": %s", replay->ledger->cpu,
	                    replay->segment->aux_offset + replay->accounted, pt_errstr(pt_errcode(errcode)));
}

static void forget_missing_code(struct stream_replay *replay)
{
	replay->images->has_missing_ip = 0;
	if (replay->observer->kernel)
		replay->observer->kernel->has_missing_ip = 0;
}

/* To look at packets ahead of the flow; NULL: out of memory. */
static struct pt_packet_decoder *ahead(struct stream_replay *replay)
{
	if (!replay->ahead)
		replay->ahead = pt_pkt_alloc_decoder(pt_blk_get_config(replay->decoder));
	return replay->ahead;
}

/* What breaks the flow off right behind the PSB that it has come to is told while it is held. */
static void look_behind_psb(struct stream_replay *replay)
{
	uint64_t left;

	if (!replay->ran || !ledger_may_be_left(replay->ledger))
		return;
	left = ahead(replay) ? psb_left(replay->ahead, replay->confirmed) : 0;
	if (left)
		ledger_hold_left(replay->ledger, left);
}

/* What was found is right up to the PSB that the flow has come to. Positive: the next segment begins there.
 */
static int reach_psb(struct stream_replay *replay)
{
	const uint64_t passed = psbs(replay).passed;
	const int ended = passed >= replay->segment->stop;
	int status;

	if (passed <= replay->confirmed)
		return ended;
	replay->confirmed = passed;
	replay->resumed = 0;
	replay->last_ip = 0;
	forget_missing_code(replay);
	forget_patches(replay);
	if (psbs(replay).read == passed)
		switch_window_end(&replay->window, replay->observer, replay->ledger);
	switch_window_spoil(&replay->window);
	look_behind_psb(replay);
	status = confirm(replay);
	if (status == 0)
		status = account_to(replay, passed);
	return status < 0 ? status : ended;
}

static int note_overflow(struct stream_replay *replay, const struct before_event *before,
                         const struct pt_event *event)
{
	struct sb_gap gap = gap_here(replay, sb_gap_overflow, read_offset(replay));

	if (event->ip_suppressed) {
		if (!ahead(replay))
			return fatal(replay, -pte_nomem);
		gap.offset = replay->segment->aux_offset + before->offset;
		overflow_gap_place(&gap, before, replay->ahead, replay->observer);
		if (gap.tsc_from < replay->ledger->last_tsc)
			gap.tsc_from = replay->ledger->last_tsc;
	} else if (sideband_observer_overflowed(replay->observer, event->variant.overflow.ip) < 0) {
		return fatal(replay, -pte_nomem);
	}
	return ledger_hold_gap(replay->ledger, &gap);
}

/* Time that goes back was wrong before, or is now: who ran since the last PSB is not known. */
static int time_goes_back(struct stream_replay *replay, int has_tsc, uint64_t tsc)
{
	if (!has_tsc)
		return 0;
	if (tsc + replay->tsc_slack < replay->last_tsc)
		return 1;
	replay->last_tsc = tsc;
	return 0;
}

/* Holds a run, in which time may have gone on. */
static int hold(struct stream_replay *replay, const struct pt_run *run)
{
	const struct pt_run_time *last = run->ntimes ? &run->time[run->ntimes - 1] : NULL;
	const int status = run_hold(replay, run);

	replay->ran |= run->nblocks != 0;
	if (last && last->has_tsc) {
		replay->last_tsc = last->tsc;
		ledger_pass_time(replay->ledger, last->tsc | replay->observer->tsc_base);
	}
	return status;
}

/* Fetches all events that are due. *@bits: the decoder's status. Positive: the segment ends here. */
static int take_events(struct stream_replay *replay, int *bits)
{
	while (*bits >= 0 && (*bits & pts_event_pending)) {
		/* Read ahead of the flow only when tracing is on, and then up to the event. */
		const uint64_t psb = psbs(replay).read;
		const struct before_event before = {replay->observer->track, read_offset(replay)};
		struct pt_event event;
		int status;

		if (psb >= replay->segment->stop && replay->observer->state != ptds_enabled)
			return 1;
		*bits = pt_blk_event(replay->decoder, &event, sizeof(event));
		if (*bits < 0)
			break;
		if (time_goes_back(replay, event.has_tsc, event.tsc)) {
			/* If it goes back behind the PSB before, either one may be wrong. */
			if (event.status_update && event.tsc + replay->tsc_slack >= replay->psb_tsc)
				replay->retry = psb;
			*bits = -pte_no_time;
			break;
		}
		stream_event_interrupts(replay, &event);
		status = reach_psb(replay);
		if (replay->observer->asks_cr3)
			stream_event_paging(replay, &event);
		if (event.type == ptev_enabled && !event.status_update) {
			replay->last_ip = event.variant.enabled.ip;
			if (sideband_observer_enabled(replay->observer, replay->last_ip,
			                              event.variant.enabled.resumed, !replay->resumed) < 0)
				return fatal(replay, -pte_nomem);
		}
		if (status == 0 && event.type == ptev_overflow)
			status = note_overflow(replay, &before, &event);
		if (status == 0)
			status = stream_event_tell(replay, &event);
		if (status)
			return status;
	}
	return 0;
}

/* What was decoded is not looked at again. */
static void release(struct stream_replay *replay, uint64_t offset)
{
	const uint8_t *const begin = replay->segment->begin;

	sb_perfdata_release(replay->perfdata, begin + replay->released, begin + offset);
	system_schedule_release(replay->observer->system, replay->ledger->cpu);
	replay->released = offset;
}

static uint64_t latest_tsc(const struct stream_replay *replay)
{
	uint64_t tsc;

	if (pt_blk_time(replay->decoder, &tsc, NULL, NULL) < 0 || tsc < replay->last_tsc)
		return replay->last_tsc;
	return tsc;
}

/* All events that hold at the PSB that the flow has come to have been taken, and nothing behind it. */
static int note_psb(struct stream_replay *replay)
{
	const uint64_t position = replay->segment->position + replay->confirmed;

	if (replay->noted == replay->confirmed)
		return 0;
	replay->noted = replay->confirmed;
	replay->last_tsc = latest_tsc(replay);
	replay->psb_tsc = replay->last_tsc;
	if (psbs(replay).read == replay->confirmed)
		switch_window_begin(&replay->window, replay->observer, replay->ledger);
	if (replay->confirmed >= replay->released + RELEASE_STEP)
		release(replay, replay->confirmed);
	return position < replay->border ? 0 : replay->at_border(replay->border_context, position);
}

/* There is no code where the decoder stands. Positive: there is by now, since what the trace shows next tells
 * which of the kernel's patches was in force. Zero, or a negative code. */
static int find_patch(struct stream_replay *replay)
{
	struct kernel_image *kernel = replay->observer->kernel;
	const int64_t version = replay->observer->in_kernel && kernel->has_missing_ip
	                                ? kernel_image_open_at(kernel, kernel->missing_ip)
	                                : -1;
	uint32_t content;
	int status;

	if (version < 0)
		return 0;
	replay->patches.tsc_base = replay->observer->tsc_base;
	status = patch_trial_find(&replay->patches, replay->decoder, (size_t)version, !replay->resumed,
	                          &content);
	if (status <= 0)
		return status < 0 ? fatal(replay, status) : 0;
	kernel_image_choose(kernel, (size_t)version, content);
	kernel->has_missing_ip = 0;
	return 1;
}

/* From a PSB on; @bits: the decoder's status. Returns enum course or a negative code. */
static int follow(struct stream_replay *replay, int bits)
{
	for (;;) {
		struct pt_run run = {0};
		int status = bits < 0 ? 0 : reach_psb(replay);

		if (status == 0)
			status = take_events(replay, &bits);
		if (status)
			return status < 0 ? status : course_end;
		if (bits >= 0)
			status = note_psb(replay);
		if (status)
			return status < 0 ? status : course_border;
		if (bits >= 0 && !(bits & pts_eos)) {
			sideband_observer_begin_run(replay->observer);
			bits = pt_blk_run(replay->decoder, &run, sizeof(run));
			if (time_goes_back(replay, run.has_tsc != 0, run.tsc))
				bits = -pte_no_time;
			else
				status = hold(replay, &run);
			if (status < 0)
				return status;
		}
		if (bits == -pte_nomap) {
			status = find_patch(replay);
			if (status < 0)
				return status;
			if (status > 0)
				bits = pt_blk_retry(replay->decoder);
		}
		if (bits == -pte_eos || (bits >= 0 && (bits & pts_eos)))
			return course_end;
		if (is_fatal(bits))
			return fatal(replay, bits);
		if (bits < 0) {
			status = lose_way(replay, bits);
			return status < 0 ? status : course_lost;
		}
	}
}

/* The flow is known again from @offset on. */
static void begin_again(struct stream_replay *replay, uint64_t offset)
{
	replay->confirmed = offset;
	replay->last_ip = 0;
	sideband_observer_lose_way(replay->observer);
	end_gap(replay, offset);
}

/* Goes to the next PSB. Positive: it belongs to the next segment, or there is none. */
static int synchronise(struct stream_replay *replay, int *bits)
{
	for (;;) {
		if (replay->retry == UINT64_MAX)
			*bits = pt_blk_sync_forward(replay->decoder);
		else
			*bits = pt_blk_sync_set(replay->decoder, replay->retry);
		replay->retry = UINT64_MAX;
		if (*bits == -pte_eos)
			return 1;
		if (*bits >= 0)
			break;
		if (is_fatal(*bits))
			return fatal(replay, *bits);
		if (!replay->in_gap || replay->gap.reason == sb_gap_no_sync) {
			struct sb_gap gap = gap_here(replay, sb_gap_bad_trace, replay->accounted);

			gap_explain(&gap, replay, *bits);
			replay->gap = gap;
			replay->in_gap = 1;
		}
	}
	if (psbs(replay).read >= replay->segment->stop)
		return 1;
	replay->noted = UINT64_MAX;
	replay->last_tsc = replay->psb_tsc = 0;
	begin_again(replay, psbs(replay).read);
	forget_patches(replay);
	switch_window_spoil(&replay->window);
	sideband_observer_stray(replay->observer, 0);
	replay->resumed = 0;
	return settle_gap(replay);
}

/* The first PSB at or behind @offset; UINT64_MAX: there is none. */
static uint64_t next_psb(const struct stream_replay *replay, uint64_t offset)
{
	const uint8_t *found = segment_psb(replay->segment->begin + offset, replay->segment->end);

	return found ? (uint64_t)(found - replay->segment->begin) : UINT64_MAX;
}

/* Goes on at the next address that the trace tells, or at the next PSB. As synchronise(). */
static int resume(struct stream_replay *replay, int *bits)
{
	const uint64_t from = read_offset(replay);

	*bits = replay->resume == gap_resume_whole ? pt_blk_resync_whole(replay->decoder)
	                                           : pt_blk_resync(replay->decoder);
	if (is_fatal(*bits))
		return fatal(replay, *bits);
	/* A PSB is as good a place as any, even where tracing is off. */
	if (psbs(replay).read > from) {
		replay->retry = next_psb(replay, from);
		return synchronise(replay, bits);
	}
	if (*bits == -pte_eos)
		return 1;
	if (*bits < 0)
		return synchronise(replay, bits);
	begin_again(replay, read_offset(replay));
	if (is_entered_within(ahead(replay), from, read_offset(replay)))
		sideband_observer_stray(replay->observer, 1);
	if (replay->observer->asks_cr3)
		sideband_observer_paging(replay->observer,
		                         cr3_before(ahead(replay), read_offset(replay), &replay->paging));
	replay->noted = replay->confirmed;
	replay->resumed = 1;
	return 0;
}

/* Returns enum course or a negative code. */
static int decode(struct stream_replay *replay)
{
	for (;;) {
		int bits, status;

		forget_missing_code(replay);
		status =
		        replay->resume == gap_resume_psb ? synchronise(replay, &bits) : resume(replay, &bits);
		replay->resume = gap_resume_psb;
		if (status)
			return status < 0 ? status : course_end;
		status = follow(replay, bits);
		if (status != course_lost)
			return status;
	}
}

/* The rest of the segment: the trace's end, or the PSB where the next segment begins. */
static int finish(struct stream_replay *replay)
{
	int status = 0;

	/* What came behind the last gap is nothing. */
	if (replay->in_gap && !ledger_holds(replay->ledger))
		end_gap(replay, replay->segment->stop);
	status = confirm(replay);
	return status < 0 ? status : account_to(replay, replay->segment->stop);
}

/* Positive: what is left belongs to whoever began at the border. */
static int decode_and_finish(struct stream_replay *replay)
{
	const int status = decode(replay);

	if (status >= 0)
		release(replay, status == course_end ? replay->segment->stop : replay->confirmed);
	if (status == course_end)
		return finish(replay);
	if (status == course_border) {
		const int confirmed = confirm(replay);

		return confirmed < 0 ? confirmed : 1;
	}
	return status;
}

static void begin_at(struct stream_replay *replay, const struct sb_segment *segment, uint64_t offset)
{
	replay->segment = segment;
	replay->accounted = replay->confirmed = replay->released = offset;
	replay->noted = UINT64_MAX;
	replay->last_tsc = replay->psb_tsc = 0;
	replay->in_gap = replay->resumed = 0;
	replay->paging.offset = UINT64_MAX;
	switch_window_spoil(&replay->window);
	replay->resume = gap_resume_psb;
	sideband_observer_begin_buffer(replay->observer);
}

static int open_decoder(struct stream_replay *replay)
{
	const struct sb_segment *segment = replay->segment;
	struct pt_config config = *replay->config;
	int status;

	forget_ahead(replay);
	replay->begin = segment->begin;
	replay->end = segment->end;
	replay->position = segment->position;
	/* What it has learnt of the code stays. */
	if (replay->decoder) {
		status = pt_blk_set_buffer(replay->decoder, segment->begin, segment->end);
		return status < 0 ? fatal(replay, status) : 0;
	}
	/* The decoder only reads. */
	config.begin = (uint8_t *)(uintptr_t)segment->begin;
	config.end = (uint8_t *)(uintptr_t)segment->end;
	replay->decoder = pt_blk_alloc_decoder(&config);
	if (!replay->decoder)
		return sb_error_set(replay->err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	ledger_renumber(replay->ledger);
	/* Nobody wants the flow, and the kernel is not looked for in it. */
	replay->counts = !replay->ledger->sink->flow && !replay->watch.ip;
	pt_blk_set_run_counts(replay->decoder, replay->counts);
	/* Nor does it matter when, as long as nothing changes in the meantime that no tick tells. */
	pt_blk_set_run_events(replay->decoder, replay->counts && !replay->observer->kernel &&
	                                               !ledger_asks_time(replay->ledger));
	status = sideband_observer_watch(replay->observer, replay->decoder);
	return status < 0 ? fatal(replay, status) : 0;
}

int stream_replay_move(struct stream_replay *replay, const struct observed_schedule *schedule)
{
	static const uint8_t nothing[1];
	int status;

	/* What it decoded last may be gone. */
	status = pt_blk_set_buffer(replay->decoder, nothing, nothing);
	if (status == 0)
		status = sideband_observer_move(replay->observer, schedule);
	replay->begin = replay->end = NULL;
	replay->last_ip = 0;
	replay->border = UINT64_MAX;
	return status < 0 ? sb_error_set(replay->err, -sbe_nomem, NULL, UINT64_MAX, "out of memory") : 0;
}

int stream_replay_segment(struct stream_replay *replay, const struct sb_segment *segment,
                          enum sb_gap_reason before)
{
	int status;

	begin_at(replay, segment, 0);
	replay->retry = UINT64_MAX;
	status = open_decoder(replay);
	if (status == 0 && before != sb_gap_none) {
		replay->gap = gap_here(replay, before, 0);
		replay->in_gap = 1;
	}
	return status < 0 ? status : decode_and_finish(replay);
}

int stream_replay_from(struct stream_replay *replay, const struct sb_segment *segment, uint64_t offset)
{
	int status = 0;

	begin_at(replay, segment, offset);
	replay->retry = offset;
	if (!replay->decoder || replay->begin != segment->begin || replay->end != segment->end ||
	    replay->position != segment->position)
		status = open_decoder(replay);
	if (status < 0)
		return status;
	status = sideband_observer_jump(replay->observer);
	return status < 0 ? fatal(replay, status) : decode_and_finish(replay);
}
