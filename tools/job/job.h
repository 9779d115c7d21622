/* tools/job/job.h - what to replay and how: filled from the command line, from a YAML file, or both.
 *
 * The setters take the same text in both cases, and say what is wrong with it without saying where:
 * the caller knows the option, or the line. A job owns its strings and lists; zeroed is empty.
 */
#ifndef TOOLS_JOB_H
#define TOOLS_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sb/clock.h>
#include <sb/error.h>

#include "job/job_files.h"
#include "options.h"
#include "sink/sink.h"

/* Numbers of CPUs or processes. */
struct job_list {
	int32_t *value;
	size_t count;
};

/* Patterns, or names. */
struct job_texts {
	char **value;
	size_t count;
};

/* A moment, in time stamp counts or in perf's nanoseconds. */
struct job_time {
	enum { job_time_open, job_time_tsc, job_time_ns } unit; /* open: no limit */
	uint64_t value;
};

struct job_sink {
	const struct sink_type *type;
	char *file; /* NULL: standard output */
	struct sink_setting *setting;
	size_t nsettings;
};

/* Files of the kernel that was traced. */
enum job_file { job_kcore, job_vmlinux, job_kallsyms, job_files };

struct job {
	char *recording; /* NULL: not given */
	char *file[job_files];
	struct job_files files;
	char **jitdump;
	size_t njitdumps;
	struct job_list cpu, pid;
	struct job_texts container, cgroup, comm;
	struct job_time from, to;
	struct job_sink *sink;
	size_t nsinks;
	bool symbols, no_demangle;
	uint32_t strict;   /* see strict.h; 0: not at all */
	unsigned int jobs; /* 0: one for each CPU */
};

enum {
	job_list_most = 65536, /* numbers in a list */
	job_jobs_most = 1024,
};

void job_free(struct job *job);

/* All return zero, or -1 with the reason. Paths are taken as they are. */
int job_set_recording(struct job *job, const char *path, struct option_error *error);
int job_set_file(struct job *job, enum job_file which, const char *path, struct option_error *error);
int job_add_jitdump(struct job *job, const char *path, struct option_error *error);
/* "3", "0-3", "0-3,8". */
int job_list_add(struct job_list *list, const char *text, struct option_error *error);
int job_add_text(struct job_texts *texts, const char *text, struct option_error *error);
/* "12345" is a time stamp count, "483.295535467" is seconds of perf's clock, "" is no limit. */
int job_time_set(struct job_time *time, const char *text, struct option_error *error);
int job_set_jobs(struct job *job, const char *text, struct option_error *error);
int job_add_sink(struct job *job, const char *name, const char *file, struct option_error *error);
/* Of the sink that was added last. */
int job_add_setting(struct job *job, const char *name, const char *value, struct option_error *error);

/* What @over says takes the place of what @job says; what it does not mention stays. Moves: @over is
 * empty afterwards. */
void job_override(struct job *job, struct job *over);

/* The span as time stamp counts, both inclusive; 0, 0 when there is none. @clock is the recording's. */
int job_span(const struct job *job, const struct sb_clock *clock, uint64_t *from, uint64_t *to,
             struct sb_error *err);

/* A job file: see sbtrace-job(5). Paths are relative to the directory of @path. Errors name
 * FILE:LINE:COLUMN. On failure @job is empty. */
int job_read(struct job *job, const char *path, struct sb_error *err);

#endif
