/* The installed perf, as the judge of what our files say. */
#ifndef TEST_PERF_TOOL_H
#define TEST_PERF_TOOL_H

#include <stddef.h>

struct perf_count {
	char name[32]; /* "MMAP2" */
	unsigned int count;
};

int perf_is_installed(void);

/* How many records of each type `perf script -D` sees in @path; returns the number of types. */
size_t perf_count_records(const char *path, struct perf_count *counts, size_t max);

/* Runs `perf COMMAND -i PATH`; returns what it wrote to stdout and stderr, to be freed, and its exit status.
 */
char *perf_run(const char *command, const char *path, char **complaints, int *status);

#endif
