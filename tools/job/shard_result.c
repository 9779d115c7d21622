/* shard_result.c - see shard_result.h.
 *
 * "SBSHARD\n", the parts, the record, and 24 bytes: where the record begins and its size (little-endian, 8
 * bytes each), "SBSHEND\n".
 */
#include "job/shard_result.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "job/account_value.h"
#include "version.h"

static const char format[] = "sbtrace shard 1";
static const char magic[8] = {'S', 'B', 'S', 'H', 'A', 'R', 'D', '\n'};
static const char end_magic[8] = {'S', 'B', 'S', 'H', 'E', 'N', 'D', '\n'};

enum { buffer_size = 64 * 1024, end_size = 32, record_most = 64 << 20 };

static int out_of_memory(struct sb_error *err)
{
	return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
}

static int failed(const char *path, const char *what, struct sb_error *err)
{
	return sb_error_set(err, -sbe_io, path, UINT64_MAX, "cannot be %s: %s", what, strerror(errno));
}

/* ---- Writing ---------------------------------------------------------------------------------- */

void shard_writer_cancel(struct shard_writer *writer)
{
	if (writer->fd >= 0)
		close(writer->fd);
	if (writer->temporary)
		unlink(writer->temporary);
	free(writer->temporary);
	free(writer->path);
	free(writer->buffer);
	json_decref(writer->parts);
	*writer = (struct shard_writer){.fd = -1};
}

int shard_writer_open(struct shard_writer *writer, const struct shard_plan *plan, size_t shard,
                      struct sb_error *err)
{
	int code = 0;

	*writer = (struct shard_writer){.plan = plan, .shard = shard, .fd = -1, .parts = json_array()};
	writer->path = shard_plan_result(plan, shard);
	writer->buffer = malloc(buffer_size);
	if (!writer->path || !writer->buffer || !writer->parts ||
	    asprintf(&writer->temporary, "%s.tmp-XXXXXX", writer->path) < 0) {
		writer->temporary = NULL;
		shard_writer_cancel(writer);
		return out_of_memory(err);
	}
	if (mkdir(plan->results, 0777) && errno != EEXIST)
		code = failed(plan->results, "made", err);
	else if ((writer->fd = mkostemp(writer->temporary, O_CLOEXEC)) < 0)
		code = failed(writer->path, "written", err);
	if (code) {
		free(writer->temporary);
		writer->temporary = NULL;
		shard_writer_cancel(writer);
		return code;
	}
	sha256_init(&writer->sum);
	memcpy(writer->buffer, magic, sizeof(magic));
	writer->used = sizeof(magic);
	return 0;
}

static int write_all(int fd, const uint8_t *bytes, size_t size)
{
	while (size) {
		const ssize_t n = write(fd, bytes, size);

		if (n < 0 && errno != EINTR)
			return -1;
		bytes += n > 0 ? n : 0;
		size -= (size_t)(n > 0 ? n : 0);
	}
	return 0;
}

static int flush(struct shard_writer *writer)
{
	sha256_update(&writer->sum, writer->used, writer->buffer);
	if (write_all(writer->fd, writer->buffer, writer->used))
		return -sbe_io;
	writer->written += writer->used;
	writer->used = 0;
	return 0;
}

int shard_writer_write(void *context, const void *bytes, size_t size)
{
	struct shard_writer *writer = context;
	const uint8_t *from = bytes;

	while (size) {
		const size_t room = buffer_size - writer->used, n = size < room ? size : room;

		memcpy(writer->buffer + writer->used, from, n);
		writer->used += n;
		from += n;
		size -= n;
		if (writer->used == buffer_size && flush(writer))
			return -sbe_io;
	}
	return 0;
}

uint64_t shard_writer_offset(const struct shard_writer *writer)
{
	return writer->written + writer->used;
}

void shard_writer_part(struct shard_writer *writer, size_t recording, size_t index, uint64_t offset,
                       const struct sb_account *account)
{
	json_t *sums = account_value(account);

	json_object_del(sums, "threads");
	json_object_del(sums, "bytes");
	json_array_append_new(writer->parts,
	                      json_pack("{s:I, s:I, s:I, s:I, s:o}", "recording", (json_int_t)recording,
	                                "part", (json_int_t)index, "offset", (json_int_t)offset, "bytes",
	                                (json_int_t)(shard_writer_offset(writer) - offset), "account", sums));
}

/* The sum is of all that comes before the record. */
static char *record_text(const struct shard_writer *writer)
{
	struct sha256_ctx sum = writer->sum;
	uint8_t digest[SHA256_DIGEST_SIZE];
	char text[2 * SHA256_DIGEST_SIZE + 1];
	json_t *record;
	char *dump;

	sha256_digest(&sum, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
	record = json_pack("{s:s, s:s, s:s, s:I, s:s, s:O}", "format", format, "sbtrace", sbtrace_version,
	                   "plan", writer->plan->hash, "shard", (json_int_t)writer->shard, "sha256", text,
	                   "parts", writer->parts);
	dump = json_dumps(record, JSON_INDENT(1));
	json_decref(record);
	return dump;
}

static int write_record(struct shard_writer *writer)
{
	uint8_t end[end_size];
	uint64_t place[3];
	char *text;
	int code;

	if (flush(writer))
		return -sbe_io;
	text = record_text(writer);
	if (!text)
		return -sbe_nomem;
	place[0] = writer->written;
	place[1] = strlen(text);
	place[2] = crc32_z(0, (const uint8_t *)text, place[1]);
	memcpy(end, place, sizeof(place));
	memcpy(end + sizeof(place), end_magic, sizeof(end_magic));
	code = write_all(writer->fd, (const uint8_t *)text, place[1]) ||
	                       write_all(writer->fd, end, sizeof(end))
	               ? -sbe_io
	               : 0;
	free(text);
	return code;
}

int shard_writer_commit(struct shard_writer *writer, struct sb_error *err)
{
	int code = write_record(writer);
	const mode_t mask = umask(0);

	umask(mask);
	if (code == -sbe_nomem)
		out_of_memory(err);
	else if (code || fchmod(writer->fd, 0666 & ~mask) || fsync(writer->fd))
		code = failed(writer->path, "written", err);
	else if (rename(writer->temporary, writer->path))
		code = failed(writer->path, "put in its place", err);
	if (!code) {
		free(writer->temporary);
		writer->temporary = NULL;
	}
	shard_writer_cancel(writer);
	return code;
}

/* ---- Reading ---------------------------------------------------------------------------------- */

static int cut_short(const char *path, uint64_t size, struct sb_error *err)
{
	return sb_error_set(err, -sbe_truncated, path, size, "a shard's result ends here, before its end");
}

static int read_at(int fd, const char *path, void *bytes, size_t size, uint64_t offset, struct sb_error *err)
{
	for (size_t have = 0; have < size;) {
		const ssize_t n = pread(fd, (char *)bytes + have, size - have, (off_t)(offset + have));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return failed(path, "read", err);
		if (n == 0)
			return cut_short(path, offset + have, err);
		have += (size_t)n;
	}
	return 0;
}

/* The text of the record; *offset: where it begins. NULL: *err has the reason. */
static json_t *read_record(int fd, const char *path, uint64_t *offset, struct sb_error *err)
{
	char first[sizeof(magic)], end[end_size], *text;
	uint64_t place[3];
	json_t *record = NULL;
	json_error_t error;
	struct stat st;

	if (fstat(fd, &st)) {
		failed(path, "read", err);
		return NULL;
	}
	if ((uint64_t)st.st_size < sizeof(magic) + end_size) {
		cut_short(path, (uint64_t)st.st_size, err);
		return NULL;
	}
	if (read_at(fd, path, first, sizeof(first), 0, err) ||
	    read_at(fd, path, end, sizeof(end), (uint64_t)st.st_size - end_size, err))
		return NULL;
	memcpy(place, end, sizeof(place));
	if (memcmp(first, magic, sizeof(magic)) != 0) {
		sb_error_set(err, -sbe_format, path, 0, "expected a shard's result, found something else");
		return NULL;
	}
	if (memcmp(end + sizeof(place), end_magic, sizeof(end_magic)) != 0) {
		cut_short(path, (uint64_t)st.st_size, err);
		return NULL;
	}
	if (place[1] > record_most || place[0] > (uint64_t)st.st_size ||
	    place[0] + place[1] + end_size != (uint64_t)st.st_size) {
		sb_error_set(err, -sbe_format, path, (uint64_t)st.st_size - end_size,
		             "expected %" PRIu64 " bytes of a shard's result, found %" PRIu64,
		             place[0] + place[1] + end_size, (uint64_t)st.st_size);
		return NULL;
	}
	*offset = place[0];
	text = malloc(place[1] + 1);
	if (!text)
		out_of_memory(err);
	else if (read_at(fd, path, text, place[1], place[0], err))
		;
	else if (crc32_z(0, (const uint8_t *)text, place[1]) != place[2])
		sb_error_set(
		        err, -sbe_format, path, place[0],
		        "the record of a shard's result is damaged: its CRC-32 is not the one that was written");
	else if (!(record = json_loadb(text, place[1], JSON_REJECT_DUPLICATES, &error)))
		sb_error_set(err, -sbe_format, path, place[0], "no record of a shard's result: %s",
		             error.text);
	free(text);
	return record;
}

static const char *text_of(const json_t *record, const char *key)
{
	const char *text = json_string_value(json_object_get(record, key));

	return text ? text : "nothing";
}

static int check_text(const json_t *record, const char *path, const char *key, const char *expected,
                      const char *what, struct sb_error *err)
{
	const char *found = text_of(record, key);

	if (!strcmp(found, expected))
		return 0;
	return sb_error_set(err, -sbe_mismatch, path, UINT64_MAX, "expected %s %s, found %.80s", what,
	                    expected, found);
}

static bool is_number(const json_t *value, const char *key, uint64_t *number)
{
	const json_t *found = json_object_get(value, key);

	*number = (uint64_t)json_integer_value(found);
	return json_is_integer(found) && json_integer_value(found) >= 0;
}

/* Whether the record's part at @at is that part of the plan, and lies before @end. */
static bool is_part(const json_t *record, size_t at, size_t recording, size_t index, uint64_t end)
{
	const json_t *part = json_array_get(json_object_get(record, "parts"), at);
	uint64_t number, offset, bytes;

	return is_number(part, "recording", &number) && number == recording &&
	       is_number(part, "part", &number) && number == index && is_number(part, "offset", &offset) &&
	       is_number(part, "bytes", &bytes) && offset <= end && bytes <= end - offset;
}

static int check_parts(const struct shard_plan *plan, size_t shard, const json_t *record, const char *path,
                       uint64_t end, struct sb_error *err)
{
	size_t at = 0;
	bool same = true;

	for (size_t i = 0; i < plan->nrecordings && same; i++)
		for (size_t k = 0; k < plan->recording[i].nparts && same; k++)
			if (plan->recording[i].part[k].shard == shard)
				same = is_part(record, at++, i, k, end);
	if (same && at == json_array_size(json_object_get(record, "parts")))
		return 0;
	return sb_error_set(err, -sbe_mismatch, path, UINT64_MAX,
	                    "its record does not have the parts that the plan has for this shard");
}

static int check_record(const struct shard_plan *plan, size_t shard, const json_t *record, const char *path,
                        uint64_t end, struct sb_error *err)
{
	uint64_t number;
	int code = check_text(record, path, "format", format, "a result of the format", err);

	if (!code)
		code = check_text(record, path, "sbtrace", sbtrace_version, "the result of sbtrace", err);
	if (!code)
		code = check_text(record, path, "plan", plan->hash, "the result of the plan with the hash",
		                  err);
	if (!code && (!is_number(record, "shard", &number) || number != shard))
		code = sb_error_set(err, -sbe_mismatch, path, UINT64_MAX,
		                    "expected the result of shard %zu, found another shard's", shard);
	return code ? code : check_parts(plan, shard, record, path, end, err);
}

static int open_result(const char *path, struct sb_error *err)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return sb_error_set(err, errno == ENOENT ? -sbe_not_found : -sbe_io, path, UINT64_MAX,
		                    errno == ENOENT ? "is not there" : "cannot be opened: %s",
		                    strerror(errno));
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return sb_error_set(err, -sbe_format, path, UINT64_MAX,
	                    "expected a shard's result, found no regular file");
}

/* *sum: of its bytes, when it is to be made. */
static json_t *look_at(const struct shard_plan *plan, size_t shard, int *fd, uint64_t *end,
                       struct sb_error *err)
{
	char *path = shard_plan_result(plan, shard);
	json_t *record = NULL;

	*fd = path ? open_result(path, err) : out_of_memory(err);
	if (*fd >= 0)
		record = read_record(*fd, path, end, err);
	if (record && check_record(plan, shard, record, path, *end, err)) {
		json_decref(record);
		record = NULL;
	}
	free(path);
	return record;
}

json_t *shard_result_record(const struct shard_plan *plan, size_t shard, struct sb_error *err)
{
	uint64_t end;
	int fd;
	json_t *record = look_at(plan, shard, &fd, &end, err);

	if (fd >= 0)
		close(fd);
	return record;
}

static int sum_up(int fd, const char *path, uint64_t end, char text[65], struct sb_error *err)
{
	uint8_t *bytes = malloc(buffer_size), digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx sum;
	int code = bytes ? 0 : out_of_memory(err);

	sha256_init(&sum);
	for (uint64_t at = 0; at < end && !code;) {
		const size_t n = end - at < buffer_size ? (size_t)(end - at) : buffer_size;

		code = read_at(fd, path, bytes, n, at, err);
		if (!code)
			sha256_update(&sum, n, bytes);
		at += n;
	}
	free(bytes);
	sha256_digest(&sum, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
	return code;
}

int shard_result_verify(const struct shard_plan *plan, size_t shard, struct sb_error *err)
{
	uint64_t end = 0;
	int fd, code;
	json_t *record = look_at(plan, shard, &fd, &end, err);
	char *path = shard_plan_result(plan, shard), text[65];

	code = !path ? out_of_memory(err) : record ? sum_up(fd, path, end, text, err) : err->code;
	if (!code)
		code = check_text(record, path, "sha256", text, "bytes with the SHA-256", err);
	if (fd >= 0)
		close(fd);
	json_decref(record);
	free(path);
	return code;
}
