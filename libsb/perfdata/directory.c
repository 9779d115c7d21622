/* directory.c - what a perf.data that is a directory holds beside its "data".
 *
 * perf record --threads spreads the records over data.0, data.1, ...: each one a stretch of records without a
 * header, whose events are those of "data". perf record --kcore adds kcore_dir. Format: perf-record(1).
 */
#include "perfdata/perfdata_internal.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PARTS_MAX = SB_CPU_MAX + 1 };

struct parts {
	uint32_t *number;
	size_t count;
};

/* N of "data.N". */
static int part_number(const char *name, uint32_t *number)
{
	char canonical[32];

	if (sscanf(name, "data.%9" SCNu32, number) != 1 || *number >= PARTS_MAX)
		return 0;
	snprintf(canonical, sizeof(canonical), "data.%" PRIu32, *number);
	return !strcmp(name, canonical);
}

static int by_number(const void *a, const void *b)
{
	const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? -1 : left > right;
}

static int find_parts(struct parts *parts, const char *directory, struct sb_error *err)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	int status = 0;

	*parts = (struct parts){0};
	if (!dir)
		return sb_error_set(err, -sbe_io, directory, UINT64_MAX, "%s", strerror(errno));
	while (status == 0 && (entry = readdir(dir))) {
		uint32_t *grown, number;

		if (!part_number(entry->d_name, &number))
			continue;
		grown = sb_array_room(parts->number, parts->count, sizeof(*grown));
		if (!grown) {
			status = sb_error_set(err, -sbe_nomem, directory, UINT64_MAX, "out of memory");
			break;
		}
		parts->number = grown;
		grown[parts->count++] = number;
	}
	closedir(dir);
	if (parts->count)
		qsort(parts->number, parts->count, sizeof(*parts->number), by_number);
	return status;
}

static void note_missing(struct sb_perfdata *perfdata, const char *directory, uint32_t number)
{
	struct sb_error err;

	sb_error_set(&err, -sbe_not_found, directory, UINT64_MAX,
	             "records are in data.%" PRIu32 ", too, which is not there", number);
	sb_perfdata_note_damage(perfdata, &err);
}

static int add_parts(struct sb_perfdata *perfdata, const char *directory, const struct parts *parts,
                     struct sb_error *err)
{
	uint32_t next = 0;

	for (size_t i = 0; i < parts->count; i++) {
		char name[32];
		int status;

		if (parts->number[i] != next)
			note_missing(perfdata, directory, next);
		snprintf(name, sizeof(name), "data.%" PRIu32, parts->number[i]);
		status = sb_perfdata_add_record_file(perfdata, directory, name, -1, err);
		if (status < 0)
			return status;
		next = parts->number[i] + 1;
	}
	if (!next)
		note_missing(perfdata, directory, 0);
	return 0;
}

int sb_perfdata_find_kcore(struct sb_perfdata *perfdata, const char *directory, struct sb_error *err)
{
	char *path = sb_path_join(directory, "kcore_dir");
	struct stat status;

	if (!path)
		return sb_error_set(err, -sbe_nomem, directory, UINT64_MAX, "out of memory");
	if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
		perfdata->kcore_dir = path;
	else
		free(path);
	return 0;
}

int sb_perfdata_read_directory(struct sb_perfdata *perfdata, const char *directory, struct sb_error *err)
{
	struct parts parts;
	int status = sb_perfdata_find_kcore(perfdata, directory, err);

	/* Interrupted, nobody came to say how the directory is laid out. */
	if (status < 0 || (!perfdata->dir_format && !perfdata->info.interrupted))
		return status;
	status = find_parts(&parts, directory, err);
	if (status == 0 && (parts.count || perfdata->dir_format))
		status = add_parts(perfdata, directory, &parts, err);
	free(parts.number);
	return status;
}
