/* tools/job/fetch.h - a recording at a URL, fetched by range with a job's commands. */
#ifndef TOOLS_JOB_FETCH_H
#define TOOLS_JOB_FETCH_H

#include <jansson.h>

#include <sb/checkpoint.h>

#include "job/job_fetch.h"

struct fetch;

/* Asks for the size and the version of @url. @how is borrowed. Zero or a negative code, with *fetch NULL. */
int fetch_open(struct fetch **fetch, const struct job_fetch *how, const char *url, struct sb_error *err);
void fetch_close(struct fetch *fetch); /* NULL is fine; after the recording was closed */

/* Opens it: what is not trace is fetched, unless @checkpoint (may be NULL) has it. Zero or a negative code.
 */
int fetch_open_recording(struct fetch *fetch, const struct sb_checkpoint *checkpoint,
                         struct sb_perfdata **perfdata, struct sb_error *err);

/* What it is known by: "bytes", "version" if there is one, and when it was opened, the SHA-256 of what is not
 * trace: "sideband"; not with a checkpoint. */
json_t *fetch_value(const struct fetch *fetch);

/* Whether it is what it was when the plan was made, which had @value of it; what is not in both is not looked
 * at. Zero or -sbe_mismatch. */
int fetch_compare(const struct fetch *fetch, const json_t *value, struct sb_error *err);

/* Whether it still is what it was when it was opened: asks for size and version once more. Zero or a negative
 * code. */
int fetch_check(const struct fetch *fetch, struct sb_error *err);

#endif
