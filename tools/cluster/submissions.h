/* tools/cluster/submissions.h - what was given to Slurm for a plan, noted down beside the results of its
 * shards, so that whoever asks later knows which jobs to look for.
 */
#ifndef TOOLS_CLUSTER_SUBMISSIONS_H
#define TOOLS_CLUSTER_SUBMISSIONS_H

#include <stddef.h>

#include <sb/error.h>

struct submission {
	char *array;     /* the job's number */
	char *merge;     /* of the job that merges, once it was submitted; or NULL */
	size_t per_task; /* shards */
};

struct submissions {
	char *path; /* of the file */
	struct submission *row;
	size_t count;
};

/* Of the results in @directory; there need not be any. Zero or a negative code; to be freed in any case. */
int submissions_read(struct submissions *submissions, const char *directory, struct sb_error *err);
void submissions_free(struct submissions *submissions);

/* @array NULL: only to merge. The texts are copied. Zero or -sbe_nomem. */
int submissions_add(struct submissions *submissions, const char *array, size_t per_task,
                    struct sb_error *err);
/* Of the last one. */
int submissions_set_merge(struct submissions *submissions, const char *merge, struct sb_error *err);

int submissions_write(const struct submissions *submissions, struct sb_error *err);

#endif
