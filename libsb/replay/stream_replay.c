/* stream_replay.c - see stream_replay.h.
 *
 * The decoder is synchronised, followed to the end of the segment or to an error, and synchronised
 * again. Every byte is accounted for on the way: as decoded, or as part of the gap between an
 * error and the PSB where decoding goes on.
 */
#include "replay/stream_replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What following the flow came to. */
enum course { course_end, course_border, course_lost };

/* How much of the trace stays in memory behind the flow. */
enum { RELEASE_STEP = 256 * 1024 };

/* By how much an estimate of time may be ahead of the next TSC packet: with MTC, about one period; where only
 * cycles are counted, or nobody knows, as much as the core's frequency may change from one TSC to the next.
 */
static uint64_t tsc_slack(const struct sb_perfdata_info *info)
{
	enum { LEAST = 1 << 12, CYCLES_ALONE = 1 << 20 };

	if (info->pt_mtc && info->tsc_ctc_den && info->pt_mtc_freq < 32)
		return LEAST + ((uint64_t)info->tsc_ctc_num << info->pt_mtc_freq) / info->tsc_ctc_den;
	return info->has_pt && !info->pt_cyc ? LEAST : CYCLES_ALONE;
}

void stream_replay_init(struct stream_replay *replay, const struct sb_perfdata *perfdata,
                        const struct pt_config *config, struct ledger *ledger, struct image_builder *images,
                        struct sideband_observer *observer, struct sb_error *err)
{
	*replay = (struct stream_replay){.perfdata = perfdata,
	                                 .config = config,
	                                 .tsc_slack = tsc_slack(sb_perfdata_info(perfdata)),
	                                 .ledger = ledger,
	                                 .images = images,
	                                 .observer = observer,
	                                 .err = err,
	                                 .border = UINT64_MAX};
}

void stream_replay_fini(struct stream_replay *replay)
{
	pt_blk_free_decoder(replay->decoder);
	replay->decoder = NULL;
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
	                       .pid = replay->observer->pid,
	                       .tid = replay->observer->tid,
	                       .tsc_from = present_tsc(replay),
	                       .offset = replay->segment->aux_offset + offset};
}

/* From @offset on, nothing is decoded. */
static int open_gap(struct stream_replay *replay, const struct sb_gap *gap, uint64_t offset)
{
	int status;

	if (offset < replay->accounted)
		offset = replay->accounted;
	offset = clip(replay, offset);
	status = ledger_decoded(replay->ledger, offset - replay->accounted);
	replay->accounted = offset;
	replay->gap = *gap;
	replay->gap.offset = replay->segment->aux_offset + offset;
	replay->in_gap = 1;
	return status;
}

/* From @offset on, decoding goes on. */
static int close_gap(struct stream_replay *replay, uint64_t offset)
{
	const uint64_t end =
	        clip(replay, offset) > replay->accounted ? clip(replay, offset) : replay->accounted;
	const uint64_t bytes = end - replay->accounted;

	replay->accounted = end;
	if (!replay->in_gap)
		return ledger_decoded(replay->ledger, bytes);
	replay->in_gap = 0;
	replay->gap.bytes = bytes;
	replay->gap.tsc_to = present_tsc(replay);
	/* Trace that begins with a PSB lacks nothing. */
	if (!bytes && (replay->gap.reason == sb_gap_no_sync || replay->gap.reason == sb_gap_truncated))
		return 0;
	return ledger_gap(replay->ledger, &replay->gap);
}

/* ---- Why there is no code ----------------------------------------------------------------------- */

static void say(struct sb_gap *gap, enum sb_gap_reason reason, const char *text)
{
	gap->reason = reason;
	snprintf(gap->detail, sizeof(gap->detail), "%s", text);
}

static const char *why_unknown(const struct sideband_observer *observer)
{
	if (observer->pid == 0)
		return "the idle task has no code in user space";
	if (!observer->clock->time_mult)
		return "the recording does not say how the times of trace and records relate";
	return "no record says who ran";
}

/* What the model says about an address at which the image has nothing. */
static void explain_missing_code(const struct stream_replay *replay, struct sb_gap *gap)
{
	const struct sideband_observer *observer = replay->observer;
	const struct sb_binary *binary;
	const struct sb_map *map;

	gap->ip = replay->images->has_missing_ip ? replay->images->missing_ip : replay->last_ip;
	if (observer->pid <= 0) {
		say(gap, sb_gap_unknown_process, why_unknown(observer));
		return;
	}
	map = observer->epoch ? sb_epoch_map(observer->epoch, gap->ip) : NULL;
	if (!map || map->begin > gap->ip) {
		say(gap, sb_gap_not_mapped, "no record says what was mapped there");
		return;
	}
	if (sb_resolver_find(replay->images->resolver, map, &binary, NULL) < 0)
		say(gap, sb_gap_no_binary, map->filename);
	else if (binary->missing)
		say(gap, binary->missing, binary->detail);
	else if (gap->ip - map->begin >= binary->size)
		say(gap, sb_gap_not_mapped, "behind the end of the code in the file");
	else
		say(gap, sb_gap_no_binary, binary->path);
}

static void explain(const struct stream_replay *replay, struct sb_gap *gap, int errcode)
{
	gap->ip = replay->last_ip;
	switch (errcode) {
	case -pte_nomap:
		explain_missing_code(replay, gap);
		return;
	case -pte_bad_image:
		say(gap, sb_gap_binary_mismatch, pt_errstr(pt_errcode(errcode)));
		return;
	case -pte_no_time:
		say(gap, sb_gap_bad_trace, "time goes back");
		return;
	case -pte_bad_opc:
	case -pte_bad_packet:
	case -pte_bad_context:
		say(gap, sb_gap_bad_trace, pt_errstr(pt_errcode(errcode)));
		return;
	default:
		say(gap, sb_gap_decode_error, pt_errstr(pt_errcode(errcode)));
		return;
	}
}

/* Whether the flow up to an error of this kind is right: it ran into code that is known to be missing, or
 * the address comes straight from the trace. */
static int leaves_flow_right(const struct stream_replay *replay, const struct sb_gap *gap)
{
	switch (gap->reason) {
	case sb_gap_not_mapped:
		return replay->just_enabled && gap->ip == replay->last_ip;
	case sb_gap_no_binary:
	case sb_gap_binary_mismatch:
	case sb_gap_anonymous:
	case sb_gap_unknown_process:
		return 1;
	default:
		return 0;
	}
}

/* The decoder failed. */
static int lose_way(struct stream_replay *replay, int errcode)
{
	struct sb_gap gap = gap_here(replay, sb_gap_decode_error, 0);
	int right, status;

	explain(replay, &gap, errcode);
	right = leaves_flow_right(replay, &gap);
	status = right ? ledger_confirm(replay->ledger) : ledger_discard(replay->ledger);
	if (status < 0)
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

/* What was found is right up to the PSB that the flow has come to. Positive: the next segment begins there.
 */
static int reach_psb(struct stream_replay *replay)
{
	const uint64_t passed = psbs(replay).passed, psb = clip(replay, passed);
	const int ended = passed >= replay->segment->stop;
	int status;

	if (passed <= replay->confirmed)
		return ended;
	replay->confirmed = passed;
	replay->last_ip = 0;
	replay->just_enabled = 0;
	replay->images->has_missing_ip = 0;
	status = ledger_confirm(replay->ledger);
	if (status == 0)
		status = ledger_decoded(replay->ledger, psb - replay->accounted);
	replay->accounted = psb;
	return status < 0 ? status : ended;
}

static int note_overflow(struct stream_replay *replay)
{
	const struct sb_gap gap = gap_here(replay, sb_gap_overflow, read_offset(replay));

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

/* Fetches all events that are due. *@bits: the decoder's status. Positive: the segment ends here. */
static int take_events(struct stream_replay *replay, int *bits)
{
	while (*bits >= 0 && (*bits & pts_event_pending)) {
		/* Read ahead of the flow only when tracing is on, and then up to the event. */
		const uint64_t psb = psbs(replay).read;
		struct pt_event event;
		int status;

		if (psb >= replay->segment->stop && replay->observer->state != ptds_enabled)
			return 1;
		*bits = pt_blk_event(replay->decoder, &event, sizeof(event));
		if (*bits < 0)
			break;
		if (time_goes_back(replay, event.has_tsc, event.tsc)) {
			if (event.status_update)
				replay->retry = psb;
			*bits = -pte_no_time;
			break;
		}
		status = reach_psb(replay);
		if (event.type == ptev_enabled && !event.status_update) {
			replay->last_ip = event.variant.enabled.ip;
			replay->just_enabled = 1;
		}
		if (status == 0 && event.type == ptev_overflow)
			status = note_overflow(replay);
		if (status)
			return status;
	}
	return 0;
}

static const struct pt_run_block *last_block(const struct pt_run *run)
{
	const struct pt_run_path *path = run->path[run->npaths - 1];

	return &path->block[path->nblocks - 1];
}

/* Blocks behind the last packet may have run or not: they are left out. They are in the run's last path, of
 * which *rest becomes what is left. */
static void split_unproven(struct pt_run *run, struct pt_run_path *rest)
{
	*rest = *run->path[--run->npaths];
	run->nblocks -= rest->nblocks;
	run->ninsn -= rest->ninsn;
	while (rest->nblocks && (rest->block[rest->nblocks - 1].flags & ptrf_unproven))
		rest->ninsn -= rest->block[--rest->nblocks].ninsn;
}

static int hold_run(struct stream_replay *replay, struct ledger_place place, struct pt_run *run)
{
	int status;

	/* That paths become invalid concerns those of runs before, too. */
	if (!run->npaths)
		return ledger_hold(replay->ledger, place, run);
	place.tsc = run->has_tsc ? run->tsc | replay->observer->tsc_base : 0;
	replay->just_enabled = 0;
	if (last_block(run)->flags & ptrf_unproven) {
		struct pt_run_path rest;
		const struct pt_run_path *const path = &rest;
		struct pt_run last = *run;

		split_unproven(run, &rest);
		last.path = &path;
		last.npaths = rest.nblocks != 0;
		last.nblocks = rest.nblocks;
		last.ninsn = rest.ninsn;
		status = hold_run(replay, place, run);
		return status < 0 ? status : hold_run(replay, place, &last);
	}
	replay->last_ip = last_block(run)->end_ip;
	return ledger_hold(replay->ledger, place, run);
}

/* What was decoded is not looked at again. */
static void release(struct stream_replay *replay, uint64_t offset)
{
	const uint8_t *const begin = replay->segment->begin;

	sb_perfdata_release(replay->perfdata, begin + replay->released, begin + offset);
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
	if (replay->confirmed >= replay->released + RELEASE_STEP)
		release(replay, replay->confirmed);
	return position < replay->border ? 0 : replay->at_border(replay->border_context, position);
}

/* From a PSB on; @bits: the decoder's status. Returns enum course or a negative code. */
static int follow(struct stream_replay *replay, int bits)
{
	for (;;) {
		struct ledger_place place;
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
			/* A switch takes effect behind the run, never within. */
			place = (struct ledger_place){.pid = replay->observer->pid,
			                              .tid = replay->observer->tid};
			bits = pt_blk_run(replay->decoder, &run, sizeof(run));
			if (time_goes_back(replay, run.has_tsc != 0, run.tsc))
				bits = -pte_no_time;
			else
				status = hold_run(replay, place, &run);
			if (status < 0)
				return status;
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

			explain(replay, &gap, *bits);
			replay->gap = gap;
			replay->in_gap = 1;
		}
	}
	if (psbs(replay).read >= replay->segment->stop)
		return 1;
	replay->confirmed = psbs(replay).read;
	replay->noted = UINT64_MAX;
	replay->last_ip = 0;
	replay->just_enabled = 0;
	replay->last_tsc = 0;
	return close_gap(replay, replay->confirmed);
}

/* Returns enum course or a negative code. */
static int decode(struct stream_replay *replay)
{
	for (;;) {
		int bits, status;

		replay->images->has_missing_ip = 0;
		status = synchronise(replay, &bits);
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
	int status = ledger_confirm(replay->ledger);

	return status < 0 ? status : close_gap(replay, replay->segment->stop);
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
		const int confirmed = ledger_confirm(replay->ledger);

		return confirmed < 0 ? confirmed : 1;
	}
	return status;
}

static void begin_at(struct stream_replay *replay, const struct sb_segment *segment, uint64_t offset)
{
	replay->segment = segment;
	replay->accounted = replay->confirmed = replay->released = offset;
	replay->noted = UINT64_MAX;
	replay->last_tsc = 0;
	replay->in_gap = 0;
}

static int open_decoder(struct stream_replay *replay)
{
	const struct sb_segment *segment = replay->segment;
	struct pt_config config = *replay->config;
	int status;

	replay->begin = segment->begin;
	replay->end = segment->end;
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
	status = sideband_observer_watch(replay->observer, replay->decoder);
	return status < 0 ? fatal(replay, status) : 0;
}

int stream_replay_move(struct stream_replay *replay, const struct sb_sched *sched, size_t nscheds)
{
	static const uint8_t nothing[1];
	int status;

	/* What it decoded last may be gone. */
	status = pt_blk_set_buffer(replay->decoder, nothing, nothing);
	if (status == 0)
		status = sideband_observer_move(replay->observer, sched, nscheds);
	replay->begin = replay->end = NULL;
	replay->last_ip = 0;
	replay->just_enabled = 0;
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
	if (!replay->decoder || replay->begin != segment->begin || replay->end != segment->end)
		status = open_decoder(replay);
	if (status < 0)
		return status;
	status = sideband_observer_jump(replay->observer);
	return status < 0 ? fatal(replay, status) : decode_and_finish(replay);
}
