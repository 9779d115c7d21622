/* session.c - a replay from a recording to the account; see sb/replay.h.
 *
 * Streams one after the other, in the order of their CPUs; each moves along the model on its own, and they
 * share the images.
 */
#include <sb/replay.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sb/binary.h>

#include "replay/stream_replay.h"

/* Images and mappings in them: some 200 bytes each. */
enum { IMAGE_PARTS_MAX = 1 << 20 };

struct sb_session {
	const struct sb_perfdata *perfdata;
	struct sb_replay_options options; /* its arrays are owned */
	struct sb_system *system;
	struct sb_resolver *resolver;
	struct image_builder images;
	struct ledger ledger;
	struct pt_config config;
	int ran;
};

/* ---- Opening ---------------------------------------------------------------------------------- */

static int copy_numbers(const int32_t **copy, const int32_t *numbers, size_t count)
{
	int32_t *owned;

	*copy = NULL;
	if (!count)
		return 0;
	owned = reallocarray(NULL, count, sizeof(*owned));
	if (!owned)
		return -sbe_nomem;
	memcpy(owned, numbers, count * sizeof(*owned));
	*copy = owned;
	return 0;
}

/* Takes what the caller's version of the options has. Roots are not kept: the resolver copies them. */
static int take_options(struct sb_session *session, const struct sb_replay_options *options)
{
	struct sb_replay_options given = {0};
	int status;

	if (options)
		memcpy(&given, options, options->size < sizeof(given) ? options->size : sizeof(given));
	session->options = given;
	session->options.root = NULL;
	session->options.nroots = 0;
	status = copy_numbers(&session->options.pid, given.pid, given.npids);
	if (status == 0)
		status = copy_numbers(&session->options.cpu, given.cpu, given.ncpus);
	return status;
}

static int open_parts(struct sb_session *session, const struct sb_replay_options *options,
                      struct sb_error *err)
{
	int status;

	status = sb_system_build(&session->system, session->perfdata, err);
	if (status < 0)
		return status;
	status = sb_resolver_new(&session->resolver, options ? options->root : NULL,
	                         options ? options->nroots : 0, session->options.no_host_root, err);
	if (status < 0)
		return status;
	return image_builder_init(&session->images, session->resolver, sb_system_nepochs(session->system),
	                          IMAGE_PARTS_MAX, err);
}

int sb_session_open(struct sb_session **result, const struct sb_perfdata *perfdata,
                    const struct sb_replay_options *options, struct sb_error *err)
{
	struct sb_session *session;
	int status;

	if (!result || !perfdata || (options && options->size < sizeof(options->size)))
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_session_open: no recording");
	session = calloc(1, sizeof(*session));
	if (!session)
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	session->perfdata = perfdata;
	sb_trace_config(&session->config, sb_perfdata_info(perfdata));
	status = take_options(session, options);
	if (status < 0)
		status = sb_error_set(err, status, NULL, UINT64_MAX, "out of memory");
	else
		status = open_parts(session, options, err);
	if (status < 0) {
		sb_session_close(session);
		return status;
	}
	*result = session;
	return 0;
}

void sb_session_close(struct sb_session *session)
{
	if (!session)
		return;
	ledger_fini(&session->ledger);
	if (session->images.sections)
		image_builder_fini(&session->images);
	sb_resolver_free(session->resolver);
	sb_system_free(session->system);
	free((void *)(uintptr_t)session->options.pid);
	free((void *)(uintptr_t)session->options.cpu);
	free(session);
}

/* ---- Running ---------------------------------------------------------------------------------- */

static int is_wanted(const struct sb_replay_options *options, int32_t cpu)
{
	for (size_t i = 0; i < options->ncpus; ++i)
		if (options->cpu[i] == cpu)
			return 1;
	return !options->ncpus;
}

static uint64_t missing_bytes(const struct sb_aux_stream *stream)
{
	uint64_t missing = 0;

	for (size_t i = 0; i < stream->nchunks; ++i)
		missing += stream->chunk[i].missing;
	return missing;
}

static int whole_gap(struct sb_session *session, const struct sb_aux_stream *stream,
                     enum sb_gap_reason reason, uint64_t offset, uint64_t bytes, const char *detail)
{
	struct sb_gap gap = {
	        .reason = reason, .cpu = stream->cpu, .pid = -1, .tid = -1, .offset = offset, .bytes = bytes};

	snprintf(gap.detail, sizeof(gap.detail), "%s", detail);
	return ledger_gap(&session->ledger, &gap);
}

static int replay_segments(struct sb_session *session, struct segment_cutter *cutter,
                           struct stream_replay *replay)
{
	struct sb_segment segment;
	int first = 1, status;

	while ((status = segment_next(cutter, &segment)) > 0) {
		enum sb_gap_reason before = sb_gap_none;

		if (segment.fresh)
			before = first ? sb_gap_no_sync : sb_gap_truncated;
		first = 0;
		status = stream_replay_segment(replay, &segment, before);
		if (status < 0)
			return status;
	}
	return status < 0 ? status : ledger_decoded(&session->ledger, cutter->duplicate);
}

/* Places that the kernel flagged: how much is missing there, nobody knows. */
static int report_flags(struct sb_session *session, const struct sb_aux_stream *stream,
                        const struct sb_aux_flag *flag, size_t nflags)
{
	int status = 0;

	for (size_t i = 0; i < nflags && status == 0; ++i)
		status = whole_gap(session, stream, sb_gap_truncated, flag[i].aux_offset + flag[i].aux_size,
		                   0, "the kernel could not keep up: trace behind this was dropped");
	return status;
}

/* A stream of a thread is that thread's; a stream of a CPU follows its schedule. */
static const struct sb_sched *schedule_of(const struct sb_session *session,
                                          const struct sb_aux_stream *stream, struct sb_sched *fixed,
                                          size_t *count)
{
	if (stream->cpu >= 0 || stream->tid < 0)
		return sb_system_schedule(session->system, stream->cpu, count);
	fixed->time = 0;
	fixed->tid = stream->tid;
	fixed->pid = sb_system_thread_pid(session->system, stream->tid);
	*count = 1;
	return fixed;
}

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

static int replay_stream(struct sb_session *session, const struct sb_aux_stream *stream, struct sb_error *err)
{
	struct sideband_observer observer;
	struct segment_cutter cutter;
	struct stream_replay replay;
	struct sb_sched fixed;
	const struct sb_sched *sched;
	const struct sb_aux_flag *flag;
	size_t nscheds, nflags;
	int status;

	sched = schedule_of(session, stream, &fixed, &nscheds);
	flag = sb_system_aux_flags(session->system, stream->cpu, &nflags);
	sideband_observer_init(&observer, session->system, &sb_perfdata_info(session->perfdata)->clock,
	                       &session->images, sched, nscheds);
	stream_replay_init(&replay, &session->config, tsc_slack(sb_perfdata_info(session->perfdata)),
	                   &session->ledger, &session->images, &observer, err);
	status = segment_cutter_init(&cutter, stream, flag, nflags);
	if (status < 0)
		return sb_error_set(err, status, NULL, UINT64_MAX, "out of memory");
	status = replay_segments(session, &cutter, &replay);
	segment_cutter_fini(&cutter);
	session->ledger.account.nswitches += observer.nswitches;
	return status < 0 ? status : report_flags(session, stream, flag, nflags);
}

static int replay_or_skip(struct sb_session *session, const struct sb_aux_stream *stream,
                          struct sb_error *err)
{
	const uint64_t missing = missing_bytes(stream);
	int status;

	ledger_begin_stream(&session->ledger, stream->cpu);
	if (!is_wanted(&session->options, stream->cpu))
		return whole_gap(session, stream, sb_gap_filtered, 0, stream->size + missing,
		                 "this CPU was not wanted");
	status = replay_stream(session, stream, err);
	if (status == 0 && missing)
		status = whole_gap(session, stream, sb_gap_truncated, stream->size, missing,
		                   "the recording ends before its AUX data do");
	return status;
}

/* A recording that ends too early may lack whole chunks and sideband: that, too, is a gap. */
static int report_damage(struct sb_session *session)
{
	const struct sb_error *damage = sb_system_damage(session->system);
	struct sb_gap gap = {.reason = sb_gap_truncated, .cpu = -1, .pid = -1, .tid = -1};

	if (!damage)
		damage = sb_perfdata_damage(session->perfdata);
	if (damage)
		sb_error_string(damage, gap.detail, sizeof(gap.detail));
	else if (sb_perfdata_info(session->perfdata)->interrupted)
		snprintf(gap.detail, sizeof(gap.detail), "the recording was interrupted");
	else
		return 0;
	return ledger_gap(&session->ledger, &gap);
}

static int run(struct sb_session *session, struct sb_error *err)
{
	const struct sb_aux_stream *stream;
	size_t count;
	int status;

	stream = sb_perfdata_streams(session->perfdata, &count);
	for (size_t i = 0; i < count; ++i)
		session->ledger.account.bytes_total += stream[i].size + missing_bytes(&stream[i]);
	status = report_damage(session);
	for (size_t i = 0; i < count && status == 0; ++i)
		status = replay_or_skip(session, &stream[i], err);
	return status < 0 ? status : ledger_complete(&session->ledger);
}

int sb_session_run(struct sb_session *session, const struct sb_sink *sink, struct sb_error *err)
{
	static const struct sb_sink nobody;
	int status, finished;

	if (!session || session->ran)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX,
		                    "sb_session_run: a session runs once");
	session->ran = 1;
	ledger_init(&session->ledger, sink ? sink : &nobody, &session->options);
	session->ledger.account.nrecords =
	        sb_system_nrecords(session->system, &session->ledger.account.nrecords_skipped);
	if (err)
		*err = (struct sb_error){0};
	status = run(session, err);
	finished = ledger_finish(&session->ledger, session->system);
	if (status == 0)
		status = finished;
	if (status == -sbe_nomem && err && !err->code)
		sb_error_set(err, status, NULL, UINT64_MAX, "out of memory");
	return status;
}

const struct sb_account *sb_session_account(const struct sb_session *session)
{
	return session ? &session->ledger.account : NULL;
}
