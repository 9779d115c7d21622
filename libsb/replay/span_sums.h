/* span_sums.h - flow of a span added up: how often each block ran, not in which order; and if that is wanted,
 * how often each block followed on each other one (span_ways.h).
 *
 * For those who only count (struct sb_replay_options, sums). Sums come out in the order in which each was
 * first begun, with the time of that: so whoever reads meets blocks for the first time in the same order, and
 * at the same times, as in the flow.
 */
#ifndef SB_SPAN_SUMS_H
#define SB_SPAN_SUMS_H

#include "replay/span_ways.h"
#include "replay/span_write.h"

struct span_sum;
struct sums_found;
struct sums_row;

struct span_sums {
	struct span_writer *writer; /* borrowed */
	enum sb_sums what;
	struct span_ways ways;
	struct arena lengths; /* of the instructions of all sums' blocks */
	struct span_sum *sum; /* owned; also those that have nothing at present */
	size_t nsums, capacity;
	struct index_slots slots; /* by what they are of: index + 1 */
	struct sums_found *found; /* owned; sums that were found lately, by address */
	/* Numbered paths, which are taken apart when all is written, or their numbers begin anew. */
	struct sums_row **row, **last; /* owned; by what they are of, and by number: the one that came last */
	size_t nrows, nrow_slots;
	uint8_t *seen;            /* owned; by number: the path came before */
	struct sums_row *counted; /* those that have something */
	struct arena memory;      /* of the rows */
	uint64_t numbering;
	int32_t cpu;
	/* Since all was written last: */
	uint32_t
	        *begun; /* owned; indices of the sums that have something, in the order in which they began */
	size_t nbegun, begun_capacity;
	uint64_t tsc; /* of the flow that came last */
	/* Of the flow that is being written: owned. */
	struct pt_run_block *block;
	uint64_t *times;
	size_t block_capacity, times_capacity;
};

/* Zero or -sbe_nomem. */
int span_sums_init(struct span_sums *sums, struct span_writer *writer, enum sb_sums what);
void span_sums_fini(struct span_sums *sums);

/* What a thread did before, and what it does behind, may have something in between elsewhere. */
int span_sums_break(struct span_sums *sums);
int span_sums_add(struct span_sums *sums, const struct sb_flow *flow);
/* Writes all, and what time it is; what comes is added up anew. */
int span_sums_flush(struct span_sums *sums);

#endif
