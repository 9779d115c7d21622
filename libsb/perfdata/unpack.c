/* unpack.c - see unpack.h. Several packed members one behind the other are one file, as gunzip(1), unzstd(1)
 * and unxz(1) have it; zeros may follow.
 */
#include "perfdata/unpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compression.h"

enum { BLOCK_SIZE = 64 << 10, MAGIC_SIZE = 8 };

struct unpacker {
	struct spool *spool;
	int fd;
	const struct compression *compression; /* NULL: the bytes are not packed */
	void *member;                          /* that is being unpacked; NULL: the next one has not begun */
	uint64_t taken;                        /* bytes read */
	uint8_t *in, *out;
	size_t begin, end; /* of what is in @in and was not used yet */
	int at_end;        /* there is nothing more to read */
	int checked;       /* that a perf.data comes out */
};

static size_t left(const struct unpacker *unpacker)
{
	return unpacker->end - unpacker->begin;
}

/* Fills up what was not used yet: enough to tell a compression, or all there is. */
static int fill(struct unpacker *unpacker, struct sb_error *err)
{
	memmove(unpacker->in, unpacker->in + unpacker->begin, left(unpacker));
	unpacker->end -= unpacker->begin;
	unpacker->begin = 0;
	while (!unpacker->at_end && unpacker->end < COMPRESSION_MAGIC_MAX) {
		const ssize_t got =
		        read(unpacker->fd, unpacker->in + unpacker->end, BLOCK_SIZE - unpacker->end);

		if (got < 0 && errno != EINTR)
			return sb_error_set(err, -sbe_io, unpacker->spool->name, unpacker->taken,
			                    "reading failed: %s", strerror(errno));
		unpacker->at_end = got == 0;
		unpacker->end += got < 0 ? 0 : (size_t)got;
		unpacker->taken += got < 0 ? 0 : (size_t)got;
	}
	return 0;
}

/* The first bytes tell whether it is worth going on. They are in the buffer still, which has room for many
 * blocks. */
static int check_magic(struct unpacker *unpacker, struct sb_error *err)
{
	const struct spool *spool = unpacker->spool;

	if (unpacker->checked || spool->size < MAGIC_SIZE)
		return 0;
	unpacker->checked = 1;
	return sb_perfdata_check_magic(spool->buffer, spool->name, err);
}

static int take(struct unpacker *unpacker, const uint8_t *bytes, size_t size, struct sb_error *err)
{
	struct spool *spool = unpacker->spool;
	int status = 0;

	if (unpacker->compression)
		status = spool_check_ratio(spool, unpacker->taken, size, UINT64_MAX, err);
	if (status == 0)
		status = spool_write(spool, bytes, size, err);
	return status == 0 ? check_magic(unpacker, err) : status;
}

static int take_plain(struct unpacker *unpacker, struct sb_error *err)
{
	const int status = take(unpacker, unpacker->in + unpacker->begin, left(unpacker), err);

	unpacker->begin = unpacker->end;
	return status;
}

static int bad(const struct unpacker *unpacker, int code, const char *why, struct sb_error *err)
{
	return sb_error_set(err, code, unpacker->spool->name, unpacker->taken - left(unpacker),
	                    "packed with %s: %s", unpacker->compression->name, why);
}

static void end_member(struct unpacker *unpacker)
{
	if (unpacker->member)
		unpacker->compression->end(unpacker->member);
	unpacker->member = NULL;
}

static int step(struct unpacker *unpacker, struct sb_error *err)
{
	struct compression_piece piece = {unpacker->in + unpacker->begin, left(unpacker), unpacker->out,
	                                  BLOCK_SIZE};
	const char *why = "";
	const enum compression_step result = unpacker->compression->step(unpacker->member, &piece, &why);
	const int is_stuck = piece.in_size == left(unpacker) && piece.out_size == BLOCK_SIZE;

	if (result == compression_bad)
		return bad(unpacker, -sbe_format, why, err);
	unpacker->begin = unpacker->end - piece.in_size;
	if (result == compression_end)
		end_member(unpacker);
	else if (is_stuck && unpacker->at_end)
		return bad(unpacker, -sbe_truncated, "the file ends before the data does", err);
	return take(unpacker, unpacker->out, BLOCK_SIZE - piece.out_size, err);
}

/* A member begins, or zeros that fill up the file are passed by. */
static int begin_member(struct unpacker *unpacker, struct sb_error *err)
{
	while (left(unpacker) && !unpacker->in[unpacker->begin])
		unpacker->begin++;
	if (!left(unpacker))
		return 0;
	unpacker->member = unpacker->compression->begin();
	return unpacker->member ? 0 : bad(unpacker, -sbe_nomem, "out of memory", err);
}

static int run(struct unpacker *unpacker, struct sb_error *err)
{
	int status = fill(unpacker, err);

	if (status == 0)
		unpacker->compression = compression_of(unpacker->in, left(unpacker));
	while (status == 0 && (left(unpacker) || unpacker->member || !unpacker->at_end)) {
		if (!unpacker->compression)
			status = take_plain(unpacker, err);
		else
			status = unpacker->member ? step(unpacker, err) : begin_member(unpacker, err);
		if (status == 0 && left(unpacker) < COMPRESSION_MAGIC_MAX)
			status = fill(unpacker, err);
	}
	return status;
}

int unpack(struct spool *spool, int fd, struct sb_error *err)
{
	uint8_t *blocks = malloc(2 * BLOCK_SIZE);
	struct unpacker unpacker = {.spool = spool, .fd = fd, .in = blocks};
	int status;

	if (!blocks)
		return sb_error_set(err, -sbe_nomem, spool->name, UINT64_MAX, "out of memory");
	unpacker.out = blocks + BLOCK_SIZE;
	status = run(&unpacker, err);
	end_member(&unpacker);
	free(blocks);
	return status;
}
