/* tools/job/job_cluster.h - what a job says of the batch system that runs its shards: how much of a machine
 * each task may take, how many tasks there may be, and where. It decides nothing of what is written.
 */
#ifndef TOOLS_JOB_CLUSTER_H
#define TOOLS_JOB_CLUSTER_H

#include <stdint.h>

#include "job/job_list.h"

/* Zero and NULL: nothing was said. */
struct job_cluster {
	uint64_t time;         /* seconds a task may take */
	uint64_t memory;       /* bytes a task may take */
	unsigned int cpus;     /* of a task */
	unsigned int throttle; /* tasks that run at a time */
	unsigned int tasks;    /* at most: with more shards, each runs several */

	/* Slurm's. */
	char *partition, *account;
	struct job_texts options; /* of sbatch(1), one a word */

	/* Kubernetes'. */
	char *image, *name_space;
	char *claim, *mount; /* the volume with plan and recordings, and where pods see it */
};

enum {
	job_tasks_default = 1000, /* Slurm takes indices below 1001, unless it is told otherwise */
	job_tasks_most = 100000,  /* the parallelism that Kubernetes takes for indexed jobs */
	job_cpus_most = 1024,
};

extern const struct job_table job_cluster_table;

struct job;
struct sb_error;

void job_cluster_free(struct job_cluster *cluster);

/* What takes more than one key, and what only batch systems would complain about. */
int job_cluster_check(const struct job *job, struct sb_error *err);

#endif
