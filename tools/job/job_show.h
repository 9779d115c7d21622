/* tools/job/job_show.h - a job as YAML, with includes, variables and options resolved: a job file itself. */
#ifndef TOOLS_JOB_SHOW_H
#define TOOLS_JOB_SHOW_H

#include <jansson.h>
#include <stdio.h>

#include "job/job.h"

/* Zero, or -1: out of memory, or the file cannot be written. */
int job_show(const struct job *job, FILE *to);
/* The same of its value, see job_keys.h. */
int job_show_value(const json_t *value, FILE *to);

#endif
