/* record_live.c - see record_live.h. Signals become lines on the recorder's control: nothing is half done
 * when they come.
 */
#include "record_live.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "old_recording.h"
#include "tell.h"

static const char name[] = "sbtrace record";

const char *record_live_option(const struct record_live *live)
{
	const struct sb_recorder_config *config = &live->config;
	const struct {
		bool given;
		const char *name;
	} option[] = {
	        {live->nevents != 0, "--event"},
	        {live->sideband_only, "--sideband-only"},
	        {config->everybody, "--all-cpus"},
	        {live->npids != 0, "--pid"},
	        {live->ntids != 0, "--tid"},
	        {config->cgroup != NULL, "--cgroup"},
	        {config->ring_size != 0, "--ring"},
	        {config->aux_size != 0, "--aux"},
	        {config->snapshot, "--snapshot"},
	        {config->paused, "--paused"},
	        {config->time_limit != 0, "--time"},
	        {config->size_limit != 0, "--size"},
	        {config->control != NULL, "--control"},
	        {config->kcore, "--kcore"},
	        {live->bundle != NULL, "--bundle"},
	        {config->sysfs != NULL, "--sysfs"},
	        {config->proc != NULL, "--proc"},
	};

	for (size_t i = 0; i < sizeof(option) / sizeof(option[0]); i++)
		if (option[i].given)
			return option[i].name;
	return NULL;
}

void record_live_free(struct record_live *live)
{
	for (size_t i = 0; i < live->nevents; i++)
		free(live->event[i]);
	free(live->event);
	free(live->pid);
	free(live->tid);
}

/* ---- Signals ---------------------------------------------------------------------------------- */

static volatile sig_atomic_t control_fd = -1;

static void send_line(int number)
{
	static const char quit[] = "quit\n", snapshot[] = "snapshot\n";
	const int fd = control_fd;
	ssize_t sent;

	if (number == SIGUSR2)
		sent = write(fd, snapshot, sizeof(snapshot) - 1);
	else
		sent = write(fd, quit, sizeof(quit) - 1);
	(void)sent; /* a full pipe has more than enough of them */
}

static int watch_signals(int control[2])
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR2};
	const struct sigaction action = {.sa_handler = send_line, .sa_flags = SA_RESTART};
	struct sigaction before;

	if (pipe2(control, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	control_fd = control[1];
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		sigaction(numbers[i], NULL, &before);
		if (before.sa_handler != SIG_IGN) /* nohup(1) */
			sigaction(numbers[i], &action, NULL);
	}
	return 0;
}

/* ---- Telling ---------------------------------------------------------------------------------- */

static void note(void *context, const char *text)
{
	const struct record_live *live = context;

	if (live->quiet)
		return;
	progress_clear(&live->progress);
	tell_note(name, text);
}

static void on_progress(void *context, const struct sb_recorder_result *so_far)
{
	struct record_live *live = context;
	char text[160];
	int size = snprintf(text, sizeof(text), "%" PRIu64 " records, %" PRIu64 " lost, %.1f MB",
	                    so_far->nrecords, so_far->nlost, (double)so_far->nbytes / 1e6);

	old_recording_keep(&live->old_due);
	if (so_far->aux_bytes)
		snprintf(text + size, sizeof(text) - (size_t)size, ", %.1f MB of trace",
		         (double)so_far->aux_bytes / 1e6);
	progress_say(&live->progress, text);
}

static void report_trace(const struct sb_recorder_result *result)
{
	fprintf(stderr, "sbtrace record: %" PRIu64 " bytes of trace", result->aux_bytes);
	if (result->nsnapshots)
		fprintf(stderr, ", %" PRIu64 " snapshots", result->nsnapshots);
	if (result->aux_truncated)
		fprintf(stderr, "; %" PRIu64 " times trace was lost, as its buffer was full (--aux)",
		        result->aux_truncated);
	if (result->aux_damaged)
		fprintf(stderr, "; %" PRIu64 " times it was cut", result->aux_damaged);
	fputc('\n', stderr);
}

static void report(const struct record_live *live, const struct sb_recorder_result *result)
{
	if (live->quiet)
		return;
	if (result->aux_bytes || result->aux_truncated)
		report_trace(result);
	fprintf(stderr,
	        "sbtrace record: %" PRIu64 " records, %" PRIu64 " switches, %" PRIu64 " lost; %" PRIu64
	        " bytes: %s\n",
	        result->nrecords, result->nswitches, result->nlost, result->nbytes, live->config.output);
	if (result->nlost)
		tell_note(name, "records were lost: larger rings may help (--ring)");
}

/* How this was called. */
static char *join(int argc, char **argv)
{
	size_t size = sizeof("sbtrace");
	char *line, *end;

	for (int i = 0; i < argc; i++)
		size += strlen(argv[i]) + 1;
	line = malloc(size);
	if (!line)
		return NULL;
	end = stpcpy(line, "sbtrace");
	for (int i = 0; i < argc; i++)
		end = stpcpy(stpcpy(end, " "), argv[i]);
	return line;
}

/* ---- Recording -------------------------------------------------------------------------------- */

int record_exit_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool record_live_has_trace(const struct record_live *live)
{
	for (size_t i = 0; i < live->nevents; i++)
		if (!strncmp(live->event[i], "intel_pt/", strlen("intel_pt/")))
			return true;
	return !live->nevents && !live->sideband_only;
}

/* Intel PT is what is recorded, unless something else is said. */
static int complete(struct record_live *live)
{
	static const char *const usual[] = {"intel_pt//"};
	struct sb_recorder_config *config = &live->config;

	config->pid = live->pid;
	config->npids = live->npids;
	config->tid = live->tid;
	config->ntids = live->ntids;
	config->event = (const char *const *)live->event;
	config->nevents = live->nevents;
	if (!live->nevents && !live->sideband_only) {
		config->event = usual;
		config->nevents = 1;
	}
	if (!record_live_has_trace(live) || sb_recorder_has_pt(config->sysfs) != 0)
		return 0;
	fprintf(stderr,
	        "%s: this machine has no Intel PT; --sideband-only records who runs and what is mapped, and "
	        "--software traces a command step by step\n",
	        name);
	return -1;
}

/* As `sbtrace bundle` does. */
static int make_bundle(const struct record_live *live)
{
	char command[] = "bundle", quiet[] = "-q", output[] = "-o", files[] = "--", *words[7];
	int count = 0;

	words[count++] = command;
	if (live->quiet)
		words[count++] = quiet;
	words[count++] = output;
	words[count++] = (char *)(uintptr_t)live->bundle;
	words[count++] = files;
	words[count++] = (char *)(uintptr_t)live->config.output;
	words[count] = NULL;
	return cmd_bundle(count, words);
}

int record_live(struct record_live *live, int argc, char **argv, char *const *command)
{
	struct sb_recorder_result result;
	struct sb_error err = {0};
	int control[2], status;
	char *line;

	if (complete(live) < 0)
		return exit_error;
	if (watch_signals(control) < 0) {
		perror(name);
		return exit_error;
	}
	line = join(argc, argv);
	live->config.cmdline = line;
	live->config.control_fd = control[0];
	live->config.note = note;
	live->config.progress = on_progress;
	live->config.context = live;
	/* What the command writes would be in between. */
	progress_begin(&live->progress, NULL, live->quiet || (command && isatty(STDOUT_FILENO)),
	               live->show_progress);
	status = sb_recorder_run(&live->config, (char *const *)command, &result, &err);
	progress_end(&live->progress);
	free(line);
	if (status < 0) {
		tell(name, "", &err);
		return exit_error;
	}
	report(live, &result);
	if (live->bundle && make_bundle(live) != exit_fine)
		return exit_error;
	return result.ended_early ? exit_fine : record_exit_status(result.exit_status);
}
