/* lines.h - lines of executed instructions, in memory, for lines.c and what it asks of them. */
#ifndef TESTS_TOOLS_LINES_H
#define TESTS_TOOLS_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { CPUS_MAX = 1024 };

struct line {
	const char *text; /* in the file; not ended by a zero */
	uint64_t tsc, ip;
	int32_t cpu, pid, tid;
	uint16_t time_at, ip_at, ip_end; /* in text */
};

struct lines {
	const char *path;
	char *text;
	struct line *line;
	size_t count;
};

/* Where the lines of each CPU are: from[k] up to from[k + 1]. */
struct by_cpu {
	size_t count;
	int32_t cpu[CPUS_MAX];
	size_t from[CPUS_MAX + 1];
};

/* Lines of one CPU. */
struct stretch {
	const struct line *line;
	size_t count;
};

void lines_read(struct lines *lines, const char *path);
void lines_free(struct lines *lines);
/* Sorts them by CPU, and on each as they stood. */
void lines_by_cpu(struct lines *lines, struct by_cpu *by);
int same_but_time(const struct line *one, const struct line *other);
/* Prints @what and the line; returns 1. */
int differs(const char *what, const struct line *line);

/* Zero, or 1 and a sentence on stdout. */
int flow_among(struct stretch truth, struct stretch flow, uint64_t slack);
int flow_right(struct stretch truth, struct stretch flow, uint64_t gaps);
int lines_count(FILE *file, size_t column);

__attribute__((format(printf, 1, 2), noreturn)) void give_up(const char *format, ...);
/* Never NULL. */
void *room_for(void *items, size_t count, size_t size);

#endif
