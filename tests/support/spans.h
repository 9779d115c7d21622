/* spans.h - a recording replayed in spans, each with a session of its own, and kept in memory. */
#ifndef TEST_SPANS_H
#define TEST_SPANS_H

#include <sb/shard.h>

struct span_bytes {
	uint8_t *bytes;
	size_t size, room;
};

struct spans {
	struct sb_line line; /* its spans are owned */
	struct span_bytes *of;
	struct sb_span_source source;
};

/* Cut wherever it can be, at least @size bytes apart. */
void spans_cut(struct spans *spans, const struct sb_perfdata *perfdata,
               const struct sb_replay_options *options, uint64_t size, uint64_t step);
/* Replays all of them, what @sink wants. */
void spans_run(struct spans *spans, const struct sb_perfdata *perfdata,
               const struct sb_replay_options *options, const struct sb_sink *sink);
void spans_free(struct spans *spans);

#endif
