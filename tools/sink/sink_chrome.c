/* sink_chrome.c - a timeline as Chrome's tracing, Perfetto and speedscope read it: JSON with an event for
 * each call ("X": complete events), in processes and threads; who ran on each CPU, and what is missing there,
 * are threads of a process "CPUs". Times are microseconds (ticks / 1000 where the clock is not known).
 *
 * Format: "Trace Event Format", by Google. */
#include "sink/sink.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sink/printable.h"
#include "sink/text.h"
#include "sink/timeline.h"

/* Where Linux has no process: its numbers end at 4 Mi. */
enum { cpus_pid = 10000000, gaps_pid = 10000001 };

struct chrome_state {
	struct output *output;
	struct timeline *timeline; /* owned */
	uint64_t deepest;
	uint64_t shortest;
	bool begun;
	uint64_t *cpu; /* owned; those that were named, of runs and of gaps: number * 2 + kind */
	size_t ncpus;
};

static int set_depth(void *context, const char *value, struct option_error *error)
{
	struct chrome_state *state = context;

	return option_number(value, 1, UINT32_MAX, &state->deepest, error);
}

static int set_shortest(void *context, const char *value, struct option_error *error)
{
	struct chrome_state *state = context;

	return option_number(value, 0, UINT64_MAX / 2, &state->shortest, error);
}

/* ---- JSON ----------------------------------------------------------------------------------------- */

/* Behind the event before. */
static int put_next(struct chrome_state *state)
{
	const bool first = !state->begun;

	state->begun = true;
	return output_puts(state->output, first ? "\n" : ",\n");
}

/* At most 2 KiB of text without control characters, in quotes. */
static int put_string(struct output *output, const char *text)
{
	enum { most = 2048 };
	char *at = output_room(output, 2 * most + 2);

	if (!at)
		return -1;
	*at++ = '"';
	for (size_t i = 0; i < most && text[i]; i++) {
		if (text[i] == '"' || text[i] == '\\')
			*at++ = '\\';
		*at++ = text[i];
	}
	*at++ = '"';
	output_advance(output, at);
	return 0;
}

/* @before has the key. */
static int put_time(struct output *output, const char *before, uint64_t ns)
{
	char *at = output_room(output, strlen(before) + 2 * text_slack);
	uint64_t below;

	if (!at)
		return -1;
	at = text_u64(text_put(at, before), ns / 1000);
	below = ns % 1000;
	*at++ = '.';
	*at++ = (char)('0' + below / 100);
	*at++ = (char)('0' + below / 10 % 10);
	*at++ = (char)('0' + below % 10);
	output_advance(output, at);
	return 0;
}

/* @before has the key of the process, too. */
static int put_who(struct output *output, const char *before, int32_t pid, int64_t tid)
{
	char *at = output_room(output, strlen(before) + 3 * text_slack);

	if (!at)
		return -1;
	at = text_i32(text_put(at, before), pid);
	at = text_put(at, ",\"tid\":");
	output_advance(output, text_i64(at, tid));
	return 0;
}

/* A name of a process or thread. */
static int put_name(struct chrome_state *state, const char *what, int32_t pid, int64_t tid, const char *name)
{
	int status = put_next(state);

	if (!status)
		status = output_printf(state->output,
		                       "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%" PRId32 ",\"tid\":%" PRId64
		                       ",\"args\":{\"name\":",
		                       what, pid, tid);
	if (!status)
		status = put_string(state->output, name);
	return status ? status : output_printf(state->output, "}}");
}

/* ---- Events ---------------------------------------------------------------------------------------- */

/* The idle threads of all CPUs have one number: theirs here are apart. */
static int64_t tid_of(const struct timeline_slice *slice)
{
	return slice->tid > 0 ? slice->tid : (int64_t)cpus_pid + slice->thread;
}

static int on_process(void *context, const struct timeline_slice *first, const char *comm)
{
	char name[4 * 16 + 1];

	return put_name(context, "process_name", first->pid, tid_of(first), printable(name, comm, 16));
}

static int on_thread(void *context, const struct timeline_slice *first, const char *comm)
{
	char name[4 * 16 + 1];

	return put_name(context, "thread_name", first->pid, tid_of(first), printable(name, comm, 16));
}

static int on_end(void *context, const struct timeline_slice *slice)
{
	struct chrome_state *state = context;
	struct output *output = state->output;
	int status;

	if (slice->end - slice->begin < state->shortest)
		return 0;
	status = put_next(state);
	if (!status)
		status = output_puts(output, "{\"ph\":\"X\",\"name\":");
	if (!status)
		status = put_string(output, slice->name);
	if (!status)
		status = put_who(output, ",\"cat\":\"function\",\"pid\":", slice->pid, tid_of(slice));
	if (!status)
		status = put_time(output, ",\"ts\":", slice->begin);
	if (!status)
		status = put_time(output, ",\"dur\":", slice->end - slice->begin);
	if (!status && slice->unsure)
		status = output_puts(output, ",\"args\":{\"guess\":true}");
	return status ? status : output_puts(output, "}");
}

/* A thread for a CPU's runs (0) or gaps (1). */
static int name_cpu(struct chrome_state *state, int32_t cpu, unsigned int kind)
{
	const uint64_t key = (uint64_t)(uint32_t)cpu * 2 + kind;
	uint64_t *bigger;
	char name[32];

	for (size_t i = 0; i < state->ncpus; i++)
		if (state->cpu[i] == key)
			return 0;
	bigger = realloc(state->cpu, (state->ncpus + 1) * sizeof(*bigger));
	if (!bigger)
		return -1;
	state->cpu = bigger;
	state->cpu[state->ncpus++] = key;
	snprintf(name, sizeof(name), kind ? "CPU %" PRId32 ": not known" : "CPU %" PRId32, cpu);
	if (put_name(state, "process_name", kind ? gaps_pid : cpus_pid, cpu, kind ? "Gaps" : "CPUs"))
		return -1;
	return put_name(state, "thread_name", kind ? gaps_pid : cpus_pid, cpu, name);
}

static int on_gap(void *context, const struct sb_gap *gap, uint64_t begin, uint64_t end)
{
	struct chrome_state *state = context;
	struct output *output = state->output;
	char detail[4 * sizeof(gap->detail) + 1];
	int status = name_cpu(state, gap->cpu, 1);

	if (!status)
		status = put_next(state);
	if (!status)
		status = output_printf(
		        output, "{\"ph\":\"%s\",\"name\":\"%s\",\"cat\":\"gap\",\"pid\":%d,\"tid\":%" PRId32,
		        end > begin ? "X" : "i", sb_gap_reason_name(gap->reason), gaps_pid, gap->cpu);
	if (!status)
		status = put_time(output, ",\"ts\":", begin);
	if (!status)
		status = end > begin ? put_time(output, ",\"dur\":", end - begin)
		                     : output_printf(output, ",\"s\":\"t\"");
	if (!status)
		status = output_printf(output, ",\"args\":{\"bytes\":%" PRIu64 ",\"detail\":", gap->bytes);
	if (!status)
		status = put_string(output, printable(detail, gap->detail, sizeof(gap->detail)));
	return status ? status : output_printf(output, "}}");
}

static int on_run(void *context, const struct timeline_run *run)
{
	struct chrome_state *state = context;
	struct output *output = state->output;
	char comm[4 * 16 + 1];
	int status;

	if (run->pid == 0) /* idle */
		return 0;
	status = name_cpu(state, run->cpu, 0);
	if (!status)
		status = put_next(state);
	if (!status)
		status = output_puts(output, "{\"ph\":\"X\",\"name\":");
	if (!status)
		status = put_string(output, *run->comm ? printable(comm, run->comm, 16) : "?");
	if (!status)
		status = put_who(output, ",\"cat\":\"cpu\",\"pid\":", cpus_pid, run->cpu);
	if (!status)
		status = put_time(output, ",\"ts\":", run->begin);
	if (!status)
		status = put_time(output, ",\"dur\":", run->end - run->begin);
	if (!status)
		status = put_who(output, ",\"args\":{\"pid\":", run->pid, run->tid);
	return status ? status : output_puts(output, "}}");
}

/* ---- The sink --------------------------------------------------------------------------------------- */

static int chrome_begin(void *context, struct output *output, const struct sink_context *sink)
{
	struct chrome_state *state = context;
	const struct timeline_consumer consumer = {.context = state,
	                                           .process = on_process,
	                                           .thread = on_thread,
	                                           .end = on_end,
	                                           .gap = on_gap,
	                                           .run = on_run};

	state->output = output;
	state->timeline = timeline_new(sink, &consumer, (uint32_t)state->deepest);
	if (!state->timeline)
		return -1;
	output_printf(output, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"unit\":\"%s\"},\"traceEvents\":[",
	              timeline_has_clock(state->timeline) ? "ns" : "ticks");
	return 0;
}

static void chrome_free(void *context)
{
	struct chrome_state *state = context;

	timeline_free(state->timeline);
	free(state->cpu);
}

static int chrome_flow(void *context, const struct sb_flow *flow)
{
	struct chrome_state *state = context;

	return timeline_flow(state->timeline, flow);
}

static int chrome_gap(void *context, const struct sb_gap *gap)
{
	struct chrome_state *state = context;

	return timeline_gap(state->timeline, gap);
}

static int chrome_end(void *context, const struct sb_account *account, const struct sb_perfdata *perfdata)
{
	struct chrome_state *state = context;

	(void)account;
	(void)perfdata;
	if (timeline_finish(state->timeline) < 0)
		return -1;
	return output_printf(state->output, "\n]}\n");
}

static const struct sink_option options[] = {
        {"depth", "N", "leave out functions that are deeper in the stack (none)", set_depth},
        {"min", "NS", "leave out functions that ran for a shorter time (0)", set_shortest},
};

const struct sink_type sink_chrome = {
        .name = "chrome",
        .about = "a timeline of functions, threads and CPUs for Chrome's tracing, Perfetto, speedscope: JSON",
        .size = sizeof(struct chrome_state),
        .option = options,
        .noptions = sizeof(options) / sizeof(options[0]),
        .symbols = sink_symbols_always,
        .by_time = true,
        .begin = chrome_begin,
        .flow = chrome_flow,
        .gap = chrome_gap,
        .end = chrome_end,
        .free = chrome_free,
};
