/* recorder_output.c - where a recording goes: a file; or, with the kernel's code, a directory with "data" and
 * kcore_dir, as perf record --kcore makes it. Until it is whole it has another name.
 */
#include "capture/recorder_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/live_kcore.h"

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

/* With kcore, the recording is a directory with "data". */
int recorder_name_output(struct recorder *recorder)
{
	const char *output = recorder->config->output;
	int status = check_output(recorder);

	if (status < 0)
		return status;
	if (!recorder->config->kcore) {
		recorder->output = strdup(output);
	} else if (asprintf(&recorder->directory, "%s.tmp.XXXXXX", output) < 0) {
		recorder->directory = NULL;
	} else if (!mkdtemp(recorder->directory)) {
		free(recorder->directory);
		recorder->directory = NULL;
		return sb_error_set(recorder->err, -sbe_io, output, UINT64_MAX,
		                    "a directory cannot be made: %s", strerror(errno));
	} else {
		recorder->output = join(recorder->directory, "data");
	}
	return recorder->output ? 0
	                        : sb_error_set(recorder->err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
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

/* Takes what there is of a directory away. */
static void remove_directory(const struct recorder *recorder)
{
	static const char *const names[] = {"data", "kcore_dir/kcore", "kcore_dir/kallsyms",
	                                    "kcore_dir/modules", "kcore_dir"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
		char *path = join(recorder->directory, names[i]);

		if (path)
			(void)remove(path);
		free(path);
	}
	rmdir(recorder->directory);
}

int recorder_settle_output(struct recorder *recorder, int status)
{
	if (recorder->directory && status == 0 && rename(recorder->directory, recorder->config->output) < 0)
		status = sb_error_set(recorder->err, -sbe_io, recorder->config->output, UINT64_MAX,
		                      "renaming to it failed: %s", strerror(errno));
	if (recorder->directory && status < 0)
		remove_directory(recorder);
	free(recorder->directory);
	free(recorder->output);
	return status;
}
