/* sb/store.h - a recording that lies elsewhere: in an object store, on another machine. It is asked for by
 * range.
 *
 * When it is opened, all that is not trace comes here: the header, and record after record, to a temporary
 * file without a name that has holes where the trace is (in TMPDIR, else in /var/tmp). Trace is asked for
 * piece by piece when it is decoded, and forgotten some time after: a span of a replay (sb/shard.h) asks for
 * little more than what is in it.
 *
 * A recording is one perf.data, as perf record wrote it to a file or into a pipe, also with packed records
 * (-z). Not packed as a whole, for then ranges say nothing; no directory; and no snapshots, whose pieces may
 * repeat each other, which only all of their bytes tell.
 */
#ifndef SB_STORE_H
#define SB_STORE_H

#include <stddef.h>
#include <stdint.h>

#include <sb/perfdata.h>

struct sb_store {
	size_t size;      /* sizeof(struct sb_store) */
	const char *name; /* in errors, and sb_perfdata_path() */
	uint64_t bytes;   /* that the object has */
	uint64_t piece; /* trace that was recorded in one piece is cut when it has more bytes; a multiple of 8
	                 * (the rest is cut off); 0: 8 MiB */
	void *context;
	/* All @size bytes from @offset on, which the object has. Zero, or a negative code, after *err was
	 * set. Until sb_perfdata_open_store() returns, only that thread asks, in ascending order, and for
	 * nothing twice; afterwards, any number of threads do at a time. */
	int (*read)(void *context, uint64_t offset, void *bytes, size_t size, struct sb_error *err);
};

/* As sb_perfdata_open(). @store is copied; its context must last as long as the recording is open. The chunks
 * of streams have no bytes: walk over them with <sb/trace.h>, or replay them. */
sb_export int sb_perfdata_open_store(struct sb_perfdata **perfdata, const struct sb_store *store,
                                     struct sb_error *err);

/* The first failure to get trace, after which none is asked for any more: its negative code, in *err why;
 * zero: there was none. Replays end with it. */
sb_export int sb_perfdata_failure(const struct sb_perfdata *perfdata, struct sb_error *err);

#endif
