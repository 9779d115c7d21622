/* walker.c - see walker.h. */
#include "replay/walker.h"

#include <stdio.h>
#include <string.h>

#include "system/system.h"

int walker_init(struct walker *walker, const struct replay_world *world, struct ledger *ledger, size_t nparts,
                struct sb_error *err)
{
	*walker = (struct walker){.world = world, .ledger = ledger, .err = err};
	filter_memory_init(&walker->memory);
	trial_init(&walker->trial, &walker->images);
	if (world->traces_kernel && kernel_image_init(&walker->kernel, world->kernel, world->sections) < 0)
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	if (image_builder_init(&walker->images, world->resolver, world->sections,
	                       sb_system_nepochs(world->system), nparts, err) < 0)
		return -sbe_nomem;
	walker->images.system = world->system;
	walker->images.lost = &world->evidence->maps;
	return 0;
}

static void close_stream(struct walker *walker)
{
	if (!walker->stream)
		return;
	segment_cutter_fini(&walker->cutter);
	walker->stream = NULL;
}

void walker_fini(struct walker *walker)
{
	close_stream(walker);
	stream_replay_fini(&walker->replay);
	trial_fini(&walker->trial);
	image_builder_fini(&walker->images);
	kernel_image_fini(&walker->kernel);
	filter_memory_fini(&walker->memory);
}

/* A stream of a thread is that thread's; a stream of a CPU follows its schedule. */
static struct observed_schedule schedule_of(struct walker *walker, const struct sb_aux_stream *stream)
{
	const struct sb_system *system = walker->world->system;
	struct observed_schedule schedule = {.sched = &walker->fixed, .nscheds = 1, .is_whole = 1};

	if (stream->cpu >= 0 || stream->tid < 0) {
		schedule.sched =
		        system_schedule_in_use(system, stream->cpu, &schedule.nscheds, &schedule.use);
		schedule.is_whole = system_schedule_is_whole(system, stream->cpu);
		schedule.losses = system_switch_losses(system, stream->cpu);
		return schedule;
	}
	walker->fixed = (struct sb_sched){
	        .tid = stream->tid,
	        .pid = sb_system_thread_pid(system, stream->tid),
	};
	return schedule;
}

/* The decoder keeps what it has learnt of the code, whose images are the same on all CPUs. */
static int begin_stream(struct walker *walker, const struct observed_schedule *schedule)
{
	const struct replay_world *world = walker->world;
	const struct sb_perfdata_info *info = sb_perfdata_info(world->perfdata);
	const struct sideband_sources sources = {
	        .system = world->system,
	        .clock = &info->clock,
	        .images = &walker->images,
	        .filter = world->filter,
	        .memory = &walker->memory,
	        .kernel = world->traces_kernel ? &walker->kernel : NULL,
	        .evidence = world->evidence,
	        .trial = &walker->trial,
	        .slack = stream_replay_slack_ns(info),
	        .in_steps = !info->pt_mtc || !info->pt_cyc,
	        .is_coarse = !info->pt_mtc,
	        .is_late = !info->pt_cyc && !world->traces_kernel,
	        .without = world->options->without_evidence,
	};
	int status;

	if (walker->replay.decoder)
		return stream_replay_move(&walker->replay, schedule);
	sideband_observer_init(&walker->observer, &sources, schedule);
	stream_replay_fini(&walker->replay);
	status = stream_replay_init(&walker->replay, world->perfdata, &world->config, walker->ledger,
	                            &walker->images, &walker->observer, walker->err);
	walker->replay.jit = world->jit;
	return status;
}

int walker_open(struct walker *walker, const struct sb_aux_stream *stream)
{
	const struct replay_world *world = walker->world;
	struct observed_schedule schedule;
	int status;

	close_stream(walker);
	walker->flag = sb_system_stream_flags(world->system, stream, &walker->nflags);
	status = segment_cutter_init(&walker->cutter, stream, walker->flag, walker->nflags);
	if (status < 0)
		return sb_error_set(walker->err, status, NULL, UINT64_MAX, "out of memory");
	walker->cutter.perfdata = world->perfdata;
	walker->stream = stream;
	schedule = schedule_of(walker, stream);
	status = begin_stream(walker, &schedule);
	if (status < 0)
		return status;
	ledger_begin_stream(walker->ledger, stream->cpu);
	return 0;
}

static int is_wanted(const struct sb_replay_options *options, int32_t cpu)
{
	for (size_t i = 0; i < options->ncpus; ++i)
		if (options->cpu[i] == cpu)
			return 1;
	return !options->ncpus;
}

uint64_t stream_missing_bytes(const struct sb_aux_stream *stream)
{
	uint64_t missing = 0;

	for (size_t i = 0; i < stream->nchunks; ++i)
		missing += stream->chunk[i].missing;
	return missing;
}

static int whole_gap(struct walker *walker, enum sb_gap_reason reason, uint64_t offset, uint64_t bytes,
                     const char *detail)
{
	struct sb_gap gap = {.reason = reason,
	                     .cpu = walker->stream->cpu,
	                     .pid = -1,
	                     .tid = -1,
	                     .offset = offset,
	                     .bytes = bytes};

	snprintf(gap.detail, sizeof(gap.detail), "%s", detail);
	return ledger_gap(walker->ledger, &gap);
}

/* From the cutter's place on. Zero: up to the stream's end. */
static int replay_segments(struct walker *walker, int first)
{
	struct sb_segment *segment = &walker->segment;
	int status;

	while ((status = segment_next(&walker->cutter, segment)) > 0) {
		enum sb_gap_reason before = sb_gap_none;

		if (segment->fresh)
			before = first ? sb_gap_no_sync : sb_gap_truncated;
		first = 0;
		status = stream_replay_segment(&walker->replay, segment, before);
		if (status)
			return status;
	}
	return status;
}

/* Places that the kernel flagged: how much is missing there, nobody knows. */
static int report_flags(struct walker *walker)
{
	int status = 0;

	for (size_t i = 0; i < walker->nflags && status == 0; ++i)
		status = whole_gap(walker, sb_gap_truncated,
		                   walker->flag[i].aux_offset + walker->flag[i].aux_size, 0,
		                   "the kernel could not keep up: trace behind this was dropped");
	return status;
}

/* What is told of the stream as a whole. */
static int finish(struct walker *walker)
{
	const uint64_t missing = stream_missing_bytes(walker->stream);
	int status = ledger_decoded(walker->ledger, walker->cutter.duplicate);

	walker->finishing = 1;

	if (status == 0)
		status = report_flags(walker);
	if (status == 0 && missing)
		status = whole_gap(walker, sb_gap_truncated, walker->stream->size, missing,
		                   "the recording ends before its AUX data do");
	walker->finishing = 0;
	return status;
}

void walker_settle(struct walker *walker)
{
	struct sb_account *account = &walker->ledger->account;

	for (int i = 0; i < sb_switch_evidences; ++i) {
		account->nswitches += walker->observer.track.nswitches[i];
		account->switches[i] += walker->observer.track.nswitches[i];
		walker->observer.track.nswitches[i] = 0;
	}
}

int walker_run(struct walker *walker)
{
	const struct sb_aux_stream *stream = walker->stream;
	int status;

	if (!is_wanted(walker->world->options, stream->cpu))
		return whole_gap(walker, sb_gap_filtered, 0, stream->size + stream_missing_bytes(stream),
		                 "this CPU was not wanted");
	status = replay_segments(walker, 1);
	walker_settle(walker);
	return status == 0 ? finish(walker) : status;
}

int walker_run_from(struct walker *walker, const struct stream_place *place)
{
	struct sb_segment *segment = &walker->segment;
	int status;

	ledger_begin_stream(walker->ledger, walker->stream->cpu);
	status = segment_seek(&walker->cutter, place->piece);
	if (status == 0)
		status = segment_next(&walker->cutter, segment);
	if (status > 0)
		status = stream_replay_from(&walker->replay, segment, place->position - segment->position);
	if (status == 0)
		status = replay_segments(walker, 0);
	walker_settle(walker);
	return status == 0 ? finish(walker) : status;
}
