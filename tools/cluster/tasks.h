/* tools/cluster/tasks.h - which shards of a plan a task of a batch system runs. Batch systems count tasks
 * from zero and take only so many: task t has the shards from t * per_task on, so its number says what it
 * runs, today and when it is submitted again.
 */
#ifndef TOOLS_CLUSTER_TASKS_H
#define TOOLS_CLUSTER_TASKS_H

#include <stdbool.h>
#include <stddef.h>

struct tasks {
	size_t nshards;  /* of the plan */
	size_t per_task; /* the last one may have fewer */
	size_t ntasks;
};

/* At most @most tasks. */
struct tasks tasks_of(size_t nshards, size_t most);

static inline size_t tasks_first_shard(const struct tasks *tasks, size_t task)
{
	return task * tasks->per_task;
}

/* Behind its last one. */
static inline size_t tasks_end_shard(const struct tasks *tasks, size_t task)
{
	const size_t end = (task + 1) * tasks->per_task;

	return end < tasks->nshards ? end : tasks->nshards;
}

/* The tasks with a shard of which @wanted says so. */
size_t tasks_wanted(const struct tasks *tasks, const bool *wanted, bool *task);

/* The numbers of what is set, "0-3,7,9-12"; to be freed, NULL: no memory. */
char *tasks_ranges(const bool *set, size_t count);

#endif
