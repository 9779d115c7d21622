/* tools/job/job_parts.h - a recording decoded in parts, whose results stay until its outputs are written: who
 * is killed on the way goes on behind the parts that were finished. They are shards (shard_plan.h) of a plan
 * that only this job knows; merged, they give the bytes of the recording as a whole.
 */
#ifndef TOOLS_JOB_PARTS_H
#define TOOLS_JOB_PARTS_H

#include <jansson.h>

#include "job/job.h"
#include "output.h"

struct job_parts;
struct shard_merge; /* shard_merge.h */

struct job_parts_request {
	const char *command; /* for what is told on stderr */
	const struct job *job;
	const char *recording;
	const json_t *input,
	        *record;   /* what decides: the recording's sums, and the run record (run_record.h) */
	bool resume;       /* parts that are there already are taken */
	bool progress;     /* tell how far it is even when stderr is no terminal */
	const char *label; /* before that */
	struct output_limit *limit; /* NULL: none; parts count while they are there */
};

/* Decodes all parts that are not there yet. *parts becomes NULL when there is no trace to be cut, or what
 * comes through a pipe; then nothing was done. Zero or a negative code; what is finished stays. */
int job_parts_make(struct job_parts **parts, const struct job_parts_request *request, struct sb_error *err);

/* Their results, of the one recording; borrowed. */
struct shard_merge *job_parts_merge(struct job_parts *parts);

/* @remove: they are not needed any more. @parts may be NULL. */
void job_parts_close(struct job_parts *parts, bool remove);

/* Removes what a run left that was killed when all was done; not while another one is at work. */
void job_parts_clean(const struct job *job);

#endif
