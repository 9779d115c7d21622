/* tools/cluster/shard_states.h - how far a plan is: for each shard, whether its result is there, and if not,
 * what Slurm does about it. A result is whole and of this plan as far as its sizes and its record say: what
 * was cut short, or is another plan's, counts as none.
 */
#ifndef TOOLS_CLUSTER_SHARD_STATES_H
#define TOOLS_CLUSTER_SHARD_STATES_H

#include "cluster/slurm_queue.h"
#include "cluster/submissions.h"
#include "job/shard_plan.h"

enum shard_progress {
	shard_is_done,
	shard_runs,
	shard_waits,   /* for a place to run */
	shard_fails,   /* it has run, or should have, and there is no result */
	shard_is_open, /* it was not submitted */
	shard_progresses
};

/* "done", "running", ... */
extern const char *const shard_progress_name[shard_progresses];

struct shard_status {
	enum shard_progress progress;
	char *why;                     /* what is wrong with the result that is there; or NULL */
	const struct slurm_task *task; /* that was to run it last, or NULL */
};

struct shard_states {
	struct submissions submissions;
	struct slurm_queue queue;
	struct shard_status *shard;
	size_t nshards;
	size_t count[shard_progresses];
	const struct slurm_task *merge; /* the last one that was submitted, or NULL */
};

/* Zero or a negative code; to be freed in any case. */
int shard_states_read(struct shard_states *states, const struct shard_plan *plan, struct sb_error *err);
void shard_states_free(struct shard_states *states);

/* Whether something is still going on. */
static inline bool shard_states_busy(const struct shard_states *states)
{
	return states->count[shard_runs] || states->count[shard_waits];
}

#endif
