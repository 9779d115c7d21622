/* shard_plan_make.c - see shard_plan.h: cutting. No trace is decoded: each recording's sideband is read once,
 * and PSBs are looked for where the line of all streams of all recordings is to be cut into equal lengths. */
#include "job/shard_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sb/store.h>

#include "interrupt.h"
#include "job/job_inputs.h"
#include "job/job_session.h"
#include "job/plan_checkpoints.h"
#include "job/recording_files.h"
#include "tell.h"

enum {
	shard_size = 128 << 20, /* bytes of trace in a shard, when nobody says how many shards */
	step_least = 4 << 10,
	step_most = 512 << 10,
	steps_per_shard = 8,
};

struct making {
	struct shard_plan plan;
	const struct job *job;
	const char *command;
	struct job_inputs inputs;
	uint64_t *bytes;   /* owned; of trace to be decoded, of each recording */
	uint64_t total;    /* of all */
	uint64_t nshards;  /* wanted; 0: as many as come of .size */
	uint64_t size;     /* bytes of trace in a shard */
	uint64_t position; /* in the line of all that is to be decoded */
	uint64_t cut;      /* the next shard begins there, or behind it */
	uint64_t ncuts;    /* up to that one */
	struct plan_checkpoints checkpoints;
};

static int out_of_memory(struct sb_error *err)
{
	return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
}

/* ---- Opening ---------------------------------------------------------------------------------- */

static bool is_wanted(const struct job *job, int32_t cpu)
{
	for (size_t i = 0; i < job->filter.cpu.count; i++)
		if (job->filter.cpu.value[i] == cpu)
			return true;
	return !job->filter.cpu.count;
}

/* How much there is to decode in a recording: streams of CPUs that are not wanted take no time. */
static uint64_t bytes_of(const struct job *job, const struct sb_perfdata *perfdata)
{
	const struct sb_aux_stream *stream;
	uint64_t bytes = 0;
	size_t count;

	stream = sb_perfdata_streams(perfdata, &count);
	for (size_t i = 0; i < count; i++)
		bytes += is_wanted(job, stream[i].cpu) ? stream[i].size : 0;
	return bytes;
}

/* ---- Cutting ---------------------------------------------------------------------------------- */

static int add_part(struct making *making, struct plan_recording *recording, struct sb_span span)
{
	struct plan_part *part = reallocarray(recording->part, recording->nparts + 1, sizeof(*part));

	if (!part)
		return -sbe_nomem;
	recording->part = part;
	part[recording->nparts++] = (struct plan_part){making->plan.nshards - 1, span};
	return 0;
}

/* The place of the next cut, UINT64_MAX: there is none. */
static void next_cut(struct making *making)
{
	const uint64_t share = making->total / making->nshards, rest = making->total % making->nshards;

	do {
		making->ncuts++;
		making->cut = making->ncuts >= making->nshards
		                      ? UINT64_MAX
		                      : share * making->ncuts + rest * making->ncuts / making->nshards;
	} while (making->cut <= making->position && making->cut != UINT64_MAX);
}

/* Another shard begins where a stream does, when one should have begun by then. */
static void begin_stream(struct making *making)
{
	if (making->plan.nshards && making->position < making->cut)
		return;
	making->plan.nshards++;
	next_cut(making);
}

static int cut_stream(struct making *making, struct plan_recording *recording, struct sb_cutter *cutter,
                      size_t index, uint64_t size)
{
	const uint64_t begin = making->position;
	uint64_t from = 0, to;
	int code = 0;

	while (!code && making->cut < begin + size) {
		const uint64_t wanted = making->cut - begin;
		const int found = sb_cutter_cut(cutter, index, wanted > from ? wanted : from + 1, &to);

		if (found <= 0) {
			code = found;
			break;
		}
		code = add_part(making, recording, (struct sb_span){index, from, to});
		from = to;
		making->position = begin + to;
		making->plan.nshards++;
		next_cut(making);
	}
	making->position = begin + size;
	return code ? code : add_part(making, recording, (struct sb_span){index, from, UINT64_MAX});
}

static int cut_recording(struct making *making, struct plan_recording *recording,
                         const struct job_session *opened, struct sb_error *err)
{
	const struct sb_replay_options options = {.size = sizeof(options),
	                                          .cpu = making->job->filter.cpu.value,
	                                          .ncpus = making->job->filter.cpu.count};
	const struct sb_aux_stream *stream;
	struct sb_cutter *cutter = NULL;
	size_t count;
	int code;

	stream = sb_perfdata_streams(opened->perfdata, &count);
	code = sb_cutter_new(&cutter, opened->perfdata, sb_session_system(opened->session), &options, err);
	for (size_t i = 0; i < count && !code; i++) {
		begin_stream(making);
		code = cut_stream(making, recording, cutter, i,
		                  is_wanted(making->job, stream[i].cpu) ? stream[i].size : 0);
	}
	sb_cutter_free(cutter);
	if (!code)
		code = plan_checkpoints_add(&making->checkpoints, opened, &recording->checkpoint, err);
	if (code)
		sb_perfdata_failure(opened->perfdata, err);
	else
		code = job_session_check(opened, err);
	if (code && !err->code)
		return out_of_memory(err);
	return code;
}

/* ---- The plan --------------------------------------------------------------------------------- */

/* What cannot be replayed is known now, not when all others are done. */
static int open_one(const struct making *making, size_t index, struct job_session *opened, json_t **files,
                    struct sb_error *err)
{
	const char *path = making->inputs.path[index];
	int code;

	if (!strcmp(path, "-"))
		return sb_error_set(err, -sbe_unsupported, NULL, UINT64_MAX,
		                    "standard input cannot be read by each shard again: name a file");
	if (!job_is_url(path)) {
		*files = recording_files(path, err);
		return *files ? job_session_open(opened, making->job, path, err) : err->code;
	}
	code = job_session_open(opened, making->job, path, err);
	if (!code)
		*files = json_pack("{s:o}", "", fetch_value(opened->fetch));
	return code;
}

static int pass_over(struct making *making, size_t index, const struct sb_error *failure,
                     struct sb_error *err)
{
	char text[sizeof(failure->file) + sizeof(failure->text) + 64];

	if (making->job->on_error != job_skip || failure->code == -sbe_nomem || interrupt_came()) {
		*err = *failure;
		return failure->code;
	}
	sb_error_string(failure, text, sizeof(text));
	tell(making->command, "passed over: ", failure);
	free(making->plan.recording[index].error);
	making->plan.recording[index].error = strdup(text);
	return making->plan.recording[index].error ? 0 : out_of_memory(err);
}

/* With one recording, what was opened to measure it is what is cut. */
static int measure(struct making *making, struct job_session *only, struct sb_error *err)
{
	int code = 0;

	for (size_t i = 0; i < making->inputs.count && !code; i++) {
		struct job_session opened = {0};
		struct sb_error failure = {0};
		struct plan_recording *recording = &making->plan.recording[i];

		recording->path = strdup(making->inputs.path[i]);
		making->plan.nrecordings++;
		if (!recording->path)
			return out_of_memory(err);
		if (open_one(making, i, &opened, &recording->files, &failure))
			code = pass_over(making, i, &failure, err);
		else
			making->bytes[i] = bytes_of(making->job, opened.perfdata);
		making->total += making->bytes[i];
		if (making->inputs.count == 1)
			*only = opened;
		else
			job_session_close(&opened);
	}
	return code;
}

static int cut_all(struct making *making, struct job_session *only, struct sb_error *err)
{
	int code = 0;

	for (size_t i = 0; i < making->inputs.count && !code; i++) {
		struct job_session opened = *only;
		struct plan_recording *recording = &making->plan.recording[i];

		*only = (struct job_session){0};
		if (recording->error)
			continue;
		/* It may have become another one since it was measured. */
		if (!opened.session) {
			opened.expected = json_object_get(recording->files, "");
			code = job_session_open(&opened, making->job, recording->path, err);
		}
		if (!code)
			code = cut_recording(making, recording, &opened, err);
		job_session_close(&opened);
	}
	return code;
}

/* Many, so that a result can be taken up soon behind a seam that did not fit; few, as each costs something.
 */
static uint64_t step_of(const struct making *making)
{
	const uint64_t step = making->total / making->nshards / steps_per_shard;

	return step < step_least ? step_least : step > step_most ? step_most : step;
}

static int make(struct making *making, struct sb_error *err)
{
	struct job_session only = {0};
	int code = job_inputs_find(making->job, &making->inputs, err);

	if (code)
		return code;
	making->plan.recording = calloc(making->inputs.count + 1, sizeof(*making->plan.recording));
	making->bytes = calloc(making->inputs.count + 1, sizeof(*making->bytes));
	making->plan.directory = getcwd(NULL, 0);
	if (!making->plan.recording || !making->bytes || !making->plan.directory)
		return out_of_memory(err);
	code = measure(making, &only, err);
	if (!making->nshards)
		making->nshards = making->total / making->size + 1;
	if (making->nshards > shards_most)
		making->nshards = shards_most;
	making->plan.step = step_of(making);
	if (!code)
		code = cut_all(making, &only, err);
	job_session_close(&only);
	if (!code && !making->plan.nshards)
		code = sb_error_set(err, -sbe_not_found, NULL, UINT64_MAX,
		                    "there is no trace in any recording: nothing to do in shards");
	return code;
}

int shard_plan_make(struct job *job, const char *command, size_t nshards, uint64_t size, const char *path,
                    size_t *made, struct sb_error *err)
{
	struct making making = {
	        .job = job, .command = command, .nshards = nshards, .size = size ? size : shard_size};
	struct stat st;
	int code;

	making.plan.checkpoints = shard_plan_checkpoints(path);
	/* Beside a pipe, there is no place. */
	if (stat(path, &st) || S_ISREG(st.st_mode))
		making.checkpoints.path = making.plan.checkpoints;
	code = making.plan.checkpoints ? make(&making, err) : out_of_memory(err);
	if (!code)
		code = plan_checkpoints_commit(&making.checkpoints, err);
	if (!code) {
		making.plan.path = strdup(path);
		making.plan.job = *job;
		code = making.plan.path ? shard_plan_write(&making.plan, err) : out_of_memory(err);
		making.plan.job = (struct job){0};
	}
	*made = making.plan.nshards;
	plan_checkpoints_close(&making.checkpoints);
	job_inputs_free(&making.inputs);
	free(making.bytes);
	shard_plan_free(&making.plan);
	return code;
}
