/* walker.h - replays streams of a recording, one after the other or from some place on, into a ledger.
 *
 * A walker is used by one thread. It has images, an observer and a ledger of its own; what it shares with
 * others does not change (struct replay_world), or takes care of itself: sections, resolver.
 */
#ifndef SB_WALKER_H
#define SB_WALKER_H

#include "replay/stream_replay.h"

/* What all walkers of a session see. Borrowed. */
struct replay_world {
	const struct sb_perfdata *perfdata;
	const struct sb_replay_options *options;
	const struct sb_system *system;
	const struct replay_filter *filter;
	struct sb_resolver *resolver;
	struct pt_image_section_cache *sections;
	struct jit_code *jit;
	struct pt_config config;
	int traces_kernel;                /* the trace is not of user space alone */
	const struct kernel_text *kernel; /* NULL: not known */
	struct evidence *evidence;
	struct sb_symbols *symbols; /* only for calls that are added up; NULL: they are not */
};

/* Where a stream may be joined: a PSB. */
struct stream_place {
	size_t piece;      /* of a segment_cutter */
	uint64_t offset;   /* in it */
	uint64_t position; /* in the stream */
};

struct walker {
	const struct replay_world *world; /* borrowed */
	struct image_builder images;
	struct trial trial;
	struct kernel_image kernel; /* when the kernel is traced */
	struct ledger *ledger;      /* borrowed */
	struct sb_error *err;       /* borrowed */

	/* Of the present stream. */
	const struct sb_aux_stream *stream; /* NULL: none yet */
	const struct sb_aux_flag *flag;
	size_t nflags;
	struct sb_sched fixed;
	struct segment_cutter cutter;
	struct sb_segment segment; /* the one that is replayed, also when that has ended */
	struct filter_memory memory;
	struct sideband_observer observer;
	struct stream_replay replay;
	int finishing; /* what comes now is about the stream as a whole, and has no time */
};

/* @nparts: how many images, and mappings in them, are kept. */
int walker_init(struct walker *walker, const struct replay_world *world, struct ledger *ledger, size_t nparts,
                struct sb_error *err);
void walker_fini(struct walker *walker);

/* Gets ready for @stream. at_border() and border of walker->replay can be set after this. */
int walker_open(struct walker *walker, const struct sb_aux_stream *stream);

/* The open stream from its beginning, or from a place on. Zero; positive: it ended at a border; or a negative
 * code. */
int walker_run(struct walker *walker);
int walker_run_from(struct walker *walker, const struct stream_place *place);

/* What the observer counted so far goes into the ledger. */
void walker_settle(struct walker *walker);

/* The sum of all bytes that the stream's chunks promise but do not hold. */
uint64_t stream_missing_bytes(const struct sb_aux_stream *stream);

#endif
