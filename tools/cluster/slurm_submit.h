/* tools/cluster/slurm_submit.h - a plan's tasks as a job array of Slurm's, and behind it a job that merges.
 */
#ifndef TOOLS_CLUSTER_SLURM_SUBMIT_H
#define TOOLS_CLUSTER_SLURM_SUBMIT_H

#include <stdio.h>

#include "cluster/batch.h"
#include "cluster/shard_states.h"

/* The scripts and how they would be submitted; the array is left out when no task is to be run. */
int slurm_print(FILE *file, const struct batch *batch, struct sb_error *err);

/* Submits both, and notes that down in the results' directory, which is made. The merge waits for the tasks,
 * and for those of @states that still do something. A merge that waits already is called off. What was
 * submitted is told on standard output. Zero or a negative code. */
int slurm_submit(const struct batch *batch, struct shard_states *states, struct sb_error *err);

#endif
