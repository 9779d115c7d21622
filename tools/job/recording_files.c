/* recording_files.c - see recording_files.h. */
#include "job/recording_files.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { samples = 64, sample_size = 1024 };

static int cannot_read(const char *path, struct sb_error *err)
{
	return sb_error_set(err, -sbe_io, path, UINT64_MAX, "cannot be read: %s", strerror(errno));
}

/* Of the first bytes, the last ones, and some between. */
static int sample(int fd, uint64_t size, char text[65])
{
	struct sha256_ctx context;
	uint8_t bytes[sample_size], digest[SHA256_DIGEST_SIZE];
	const uint64_t last = size > sample_size ? size - sample_size : 0;

	sha256_init(&context);
	for (unsigned int i = 0; i < samples; i++) {
		const uint64_t at = last / (samples - 1) * i + last % (samples - 1) * i / (samples - 1);
		const ssize_t n = pread(fd, bytes, sizeof(bytes), (off_t)at);

		if (n < 0)
			return -1;
		sha256_update(&context, (size_t)n, bytes);
	}
	sha256_digest(&context, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
	return 0;
}

static int add_file(json_t *files, const char *path, const char *name, struct sb_error *err)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char text[65];
	int code = 0;

	if (fd < 0 || fstat(fd, &st) || sample(fd, (uint64_t)st.st_size, text))
		code = cannot_read(path, err);
	else
		json_object_set_new_nocheck(
		        files, name,
		        json_pack("{s:I, s:s}", "bytes", (json_int_t)st.st_size, "sample", text));
	if (fd >= 0)
		close(fd);
	return code;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int add_below(json_t *files, const char *path, struct sb_error *err)
{
	char *copy = strdup(path), *roots[] = {copy, NULL};
	FTS *walk = copy ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name) : NULL;
	FTSENT *entry;
	int code = walk ? 0 : sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");

	while (!code && (entry = fts_read(walk))) {
		const char *name = entry->fts_path + strlen(path);

		if (entry->fts_info == FTS_F)
			code = add_file(files, entry->fts_path, name + strspn(name, "/"), err);
		else if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR)
			code = sb_error_set(err, -sbe_io, entry->fts_path, UINT64_MAX, "cannot be read: %s",
			                    strerror(entry->fts_errno));
	}
	if (walk)
		fts_close(walk);
	free(copy);
	return code;
}

json_t *recording_files(const char *path, struct sb_error *err)
{
	json_t *files = json_object();
	struct stat st;
	int code;

	if (stat(path, &st))
		code = cannot_read(path, err);
	else if (S_ISDIR(st.st_mode))
		code = add_below(files, path, err);
	else if (S_ISREG(st.st_mode))
		code = add_file(files, path, "", err);
	else
		code = sb_error_set(
		        err, -sbe_unsupported, path, UINT64_MAX,
		        "expected a file or a directory, which all shards can read; found neither");
	if (!code)
		return files;
	json_decref(files);
	return NULL;
}

int recording_files_check(const char *path, const json_t *files, struct sb_error *err)
{
	json_t *now = recording_files(path, err), *value;
	const char *name, *differs = NULL;

	if (!now)
		return err->code;
	json_object_foreach(now, name, value) if (!json_equal(value, json_object_get(files, name))) differs =
	        name;
	json_object_foreach((json_t *)(uintptr_t)files, name, value) if (!json_object_get(now, name))
	        differs = name;
	if (differs)
		sb_error_set(err, -sbe_mismatch, path, UINT64_MAX,
		             "%s%sis not what it was when the plan was made", differs, *differs ? ": " : "");
	json_decref(now);
	return differs ? -sbe_mismatch : 0;
}
