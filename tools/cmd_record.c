/* cmd_record.c - sbtrace record: of the machine as it runs (record_live.c); or, with --software, runs a
 * command and writes what Intel PT would have said. */
#include "commands.h"

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sb/software_tracer.h>

#include "job/job.h"
#include "old_recording.h"
#include "options.h"
#include "real_path.h"
#include "record_live.h"

struct record_options {
	struct sb_software_tracer_config config;
	struct record_live live;
	bool software, quiet;
	struct progress progress; /* in software */
};

static struct record_live *live_of(void *target)
{
	return &((struct record_options *)target)->live;
}

static int take_software(void *target, const char *value, struct option_error *error)
{
	struct record_options *options = target;

	(void)value;
	(void)error;
	options->software = true;
	return 0;
}

static int take_quiet(void *target, const char *value, struct option_error *error)
{
	struct record_options *options = target;

	(void)value;
	(void)error;
	options->quiet = true;
	options->live.quiet = true;
	return 0;
}

static int take_progress(void *target, const char *value, struct option_error *error)
{
	(void)value;
	(void)error;
	live_of(target)->show_progress = true;
	return 0;
}

static int take_number(uint32_t *number, const char *value, uint64_t least, uint64_t most,
                       struct option_error *error)
{
	uint64_t wide;

	if (option_number(value, least, most, &wide, error))
		return -1;
	*number = (uint32_t)wide;
	return 0;
}

static int take_cpus(void *target, const char *value, struct option_error *error)
{
	return take_number(&((struct record_options *)target)->config.ncpus, value, 1, 256, error);
}

static int take_seed(void *target, const char *value, struct option_error *error)
{
	return option_number(value, 0, UINT64_MAX, &((struct record_options *)target)->config.seed, error);
}

static int take_psb_period(void *target, const char *value, struct option_error *error)
{
	return take_number(&((struct record_options *)target)->config.psb_period, value, 256, 1 << 30, error);
}

static int take_overflow_every(void *target, const char *value, struct option_error *error)
{
	return take_number(&((struct record_options *)target)->config.overflow_every, value, 0, 1 << 30,
	                   error);
}

static int take_output(void *target, const char *value, struct option_error *error)
{
	if (!strcmp(value, "-"))
		return option_fail(error, "a recording is a file, and cannot be written to standard output");
	((struct record_options *)target)->config.output = value;
	live_of(target)->config.output = value;
	return 0;
}

static int take_truth(void *target, const char *value, struct option_error *error)
{
	(void)error;
	((struct record_options *)target)->config.truth = value;
	return 0;
}

static int take_copy_root(void *target, const char *value, struct option_error *error)
{
	(void)error;
	((struct record_options *)target)->config.copy_root = value;
	return 0;
}

static int take_no_retcomp(void *target, const char *value, struct option_error *error)
{
	(void)value;
	(void)error;
	((struct record_options *)target)->config.no_retcomp = 1;
	return 0;
}

static int take_mtc(void *target, const char *value, struct option_error *error)
{
	(void)value;
	(void)error;
	((struct record_options *)target)->config.mtc = 1;
	return 0;
}

static int take_cyc(void *target, const char *value, struct option_error *error)
{
	(void)value;
	(void)error;
	((struct record_options *)target)->config.cyc = 1;
	return 0;
}

static int take_tnt64(void *target, const char *value, struct option_error *error)
{
	(void)value;
	(void)error;
	((struct record_options *)target)->config.tnt64 = 1;
	return 0;
}

static int take_single_step(void *target, const char *value, struct option_error *error)
{
	(void)value;
	(void)error;
	((struct record_options *)target)->config.single_step = 1;
	return 0;
}

/* ---- Of the machine as it runs ----------------------------------------------------------------- */

static int take_all(void *target, const char *value, struct option_error *error)
{
	(void)value;
	(void)error;
	live_of(target)->config.everybody = 1;
	return 0;
}

static int add_event(struct record_live *live, const char *event, size_t size, struct option_error *error)
{
	char **grown = reallocarray(live->event, live->nevents + 1, sizeof(*grown));

	if (grown)
		live->event = grown;
	if (!grown || !(grown[live->nevents] = strndup(event, size)))
		return option_fail(error, "out of memory");
	live->nevents += 1;
	return 0;
}

/* "cs,page-faults": several, as perf record takes them; but commas between slashes are of the event. */
static int take_event(void *target, const char *value, struct option_error *error)
{
	const char *begin = value, *at = value;
	bool inside = false;

	for (; *at; at++) {
		inside ^= *at == '/';
		if (*at != ',' || inside)
			continue;
		if (add_event(live_of(target), begin, (size_t)(at - begin), error))
			return -1;
		begin = at + 1;
	}
	return add_event(live_of(target), begin, (size_t)(at - begin), error);
}

/* "12" or "12,13,20". */
static int take_numbers(pid_t **list, size_t *count, const char *value, struct option_error *error)
{
	char word[32];
	uint64_t number;

	for (const char *at = value; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		pid_t *grown = reallocarray(*list, *count + 1, sizeof(*grown));

		if (!grown)
			return option_fail(error, "out of memory");
		*list = grown;
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(at, ","), at);
		if (option_number(word, 1, 1 << 22, &number, error))
			return -1;
		grown[(*count)++] = (pid_t)number;
	}
	return 0;
}

static int take_pid(void *target, const char *value, struct option_error *error)
{
	return take_numbers(&live_of(target)->pid, &live_of(target)->npids, value, error);
}

static int take_tid(void *target, const char *value, struct option_error *error)
{
	return take_numbers(&live_of(target)->tid, &live_of(target)->ntids, value, error);
}

static int take_cgroup(void *target, const char *value, struct option_error *error)
{
	(void)error;
	live_of(target)->config.cgroup = value;
	return 0;
}

static int take_sideband_only(void *target, const char *value, struct option_error *error)
{
	(void)value;
	(void)error;
	live_of(target)->sideband_only = true;
	return 0;
}

static int take_ring(void *target, const char *value, struct option_error *error)
{
	return job_size_set(&live_of(target)->config.ring_size, value, error);
}

static int take_aux(void *target, const char *value, struct option_error *error)
{
	return job_size_set(&live_of(target)->config.aux_size, value, error);
}

static int take_snapshot(void *target, const char *value, struct option_error *error)
{
	(void)value;
	(void)error;
	live_of(target)->config.snapshot = 1;
	return 0;
}

static int take_paused(void *target, const char *value, struct option_error *error)
{
	(void)value;
	(void)error;
	live_of(target)->config.paused = 1;
	return 0;
}

static int take_time(void *target, const char *value, struct option_error *error)
{
	char *end;
	const double seconds = strtod(value, &end);

	if (end == value || *end || !(seconds > 0 && seconds < 1e9))
		return option_fail(error, "expected seconds, found '%s'", value);
	live_of(target)->config.time_limit = (uint64_t)(seconds * 1e9);
	return 0;
}

static int take_size(void *target, const char *value, struct option_error *error)
{
	return job_size_set(&live_of(target)->config.size_limit, value, error);
}

static int take_control(void *target, const char *value, struct option_error *error)
{
	(void)error;
	live_of(target)->config.control = value;
	return 0;
}

static int take_kcore(void *target, const char *value, struct option_error *error)
{
	(void)value;
	(void)error;
	live_of(target)->config.kcore = 1;
	return 0;
}

static int take_bundle(void *target, const char *value, struct option_error *error)
{
	(void)error;
	live_of(target)->bundle = value;
	return 0;
}

static int take_sysfs(void *target, const char *value, struct option_error *error)
{
	(void)error;
	live_of(target)->config.sysfs = value;
	return 0;
}

static int take_proc(void *target, const char *value, struct option_error *error)
{
	(void)error;
	live_of(target)->config.proc = value;
	return 0;
}

static const struct option_row rows[] = {
        {"output", 'o', "FILE", "where to write the recording (perf.data)", take_output},
        {"quiet", 'q', NULL, "do not say how it went", take_quiet},
        {"progress", 0, NULL, "tell how far it is, whatever standard error and output are", take_progress},
        {"event", 'e', "EVENT", "what to record, see sbtrace-events(1); may be repeated (intel_pt//)",
         take_event},
        {"sideband-only", 0, NULL, "who runs and what is mapped, no trace", take_sideband_only},
        {"all-cpus", 'a', NULL, "of everybody; a COMMAND says how long", take_all},
        {"pid", 'p', "PID,...", "of processes, with all that they have started or will start", take_pid},
        {"tid", 't', "TID,...", "of threads, and them alone", take_tid},
        {"cgroup", 0, "PATH", "of a cgroup: its path in the hierarchy", take_cgroup},
        {"ring", 0, "SIZE", "of each CPU's buffer for records (8M)", take_ring},
        {"aux", 0, "SIZE", "of each CPU's buffer for trace (4M)", take_aux},
        {"snapshot", 0, NULL, "keep the newest trace only; write it on SIGUSR2, and at the end",
         take_snapshot},
        {"paused", 0, NULL, "the trace begins when it is told to (--control)", take_paused},
        {"time", 0, "SECONDS", "end after so long", take_time},
        {"size", 0, "SIZE", "end when the file is so large", take_size},
        {"control", 0, "FIFO", "where to read: start, stop, snapshot, quit", take_control},
        {"kcore", 0, NULL, "also the kernel's code; FILE is a directory then", take_kcore},
        {"bundle", 0, "DIR", "then collect all files that a replay needs, see sbtrace-bundle(1)",
         take_bundle},
        {"sysfs", 0, "DIR", "in place of /sys", take_sysfs},
        {"proc", 0, "DIR", "in place of /proc, as to the kernel and the processor", take_proc},
        {"software", 0, NULL, "without Intel PT: trace the command step by step; with:", take_software},
        {"cpus", 'c', "CPUS", "virtual CPUs, 1 to 256 (1)", take_cpus},
        {"seed", 0, "N", "of the choices made by chance: slices, migration, lost spans (0)", take_seed},
        {"psb-period", 0, "BYTES", "trace bytes between two PSBs (4096)", take_psb_period},
        {"no-retcomp", 0, NULL, "write returns as TIPs", take_no_retcomp},
        {"mtc", 0, NULL, "write MTC packets", take_mtc},
        {"cyc", 0, NULL, "write CYC packets", take_cyc},
        {"tnt64", 0, NULL, "write long TNT packets, with deferred TIPs", take_tnt64},
        {"overflow-every", 0, "BYTES", "lose some instructions after so many trace bytes",
         take_overflow_every},
        {"truth", 0, "FILE", "write every instruction that a replay has to find", take_truth},
        {"copy-root", 0, "DIR", "copy the mapped files below DIR, for a replay elsewhere", take_copy_root},
        {"single-step", 0, NULL, "trap on every instruction: slower, leaves the code alone",
         take_single_step},
};

static const struct option_table options_table = {
        .command = "sbtrace record",
        .usage =
                "[-a | -p PID | -t TID | --cgroup PATH] [-e EVENT] [-o FILE] [OPTIONS] [-- COMMAND [ARGUMENTS]]\n"
                "       sbtrace record --software [-o FILE] [OPTIONS] -- COMMAND [ARGUMENTS]",
        .about =
                "Records what is executed, by Intel PT, and all that a replay needs to know besides: who runs\n"
                "where, and what is mapped. With --software, runs COMMAND step by step, and writes what\n"
                "`perf record -a -e intel_pt//u` would on a machine with Intel PT and so many CPUs.\n",
        .row = rows,
        .nrows = sizeof(rows) / sizeof(rows[0]),
        .stop_at_operand = true,
};

static void report(const struct record_options *options, const struct sb_software_tracer_result *result)
{
	char overflows[40] = "";

	if (options->quiet)
		return;
	if (result->noverflows)
		snprintf(overflows, sizeof(overflows), " in %" PRIu32 " overflow%s", result->noverflows,
		         result->noverflows == 1 ? "" : "s");
	fprintf(stderr,
	        "sbtrace record: %" PRIu64 " instructions (%" PRIu64 " lost%s), %" PRIu32
	        " processes, %" PRIu32 " threads, %" PRIu64 " switches, %" PRIu64 " bytes of trace: %s\n",
	        result->ninsn, result->nlost, overflows, result->nprocesses, result->nthreads,
	        result->nswitches, result->trace_bytes, options->config.output);
}

static void on_progress(void *context, const struct sb_software_tracer_result *so_far)
{
	struct record_options *options = context;
	char text[160];

	old_recording_keep(&options->live.old_due);
	snprintf(text, sizeof(text), "%.1f M instructions, %" PRIu32 " processes, %.1f MB of trace",
	         (double)so_far->ninsn / 1e6, so_far->nprocesses, (double)so_far->trace_bytes / 1e6);
	progress_say(&options->progress, text);
}

static int complain(const char *what)
{
	fprintf(stderr, "sbtrace record: %s\nTry 'sbtrace record --help'.\n", what);
	return exit_usage;
}

static bool is_one_file(const char *a, const char *b)
{
	char *real_a = real_path(a), *real_b = real_path(b);
	const bool same = real_a && real_b && !strcmp(real_a, real_b);

	free(real_a);
	free(real_b);
	return same;
}

static volatile sig_atomic_t stop_asked;

/* It breaks off the recorder's waiting; one that comes just before that would go unheard, but for the alarm.
 */
static void ask_stop(int number)
{
	if (number != SIGALRM)
		stop_asked = stop_asked + 1;
	alarm(1);
}

static void watch_stop(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM};
	const struct sigaction action = {.sa_handler = ask_stop};
	struct sigaction before;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		sigaction(numbers[i], NULL, &before);
		if (before.sa_handler != SIG_IGN || numbers[i] == SIGALRM) /* nohup(1) */
			sigaction(numbers[i], &action, NULL);
	}
}

static int record_software(struct record_options *options, char *const command[])
{
	const char *live_option = record_live_option(&options->live);
	struct sb_software_tracer_result result;
	struct sb_error error = {0};
	char text[1024];
	int status;

	if (!command)
		return complain("which command? -- COMMAND [ARGUMENTS]");
	if (live_option) {
		snprintf(text, sizeof(text), "%s does not go with --software", live_option);
		return complain(text);
	}
	if (options->config.truth && is_one_file(options->config.truth, options->config.output))
		return complain("the recording and --truth cannot both be written to one file");
	if (options->config.copy_root && is_one_file(options->config.copy_root, options->config.output))
		return complain("--copy-root needs a directory of its own, not the recording's file");
	watch_stop();
	options->config.stop = &stop_asked;
	options->config.progress = on_progress;
	options->config.context = options;
	/* What the command writes would be in between. */
	progress_begin(&options->progress, NULL, options->quiet || isatty(STDOUT_FILENO),
	               options->live.show_progress);
	status = sb_software_trace(&options->config, command, &result, &error);
	alarm(0);
	progress_end(&options->progress);
	if (status < 0) {
		fprintf(stderr, "sbtrace record: %s\n", sb_error_string(&error, text, sizeof(text)));
		return exit_error;
	}
	report(options, &result);
	return stop_asked ? exit_fine : record_exit_status(result.exit_status);
}

/* The first of the options for --software that was given; NULL: none. */
static const char *software_option(const struct sb_software_tracer_config *config)
{
	const struct {
		bool given;
		const char *name;
	} option[] = {
	        {config->ncpus != 1, "--cpus"},
	        {config->seed != 0, "--seed"},
	        {config->psb_period != 0, "--psb-period"},
	        {config->no_retcomp, "--no-retcomp"},
	        {config->mtc, "--mtc"},
	        {config->cyc, "--cyc"},
	        {config->tnt64, "--tnt64"},
	        {config->overflow_every != 0, "--overflow-every"},
	        {config->truth != NULL, "--truth"},
	        {config->copy_root != NULL, "--copy-root"},
	        {config->single_step, "--single-step"},
	};

	for (size_t i = 0; i < sizeof(option) / sizeof(option[0]); i++)
		if (option[i].given)
			return option[i].name;
	return NULL;
}

/* What would be done without a word in another way than was meant; NULL: nothing. */
static const char *contradiction(const struct record_options *options)
{
	static char text[80];
	const struct record_live *live = &options->live;
	const char *name = software_option(&options->config);

	if (name) {
		snprintf(text, sizeof(text), "%s goes with --software only", name);
		return text;
	}
	if (live->sideband_only && live->nevents)
		return "--sideband-only and --event exclude each other";
	if (live->config.paused && !live->config.control)
		return "--paused needs --control, by which the trace is told to begin";
	if ((live->config.snapshot || live->config.aux_size) && !record_live_has_trace(live))
		return "--snapshot and --aux are about a trace, and no event is one";
	return NULL;
}

static int record_machine(struct record_options *options, int argc, char **argv, char *const command[])
{
	const struct record_live *live = &options->live;
	const int kinds = (live->npids != 0) + (live->ntids != 0) + (live->config.cgroup != NULL) +
	                  live->config.everybody;
	const char *wrong = contradiction(options);

	if (kinds > 1)
		return complain("one of -a, -p, -t, --cgroup is enough");
	if (!kinds && !command)
		return complain("of whom? -a, -p PID, -t TID, --cgroup PATH, or -- COMMAND [ARGUMENTS]");
	if (wrong)
		return complain(wrong);
	return record_live(&options->live, argc, argv, command);
}

static void go_on(int number)
{
	(void)number;
}

/* Who ignores SIGCHLD is not told how the command ended. That nobody reads our messages any more, or that a
 * file is as large as it may be, is no reason to end in the middle; the command does not inherit handlers. */
static void set_signals(void)
{
	static const int numbers[] = {SIGPIPE, SIGXFSZ};

	signal(SIGCHLD, SIG_DFL);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (signal(numbers[i], go_on) == SIG_IGN)
			signal(numbers[i], SIG_IGN);
}

int cmd_record(int argc, char **argv)
{
	struct record_options options = {.config = {.size = sizeof(options.config), .ncpus = 1},
	                                 .live = {.config = {.size = sizeof(options.live.config)}}};
	int rest = argc, status;
	char **command;

	set_signals();
	switch (options_parse(&options_table, argc, argv, &options, &rest)) {
	case options_help:
		return exit_fine;
	case options_wrong:
		record_live_free(&options.live);
		return exit_usage;
	default:
		break;
	}
	command = rest < argc ? argv + rest : NULL;
	if (!options.config.output) {
		take_output(&options, old_recording_name, &(struct option_error){0});
		options.live.old_due = true;
	}
	if (options.software)
		status = record_software(&options, command);
	else
		status = record_machine(&options, argc, argv, command);
	record_live_free(&options.live);
	return status;
}
