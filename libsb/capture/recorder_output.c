/* recorder_output.c - where a recording goes: a file; or, with the kernel's code, a directory with "data" and
 * kcore_dir, as perf record --kcore makes it. Until it is whole it has another name.
 */
#include "capture/recorder_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/live_kcore.h"
#include "perfdata/perfdata_internal.h"
#include "unfinished.h"

/* A file must not be in the way at the end, when all is recorded. */
static int check_output(struct recorder *recorder)
{
	const struct sb_recorder_config *config = recorder->config;
	struct stat info;

	if (stat(config->output, &info) < 0)
		return 0;
	if (config->kcore)
		return sb_error_set(recorder->err, -sbe_io, config->output, UINT64_MAX,
		                    "it is there already: with kcore, a new directory is made");
	if (S_ISDIR(info.st_mode))
		return sb_error_set(recorder->err, -sbe_io, config->output, UINT64_MAX, "it is a directory");
	return 0;
}

static char *join(const char *directory, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

static void tell_removed(void *context, const char *name)
{
	recorder_note(context, "%s is removed: a recording that was killed has left it", name);
}

static int make_directory(struct recorder *recorder)
{
	recorder->lock = unfinished_directory(recorder->config->output, &recorder->directory);
	if (recorder->lock < 0)
		return sb_error_set(recorder->err, -sbe_io, recorder->config->output, UINT64_MAX,
		                    "a directory cannot be made: %s", strerror(errno));
	recorder->output = join(recorder->directory, "data");
	return 0;
}

/* With kcore, the recording is a directory with "data". */
int recorder_name_output(struct recorder *recorder)
{
	const char *output = recorder->config->output;
	int status = check_output(recorder);

	if (status < 0)
		return status;
	unfinished_clear(output, SB_HEADER_MAGIC, tell_removed, recorder);
	if (recorder->config->kcore)
		status = make_directory(recorder);
	else
		recorder->output = strdup(output);
	if (status == 0 && !recorder->output)
		status = sb_error_set(recorder->err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	return status;
}

int recorder_copy_kcore(struct recorder *recorder)
{
	char *directory;
	int status;

	if (!recorder->directory)
		return 0;
	directory = join(recorder->directory, "kcore_dir");
	if (!directory)
		return sb_error_set(recorder->err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	status = live_kcore_copy(directory, recorder->proc, recorder->err);
	free(directory);
	return status;
}

/* Under which name a directory is kept that is not whole. Nobody takes it for one that was left, then, even
 * if it cannot be renamed. */
static void keep_directory(const struct recorder *recorder, char name[PATH_MAX])
{
	const int size = snprintf(name, PATH_MAX, "%s.interrupted", recorder->config->output);

	if (size < PATH_MAX && unfinished_rename_directory(recorder->lock, recorder->directory, name) == 0)
		return;
	snprintf(name, PATH_MAX, "%s", recorder->directory);
	(void)unfinished_rename_directory(recorder->lock, name, name);
}

/* Hours of recording are not thrown away because the disk is full. */
static void keep(struct recorder *recorder)
{
	char *kept = recorder->writer ? sb_writer_keep(recorder->writer) : NULL, name[PATH_MAX];

	recorder->writer = NULL;
	if (recorder->directory)
		keep_directory(recorder, name);
	else
		snprintf(name, sizeof(name), "%s", kept ? kept : "");
	free(kept);
	if (name[0])
		recorder_note(recorder,
		              "what was recorded until then is kept, and reads as an interrupted recording: "
		              "%s",
		              name);
	else
		recorder_note(recorder, "what was recorded until then could not be kept");
}

static int settle_directory(struct recorder *recorder)
{
	if (unfinished_rename_directory(recorder->lock, recorder->directory, recorder->config->output) == 0)
		return 0;
	unfinished_remove_directory(recorder->lock, recorder->directory);
	return sb_error_set(recorder->err, -sbe_io, recorder->config->output, UINT64_MAX,
	                    "renaming to it failed: %s", strerror(errno));
}

int recorder_settle_output(struct recorder *recorder, int status)
{
	if (status < 0 && recorder->has_begun && (recorder->writer || recorder->directory)) {
		keep(recorder);
	} else {
		sb_perfdata_writer_abort(recorder->writer);
		if (recorder->directory && status == 0)
			status = settle_directory(recorder);
		else if (recorder->directory)
			unfinished_remove_directory(recorder->lock, recorder->directory);
	}
	if (recorder->lock >= 0)
		close(recorder->lock);
	free(recorder->directory);
	free(recorder->output);
	return status;
}
