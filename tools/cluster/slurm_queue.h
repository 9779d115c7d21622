/* tools/cluster/slurm_queue.h - what Slurm says of jobs: squeue(1) of those that wait, run, or ended a moment
 * ago, and sacct(1), where accounting is set up, of those that ended long ago.
 */
#ifndef TOOLS_CLUSTER_SLURM_QUEUE_H
#define TOOLS_CLUSTER_SLURM_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include <sb/error.h>

enum slurm_phase { slurm_waits, slurm_runs, slurm_ended };

struct slurm_task {
	char job[24];   /* "12" of "12_3" */
	long index;     /* 3 of "12_3", -1: the job is no array */
	char state[24]; /* Slurm's word: "RUNNING", "CANCELLED" */
};

struct slurm_queue {
	struct slurm_task *task;
	size_t count;
};

enum slurm_phase slurm_phase_of(const struct slurm_task *task);

/* Of the jobs with the numbers @job[@njobs]; of those that Slurm has forgotten, nothing. Zero or a negative
 * code; to be freed in any case. */
int slurm_queue_read(struct slurm_queue *queue, const char *const *job, size_t njobs, struct sb_error *err);
void slurm_queue_free(struct slurm_queue *queue);

/* @index -1: a job that is no array. NULL: nothing is known. */
const struct slurm_task *slurm_queue_find(const struct slurm_queue *queue, const char *job, long index);

#endif
