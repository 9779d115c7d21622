/* Runs cases in a child process, so that a crash or a hang of either library ends one case only. */
#ifndef DIFF_RUN_H
#define DIFF_RUN_H

#include "compare.h"

struct tally {
	struct progress progress;
	uint64_t at; /* which case is running */
	int layer;
	uint64_t cases, records, compared[layer_count], different[layer_count], skipped[layer_count];
	uint64_t right[sides], wrong[sides]; /* against the truth */
	uint64_t crashed[sides], hung[sides];
	uint64_t known[known_count];
	struct signatures signatures[layer_count];
};

struct run_plan {
	/* Makes case number @at; returns zero if it cannot be had. */
	int (*make)(void *context, struct diff_case *c, uint64_t at);
	void *context;
	uint64_t count;
	unsigned layers;
	unsigned timeout; /* milliseconds of CPU time per case and layer */
	int verbose;      /* a line for each case and layer */
};

/* Returns what was counted, in memory that lives until the process ends. */
struct tally *run(struct comparer *comparer, const struct run_plan *plan);

/* Zero if nothing differs but what is known, and ours neither crashed nor hung. */
int run_report(const struct tally *tally);

#endif
