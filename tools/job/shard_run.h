/* tools/job/shard_run.h - shards of a plan, run here. */
#ifndef TOOLS_JOB_SHARD_RUN_H
#define TOOLS_JOB_SHARD_RUN_H

#include "job/shard_plan.h"

struct shard_run_options {
	const char *command; /* for what is told on stderr */
	unsigned int jobs;   /* shards at a time; 0: one for each CPU */
	bool again;          /* also those that have a result already */
	uint64_t disk;       /* bytes that may be written; 0: as many as there are */
	bool progress;       /* tell how far it is even when stderr is no terminal */
	const char *label;   /* before that; NULL: none */
};

/* Runs those shards of @plan for which wanted[shard] is set; failures are told on stderr. Zero: each has its
 * result; or a negative code. */
int shard_run(const struct shard_plan *plan, const bool *wanted, const struct shard_run_options *options,
              struct sb_error *err);

#endif
