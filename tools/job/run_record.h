/* tools/job/run_record.h - what a run read, was asked for, did and wrote, as a JSON file beside its outputs:
 * for going on where a run was killed, and for doing it again and comparing. It holds no times, so that the
 * same run gives the same bytes. sbtrace-job(5) describes it.
 */
#ifndef TOOLS_JOB_RUN_RECORD_H
#define TOOLS_JOB_RUN_RECORD_H

#include <jansson.h>

#include "job/job_inputs.h"

/* Where a job's run record is, to be freed; NULL with zero: it has none, as it has no file, or writes none.
 */
int run_record_path(const struct job *job, const struct job_inputs *inputs, char **path,
                    struct sb_error *err);

/* A record without recordings yet; NULL: *err has the reason. */
json_t *run_record_new(const struct job *job, struct sb_error *err);
/* One that was written; NULL: *err has the reason, -sbe_not_found when there is none. */
json_t *run_record_read(const char *path, struct sb_error *err);
/* Appears when it is whole. */
int run_record_write(const json_t *record, const char *path, struct sb_error *err);

/* NULL, or the key in which the two differ of what decides about outputs; @buffer is for its name. */
const char *run_record_differ(const json_t *a, const json_t *b, char *buffer, size_t size);

/* The SHA-256 of each of a recording's files, by name; of what @job fetches, its size and version. NULL: *err
 * has the reason. */
json_t *run_record_input(const struct job *job, const char *path, struct sb_error *err);
/* Size and SHA-256 of each file that is not NULL; NULL: *err has the reason. */
json_t *run_record_outputs(const struct job *job, char *const *file, struct sb_error *err);

/* The entry of @path in a record, or NULL. Borrowed. */
json_t *run_record_find(const json_t *record, const char *path);
/* Replaces that entry, or adds it. @entry is taken over. */
void run_record_put(json_t *record, json_t *entry);

#endif
