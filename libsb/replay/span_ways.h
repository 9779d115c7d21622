/* span_ways.h - what followed on what in a span that is added up (span_sums.h).
 *
 * Flow of one thread without anything in between is a stretch. What depends on what the thread did before
 * it, elsewhere perhaps, is kept with what will be known of the thread behind it, as a seam; all else is
 * counted. A stretch ends, too, where time goes on by much: the thread may have been on another CPU.
 * Blocks go by their numbers among the sums that have something.
 */
#ifndef SB_SPAN_WAYS_H
#define SB_SPAN_WAYS_H

#include <sb/replay.h>

#include "system/index_slots.h"

struct ways_seam {
	struct sb_flow_seam seam; /* its .back is to be found from .first_back on */
	size_t first_back;
	int32_t pid, tid;
	uint64_t tsc; /* when it ended */
};

struct span_ways {
	struct sb_flow_way *way; /* owned; in the order in which they first came */
	size_t nways, way_capacity;
	struct index_slots slots; /* by what they are of: index + 1 */
	struct ways_seam *seam;   /* owned; of stretches that ended */
	size_t nseams, seam_capacity;
	struct sb_flow_stop *back; /* owned; of all seams, and of the present stretch behind them */
	uint8_t *level;            /* owned; of each: how many must have been gone on with up to it */
	size_t nbacks, back_capacity, level_capacity;
	/* The present stretch. */
	int is_open;
	struct ways_seam present;
	struct sb_way_thread thread;
};

/* Zeroed, there is nothing. */
void span_ways_fini(struct span_ways *ways);

/* As sb_way_go(); codes are made by span_ways_code(). */
struct sb_way_code span_ways_code(uint32_t number, const struct pt_run_block *block);
int span_ways_go(struct span_ways *ways, const struct sb_way_code *first, uint64_t ip,
                 const struct sb_way_code *last, const void *last_user);
/* @flow begins, or has ended. */
int span_ways_begin_flow(struct span_ways *ways, const struct sb_flow *flow);
int span_ways_end_flow(struct span_ways *ways, const struct sb_flow *flow);

int span_ways_count(struct span_ways *ways, uint32_t from, uint32_t to, int async, uint64_t count);

/* The present stretch ends. */
int span_ways_close(struct span_ways *ways);
/* Whether it is time to write. */
int span_ways_are_many(const struct span_ways *ways);
/* All was written. */
void span_ways_clear(struct span_ways *ways);

#endif
