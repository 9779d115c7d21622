/* cmd_replay.c - `sbtrace replay`: from a recording, or a job that names one, to the sinks.
 *
 * The command line fills a job just as a YAML file does; given both, the command line wins. Then
 * everything is opened in the order in which it can fail cheaply, and the session does the rest. */
#include "commands.h"

#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sb/bundle.h>
#include <sb/kernel.h>
#include <sb/perfdata.h>
#include <sb/replay.h>

#include "job/job.h"
#include "options.h"
#include "progress.h"
#include "sink/sink.h"
#include "strict.h"
#include "tell.h"

static int take_sink(void *target, const char *value, struct option_error *error)
{
	const char *equals = strchr(value, '=');
	char *name = strndup(value, equals ? (size_t)(equals - value) : strlen(value));
	int result;

	if (!name)
		return option_fail(error, "out of memory");
	result = job_add_sink(target, name, equals ? equals + 1 : NULL, error);
	free(name);
	return result;
}

static int take_with(void *target, const char *value, struct option_error *error)
{
	const char *equals = strchr(value, '=');
	char *name;
	int result;

	if (!equals || equals == value)
		return option_fail(error, "expected KEY=VALUE, found '%s'", value);
	name = strndup(value, (size_t)(equals - value));
	if (!name)
		return option_fail(error, "out of memory");
	result = job_add_setting(target, name, equals + 1, error);
	free(name);
	return result;
}

static int take_jitdump(void *target, const char *value, struct option_error *error)
{
	return job_add_jitdump(target, value, error);
}

static int take_cpu(void *target, const char *value, struct option_error *error)
{
	struct job *job = target;

	return job_list_add(&job->cpu, value, error);
}

static int take_pid(void *target, const char *value, struct option_error *error)
{
	struct job *job = target;

	return job_list_add(&job->pid, value, error);
}

static int take_container(void *target, const char *value, struct option_error *error)
{
	struct job *job = target;

	return job_add_text(&job->container, value, error);
}

static int take_cgroup(void *target, const char *value, struct option_error *error)
{
	struct job *job = target;

	return job_add_text(&job->cgroup, value, error);
}

static int take_comm(void *target, const char *value, struct option_error *error)
{
	struct job *job = target;

	return job_add_text(&job->comm, value, error);
}

static int take_time(void *target, const char *value, struct option_error *error)
{
	struct job *job = target;
	const char *comma = strchr(value, ',');
	char *from;
	int result;

	if (!comma)
		return option_fail(error, "expected FROM,TO, found '%s'", value);
	from = strndup(value, (size_t)(comma - value));
	if (!from)
		return option_fail(error, "out of memory");
	result = job_time_set(&job->from, from, error);
	free(from);
	return result ? result : job_time_set(&job->to, comma + 1, error);
}

static int take_symbols(void *target, const char *value, struct option_error *error)
{
	struct job *job = target;

	(void)value;
	(void)error;
	job->symbols = true;
	return 0;
}

static int take_no_demangle(void *target, const char *value, struct option_error *error)
{
	struct job *job = target;

	(void)value;
	(void)error;
	job->no_demangle = true;
	return 0;
}

static int take_strict(void *target, const char *value, struct option_error *error)
{
	struct job *job = target;

	return strict_set(&job->strict, value, error);
}

static int take_jobs(void *target, const char *value, struct option_error *error)
{
	return job_set_jobs(target, value, error);
}

static int take_recording(void *target, const char *value, struct option_error *error)
{
	return job_set_recording(target, value, error);
}

static const struct option_row rows[] = {
        {"sink", 0, "NAME[=FILE]",
         "what to write: one of the sinks below (default: summary); may be repeated", take_sink},
        {"with", 0, "KEY=VALUE", "an option of the sink before it; may be repeated", take_with},
        FILE_OPTION_ROWS,
        BUNDLE_OPTION_ROW,
        KERNEL_OPTION_ROWS,
        {"jitdump", 0, "FILE", "code that a process made and wrote to FILE (jit-PID.dump); may be repeated",
         take_jitdump},
        {"cpu", 0, "LIST", "only these CPUs: 0,2-5", take_cpu},
        {"pid", 0, "LIST", "only these processes", take_pid},
        {"container", 0, "NAME",
         "only this container: name, id or its beginning, pod, or a pattern; may be repeated",
         take_container},
        {"cgroup", 0, "GLOB", "only cgroups whose path matches; may be repeated", take_cgroup},
        {"comm", 0, "GLOB", "only threads whose name matches; may be repeated", take_comm},
        {"jobs", 'j', "N", "decode on N threads (default: one for each CPU)", take_jobs},
        {"time", 0, "FROM,TO", "only this span, in time stamp counts or (483.295535467) seconds", take_time},
        {"symbols", 0, NULL, "tell function and file of each line; in the summary, the busiest functions",
         take_symbols},
        {"no-demangle", 0, NULL, "leave names of C++ and Rust functions as the compiler makes them",
         take_no_demangle},
        {"strict", 0, "[=REASON,...]", "exit status 3 if there are gaps, or gaps with one of these reasons",
         take_strict},
};

static const struct option_table options = {
        .command = "sbtrace replay",
        .usage = "[OPTIONS] RECORDING|JOB.yaml",
        .about =
                "What every process executed: replays a recording of Intel PT (a perf.data file or directory,\n"
                "\"-\" for one from standard input, or a directory of cpuN.pt and cpuN.pevent files), or the\n"
                "job that JOB.yaml describes.\n",
        .row = rows,
        .nrows = sizeof(rows) / sizeof(rows[0]),
        .operand = take_recording,
        .help_more = sink_types_help,
};

struct replay {
	struct job job;
	struct sb_perfdata *perfdata;
	struct sb_resolver *resolver;
	struct sb_session *session;
	struct sb_symbols *symbols; /* NULL: not wanted */
	struct sink_context context;
	struct sink_set *sinks;
	struct progress progress;
	bool stopped; /* since all who would read the outputs went away */
};

static void replay_close(struct replay *replay)
{
	progress_end(&replay->progress);
	sink_set_free(replay->sinks);
	sb_symbols_free(replay->symbols);
	sb_session_close(replay->session);
	sb_resolver_free(replay->resolver);
	sb_perfdata_close(replay->perfdata);
	job_free(&replay->job);
}

static bool is_job_file(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && (!strcmp(dot, ".yaml") || !strcmp(dot, ".yml"));
}

/* The operand names a job: what the command line says goes on top of it. */
static int read_job_file(struct job *job, struct sb_error *err)
{
	struct job line = *job;
	char *path = line.recording;
	int code;

	line.recording = NULL;
	code = job_read(job, path, err);
	if (code)
		job_free(&line);
	else
		job_override(job, &line);
	free(path);
	return code;
}

static int open_session(struct replay *replay, struct sb_error *err)
{
	const struct job *job = &replay->job;
	struct sb_replay_options session = {
	        .size = sizeof(session),
	        .cpu = job->cpu.value,
	        .ncpus = job->cpu.count,
	        .pid = job->pid.value,
	        .npids = job->pid.count,
	        .jobs = job->jobs,
	        .kcore = job->file[job_kcore],
	        .vmlinux = job->file[job_vmlinux],
	        .kallsyms = job->file[job_kallsyms],
	        .container = (const char *const *)job->container.value,
	        .ncontainers = job->container.count,
	        .cgroup = (const char *const *)job->cgroup.value,
	        .ncgroups = job->cgroup.count,
	        .comm = (const char *const *)job->comm.value,
	        .ncomms = job->comm.count,
	        .jitdump = (const char *const *)job->jitdump,
	        .njitdumps = job->njitdumps,
	};
	int code = sb_perfdata_open(&replay->perfdata, job->recording, err);

	if (!code)
		code = job_open_resolver(&job->files, &replay->resolver, err);
	session.resolver = replay->resolver;
	if (!code)
		code = job_span(job, &sb_perfdata_info(replay->perfdata)->clock, &session.tsc_from,
		                &session.tsc_to, err);
	if (!code)
		code = sb_session_open(&replay->session, replay->perfdata, &session, err);
	return code;
}

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
	const struct job_texts *wanted = &replay->job.container;
	const struct sb_container *const *container;
	size_t count;

	container = sb_system_containers(sb_session_system(replay->session), &count);
	for (size_t i = 0; i < wanted->count; i++)
		if (!is_there(container, count, wanted->value[i]))
			fprintf(stderr,
			        "sbtrace replay: warning: no container matches '%s' (the recording has %zu)\n",
			        wanted->value[i], count);
}

/* Files of the kernel that were named, besides what the recording brings along. */
static int add_kernel_symbols(struct replay *replay, const struct sb_system *system, struct sb_error *err)
{
	const char *vmlinux = replay->job.file[job_vmlinux], *kallsyms = replay->job.file[job_kallsyms];
	int code = 0;

	if (vmlinux)
		code = sb_symbols_add_vmlinux(replay->symbols, vmlinux,
		                              sb_system_kernel_shift(system, vmlinux), err);
	if (!code && kallsyms)
		code = sb_symbols_add_kallsyms(replay->symbols, kallsyms, err);
	return code;
}

/* The type of the sink at @index; NULL: past the last. Without any, the summary is written. */
static const struct sink_type *sink_at(const struct job *job, size_t index)
{
	if (!job->nsinks)
		return index ? NULL : &sink_summary;
	return index < job->nsinks ? job->sink[index].type : NULL;
}

static bool wants_symbols(const struct job *job)
{
	const struct sink_type *type;

	for (size_t i = 0; (type = sink_at(job, i)); i++)
		if (sink_type_wants_symbols(type, job->symbols))
			return true;
	return false;
}

static bool wants_flow(const struct job *job)
{
	const struct sink_type *type;

	for (size_t i = 0; (type = sink_at(job, i)); i++)
		if (sink_type_wants_flow(type, job->symbols))
			return true;
	return false;
}

static int open_symbols(struct replay *replay, struct sb_error *err)
{
	const struct sb_symbols_options wanted = {.size = sizeof(wanted),
	                                          .no_demangle = replay->job.no_demangle};
	const struct sb_system *system = sb_session_system(replay->session);
	int code;

	if (!wants_symbols(&replay->job))
		return 0;
	code = sb_symbols_new(&replay->symbols, replay->resolver, &wanted, err);
	if (!code)
		code = sb_symbols_add_recording(replay->symbols, replay->perfdata, system, err);
	return code ? code : add_kernel_symbols(replay, system, err);
}

static int open_sinks(struct replay *replay, struct sb_error *err)
{
	const struct job *job = &replay->job;
	const size_t count = job->nsinks ? job->nsinks : 1;
	struct sink_request *request = calloc(count, sizeof(*request));
	int code;

	if (!request)
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	request[0] = (struct sink_request){.type = &sink_summary, .symbols = job->symbols};
	for (size_t i = 0; i < job->nsinks; i++)
		request[i] = (struct sink_request){.type = job->sink[i].type,
		                                   .file = job->sink[i].file,
		                                   .symbols = job->symbols,
		                                   .setting = job->sink[i].setting,
		                                   .nsettings = job->sink[i].nsettings};
	replay->context = (struct sink_context){.symbols = replay->symbols,
	                                        .clock = &sb_perfdata_info(replay->perfdata)->clock,
	                                        .system = sb_session_system(replay->session),
	                                        .perfdata = replay->perfdata,
	                                        .resolver = replay->resolver};
	code = sink_set_new(&replay->sinks, request, count, &replay->context, err);
	free(request);
	return code;
}

/* Whether lines scroll over the terminal where the progress bar would be. */
static bool scrolls(const struct job *job)
{
	for (size_t i = 0; i < job->nsinks; i++)
		if (sink_type_wants_flow(job->sink[i].type, false) &&
		    (!job->sink[i].file || !strcmp(job->sink[i].file, "-")))
			return isatty(STDOUT_FILENO);
	return false;
}

/* The session's context is the whole replay, as it needs both the sinks and the bar. */
static int on_flow(void *context, const struct sb_flow *flow)
{
	struct replay *replay = context;

	return sink_set_flow(replay->sinks, flow);
}

static int on_gap(void *context, const struct sb_gap *gap)
{
	struct replay *replay = context;

	return sink_set_gap(replay->sinks, gap);
}

static int on_progress(void *context, uint64_t done, uint64_t total)
{
	struct replay *replay = context;

	progress_update(&replay->progress, done, total);
	return 0;
}

static int run(struct replay *replay, struct sb_error *err)
{
	const struct sb_sink sink = {replay, wants_flow(&replay->job) ? on_flow : NULL, on_gap, on_progress};
	struct sb_error failure = {0};
	int code;

	progress_begin(&replay->progress, scrolls(&replay->job));
	code = sb_session_run(replay->session, &sink, &failure);
	progress_end(&replay->progress);
	if (!code)
		return sink_set_finish(replay->sinks, sb_session_account(replay->session), replay->perfdata,
		                       err);
	if (sink_set_error(replay->sinks, err))
		return code;
	replay->stopped = sink_set_all_gone(replay->sinks);
	if (replay->stopped)
		return 0;
	*err = failure;
	return code;
}

/* Gaps are no errors, but nobody shall overlook them: without a summary, one line on stderr. */
static void tell_gaps(const struct replay *replay)
{
	for (size_t i = 0; i < replay->job.nsinks; i++)
		if (replay->job.sink[i].type == &sink_summary)
			return;
	if (replay->job.nsinks)
		gaps_tell(options.command, sb_session_account(replay->session), strict_all,
		          "; --sink summary has the details");
}

static int tell_doubt(void *context, const char *text)
{
	(void)context;
	tell_note(options.command, text);
	return 0;
}

/* Returns whether all is accounted for. */
static bool check_account(const struct sb_account *account)
{
	uint64_t known = account->bytes_decoded;

	for (unsigned int i = 0; i < sb_gap_reasons; i++)
		known += account->gap[i].bytes;
	if (known == account->bytes_total)
		return true;
	fprintf(stderr,
	        "sbtrace replay: the account is wrong: %" PRIu64 " bytes of trace, %" PRIu64
	        " accounted for\n",
	        account->bytes_total, known);
	return false;
}

/* The exit status of a replay that came to its end. */
static int judge(const struct replay *replay)
{
	const struct sb_account *account = sb_session_account(replay->session);

	if (!check_account(account))
		return exit_error;
	if (strict_allows(options.command, replay->job.strict, account, sb_perfdata_damage(replay->perfdata)))
		return exit_fine;
	return exit_gaps;
}

static int replay_all(struct replay *replay, struct sb_error *err)
{
	const struct sb_error *damage;
	int code = 0;

	if (!replay->job.recording)
		code = sb_bundle_recording(replay->job.files.bundle, NULL, &replay->job.recording, err);
	else if (is_job_file(replay->job.recording))
		code = read_job_file(&replay->job, err);
	if (!code)
		code = open_session(replay, err);
	if (!code)
		code = open_symbols(replay, err);
	if (!code)
		code = open_sinks(replay, err);
	if (code)
		return code;
	tell_unknown_containers(replay);
	damage = sb_perfdata_damage(replay->perfdata);
	if (damage)
		tell(options.command, "warning: ", damage);
	return run(replay, err);
}

int cmd_replay(int argc, char **argv)
{
	struct replay replay = {0};
	struct sb_error err = {0};
	enum options_result result = options_parse(&options, argc, argv, &replay.job, NULL);
	int status = exit_fine;

	if (result == options_done && !replay.job.recording && !replay.job.files.bundle) {
		fprintf(stderr, "sbtrace replay: which recording?\nTry 'sbtrace replay --help'.\n");
		result = options_wrong;
	}
	if (result != options_done) {
		job_free(&replay.job);
		return result == options_help ? exit_fine : exit_usage;
	}
	/* Threads that grow their heaps by a page at a time wait for each other in the kernel. */
	mallopt(M_TOP_PAD, 1 << 20);
	/* A reader who goes away is seen as EPIPE, by the output that he read. */
	signal(SIGPIPE, SIG_IGN);
	if (replay_all(&replay, &err)) {
		tell(options.command, "", &err);
		status = exit_error;
	} else if (!replay.stopped) {
		sb_resolver_doubts(replay.resolver, tell_doubt, NULL);
		tell_gaps(&replay);
		status = judge(&replay);
	}
	replay_close(&replay);
	return status;
}
