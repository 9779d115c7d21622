/* shard_merge.c - see shard_merge.h. However many shards there are, only some of their files are open at a
 * time. */
#include "job/shard_merge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "job/shard_result.h"
#include "tell.h"

enum {
	files_most = 64,  /* that are open at a time, at most */
	told_most = 20,   /* results that are missing or broken, one by one */
	ranges_size = 512 /* of the text that lists them all */
};

/* Where a part's bytes are in its shard's file. */
struct place {
	uint64_t offset, bytes;
};

struct shard_file {
	size_t shard;
	int fd; /* negative: free */
	uint64_t used;
	char *path;
};

struct shard_merge {
	const struct shard_plan *plan;
	struct place **part; /* of each recording, of each part */
	struct shard_file file[files_most];
	size_t nfiles; /* of them, that may be open */
	uint64_t clock;
	size_t recording; /* whose source is in use */
	char name[4096];
};

static int out_of_memory(struct sb_error *err)
{
	return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
}

/* ---- Looking ---------------------------------------------------------------------------------- */

/* "0-3,7,9-11", as --shard takes it; cut short with "...". */
struct ranges {
	char text[ranges_size];
	size_t used, first, last, count;
};

static void put_range(struct ranges *ranges)
{
	char one[64];
	int size;

	if (!ranges->count)
		return;
	size = ranges->first == ranges->last
	               ? snprintf(one, sizeof(one), "%s%zu", ranges->used ? "," : "", ranges->first)
	               : snprintf(one, sizeof(one), "%s%zu-%zu", ranges->used ? "," : "", ranges->first,
	                          ranges->last);
	if (ranges->used + (size_t)size + 4 > sizeof(ranges->text)) {
		if (ranges->used + 4 <= sizeof(ranges->text))
			memcpy(ranges->text + ranges->used, "...", 4);
		ranges->used = sizeof(ranges->text);
		return;
	}
	memcpy(ranges->text + ranges->used, one, (size_t)size + 1);
	ranges->used += (size_t)size;
}

static void add_to_ranges(struct ranges *ranges, size_t shard)
{
	if (ranges->count && ranges->last + 1 == shard) {
		ranges->last = shard;
	} else {
		put_range(ranges);
		ranges->first = ranges->last = shard;
	}
	ranges->count++;
}

/* Where the parts are; the record was checked. */
static void note_places(struct shard_merge *merge, const json_t *record)
{
	const json_t *part;
	size_t i;

	json_array_foreach(json_object_get(record, "parts"), i, part)
	{
		const size_t recording = (size_t)json_integer_value(json_object_get(part, "recording"));
		const size_t index = (size_t)json_integer_value(json_object_get(part, "part"));

		merge->part[recording][index] =
		        (struct place){(uint64_t)json_integer_value(json_object_get(part, "offset")),
		                       (uint64_t)json_integer_value(json_object_get(part, "bytes"))};
	}
}

static int look_at_all(struct shard_merge *merge, const char *command, struct sb_error *err)
{
	struct ranges ranges = {{0}, 0, 0, 0, 0};

	for (size_t i = 0; i < merge->plan->nshards; i++) {
		struct sb_error failure = {0};
		json_t *record = shard_result_record(merge->plan, i, &failure);

		if (record) {
			note_places(merge, record);
			json_decref(record);
			continue;
		}
		if (ranges.count < told_most)
			tell(command, "", &failure);
		add_to_ranges(&ranges, i);
	}
	put_range(&ranges);
	if (!ranges.count)
		return 0;
	return sb_error_set(
	        err, -sbe_not_found, merge->plan->path, UINT64_MAX,
	        "%zu of %zu shards have no result that can be merged: run them again (--shard %s)",
	        ranges.count, merge->plan->nshards, ranges.text);
}

/* Binaries and outputs want to be opened, too: a quarter of what the process may have is ours. */
static size_t count_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= 4 * files_most)
		return files_most;
	return limit.rlim_cur < 8 ? 2 : (size_t)limit.rlim_cur / 4;
}

int shard_merge_open(struct shard_merge **result, const struct shard_plan *plan, const char *command,
                     struct sb_error *err)
{
	struct shard_merge *merge = calloc(1, sizeof(*merge));
	int code = 0;

	*result = merge;
	if (!merge)
		return out_of_memory(err);
	merge->plan = plan;
	merge->nfiles = count_files();
	for (size_t i = 0; i < files_most; i++)
		merge->file[i].fd = -1;
	merge->part = calloc(plan->nrecordings + 1, sizeof(struct place *));
	for (size_t i = 0; merge->part && i < plan->nrecordings && !code; i++) {
		merge->part[i] = calloc(plan->recording[i].nparts + 1, sizeof(struct place));
		code = merge->part[i] ? 0 : -sbe_nomem;
	}
	if (!merge->part || code)
		return out_of_memory(err);
	return look_at_all(merge, command, err);
}

static void close_file(struct shard_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	*file = (struct shard_file){.fd = -1};
}

void shard_merge_close(struct shard_merge *merge)
{
	if (!merge)
		return;
	for (size_t i = 0; i < files_most; i++)
		close_file(&merge->file[i]);
	for (size_t i = 0; merge->part && i < merge->plan->nrecordings; i++)
		free(merge->part[i]);
	free(merge->part);
	free(merge);
}

const char *shard_merge_error(const struct shard_merge *merge, size_t index)
{
	return merge->plan->recording[index].error;
}

const json_t *shard_merge_files(const struct shard_merge *merge, size_t index)
{
	return merge->plan->recording[index].files;
}

struct job_checkpoint shard_merge_checkpoint(const struct shard_merge *merge, size_t index)
{
	return merge->plan->recording[index].checkpoint;
}

/* ---- Reading ---------------------------------------------------------------------------------- */

static size_t shard_of(const struct shard_merge *merge, size_t index)
{
	return merge->plan->recording[merge->recording].part[index].shard;
}

/* The open file of @shard; what was not used for longest is closed for it. NULL: *err has the reason. */
static struct shard_file *open_file(struct shard_merge *merge, size_t shard, struct sb_error *err)
{
	struct shard_file *oldest = merge->file;

	for (struct shard_file *file = merge->file; file < merge->file + merge->nfiles; file++) {
		if (file->fd >= 0 && file->shard == shard)
			return file;
		if (file->fd < 0 || file->used < oldest->used)
			oldest = file;
	}
	close_file(oldest);
	oldest->shard = shard;
	oldest->path = shard_plan_result(merge->plan, shard);
	oldest->fd = oldest->path ? open(oldest->path, O_RDONLY | O_CLOEXEC) : -1;
	if (oldest->fd >= 0)
		return oldest;
	if (oldest->path)
		sb_error_set(err, -sbe_io, oldest->path, UINT64_MAX, "cannot be opened: %s", strerror(errno));
	else
		out_of_memory(err);
	close_file(oldest);
	return NULL;
}

static int64_t read_part(void *context, size_t index, uint64_t offset, void *bytes, size_t size,
                         struct sb_error *err)
{
	struct shard_merge *merge = context;
	const struct place *place = &merge->part[merge->recording][index];
	struct shard_file *file;
	ssize_t n;

	if (offset >= place->bytes)
		return 0;
	if (size > place->bytes - offset)
		size = place->bytes - offset;
	file = open_file(merge, shard_of(merge, index), err);
	if (!file)
		return err && err->code ? err->code : -sbe_io;
	file->used = ++merge->clock;
	do
		n = pread(file->fd, bytes, size, (off_t)(place->offset + offset));
	while (n < 0 && errno == EINTR);
	return n < 0 ? sb_error_set(err, -sbe_io, file->path, place->offset + offset, "cannot be read: %s",
	                            strerror(errno))
	             : n;
}

static const char *name_part(void *context, size_t index)
{
	struct shard_merge *merge = context;
	char *path = shard_plan_result(merge->plan, shard_of(merge, index));

	snprintf(merge->name, sizeof(merge->name), "%s", path ? path : "a shard's result");
	free(path);
	return merge->name;
}

struct sb_span_source shard_merge_source(struct shard_merge *merge, size_t index)
{
	merge->recording = index;
	return (struct sb_span_source){.size = sizeof(struct sb_span_source),
	                               .line = shard_plan_line(merge->plan, index),
	                               .context = merge,
	                               .read = read_part,
	                               .name = name_part};
}
