/* tools/job/shard_plan.h - a job that is replayed in shards: what each of them has to do, and where its
 * result goes. sbtrace-plan(5) describes the file.
 */
#ifndef TOOLS_JOB_SHARD_PLAN_H
#define TOOLS_JOB_SHARD_PLAN_H

#include <jansson.h>

#include <sb/shard.h>

#include "job/job.h"
#include "job/job_session.h"

/* A span of a recording, and whose it is. */
struct plan_part {
	size_t shard;
	struct sb_span span;
};

/* The parts of all its streams, in order. */
struct plan_recording {
	char *path;
	json_t *files;                    /* what it was made of: see recording_files.h */
	char *error;                      /* why it is passed over, or NULL */
	struct job_checkpoint checkpoint; /* its path is the plan's */
	struct plan_part *part;
	struct sb_span *span; /* of the parts */
	size_t nparts;
};

struct shard_plan {
	char *path;        /* of the plan's file */
	char *checkpoints; /* of that with the recordings' checkpoints */
	char *results;     /* the directory of the shards' results */
	char *directory;   /* that paths are relative to: where the plan was made */
	char hash[65];     /* of all that decides */
	uint64_t step;     /* see struct sb_line */
	size_t nshards;
	struct plan_recording *recording;
	size_t nrecordings;
	struct job job;
};

enum { shards_most = 1000000, checkpoint_align = 4096 };

/* Cuts the recordings of @job, whose list of recordings becomes that of the plan's, into about @nshards (0:
 * of @size bytes of trace each, or when that is 0, too, of as many as are good), and writes the plan to
 * @path. What is passed over is told on stderr after @command. Zero or a negative code. */
int shard_plan_make(struct job *job, const char *command, size_t nshards, uint64_t size, const char *path,
                    size_t *made, struct sb_error *err);

/* shard_plan_file.c: as JSON, with its hash; and back. @results: the directory, NULL: the usual one. Reading
 * goes to the directory where the plan was made. */
int shard_plan_write(struct shard_plan *plan, struct sb_error *err);
int shard_plan_read(struct shard_plan *plan, const char *path, const char *results, struct sb_error *err);
void shard_plan_free(struct shard_plan *plan);

/* A recording's parts as a line. */
struct sb_line shard_plan_line(const struct shard_plan *plan, size_t recording);

/* The path of the file with the checkpoints of the plan at @plan, likewise. */
char *shard_plan_checkpoints(const char *plan);

/* The path of a shard's result, to be freed; NULL: no memory. */
char *shard_plan_result(const struct shard_plan *plan, size_t shard);

#endif
