/* job_parts.c - see job_parts.h. In the job's directory for parts are the plan, its shards' results, what
 * they were made for, and a lock that keeps out other runs. What was made for something else goes;
 * what is not known to be a job's parts stays. */
#include "job/job_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job/job_keys.h"
#include "job/run_record.h"
#include "job/shard_merge.h"
#include "job/shard_plan.h"
#include "job/shard_result.h"
#include "job/shard_run.h"

enum { part_size = 32 << 20 /* bytes of trace, when the job does not say */ };

struct job_parts {
	const struct job_parts_request *request; /* while they are made */
	struct output_limit *limit;
	char *plan_path, *made_for, *results;
	int lock;
	bool ours; /* what is in the directory may be removed */
	struct shard_plan plan;
	struct shard_merge *merge;
	uint64_t bytes; /* of the results that are counted */
};

static int out_of_memory(struct sb_error *err)
{
	return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
}

/* ---- The directory ----------------------------------------------------------------------------- */

static int cannot(const char *path, const char *what, struct sb_error *err)
{
	return sb_error_set(err, -sbe_io, path, UINT64_MAX, "cannot be %s: %s", what, strerror(errno));
}

static int take_directory(struct job_parts *parts, const char *directory, struct sb_error *err)
{
	char *lock = NULL;
	int code = 0;

	if (asprintf(&parts->plan_path, "%s/plan", directory) < 0 ||
	    asprintf(&parts->made_for, "%s/made-for.json", directory) < 0 ||
	    asprintf(&parts->results, "%s/plan.shards", directory) < 0 ||
	    asprintf(&lock, "%s/lock", directory) < 0)
		return out_of_memory(err);
	if (mkdir(directory, 0777) && errno != EEXIST)
		code = cannot(directory, "made", err);
	if (!code) {
		parts->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
		if (parts->lock < 0)
			code = cannot(lock, "opened", err);
		else if (flock(parts->lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
			code = sb_error_set(err, -sbe_io, directory, UINT64_MAX,
			                    "parts are being made there by another run");
	}
	free(lock);
	return code;
}

/* Whether made-for.json is one that set_purpose() wrote, by whatever version. */
static bool is_ours(const struct job_parts *parts)
{
	static const char *const marks[] = {"recording", "input", "files", "job"};
	struct stat st;
	const bool is_file = !lstat(parts->made_for, &st) && S_ISREG(st.st_mode);
	json_t *there = is_file ? json_load_file(parts->made_for, JSON_REJECT_DUPLICATES, NULL) : NULL;
	bool ours = json_is_string(json_object_get(there, "sbtrace"));

	for (size_t i = 0; ours && i < sizeof(marks) / sizeof(marks[0]); i++)
		ours = json_object_get(there, marks[i]) != NULL;
	json_decref(there);
	return ours;
}

/* The first of what parts would replace that is there but not theirs; NULL: none is. */
static const char *find_foreign(const struct job_parts *parts, bool ours, const char *checkpoints)
{
	const char *const paths[] = {parts->plan_path, checkpoints, parts->results, parts->made_for};
	struct stat st;

	for (size_t i = 0; !ours && i < sizeof(paths) / sizeof(paths[0]); i++)
		if (!lstat(paths[i], &st))
			return paths[i];
	/* Results that are elsewhere are somebody's in any case. */
	return !lstat(parts->results, &st) && !S_ISDIR(st.st_mode) ? parts->results : NULL;
}

/* Sets parts->ours, without which nothing is removed, unless somebody else's files are in the way. */
static int claim(struct job_parts *parts, struct sb_error *err)
{
	char *checkpoints = shard_plan_checkpoints(parts->plan_path);
	const char *foreign;
	int code = 0;

	if (!checkpoints)
		return out_of_memory(err);
	foreign = find_foreign(parts, is_ours(parts), checkpoints);
	if (foreign)
		code = sb_error_set(err, -sbe_io, foreign, UINT64_MAX,
		                    "is there, but was not made for a job's parts: move it away, or let "
		                    "parts: {directory: ...} name a directory of their own");
	parts->ours = !foreign;
	free(checkpoints);
	return code;
}

/* Those left by who was killed while they wrote one; with @all, the others, too. Follows no symbolic link. */
static void clear_results(const struct job_parts *parts, bool all)
{
	const int fd = open(parts->results, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		if (!fnmatch(all ? "[0-9]*.shard*" : "[0-9]*.shard.tmp-*", entry->d_name, 0))
			unlinkat(fd, entry->d_name, 0);
	if (directory)
		closedir(directory);
	else if (fd >= 0)
		close(fd);
}

static bool is_gone(int code)
{
	return !code || errno == ENOENT;
}

/* made-for.json, which tells that the others are ours, goes last, and only when they went. */
static void clear(const struct job_parts *parts)
{
	char *checkpoints = shard_plan_checkpoints(parts->plan_path);
	bool gone;

	clear_results(parts, true);
	gone = is_gone(rmdir(parts->results));
	gone = checkpoints && is_gone(unlink(checkpoints)) && gone;
	gone = is_gone(unlink(parts->plan_path)) && gone;
	if (gone)
		unlink(parts->made_for);
	free(checkpoints);
}

/* ---- What they are made for -------------------------------------------------------------------- */

static json_t *purpose_of(const struct job_parts_request *request)
{
	return json_pack("{s:O, s:o, s:O, s:O, s:O}", "sbtrace", json_object_get(request->record, "sbtrace"),
	                 "recording", job_path_value(request->recording), "input", request->input, "files",
	                 json_object_get(request->record, "files"), "job",
	                 json_object_get(request->record, "job"));
}

/* Whether what is there is of this recording, this job and this version. */
static bool fits(const struct job_parts *parts, const json_t *purpose)
{
	json_t *there = json_load_file(parts->made_for, JSON_REJECT_DUPLICATES, NULL);
	char key[64];
	const bool same =
	        there &&
	        json_equal(json_object_get(there, "recording"), json_object_get(purpose, "recording")) &&
	        json_equal(json_object_get(there, "input"), json_object_get(purpose, "input")) &&
	        !run_record_differ(there, purpose, key, sizeof(key));

	json_decref(there);
	return same;
}

static int set_purpose(const struct job_parts *parts, struct sb_error *err)
{
	json_t *purpose = purpose_of(parts->request);
	int code = 0;

	if (!purpose)
		return out_of_memory(err);
	if (parts->request->resume && fits(parts, purpose)) {
		clear_results(parts, false);
	} else {
		clear(parts);
		code = run_record_write(purpose, parts->made_for, err);
	}
	json_decref(purpose);
	return code;
}

/* ---- The plan ---------------------------------------------------------------------------------- */

/* One recording, and nothing that may be different next time. */
static int make_plan(struct job_parts *parts, struct sb_error *err)
{
	const struct job *job = parts->request->job;
	struct job one = *job;
	size_t made;

	one.recording = (char *)(uintptr_t)parts->request->recording;
	one.recordings = (struct job_texts){0};
	one.jobs = 0;
	one.limits = (struct job_limits){0};
	one.on_error = job_fail;
	one.parts = (struct job_parts_options){0};
	return shard_plan_make(&one, parts->request->command, 0,
	                       job->parts.size ? job->parts.size : part_size, parts->plan_path, &made, err);
}

/* How many results are there, and how much they take. */
static size_t count_results(struct job_parts *parts)
{
	size_t count = 0;

	parts->bytes = 0;
	for (size_t i = 0; i < parts->plan.nshards; i++) {
		char *path = shard_plan_result(&parts->plan, i);
		struct sb_error ignored;
		json_t *record;
		struct stat st;

		if (path && !stat(path, &st)) {
			parts->bytes += (uint64_t)st.st_size;
			record = shard_result_record(&parts->plan, i, &ignored);
			count += record != NULL;
			json_decref(record);
		}
		free(path);
	}
	return count;
}

static int run_plan(struct job_parts *parts, struct sb_error *err)
{
	const struct job_parts_request *request = parts->request;
	char label[64];
	struct shard_run_options options = {.command = request->command,
	                                    .jobs = request->job->jobs,
	                                    .progress = request->progress,
	                                    .label = label};
	const size_t there = count_results(parts);
	bool *wanted = calloc(parts->plan.nshards + 1, sizeof(*wanted));
	int code;

	if (!wanted)
		return out_of_memory(err);
	snprintf(label, sizeof(label), "%sparts ", request->label);
	memset(wanted, 1, parts->plan.nshards);
	if (there)
		fprintf(stderr, "%s: note: %s: %zu of %zu parts are there already\n", request->command,
		        request->recording, there, parts->plan.nshards);
	if (request->limit)
		options.disk = request->limit->left > parts->bytes ? request->limit->left - parts->bytes : 1;
	code = shard_run(&parts->plan, wanted, &options, err);
	free(wanted);
	if (code && code != -sbe_stop)
		sb_error_set(err, code, request->recording, UINT64_MAX,
		             "parts of it were not decoded; those that were stay in %s", parts->results);
	count_results(parts);
	if (!code && request->limit && parts->bytes > request->limit->left)
		code = sb_error_set(err, -sbe_io, parts->results, UINT64_MAX,
		                    "write failed: the job's limit of disk space is reached");
	if (code)
		parts->bytes = 0;
	else if (request->limit)
		request->limit->left -= parts->bytes;
	return code;
}

static int make(struct job_parts *parts, struct sb_error *err)
{
	int code = take_directory(parts, parts->request->job->parts.directory, err);

	if (!code)
		code = claim(parts, err);
	if (!code)
		code = set_purpose(parts, err);
	if (!code)
		code = make_plan(parts, err);
	if (!code)
		code = shard_plan_read(&parts->plan, parts->plan_path, parts->results, err);
	if (!code)
		code = run_plan(parts, err);
	if (!code)
		code = shard_merge_open(&parts->merge, &parts->plan, parts->request->command, err);
	return code;
}

static bool is_pipe(const char *path)
{
	struct stat st;

	return !strcmp(path, "-") || (!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
}

int job_parts_make(struct job_parts **result, const struct job_parts_request *request, struct sb_error *err)
{
	struct job_parts *parts;
	int code;

	*result = NULL;
	if (is_pipe(request->recording))
		return 0;
	parts = calloc(1, sizeof(*parts));
	if (!parts)
		return out_of_memory(err);
	parts->request = request;
	parts->limit = request->limit;
	parts->lock = -1;
	code = make(parts, err);
	parts->request = NULL;
	if (!code) {
		*result = parts;
		return 0;
	}
	/* There is no trace: no parts, but there are outputs. What is not there at all, the replay tells. */
	if (code == -sbe_not_found && !parts->plan.nshards) {
		*err = (struct sb_error){0};
		code = 0;
	}
	job_parts_close(parts, !code);
	return code;
}

struct shard_merge *job_parts_merge(struct job_parts *parts)
{
	return parts->merge;
}

void job_parts_close(struct job_parts *parts, bool remove)
{
	if (!parts)
		return;
	shard_merge_close(parts->merge);
	shard_plan_free(&parts->plan);
	if (parts->limit)
		parts->limit->left += parts->bytes;
	if (remove && parts->ours)
		clear(parts);
	if (parts->lock >= 0)
		close(parts->lock);
	free(parts->plan_path);
	free(parts->made_for);
	free(parts->results);
	free(parts);
}

void job_parts_clean(const struct job *job)
{
	struct job_parts *parts = job->parts.directory ? calloc(1, sizeof(*parts)) : NULL;
	struct sb_error ignored;

	if (!parts)
		return;
	parts->lock = -1;
	job_parts_close(parts, !access(job->parts.directory, F_OK) &&
	                               !take_directory(parts, job->parts.directory, &ignored) &&
	                               !claim(parts, &ignored));
}
