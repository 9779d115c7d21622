/* compression.c - see compression.h.
 *
 * Formats: gzip RFC 1952, zstd RFC 8878, xz "The .xz File Format" 1.1; read by zlib, libzstd and liblzma.
 * Memory is bounded by what the formats' own tools allow.
 */
#include "compression.h"

#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

/* xz -9 needs 65 MiB, and the kernel's modules less. */
static const uint64_t xz_memory_limit = 256 << 20;

static void piece_advance(struct compression_piece *piece, size_t in_left, size_t out_left)
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

static enum compression_step gzip_step(void *state, struct compression_piece *piece, const char **why)
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
		return compression_end;
	*why = stream->msg ? stream->msg : zError(status);
	return status == Z_OK || status == Z_BUF_ERROR ? compression_more : compression_bad;
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

static enum compression_step zstd_step(void *state, struct compression_piece *piece, const char **why)
{
	ZSTD_inBuffer in = {piece->in, piece->in_size, 0};
	ZSTD_outBuffer out = {piece->out, piece->out_size, 0};
	const size_t status = ZSTD_decompressStream(state, &out, &in);

	piece_advance(piece, in.size - in.pos, out.size - out.pos);
	*why = ZSTD_getErrorName(status);
	if (ZSTD_isError(status))
		return compression_bad;
	return status == 0 ? compression_end : compression_more;
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

static enum compression_step xz_step(void *state, struct compression_piece *piece, const char **why)
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
		return compression_end;
	*why = xz_reason(status);
	return status == LZMA_OK || status == LZMA_BUF_ERROR ? compression_more : compression_bad;
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

const struct compression *compression_of(const uint8_t *begin, size_t size)
{
	for (size_t i = 0; i < sizeof(compressions) / sizeof(compressions[0]); i++) {
		const struct compression *compression = &compressions[i];

		if (size >= compression->magic_size &&
		    memcmp(begin, compression->magic, compression->magic_size) == 0)
			return compression;
	}
	return NULL;
}
