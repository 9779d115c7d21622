/* Runs: the flow walks, and where it was before, the run cache leads it. */
#ifndef PT_RUN_WALK_H
#define PT_RUN_WALK_H

#include "flow/flow.h"
#include "flow/recorder.h"
#include "flow/run_leap.h"

enum {
	pt_run_capacity = 512,
	pt_run_max_paths = 1024,
	pt_run_max_loose = 64,
	pt_run_max_events = 64,
	pt_run_enough_events = pt_run_max_events - pt_chain_max_events, /* a chain might not fit any more */
	pt_run_max_times = 256
};

struct pt_run_walk {
	struct pt_flow *flow;
	uint32_t wanted;            /* how many paths or ways are to be kept */
	struct pt_run_cache cache;  /* made at first use */
	struct pt_count_cache ways; /* the same, for counting */
	struct pt_recorder recorder;
	struct pt_chain_list list; /* what is found one behind the other in the present stride */
	uint8_t recording;
	uint32_t first_block;     /* of what is recorded, in the sink */
	uint64_t first_insn;      /* the sink's instructions before it */
	struct pt_flow_sink sink; /* blocks of the present run that come from the walk */
	uint8_t events_inside;    /* events come inside of runs */
	uint8_t times_inside;     /* and changes of time */
	uint8_t last_time;        /* but only the last one of a run */
	uint8_t asks_cache;       /* in the present run */

	/* How often the cache knew a window, and did not, since that was last looked at; and for how many
	 * blocks it is not asked, because it did not know much: the more often in a row, the longer. */
	uint32_t hits, misses, idle_blocks, idles;
	/* The same of chains; and how many windows were none's. */
	uint32_t chain_hits, chain_misses, lone, chainless_blocks;
	/* The same of leaps, which are tried where there are no chains. */
	uint32_t leap_hits, leap_misses, leaps_before, leapless_blocks;
	uint8_t noting; /* the list may become a leap */
	uint8_t chosen; /* which of them are used was told, and does not change */

	/* If only the last time of a run is told: CYCs whose time nobody has asked for yet, the last one
	 * behind the run's first @npaths paths. One estimate by all their cycles is the same as one by each
	 * of them after the other. */
	struct {
		uint64_t cycles;
		uint32_t npaths;
	} lump;
	uint8_t has_rows; /* in so many strides; there were CYCs to be summed up: rows of TNTs may be leaps */

	/* The present run. */
	const struct pt_run_path *path[pt_run_max_paths + pt_leap_parts]; /* the rest is never told */
	struct pt_run_path loose[pt_run_max_loose];
	struct pt_run_event event[pt_run_max_events];
	struct pt_run_time times[pt_run_max_times];
	uint32_t npaths, nloose, nevents, ntimes;
	uint32_t nblocks;
	uint64_t ninsn;
	struct pt_run_time time; /* when it begins */
	uint64_t told;           /* the last time that it tells of */
	uint32_t calls;          /* of observers, before */
	const uint8_t *reached;  /* before */
};

/* @block: room for pt_run_capacity blocks. NULL: no memory. */
struct pt_run_walk *pt_run_walk_new(struct pt_flow *flow, struct pt_run_block *block);
void pt_run_walk_free(struct pt_run_walk *walk); /* NULL is fine */

/* Makes what the next run needs. Zero or -pte_nomem. */
int pt_run_walk_prepare(struct pt_run_walk *walk);

/* All numbered paths become invalid. */
void pt_run_walk_forget(struct pt_run_walk *walk);

/* The next run. Status bits, or a negative code; what is in the run stands in either case. */
int pt_run_walk_next(struct pt_run_walk *walk);

#endif
