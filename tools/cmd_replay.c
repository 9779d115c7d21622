/* cmd_replay.c - `sbtrace replay`: from a recording, or a job that names some, to the sinks.
 *
 * The command line fills a job just as a YAML file does; given both, the command line wins. */
#include "commands.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>

#include "interrupt.h"
#include "job/job_run.h"
#include "job/job_targets.h"
#include "replay_options.h"
#include "tell.h"

static int replay_all(struct replay_command *command, int *status, struct sb_error *err)
{
	int code = replay_command_read(command, err);

	if (!code)
		code = command->job.path ? job_check(&command->job, err)
		                         : job_targets_check_all(&command->job, err);
	return code ? code : job_run(&command->job, &command->options, status, err);
}

int cmd_replay(int argc, char **argv)
{
	const struct option_table options = {
	        .command = "sbtrace replay",
	        .usage = "[OPTIONS] RECORDING|JOB.yaml",
	        .about =
	                "What every process executed: replays a recording of Intel PT (a perf.data file or directory,\n"
	                "\"-\" for one from standard input, or a directory of cpuN.pt and cpuN.pevent files), or the\n"
	                "job that JOB.yaml describes.\n",
	        .row = replay_option_rows,
	        .nrows = nreplay_option_rows,
	        .operand = replay_take_recording,
	        .help_more = sink_types_help,
	};
	struct replay_command command = {.options = {.command = options.command, .ends = true}};
	enum options_result result = options_parse(&options, argc, argv, &command, NULL);
	struct option_error wrong;
	struct sb_error err = {0};
	int status = exit_fine;

	if (result == options_done && replay_command_check(&command, &wrong)) {
		fprintf(stderr, "sbtrace replay: %s\nTry 'sbtrace replay --help'.\n", wrong.why);
		result = options_wrong;
	}
	if (result != options_done) {
		replay_command_free(&command);
		return result == options_help ? exit_fine : exit_usage;
	}
	/* Threads that grow their heaps by a page at a time wait for each other in the kernel. */
	mallopt(M_TOP_PAD, 1 << 20);
	/* A reader who goes away is seen as EPIPE, by the output that he read. */
	signal(SIGPIPE, SIG_IGN);
	if (replay_all(&command, &status, &err)) {
		tell(options.command, "", &err);
		status = exit_error;
	}
	replay_command_free(&command);
	interrupt_end();
	return status;
}
