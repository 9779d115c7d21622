/* span_read.h - a span's bytes, item by item. They are input as any other: nothing in them is believed.
 */
#ifndef SB_SPAN_READ_H
#define SB_SPAN_READ_H

#include <sb/shard.h>

#include "replay/ledger.h"
#include "replay/path_store.h"
#include "replay/span_blocks.h"
#include "replay/span_format.h"
#include "replay/span_guess.h"
#include "replay/span_shapes.h"
#include "replay/span_world.h"

/* What the flow etc. point to is valid until the next item is read. */
struct span_item {
	enum span_item_kind kind;
	int timeless;      /* gap */
	int surveyed;      /* end */
	uint64_t position; /* piece: where it begins; its end: where the next one does, UINT64_MAX: nowhere */
	uint64_t last_tsc; /* piece_end */
	struct sb_span span; /* begin */
	union {
		struct sb_flow flow;
		struct sb_gap gap;
		struct sb_flow_event event;
		struct ledger_part part; /* the reader's: not to be freed */
	};
};

/* Flow without its code that is not told one by one yet. */
struct span_turns {
	struct sb_flow_turn all; /* as one */
	size_t count;            /* 0: there is none */
	size_t at;               /* where they are in the block, one by one; behind them, the reader is */
	int has_kernel;
};

struct span_reader {
	const struct span_world *world; /* borrowed */
	void *context;
	int64_t (*read)(void *context, size_t index, uint64_t offset, void *bytes, size_t size,
	                struct sb_error *err);
	const char *(*name)(void *context, size_t index); /* for errors; NULL: it has none */
	size_t index;
	int32_t cpu;
	unsigned int sums; /* enum sb_sums: how flow may have been added up */
	enum span_channel channel;
	uint64_t offset;       /* of the block behind the present one */
	uint8_t *block;        /* owned */
	size_t size, capacity; /* of the present block */
	size_t at;

	const struct pt_run_path **known; /* owned; by number, those that were told, and NULL between them */
	size_t nknown, known_capacity;
	struct path_store numbered;
	struct span_blocks told;
	/* Of the present flow: */
	const struct pt_run_path **path; /* owned; NULL: the next one of the loose ones */
	size_t path_capacity;
	struct pt_run_path *loose; /* owned; those without a number; their blocks are behind each other: */
	size_t nloose, loose_capacity;
	struct pt_run_block *blocks; /* owned */
	size_t nblocks, block_capacity;
	uint64_t *times; /* owned */
	size_t times_capacity;
	/* Of what was added up: */
	size_t ncodes;           /* blocks that have numbers */
	struct sb_flow_way *way; /* owned */
	size_t way_capacity;
	struct sb_flow_stop *back; /* owned */
	size_t back_capacity;
	struct sb_flow_ways ways; /* of the present flow, as is: */
	struct sb_flow_seam seam;
	struct sb_flow_calls calls;
	uint32_t nfunctions;      /* that have numbers in these */
	struct span_guess *guess; /* owned; of what comes first, and behind each function */
	size_t guess_capacity;
	struct span_shapes shapes;        /* of calls' sums, which are among these */
	struct sb_flow_call_frame *frame; /* owned */
	size_t frame_capacity;
	struct sb_flow_call_edge *edge; /* owned */
	size_t edge_capacity;
	struct sb_flow_turn *turn; /* owned */
	size_t turn_capacity;
	struct span_turns others;  /* of the present flow */
	struct account_slot *slot; /* owned; of a part */
	size_t slot_capacity;
	uint64_t numbering, tsc;
	int32_t pid, tid;
	const struct sb_membership *membership;
	const struct sb_epoch *epoch;
	int ended;
};

/* @numbering: the first one of the reader's flow. Zero or -sbe_nomem. */
int span_reader_init(struct span_reader *reader, const struct span_world *world, uint64_t numbering);
void span_reader_fini(struct span_reader *reader);

/* The next item: 1; 0: the last one was an end; or a negative code. Of turns, the first one: the others are
 * reader->others. */
int span_read(struct span_reader *reader, struct span_item *item, struct sb_error *err);
/* Of the item that was read last, which is turns: all, one by one. Zero or a negative code. */
int span_read_others(struct span_reader *reader, struct span_item *item, struct sb_error *err);

#endif
