/* job_run.c - see job_run.h. The run record is written anew behind each recording: after a crash it has all
 * that came to its end. */
#include "job/job_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "commands.h"
#include "heap.h"
#include "interrupt.h"
#include "job/job_inputs.h"
#include "job/job_keys.h"
#include "job/job_parts.h"
#include "job/job_replay.h"
#include "job/run_record.h"
#include "job/shard_merge.h"
#include "output.h"
#include "tell.h"

struct run {
	const struct job *job;
	const struct job_run_options *options;
	struct job_inputs inputs;
	struct output_limit limit;
	char *record_path; /* NULL: there is none */
	json_t *record;
	json_t *before; /* the record of a run that is resumed, or NULL */
	bool stopped;   /* nobody reads any more */
	int status;
};

static void raise_status(struct run *run, int status)
{
	/* What went wrong counts more than gaps. */
	if (run->status == exit_fine || status == exit_error)
		run->status = status;
}

/* ---- Before ----------------------------------------------------------------------------------- */

/* Private memory that can be written: what recordings are mapped to does not count, what is only reserved
 * does. */
static int limit_memory(const struct job *job, struct sb_error *err)
{
	const struct rlimit limit = {job->limits.memory, job->limits.memory};

	if (!setrlimit(RLIMIT_DATA, &limit))
		return 0;
	return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX,
	                    "memory cannot be limited to %llu bytes: there is a lower limit already",
	                    (unsigned long long)job->limits.memory);
}

int job_take_memory(const struct job *job, struct sb_error *err)
{
	const long ncpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (job->limits.memory)
		return limit_memory(job, err);
	heap_use_huge_pages(job->jobs ? job->jobs : ncpus > 0 ? (unsigned int)ncpus : 1);
	return 0;
}

/* What runs that were killed left behind. */
static int clean(const struct run *run, struct sb_error *err)
{
	for (size_t i = 0; i < run->inputs.count; i++) {
		char **file = job_outputs(run->job, &run->inputs, i);

		if (!file)
			return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
		for (size_t j = 0; j < run->job->nsinks; j++)
			if (file[j])
				output_clean(file[j]);
		job_outputs_free(file, run->job->nsinks);
	}
	if (run->record_path)
		output_clean(run->record_path);
	return 0;
}

/* The record of the run before, if it is one of the same job. */
static int read_before(struct run *run, struct sb_error *err)
{
	char key[64];

	if (!run->record_path)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX,
		                    "--resume: only a job that writes files has a run record");
	run->before = run_record_read(run->record_path, err);
	if (!run->before) {
		/* Killed before the first recording was done. */
		return err->code == -sbe_not_found ? 0 : err->code;
	}
	if (!run_record_differ(run->before, run->record, key, sizeof(key)))
		return 0;
	fprintf(stderr, "%s: note: all is done again, as '%s' is not the same as in %s\n",
	        run->options->command, key, run->record_path);
	json_decref(run->before);
	run->before = NULL;
	return 0;
}

static int prepare(struct run *run, struct sb_error *err)
{
	int code = job_inputs_find(run->job, &run->inputs, err);

	if (!code)
		code = run_record_path(run->job, &run->inputs, &run->record_path, err);
	if (!code && run->record_path) {
		run->record = run_record_new(run->job, err);
		code = run->record ? 0 : -sbe_io;
	}
	if (!code && run->options->resume)
		code = read_before(run, err);
	if (!code)
		code = clean(run, err);
	return code ? code : job_take_memory(run->job, err);
}

static void finish(struct run *run)
{
	job_inputs_free(&run->inputs);
	json_decref(run->record);
	json_decref(run->before);
	free(run->record_path);
}

/* ---- One recording ---------------------------------------------------------------------------- */

/* Whether the run before wrote these files from this recording, and they are still so. */
static bool is_done(const struct run *run, const char *recording, const json_t *input, char *const *file)
{
	json_t *entry = run->before ? run_record_find(run->before, recording) : NULL, *outputs;
	const char *status = json_string_value(json_object_get(entry, "status"));
	struct sb_error ignored;
	bool same;

	if (!status || strcmp(status, "finished") != 0 ||
	    !json_equal(json_object_get(entry, "input"), input) || !json_object_size(input))
		return false;
	outputs = run_record_outputs(run->job, file, &ignored);
	same = outputs && json_equal(outputs, json_object_get(entry, "outputs"));
	json_decref(outputs);
	return same;
}

static int save(struct run *run, json_t *entry, struct sb_error *err)
{
	run_record_put(run->record, entry);
	return run_record_write(run->record, run->record_path, err);
}

static const char *const end_names[] = {[job_replay_whole] = "finished",
                                        [job_replay_gaps] = "gaps",
                                        [job_replay_stopped] = "stopped",
                                        [job_replay_wrong] = "wrong account"};

/* What a recording was known by while it was decoded elsewhere; NULL: it was not. */
static json_t *planned_value(const struct run *run, size_t index)
{
	const struct shard_merge *merge = run->options->merge;

	return merge ? json_incref((json_t *)(uintptr_t)shard_merge_files(merge, index)) : NULL;
}

/* Takes @input and @account over. What has gaps that are not allowed is not finished. */
static int note_end(struct run *run, size_t index, char *const *file, json_t *input, json_t *account,
                    enum job_replay_end end, struct sb_error *err)
{
	json_t *outputs, *entry;

	if (!run->record)
		return 0;
	outputs = run_record_outputs(run->job, file, err);
	entry = json_pack("{s:o, s:s, s:o*, s:o*, s:o*, s:o*}", "recording",
	                  job_path_value(run->inputs.path[index]), "status", end_names[end], "input", input,
	                  "planned", planned_value(run, index), "account", account, "outputs", outputs);
	return outputs ? save(run, entry, err) : (json_decref(entry), -sbe_io);
}

static void note_failure(struct run *run, const char *recording, const struct sb_error *why)
{
	char text[sizeof(why->file) + sizeof(why->text) + 64];
	struct sb_error ignored;

	if (!run->record)
		return;
	sb_error_string(why, text, sizeof(text));
	save(run,
	     json_pack("{s:o, s:s, s:o}", "recording", job_path_value(recording), "status", "failed", "error",
	               json_stringn_nocheck(text, strlen(text))),
	     &ignored);
}

/* What the recording is decoded from: the results of shards, or of parts; both NULL: trace. */
struct decoded {
	struct shard_merge *merge; /* borrowed */
	size_t index;              /* of the recording in it */
	struct job_parts *parts;   /* owned */
};

static int find_decoded(struct run *run, size_t index, const json_t *input, const char *label,
                        struct decoded *decoded, struct sb_error *err)
{
	const struct job_parts_request request = {.command = run->options->command,
	                                          .job = run->job,
	                                          .recording = run->inputs.path[index],
	                                          .input = input,
	                                          .record = run->record,
	                                          .resume = run->options->resume,
	                                          .progress = run->options->progress,
	                                          .label = label,
	                                          .limit = run->job->limits.disk ? &run->limit : NULL};
	int code;

	*decoded = (struct decoded){.merge = run->options->merge, .index = index};
	if (decoded->merge || !run->record || !run->job->parts.directory)
		return 0;
	code = job_parts_make(&decoded->parts, &request, err);
	decoded->merge = decoded->parts ? job_parts_merge(decoded->parts) : NULL;
	decoded->index = 0;
	return code;
}

/* What was added up apart and does not fit together is decoded here, as a whole. */
static int replay_merged(struct job_replay_request *request, enum job_replay_end *end, json_t **account,
                         struct sb_error *err)
{
	int code = job_replay(request, end, account, err);

	if (code != -sbe_order || !request->spans)
		return code;
	tell(request->command, "warning: decoded once more, as a whole: ", err);
	*err = (struct sb_error){0};
	request->spans = NULL;
	return job_replay(request, end, account, err);
}

/* Takes @input over. */
static int replay(struct run *run, size_t index, char *const *file, json_t *input, struct sb_error *err)
{
	char label[48] = "";
	struct job_replay_request request = {.command = run->options->command,
	                                     .job = run->job,
	                                     .recording = run->inputs.path[index],
	                                     .file = file,
	                                     .limit = run->job->limits.disk ? &run->limit : NULL,
	                                     .label = label,
	                                     .progress = run->options->progress,
	                                     .is_last = run->options->ends && index + 1 == run->inputs.count};
	enum job_replay_end end = job_replay_whole;
	struct sb_span_source spans;
	struct decoded decoded;
	json_t *account = NULL;
	int code;

	if (run->inputs.count > 1)
		snprintf(label, sizeof(label), "%zu/%zu ", index + 1, run->inputs.count);
	code = find_decoded(run, index, input, label, &decoded, err);
	if (decoded.merge) {
		spans = shard_merge_source(decoded.merge, decoded.index);
		request.spans = &spans;
		request.expected = json_object_get(shard_merge_files(decoded.merge, decoded.index), "");
		request.checkpoint = shard_merge_checkpoint(decoded.merge, decoded.index);
	}
	if (!code)
		code = replay_merged(&request, &end, run->record ? &account : NULL, err);
	if (code) {
		json_decref(input);
		job_parts_close(decoded.parts, false);
		return code;
	}
	run->stopped = end == job_replay_stopped;
	if (end == job_replay_gaps)
		raise_status(run, exit_gaps);
	else if (end == job_replay_wrong)
		raise_status(run, exit_error);
	code = note_end(run, index, file, input, account, end, err);
	job_parts_close(decoded.parts, !code && !run->stopped);
	return code;
}

static int replay_one(struct run *run, size_t index, char *const *file, struct sb_error *err)
{
	const char *recording = run->inputs.path[index];
	json_t *input = NULL;

	if (run->options->merge && shard_merge_error(run->options->merge, index))
		return sb_error_set(err, -sbe_io, NULL, UINT64_MAX, "%s",
		                    shard_merge_error(run->options->merge, index));
	if (run->record) {
		/* What shards have read is not read again, unless that is asked for. */
		const bool sums = !run->options->merge || run->options->sums;

		input = sums ? run_record_input(run->job, recording, err) : NULL;
		if (sums && !input)
			return err->code;
		if (input && is_done(run, recording, input, file)) {
			json_decref(input);
			return save(run, json_incref(run_record_find(run->before, recording)), err);
		}
	}
	return replay(run, index, file, input, err);
}

/* Whether the next recording may still go well. */
static bool is_passable(const struct run *run, int code)
{
	return run->job->on_error == job_skip && code != -sbe_stop && code != -sbe_nomem && !interrupt_came();
}

static int run_one(struct run *run, size_t index, struct sb_error *err)
{
	char **file = job_outputs(run->job, &run->inputs, index);
	struct sb_error failure = {0};
	int code;

	if (!file)
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	code = replay_one(run, index, file, &failure);
	job_outputs_free(file, run->job->nsinks);
	if (!code)
		return 0;
	if (code != -sbe_stop)
		note_failure(run, run->inputs.path[index], &failure);
	if (is_passable(run, code)) {
		tell(run->options->command, "passed over: ", &failure);
		raise_status(run, exit_error);
		return 0;
	}
	*err = failure;
	return code;
}

int job_run(const struct job *job, const struct job_run_options *options, int *status, struct sb_error *err)
{
	struct run run = {.job = job, .options = options, .limit = {job->limits.disk}, .status = exit_fine};
	int code = prepare(&run, err);

	for (size_t i = 0; i < run.inputs.count && !code && !run.stopped; i++) {
		code = run_one(&run, i, err);
		/* Gaps that are not allowed are a failure, too. */
		if (!code && run.status != exit_fine && job->on_error == job_fail)
			break;
	}
	if (!code && !run.stopped && run.status == exit_fine && run.record)
		job_parts_clean(job);
	finish(&run);
	*status = run.status;
	return code;
}
