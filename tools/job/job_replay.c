/* job_replay.c - see job_replay.h. Everything is opened in the order in which it can fail cheaply, and the
 * session does the rest. */
#include "job/job_replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sb/bundle.h>
#include <sb/kernel.h>
#include <sb/perfdata.h>
#include <sb/replay.h>
#include <sb/source_lines.h>

#include "interrupt.h"
#include "job/account_value.h"
#include "job/job_session.h"
#include "progress.h"
#include "sink/sink.h"
#include "strict.h"
#include "tell.h"

struct replay {
	const struct job_replay_request *request;
	const struct job *job;
	struct job_session opened;
	struct sb_source_lines *lines;
	struct sink_context context;
	struct sink_filter replayed;     /* what the session leaves in */
	struct sink_filter filter;       /* of all, besides */
	struct sink_filter *sink_filter; /* of each of the job's sinks */
	struct sink_set *sinks;
	struct progress progress;
	bool stopped; /* since all who would read the outputs went away */
};

static void replay_close(struct replay *replay, bool leaves)
{
	progress_end(&replay->progress);
	sink_set_free(replay->sinks);
	free(replay->sink_filter);
	sb_source_lines_free(replay->lines);
	if (leaves)
		job_session_leave(&replay->opened);
	else
		job_session_close(&replay->opened);
}

/* ---- What is wanted --------------------------------------------------------------------------- */

/* Whether lines scroll over the terminal where the progress bar would be. */
static bool scrolls(const struct job_replay_request *request)
{
	const struct job *job = request->job;

	for (size_t i = 0; i < job->nsinks; i++)
		if (sink_type_wants_flow(job->sink[i].type, false) &&
		    (!request->file[i] || !strcmp(request->file[i], "-")))
			return isatty(STDOUT_FILENO);
	return false;
}

/* ---- Opening ---------------------------------------------------------------------------------- */

static bool is_there(const struct sb_container *const *container, size_t count, const char *pattern)
{
	for (size_t i = 0; i < count; i++)
		if (sb_container_matches(container[i], pattern))
			return true;
	return false;
}

/* A wrong name gives an empty replay, which is no error: the next recording may have it. */
static void tell_unknown_containers(const struct replay *replay)
{
	const struct job_texts *wanted = &replay->job->filter.container;
	const struct sb_container *const *container;
	size_t count;

	container = sb_system_containers(sb_session_system(replay->opened.session), &count);
	for (size_t i = 0; i < wanted->count; i++)
		if (!is_there(container, count, wanted->value[i]))
			fprintf(stderr, "%s: warning: no container matches '%s' (the recording has %zu)\n",
			        replay->request->command, wanted->value[i], count);
}

/* Read when they are asked for. */
static int open_lines(struct replay *replay, struct sb_error *err)
{
	char *const *file = replay->job->file;
	const struct sb_perfdata *perfdata = replay->opened.perfdata;
	const struct sb_system *system = sb_session_system(replay->opened.session);
	char *bundled = NULL;
	const char *vmlinux;
	int code = sb_source_lines_new(&replay->lines, replay->opened.resolver, err);

	if (!file[job_vmlinux] && !file[job_kcore])
		bundled = sb_bundle_named_kernel(replay->opened.resolver, sb_perfdata_path(perfdata),
		                                 "vmlinux");
	vmlinux = file[job_vmlinux] ? file[job_vmlinux] : bundled;
	if (!code && vmlinux)
		code = sb_source_lines_add_vmlinux(replay->lines, vmlinux,
		                                   sb_system_kernel_shift(system, vmlinux), err);
	if (!code)
		code = sb_source_lines_add_recording(replay->lines, perfdata, system, file[job_kcore], err);
	free(bundled);
	return code;
}

/* What a sink of its own leaves out. */
static int filter_of(const struct replay *replay, const struct job_filter *from, struct sink_filter *to,
                     struct sb_error *err)
{
	*to = (struct sink_filter){.cpu = from->cpu.value,
	                           .ncpus = from->cpu.count,
	                           .pid = from->pid.value,
	                           .npids = from->pid.count,
	                           .container = (const char *const *)from->container.value,
	                           .ncontainers = from->container.count,
	                           .cgroup = (const char *const *)from->cgroup.value,
	                           .ncgroups = from->cgroup.count,
	                           .comm = (const char *const *)from->comm.value,
	                           .ncomms = from->comm.count,
	                           .address = from->address.value,
	                           .naddresses = from->address.count,
	                           .function = (const char *const *)from->function.value,
	                           .nfunctions = from->function.count};
	return job_span(from, &sb_perfdata_info(replay->opened.perfdata)->clock, replay->request->recording,
	                &to->tsc_from, &to->tsc_to, err);
}

static int fill_requests(struct replay *replay, struct sink_request *request, struct sb_error *err)
{
	const struct job *job = replay->job;
	int code = 0;

	request[0] = (struct sink_request){.type = &sink_summary, .symbols = job->symbols};
	for (size_t i = 0; i < job->nsinks && !code; i++) {
		const struct job_sink *sink = &job->sink[i];
		struct sink_filter *filter = &replay->sink_filter[i];

		code = filter_of(replay, &sink->filter, filter, err);
		request[i] = (struct sink_request){.type = sink->type,
		                                   .file = replay->request->file[i],
		                                   .symbols = job_sink_symbols(job, i),
		                                   .setting = sink->setting,
		                                   .nsettings = sink->nsettings,
		                                   .filter = job_filters(&sink->filter) ? filter : NULL};
	}
	return code;
}

/* What the session does not do for all sinks. */
static int set_filter(struct replay *replay, struct sb_error *err)
{
	const struct job_filter *filter = &replay->job->filter;

	if (!filter->address.count && !filter->function.count)
		return 0;
	replay->filter = (struct sink_filter){.address = filter->address.value,
	                                      .naddresses = filter->address.count,
	                                      .function = (const char *const *)filter->function.value,
	                                      .nfunctions = filter->function.count};
	if (sink_set_filter(replay->sinks, &replay->filter))
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	return 0;
}

static int open_sinks(struct replay *replay, struct sb_error *err)
{
	const size_t count = replay->job->nsinks ? replay->job->nsinks : 1;
	struct sink_request *request = calloc(count, sizeof(*request));
	int code = -sbe_nomem;

	replay->sink_filter = calloc(count, sizeof(*replay->sink_filter));
	replay->context = (struct sink_context){.symbols = replay->opened.symbols,
	                                        .lines = replay->lines,
	                                        .clock = &sb_perfdata_info(replay->opened.perfdata)->clock,
	                                        .system = sb_session_system(replay->opened.session),
	                                        .perfdata = replay->opened.perfdata,
	                                        .resolver = replay->opened.resolver,
	                                        .session = replay->opened.session,
	                                        .replayed = &replay->replayed,
	                                        .cut = replay->job->filter.address.count ||
	                                               replay->job->filter.function.count};
	if (request && replay->sink_filter)
		code = filter_of(replay, &replay->job->filter, &replay->replayed, err);
	else
		sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	if (!code)
		code = fill_requests(replay, request, err);
	if (!code)
		code = sink_set_new(&replay->sinks, request, count, &replay->context, err);
	free(request);
	if (!code)
		sink_set_limit(replay->sinks, replay->request->limit);
	return code ? code : set_filter(replay, err);
}

/* ---- Running ---------------------------------------------------------------------------------- */

/* The session's context is the whole replay, as it needs both the sinks and the bar. */
static int on_flow(void *context, const struct sb_flow *flow)
{
	struct replay *replay = context;

	return sink_set_flow(replay->sinks, flow);
}

static uint64_t turns_until(void *context, int32_t cpu)
{
	const struct replay *replay = context;

	return sink_set_turns_until(replay->sinks, cpu);
}

static int on_gap(void *context, const struct sb_gap *gap)
{
	struct replay *replay = context;

	return sink_set_gap(replay->sinks, gap);
}

static int on_event(void *context, const struct sb_flow_event *event)
{
	struct replay *replay = context;

	return sink_set_event(replay->sinks, event);
}

static int on_sums(void *context, unsigned int sums)
{
	struct replay *replay = context;

	return sink_set_sums(replay->sinks, sums);
}

static int on_progress(void *context, uint64_t done, uint64_t total)
{
	struct replay *replay = context;

	progress_update(&replay->progress, done, total);
	return interrupt_came() ? -sbe_stop : 0;
}

static int merge(struct replay *replay, const struct sb_sink *sink, struct sb_error *err)
{
	const int code = sb_session_merge(replay->opened.session, replay->request->spans, sink, err);

	return code == -sbe_order && !err->code
	               ? sb_error_set(
	                         err, code, replay->request->recording, UINT64_MAX,
	                         "calls were added up above frames that are not those they were taken for")
	               : code;
}

static int run(struct replay *replay, struct sb_error *err)
{
	const struct sb_sink sink = {.context = replay,
	                             .flow = job_wants_flow(replay->job) ? on_flow : NULL,
	                             .gap = on_gap,
	                             .progress = on_progress,
	                             .event = sink_set_wants_events(replay->sinks) ? on_event : NULL,
	                             .sums = on_sums,
	                             .turns_until = turns_until};
	struct sb_error failure = {0};
	int code;

	progress_begin(&replay->progress, replay->request->label, scrolls(replay->request),
	               replay->request->progress);
	if (replay->request->spans)
		code = merge(replay, &sink, &failure);
	else
		code = sb_session_run(replay->opened.session, &sink, &failure);
	if (!code)
		code = job_session_check(&replay->opened, &failure);
	progress_end(&replay->progress);
	if (interrupt_came())
		return sb_error_set(err, -sbe_stop, replay->request->recording, UINT64_MAX, "interrupted");
	if (!code)
		return sink_set_finish(replay->sinks, sb_session_account(replay->opened.session),
		                       replay->opened.perfdata, err);
	if (sink_set_error(replay->sinks, err))
		return code;
	replay->stopped = sink_set_all_gone(replay->sinks);
	if (replay->stopped)
		return 0;
	*err = failure;
	return code;
}

/* ---- Afterwards ------------------------------------------------------------------------------- */

/* Gaps are no errors, but nobody shall overlook them: without a summary, one line on stderr. */
static void tell_gaps(const struct replay *replay)
{
	const struct job *job = replay->job;

	for (size_t i = 0; i < job->nsinks; i++)
		if (job->sink[i].type == &sink_summary)
			return;
	if (job->nsinks)
		gaps_tell(replay->request->command, sb_session_account(replay->opened.session), strict_all,
		          "; sbtrace replay --sink summary has the details");
}

/* A name that is mistyped leaves nothing, and an empty file does not say why. */
static void tell_nothing_left(const struct replay *replay)
{
	const struct sb_account *account = sb_session_account(replay->opened.session);
	const uint64_t others = account->gap[sb_gap_filtered].bytes;
	char text[160];

	if (account->ninsn || (!account->ninsn_filtered && !others))
		return;
	if (account->ninsn_filtered)
		snprintf(text, sizeof(text),
		         "the filters leave nothing: all %" PRIu64 " instructions are left out",
		         account->ninsn_filtered);
	else
		snprintf(text, sizeof(text),
		         "the filters leave nothing: %" PRIu64 " bytes of trace are of other CPUs", others);
	tell_note(replay->request->command, text);
}

static int tell_doubt(void *context, const char *text)
{
	tell_note(((const struct replay *)context)->request->command, text);
	return 0;
}

/* Returns whether all is accounted for. */
static bool check_account(const char *command, const struct sb_account *account)
{
	uint64_t known = account->bytes_decoded;

	for (unsigned int i = 0; i < sb_gap_reasons; i++)
		known += account->gap[i].bytes;
	if (known == account->bytes_total)
		return true;
	fprintf(stderr, "%s: the account is wrong: %" PRIu64 " bytes of trace, %" PRIu64 " accounted for\n",
	        command, account->bytes_total, known);
	return false;
}

static enum job_replay_end judge(struct replay *replay)
{
	const struct sb_account *account = sb_session_account(replay->opened.session);
	const char *command = replay->request->command;

	if (replay->stopped)
		return job_replay_stopped;
	sb_resolver_doubts(replay->opened.resolver, tell_doubt, replay);
	tell_gaps(replay);
	tell_nothing_left(replay);
	if (!check_account(command, account))
		return job_replay_wrong;
	return strict_allows(command, replay->job->strict, account,
	                     sb_perfdata_damage(replay->opened.perfdata))
	               ? job_replay_whole
	               : job_replay_gaps;
}

int job_replay(const struct job_replay_request *request, enum job_replay_end *end, json_t **account,
               struct sb_error *err)
{
	struct replay replay = {.request = request, .job = request->job};
	const struct sb_error *damage;
	struct interrupt_watch watch;
	int code;

	replay.opened.command = request->command;
	replay.opened.checkpoint = request->checkpoint;
	replay.opened.expected = request->expected;
	/* Commands that fetch end with us. */
	interrupt_watch(&watch);
	code = job_session_open(&replay.opened, request->job, request->recording, err);
	if (!code)
		code = job_session_add_symbols(&replay.opened, request->job, err);
	if (!code)
		code = open_lines(&replay, err);
	if (!code)
		code = open_sinks(&replay, err);
	if (!code) {
		tell_unknown_containers(&replay);
		damage = sb_perfdata_damage(replay.opened.perfdata);
		if (damage)
			tell(request->command, "warning: ", damage);
		code = run(&replay, err);
	}
	if (!code) {
		*end = judge(&replay);
		if (account)
			*account = account_value(sb_session_account(replay.opened.session));
	}
	replay_close(&replay, !code && request->is_last);
	interrupt_unwatch(&watch);
	return code;
}
