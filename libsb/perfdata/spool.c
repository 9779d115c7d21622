/* spool.c - see spool.h. */
#include "perfdata/spool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nameless_file.h"

enum { BUFFER_SIZE = 256 << 10 };

static int spool_error(const struct spool *spool, const char *what, struct sb_error *err)
{
	return sb_error_set(err, -sbe_io, spool->name, UINT64_MAX, "a temporary file (TMPDIR): %s: %s", what,
	                    strerror(errno));
}

int spool_open(struct spool *spool, const char *name, struct sb_error *err)
{
	*spool = (struct spool){.fd = -1, .name = name};
	spool->buffer = malloc(BUFFER_SIZE);
	if (!spool->buffer)
		return sb_error_set(err, -sbe_nomem, name, UINT64_MAX, "out of memory");
	spool->fd = nameless_file();
	if (spool->fd >= 0)
		return 0;
	spool_error(spool, "cannot be made", err);
	spool_close(spool);
	return -sbe_io;
}

static int flush(struct spool *spool, struct sb_error *err)
{
	size_t done = 0;

	while (done < spool->used) {
		const ssize_t written = write(spool->fd, spool->buffer + done, spool->used - done);

		if (written < 0 && errno != EINTR)
			return spool_error(spool, "writing failed", err);
		done += written < 0 ? 0 : (size_t)written;
	}
	spool->used = 0;
	return 0;
}

int spool_write(struct spool *spool, const uint8_t *bytes, size_t size, struct sb_error *err)
{
	while (size) {
		const size_t room = BUFFER_SIZE - spool->used;
		const size_t part = size < room ? size : room;

		memcpy(spool->buffer + spool->used, bytes, part);
		spool->used += part;
		spool->size += part;
		bytes += part;
		size -= part;
		if (spool->used == BUFFER_SIZE && flush(spool, err) < 0)
			return -sbe_io;
	}
	return 0;
}

int spool_check_ratio(const struct spool *spool, uint64_t packed, uint64_t size, uint64_t offset,
                      struct sb_error *err)
{
	const uint64_t total = spool->size + size;

	if (total <= SPOOL_FREE_SIZE || total / SPOOL_RATIO_MAX <= packed)
		return 0;
	return sb_error_set(err, -sbe_format, spool->name, offset,
	                    "%" PRIu64 " packed bytes become %" PRIu64
	                    ", which is more than %d times as many: no recording does",
	                    packed, total, SPOOL_RATIO_MAX);
}

int spool_map(struct spool *spool, struct mapped_file *map, struct sb_error *err)
{
	int status = flush(spool, err);

	if (status == 0)
		status = sb_mapped_file_from(map, spool->fd, spool->name, err);
	spool_close(spool);
	return status;
}

void spool_close(struct spool *spool)
{
	if (spool->fd >= 0)
		close(spool->fd);
	free(spool->buffer);
	*spool = (struct spool){.fd = -1};
}
