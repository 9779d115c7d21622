/* tools/job/job.h - what to replay and how: filled from the command line, from a YAML file, or both.
 *
 * The setters take the same text in both cases, and say what is wrong with it without saying where:
 * the caller knows the option, or the line. A job owns its strings and lists; zeroed is empty. Which key of
 * a file fills which field is said by one table, job_keys.h.
 */
#ifndef TOOLS_JOB_H
#define TOOLS_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sb/clock.h>
#include <sb/error.h>

#include "job/job_cluster.h"
#include "job/job_fetch.h"
#include "job/job_files.h"
#include "job/job_list.h"
#include "job/job_place.h"
#include "options.h"
#include "sink/sink.h"

/* Numbers of CPUs or processes. */
struct job_list {
	int32_t *value;
	size_t count;
};

/* A moment, in time stamp counts or in perf's nanoseconds. */
struct job_time {
	enum { job_time_open, job_time_tsc, job_time_ns } unit; /* open: no limit */
	uint64_t value;
};

/* Addresses, the end exclusive. */
struct job_ranges {
	struct sink_range *value;
	size_t count;
};

/* What to leave out; all empty: nothing. A job has one, and so has each of its sinks. */
struct job_filter {
	struct job_list cpu, pid;
	struct job_texts container, cgroup, comm;
	struct job_time from, to;
	struct job_ranges address;
	struct job_texts function;
};

struct job_sink {
	const struct sink_type *type;
	char *file; /* NULL: standard output */
	bool symbols;
	struct sink_setting *setting;
	size_t nsettings;
	struct job_filter filter;
	struct job_place place;
};

/* How the trace is decoded, where the recording does not know or is wrong. */
struct job_decode {
	char *cpu_model;                  /* "6/85/4"; NULL: the recording's */
	struct job_texts errata;          /* names; empty: those of the model */
	unsigned int time_source;         /* enum job_time_source */
	struct job_texts switch_evidence; /* names; empty: all */
};

/* The packets that tell the time. */
enum job_time_source { job_source_unsaid, job_source_all, job_source_tsc };

struct job_limits {
	uint64_t memory, disk; /* bytes; 0: none */
};

/* Where results of parts of a recording are kept until all of it is done, so that a run can be resumed. */
struct job_parts_options {
	char *directory; /* NULL: recordings are decoded as a whole */
	uint64_t size;   /* of trace in a part, in bytes; 0: as is good */
};

enum job_on_error { job_fail, job_skip };

/* Files of the kernel that was traced. */
enum job_file { job_kcore, job_vmlinux, job_kallsyms, job_files };

struct job {
	char *recording;             /* NULL: not given */
	struct job_texts recordings; /* paths, or glob(7) patterns, or URLs */
	struct job_fetch fetch;
	char *file[job_files];
	struct job_files files;
	struct job_texts jitdump;
	struct job_filter filter;
	struct job_decode decode;
	struct job_sink *sink;
	size_t nsinks;
	bool symbols, no_demangle;
	uint32_t strict;   /* see strict.h; 0: not at all */
	unsigned int jobs; /* 0: one for each CPU */
	struct job_limits limits;
	struct job_parts_options parts;
	unsigned int on_error; /* enum job_on_error */
	struct job_cluster cluster;
	char *run_record; /* NULL: beside the first file that is written */

	char *path;     /* of the job file; NULL: all came from the command line */
	uint64_t given; /* one bit for each key of the table that a file gave */
	struct job_places places;
};

enum {
	job_list_most = 65536, /* numbers in a list */
	job_jobs_most = 1024,
};

void job_free(struct job *job);
void job_filter_free(struct job_filter *filter);
void job_sinks_free(struct job_sink *sink, size_t count);

/* All return zero, or -1 with the reason. Paths are taken as they are. */
int job_set_recording(struct job *job, const char *path, struct option_error *error);
/* In place of what it was; @what is for the complaint that it is empty: "the file's name". */
int job_set_text(char **field, const char *what, const char *text, struct option_error *error);
/* "3", "0-3", "0-3,8". */
int job_list_add(struct job_list *list, const char *text, struct option_error *error);
int job_add_text(struct job_texts *texts, const char *text, struct option_error *error);
/* "12345" is a time stamp count, "483.295535467" is seconds of perf's clock, "" is no limit. */
int job_time_set(struct job_time *time, const char *text, struct option_error *error);
/* Whether it certainly is, without a clock. */
bool job_time_is_before(const struct job_time *a, const struct job_time *b);
/* "0x401000-0x402000", "0x401000+64": the end is exclusive. */
int job_range_add(struct job_ranges *ranges, const char *text, struct option_error *error);
/* "4G", "512M", "100K", "4096": bytes, in powers of 1024. */
int job_size_set(uint64_t *size, const char *text, struct option_error *error);
/* "90s", "30m", "4h", "2d": seconds. */
int job_duration_set(uint64_t *seconds, const char *text, struct option_error *error);
/* Whether it can stand in scripts as it is, and is one word: letters, digits, and some signs. */
bool job_is_word(const char *text);
/* "FAMILY/MODEL/STEPPING". */
struct pt_cpu;
int job_cpu_model(const char *text, struct pt_cpu *cpu, struct option_error *error);
int job_set_jobs(struct job *job, const char *text, struct option_error *error);
int job_add_sink(struct job *job, const char *name, const char *file, struct option_error *error);
/* Of the sink that was added last. */
int job_add_setting(struct job *job, const char *name, const char *value, struct option_error *error);

/* What @over says takes the place of what @job says; what it does not mention stays. Moves: @over is
 * empty afterwards. */
void job_override(struct job *job, struct job *over);

/* A filter's span as time stamp counts, both inclusive; 0, 0 when there is none. @clock is the recording's.
 */
int job_span(const struct job_filter *filter, const struct sb_clock *clock, const char *recording,
             uint64_t *from, uint64_t *to, struct sb_error *err);

/* A value for ${name}. */
struct job_variable {
	char *name, *value;
};

struct job_variables {
	struct job_variable *value;
	size_t count;
};

/* "name=value". */
int job_set_variable(struct job_variables *variables, const char *text, struct option_error *error);
void job_variables_free(struct job_variables *variables);

/* A job file: see sbtrace-job(5). Paths are relative to the directory of @path. @set may be NULL. Errors name
 * FILE:LINE:COLUMN. On failure @job is empty. */
int job_read(struct job *job, const char *path, const struct job_variables *set, struct sb_error *err);

/* The same from the @size bytes of @text, as if they were in a file at @path. */
int job_read_text(struct job *job, const char *path, const char *text, size_t size, struct sb_error *err);

/* Whether a job makes sense as a whole: files are there, filters do not exclude each other, no two outputs
 * are one file. What has a place in a file is told with it. */
int job_check(const struct job *job, struct sb_error *err);

#endif
