/* tools/job/shard_result.h - the file with a shard's result, as sbtrace-plan(5) describes it: what each of
 * its parts holds (sb/shard.h), and behind that a record of it in JSON. It appears whole, by rename, under a
 * name that only this plan's shard has; whoever writes it has a temporary name of their own.
 */
#ifndef TOOLS_JOB_SHARD_RESULT_H
#define TOOLS_JOB_SHARD_RESULT_H

#include <nettle/sha2.h>

#include "job/shard_plan.h"

struct shard_writer {
	const struct shard_plan *plan;
	size_t shard;
	int fd;
	char *path, *temporary; /* owned */
	uint8_t *buffer;        /* owned */
	size_t used;
	uint64_t written; /* and what is in the buffer, are behind each other */
	struct sha256_ctx sum;
	json_t *parts;
};

/* Zero or a negative code; then there is nothing to close. */
int shard_writer_open(struct shard_writer *writer, const struct shard_plan *plan, size_t shard,
                      struct sb_error *err);
/* For sb_session_run_span(); the context is the writer. */
int shard_writer_write(void *writer, const void *bytes, size_t size);
/* Where the next part begins. */
uint64_t shard_writer_offset(const struct shard_writer *writer);
/* The part @index of @recording has been written, from @offset on. */
void shard_writer_part(struct shard_writer *writer, size_t recording, size_t index, uint64_t offset,
                       const struct sb_account *account);
/* Writes the record and puts the file in its place. Zero or a negative code; closed in any case. */
int shard_writer_commit(struct shard_writer *writer, struct sb_error *err);
/* What was written vanishes. */
void shard_writer_cancel(struct shard_writer *writer);

/* The record of a shard's result, which is found to be whole as far as its sizes say, and of this plan and
 * this version of sbtrace. NULL: *err has the reason, with the code -sbe_not_found when there is no result.
 */
json_t *shard_result_record(const struct shard_plan *plan, size_t shard, struct sb_error *err);

/* Whether all its bytes are what was written. Zero or a negative code. */
int shard_result_verify(const struct shard_plan *plan, size_t shard, struct sb_error *err);

#endif
