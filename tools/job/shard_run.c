/* shard_run.c - see shard_run.h. A recording is opened once for all shards that have parts of it, and threads
 * take one shard after the other. */
#include "job/shard_run.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "interrupt.h"
#include "job/job_session.h"
#include "job/recording_files.h"
#include "job/shard_result.h"
#include "progress.h"
#include "tell.h"

enum shard_state { shard_unwanted, shard_waiting, shard_open, shard_failed };

struct shard_work {
	enum shard_state state;
	struct shard_writer writer; /* open */
	size_t nleft;               /* parts yet to be run */
};

struct running {
	const struct shard_plan *plan;
	const struct shard_run_options *options;
	struct shard_work *shard;
	atomic_uint_fast64_t written; /* bytes of results */
	pthread_mutex_t lock;         /* of what follows, and of what is told */
	size_t next;                  /* shard to be looked at, in this recording */
	size_t nfailed;

	/* Of the present recording. */
	size_t recording;
	struct job_session opened;
	struct sb_line line;
	struct progress progress; /* guarded by the lock */
	uint64_t done, total;     /* bytes of trace, of the parts that are run; done: guarded by the lock */
};

/* ---- One shard -------------------------------------------------------------------------------- */

static void give_up(struct running *running, size_t shard, const struct sb_error *why)
{
	struct shard_work *work = &running->shard[shard];
	char what[64];

	pthread_mutex_lock(&running->lock);
	if (work->state == shard_open)
		shard_writer_cancel(&work->writer);
	work->state = shard_failed;
	running->nfailed++;
	snprintf(what, sizeof(what), "shard %zu: ", shard);
	tell(running->options->command, what, why);
	pthread_mutex_unlock(&running->lock);
}

/* One part, while it is run. */
struct part_run {
	struct running *running;
	struct shard_writer *writer;
	uint64_t bytes, done; /* of its trace: all, and what counts as done */
};

/* What it decodes beyond its end, to meet the next part, does not count. */
static void count_done(struct part_run *part, uint64_t done)
{
	struct running *running = part->running;

	if (done > part->bytes)
		done = part->bytes;
	if (done <= part->done)
		return;
	pthread_mutex_lock(&running->lock);
	running->done += done - part->done;
	progress_update(&running->progress, running->done, running->total);
	pthread_mutex_unlock(&running->lock);
	part->done = done;
}

static int on_progress(void *context, uint64_t done, uint64_t total)
{
	(void)total;
	count_done(context, done);
	return interrupt_came() ? -sbe_stop : 0;
}

/* Called by nobody: they say what is wanted. */
static int no_flow(void *context, const struct sb_flow *flow)
{
	(void)context;
	(void)flow;
	return 0;
}

static int no_gap(void *context, const struct sb_gap *gap)
{
	(void)context;
	(void)gap;
	return 0;
}

static int no_event(void *context, const struct sb_flow_event *event)
{
	(void)context;
	(void)event;
	return 0;
}

static int write_part(void *context, const void *bytes, size_t size)
{
	struct part_run *part = context;
	const uint64_t most = part->running->options->disk;

	if (atomic_fetch_add(&part->running->written, size) + size > most && most)
		return -sbe_io;
	return shard_writer_write(part->writer, bytes, size);
}

static bool is_full(const struct running *running)
{
	return running->options->disk && atomic_load(&running->written) > running->options->disk;
}

/* How much trace a span of the present recording has. */
static uint64_t span_bytes(const struct running *running, const struct sb_span *span)
{
	size_t count;
	const struct sb_aux_stream *stream = sb_perfdata_streams(running->opened.perfdata, &count);
	const uint64_t end = span->stream < count && stream[span->stream].size < span->to
	                             ? stream[span->stream].size
	                             : span->to;

	return span->stream < count && end > span->from ? end - span->from : 0;
}

static int run_part(struct running *running, struct shard_work *work, size_t index, struct sb_error *err)
{
	const struct job *job = &running->plan->job;
	struct part_run part = {running, &work->writer, span_bytes(running, &running->line.span[index]), 0};
	const struct sb_sink sink = {.context = &part,
	                             .flow = job_wants_flow(job) ? no_flow : NULL,
	                             .gap = no_gap,
	                             .event = job_wants_events(job) ? no_event : NULL,
	                             .progress = on_progress};
	const uint64_t offset = shard_writer_offset(&work->writer);
	struct sb_account account;
	int code;

	code = sb_session_run_span(running->opened.session, &running->line, index, &sink, write_part, &part,
	                           &account, err);
	if (code == -sbe_stop)
		return sb_error_set(err, code, NULL, UINT64_MAX, "interrupted");
	if (code && is_full(running))
		return sb_error_set(err, -sbe_io, work->writer.path, UINT64_MAX,
		                    "write failed: the job's limit of disk space is reached");
	if (code && !err->code)
		return sb_error_set(err, code, work->writer.path, UINT64_MAX, "cannot be written");
	if (!code) {
		shard_writer_part(&work->writer, running->recording, index, offset, &account);
		count_done(&part, part.bytes);
	}
	return code;
}

/* The shard's parts of the present recording; its result when these were the last. */
static void run_shard(struct running *running, size_t shard)
{
	const struct plan_recording *recording = &running->plan->recording[running->recording];
	struct shard_work *work = &running->shard[shard];
	struct sb_error err = {0};
	int code = 0;

	if (work->state == shard_waiting) {
		code = shard_writer_open(&work->writer, running->plan, shard, &err);
		if (!code)
			work->state = shard_open;
	}
	for (size_t i = 0; i < recording->nparts && !code; i++) {
		if (recording->part[i].shard != shard)
			continue;
		code = run_part(running, work, i, &err);
		work->nleft--;
	}
	if (!code)
		code = job_session_check(&running->opened, &err);
	if (!code && !work->nleft) {
		code = shard_writer_commit(&work->writer, &err);
		work->state = shard_unwanted;
	}
	if (code)
		give_up(running, shard, &err);
}

/* ---- All of them ------------------------------------------------------------------------------ */

/* Parts are in the order of their shards. */
static bool has_part(const struct plan_recording *recording, size_t shard)
{
	size_t low = 0, high = recording->nparts;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (recording->part[middle].shard < shard)
			low = middle + 1;
		else
			high = middle;
	}
	return low < recording->nparts && recording->part[low].shard == shard;
}

static bool is_waiting(const struct running *running, size_t shard)
{
	const enum shard_state state = running->shard[shard].state;

	return (state == shard_waiting || state == shard_open) &&
	       has_part(&running->plan->recording[running->recording], shard);
}

/* The next shard to be run; the number of shards: there is none. */
static size_t take(struct running *running)
{
	const size_t end = running->plan->nshards;
	size_t taken;

	pthread_mutex_lock(&running->lock);
	if (is_full(running))
		running->next = end;
	while (running->next < end && !is_waiting(running, running->next))
		running->next++;
	taken = running->next;
	if (taken < end)
		running->next++;
	pthread_mutex_unlock(&running->lock);
	return taken;
}

static void *work(void *context)
{
	struct running *running = context;
	size_t shard;

	while ((shard = take(running)) < running->plan->nshards)
		run_shard(running, shard);
	return NULL;
}

static unsigned int crew_size(const struct shard_run_options *options)
{
	cpu_set_t cpus;

	if (options->jobs)
		return options->jobs;
	return sched_getaffinity(0, sizeof(cpus), &cpus) ? 1 : (unsigned int)CPU_COUNT(&cpus);
}

/* In this thread, and in as many others as there can be. */
static void run_all(struct running *running)
{
	const unsigned int most = crew_size(running->options) - 1;
	pthread_t *thread = calloc(most + 1, sizeof(*thread));
	unsigned int n = 0;

	running->next = 0;
	while (thread && n < most && !pthread_create(&thread[n], NULL, work, running))
		n++;
	work(running);
	while (n)
		pthread_join(thread[--n], NULL);
	free(thread);
}

static bool is_any_waiting(const struct running *running)
{
	const struct plan_recording *recording = &running->plan->recording[running->recording];

	for (size_t i = 0; i < recording->nparts; i++)
		if (is_waiting(running, recording->part[i].shard))
			return true;
	return false;
}

static void begin_progress(struct running *running)
{
	const struct plan_recording *recording = &running->plan->recording[running->recording];

	running->done = running->total = 0;
	for (size_t i = 0; i < recording->nparts; i++)
		if (running->shard[recording->part[i].shard].state != shard_unwanted)
			running->total += span_bytes(running, &recording->part[i].span);
	progress_begin(&running->progress, running->options->label, false, running->options->progress);
}

static void run_recording(struct running *running, size_t index)
{
	const struct plan_recording *recording = &running->plan->recording[index];
	struct sb_error err = {0};
	int code;

	running->recording = index;
	running->line = shard_plan_line(running->plan, index);
	if (!is_any_waiting(running))
		return;
	running->opened.command = running->options->command;
	running->opened.checkpoint = recording->checkpoint;
	running->opened.expected = json_object_get(recording->files, "");
	code = job_is_url(recording->path) ? 0
	                                   : recording_files_check(recording->path, recording->files, &err);
	if (!code)
		code = job_session_open(&running->opened, &running->plan->job, recording->path, &err);
	if (!code)
		code = job_session_add_shard_symbols(&running->opened, &running->plan->job, &err);
	if (!code) {
		begin_progress(running);
		run_all(running);
		progress_end(&running->progress);
	}
	for (size_t i = 0; i < running->plan->nshards && code; i++)
		if (is_waiting(running, i))
			give_up(running, i, &err);
	job_session_close(&running->opened);
}

/* What is there already is not run again. */
static bool is_done(const struct running *running, size_t shard)
{
	struct sb_error ignored = {0};

	return !running->options->again && !shard_result_verify(running->plan, shard, &ignored);
}

static void mark(struct running *running, const bool *wanted)
{
	for (size_t i = 0; i < running->plan->nshards; i++) {
		running->shard[i].writer.fd = -1;
		if (wanted[i] && !is_done(running, i))
			running->shard[i].state = shard_waiting;
	}
	for (size_t i = 0; i < running->plan->nrecordings; i++)
		for (size_t k = 0; k < running->plan->recording[i].nparts; k++)
			running->shard[running->plan->recording[i].part[k].shard].nleft++;
}

int shard_run(const struct shard_plan *plan, const bool *wanted, const struct shard_run_options *options,
              struct sb_error *err)
{
	struct running running = {.plan = plan, .options = options};
	struct interrupt_watch watch;

	running.shard = calloc(plan->nshards + 1, sizeof(*running.shard));
	if (!running.shard || pthread_mutex_init(&running.lock, NULL)) {
		free(running.shard);
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	}
	interrupt_watch(&watch);
	mark(&running, wanted);
	for (size_t i = 0; i < plan->nrecordings && !interrupt_came(); i++)
		run_recording(&running, i);
	for (size_t i = 0; i < plan->nshards; i++)
		if (running.shard[i].state == shard_open)
			shard_writer_cancel(&running.shard[i].writer);
	interrupt_unwatch(&watch);
	pthread_mutex_destroy(&running.lock);
	free(running.shard);
	if (interrupt_came())
		return sb_error_set(err, -sbe_stop, NULL, UINT64_MAX, "interrupted");
	return running.nfailed
	               ? sb_error_set(err, -sbe_io, NULL, UINT64_MAX, "%zu %s no result", running.nfailed,
	                              running.nfailed == 1 ? "shard has" : "shards have")
	               : 0;
}
