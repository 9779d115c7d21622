/* tools/job/job_replay.h - one recording of a job, from opening it to putting its outputs in place. */
#ifndef TOOLS_JOB_REPLAY_H
#define TOOLS_JOB_REPLAY_H

#include <jansson.h>

#include <sb/shard.h>

#include "job/job.h"
#include "job/job_session.h"

enum job_replay_end {
	job_replay_whole,
	job_replay_gaps,    /* that `strict` does not allow */
	job_replay_stopped, /* since all who would read the outputs went away */
	job_replay_wrong    /* the account does not add up */
};

struct job_replay_request {
	const char *command; /* for what is told on stderr: "sbtrace replay" */
	const struct job *job;
	const char *recording;
	char *const *file; /* of each of the job's sinks, NULL: standard output; nothing without sinks */
	struct output_limit *limit;         /* of what is written; NULL: none */
	const char *label;                  /* before the progress bar */
	bool progress;                      /* tell it even when stderr is no terminal */
	const struct sb_span_source *spans; /* it was decoded already; NULL: it was not */
	const json_t *expected;             /* as of struct job_session */
	struct job_checkpoint checkpoint;   /* likewise */
	bool is_last;                       /* the process ends with it */
};

/* *end says how it ended; *account (may be NULL) becomes the account, to be freed. Zero or a negative code.
 */
int job_replay(const struct job_replay_request *request, enum job_replay_end *end, json_t **account,
               struct sb_error *err);

#endif
