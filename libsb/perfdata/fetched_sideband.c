/* fetched_sideband.c - what is not trace, from a store: one walk over the headers of records.
 *
 * How long sideband goes on between two pieces of trace, nobody says: so what is asked for is little behind
 * trace, and more each time that it goes on. The last bytes of each piece come along: perf's padding is
 * there. Format: perf.data-file-format.txt.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compression.h"
#include "nameless_file.h"
#include "perfdata/fetched.h"
#include "perfdata/perfdata_internal.h"
#include "record/bytes.h"

enum {
	STEP_LEAST = 4 << 10, /* bytes that are asked for behind trace */
	STEP_MOST = 4 << 20,
	STEP_GROWTH = 4,
	PADDING_MAX = 8
};

struct sideband {
	const struct sb_store *store;
	struct mapped_file *map; /* of the file */
	int fd;                  /* of the same */
	uint8_t *buffer;         /* owned; STEP_MOST bytes */
	uint64_t from, to;       /* what came last, in one go, and may go on */
	uint64_t step;
	int ends; /* records are known already */
	struct sb_error *err;
};

static int temporary_failed(const struct sideband *sideband)
{
	return sb_error_set(sideband->err, -sbe_io, sideband->store->name, UINT64_MAX,
	                    "a temporary file (TMPDIR) for what is not trace: %s", strerror(errno));
}

/* [from, to) of the object, to the same place of the file. */
static int copy(const struct sideband *sideband, uint64_t from, uint64_t to)
{
	while (from < to) {
		const size_t size = to - from < STEP_MOST ? (size_t)(to - from) : STEP_MOST;
		size_t done = 0;
		int status = sideband->store->read(sideband->store->context, from, sideband->buffer, size,
		                                   sideband->err);

		if (status < 0)
			return status;
		while (done < size) {
			const ssize_t written = pwrite(sideband->fd, sideband->buffer + done, size - done,
			                               (off_t)(from + done));

			if (written < 0 && errno != EINTR)
				return temporary_failed(sideband);
			done += written < 0 ? 0 : (size_t)written;
		}
		from += size;
	}
	return 0;
}

/* [from, to) is there, as far as the object goes; some more may come along, up to @end. */
static int need(struct sideband *sideband, uint64_t from, uint64_t to, uint64_t end)
{
	const int goes_on = from >= sideband->from && from <= sideband->to;
	int status;

	if (to > end)
		to = end;
	if (goes_on && to <= sideband->to)
		return 0;
	if (goes_on) {
		from = sideband->to;
		if (sideband->step < STEP_MOST)
			sideband->step *= STEP_GROWTH;
	} else {
		sideband->from = from;
		sideband->step = STEP_LEAST;
	}
	if (to < from + sideband->step)
		to = from + sideband->step;
	if (to > end)
		to = end;
	if (to < from)
		to = from;
	status = copy(sideband, from, to);
	sideband->to = to;
	return status;
}

/* The walk ends where no record can be: whoever walks over the records meets the same. */
static int fetch_records(struct sideband *sideband, uint64_t offset, uint64_t end)
{
	int status = 0;

	while (status == 0 && offset < end) {
		const uint8_t *bytes = sideband->map->bytes + offset;
		const uint64_t avail = end - offset;
		uint64_t stride, next;

		status = need(sideband, offset, offset + 16, end);
		stride = status < 0 ? 0 : sb_record_stride(bytes, avail);
		if (!stride)
			break;
		next = stride < avail ? offset + stride : end;
		if (load_u32(bytes) != SB_RECORD_AUXTRACE)
			status = need(sideband, offset, next, end);
		else
			status = need(sideband, offset, offset + load_u16(bytes + 6), end);
		if (status == 0 && load_u32(bytes) == SB_RECORD_AUXTRACE && next < end)
			status = need(sideband, next - PADDING_MAX, next, end);
		offset = next;
	}
	return status;
}

/* What was packed has to be unpacked from its beginning on. */
static int check_whole(const struct sideband *sideband)
{
	const struct compression *packed =
	        compression_of(sideband->map->bytes, sideband->map->size < COMPRESSION_MAGIC_MAX
	                                                     ? (size_t)sideband->map->size
	                                                     : COMPRESSION_MAGIC_MAX);

	return packed ? sb_error_set(
	                        sideband->err, -sbe_unsupported, sideband->store->name, UINT64_MAX,
	                        "it is packed with %s, so ranges of it cannot be read alone: unpack it, or "
	                        "fetch it as a whole and name the copy",
	                        packed->name)
	              : 0;
}

/* Where the records are, and what is before and behind them. What cannot be is left to whoever reads the
 * header.
 */
static int fetch_sections(struct sideband *sideband)
{
	const uint8_t *bytes = sideband->map->bytes;
	const uint64_t size = sideband->map->size;
	uint64_t begin, end;
	int status;

	if (size < SB_HEADER_SIZE || load_u64(bytes + 8) == SB_HEADER_PIPE_SIZE)
		return fetch_records(sideband, SB_HEADER_PIPE_SIZE, size);
	begin = load_u64(bytes + 40) < size ? load_u64(bytes + 40) : size;
	end = load_u64(bytes + 48) && load_u64(bytes + 48) < size - begin ? begin + load_u64(bytes + 48)
	                                                                  : size;
	status = need(sideband, 0, begin, size);
	if (status == 0 && !sideband->ends)
		status = fetch_records(sideband, begin, end);
	return status < 0 ? status : need(sideband, end, size, size);
}

static int fetch(struct sideband *sideband)
{
	const uint64_t size = sideband->store->bytes;
	int status;

	sideband->fd = nameless_file();
	if (sideband->fd < 0 || size > INT64_MAX || ftruncate(sideband->fd, (off_t)size) < 0)
		return temporary_failed(sideband);
	status = sb_mapped_file_from(sideband->map, sideband->fd, sideband->store->name, sideband->err);
	if (status < 0 || !size)
		return status;
	status = need(sideband, 0, SB_HEADER_SIZE, size);
	if (status == 0)
		status = check_whole(sideband);
	/* Another kind of file is none: what it says of itself says nothing. */
	if (status == 0 && size >= SB_HEADER_PIPE_SIZE && !memcmp(sideband->map->bytes, "PERFILE2", 8))
		status = fetch_sections(sideband);
	return status;
}

int fetched_sideband(const struct sb_store *store, int ends, struct mapped_file *map, struct sb_error *err)
{
	struct sideband sideband = {.store = store,
	                            .map = map,
	                            .fd = -1,
	                            .step = STEP_LEAST,
	                            .ends = ends,
	                            .buffer = malloc(STEP_MOST),
	                            .err = err};
	int status;

	memset(map, 0, sizeof(*map));
	if (sideband.buffer)
		status = fetch(&sideband);
	else
		status = sb_error_set(err, -sbe_nomem, store->name, UINT64_MAX, "out of memory");
	if (sideband.fd >= 0)
		close(sideband.fd);
	free(sideband.buffer);
	if (status < 0)
		sb_mapped_file_close(map);
	return status;
}
