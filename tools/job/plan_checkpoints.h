/* tools/job/plan_checkpoints.h - the file beside a plan that has a checkpoint of each of its recordings, one
 * behind the other, each at a multiple of checkpoint_align bytes. It appears whole, before the plan does.
 */
#ifndef TOOLS_JOB_PLAN_CHECKPOINTS_H
#define TOOLS_JOB_PLAN_CHECKPOINTS_H

#include "job/shard_plan.h"

struct output;

struct plan_checkpoints {
	const char *path;      /* borrowed; NULL: there is to be none */
	struct output *output; /* NULL: none was written yet */
	uint64_t written;
};

/* That of an open recording; of some there is none. Zero or a negative code. */
int plan_checkpoints_add(struct plan_checkpoints *file, const struct job_session *opened,
                         struct job_checkpoint *checkpoint, struct sb_error *err);
/* The file appears. Zero or a negative code. */
int plan_checkpoints_commit(struct plan_checkpoints *file, struct sb_error *err);
/* What was not committed vanishes. */
void plan_checkpoints_close(struct plan_checkpoints *file);

#endif
