/* span_walk.h - replays a span, and finds out where the next one takes over; see sb/shard.h.
 *
 * The line's spans, and places `step` apart in them, are points: where the replay comes to one, a second
 * walker, the probe, begins there anew. When both would go on alike (joint.h), a piece of the result ends and
 * another one begins. The first point at or behind the span's end at which that is so ends the walk.
 */
#ifndef SB_SPAN_WALK_H
#define SB_SPAN_WALK_H

#include <sb/shard.h>

#include "replay/plan.h"

struct span_walk {
	const struct replay_world *world;
	const struct sb_line *line;
	size_t index;         /* of the span */
	uint64_t from, until; /* from there on, as far as this place or behind it */
	size_t nparts;        /* of images */
	unsigned int sums;    /* enum sb_sums: span_adds_up(), or a part of that */
	const struct sb_sink *sink;
	sb_span_write *write;
	void *context;
};

/* How flow is added up: not at all where whoever merges has to look at its time. */
static inline unsigned int span_adds_up(const struct sb_replay_options *options)
{
	if (options->tsc_from || options->tsc_to || options->sums <= 0)
		return sb_sums_none;
	return (unsigned int)options->sums & (sb_sums_counts | sb_sums_stacks | sb_sums_threads);
}

/* *account (may be NULL) becomes the sums. Zero or a negative code. */
int span_walk(const struct span_walk *walk, struct sb_account *account, struct sb_error *err);

/* Whether the line's spans are those of the recording's streams, in order. Zero or -sbe_invalid. */
int span_line_check(const struct sb_line *line, const struct sb_perfdata *perfdata, struct sb_error *err);

#endif
