/* unpack.c - see unpack.h. The libraries' streams all work alike: bytes in, bytes out, both by pointer and
 * count; what is different is in one row per packing.
 *
 * Several streams one behind the other are one file, as gunzip(1), unzstd(1) and unxz(1) have it.
 */
#include "perfdata/unpack.h"

#include <errno.h>
#include <inttypes.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum {
	BLOCK_SIZE = 64 << 10,
	MAGIC_SIZE = 8,
	ZSTD_WINDOW_LOG = 27,     /* what unzstd(1) takes unasked: 128 MiB */
	XZ_MEMORY_MAX = 256 << 20 /* four times what xz -9 needs */
};

struct unpacker {
	struct spool *spool;
	int fd;
	uint64_t taken; /* packed bytes read */
	uint8_t *in, *out;
	size_t begin, end; /* of what is in @in and was not used yet */
	int at_end;        /* of the packed bytes */
	int inside;        /* a packed stream has begun, and not ended */
	int checked;       /* that a perf.data comes out */
	union {
		z_stream gzip;
		ZSTD_DStream *zstd;
		lzma_stream xz;
	} u;
};

/* One step: uses bytes of @in, says how many, and makes *made bytes of @out. NULL, or what is wrong. */
struct packing_type {
	const char *name;
	uint8_t magic[PACKING_MAGIC_SIZE];
	size_t magic_size;
	const char *(*open)(struct unpacker *unpacker);
	const char *(*step)(struct unpacker *unpacker, size_t *used, size_t *made);
	void (*close)(struct unpacker *unpacker);
};

/* ---- gzip ------------------------------------------------------------------------------------- */

static const char *gzip_open(struct unpacker *unpacker)
{
	enum { GZIP_ONLY = 16 };

	return inflateInit2(&unpacker->u.gzip, MAX_WBITS + GZIP_ONLY) == Z_OK ? NULL : "out of memory";
}

static const char *gzip_step(struct unpacker *unpacker, size_t *used, size_t *made)
{
	z_stream *stream = &unpacker->u.gzip;
	int status;

	stream->next_in = unpacker->in + unpacker->begin;
	stream->avail_in = (uInt)(unpacker->end - unpacker->begin);
	stream->next_out = unpacker->out;
	stream->avail_out = BLOCK_SIZE;
	status = inflate(stream, Z_NO_FLUSH);
	*used = unpacker->end - unpacker->begin - stream->avail_in;
	*made = BLOCK_SIZE - stream->avail_out;
	unpacker->inside = status != Z_STREAM_END;
	if (status == Z_STREAM_END)
		status = inflateReset(stream);
	if (status == Z_OK || status == Z_BUF_ERROR)
		return NULL;
	return stream->msg ? stream->msg : "it cannot be unpacked";
}

static void gzip_close(struct unpacker *unpacker)
{
	inflateEnd(&unpacker->u.gzip);
}

/* ---- zstd ------------------------------------------------------------------------------------- */

static const char *zstd_open(struct unpacker *unpacker)
{
	unpacker->u.zstd = ZSTD_createDStream();
	if (!unpacker->u.zstd)
		return "out of memory";
	ZSTD_DCtx_setParameter(unpacker->u.zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG);
	return NULL;
}

static const char *zstd_step(struct unpacker *unpacker, size_t *used, size_t *made)
{
	ZSTD_inBuffer in = {unpacker->in + unpacker->begin, unpacker->end - unpacker->begin, 0};
	ZSTD_outBuffer out = {unpacker->out, BLOCK_SIZE, 0};
	const size_t status = ZSTD_decompressStream(unpacker->u.zstd, &out, &in);

	*used = in.pos;
	*made = out.pos;
	unpacker->inside = status != 0;
	return ZSTD_isError(status) ? ZSTD_getErrorName(status) : NULL;
}

static void zstd_close(struct unpacker *unpacker)
{
	ZSTD_freeDStream(unpacker->u.zstd);
}

/* ---- xz --------------------------------------------------------------------------------------- */

static const char *xz_open(struct unpacker *unpacker)
{
	unpacker->u.xz = (lzma_stream)LZMA_STREAM_INIT;
	if (lzma_stream_decoder(&unpacker->u.xz, XZ_MEMORY_MAX, LZMA_CONCATENATED) != LZMA_OK)
		return "out of memory";
	return NULL;
}

static const char *xz_step(struct unpacker *unpacker, size_t *used, size_t *made)
{
	lzma_stream *stream = &unpacker->u.xz;
	lzma_ret status;

	stream->next_in = unpacker->in + unpacker->begin;
	stream->avail_in = unpacker->end - unpacker->begin;
	stream->next_out = unpacker->out;
	stream->avail_out = BLOCK_SIZE;
	/* With several streams in one file, only its end ends it. */
	status = lzma_code(stream, unpacker->at_end ? LZMA_FINISH : LZMA_RUN);
	*used = unpacker->end - unpacker->begin - stream->avail_in;
	*made = BLOCK_SIZE - stream->avail_out;
	unpacker->inside = status != LZMA_STREAM_END;
	if (status == LZMA_OK || status == LZMA_BUF_ERROR || status == LZMA_STREAM_END)
		return NULL;
	if (status == LZMA_MEMLIMIT_ERROR)
		return "unpacking it takes too much memory";
	return status == LZMA_MEM_ERROR ? "out of memory" : "it is damaged";
}

static void xz_close(struct unpacker *unpacker)
{
	lzma_end(&unpacker->u.xz);
}

/* ---- Not packed ------------------------------------------------------------------------------- */

static const char *plain_open(struct unpacker *unpacker)
{
	(void)unpacker;
	return NULL;
}

static const char *plain_step(struct unpacker *unpacker, size_t *used, size_t *made)
{
	*used = *made = unpacker->end - unpacker->begin;
	memcpy(unpacker->out, unpacker->in + unpacker->begin, *made);
	return NULL;
}

static void plain_close(struct unpacker *unpacker)
{
	(void)unpacker;
}

static const struct packing_type types[] = {
        [packing_none] = {"", {0}, 0, plain_open, plain_step, plain_close},
        [packing_gzip] = {"gzip", {0x1f, 0x8b}, 2, gzip_open, gzip_step, gzip_close},
        [packing_zstd] = {"zstd", {0x28, 0xb5, 0x2f, 0xfd}, 4, zstd_open, zstd_step, zstd_close},
        [packing_xz] = {"xz", {0xfd, '7', 'z', 'X', 'Z', 0}, 6, xz_open, xz_step, xz_close},
};

/* ---- All of them ------------------------------------------------------------------------------ */

enum packing packing_of(const uint8_t *bytes, size_t size)
{
	for (enum packing i = packing_gzip; i <= packing_xz; i++) {
		if (size >= types[i].magic_size && !memcmp(bytes, types[i].magic, types[i].magic_size))
			return i;
	}
	return packing_none;
}

/* Fills up what was not used yet; at least PACKING_MAGIC_SIZE bytes, or all that is left. */
static int fill(struct unpacker *unpacker, struct sb_error *err)
{
	memmove(unpacker->in, unpacker->in + unpacker->begin, unpacker->end - unpacker->begin);
	unpacker->end -= unpacker->begin;
	unpacker->begin = 0;
	while (!unpacker->at_end && unpacker->end < PACKING_MAGIC_SIZE) {
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

static int take(struct unpacker *unpacker, const struct packing_type *type, size_t made, struct sb_error *err)
{
	struct spool *spool = unpacker->spool;
	int status = 0;

	if (type->magic_size)
		status = spool_check_ratio(spool, unpacker->taken, made, UINT64_MAX, err);
	if (status == 0)
		status = spool_write(spool, unpacker->out, made, err);
	return status == 0 ? check_magic(unpacker, err) : status;
}

static int run(struct unpacker *unpacker, const struct packing_type *type, struct sb_error *err)
{
	int status = 0;

	while (status == 0) {
		size_t used = 0, made = 0;
		const char *wrong;

		status = unpacker->end - unpacker->begin < PACKING_MAGIC_SIZE ? fill(unpacker, err) : 0;
		if (status < 0)
			break;
		if (unpacker->at_end && unpacker->begin == unpacker->end && !unpacker->inside)
			return 0;
		wrong = type->step(unpacker, &used, &made);
		if (wrong)
			return sb_error_set(err, -sbe_format, unpacker->spool->name,
			                    unpacker->taken - (unpacker->end - unpacker->begin),
			                    "packed with %s: %s", type->name, wrong);
		unpacker->begin += used;
		status = take(unpacker, type, made, err);
		if (status == 0 && !used && !made && unpacker->at_end && unpacker->inside)
			return sb_error_set(err, -sbe_truncated, unpacker->spool->name, unpacker->taken,
			                    "packed with %s, and cut off here", type->name);
	}
	return status;
}

int unpack(struct spool *spool, int fd, struct sb_error *err)
{
	uint8_t *blocks = malloc(2 * BLOCK_SIZE);
	struct unpacker unpacker = {.spool = spool, .fd = fd, .in = blocks};
	const struct packing_type *type;
	const char *wrong;
	int status;

	if (!blocks)
		return sb_error_set(err, -sbe_nomem, spool->name, UINT64_MAX, "out of memory");
	unpacker.out = blocks + BLOCK_SIZE;
	status = fill(&unpacker, err);
	if (status == 0) {
		type = &types[packing_of(unpacker.in, unpacker.end)];
		wrong = type->open(&unpacker);
		status = wrong ? sb_error_set(err, -sbe_nomem, spool->name, UINT64_MAX, "%s", wrong)
		               : run(&unpacker, type, err);
		if (!wrong)
			type->close(&unpacker);
	}
	free(blocks);
	return status;
}
