/* run_watch.h - finds a block of code in runs, and makes runs of parts of runs.
 */
#ifndef SB_RUN_WATCH_H
#define SB_RUN_WATCH_H

#include <intel-pt-run.h>

struct run_watch {
	uint64_t ip;    /* where the block begins; 0: nothing is looked for */
	uint8_t *known; /* owned; by a path's number: whether it has the block, if that was looked at */
};

/* Before a block of a run; .path == run->npaths: behind all. */
struct run_place {
	uint32_t path, block;
};

/* Zero or -sbe_nomem. */
int run_watch_init(struct run_watch *watch, uint64_t ip);
void run_watch_fini(struct run_watch *watch);

/* Moves *place to the next such block at or behind it. Zero: there is none. */
int run_watch_find(struct run_watch *watch, const struct pt_run *run, struct run_place *place);

/* The numbers of paths mean others from now on. */
void run_watch_forget(struct run_watch *watch);

/* Blocks @from to @to (exclusive) of @path, as a path that is valid as long as @path. */
struct pt_run_path run_path_part(const struct pt_run_path *path, uint32_t from, uint32_t to);

/* A run of @npaths paths, not of @run's times and flags. */
struct pt_run run_of_paths(const struct pt_run *run, const struct pt_run_path *const *path, uint32_t npaths);

#endif
