/* The block decoder: shared by pt_blk_next() (block_decoder.c) and pt_blk_run() (run_decoder.c). */
#ifndef PT_BLOCK_DECODER_H
#define PT_BLOCK_DECODER_H

#include "flow/cursor.h"
#include "flow/run_walk.h"

struct pt_block_decoder {
	struct pt_flow flow;

	struct pt_cursor cursor; /* for pt_blk_next() */

	struct pt_run_block run[pt_run_capacity]; /* of the present chain or run */
	struct pt_run_walk *walk;                 /* owned; NULL: no run was asked for yet */
	uint8_t events_inside;                    /* of runs */
	uint8_t last_time;                        /* only the last time inside of a run is told */
	uint8_t counts;                           /* blocks of runs are only counted */
};

/* If it is in a cached path: the flow comes to where pt_blk_next() is. */
void pt_block_settle(struct pt_block_decoder *decoder);

#endif
