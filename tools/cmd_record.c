/* cmd_record.c - sbtrace record --software: runs a command and writes what Intel PT would have said. */
#include "commands.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include <sb/software_tracer.h>

#include "options.h"

struct record_options {
	struct sb_software_tracer_config config;
	bool software, quiet;
};

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
	(void)error;
	((struct record_options *)target)->config.output = value;
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

static const struct option_row rows[] = {
        {"software", 0, NULL, "without Intel PT: trace the command step by step (required)", take_software},
        {"output", 'o', "FILE", "where to write the recording (perf.data)", take_output},
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
        {"quiet", 'q', NULL, "do not say how it went", take_quiet},
};

static const struct option_table options_table = {
        .command = "sbtrace record",
        .usage = "--software -o FILE [OPTIONS] -- COMMAND [ARGUMENTS]",
        .about = "Runs COMMAND and records what it and all its children execute in user space, as\n"
                 "`perf record -a -e intel_pt//u` would on a machine with Intel PT and so many CPUs.\n",
        .row = rows,
        .nrows = sizeof(rows) / sizeof(rows[0]),
        .stop_at_operand = true,
};

static void report(const struct record_options *options, const struct sb_software_tracer_result *result)
{
	if (options->quiet)
		return;
	fprintf(stderr,
	        "sbtrace record: %" PRIu64 " instructions (%" PRIu64 " lost), %" PRIu32 " processes, %" PRIu32
	        " threads, %" PRIu64 " switches, %" PRIu64 " bytes of trace: %s\n",
	        result->ninsn, result->nlost, result->nprocesses, result->nthreads, result->nswitches,
	        result->trace_bytes, options->config.output);
}

/* As a shell has it. */
static int exit_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int complain(const char *what)
{
	fprintf(stderr, "sbtrace record: %s\nTry 'sbtrace record --help'.\n", what);
	return exit_usage;
}

int cmd_record(int argc, char **argv)
{
	struct record_options options = {.config = {.size = sizeof(options.config), .ncpus = 1}};
	struct sb_software_tracer_result result;
	struct sb_error error = {0};
	char text[1024];
	int rest = argc;

	switch (options_parse(&options_table, argc, argv, &options, &rest)) {
	case options_help:
		return exit_fine;
	case options_wrong:
		return exit_usage;
	default:
		break;
	}
	if (!options.software)
		return complain("--software is required: hardware cannot be asked yet");
	if (!options.config.output)
		return complain("where to? -o FILE");
	if (rest >= argc)
		return complain("which command? -- COMMAND [ARGUMENTS]");
	if (sb_software_trace(&options.config, argv + rest, &result, &error) < 0) {
		fprintf(stderr, "sbtrace record: %s\n", sb_error_string(&error, text, sizeof(text)));
		return exit_error;
	}
	report(&options, &result);
	return exit_status(result.exit_status);
}
