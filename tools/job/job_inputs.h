/* tools/job/job_inputs.h - the recordings that a job names, and the files that it writes for each. */
#ifndef TOOLS_JOB_INPUTS_H
#define TOOLS_JOB_INPUTS_H

#include "job/job.h"

/* In the order of the job; what a pattern matches in the order of the alphabet; each once. */
struct job_inputs {
	char **path;
	size_t count;
};

/* A pattern without a match is an error. */
int job_inputs_find(const struct job *job, struct job_inputs *inputs, struct sb_error *err);
void job_inputs_free(struct job_inputs *inputs);

/* @name with {recording}, {directory} and {number} filled in for the recording of @index; NULL: no memory. */
char *job_output_name(const char *name, const struct job_inputs *inputs, size_t index);

/* Those of all sinks for one recording, NULL where it is standard output; job->nsinks of them, to be freed
 * with job_outputs_free(). NULL: no memory. */
char **job_outputs(const struct job *job, const struct job_inputs *inputs, size_t index);
void job_outputs_free(char **file, size_t count);

/* Whether a sink's file is a file, not standard output. */
bool job_is_file(const char *file);

#endif
