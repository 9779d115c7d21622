/* recorder.c - see sb/recorder.h: sets up, tells of the state, and takes what comes until it is over.
 *
 * In this order: all events are opened and their rings mapped; what /proc says is written; the sideband is
 * enabled; what has changed meanwhile is written; the trace is enabled; the command runs. Backwards at the
 * end. So a trace never has a moment of which the sideband does not tell.
 */
#include "capture/recorder_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "capture/file_limit.h"
#include "capture/live_kernel.h"
#include "capture/shortage.h"

enum { wait_ms = 100, watch_ns = 500000000, patience_ns = 2000000000, polled_most = 1024, orders_most = 16 };

void recorder_note(const struct recorder *recorder, const char *format, ...)
{
	char text[512];
	va_list args;

	if (!recorder->config->note)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	recorder->config->note(recorder->config->context, text);
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* ---- Beginning -------------------------------------------------------------------------------- */

static int is_power_of_two(uint64_t size)
{
	return size && !(size & (size - 1));
}

static int check_size(struct recorder *recorder, const char *what, uint64_t size)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), most = UINT64_C(1) << 30;

	if (!size || (is_power_of_two(size) && size >= page && size <= most))
		return 0;
	return sb_error_set(recorder->err, -sbe_invalid, NULL, UINT64_MAX,
	                    "a %s of %" PRIu64 " bytes: a power of two from %" PRIu64 " to %" PRIu64
	                    " is expected",
	                    what, size, page, most);
}

static int check(struct recorder *recorder, char *const argv[])
{
	const struct sb_recorder_config *config = recorder->config;
	const int kinds = (config->npids != 0) + (config->ntids != 0) + (config->cgroup != NULL) +
	                  (config->everybody != 0);
	int status;

	if (config->size != sizeof(*config) || !config->output)
		return sb_error_set(
		        recorder->err, -sbe_invalid, NULL, UINT64_MAX,
		        "the recorder's configuration has %zu bytes, %zu are expected, and an output",
		        config->size, sizeof(*config));
	if (kinds > 1 || (!kinds && !argv))
		return sb_error_set(
		        recorder->err, -sbe_invalid, NULL, UINT64_MAX,
		        "one kind of target is expected: all, processes, threads, a cgroup, or a command");
	status = check_size(recorder, "ring", config->ring_size);
	return status == 0 ? check_size(recorder, "buffer for trace", config->aux_size) : status;
}

static int catching_up(void *context)
{
	return recorder_drain(context);
}

static int sideband_is_of_targets(const struct recorder *recorder)
{
	for (size_t i = 0; i < recorder->events.nevents; ++i)
		if (recorder->events.event[i].role == live_role_sideband)
			return recorder->events.event[i].of_targets;
	return 0;
}

static int set_state(struct recorder *recorder)
{
	struct live_state *state = &recorder->state;
	int status = live_state_init(state, recorder->writer, recorder->err);

	if (status < 0)
		return status;
	state->clock = recorder->clock;
	state->with_cgroups = recorder->attrs.has_cgroup && !sideband_is_of_targets(recorder);
	state->cpu = recorder->events.cpu[0].cpu;
	state->tick = catching_up;
	state->context = recorder;
	if (sideband_is_of_targets(recorder) && recorder->events.targets.count) {
		state->only = recorder->events.targets.thread;
		state->nonly = recorder->events.targets.count;
	}
	return 0;
}

static int write_kernel(struct recorder *recorder)
{
	const char *missing;
	const int status =
	        live_kernel_write(recorder->writer, recorder->proc, recorder->sysfs, &missing, recorder->err);

	if (missing)
		recorder_note(recorder, "%s", missing);
	return status == 0
	               ? live_bpf_read(&recorder->bpf, recorder->writer, NULL, recorder->proc, recorder->err)
	               : status;
}

/* Before there are rings, which may take all memory that we may lock. */
static int set_clock(struct recorder *recorder)
{
	const int status = live_clock_set(&recorder->clock);

	if (is_shortage(-status))
		return fail_short(-status, "a perf event", recorder->err);
	return status == 0
	               ? 0
	               : sb_error_set(recorder->err, -sbe_unsupported, NULL, UINT64_MAX,
	                              "what time records have cannot be found out: %s", strerror(-status));
}

static int write_state(struct recorder *recorder)
{
	int status = set_state(recorder);

	if (status == 0)
		status = write_kernel(recorder);
	if (status == 0)
		status = live_state_before(&recorder->state);
	if (status == 0)
		status = sb_write_finished_init(recorder->writer, recorder->err);
	recorder->is_catching_up = 1;
	if (status == 0)
		status = recorder_enable(recorder, live_role_sideband, 1);
	if (status == 0)
		status = recorder_enable(recorder, live_role_cgroup, 1);
	if (status == 0)
		status = live_state_catch_up(&recorder->state);
	if (status == 0)
		status = recorder_read_bpf(recorder);
	recorder->is_catching_up = 0;
	return status == 0 ? recorder_drain(recorder) : status;
}

static int set_tracing(struct recorder *recorder, int on)
{
	const int status = recorder->is_tracing == on ? 0 : recorder_enable(recorder, live_role_wanted, on);

	recorder->is_tracing = on;
	return status;
}

static int begin(struct recorder *recorder, char *const argv[])
{
	const struct sb_recorder_config *config = recorder->config;
	int status =
	        live_control_open(&recorder->control, config->control_fd, config->control, recorder->err);

	if (status == 0 && argv)
		status = live_command_start(&recorder->command, argv, recorder->err);
	/* Each event takes a file for each CPU and thread. The command has the limit that there was before.
	 */
	file_limit_raise();
	recorder->has_raised_limit = 1;
	if (status == 0)
		status = set_clock(recorder);
	if (status == 0)
		status = recorder_set_up(recorder);
	if (status == 0)
		status = recorder_open_file(recorder);
	if (status == 0)
		status = write_state(recorder);
	if (status == 0)
		status = recorder_copy_kcore(recorder);
	if (status == 0 && !config->paused)
		status = set_tracing(recorder, 1);
	if (status == 0 && argv)
		status = live_command_go(&recorder->command, argv[0], recorder->err);
	return status;
}

/* ---- While it runs ---------------------------------------------------------------------------- */

static int snapshot(struct recorder *recorder)
{
	const int was_tracing = recorder->is_tracing;
	int status;

	if (!recorder->config->snapshot || !recorder->has_pt) {
		recorder_note(recorder, "there is nothing to take a snapshot of");
		return 0;
	}
	status = set_tracing(recorder, 0);
	if (status == 0)
		status = recorder_snapshot(recorder);
	recorder->result->nsnapshots += 1;
	return status == 0 ? set_tracing(recorder, was_tracing) : status;
}

/* Positive: to end. Some orders at a time: who gives more and more of them must not keep us from all else. */
static int obey(struct recorder *recorder)
{
	char unknown[live_control_line];
	enum live_order order;
	int status = 0;

	for (int i = 0; i < orders_most && status == 0; ++i) {
		order = live_control_next(&recorder->control, unknown);
		if (unknown[0])
			recorder_note(recorder, "'%s' is no command: start, stop, snapshot, quit", unknown);
		else if (order == live_order_none)
			return 0;
		else if (order == live_order_snapshot)
			status = snapshot(recorder);
		else if (order == live_order_quit)
			recorder->result->ended_early = status = 1;
		else
			status = set_tracing(recorder, order == live_order_start);
	}
	return status;
}

static void wait_for_some(const struct recorder *recorder)
{
	struct pollfd fds[polled_most];
	nfds_t count = 0;

	for (int i = 0; i < live_control_sources; ++i)
		fds[count++] = (struct pollfd){.fd = recorder->control.source[i].fd, .events = POLLIN};
	for (size_t i = 0; i < recorder->events.ncpus && count < polled_most; ++i)
		fds[count++] = (struct pollfd){.fd = recorder->events.cpu[i].owner, .events = POLLIN};
	poll(fds, count, wait_ms);
	/* The event of a thread that is gone is always ready: it would keep us busy for nothing. */
	for (nfds_t i = live_control_sources; i < count; ++i)
		if (fds[i].revents & POLLHUP) {
			poll(fds, live_control_sources, wait_ms / 10);
			break;
		}
}

/* Whether a limit, or the end of what is recorded, has been reached. */
static int is_over(struct recorder *recorder, uint64_t begun)
{
	const struct sb_recorder_config *config = recorder->config;

	if (config->time_limit && now() - begun >= config->time_limit)
		return 1;
	if (config->size_limit && recorder->writer->position >= config->size_limit)
		return 1;
	if (recorder->command.pid)
		return live_command_ended(&recorder->command, 0);
	return live_events_are_over(&recorder->events);
}

static void fill_result(struct recorder *recorder)
{
	struct sb_recorder_result *result = recorder->result;
	const struct live_tally *tally = &recorder->tally;

	result->nrecords = tally->records;
	result->nlost = tally->lost;
	result->nswitches = tally->switches;
	result->nprocesses = recorder->state.nprocesses;
	result->nthreads = recorder->state.nthreads;
	result->aux_bytes = tally->aux_bytes;
	result->aux_truncated = tally->aux_truncated;
	result->aux_damaged = tally->aux_partial + tally->aux_collided;
	result->nthrottled = tally->throttled;
	if (recorder->writer)
		result->nbytes = recorder->writer->position;
}

static void tell_progress(struct recorder *recorder)
{
	if (!recorder->config->progress)
		return;
	fill_result(recorder);
	recorder->config->progress(recorder->config->context, recorder->result);
}

static int run(struct recorder *recorder)
{
	const uint64_t begun = now();
	uint64_t watched = begun;
	int status = 0;

	while (status == 0) {
		wait_for_some(recorder);
		status = recorder_drain(recorder);
		if (status == 0 && recorder->bpf.pending)
			status = recorder_read_bpf(recorder);
		if (status == 0 && now() - watched >= watch_ns) {
			watched = now();
			status = recorder_watch_cpus(recorder);
		}
		if (status == 0)
			tell_progress(recorder);
		if (status == 0)
			status = obey(recorder);
		if (status == 0)
			status = is_over(recorder, begun);
	}
	return status < 0 ? status : 0;
}

/* ---- The end ---------------------------------------------------------------------------------- */

static int end(struct recorder *recorder)
{
	int status = set_tracing(recorder, 0);

	if (status == 0 && recorder->config->snapshot && !recorder->result->nsnapshots && recorder->has_pt) {
		status = recorder_snapshot(recorder);
		recorder->result->nsnapshots = 1;
	}
	if (status == 0)
		status = recorder_enable(recorder, live_role_cgroup, 0);
	if (status == 0)
		status = recorder_enable(recorder, live_role_sideband, 0);
	if (status == 0)
		status = recorder_drain(recorder);
	return status == 0 ? recorder_account(recorder) : status;
}

/* When records were lost, mappings may be among these. */
static void tell_escaped(struct recorder *recorder)
{
	struct recorder_execs *execs = &recorder->execs;

	recorder_judge_execs(execs, 1);
	if (execs->nescaped && !recorder->tally.lost && sideband_is_of_targets(recorder))
		recorder_note(
		        recorder,
		        "programs with privileges of their own (set-user-ID), of which the kernel tells us "
		        "no more: %zu (the first: %s)",
		        execs->nescaped, execs->first);
}

/* The recording is whole by now, and nobody is in a hurry but who says "quit" once more. */
static void stop_command(struct recorder *recorder)
{
	struct live_command *command = &recorder->command;
	const uint64_t begun = now();
	int told = 0;

	live_command_stop(command, SIGTERM);
	while (!live_command_ended(command, 0)) {
		char unknown[live_control_line];
		struct pollfd fds[live_control_sources];

		for (int i = 0; i < live_control_sources; ++i)
			fds[i] = (struct pollfd){.fd = recorder->control.source[i].fd, .events = POLLIN};
		poll(fds, live_control_sources, wait_ms / 10);
		if (live_control_next(&recorder->control, unknown) == live_order_quit)
			live_command_stop(command, SIGKILL);
		if (!told && now() - begun >= patience_ns) {
			recorder_note(recorder,
			              "the command does not end, and is waited for; another Ctrl-C, "
			              "or \"quit\", kills it");
			told = 1;
		}
	}
	recorder->result->exit_status = command->status;
}

static int fini(struct recorder *recorder, int status)
{
	live_events_fini(&recorder->events);
	live_state_fini(&recorder->state);
	live_bpf_fini(&recorder->bpf);
	status = recorder_settle_output(recorder, status);
	stop_command(recorder);
	live_control_close(&recorder->control);
	if (recorder->has_raised_limit)
		file_limit_restore();
	return status;
}

int sb_recorder_run(const struct sb_recorder_config *config, char *const argv[],
                    struct sb_recorder_result *result, struct sb_error *err)
{
	struct sb_recorder_result nobodys_result;
	struct sb_error nobodys_error;
	struct recorder recorder = {.config = config,
	                            .proc = config && config->proc ? config->proc : "/proc",
	                            .sysfs = config && config->sysfs ? config->sysfs : "/sys",
	                            .result = result ? result : &nobodys_result,
	                            .err = err ? err : &nobodys_error,
	                            .lock = -1,
	                            .events = {.targets = {.cgroup = -1}},
	                            .command = {.go = -1, .failed = -1},
	                            .control = {.source = {{.fd = -1}, {.fd = -1}}, .writer = -1}};
	int status;

	live_bpf_init(&recorder.bpf);
	*recorder.result = (struct sb_recorder_result){0};
	*recorder.err = (struct sb_error){0};
	if (!config)
		return sb_error_set(recorder.err, -sbe_invalid, NULL, UINT64_MAX,
		                    "sb_recorder_run: no configuration");
	status = check(&recorder, argv);
	if (status == 0)
		status = recorder_name_output(&recorder);
	if (status == 0)
		status = begin(&recorder, argv);
	recorder.has_begun = status == 0;
	if (status == 0)
		status = run(&recorder);
	if (status == 0)
		status = end(&recorder);
	fill_result(&recorder);
	tell_escaped(&recorder);
	if (status == 0) {
		recorder.writer->build_ids = recorder.state.build_ids;
		recorder.writer->build_ids_size = recorder.state.build_ids_size;
		status = sb_writer_complete(recorder.writer, recorder.err);
	}
	if (status == 0) {
		status = sb_writer_close(recorder.writer, recorder.err);
		recorder.writer = NULL;
	}
	return fini(&recorder, status);
}
