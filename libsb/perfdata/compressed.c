/* compressed.c - records that perf packed while it recorded (perf record -z).
 *
 * COMPRESSED and COMPRESSED2 records hold the pieces of one zstd stream per file; records lie anywhere in it,
 * across pieces, too. As records point into memory, and any number of cursors may walk over them, the stream
 * is unpacked once, into a temporary file that then is mapped; what stands between the pieces is
 * copied to its place there, but for the payload of AUXTRACE, which never is packed and stays where it is.
 * The table of origins says where each stretch comes from.
 */
#include "perfdata/perfdata_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "perfdata/spool.h"
#include "record/bytes.h"

enum {
	HEADER_SIZE = 8,
	BLOCK_SIZE = 128 << 10,
	LEFT_MAX = 2 * BLOCK_SIZE, /* packed before, and left when that record was full */
	RECORD_MAX = UINT16_MAX,
	PIECE_MAX = 128 << 20, /* unpacked, when the recording does not say */
	WINDOW_LOG = 27
};

struct packed {
	const struct record_file *file;
	struct unpacked *to;
	struct spool spool;
	ZSTD_DStream *stream;
	uint64_t piece_max;
	uint64_t offset;     /* of the record that is being unpacked or copied */
	uint64_t taken;      /* packed bytes so far */
	uint64_t piece_size; /* what the present piece has become so far */
	/* The beginning of a record whose end has not come yet, and room for a block behind it. */
	uint8_t *pending;
	size_t npending;
	struct sb_error *err; /* what makes the recording unreadable, not what is wrong with it */
};

/* What is wrong in the file ends the walk over it, in its time. */
#define damage(packed, code, ...)                                                                            \
	sb_error_set(&(packed)->to->damage, code, (packed)->file->map.path, (packed)->offset, __VA_ARGS__)

static int out_of_memory(const struct packed *packed)
{
	return sb_error_set(packed->err, -sbe_nomem, packed->file->map.path, UINT64_MAX, "out of memory");
}

/* What is written next stems from @file_offset. */
static int add_origin(struct packed *packed, uint64_t file_offset)
{
	struct unpacked *to = packed->to;
	const struct unpacked_origin *last = to->norigins ? &to->origin[to->norigins - 1] : NULL;
	struct unpacked_origin *grown;

	if (last && file_offset - last->file_offset == packed->spool.size - last->at)
		return 0;
	grown = sb_array_room(to->origin, to->norigins, sizeof(*grown));
	if (!grown)
		return out_of_memory(packed);
	to->origin = grown;
	grown[to->norigins++] = (struct unpacked_origin){packed->spool.size, file_offset};
	return 0;
}

/* ---- Unpacking -------------------------------------------------------------------------------- */

/* Only what the kernel writes is packed. What has a payload, or is packed once more, cannot be. */
static int check_record(struct packed *packed, const uint8_t *bytes)
{
	const uint32_t type = load_u32(bytes), size = load_u16(bytes + 6);

	if (size < HEADER_SIZE)
		return damage(packed, -sbe_format,
		              "packed here, a record of type %" PRIu32 " says that it has %" PRIu32
		              " bytes; its header alone has 8",
		              type, size);
	if (type == SB_RECORD_AUXTRACE || type == SB_RECORD_TRACING_DATA || type == SB_RECORD_COMPRESSED ||
	    type == SB_RECORD_COMPRESSED2)
		return damage(packed, -sbe_format,
		              "packed here, there is a record of type %" PRIu32 " (%s), which never is", type,
		              sb_record_name(type));
	return 0;
}

/* Writes the whole records, and keeps what is left. */
static int write_records(struct packed *packed)
{
	size_t at = 0;
	int status = 0, written;

	while (packed->npending - at >= HEADER_SIZE) {
		const size_t size = load_u16(packed->pending + at + 6);

		status = check_record(packed, packed->pending + at);
		if (status < 0 || size > packed->npending - at)
			break;
		at += size;
	}
	written = spool_write(&packed->spool, packed->pending, at, packed->err);
	packed->npending -= at;
	memmove(packed->pending, packed->pending + at, packed->npending);
	return written < 0 ? written : status;
}

static int check_size(struct packed *packed)
{
	if (packed->piece_size > packed->piece_max)
		return damage(packed, -sbe_format,
		              "the records packed here have more than %" PRIu64
		              " bytes, which is all that was packed at once, and that was left before",
		              packed->piece_max);
	return spool_check_ratio(&packed->spool, packed->taken, packed->npending, packed->offset,
	                         &packed->to->damage);
}

static int unpack_piece(struct packed *packed, const uint8_t *bytes, size_t size)
{
	ZSTD_inBuffer in = {bytes, size, 0};
	size_t room = BLOCK_SIZE, made = BLOCK_SIZE;
	int status = add_origin(packed, packed->offset);

	packed->taken += size;
	packed->piece_size = 0;
	/* It is not over when all was read, but when nothing more comes out. */
	while (status == 0 && (in.pos < in.size || made == room)) {
		ZSTD_outBuffer out = {packed->pending + packed->npending, BLOCK_SIZE, 0};
		const size_t result = ZSTD_decompressStream(packed->stream, &out, &in);

		if (ZSTD_isError(result))
			return damage(packed, -sbe_format, "the records packed here cannot be unpacked: %s",
			              ZSTD_getErrorName(result));
		made = out.pos;
		packed->npending += made;
		packed->piece_size += made;
		status = write_records(packed);
		if (status == 0)
			status = check_size(packed);
	}
	return status;
}

/* COMPRESSED is packed bytes up to its end; COMPRESSED2 counts them, and fills up to a multiple of 8. */
static int unpack_record(struct packed *packed, const uint8_t *bytes, uint64_t size)
{
	enum { COMPRESSED2_BODY = HEADER_SIZE + 8 };
	uint64_t data_size;

	if (load_u32(bytes) == SB_RECORD_COMPRESSED)
		return unpack_piece(packed, bytes + HEADER_SIZE, size - HEADER_SIZE);
	data_size = size < COMPRESSED2_BODY ? UINT64_MAX : load_u64(bytes + HEADER_SIZE);
	if (data_size > size - COMPRESSED2_BODY ||
	    (!load_u16(bytes + 6) && (data_size + 7) / 8 * 8 != size - COMPRESSED2_BODY))
		return damage(packed, -sbe_format,
		              "a COMPRESSED2 record of %" PRIu64
		              " bytes does not hold the bytes that it counts",
		              size);
	return unpack_piece(packed, bytes + COMPRESSED2_BODY, data_size);
}

/* ---- All records ------------------------------------------------------------------------------ */

static int is_packed(const uint8_t *bytes)
{
	const uint32_t type = load_u32(bytes);

	return type == SB_RECORD_COMPRESSED || type == SB_RECORD_COMPRESSED2;
}

/* Payloads stay where they are, and do not follow the record any more. */
static int copy_record(struct packed *packed, const uint8_t *bytes, uint64_t size)
{
	const int status = add_origin(packed, packed->offset);

	return status < 0 ? status : spool_write(&packed->spool, bytes, size, packed->err);
}

static int take_record(struct packed *packed, const uint8_t *bytes, uint64_t avail, uint64_t stride)
{
	const uint64_t size = is_packed(bytes) ? stride : load_u16(bytes + 6);

	if (size > avail)
		return damage(packed, -sbe_truncated,
		              "the data end after %" PRIu64 " of the %" PRIu64
		              " bytes of a record of type %" PRIu32 " (%s)",
		              avail, size, load_u32(bytes), sb_record_name(load_u32(bytes)));
	return is_packed(bytes) ? unpack_record(packed, bytes, size) : copy_record(packed, bytes, size);
}

/* Where the records end is, when it is not where they should. */
static int check_end(struct packed *packed)
{
	const struct record_file *file = packed->file;

	if (packed->offset > file->data_end) {
		const uint64_t missing = packed->offset - file->data_end;

		packed->offset = file->data_end;
		return damage(packed, -sbe_truncated,
		              "the data end %" PRIu64 " bytes short of the end of a record's payload",
		              missing);
	}
	if (file->promised_end > file->data_end)
		return damage(packed, -sbe_truncated,
		              "the file ends here; its header promises records up to offset 0x%" PRIx64,
		              file->promised_end);
	if (packed->npending)
		return damage(packed, -sbe_truncated, "the packed records end after %zu bytes of one",
		              packed->npending);
	return 0;
}

static int unpack_all(struct packed *packed)
{
	const struct record_file *file = packed->file;
	int status = 0;

	while (status == 0 && packed->offset < file->data_end) {
		const uint8_t *bytes = file->map.bytes + packed->offset;
		const uint64_t avail = file->data_end - packed->offset;
		const uint64_t stride = sb_record_stride(bytes, avail);

		if (!stride)
			return damage(packed, avail < HEADER_SIZE ? -sbe_truncated : -sbe_format,
			              "no record has such a header");
		status = take_record(packed, bytes, avail, stride);
		packed->offset = stride > UINT64_MAX - packed->offset ? UINT64_MAX : packed->offset + stride;
	}
	return status < 0 ? status : check_end(packed);
}

static int has_packed(const struct record_file *file)
{
	uint64_t offset = file->data_begin, stride = 1;

	while (stride && offset < file->data_end) {
		const uint64_t avail = file->data_end - offset;

		stride = sb_record_stride(file->map.bytes + offset, avail);
		if (stride && is_packed(file->map.bytes + offset))
			return 1;
		if (stride > avail)
			return 0;
		offset += stride;
	}
	return 0;
}

/* What was unpacked up to damage is walked; only what the system cannot do refuses the recording. */
static int unpack_file(struct packed *packed)
{
	int status = spool_open(&packed->spool, packed->file->map.path, packed->err);

	if (status < 0)
		return status;
	packed->stream = ZSTD_createDStream();
	packed->pending = malloc(RECORD_MAX + BLOCK_SIZE);
	if (packed->stream && packed->pending) {
		ZSTD_DCtx_setParameter(packed->stream, ZSTD_d_windowLogMax, WINDOW_LOG);
		status = unpack_all(packed);
	} else {
		status = out_of_memory(packed);
	}
	if (packed->to->damage.code)
		status = 0;
	if (status == 0)
		status = spool_map(&packed->spool, &packed->to->map, packed->err);
	spool_close(&packed->spool);
	free(packed->pending);
	ZSTD_freeDStream(packed->stream);
	return status;
}

int sb_perfdata_unpack(struct sb_perfdata *perfdata, struct record_file *file, struct sb_error *err)
{
	struct packed packed = {.file = file,
	                        .piece_max = perfdata->mmap_len ? (uint64_t)perfdata->mmap_len + LEFT_MAX
	                                                        : PIECE_MAX,
	                        .offset = file->data_begin,
	                        .err = err};
	int status;

	if (!has_packed(file))
		return 0;
	packed.to = calloc(1, sizeof(*packed.to));
	if (!packed.to)
		return out_of_memory(&packed);
	status = unpack_file(&packed);
	if (status < 0) {
		sb_unpacked_free(packed.to);
		return status;
	}
	file->unpacked = packed.to;
	file->records = packed.to->map.bytes;
	file->begin = 0;
	file->end = packed.to->map.size;
	return 0;
}

void sb_unpacked_free(struct unpacked *unpacked)
{
	if (!unpacked)
		return;
	sb_mapped_file_close(&unpacked->map);
	free(unpacked->origin);
	free(unpacked);
}
