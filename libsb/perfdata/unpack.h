/* unpack.h - whole files that were packed with gzip, zstd or xz, and bytes out of a pipe. */
#ifndef LIBSB_PERFDATA_UNPACK_H
#define LIBSB_PERFDATA_UNPACK_H

#include "perfdata/spool.h"

/* Reads @fd to its end, unpacks what is packed, and appends it to @spool. Ends early when what comes out
 * is no perf.data. */
int unpack(struct spool *spool, int fd, struct sb_error *err);

#endif
