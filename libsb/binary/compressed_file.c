/* compressed_file.c - see compressed_file.h.
 *
 * A file may have several members one after the other; zeros may follow. Memory is bounded by what the
 * formats' own tools allow, the result by the caller.
 */
#include "binary/compressed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compression.h"
#include "nameless_file.h"

enum { IN_SIZE = 64 << 10, OUT_SIZE = 256 << 10 };

static const struct compression *compression_of_file(int fd)
{
	uint8_t begin[COMPRESSION_MAGIC_MAX];
	const ssize_t size = pread(fd, begin, sizeof(begin), 0);

	return size > 0 ? compression_of(begin, (size_t)size) : NULL;
}

int compressed_file_is(int fd)
{
	return compression_of_file(fd) != NULL;
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
static int begin_member(struct unpacking *unpacking, struct compression_piece *piece)
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

static int unpack_step(struct unpacking *unpacking, struct compression_piece *piece)
{
	const size_t in_before = piece->in_size;
	const char *why = "";
	enum compression_step result;
	int status;

	piece->out = unpacking->out;
	piece->out_size = OUT_SIZE;
	result = unpacking->compression->step(unpacking->state, piece, &why);
	if (result == compression_more && in_before && piece->in_size == in_before &&
	    piece->out_size == OUT_SIZE)
		return bad(unpacking, -sbe_format, "it does not go on");
	if (result == compression_bad)
		return bad(unpacking, -sbe_format, why);
	status = write_out(unpacking, OUT_SIZE - piece->out_size);
	if (result == compression_end)
		end_member(unpacking);
	return status;
}

/* All that @size bytes of input give. */
static int unpack_input(struct unpacking *unpacking, size_t size)
{
	struct compression_piece piece = {.in = unpacking->in, .in_size = size};
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

static int unpack_file(struct plain_file *plain, const struct compression *compression, int fd,
                       const char *path, uint64_t limit, struct sb_error *err)
{
	struct unpacking *unpacking = calloc(1, sizeof(*unpacking));
	int status;

	if (!unpacking)
		return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	plain->fd = nameless_file();
	if (plain->fd < 0)
		plain->fd = memfd_create("sbtrace-unpacked", MFD_CLOEXEC);
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
	const struct compression *compression = compression_of_file(fd);
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
