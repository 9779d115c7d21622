/* tasks.c - see tasks.h. */
#include "cluster/tasks.h"

#include <stdio.h>
#include <stdlib.h>

struct tasks tasks_of(size_t nshards, size_t most)
{
	struct tasks tasks = {nshards, (nshards + most - 1) / most, 0};

	if (!tasks.per_task)
		tasks.per_task = 1;
	tasks.ntasks = (nshards + tasks.per_task - 1) / tasks.per_task;
	return tasks;
}

size_t tasks_wanted(const struct tasks *tasks, const bool *wanted, bool *task)
{
	size_t count = 0;

	for (size_t i = 0; i < tasks->ntasks; i++) {
		task[i] = false;
		for (size_t k = tasks_first_shard(tasks, i); k < tasks_end_shard(tasks, i); k++)
			task[i] = task[i] || wanted[k];
		count += task[i];
	}
	return count;
}

char *tasks_ranges(const bool *set, size_t count)
{
	char *text = NULL;
	size_t size = 0, last;
	FILE *file = open_memstream(&text, &size);
	const char *between = "";

	if (!file)
		return NULL;
	for (size_t first = 0; first < count; first = last + 1) {
		last = first;
		if (!set[first])
			continue;
		while (last + 1 < count && set[last + 1])
			last++;
		fprintf(file, last > first ? "%s%zu-%zu" : "%s%zu", between, first, last);
		between = ",";
	}
	if (fclose(file)) {
		free(text);
		return NULL;
	}
	return text;
}
