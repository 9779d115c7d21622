/* span_strand.h - what the spans of one stream hold, as one: piece after piece, each beginning where the one
 * before ends.
 *
 * Pieces that a span has although the one before went on through them are left out. Where no span has the
 * piece that is to come next, it is decoded on the spot, into a temporary file that is read like a span.
 */
#ifndef SB_SPAN_STRAND_H
#define SB_SPAN_STRAND_H

#include "replay/parcel.h"
#include "replay/span_read.h"
#include "replay/span_walk.h"

/* What all strands of a merge share. Borrowed. */
struct span_merge {
	const struct replay_world *world;
	const struct sb_span_source *source;
	struct span_world numbers; /* owned */
	struct ledger *ledger;
	int uncounted;     /* see struct parcel_target */
	unsigned int sums; /* enum sb_sums: how the flow comes that is handed out */
	int surveyed;      /* somebody asked the trace for lost mappings */
};

struct strand {
	struct span_merge *merge;
	size_t span, last; /* of the line: to be opened next, and behind the stream's last */
	struct span_reader reader;
	struct span_shapes shapes; /* between two spans: the reader's, for its memory */
	int is_open;
	struct span_reader patch;
	int is_patching, patch_file;
	uint64_t patched;      /* where the last patch began, + 1; 0: there was none */
	struct span_item item; /* what comes next */
	size_t turn;           /* of it (span_turns): those before were handed out */
	uint64_t pending;      /* not zero: a piece begins there whose beginning was read too early */
	int is_in_piece;       /* what comes is to be handed out */
	uint64_t position;     /* up to there, all was handed out; UINT64_MAX: to the end */
	uint64_t last_tsc;     /* of what was */
};

/* @first: the stream's first span. */
void strand_init(struct strand *strand, struct span_merge *merge, size_t first);
void strand_fini(struct strand *strand);

/* The next flow, turns, gap or event, in strand->item: 1; 0: there is no more, or a negative code. */
int strand_next(struct strand *strand, struct sb_error *err);
/* Hands it out. Zero, or what the sink said. */
int strand_deliver(struct strand *strand, struct sb_error *err);
/* When it is turns: all of them. Zero or a negative code. */
int strand_read_others(struct strand *strand, struct sb_error *err);

static inline struct span_reader *strand_reader(struct strand *strand)
{
	return strand->is_patching ? &strand->patch : &strand->reader;
}

/* None comes before what was handed out. */
static inline void strand_place_turn(const struct strand *strand, struct sb_flow_turn *turn)
{
	if (turn->tsc < strand->last_tsc)
		turn->tsc = strand->last_tsc;
	if (turn->tsc_to < turn->tsc)
		turn->tsc_to = turn->tsc;
}

/* Its time; 0: not known. */
static inline uint64_t strand_tsc(const struct strand *strand)
{
	const struct span_item *item = &strand->item;
	const uint64_t tsc = item->kind == span_turns   ? item->flow.turn[strand->turn].tsc
	                     : item->kind == span_flow  ? item->flow.tsc
	                     : item->kind == span_event ? item->event.tsc
	                                                : 0;

	return tsc && tsc < strand->last_tsc ? strand->last_tsc : tsc;
}

#endif
