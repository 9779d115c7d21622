/* compressed_file.c - see compressed_file.h.
 *
 * Formats: gzip RFC 1952, zstd RFC 8878, xz "The .xz File Format" 1.1; read by zlib, libzstd and liblzma. A
 * file may have several members one after the other; zeros may follow. Memory is bounded by what the formats'
 * own tools allow, the result by the caller.
 */
#include "binary/compressed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { IN_SIZE = 64 << 10, OUT_SIZE = 256 << 10, MAGIC_MAX = 6 };

/* xz -9 needs 65 MiB, and the kernel's modules less. */
static const uint64_t xz_memory_limit = 256 << 20;

/* What is left to read, and where to write. */
struct piece {
	const uint8_t *in;
	size_t in_size;
	uint8_t *out;
	size_t out_size;
};

enum step_result { step_more, step_end, step_bad };

/* A compression as a row: how its files begin, and how one member is unpacked. step() takes from the front of
 * @piece what it can; *why says what is wrong with a bad one. */
struct compression {
	const char *name;
	uint8_t magic[MAGIC_MAX];
	size_t magic_size;
	void *(*begin)(void);
	enum step_result (*step)(void *state, struct piece *piece, const char **why);
	void (*end)(void *state);
};

static void piece_advance(struct piece *piece, size_t in_left, size_t out_left)
{
	piece->in += piece->in_size - in_left;
	piece->in_size = in_left;
	piece->out += piece->out_size - out_left;
	piece->out_size = out_left;
}

/* ---- gzip ------------------------------------------------------------------------------------- */

static void *gzip_begin(void)
{
	z_stream *stream = calloc(1, sizeof(*stream));

	if (stream && inflateInit2(stream, 16 + MAX_WBITS) != Z_OK) {
		free(stream);
		return NULL;
	}
	return stream;
}

static enum step_result gzip_step(void *state, struct piece *piece, const char **why)
{
	z_stream *stream = state;
	int status;

	stream->next_in = (Bytef *)(uintptr_t)piece->in;
	stream->avail_in = (uInt)piece->in_size;
	stream->next_out = piece->out;
	stream->avail_out = (uInt)piece->out_size;
	status = inflate(stream, Z_NO_FLUSH);
	piece_advance(piece, stream->avail_in, stream->avail_out);
	if (status == Z_STREAM_END)
		return step_end;
	*why = stream->msg ? stream->msg : zError(status);
	return status == Z_OK || status == Z_BUF_ERROR ? step_more : step_bad;
}

static void gzip_end(void *state)
{
	inflateEnd(state);
	free(state);
}

/* ---- zstd ------------------------------------------------------------------------------------- */

static void *zstd_begin(void)
{
	return ZSTD_createDStream();
}

static enum step_result zstd_step(void *state, struct piece *piece, const char **why)
{
	ZSTD_inBuffer in = {piece->in, piece->in_size, 0};
	ZSTD_outBuffer out = {piece->out, piece->out_size, 0};
	const size_t status = ZSTD_decompressStream(state, &out, &in);

	piece_advance(piece, in.size - in.pos, out.size - out.pos);
	*why = ZSTD_getErrorName(status);
	if (ZSTD_isError(status))
		return step_bad;
	return status == 0 ? step_end : step_more;
}

static void zstd_end(void *state)
{
	ZSTD_freeDStream(state);
}

/* ---- xz --------------------------------------------------------------------------------------- */

static void *xz_begin(void)
{
	static const lzma_stream fresh = LZMA_STREAM_INIT;
	lzma_stream *stream = malloc(sizeof(*stream));

	if (!stream)
		return NULL;
	*stream = fresh;
	if (lzma_stream_decoder(stream, xz_memory_limit, 0) != LZMA_OK) {
		free(stream);
		return NULL;
	}
	return stream;
}

static const char *xz_reason(lzma_ret status)
{
	switch (status) {
	case LZMA_MEM_ERROR:
		return "out of memory";
	case LZMA_MEMLIMIT_ERROR:
		return "needs more than 256 MiB to unpack";
	case LZMA_OPTIONS_ERROR:
		return "uses what this liblzma does not know";
	default:
		return "data is corrupt";
	}
}

static enum step_result xz_step(void *state, struct piece *piece, const char **why)
{
	lzma_stream *stream = state;
	lzma_ret status;

	stream->next_in = piece->in;
	stream->avail_in = piece->in_size;
	stream->next_out = piece->out;
	stream->avail_out = piece->out_size;
	status = lzma_code(stream, LZMA_RUN);
	piece_advance(piece, stream->avail_in, stream->avail_out);
	if (status == LZMA_STREAM_END)
		return step_end;
	*why = xz_reason(status);
	return status == LZMA_OK || status == LZMA_BUF_ERROR ? step_more : step_bad;
}

static void xz_end(void *state)
{
	lzma_end(state);
	free(state);
}

static const struct compression compressions[] = {
        {"gzip", {0x1f, 0x8b, 0x08}, 3, gzip_begin, gzip_step, gzip_end},
        {"zstd", {0x28, 0xb5, 0x2f, 0xfd}, 4, zstd_begin, zstd_step, zstd_end},
        {"xz", {0xfd, '7', 'z', 'X', 'Z', 0}, 6, xz_begin, xz_step, xz_end},
};

static const struct compression *compression_of(int fd)
{
	uint8_t begin[MAGIC_MAX];
	const ssize_t size = pread(fd, begin, sizeof(begin), 0);

	for (size_t i = 0; i < sizeof(compressions) / sizeof(compressions[0]); i++) {
		const struct compression *compression = &compressions[i];

		if (size >= (ssize_t)compression->magic_size &&
		    memcmp(begin, compression->magic, compression->magic_size) == 0)
			return compression;
	}
	return NULL;
}

int compressed_file_is(int fd)
{
	return compression_of(fd) != NULL;
}

/* ---- Unpacking -------------------------------------------------------------------------------- */

/* One file on its way from compressed to plain. */
struct unpacking {
	const struct compression *compression;
	const char *path; /* for errors */
	int from, to;
	uint64_t limit, made, taken;
	void *state; /* of the member; NULL: between two members */
	struct sb_error *err;
	uint8_t in[IN_SIZE], out[OUT_SIZE];
};

static int bad(struct unpacking *unpacking, int code, const char *why)
{
	return sb_error_set(unpacking->err, code, unpacking->path, unpacking->taken, "as %s: %s",
	                    unpacking->compression->name, why);
}

static int write_out(struct unpacking *unpacking, size_t size)
{
	const uint8_t *bytes = unpacking->out;

	if (size > unpacking->limit - unpacking->made)
		return sb_error_set(unpacking->err, -sbe_unsupported, unpacking->path, unpacking->taken,
		                    "unpacks to more than 0x%" PRIx64 " bytes", unpacking->limit);
	unpacking->made += size;
	while (size) {
		const ssize_t n = write(unpacking->to, bytes, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return sb_error_set(unpacking->err, -sbe_io, unpacking->path, UINT64_MAX,
			                    "cannot be unpacked into a temporary file: %m");
		bytes += n;
		size -= (size_t)n;
	}
	return 0;
}

static void end_member(struct unpacking *unpacking)
{
	if (unpacking->state)
		unpacking->compression->end(unpacking->state);
	unpacking->state = NULL;
}

/* A member begins, or zeros that fill up the file are passed by. */
static int begin_member(struct unpacking *unpacking, struct piece *piece)
{
	while (piece->in_size && !*piece->in) {
		piece->in++;
		piece->in_size--;
	}
	if (!piece->in_size)
		return 0;
	unpacking->state = unpacking->compression->begin();
	return unpacking->state ? 0 : bad(unpacking, -sbe_nomem, "out of memory");
}

static int unpack_step(struct unpacking *unpacking, struct piece *piece)
{
	const size_t in_before = piece->in_size;
	const char *why = "";
	enum step_result result;
	int status;

	piece->out = unpacking->out;
	piece->out_size = OUT_SIZE;
	result = unpacking->compression->step(unpacking->state, piece, &why);
	if (result == step_more && in_before && piece->in_size == in_before && piece->out_size == OUT_SIZE)
		return bad(unpacking, -sbe_format, "it does not go on");
	if (result == step_bad)
		return bad(unpacking, -sbe_format, why);
	status = write_out(unpacking, OUT_SIZE - piece->out_size);
	if (result == step_end)
		end_member(unpacking);
	return status;
}

/* All that @size bytes of input give. */
static int unpack_input(struct unpacking *unpacking, size_t size)
{
	struct piece piece = {.in = unpacking->in, .in_size = size};
	int status = 0;

	/* A full output may leave some inside the library. */
	while (status == 0 && (piece.in_size || (unpacking->state && piece.out && !piece.out_size))) {
		if (!unpacking->state)
			status = begin_member(unpacking, &piece);
		if (status == 0 && unpacking->state)
			status = unpack_step(unpacking, &piece);
	}
	return status;
}

static int unpack(struct unpacking *unpacking)
{
	int status = 0;

	while (status == 0) {
		const ssize_t n = pread(unpacking->from, unpacking->in, IN_SIZE, (off_t)unpacking->taken);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return sb_error_set(unpacking->err, -sbe_io, unpacking->path, unpacking->taken,
			                    "cannot be read: %m");
		if (n == 0)
			break;
		status = unpack_input(unpacking, (size_t)n);
		unpacking->taken += (uint64_t)n;
	}
	if (status == 0 && unpacking->state)
		status = bad(unpacking, -sbe_truncated, "the file ends before the data does");
	return status;
}

/* On disk where that is possible: what was unpacked is not counted as memory, then. */
static int nameless_file(void)
{
	const char *directory = getenv("TMPDIR");
	int fd;

	if (!directory || directory[0] != '/')
		directory = "/tmp";
	fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd >= 0 ? fd : memfd_create("sbtrace-unpacked", MFD_CLOEXEC);
}

static int unpack_file(struct plain_file *plain, const struct compression *compression, int fd,
                       const char *path, uint64_t limit, struct sb_error *err)
{
	struct unpacking *unpacking = calloc(1, sizeof(*unpacking));
	int status;

	if (!unpacking)
		return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	plain->fd = nameless_file();
	unpacking->compression = compression;
	unpacking->path = path;
	unpacking->from = fd;
	unpacking->to = plain->fd;
	unpacking->limit = limit ? limit : PLAIN_FILE_LIMIT;
	unpacking->err = err;
	if (plain->fd < 0)
		status = sb_error_set(err, -sbe_io, path, UINT64_MAX, "no place to unpack it: %m");
	else
		status = unpack(unpacking);
	end_member(unpacking);
	plain->unpacked = 1;
	plain->size = unpacking->made;
	free(unpacking);
	if (status == 0 && asprintf(&plain->path, "/proc/self/fd/%d", plain->fd) < 0) {
		plain->path = NULL;
		status = sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	}
	return status;
}

/* ---- Opening ---------------------------------------------------------------------------------- */

static int as_it_is(struct plain_file *plain, int fd, const char *path, struct sb_error *err)
{
	struct stat status;

	plain->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (plain->fd < 0 || fstat(plain->fd, &status) < 0)
		return sb_error_set(err, -sbe_io, path, UINT64_MAX, "cannot be opened: %m");
	plain->size = (uint64_t)status.st_size;
	plain->path = strdup(path);
	return plain->path ? 0 : sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
}

int plain_file_of(struct plain_file *plain, int fd, const char *path, uint64_t limit, struct sb_error *err)
{
	const struct compression *compression = compression_of(fd);
	int status;

	*plain = (struct plain_file){.fd = -1};
	if (compression)
		status = unpack_file(plain, compression, fd, path, limit, err);
	else
		status = as_it_is(plain, fd, path, err);
	if (status < 0)
		plain_file_close(plain);
	else
		lseek(plain->fd, 0, SEEK_SET);
	return status;
}

int open_maybe_compressed(struct plain_file *plain, const char *path, uint64_t limit, struct sb_error *err)
{
	struct stat st;
	int fd, status;

	*plain = (struct plain_file){.fd = -1};
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return sb_error_set(err, errno == ENOENT || errno == ENOTDIR ? -sbe_not_found : -sbe_io, path,
		                    UINT64_MAX, "cannot be opened: %m");
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		status = sb_error_set(err, -sbe_io, path, UINT64_MAX, "expected a regular file");
	else
		status = plain_file_of(plain, fd, path, limit, err);
	close(fd);
	return status;
}

void plain_file_close(struct plain_file *plain)
{
	if (plain->fd >= 0)
		close(plain->fd);
	free(plain->path);
	*plain = (struct plain_file){.fd = -1};
}
