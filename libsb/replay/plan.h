/* plan.h - where a recording's streams may be cut: pieces that can be decoded on their own, in order.
 *
 * Only a proposal: whether a piece's decoding goes on from that of the one before is seen when that comes
 * there, see joint.h.
 */
#ifndef SB_PLAN_H
#define SB_PLAN_H

#include "replay/walker.h"

/* Large enough that beginning anew hardly counts, small enough for many to wait in line; and what is worth
 * beginning anew for, rather than have nothing to do in the end. */
enum { PLAN_PIECE_SIZE = 32 * 1024, PLAN_PIECE_LEAST = 4 * 1024 };

struct plan {
	const struct replay_world *world; /* borrowed */
	uint64_t piece_size;
	int whole;    /* a stream is one piece; others are asked for with plan_cut() */
	int releases; /* what was looked at is not decoded soon: its memory is given back; zero at first */
	const struct sb_aux_stream *stream; /* of the recording */
	size_t nstreams;
	size_t present; /* the stream whose pieces come next */
	int is_open;    /* the cutter is for a stream: */
	size_t opened;  /* this one; not whole: the present one, whose first piece came */
	struct segment_cutter cutter;
	size_t index;    /* in the cutter ... */
	uint64_t target; /* ... the next piece begins here or later: bytes of the stream */
};

/* Where a piece begins. */
struct planned {
	size_t stream;
	int first; /* at the stream's beginning; else at .place */
	struct stream_place place;
};

void plan_init(struct plan *plan, const struct replay_world *world, uint64_t piece_size, int whole);
void plan_fini(struct plan *plan);

/* The next piece: 1, or 0 when there is none, or a negative code. */
int plan_next(struct plan *plan, struct planned *planned);

/* A piece of @stream that begins at @from, bytes of the stream, or behind it. As plan_next(). */
int plan_cut(struct plan *plan, size_t stream, uint64_t from, struct planned *planned);

/* The piece of @stream that begins at the PSB at @position, wherever that is good to begin at: 1, or 0 when
 * none can, or a negative code. */
int plan_find(struct plan *plan, size_t stream, uint64_t position, struct planned *planned);

/* There are no more pieces of that stream. */
void plan_leave(struct plan *plan, size_t stream);

#endif
