/* truth_file.c - writes the truth by hand, since printf() would take longer than the tracing. */
#include "truth_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 96 };

struct truth_file {
	FILE *stream;
	char *path;
};

int truth_file_open(struct truth_file **out, const char *path, struct sb_error *err)
{
	struct truth_file *file = calloc(1, sizeof(*file));

	*out = NULL;
	if (file)
		file->path = strdup(path);
	if (!file || !file->path) {
		free(file);
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	}
	file->stream = fopen(path, "we");
	if (!file->stream) {
		int status = sb_error_set(err, -sbe_io, path, UINT64_MAX, "%s", strerror(errno));

		free(file->path);
		free(file);
		return status;
	}
	setvbuf(file->stream, NULL, _IOFBF, 1 << 18);
	*out = file;
	return 0;
}

/* Puts digits in front of @end; returns the first. */
static char *put_number(char *end, uint64_t value, unsigned base)
{
	do {
		*--end = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	return end;
}

void truth_file_add(struct truth_file *file, uint32_t cpu, int32_t pid, int32_t tid, uint64_t tsc,
                    uint64_t ip)
{
	char line[LINE_MAX_BYTES], *at = line + sizeof(line);

	*--at = '\n';
	at = put_number(at, ip, 16);
	*--at = '\t';
	at = put_number(at, tsc, 10);
	*--at = '\t';
	at = put_number(at, (uint32_t)tid, 10);
	*--at = '\t';
	at = put_number(at, (uint32_t)pid, 10);
	*--at = '\t';
	at = put_number(at, cpu, 10);
	fwrite_unlocked(at, 1, (size_t)(line + sizeof(line) - at), file->stream);
}

int truth_file_close(struct truth_file *file, struct sb_error *err)
{
	int failed, status = 0;

	if (!file)
		return 0;
	failed = ferror(file->stream);
	failed |= fclose(file->stream);
	if (failed)
		status = sb_error_set(err, -sbe_io, file->path, UINT64_MAX, "writing failed: %s",
		                      strerror(errno));
	free(file->path);
	free(file);
	return status;
}
