/* cmd_bundle.c - `sbtrace bundle`: collects the files that a replay of a recording needs. */
#include "commands.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <sb/bundle.h>

#include "job/job.h"
#include "options.h"
#include "tell.h"

struct bundle_command {
	struct job job; /* first: the target of the options for files */
	const char *output;
	bool with_recording, quiet;
};

static int take_output(void *target, const char *value, struct option_error *error)
{
	if (!*value)
		return option_fail(error, "a directory's name is empty");
	((struct bundle_command *)target)->output = value;
	return 0;
}

static int take_with_recording(void *target, const char *value, struct option_error *error)
{
	(void)value;
	(void)error;
	((struct bundle_command *)target)->with_recording = true;
	return 0;
}

static int take_quiet(void *target, const char *value, struct option_error *error)
{
	(void)value;
	(void)error;
	((struct bundle_command *)target)->quiet = true;
	return 0;
}

static int take_recording(void *target, const char *value, struct option_error *error)
{
	return job_set_recording(target, value, error);
}

static const struct option_row rows[] = {
        {"output", 'o', "DIR", "the bundle: a new directory, or a bundle to add to (required)", take_output},
        {"with-recording", 0, NULL, "put the recording into the bundle, too", take_with_recording},
        FILE_OPTION_ROWS,
        KERNEL_OPTION_ROWS,
        {"quiet", 'q', NULL, "do not say what was collected", take_quiet},
};

static const struct option_table options = {
        .command = "sbtrace bundle",
        .usage = "-o DIR [OPTIONS] RECORDING",
        .about =
                "Collects what a replay of RECORDING needs - every mapped file that can be found, the vdso, the\n"
                "kernel's code - so that it can be replayed elsewhere: sbtrace replay --bundle DIR RECORDING.\n",
        .row = rows,
        .nrows = sizeof(rows) / sizeof(rows[0]),
        .operand = take_recording,
};

/* Set by the signals that ask to end. */
static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
	interrupted = number;
}

static int is_interrupted(void *context)
{
	(void)context;
	return interrupted != 0;
}

static void tell_missing(void *context, const char *path, const char *detail)
{
	const struct bundle_command *command = context;

	(void)path;
	if (!command->quiet)
		fprintf(stderr, "sbtrace bundle: missing: %s\n", detail);
}

static int tell_doubt(void *context, const char *text)
{
	(void)context;
	tell_note(options.command, text);
	return 0;
}

static void report(const struct bundle_command *command, const struct sb_bundle_result *result)
{
	if (command->quiet)
		return;
	fprintf(stderr,
	        "sbtrace bundle: %" PRIu64 " files, %" PRIu64 " missing; %" PRIu64 " copied, %" PRIu64
	        " bytes: %s\n",
	        result->nfiles, result->nmissing, result->ncopied, result->ncopied_bytes, command->output);
}

static int write_bundle(struct bundle_command *command, struct sb_error *err)
{
	const struct sb_bundle_options bundle = {.size = sizeof(bundle),
	                                         .directory = command->output,
	                                         .with_recording = command->with_recording,
	                                         .stop = is_interrupted,
	                                         .kcore = command->job.file[job_kcore],
	                                         .vmlinux = command->job.file[job_vmlinux],
	                                         .kallsyms = command->job.file[job_kallsyms],
	                                         .missing = tell_missing,
	                                         .context = command};
	struct sb_bundle_result result = {0};
	struct sb_perfdata *perfdata = NULL;
	struct sb_resolver *resolver = NULL;
	int code = sb_perfdata_open(&perfdata, command->job.recording, err);

	if (!code && sb_perfdata_damage(perfdata))
		tell(options.command, "warning: ", sb_perfdata_damage(perfdata));
	if (!code)
		code = job_open_resolver(&command->job.files, &resolver, err);
	if (!code)
		code = sb_bundle_write(perfdata, resolver, &bundle, &result, err);
	if (!code) {
		if (!command->quiet)
			sb_resolver_doubts(resolver, tell_doubt, NULL);
		report(command, &result);
	}
	sb_resolver_free(resolver);
	sb_perfdata_close(perfdata);
	return code;
}

static int complain(const char *what)
{
	fprintf(stderr, "sbtrace bundle: %s\nTry 'sbtrace bundle --help'.\n", what);
	return exit_usage;
}

int cmd_bundle(int argc, char **argv)
{
	const struct sigaction action = {.sa_handler = interrupt};
	struct bundle_command command = {0};
	struct sb_error err = {0};
	int status = exit_fine;

	switch (options_parse(&options, argc, argv, &command, NULL)) {
	case options_help:
		return exit_fine;
	case options_wrong:
		job_free(&command.job);
		return exit_usage;
	default:
		break;
	}
	if (!command.job.recording || !command.output) {
		status = complain(command.output ? "which recording?" : "where to? -o DIR");
	} else {
		sigaction(SIGINT, &action, NULL);
		sigaction(SIGTERM, &action, NULL);
		sigaction(SIGHUP, &action, NULL);
		if (write_bundle(&command, &err)) {
			tell(options.command, "", &err);
			status = exit_error;
		}
	}
	job_free(&command.job);
	return status;
}
