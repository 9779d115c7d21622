/* truth_line.h - a line of a recording's truth: CPU, process, thread, address. */
#ifndef TEST_SUPPORT_TRUTH_LINE_H
#define TEST_SUPPORT_TRUTH_LINE_H

#include <stdint.h>
#include <stdio.h>

/* '?' before it: its code is in no file; '~' before pid and tid: of the kernel. */
struct truth_line {
	int cpu, optional, kernel;
	int32_t pid, tid;
	uint64_t ip;
};

/* The truth of @cpu in @directory, to be closed by pclose(); NULL: that failed. */
FILE *truth_open(const char *directory, int cpu);

/* Returns zero at the end, and where something else stands. */
int truth_line_read(FILE *truth, struct truth_line *line);

#endif
