/* cmd_job.c - `sbtrace job`: what can be done with a job besides replaying it. */
#include "cmd_job.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "interrupt.h"
#include "job/job_keys.h"
#include "job/job_run.h"
#include "job/job_show.h"
#include "nearest.h"
#include "output.h"
#include "replay_options.h"
#include "tell.h"

/* Each gets a job with the command line on top of it, and returns an exit status, or a negative code. */
typedef int job_action(struct replay_command *command, struct sb_error *err);

static int check(struct replay_command *command, struct sb_error *err)
{
	return job_check(&command->job, err);
}

static int show(struct replay_command *command, struct sb_error *err)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	int failed = !to || job_show(&command->job, to), code;

	failed |= to && fclose(to);
	code = failed ? sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory")
	              : output_text(NULL, text, err);
	free(text);
	return code;
}

static int run(struct replay_command *command, struct sb_error *err)
{
	int status = exit_fine, code = job_check(&command->job, err);

	command->options.ends = true;
	if (!code)
		code = job_run(&command->job, &command->options, &status, err);
	return code ? code : status;
}

static int verify(struct replay_command *command, struct sb_error *err)
{
	bool same = false;
	int code = job_check(&command->job, err);

	if (!code)
		code = job_verify(&command->job, &command->options, &same, err);
	if (code)
		return code;
	if (same)
		puts("all is the same");
	return same ? exit_fine : exit_error;
}

struct action_row {
	const char *name, *about;
	job_action *action;
	int (*command)(int argc, char **argv); /* with a command line of its own; NULL: that of replay */
};

static int print_schema(int argc, char **argv);
static int run_or_shards(int argc, char **argv);

static const struct action_row actions[] = {
        {"check", "tell what is wrong with a job, before anything runs", check, NULL},
        {"show", "the job with includes, variables and options resolved", show, NULL},
        {"run", "replay it, as sbtrace replay; with --shard, a part of a plan", run, run_or_shards},
        {"verify", "replay it again, and compare with its run record", verify, NULL},
        {"schema", "the JSON Schema of job files, for editors", NULL, print_schema},
        {"plan", "cut it into shards, for many machines", NULL, job_plan_command},
        {"merge", "write its outputs, out of the results of all shards", NULL, job_merge_command},
        {"submit", "give the shards of a plan to Slurm, or to Kubernetes", NULL, job_submit_command},
        {"status", "how far the shards of a plan are", NULL, job_status_command},
};

enum { nactions = sizeof(actions) / sizeof(actions[0]) };

static int print_schema(int argc, char **argv)
{
	static const struct option_table options = {.command = "sbtrace job schema",
	                                            .usage = "",
	                                            .about = "Prints the JSON Schema of job files.\n"};
	const enum options_result result = options_parse(&options, argc, argv, NULL, NULL);
	struct sb_error err = {0};
	json_t *schema;
	int code;

	if (result != options_done)
		return result == options_help ? exit_fine : exit_usage;
	signal(SIGPIPE, SIG_IGN);
	schema = job_schema();
	code = output_json(NULL, schema, &err);
	json_decref(schema);
	if (code)
		tell(options.command, "", &err);
	return code ? exit_error : exit_fine;
}

static int act(const struct action_row *row, int argc, char **argv)
{
	char name[32], about[128];
	const struct option_table options = {.command = name,
	                                     .usage = "[OPTIONS] JOB.yaml",
	                                     .about = about,
	                                     .row = replay_option_rows,
	                                     .nrows = nreplay_option_rows,
	                                     .operand = replay_take_recording,
	                                     .help_more = sink_types_help};
	struct replay_command command = {.options.command = name};
	struct sb_error err = {0};
	enum options_result result;
	int status;

	snprintf(name, sizeof(name), "sbtrace job %s", row->name);
	snprintf(about, sizeof(about), "%s.\n", row->about);
	result = options_parse(&options, argc, argv, &command, NULL);
	if (result == options_done && !command.job.recording) {
		fprintf(stderr, "%s: which job?\nTry '%s --help'.\n", name, name);
		result = options_wrong;
	}
	if (result != options_done) {
		replay_command_free(&command);
		return result == options_help ? exit_fine : exit_usage;
	}
	signal(SIGPIPE, SIG_IGN);
	status = replay_command_read(&command, &err);
	if (!status && !command.job.path)
		status = sb_error_set(
		        &err, -sbe_invalid, command.job.recording, UINT64_MAX,
		        "expected a job, whose name ends in .yaml or .yml; a plan is run with --shard");
	if (!status)
		status = row->action(&command, &err);
	if (status < 0) {
		tell(name, "", &err);
		status = exit_error;
	}
	replay_command_free(&command);
	interrupt_end();
	return status;
}

static int run_or_shards(int argc, char **argv)
{
	for (int i = 0; i < nactions; i++)
		if (actions[i].action == run && !job_is_shard_run(argc, argv))
			return act(&actions[i], argc, argv);
	return job_shard_run_command(argc, argv);
}

static void usage(FILE *file)
{
	fprintf(file, "usage: sbtrace job ACTION [OPTIONS] JOB.yaml\n\nactions:\n");
	for (int i = 0; i < nactions; i++)
		fprintf(file, "  %-10s %s\n", actions[i].name, actions[i].about);
	fprintf(file, "\nThe options are those of sbtrace replay.\n");
}

int cmd_job(int argc, char **argv)
{
	struct nearest nearest;

	if (argc < 2) {
		usage(stderr);
		return exit_usage;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		usage(stdout);
		return exit_fine;
	}
	nearest_begin(&nearest, argv[1]);
	for (int i = 0; i < nactions; i++) {
		if (strcmp(actions[i].name, argv[1])) {
			nearest_offer(&nearest, actions[i].name);
			continue;
		}
		return actions[i].command ? actions[i].command(argc - 1, argv + 1)
		                          : act(&actions[i], argc - 1, argv + 1);
	}
	fprintf(stderr, "sbtrace job: there is no action '%s'", argv[1]);
	if (nearest.best)
		fprintf(stderr, "; did you mean '%s'?", nearest.best);
	fprintf(stderr, "\nTry 'sbtrace job --help'.\n");
	return exit_usage;
}
