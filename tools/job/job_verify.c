/* job_verify.c - runs a job again and compares with what its run record says.
 *
 * Outputs go to a directory that is removed again, one file after the other, so that what is there stays. */
#include "job/job_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interrupt.h"
#include "job/job_inputs.h"
#include "job/job_replay.h"
#include "job/recording_files.h"
#include "job/run_record.h"

struct verify {
	const struct job *job;
	const struct job_run_options *options;
	const json_t *record;
	char directory[64];
	bool same;
};

static void differ(struct verify *verify, const char *recording, const char *what, const char *name)
{
	fprintf(stderr, "%s: %s: %s%s%s not the same as in the run record\n", verify->options->command,
	        recording, what, *name ? " " : "", name);
	verify->same = false;
}

/* Where the job's files go instead; NULL: out of memory. */
static char **files_elsewhere(const struct verify *verify, char *const *file)
{
	char **other = calloc(verify->job->nsinks + 1, sizeof(*other));

	for (size_t i = 0; other && i < verify->job->nsinks; i++) {
		if (file[i] ? asprintf(&other[i], "%s/%zu", verify->directory, i) < 0
		            : !(other[i] = strdup("/dev/null"))) {
			other[i] = NULL;
			job_outputs_free(other, i);
			return NULL;
		}
	}
	return other;
}

/* Sums of what was written elsewhere, under the names of the files that it stands for. */
static json_t *sums_of(const struct verify *verify, char **other, const json_t *named, struct sb_error *err)
{
	json_t *sums = run_record_outputs(verify->job, other, err), *sum;
	size_t i;

	json_array_foreach(sums, i, sum)
	        json_object_set(sum, "file", json_object_get(json_array_get(named, i), "file"));
	return sums;
}

static void compare_outputs(struct verify *verify, const char *recording, const json_t *named,
                            const json_t *sums)
{
	json_t *output;
	size_t i;

	if (json_array_size(named) != json_array_size(sums))
		differ(verify, recording, "the number of files is", "");
	json_array_foreach((json_t *)(uintptr_t)named, i,
	                   output) if (!json_equal(output, json_array_get(sums, i)))
	        differ(verify, recording, json_string_value(json_object_get(output, "file")), "is");
}

/* Files that were written may be gone, but not others. */
static int compare_files(struct verify *verify, const char *recording, const json_t *entry, char *const *file,
                         struct sb_error *err)
{
	json_t *now = run_record_outputs(verify->job, file, err), *one, *there;
	size_t i, j;

	if (!now)
		return -sbe_io;
	json_array_foreach(now, i, one) json_array_foreach(
	        json_object_get(entry, "outputs"), j,
	        there) if (json_equal(json_object_get(one, "file"), json_object_get(there, "file")) &&
	                   !json_equal(one, there))
	        differ(verify, recording, json_string_value(json_object_get(one, "file")),
	               "as it is there is");
	json_decref(now);
	return 0;
}

/* What could not be replayed then shall fail now, and for the same reason. */
static int compare_failure(struct verify *verify, const char *recording, const json_t *entry, int code,
                           const struct sb_error *err)
{
	const char *then = json_string_value(json_object_get(entry, "error"));
	char now[sizeof(err->file) + sizeof(err->text) + 64];

	if (!then || code == -sbe_stop || code == -sbe_nomem)
		return code;
	if (strcmp(then, sb_error_string(err, now, sizeof(now))) != 0)
		differ(verify, recording, "why it failed is", "");
	return 0;
}

static int replay_again(struct verify *verify, const char *recording, const json_t *entry, char **other,
                        struct sb_error *err)
{
	const json_t *named = json_object_get(entry, "outputs");
	enum job_replay_end end;
	json_t *account = NULL, *sums;
	int code;

	code = job_replay(&(struct job_replay_request){.command = verify->options->command,
	                                               .job = verify->job,
	                                               .recording = recording,
	                                               .file = other,
	                                               .label = "",
	                                               .progress = verify->options->progress},
	                  &end, &account, err);
	if (code)
		return compare_failure(verify, recording, entry, code, err);
	if (!json_equal(account, json_object_get(entry, "account")))
		differ(verify, recording, "the account is", "");
	json_decref(account);
	sums = sums_of(verify, other, named, err);
	if (!sums)
		return -sbe_io;
	compare_outputs(verify, recording, named, sums);
	json_decref(sums);
	return 0;
}

/* Nothing is known of one that failed. */
static int compare_input(struct verify *verify, const char *recording, const json_t *entry,
                         struct sb_error *err)
{
	const json_t *then = json_object_get(entry, "input");
	json_t *now = then ? run_record_input(verify->job, recording, err) : NULL;

	if (then && !now)
		return -sbe_io;
	if (then && !json_equal(now, then))
		differ(verify, recording, "the recording is", "");
	json_decref(now);
	return 0;
}

/* A merge has sums of samples, which its shards have compared. */
static void compare_planned(struct verify *verify, const char *recording, const json_t *entry)
{
	const json_t *planned = json_object_get(entry, "planned");
	struct sb_error failure = {0};

	if (planned && !job_is_url(recording) &&
	    recording_files_check(recording, planned, &failure) == -sbe_mismatch)
		differ(verify, recording, "the recording is", "");
}

static int verify_one(struct verify *verify, const struct job_inputs *inputs, size_t index,
                      struct sb_error *err)
{
	const char *recording = inputs->path[index];
	const json_t *entry = run_record_find(verify->record, recording);
	char **file, **other;
	int code;

	if (!entry) {
		differ(verify, recording, "that it was replayed is", "");
		return 0;
	}
	code = compare_input(verify, recording, entry, err);
	compare_planned(verify, recording, entry);
	if (code)
		return code;
	file = job_outputs(verify->job, inputs, index);
	other = file ? files_elsewhere(verify, file) : NULL;
	if (other)
		code = compare_files(verify, recording, entry, file, err);
	if (other && !code)
		code = replay_again(verify, recording, entry, other, err);
	if (!other)
		code = sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	for (size_t i = 0; other && i < verify->job->nsinks; i++)
		if (file[i])
			unlink(other[i]);
	job_outputs_free(other, verify->job->nsinks);
	job_outputs_free(file, verify->job->nsinks);
	return code;
}

static int verify_all(struct verify *verify, const struct job_inputs *inputs, const char *path,
                      struct sb_error *err)
{
	json_t *now = run_record_new(verify->job, err);
	struct interrupt_watch watch;
	char key[64];
	int code = 0;

	if (!now)
		return -sbe_io;
	if (run_record_differ(verify->record, now, key, sizeof(key)))
		differ(verify, path, key, "is");
	json_decref(now);
	if (json_array_size(json_object_get(verify->record, "recordings")) != inputs->count)
		differ(verify, path, "the number of recordings is", "");
	if (!mkdtemp(verify->directory))
		return sb_error_set(err, -sbe_io, verify->directory, UINT64_MAX, "cannot be made: %s",
		                    strerror(errno));
	interrupt_watch(&watch);
	for (size_t i = 0; i < inputs->count && !code && !interrupt_came(); i++)
		code = verify_one(verify, inputs, i, err);
	interrupt_unwatch(&watch);
	rmdir(verify->directory);
	return code;
}

/* A directory on the disk: what is written may be large. */
static void set_directory(struct verify *verify)
{
	const char *place = getenv("TMPDIR");

	if (!place || snprintf(verify->directory, sizeof(verify->directory), "%s/sbtrace-verify-XXXXXX",
	                       place) >= (int)sizeof(verify->directory))
		snprintf(verify->directory, sizeof(verify->directory), "/var/tmp/sbtrace-verify-XXXXXX");
}

int job_verify(const struct job *job, const struct job_run_options *options, bool *same, struct sb_error *err)
{
	struct verify verify = {.job = job, .options = options, .same = true};
	struct job_inputs inputs;
	json_t *record = NULL;
	char *path = NULL;
	int code = job_inputs_find(job, &inputs, err);

	if (code)
		return code;
	set_directory(&verify);
	code = run_record_path(job, &inputs, &path, err);
	if (!code && !path)
		code = sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX,
		                    "only a job that writes files has a run record to compare with");
	if (!code) {
		verify.record = record = run_record_read(path, err);
		code = record ? verify_all(&verify, &inputs, path, err) : err->code;
	}
	json_decref(record);
	free(path);
	job_inputs_free(&inputs);
	*same = verify.same;
	return code;
}
