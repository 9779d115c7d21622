/* tools/job/job_targets.h - the files that a job writes: each is another one, whatever it is called, and none
 * of them is one that the job reads. */
#ifndef TOOLS_JOB_TARGETS_H
#define TOOLS_JOB_TARGETS_H

#include "job/job_inputs.h"

/* Zero, or a negative code with the place of the sink that is wrong. */
int job_targets_check(const struct job *job, const struct job_inputs *inputs, struct sb_error *err);

/* The same for a job that has just been read, or that the command line is. */
int job_targets_check_all(const struct job *job, struct sb_error *err);

/* And for one more file, beside those that the job writes: @what, "the plan". */
int job_targets_check_file(const struct job *job, const char *file, const char *what, struct sb_error *err);

#endif
