/* tools/job/job_session.h - a recording of a job, opened as the job says: for those who replay all of it, who
 * replay a part, and who cut it into parts. */
#ifndef TOOLS_JOB_SESSION_H
#define TOOLS_JOB_SESSION_H

#include <sb/binary.h>
#include <sb/checkpoint.h>
#include <sb/perfdata.h>
#include <sb/replay.h>

#include "job/fetch.h"
#include "job/job.h"

/* A checkpoint (sb/checkpoint.h) in a file. */
struct job_checkpoint {
	const char *path; /* NULL: there is none */
	uint64_t offset, bytes, sum;
};

struct job_session {
	const char *command;              /* for what is told on stderr */
	struct job_checkpoint checkpoint; /* what is borrowed of it */
	const json_t
	        *expected;   /* borrowed; what a plan knows of a recording that is fetched; NULL: nothing */
	struct fetch *fetch; /* NULL: it is a file */
	struct sb_checkpoint *opened_checkpoint; /* NULL: there is none */
	struct sb_perfdata *perfdata;
	struct sb_resolver *resolver;
	struct sb_session *session;
	struct sb_symbols *symbols; /* NULL: not wanted */
};

/* Zeroed before, but for the command, the checkpoint and what is expected; where the checkpoint cannot be
 * used, that is told, and the recording is read as a whole. To be closed in any case. Zero or a negative
 * code. */
int job_session_open(struct job_session *session, const struct job *job, const char *recording,
                     struct sb_error *err);
/* The symbols that the job's sinks use; those that shards need to add up for them. */
int job_session_add_symbols(struct job_session *session, const struct job *job, struct sb_error *err);
int job_session_add_shard_symbols(struct job_session *session, const struct job *job, struct sb_error *err);
void job_session_close(struct job_session *session);
/* Instead, once, where the process is about to end: most memory and mappings are left to the kernel, which
 * takes a twentieth of a short replay less than giving them back one by one. */
void job_session_leave(struct job_session *session);

/* Whether a recording that was fetched is still the one that was opened. Zero or a negative code. */
int job_session_check(const struct job_session *session, struct sb_error *err);

/* The type of a job's sink at @index; NULL: past the last. Without any, the summary is written. */
const struct sink_type *job_sink_type(const struct job *job, size_t index);
/* Whether it is to use symbols. */
bool job_sink_symbols(const struct job *job, size_t index);

/* Whether a filter leaves anything out. */
bool job_filters(const struct job_filter *filter);

/* What a job's sinks look at: flow at all, and the events between flow. */
bool job_wants_flow(const struct job *job);
bool job_wants_events(const struct job *job);

#endif
