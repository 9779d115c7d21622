/* run_record.c - see run_record.h. */
#include "job/run_record.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sb/binary.h>

#include "job/fetch.h"
#include "job/job_keys.h"
#include "output.h"
#include "version.h"

static const char format[] = "sbtrace run record 1";

static json_t *out_of_memory(struct sb_error *err)
{
	sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	return NULL;
}

/* ---- Where it is ------------------------------------------------------------------------------ */

static bool is_regular(const char *path)
{
	struct stat st;

	return stat(path, &st) ? errno == ENOENT : S_ISREG(st.st_mode);
}

/* "DIRECTORY-OF-OUTPUT/JOB.run.json". */
static char *beside(const char *output, const char *job)
{
	const char *slash = strrchr(output, '/'), *name = strrchr(job, '/'), *dot;
	char *path;

	name = name ? name + 1 : job;
	dot = strrchr(name, '.');
	if (asprintf(&path, "%.*s%.*s.run.json", slash ? (int)(slash - output) + 1 : 0, output,
	             dot && dot > name ? (int)(dot - name) : (int)strlen(name), name) < 0)
		return NULL;
	return path;
}

int run_record_path(const struct job *job, const struct job_inputs *inputs, char **path, struct sb_error *err)
{
	char **file;

	*path = NULL;
	if (job->run_record) {
		*path = strdup(job->run_record);
		return *path ? 0 : sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	}
	if (!job->path || !inputs->count)
		return 0;
	file = job_outputs(job, inputs, 0);
	for (size_t i = 0; file && i < job->nsinks && !*path; i++)
		if (file[i] && is_regular(file[i]))
			*path = beside(file[i], job->path);
	job_outputs_free(file, job->nsinks);
	return file ? 0 : sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
}

/* ---- Files and their sums ---------------------------------------------------------------------- */

static json_t *sum_of(const char *path, struct sb_error *err)
{
	char text[65];

	return sb_file_sha256(path, text, err) ? NULL : json_string(text);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* All regular files below @path. */
static int sums_below(const char *path, json_t *sums, struct sb_error *err)
{
	char *copy = strdup(path), *roots[] = {copy, NULL};
	FTS *walk = copy ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name) : NULL;
	FTSENT *entry;
	int code = 0;

	if (!walk) {
		free(copy);
		out_of_memory(err);
		return -sbe_nomem;
	}
	while (!code && (entry = fts_read(walk))) {
		const char *name = entry->fts_path + strlen(path);
		json_t *sum;

		if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR)
			code = sb_error_set(err, -sbe_io, entry->fts_path, UINT64_MAX, "cannot be read: %s",
			                    strerror(entry->fts_errno));
		if (entry->fts_info != FTS_F)
			continue;
		sum = sum_of(entry->fts_path, err);
		if (sum)
			json_object_set_new(sums, name + strspn(name, "/"), sum);
		else
			code = -sbe_io;
	}
	fts_close(walk);
	free(copy);
	return code;
}

/* All of what is fetched would be too much. */
static int add_fetched(const struct job *job, const char *url, const char *name, json_t *sums,
                       struct sb_error *err)
{
	struct fetch *fetch;
	const int code = fetch_open(&fetch, &job->fetch, url, err);

	if (!code)
		json_object_set_new(sums, name, fetch_value(fetch));
	fetch_close(fetch);
	return code;
}

json_t *run_record_input(const struct job *job, const char *path, struct sb_error *err)
{
	json_t *sums = json_object(), *sum;
	const char *slash = strrchr(path, '/');
	struct stat st;
	int code = 0;

	/* What comes through a pipe cannot be read twice. */
	if (!strcmp(path, "-") || (!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return sums;
	if (job_is_url(path)) {
		code = add_fetched(job, path, slash[1] ? slash + 1 : path, sums, err);
	} else if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
		code = sums_below(path, sums, err);
	} else {
		sum = sum_of(path, err);
		if (sum)
			json_object_set_new(sums, slash ? slash + 1 : path, sum);
		else
			code = -sbe_io;
	}
	if (!code)
		return sums;
	json_decref(sums);
	return NULL;
}

json_t *run_record_outputs(const struct job *job, char *const *file, struct sb_error *err)
{
	json_t *outputs = json_array();

	for (size_t i = 0; i < job->nsinks; i++) {
		json_t *sum;
		struct stat st;

		if (!file[i] || stat(file[i], &st) || !S_ISREG(st.st_mode))
			continue;
		sum = sum_of(file[i], err);
		if (!sum) {
			json_decref(outputs);
			return NULL;
		}
		json_array_append_new(outputs,
		                      json_pack("{s:s, s:o, s:I, s:o}", "sink", job->sink[i].type->name,
		                                "file", job_path_value(file[i]), "bytes",
		                                (json_int_t)st.st_size, "sha256", sum));
	}
	return outputs;
}

/* Files that the job names besides its recordings, with their sums. */
static int add_named_files(const struct job *job, json_t *files, struct sb_error *err)
{
	for (size_t i = 0; i < job_files + job->jitdump.count; i++) {
		const char *path = i < job_files ? job->file[i] : job->jitdump.value[i - job_files];
		json_t *sum = path ? sum_of(path, err) : NULL;

		if (path && !sum)
			return -sbe_io;
		if (sum)
			json_object_set_new(files, path, sum);
	}
	return 0;
}

/* ---- The record ------------------------------------------------------------------------------- */

json_t *run_record_new(const struct job *job, struct sb_error *err)
{
	json_t *files = json_object(), *record;

	if (add_named_files(job, files, err)) {
		json_decref(files);
		return NULL;
	}
	record = json_pack("{s:s, s:s, s:o, s:o, s:o}", "format", format, "sbtrace", sbtrace_version, "job",
	                   job_value(job), "files", files, "recordings", json_array());
	return record ? record : out_of_memory(err);
}

json_t *run_record_read(const char *path, struct sb_error *err)
{
	json_error_t error;
	json_t *record;

	struct stat st;

	if (stat(path, &st)) {
		sb_error_set(err, errno == ENOENT ? -sbe_not_found : -sbe_io, path, UINT64_MAX,
		             "cannot be opened: %s", strerror(errno));
		return NULL;
	}
	if (!S_ISREG(st.st_mode)) {
		sb_error_set(err, -sbe_format, path, UINT64_MAX,
		             "expected a run record, found no regular file");
		return NULL;
	}
	record = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (!record) {
		sb_error_set(err, -sbe_format, path, UINT64_MAX, "no run record: line %d: %s", error.line,
		             error.text);
		return NULL;
	}
	if (json_string_value(json_object_get(record, "format")) &&
	    !strcmp(json_string_value(json_object_get(record, "format")), format) &&
	    json_is_array(json_object_get(record, "recordings")))
		return record;
	sb_error_set(err, -sbe_format, path, UINT64_MAX, "expected \"format\": \"%s\", found none", format);
	json_decref(record);
	return NULL;
}

int run_record_write(const json_t *record, const char *path, struct sb_error *err)
{
	char *text = json_dumps(record, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	const int code = text ? output_text(path, text, err) : -sbe_nomem;

	if (!text)
		out_of_memory(err);
	free(text);
	return code;
}

/* Keys of a job that say how, and for which recordings, but not what is written for one. */
static bool decides(const char *key)
{
	static const char *const others[] = {"recording",  "recordings", "jobs",    "limits", "on_error",
	                                     "run_record", "version",    "cluster", "fetch",  "parts"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(key, others[i]))
			return false;
	return true;
}

/* The first key that decides and is not the same in @b. */
static const char *differing_key(const json_t *a, const json_t *b)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)a, key,
	                    value) if (decides(key) &&
	                               !json_equal(value, json_object_get(b, key))) return key;
	return NULL;
}

const char *run_record_differ(const json_t *a, const json_t *b, char *buffer, size_t size)
{
	const json_t *job_a = json_object_get(a, "job"), *job_b = json_object_get(b, "job");
	const char *key = NULL;

	if (!json_equal(json_object_get(a, "sbtrace"), json_object_get(b, "sbtrace")))
		key = "sbtrace";
	if (!key && !json_equal(json_object_get(a, "files"), json_object_get(b, "files")))
		key = "files";
	if (!key)
		key = differing_key(job_a, job_b);
	if (!key)
		key = differing_key(job_b, job_a);
	if (key)
		snprintf(buffer, size, "%s", key);
	return key ? buffer : NULL;
}

static bool is_of(const json_t *entry, const json_t *path)
{
	return json_equal(json_object_get(entry, "recording"), path);
}

json_t *run_record_find(const json_t *record, const char *path)
{
	json_t *whole = job_path_value(path), *entry, *found = NULL;
	size_t i;

	json_array_foreach(json_object_get(record, "recordings"), i, entry) if (!found && is_of(entry, whole))
	        found = entry;
	json_decref(whole);
	return found;
}

void run_record_put(json_t *record, json_t *entry)
{
	json_t *list = json_object_get(record, "recordings"), *there;
	size_t i;

	json_array_foreach(list, i, there) if (is_of(there, json_object_get(entry, "recording")))
	{
		json_array_set_new(list, i, entry);
		return;
	}
	json_array_append_new(list, entry);
}
