/* span_write.h - what a span's replay gives, as bytes: the format is told in span_format.h.
 */
#ifndef SB_SPAN_WRITE_H
#define SB_SPAN_WRITE_H

#include <sb/shard.h>

#include "replay/ledger.h"
#include "replay/span_blocks.h"
#include "replay/span_format.h"
#include "replay/span_guess.h"
#include "replay/span_shapes.h"
#include "replay/span_ways.h"
#include "replay/span_world.h"

struct span_writer {
	sb_span_write *write;
	void *context;
	enum span_channel channel;
	uint8_t *buffer; /* owned; of the block that is being filled */
	size_t size, capacity;
	/* What the reader knows already. */
	uint8_t *known; /* owned; by number: the path was defined */
	uint64_t numbering;
	uint32_t nfunctions; /* in calls that were added up: numbers of those from there on are new */
	struct span_blocks blocks;
	uint64_t tsc;
	int32_t pid, tid;
	uint32_t membership;
	const struct sb_epoch *epoch;
	const struct span_world *world; /* borrowed */
	struct span_guess *guess;       /* owned; as in struct span_reader */
	size_t guess_capacity;
	struct span_shapes shapes; /* likewise */
	struct sb_flow_turn *turn; /* owned; of one thread, to be written together */
	size_t nturns, turn_capacity;
	int failed; /* negative: nothing more is written */
};

/* Zero or -sbe_nomem. */
int span_writer_init(struct span_writer *writer, sb_span_write *write, void *context,
                     const struct span_world *world, enum span_channel channel);
void span_writer_fini(struct span_writer *writer);

/* All return zero, or negative when it cannot be written, and then always. */
int span_write_begin(struct span_writer *writer, const struct sb_span *span);
/* A piece, which begins at that place of the stream, and its end: where the next one begins. */
int span_write_piece(struct span_writer *writer, uint64_t position);
int span_write_piece_end(struct span_writer *writer, uint64_t to, uint64_t last_tsc,
                         const struct ledger_part *part);
/* @paths: they are wanted, not only their sums. */
int span_write_flow(struct span_writer *writer, const struct sb_flow *flow, int paths);
/* What is added up: flow with times comes, whose blocks are numbered anew from 0 on, and ways and seams by
 * these numbers. */
int span_write_codes(struct span_writer *writer);
int span_write_ways(struct span_writer *writer, const struct sb_flow_way *way, size_t nways);
int span_write_seam(struct span_writer *writer, const struct ways_seam *seam);
/* Calls that were added up, of functions that have numbers; all of one process. */
int span_write_edges(struct span_writer *writer, int32_t pid, const struct sb_epoch *epoch,
                     const struct sb_flow_calls *calls);
/* Who ran, but not what; those that follow on each other are written with the next call that is no turn. */
int span_write_turn(struct span_writer *writer, const struct sb_flow_turn *turn);
int span_write_turns(struct span_writer *writer);
int span_write_gap(struct span_writer *writer, const struct sb_gap *gap, int timeless);
int span_write_event(struct span_writer *writer, const struct sb_flow_event *event);
/* @surveyed: the trace was asked for lost mappings. Everything is written. */
int span_write_end(struct span_writer *writer, int surveyed);

#endif
