/* tools/job/shard_merge.h - the results of a plan's shards, as what is replayed. */
#ifndef TOOLS_JOB_SHARD_MERGE_H
#define TOOLS_JOB_SHARD_MERGE_H

#include "job/shard_plan.h"

struct shard_merge;

/* Looks at all results; what is missing or broken is told on stderr, after @command, and then the result is
 * -sbe_not_found. @plan must outlive the merge. */
int shard_merge_open(struct shard_merge **merge, const struct shard_plan *plan, const char *command,
                     struct sb_error *err);
void shard_merge_close(struct shard_merge *merge); /* NULL is fine */

/* Why the recording at @index was passed over when the plan was made; NULL: it was not. */
const char *shard_merge_error(const struct shard_merge *merge, size_t index);

/* What the plan knows of the recording's files, see recording_files.h; borrowed. */
const json_t *shard_merge_files(const struct shard_merge *merge, size_t index);

/* Its checkpoint, if there is one. */
struct job_checkpoint shard_merge_checkpoint(const struct shard_merge *merge, size_t index);

/* What its shards hold; until the source of another one is asked for. */
struct sb_span_source shard_merge_source(struct shard_merge *merge, size_t index);

#endif
