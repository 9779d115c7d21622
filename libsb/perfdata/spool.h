/* spool.h - bytes on their way into a temporary file that nobody else sees and that nobody has to remove:
 * what is unpacked, or comes out of a pipe, is mapped in the end like a file that always was there.
 */
#ifndef LIBSB_PERFDATA_SPOOL_H
#define LIBSB_PERFDATA_SPOOL_H

#include "perfdata/perfdata_internal.h"

/* Unpacked, nothing may have more than so many times its size, beyond what anybody can afford: recordings
 * shrink to a tenth, a thousandth when a loop ran for long; what claims more is made to fill disks. */
enum { SPOOL_RATIO_MAX = 4096, SPOOL_FREE_SIZE = 64 << 20 };

struct spool {
	int fd;
	uint8_t *buffer;
	size_t used;
	uint64_t size;    /* of all that was written, the buffer included */
	const char *name; /* for errors: whose bytes they are; the caller's */
};

/* In TMPDIR; when that is not set, in /var/tmp or /tmp. */
int spool_open(struct spool *spool, const char *name, struct sb_error *err);
int spool_write(struct spool *spool, const uint8_t *bytes, size_t size, struct sb_error *err);

/* Whether @size bytes more may come out of @packed ones in all. Zero, or -sbe_format. */
int spool_check_ratio(const struct spool *spool, uint64_t packed, uint64_t size, uint64_t offset,
                      struct sb_error *err);

/* Maps what was written, under the spool's name; the spool is closed then, whatever comes out. */
int spool_map(struct spool *spool, struct mapped_file *map, struct sb_error *err);
void spool_close(struct spool *spool);

#endif
