/* job_targets.c - see job_targets.h. Files are compared by their real paths: ./x and x are one, and a
 * symbolic link is what it leads to, as that is what would be written. */
#include "job/job_targets.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job/run_record.h"
#include "real_path.h"

struct targets {
	const struct job *job;
	const struct job_inputs *inputs;
	struct sb_error *err;
	json_t *read;    /* by real path: what it is to the job */
	json_t *written; /* by real path: the index of the recording */
	json_t *begun;   /* by the real path of what it is called until it is whole: the file */
};

static int out_of_memory(const struct targets *targets)
{
	return sb_error_set(targets->err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
}

/* ---- What is read ------------------------------------------------------------------------------ */

static const char a_bundle[] = "a bundle";

/* What is not there has been told, or is nobody's. */
static void note_read(const struct targets *targets, const char *path, const char *what)
{
	char *real = path && !job_is_url(path) ? realpath(path, NULL) : NULL;

	if (real)
		json_object_set_new_nocheck(targets->read, real, json_string(what));
	free(real);
}

static void note_recording(const struct targets *targets, const char *path)
{
	static const char *const inside[] = {"data", "kcore_dir"}; /* of a directory that perf record made */

	note_read(targets, path, "a recording");
	for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++) {
		char *part;

		if (asprintf(&part, "%s/%s", path, inside[i]) < 0)
			return;
		note_read(targets, part, "a recording");
		free(part);
	}
}

static void note_all_read(const struct targets *targets)
{
	static const char *const kernel[] = {
	        [job_kcore] = "the kcore", [job_vmlinux] = "the vmlinux", [job_kallsyms] = "the kallsyms"};
	const struct job *job = targets->job;

	for (size_t i = 0; i < targets->inputs->count; i++)
		note_recording(targets, targets->inputs->path[i]);
	note_read(targets, job->files.bundle, a_bundle);
	for (int i = 0; i < job_files; i++)
		note_read(targets, job->file[i], kernel[i]);
	for (size_t i = 0; i < job->jitdump.count; i++)
		note_read(targets, job->jitdump.value[i], "a jitdump");
	for (size_t i = 0; i < job->places.nfiles; i++)
		note_read(targets, job->places.file[i], "a file of this job");
}

/* ---- What is written --------------------------------------------------------------------------- */

static int check_directory(const struct targets *targets, const char *file, const struct job_place *place)
{
	char *directory = directory_of(file);
	int code = 0;

	if (!directory)
		return out_of_memory(targets);
	if (access(directory, F_OK))
		code = job_fail_at(targets->err, place, "the directory %s is not there: %s", directory,
		                   strerror(errno));
	else if (access(directory, W_OK | X_OK))
		code = job_fail_at(targets->err, place, "nothing can be written to %s: %s", directory,
		                   strerror(errno));
	free(directory);
	return code;
}

/* What a directory above @real is to the job: the next one, which may be a recording, or any, if that is a
 * bundle. NULL: nothing. */
static const char *use_of_directory(const struct targets *targets, const char *real)
{
	char *directory = strdup(real), *slash;
	const char *what = NULL;

	while (directory && !what && (slash = strrchr(directory, '/')) && slash > directory) {
		const int is_next = strlen(directory) == strlen(real);

		*slash = '\0';
		what = json_string_value(json_object_get(targets->read, directory));
		if (what)
			what = !strcmp(what, a_bundle) ? "in a bundle" : is_next ? "in a recording" : NULL;
	}
	free(directory);
	return what;
}

/* Which programs ran only the recording says, and their files are below any root, or of this machine; but no
 * output looks like one. */
static bool is_program(const char *real)
{
	static const char magic[] = {0x7f, 'E', 'L', 'F'};
	char begin[sizeof(magic)];
	const int fd = open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is_one;

	if (fd < 0)
		return false;
	is_one = read(fd, begin, sizeof(begin)) == sizeof(begin) && !memcmp(begin, magic, sizeof(magic));
	close(fd);
	return is_one;
}

/* What the file at @real is to the job, which is not to write it; NULL: nothing. */
static const char *use_of(const struct targets *targets, const char *real)
{
	const char *what = json_string_value(json_object_get(targets->read, real));

	if (!what)
		what = use_of_directory(targets, real);
	if (!what && is_program(real))
		what = "a program or a library";
	return what;
}

/* Whether nobody else writes @real, which is to be @file, or what either is called until it is whole. */
static int check_begun(const struct targets *targets, const char *file, const char *real,
                       const struct job_place *place)
{
	const char *other = json_string_value(json_object_get(targets->begun, real));
	char *temporary;
	int code = 0;

	if (other)
		return job_fail_at(targets->err, place, "%s is what %s is called until it is whole", file,
		                   other);
	if (asprintf(&temporary, "%s.tmp", real) < 0)
		return out_of_memory(targets);
	if (json_object_get(targets->written, temporary))
		code = job_fail_at(targets->err, place,
		                   "%s is called %s.tmp until it is whole, and that is another one", file,
		                   file);
	else if (json_object_set_new_nocheck(targets->begun, temporary, json_string(file)))
		code = out_of_memory(targets);
	free(temporary);
	return code;
}

static int check_real(const struct targets *targets, const char *file, const char *real,
                      const struct job_place *place)
{
	const char *what = use_of(targets, real);
	char *temporary;
	int code = 0;

	if (what)
		return job_fail_at(targets->err, place, "%s is %s: it would be overwritten", file, what);
	/* What it is called while it is written. */
	if (asprintf(&temporary, "%s.tmp", real) < 0)
		return out_of_memory(targets);
	what = use_of(targets, temporary);
	if (what)
		code = job_fail_at(targets->err, place, "%s.tmp is %s: it would be overwritten", file, what);
	free(temporary);
	if (!code)
		code = check_begun(targets, file, real, place);
	return code ? code : check_directory(targets, file, place);
}

static bool is_pipe(const char *file)
{
	struct stat st;

	return !stat(file, &st) && S_ISFIFO(st.st_mode);
}

/* *real becomes the real path, to be freed; NULL with zero: a device, which may be written to more than once.
 * A pipe is written in place. */
static int check_target(const struct targets *targets, const char *file, const struct job_place *place,
                        char **real)
{
	struct stat st;
	int code;

	*real = NULL;
	if (!stat(file, &st) && S_ISDIR(st.st_mode))
		return job_fail_at(targets->err, place, "%s is a directory: expected the name of a file",
		                   file);
	if (is_pipe(file)) {
		*real = real_path(file);
		return *real ? 0 : out_of_memory(targets);
	}
	if (!stat(file, &st) && !S_ISREG(st.st_mode))
		return 0;
	*real = real_path(file);
	code = *real ? check_real(targets, file, *real, place) : check_directory(targets, file, place);
	if (!code && !*real)
		code = out_of_memory(targets);
	return code;
}

static int clash(const struct targets *targets, const char *file, const struct job_sink *sink, size_t input,
                 size_t other)
{
	char *const *path = targets->inputs->path;

	if (other != input)
		return job_fail_at(targets->err, &sink->place,
		                   "%s would be written for %s and for %s: put {recording}, {directory} or "
		                   "{number} into its name",
		                   file, path[other], path[input]);
	return job_fail_at(targets->err, &sink->place, "two sinks cannot both write to %s", file);
}

static int check_sink(const struct targets *targets, const char *file, const struct job_sink *sink,
                      size_t input)
{
	const json_t *before;
	char *real;
	int code = check_target(targets, file, &sink->place, &real);

	if (code || !real) {
		free(real);
		return code;
	}
	before = json_object_get(targets->written, real);
	/* What is written for one recording after the other may go through one pipe. */
	if (before && (size_t)json_integer_value(before) != input && is_pipe(file))
		before = NULL;
	if (before)
		code = clash(targets, file, sink, input, (size_t)json_integer_value(before));
	else if (json_object_set_new_nocheck(targets->written, real, json_integer((json_int_t)input)))
		code = out_of_memory(targets);
	free(real);
	return code;
}

static int check_sinks(const struct targets *targets, size_t input)
{
	const struct job *job = targets->job;
	char **file = job_outputs(job, targets->inputs, input);
	int code = file ? 0 : out_of_memory(targets);

	for (size_t i = 0; i < job->nsinks && !code; i++)
		if (file[i])
			code = check_sink(targets, file[i], &job->sink[i], input);
	job_outputs_free(file, job->nsinks);
	return code;
}

/* Where nobody named it, it is beside the first file. */
static struct job_place place_of_run_record(const struct job *job)
{
	if (job->run_record)
		return job_places_find(&job->places, job->run_record);
	for (size_t i = 0; i < job->nsinks; i++)
		if (job_is_file(job->sink[i].file))
			return job->sink[i].place;
	return (struct job_place){0};
}

static int check_run_record(const struct targets *targets)
{
	const struct job_place place = place_of_run_record(targets->job);
	char *path, *real = NULL;
	int code = run_record_path(targets->job, targets->inputs, &path, targets->err);

	if (!code && path)
		code = check_target(targets, path, &place, &real);
	if (!code && real && json_object_get(targets->written, real))
		code = job_fail_at(targets->err, &place,
		                   "the run record and a sink cannot both write to %s: give one of them "
		                   "another name",
		                   path);
	free(real);
	free(path);
	return code;
}

/* Whether the sink writes there, whatever it is called; terminals and other devices may have several. */
static bool is_standard_output(const char *file)
{
	struct stat there, ours;

	if (!job_is_file(file))
		return true;
	return !stat(file, &there) && !fstat(STDOUT_FILENO, &ours) && !S_ISCHR(ours.st_mode) &&
	       there.st_dev == ours.st_dev && there.st_ino == ours.st_ino;
}

/* Lines of two sinks would stand between each other. */
static int check_standard_output(const struct targets *targets)
{
	const struct job *job = targets->job;
	const struct job_sink *first = NULL;

	for (size_t i = 0; i < job->nsinks; i++) {
		if (!is_standard_output(job->sink[i].file))
			continue;
		if (first)
			return job_fail_at(targets->err, &job->sink[i].place,
			                   "the sinks %s and %s cannot both write to standard output: name a "
			                   "file for one of them",
			                   first->type->name, job->sink[i].type->name);
		first = &job->sink[i];
	}
	return 0;
}

static int check_file(const struct targets *targets, const char *file, const char *what)
{
	static const struct job_place nowhere;
	char *real;
	int code = check_target(targets, file, &nowhere, &real);

	if (!code && real && json_object_get(targets->written, real))
		code = job_fail_at(targets->err, &nowhere, "%s and a sink cannot both write to %s", what,
		                   file);
	free(real);
	return code;
}

static int check_all(const struct targets *targets)
{
	int code = targets->read && targets->written && targets->begun ? check_standard_output(targets)
	                                                               : out_of_memory(targets);

	if (code)
		return code;
	note_all_read(targets);
	for (size_t i = 0; i < targets->inputs->count && !code; i++)
		code = check_sinks(targets, i);
	return code ? code : check_run_record(targets);
}

static void free_targets(struct targets *targets)
{
	json_decref(targets->read);
	json_decref(targets->written);
	json_decref(targets->begun);
}

int job_targets_check(const struct job *job, const struct job_inputs *inputs, struct sb_error *err)
{
	struct targets targets = {job, inputs, err, json_object(), json_object(), json_object()};
	const int code = check_all(&targets);

	free_targets(&targets);
	return code;
}

int job_targets_check_all(const struct job *job, struct sb_error *err)
{
	return job_targets_check_file(job, NULL, NULL, err);
}

int job_targets_check_file(const struct job *job, const char *file, const char *what, struct sb_error *err)
{
	struct job_inputs inputs;
	struct targets targets = {job, &inputs, err, json_object(), json_object(), json_object()};
	int code = job_inputs_find(job, &inputs, err);

	if (!code) {
		code = check_all(&targets);
		if (!code && file)
			code = check_file(&targets, file, what);
		job_inputs_free(&inputs);
	}
	free_targets(&targets);
	return code;
}
