/* shard_plan_file.c - see shard_plan.h: the file. */
#include "job/shard_plan.h"

#include <errno.h>
#include <inttypes.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job/job_keys.h"
#include "job/job_show.h"
#include "output.h"
#include "version.h"

static const char format[] = "sbtrace plan 2";

static int out_of_memory(struct sb_error *err)
{
	return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
}

void shard_plan_free(struct shard_plan *plan)
{
	for (size_t i = 0; i < plan->nrecordings; i++) {
		struct plan_recording *recording = &plan->recording[i];

		free(recording->path);
		free(recording->error);
		free(recording->part);
		free(recording->span);
		json_decref(recording->files);
	}
	free(plan->recording);
	free(plan->path);
	free(plan->checkpoints);
	free(plan->results);
	free(plan->directory);
	job_free(&plan->job);
	*plan = (struct shard_plan){0};
}

struct sb_line shard_plan_line(const struct shard_plan *plan, size_t recording)
{
	return (struct sb_line){plan->recording[recording].span, plan->recording[recording].nparts,
	                        plan->step};
}

char *shard_plan_result(const struct shard_plan *plan, size_t shard)
{
	char *path;

	return asprintf(&path, "%s/%06zu.shard", plan->results, shard) < 0 ? NULL : path;
}

char *shard_plan_checkpoints(const char *plan)
{
	char *path;

	return asprintf(&path, "%s.checkpoints", plan) < 0 ? NULL : path;
}

/* ---- Writing ---------------------------------------------------------------------------------- */

/* Of all that is said but the hash itself. */
static int hash_of(const json_t *root, char text[65])
{
	json_t *copy = json_copy((json_t *)(uintptr_t)root);
	char *dump;
	struct sha256_ctx context;
	uint8_t digest[SHA256_DIGEST_SIZE];

	json_object_del(copy, "hash");
	dump = json_dumps(copy, JSON_COMPACT | JSON_SORT_KEYS);
	json_decref(copy);
	if (!dump)
		return -1;
	sha256_init(&context);
	sha256_update(&context, strlen(dump), (const uint8_t *)dump);
	sha256_digest(&context, sizeof(digest), digest);
	free(dump);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
	return 0;
}

/* A list for each stream: of each part whose it is, and where it begins. Every shard reads all of them, and
 * there may be thousands. */
static json_t *parts_value(const struct plan_recording *recording)
{
	json_t *streams = json_array(), *parts = NULL;

	for (size_t i = 0; i < recording->nparts; i++) {
		const struct plan_part *part = &recording->part[i];

		if (!part->span.from) {
			parts = json_array();
			json_array_append_new(streams, parts);
		}
		json_array_append_new(parts, json_integer((json_int_t)part->shard));
		json_array_append_new(parts, json_integer((json_int_t)part->span.from));
	}
	return streams;
}

/* NULL: there is none. */
static json_t *checkpoint_value(const struct job_checkpoint *checkpoint)
{
	char sum[17];

	if (!checkpoint->bytes)
		return NULL;
	snprintf(sum, sizeof(sum), "%016" PRIx64, checkpoint->sum);
	return json_pack("{s:I, s:I, s:s}", "offset", (json_int_t)checkpoint->offset, "bytes",
	                 (json_int_t)checkpoint->bytes, "sum", sum);
}

static json_t *plan_value(const struct shard_plan *plan)
{
	json_t *recordings = json_array();

	for (size_t i = 0; i < plan->nrecordings; i++) {
		const struct plan_recording *recording = &plan->recording[i];

		json_array_append_new(recordings,
		                      json_pack("{s:s, s:O*, s:s*, s:o*, s:o}", "recording", recording->path,
		                                "files", recording->files, "error", recording->error,
		                                "checkpoint", checkpoint_value(&recording->checkpoint),
		                                "parts", parts_value(recording)));
	}
	return json_pack("{s:s, s:s, s:s, s:I, s:I, s:s, s:s, s:o, s:o}", "format", format, "hash", "",
	                 "sbtrace", sbtrace_version, "shards", (json_int_t)plan->nshards, "step",
	                 (json_int_t)plan->step, "directory", plan->directory, "job_file", plan->job.path,
	                 "job", job_value(&plan->job), "recordings", recordings);
}

int shard_plan_write(struct shard_plan *plan, struct sb_error *err)
{
	json_t *root = plan_value(plan);
	char *text = NULL;
	int code = 0;

	if (!root)
		return sb_error_set(err, -sbe_invalid, plan->job.path, UINT64_MAX,
		                    "paths that are no UTF-8 text cannot be in a plan");
	if (!hash_of(root, plan->hash)) {
		json_object_set_new(root, "hash", json_string(plan->hash));
		text = json_dumps(root, JSON_INDENT(1));
	}
	json_decref(root);
	if (!text)
		return out_of_memory(err);
	code = output_text(plan->path, text, err);
	free(text);
	return code;
}

/* ---- Reading ---------------------------------------------------------------------------------- */

static int wrong(const struct shard_plan *plan, struct sb_error *err, const char *what)
{
	return sb_error_set(err, -sbe_format, plan->path, UINT64_MAX, "expected a plan: %s", what);
}

static int get_number(const json_t *value, const char *key, uint64_t most, uint64_t *number)
{
	const json_t *found = json_object_get(value, key);

	*number = (uint64_t)json_integer_value(found);
	return json_is_integer(found) && json_integer_value(found) >= 0 && *number <= most ? 0 : -1;
}

/* There may be none. */
static int read_checkpoint(struct shard_plan *plan, const json_t *value, struct job_checkpoint *checkpoint,
                           struct sb_error *err)
{
	const char *sum = json_string_value(json_object_get(value, "sum"));

	if (!value)
		return 0;
	if (get_number(value, "offset", INT64_MAX, &checkpoint->offset) ||
	    get_number(value, "bytes", INT64_MAX, &checkpoint->bytes) || !checkpoint->bytes ||
	    checkpoint->offset % checkpoint_align || !sum || strlen(sum) != 16 ||
	    strspn(sum, "0123456789abcdef") != 16)
		return wrong(plan, err, "a checkpoint with its offset, bytes and sum");
	checkpoint->sum = strtoull(sum, NULL, 16);
	checkpoint->path = plan->checkpoints;
	return 0;
}

/* The number that is number @index of a list. */
static int number_at(const json_t *list, size_t index, uint64_t most, uint64_t *number)
{
	const json_t *found = json_array_get(list, index);

	*number = (uint64_t)json_integer_value(found);
	return json_is_integer(found) && json_integer_value(found) >= 0 && *number <= most ? 0 : -1;
}

/* Each part lasts to where the next one begins. */
static int read_stream(struct shard_plan *plan, struct plan_recording *recording, size_t stream,
                       const json_t *list, struct sb_error *err)
{
	const size_t size = json_array_size(list);
	uint64_t shard, from, last = 0;

	if (!plan->nshards || !size || size % 2)
		return wrong(plan, err, "the parts of a stream: the shard of each, and where it begins");
	for (size_t i = 0; i < size; i += 2) {
		if (number_at(list, i, plan->nshards - 1, &shard) ||
		    number_at(list, i + 1, INT64_MAX, &from) || (i ? from <= last : from))
			return wrong(plan, err, "a part of one of its shards, behind the one before");
		if (i)
			recording->span[recording->nparts - 1].to = from;
		recording->span[recording->nparts] = (struct sb_span){stream, from, UINT64_MAX};
		recording->part[recording->nparts++].shard = shard;
		last = from;
	}
	return 0;
}

static int read_parts(struct shard_plan *plan, struct plan_recording *recording, const json_t *streams,
                      struct sb_error *err)
{
	size_t nparts = 0, stream;
	const json_t *list;
	int code = 0;

	if (!json_is_array(streams) || json_array_size(streams) > INT32_MAX)
		return wrong(plan, err, "the parts of a recording, stream by stream");
	json_array_foreach(streams, stream, list) nparts += json_array_size(list) / 2;
	recording->part = calloc(nparts + 1, sizeof(*recording->part));
	recording->span = calloc(nparts + 1, sizeof(*recording->span));
	if (!recording->part || !recording->span)
		return out_of_memory(err);
	for (stream = 0; stream < json_array_size(streams) && !code; stream++)
		code = read_stream(plan, recording, stream, json_array_get(streams, stream), err);
	for (size_t i = 0; i < recording->nparts; i++)
		recording->part[i].span = recording->span[i];
	return code;
}

static int read_recording(struct shard_plan *plan, const json_t *value, struct sb_error *err)
{
	struct plan_recording *recording = &plan->recording[plan->nrecordings];
	const char *path = json_string_value(json_object_get(value, "recording"));
	const char *error = json_string_value(json_object_get(value, "error"));
	int code;

	if (!path || (!error && !json_is_object(json_object_get(value, "files"))))
		return wrong(plan, err, "a recording without its path, or its files");
	plan->nrecordings++;
	recording->path = strdup(path);
	recording->error = error ? strdup(error) : NULL;
	recording->files = json_incref(json_object_get(value, "files"));
	if (!recording->path || (error && !recording->error))
		return out_of_memory(err);
	code = read_parts(plan, recording, json_object_get(value, "parts"), err);
	return code ? code
	            : read_checkpoint(plan, json_object_get(value, "checkpoint"), &recording->checkpoint,
	                              err);
}

/* The names of recordings are those that the job had. */
static int name_recordings(struct shard_plan *plan, struct sb_error *err)
{
	struct job *job = &plan->job;
	struct option_error error;

	free(job->recording);
	job->recording = NULL;
	job_texts_free(&job->recordings);
	for (size_t i = 0; i < plan->nrecordings; i++)
		if (job_texts_add(&job->recordings, shards_most, "a recording", plan->recording[i].path,
		                  &error))
			return sb_error_set(err, -sbe_invalid, plan->path, UINT64_MAX, "%s", error.why);
	return 0;
}

static int read_job(struct shard_plan *plan, const json_t *root, struct sb_error *err)
{
	const char *path = json_string_value(json_object_get(root, "job_file"));
	char *text = NULL;
	size_t size = 0;
	FILE *to;
	int code;

	if (!path || !json_is_object(json_object_get(root, "job")))
		return wrong(plan, err, "no job in it");
	to = open_memstream(&text, &size);
	code = to && !job_show_value(json_object_get(root, "job"), to) ? 0 : out_of_memory(err);
	if (to)
		fclose(to);
	if (!code)
		code = job_read_text(&plan->job, path, text, size, err);
	free(text);
	return code ? code : name_recordings(plan, err);
}

static int read_lists(struct shard_plan *plan, const json_t *root, struct sb_error *err)
{
	const json_t *recordings = json_object_get(root, "recordings");
	int code = 0;

	if (!json_is_array(recordings))
		return wrong(plan, err, "no recordings");
	plan->recording = calloc(json_array_size(recordings) + 1, sizeof(*plan->recording));
	if (!plan->recording)
		return out_of_memory(err);
	for (size_t i = 0; i < json_array_size(recordings) && !code; i++)
		code = read_recording(plan, json_array_get(recordings, i), err);
	return code;
}

static int read_root(struct shard_plan *plan, const json_t *root, struct sb_error *err)
{
	const char *is = json_string_value(json_object_get(root, "format"));
	const char *hash = json_string_value(json_object_get(root, "hash"));
	const char *version = json_string_value(json_object_get(root, "sbtrace"));
	const char *directory = json_string_value(json_object_get(root, "directory"));
	uint64_t number;
	int code;

	if (!is || strcmp(is, format) != 0)
		return sb_error_set(err, -sbe_format, plan->path, UINT64_MAX,
		                    "expected \"format\": \"%s\", found %s", format, is ? is : "none");
	if (hash_of(root, plan->hash))
		return out_of_memory(err);
	if (!hash || strcmp(hash, plan->hash) != 0)
		return wrong(plan, err, "its hash is not that of what it says: it was changed");
	if (!version || strcmp(version, sbtrace_version) != 0)
		return sb_error_set(err, -sbe_mismatch, plan->path, UINT64_MAX,
		                    "this is sbtrace %s, and the plan is of %s: make it anew",
		                    sbtrace_version, version ? version : "another");
	if (get_number(root, "shards", shards_most, &number))
		return wrong(plan, err, "no number of shards");
	plan->nshards = number;
	if (get_number(root, "step", INT64_MAX, &plan->step) || !plan->step || !directory)
		return wrong(plan, err, "no step, or no directory");
	plan->directory = strdup(directory);
	code = plan->directory ? read_lists(plan, root, err) : out_of_memory(err);
	return code ? code : read_job(plan, root, err);
}

/* Paths of ours that are relative to where we are now. */
static int keep_paths(struct shard_plan *plan, const char *path, const char *results)
{
	plan->path = realpath(path, NULL);
	if (!plan->path)
		plan->path = strdup(path);
	plan->checkpoints = plan->path ? shard_plan_checkpoints(plan->path) : NULL;
	if (!plan->checkpoints)
		return -1;
	if (!results)
		return asprintf(&plan->results, "%s.shards", plan->path) < 0 ? (plan->results = NULL, -1) : 0;
	if (*results == '/') {
		plan->results = strdup(results);
	} else {
		char *here = getcwd(NULL, 0);

		if (!here || asprintf(&plan->results, "%s/%s", here, results) < 0)
			plan->results = NULL;
		free(here);
	}
	return plan->results ? 0 : -1;
}

int shard_plan_read(struct shard_plan *plan, const char *path, const char *results, struct sb_error *err)
{
	json_error_t error;
	json_t *root;
	int code;

	*plan = (struct shard_plan){0};
	if (keep_paths(plan, path, results))
		return out_of_memory(err);
	root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		return sb_error_set(err, -sbe_format, path, UINT64_MAX,
		                    "no plan (sbtrace job plan makes one of a job): %s", error.text);
	code = read_root(plan, root, err);
	json_decref(root);
	if (!code && chdir(plan->directory))
		code = sb_error_set(err, -sbe_io, plan->directory, UINT64_MAX,
		                    "the plan was made there, and its paths are relative to it: %s",
		                    strerror(errno));
	return code;
}
