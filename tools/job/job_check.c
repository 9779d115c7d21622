/* job_check.c - whether a job makes sense as a whole, before anything runs. What reading a file finds out
 * stands in job_read.c; here is what takes more than one key, or a look at the disk. */
#include "job/job.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job/job_inputs.h"
#include "job/job_targets.h"

struct check {
	const struct job *job;
	struct sb_error *err;
};

static struct job_place place_of(const struct check *check, const void *value)
{
	return job_places_find(&check->job->places, value);
}

/* ---- Files ------------------------------------------------------------------------------------ */

/* Why @path is not what it should be, or NULL. */
static const char *wrong_with(const char *path, bool directory)
{
	struct stat st;

	if (stat(path, &st))
		return "is not there";
	if (directory && !S_ISDIR(st.st_mode)) {
		errno = ENOTDIR;
		return "is no directory";
	}
	return access(path, R_OK) ? "cannot be read" : NULL;
}

/* @what: "recording"; @directory: whether it has to be one. */
static int is_there(const struct check *check, const char *path, const char *what, bool directory)
{
	const char *wrong = wrong_with(path, directory);
	const int reason = errno;
	struct job_place place;

	if (!wrong)
		return 0;
	place = place_of(check, path);
	return job_fail_at(check->err, &place, "the %s %s %s: %s", what, path, wrong, strerror(reason));
}

/* Where perf record, or who wrote raw trace, put it into the directory. */
static bool holds_recording(const char *directory)
{
	char *data = NULL;
	DIR *all = opendir(directory);
	const struct dirent *entry;
	bool found = asprintf(&data, "%s/data", directory) >= 0 && !access(data, F_OK);

	while (all && !found && (entry = readdir(all)))
		found = !fnmatch("*.pt", entry->d_name, 0);
	if (all)
		closedir(all);
	free(data);
	return found;
}

static int is_recording(const struct check *check, const char *path)
{
	const struct job_place place = place_of(check, path);
	const int code = is_there(check, path, "recording", false);
	struct stat st;

	if (code || stat(path, &st) || !S_ISDIR(st.st_mode) || holds_recording(path))
		return code;
	return job_fail_at(
	        check->err, &place,
	        "the recording %s is a directory without a recording: neither 'data' (perf record) "
	        "nor 'cpu0.pt'",
	        path);
}

static int are_there(const struct check *check, const struct job_texts *paths, const char *what,
                     bool directory)
{
	int code = 0;

	for (size_t i = 0; i < paths->count && !code; i++)
		code = is_there(check, paths->value[i], what, directory);
	return code;
}

static int check_roots(const struct check *check, const struct job_roots *roots)
{
	int code = 0;

	for (size_t i = 0; i < roots->count && !code; i++)
		code = are_there(check, &roots->root[i].layer, "root", true);
	return code;
}

static int check_files(const struct check *check)
{
	static const char *const names[] = {
	        [job_kcore] = "kcore", [job_vmlinux] = "vmlinux", [job_kallsyms] = "kallsyms"};
	const struct job *job = check->job;
	int code = check_roots(check, &job->files.roots);

	if (!code)
		code = check_roots(check, &job->files.container_roots);
	if (!code)
		code = are_there(check, &job->files.build_id_dir, "directory", true);
	if (!code)
		code = are_there(check, &job->jitdump, "jitdump", false);
	if (!code && job->files.bundle)
		code = is_there(check, job->files.bundle, "bundle", true);
	for (int i = 0; i < job_files && !code; i++)
		if (job->file[i])
			code = is_there(check, job->file[i], names[i], false);
	if (!code && job->recording && strcmp(job->recording, "-") != 0 && !job_is_url(job->recording))
		code = is_recording(check, job->recording);
	for (size_t i = 0; i < job->recordings.count && !code; i++)
		if (!strpbrk(job->recordings.value[i], "*?[") && !job_is_url(job->recordings.value[i]))
			code = is_recording(check, job->recordings.value[i]);
	return code;
}

/* ---- Filters ---------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	const int32_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* Whether the sink's numbers are none of the job's. Lists may be long. */
static bool are_apart(const struct job_list *all, const struct job_list *some)
{
	int32_t *sorted;
	bool apart = true;

	if (!all->count || !some->count)
		return false;
	sorted = malloc(all->count * sizeof(*sorted));
	if (!sorted)
		return false;
	memcpy(sorted, all->value, all->count * sizeof(*sorted));
	qsort(sorted, all->count, sizeof(*sorted), by_number);
	for (size_t i = 0; i < some->count && apart; i++)
		apart = !bsearch(&some->value[i], sorted, all->count, sizeof(*sorted), by_number);
	free(sorted);
	return apart;
}

static int check_list(const struct check *check, const struct job_list *all, const struct job_list *some,
                      const struct job_place *place, const char *what)
{
	if (!are_apart(all, some))
		return 0;
	return job_fail_at(check->err, place,
	                   "this sink is given nothing: the job's filter leaves out the %s %" PRId32, what,
	                   some->value[0]);
}

static int check_span(const struct check *check, const struct job_filter *filter,
                      const struct job_place *place)
{
	return job_time_is_before(&filter->to, &filter->from)
	               ? job_fail_at(check->err, place, "the span of time ends before it begins")
	               : 0;
}

static int check_sink_filter(const struct check *check, const struct job_sink *sink)
{
	const struct job_filter *all = &check->job->filter, *some = &sink->filter;
	const struct job_place *place = &sink->place;
	static const struct job_filter empty;
	int code;

	if (!memcmp(some, &empty, sizeof(empty)))
		return 0;
	if (sink->type->of_all)
		return job_fail_at(check->err, place,
		                   "the sink %s tells of all that is replayed: filter the job instead",
		                   sink->type->name);
	code = check_span(check, some, place);
	if (!code)
		code = check_list(check, &all->cpu, &some->cpu, place, "CPU");
	if (!code)
		code = check_list(check, &all->pid, &some->pid, place, "process");
	if (!code && (job_time_is_before(&some->to, &all->from) || job_time_is_before(&all->to, &some->from)))
		code = job_fail_at(check->err, place,
		                   "this sink is given nothing: its span of time is outside of the job's");
	return code;
}

/* ---- All of it --------------------------------------------------------------------------------- */

static int check_sink(const struct check *check, const struct job_sink *sink)
{
	if (sink->type->file_only && !job_is_file(sink->file))
		return job_fail_at(check->err, &sink->place,
		                   "the sink %s cannot write to standard output: give it a 'file'",
		                   sink->type->name);
	return check_sink_filter(check, sink);
}

int job_check(const struct job *job, struct sb_error *err)
{
	struct sb_error spare;
	const struct check check = {job, err ? err : &spare};
	const struct job_place time = place_of(&check, &job->filter.from);
	struct job_inputs inputs;
	int code = check_span(&check, &job->filter, &time);

	for (size_t i = 0; i < job->nsinks && !code; i++)
		code = check_sink(&check, &job->sink[i]);
	if (!code)
		code = job_cluster_check(job, check.err);
	if (!code)
		code = job_fetch_check(job, check.err);
	if (!code)
		code = check_files(&check);
	if (code)
		return code;
	code = job_inputs_find(job, &inputs, check.err);
	if (!code) {
		code = job_targets_check(job, &inputs, check.err);
		job_inputs_free(&inputs);
	}
	return code;
}
