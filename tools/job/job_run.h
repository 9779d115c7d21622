/* tools/job/job_run.h - a whole job: each of its recordings, and the run record. */
#ifndef TOOLS_JOB_RUN_H
#define TOOLS_JOB_RUN_H

#include "job/job.h"

struct shard_merge; /* shard_merge.h */

struct job_run_options {
	const char *command; /* for what is told on stderr: "sbtrace replay" */
	bool progress;       /* tell it even when stderr is no terminal */
	bool resume;         /* leave out what the run record says is finished, as far as files say so, too */
	struct shard_merge
	        *merge; /* the recordings were decoded in shards, of which this is; NULL: they were not */
	bool ends;      /* so does the process, with the last recording */
	bool sums;      /* with merge: recordings are read once more, for the run record to have their sums */
};

/* *status becomes the exit status (commands.h) of what came to its end. Zero, or a negative code: the job was
 * given up. */
int job_run(const struct job *job, const struct job_run_options *options, int *status, struct sb_error *err);

/* What a job's limit of memory says holds from now on; without one, the heap begins with huge pages.
 * To be called before other threads begin. Zero or a negative code. */
int job_take_memory(const struct job *job, struct sb_error *err);

/* Runs a job again, into a directory that is then removed, and compares with its run record; differences are
 * told on stderr. *same: there are none. */
int job_verify(const struct job *job, const struct job_run_options *options, bool *same,
               struct sb_error *err);

#endif
