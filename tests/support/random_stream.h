/* Random streams of packets as a processor may send them: each step is a compound packet event that leaves
 * tracing enabled, ends it, or begins it; between steps, time is told.
 */
#ifndef TEST_RANDOM_STREAM_H
#define TEST_RANDOM_STREAM_H

#include "support/stream.h"

enum { with_mtc = 1, with_cyc = 2 };

static inline uint32_t next_random(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static inline uint32_t below(uint32_t *seed, uint32_t limit)
{
	return next_random(seed) % limit;
}

/* @what: which timing packets, beside TSC. With MTCs, time is that of the stream's first TSC and TMA, and
 * there are no overflows. */
void random_stream(struct stream *stream, uint32_t *seed, int what);

#endif
