/* cmd_job_shards.c - `sbtrace job plan`, `job run --shard` and `job merge`: a job in parts, for many
 * machines. */
#include "cmd_job.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "interrupt.h"
#include "job/job_run.h"
#include "job/job_targets.h"
#include "job/shard_merge.h"
#include "job/shard_plan.h"
#include "job/shard_run.h"
#include "replay_options.h"
#include "tell.h"

struct shard_command {
	struct replay_command replay; /* first: the target of its options; plan */
	char *plan;                   /* the operand; or of plan, -o */
	char *results;
	char *shards; /* which ones are to be run */
	uint64_t nshards, jobs;
	bool again, progress, sums;
};

/* "3" or "0-7" at *@list, which goes to the next one, or becomes NULL. -1: it is neither. */
static int next_shards(const char **list, unsigned long long *first, unsigned long long *last)
{
	const char *at = *list;
	char *end;

	if (!isdigit((unsigned char)*at))
		return -1;
	*first = *last = strtoull(at, &end, 10);
	if (*end == '-' && isdigit((unsigned char)end[1]))
		*last = strtoull(end + 1, &end, 10);
	*list = *end == ',' ? end + 1 : NULL;
	return (*end && *end != ',') || *last < *first ? -1 : 0;
}

static int take_plan(void *target, const char *value, struct option_error *error)
{
	struct shard_command *command = target;

	if (command->plan)
		return option_fail(error, "there is a plan already: %s", command->plan);
	return job_set_text(&command->plan, "the plan's name", value, error);
}

static int take_output(void *target, const char *value, struct option_error *error)
{
	return job_set_text(&((struct shard_command *)target)->plan, "the plan's name", value, error);
}

static int take_results(void *target, const char *value, struct option_error *error)
{
	return job_set_text(&((struct shard_command *)target)->results, "the directory's name", value, error);
}

/* "0-3,7", or "all". */
static int take_shard(void *target, const char *value, struct option_error *error)
{
	unsigned long long first, last;
	const char *at = strcmp(value, "all") ? value : NULL;

	while (at)
		if (next_shards(&at, &first, &last))
			return option_fail(error, "expected a list of shards such as 0-7,12, found '%s'",
			                   value);
	return job_set_text(&((struct shard_command *)target)->shards, "the list", value, error);
}

static int take_nshards(void *target, const char *value, struct option_error *error)
{
	return option_number(value, 1, shards_most, &((struct shard_command *)target)->nshards, error);
}

static int take_jobs(void *target, const char *value, struct option_error *error)
{
	return option_number(value, 1, job_jobs_most, &((struct shard_command *)target)->jobs, error);
}

static int take_again(void *target, const char *value, struct option_error *error)
{
	(void)value;
	(void)error;
	((struct shard_command *)target)->again = true;
	return 0;
}

static int take_sums(void *target, const char *value, struct option_error *error)
{
	(void)value;
	(void)error;
	((struct shard_command *)target)->sums = true;
	return 0;
}

static int take_progress(void *target, const char *value, struct option_error *error)
{
	(void)value;
	(void)error;
	((struct shard_command *)target)->progress = true;
	return 0;
}

#define RESULTS_ROW                                                                                          \
	{                                                                                                    \
		"results", 0, "DIR", "the directory of the shards' results (default: PLAN.shards)",          \
		        take_results                                                                         \
	}

#define PROGRESS_ROW                                                                                         \
	{                                                                                                    \
		"progress", 0, NULL, "tell how far it is, though standard error is no terminal",             \
		        take_progress                                                                        \
	}

static const struct option_row run_rows[] = {
        {"shard", 0, "LIST", "which ones: 3, or 0-7,12, or all", take_shard},
        {"jobs", 'j', "N", "so many shards at a time (default: one for each CPU)", take_jobs},
        RESULTS_ROW,
        {"again", 0, NULL, "also shards that have a result already", take_again},
        PROGRESS_ROW,
};

static const struct option_row merge_rows[] = {
        RESULTS_ROW,
        {"sums", 0, NULL, "read the recordings once more, for their SHA-256 in the run record", take_sums},
        PROGRESS_ROW,
};

static void command_free(struct shard_command *command)
{
	replay_command_free(&command->replay);
	free(command->plan);
	free(command->results);
	free(command->shards);
}

/* Parses the command line. Negative: go on; else the exit status. */
static int parse(const struct option_table *options, int argc, char **argv, struct shard_command *command)
{
	const enum options_result result = options_parse(options, argc, argv, command, NULL);

	signal(SIGPIPE, SIG_IGN);
	return result == options_done ? -1 : result == options_help ? exit_fine : exit_usage;
}

static int usage(const char *command, const char *what)
{
	fprintf(stderr, "%s: %s\nTry '%s --help'.\n", command, what, command);
	return exit_usage;
}

/* What came of it; errors are told. */
static int conclude(struct shard_command *command, const char *name, int code, const struct sb_error *err)
{
	if (code < 0)
		tell(name, "", err);
	command_free(command);
	interrupt_end();
	return code < 0 ? exit_error : code;
}

/* ---- plan ------------------------------------------------------------------------------------- */

/* The options of replay, and those of a plan. */
static struct option_row *plan_rows(size_t *count)
{
	static const struct option_row more[] = {
	        {"output", 'o', "PLAN", "where to write the plan", take_output},
	        {"shards", 'n', "N", "cut into so many shards (default: one for each 128 MiB of trace)",
	         take_nshards},
	};
	struct option_row *rows = calloc(nreplay_option_rows + 2, sizeof(*rows));

	*count = nreplay_option_rows + 2;
	if (!rows)
		return NULL;
	memcpy(rows, more, sizeof(more));
	memcpy(rows + 2, replay_option_rows, nreplay_option_rows * sizeof(*rows));
	return rows;
}

/* That the plan, and what is beside it, are nothing that the job reads or writes. */
static int check_plan(const struct job *job, const char *plan, struct sb_error *err)
{
	char *checkpoints = shard_plan_checkpoints(plan);
	int code = checkpoints ? job_targets_check_file(job, plan, "the plan", err)
	                       : sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");

	if (!code)
		code = job_targets_check_file(job, checkpoints, "the plan", err);
	free(checkpoints);
	return code;
}

static int make_plan(struct shard_command *command, const char *name, struct sb_error *err)
{
	struct job *job = &command->replay.job;
	size_t made = 0;
	int code = replay_command_read(&command->replay, err);

	if (!code && !job->path)
		code = sb_error_set(err, -sbe_invalid, job->recording, UINT64_MAX,
		                    "expected a job, whose name ends in .yaml or .yml");
	if (!code)
		code = job_check(job, err);
	if (!code)
		code = check_plan(job, command->plan, err);
	if (!code)
		code = shard_plan_make(job, name, command->nshards, 0, command->plan, &made, err);
	if (!code && command->nshards && made < command->nshards)
		fprintf(stderr, "%s: note: there are places for %zu shards only, not for %llu\n", name, made,
		        (unsigned long long)command->nshards);
	return code;
}

int job_plan_command(int argc, char **argv)
{
	static const char name[] = "sbtrace job plan";
	struct option_table options = {
	        .command = name,
	        .usage = "[OPTIONS] JOB.yaml -o PLAN",
	        .about = "Cuts a job into shards, which sbtrace job run --shard runs.\n",
	        .operand = replay_take_recording,
	        .help_more = sink_types_help};
	struct shard_command command = {.replay.options.command = name};
	struct option_row *rows = plan_rows(&options.nrows);
	struct sb_error err = {0};
	int status;

	options.row = rows;
	status = rows ? parse(&options, argc, argv, &command) : exit_error;
	free(rows);
	if (status < 0 && !command.replay.job.recording)
		status = usage(name, "which job?");
	else if (status < 0 && !command.plan)
		status = usage(name, "where is the plan to be written (-o PLAN)?");
	if (status >= 0) {
		command_free(&command);
		return status;
	}
	return conclude(&command, name, make_plan(&command, name, &err), &err);
}

/* ---- run -------------------------------------------------------------------------------------- */

/* @list is one that take_shard() took. */
static int mark(const struct shard_plan *plan, const char *list, bool *wanted, struct sb_error *err)
{
	unsigned long long first, last;

	if (!strcmp(list, "all")) {
		memset(wanted, 1, plan->nshards);
		return 0;
	}
	for (const char *at = list; at && !next_shards(&at, &first, &last);) {
		if (last >= plan->nshards)
			return sb_error_set(err, -sbe_invalid, plan->path, UINT64_MAX,
			                    "there is no shard %llu: the last one is %zu", last,
			                    plan->nshards - 1);
		memset(wanted + first, 1, last - first + 1);
	}
	return 0;
}

static int run_shards(const struct shard_command *command, const char *name, struct sb_error *err)
{
	const struct shard_run_options options = {.command = name,
	                                          .jobs = (unsigned int)command->jobs,
	                                          .again = command->again,
	                                          .progress = command->progress};
	struct shard_plan plan;
	bool *wanted = NULL;
	int code = shard_plan_read(&plan, command->plan, command->results, err);

	if (!code) {
		wanted = calloc(plan.nshards + 1, sizeof(*wanted));
		code = wanted ? mark(&plan, command->shards, wanted, err)
		              : sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	}
	if (!code)
		code = job_take_memory(&plan.job, err);
	if (!code)
		code = shard_run(&plan, wanted, &options, err);
	free(wanted);
	shard_plan_free(&plan);
	return code;
}

bool job_is_shard_run(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (!strcmp(argv[i], "--shard") || !strncmp(argv[i], "--shard=", 8))
			return true;
	return false;
}

/* What is done with a plan that is there: as the options say, by @work. */
static int command_of_plan(const struct option_table *options, int argc, char **argv,
                           int (*work)(const struct shard_command *, const char *, struct sb_error *))
{
	const char *const name = options->command;
	struct shard_command command = {0};
	struct sb_error err = {0};
	int status = parse(options, argc, argv, &command);

	if (status < 0 && !command.plan)
		status = usage(name, "which plan?");
	if (status >= 0) {
		command_free(&command);
		return status;
	}
	return conclude(&command, name, work(&command, name, &err), &err);
}

int job_shard_run_command(int argc, char **argv)
{
	const struct option_table options = {.command = "sbtrace job run",
	                                     .usage = "PLAN --shard LIST [OPTIONS]",
	                                     .about = "Runs shards of a plan, and writes their results.\n",
	                                     .row = run_rows,
	                                     .nrows = sizeof(run_rows) / sizeof(run_rows[0]),
	                                     .operand = take_plan};

	return command_of_plan(&options, argc, argv, run_shards);
}

/* ---- merge ------------------------------------------------------------------------------------ */

static int merge_shards(const struct shard_command *command, const char *name, struct sb_error *err)
{
	struct job_run_options options = {
	        .command = name, .progress = command->progress, .ends = true, .sums = command->sums};
	struct shard_plan plan;
	int status = exit_fine, code = shard_plan_read(&plan, command->plan, command->results, err);

	if (!code)
		code = shard_merge_open(&options.merge, &plan, name, err);
	if (!code)
		code = job_run(&plan.job, &options, &status, err);
	shard_merge_close(options.merge);
	shard_plan_free(&plan);
	return code ? code : status;
}

int job_merge_command(int argc, char **argv)
{
	const struct option_table options = {
	        .command = "sbtrace job merge",
	        .usage = "PLAN [OPTIONS]",
	        .about = "Writes a job's outputs, out of the results of all shards.\n",
	        .row = merge_rows,
	        .nrows = sizeof(merge_rows) / sizeof(merge_rows[0]),
	        .operand = take_plan};

	return command_of_plan(&options, argc, argv, merge_shards);
}
