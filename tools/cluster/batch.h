/* tools/cluster/batch.h - what a batch system is asked to run for a plan, whichever system it is: which tasks
 * of it, and which words start them. What they may take of a machine stands in the plan's job
 * (job/job_cluster.h).
 */
#ifndef TOOLS_CLUSTER_BATCH_H
#define TOOLS_CLUSTER_BATCH_H

#include <stdio.h>

#include "cluster/tasks.h"
#include "job/shard_plan.h"

struct batch {
	const struct shard_plan *plan;
	struct tasks tasks;
	bool *task;          /* those to be run */
	size_t ntasks;       /* so many */
	const char *sbtrace; /* the program */
};

/* For /bin/sh, in quotes. */
void batch_print_word(FILE *file, const char *text);

/* A script for /bin/sh that runs the shards of a task, whose number @index is, in the shell's words. */
void batch_print_shards(FILE *file, const struct batch *batch, const char *index);
void batch_print_merge(FILE *file, const struct batch *batch);
/* Waits until all shards are there. */
void batch_print_wait(FILE *file, const struct batch *batch);

/* CPUs of a task, and shards that it runs at a time. */
unsigned int batch_cpus(const struct batch *batch);

#endif
