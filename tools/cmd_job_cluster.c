/* cmd_job_cluster.c - `sbtrace job submit` and `sbtrace job status`: a plan, given to a batch system. */
#include "cmd_job.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cluster/kubernetes.h"
#include "cluster/shard_states.h"
#include "cluster/slurm_submit.h"
#include "commands.h"
#include "output.h"
#include "tell.h"

struct cluster_command {
	char *plan, *results;
	bool slurm, kubernetes, dry_run; /* of submit */
	bool wait, json;                 /* of status */
	struct job_cluster cluster;      /* goes on top of what the plan says */
};

enum { seconds_between_looks = 5 };

/* ---- The command line ------------------------------------------------------------------------- */

static int take_plan(void *target, const char *value, struct option_error *error)
{
	struct cluster_command *command = target;

	if (command->plan)
		return option_fail(error, "there is a plan already: %s", command->plan);
	return job_set_text(&command->plan, "the plan's name", value, error);
}

static int take_results(void *target, const char *value, struct option_error *error)
{
	return job_set_text(&((struct cluster_command *)target)->results, "the directory's name", value,
	                    error);
}

#define FLAG(field)                                                                                          \
	static int take_##field(void *target, const char *value, struct option_error *error)                 \
	{                                                                                                    \
		(void)value;                                                                                 \
		(void)error;                                                                                 \
		((struct cluster_command *)target)->field = true;                                            \
		return 0;                                                                                    \
	}
FLAG(slurm)
FLAG(kubernetes)
FLAG(dry_run)
FLAG(wait)
FLAG(json)

static int take_time(void *target, const char *value, struct option_error *error)
{
	return job_duration_set(&((struct cluster_command *)target)->cluster.time, value, error);
}

static int take_memory(void *target, const char *value, struct option_error *error)
{
	return job_size_set(&((struct cluster_command *)target)->cluster.memory, value, error);
}

static int take_throttle(void *target, const char *value, struct option_error *error)
{
	uint64_t number;
	const int code = option_number(value, 1, job_tasks_most, &number, error);

	if (!code)
		((struct cluster_command *)target)->cluster.throttle = (unsigned int)number;
	return code;
}

static int take_partition(void *target, const char *value, struct option_error *error)
{
	if (!job_is_word(value))
		return option_fail(error, "expected the name of a partition, found '%s'", value);
	return job_set_text(&((struct cluster_command *)target)->cluster.partition, "the name", value, error);
}

#define RESULTS_ROW                                                                                          \
	{                                                                                                    \
		"results", 0, "DIR", "the directory of the shards' results (default: PLAN.shards)",          \
		        take_results                                                                         \
	}

static const struct option_row submit_rows[] = {
        {"slurm", 0, NULL, "submit it to Slurm: a job array, and a job that merges", take_slurm},
        {"kubernetes", 0, NULL, "print a manifest for Kubernetes: an Indexed Job, and one that merges",
         take_kubernetes},
        {"dry-run", 0, NULL, "print the scripts, and submit nothing", take_dry_run},
        {"time", 0, "TIME", "in place of the plan's: the most time a task may take, such as 30m", take_time},
        {"memory", 0, "SIZE", "in place of the plan's: the memory of a task, such as 4G", take_memory},
        {"throttle", 0, "N", "in place of the plan's: how many tasks run at a time", take_throttle},
        {"partition", 0, "NAME", "in place of the plan's: Slurm's partition", take_partition},
        RESULTS_ROW,
};

static const struct option_row status_rows[] = {
        {"wait", 0, NULL, "wait until all is done, or nobody is left who does it", take_wait},
        {"json", 0, NULL, "tell it as a JSON object", take_json},
        RESULTS_ROW,
};

typedef int cluster_action(struct cluster_command *command, struct shard_plan *plan, struct sb_error *err);

static int with_plan(const struct option_table *options, int argc, char **argv, cluster_action *action,
                     const char *wrong(const struct cluster_command *command))
{
	struct cluster_command command = {0};
	struct shard_plan plan = {0};
	struct sb_error err = {0};
	const enum options_result result = options_parse(options, argc, argv, &command, NULL);
	const char *why = command.plan ? wrong(&command) : "which plan?";
	int status = result == options_help ? exit_fine : exit_usage;

	signal(SIGPIPE, SIG_IGN);
	if (result == options_done && why)
		fprintf(stderr, "%s: %s\nTry '%s --help'.\n", options->command, why, options->command);
	if (result == options_done && !why) {
		status = shard_plan_read(&plan, command.plan, command.results, &err);
		if (!status)
			status = action(&command, &plan, &err);
		if (status < 0) {
			tell(options->command, "", &err);
			status = exit_error;
		}
		shard_plan_free(&plan);
	}
	free(command.plan);
	free(command.results);
	job_cluster_free(&command.cluster);
	return status;
}

/* ---- submit ----------------------------------------------------------------------------------- */

static const char *wrong_submit(const struct cluster_command *command)
{
	return command->slurm != command->kubernetes ? NULL : "where to: --slurm or --kubernetes?";
}

static void put_over(struct job_cluster *cluster, struct job_cluster *over)
{
	if (over->time)
		cluster->time = over->time;
	if (over->memory)
		cluster->memory = over->memory;
	if (over->throttle)
		cluster->throttle = over->throttle;
	if (over->partition) {
		free(cluster->partition);
		cluster->partition = over->partition;
		over->partition = NULL;
	}
}

/* As many shards in a task as it has CPUs, or as are needed to have few enough tasks. */
static struct tasks tasks_of_plan(const struct shard_plan *plan, unsigned int cpus)
{
	const size_t most = plan->job.cluster.tasks ? plan->job.cluster.tasks : job_tasks_default;
	const size_t enough = (plan->nshards + cpus - 1) / cpus;

	return tasks_of(plan->nshards, enough < most ? enough : most);
}

/* Those that nobody has done, does or will do. */
static int choose(struct batch *batch, const struct shard_states *states, struct sb_error *err)
{
	bool *wanted = calloc(states->nshards + 1, sizeof(*wanted));

	batch->task = calloc(batch->tasks.ntasks + 1, sizeof(*batch->task));
	if (!wanted || !batch->task) {
		free(wanted);
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	}
	for (size_t i = 0; i < states->nshards; i++)
		wanted[i] = states->shard[i].progress == shard_fails ||
		            states->shard[i].progress == shard_is_open;
	batch->ntasks = tasks_wanted(&batch->tasks, wanted, batch->task);
	free(wanted);
	return 0;
}

static int submit_to_slurm(const struct cluster_command *command, const struct batch *batch,
                           struct shard_states *states, struct sb_error *err)
{
	const bool merges = states->merge && slurm_phase_of(states->merge) != slurm_ended;

	if (!batch->ntasks && merges) {
		printf("nothing to be submitted: %zu of %zu shards are done, the merge is job %s\n",
		       states->count[shard_is_done], states->nshards, states->merge->job);
		return exit_fine;
	}
	return command->dry_run ? slurm_print(stdout, batch, err) : slurm_submit(batch, states, err);
}

/* Nodes have this program where this machine has it; images, in PATH. */
static int submit(struct cluster_command *command, struct shard_plan *plan, struct sb_error *err)
{
	char itself[4096] = "sbtrace";
	struct batch batch = {.plan = plan, .sbtrace = itself};
	struct shard_states states = {0};
	ssize_t length;
	int code;

	put_over(&plan->job.cluster, &command->cluster);
	batch.tasks = tasks_of_plan(plan, batch_cpus(&batch));
	if (command->slurm) {
		length = readlink("/proc/self/exe", itself, sizeof(itself) - 1);
		snprintf(itself + (length > 0 ? length : 0),
		         sizeof(itself) - (size_t)(length > 0 ? length : 0), "%s",
		         length > 0 ? "" : "sbtrace");
	}
	code = shard_states_read(&states, plan, err);
	if (!code)
		code = choose(&batch, &states, err);
	if (!code && command->kubernetes)
		code = kubernetes_print(&batch, err);
	else if (!code)
		code = submit_to_slurm(command, &batch, &states, err);
	free(batch.task);
	shard_states_free(&states);
	return code;
}

int job_submit_command(int argc, char **argv)
{
	static const struct option_table options = {
	        .command = "sbtrace job submit",
	        .usage = "--slurm|--kubernetes [OPTIONS] PLAN",
	        .about = "Gives a batch system those shards of a plan that have no result, and the merge.\n",
	        .row = submit_rows,
	        .nrows = sizeof(submit_rows) / sizeof(submit_rows[0]),
	        .operand = take_plan};

	return with_plan(&options, argc, argv, submit, wrong_submit);
}

/* ---- status ----------------------------------------------------------------------------------- */

static const char *wrong_status(const struct cluster_command *command)
{
	(void)command;
	return NULL;
}

/* "12_3", or "12". */
static json_t *task_name(const struct slurm_task *task)
{
	return task->index < 0 ? json_string(task->job) : json_sprintf("%s_%ld", task->job, task->index);
}

static json_t *status_value(const struct shard_states *states)
{
	json_t *root = json_pack("{s:I}", "shards", (json_int_t)states->nshards), *rest = json_array();

	for (int i = 0; i < shard_progresses; i++)
		json_object_set_new(root, shard_progress_name[i], json_integer((json_int_t)states->count[i]));
	for (size_t i = 0; i < states->nshards; i++) {
		const struct shard_status *shard = &states->shard[i];
		json_t *value;

		if (shard->progress == shard_is_done)
			continue;
		value = json_pack("{s:I, s:s, s:s*, s:s*}", "shard", (json_int_t)i, "state",
		                  shard_progress_name[shard->progress], "slurm",
		                  shard->task ? shard->task->state : NULL, "result", shard->why);
		if (shard->task)
			json_object_set_new(value, "job", task_name(shard->task));
		json_array_append_new(rest, value);
	}
	json_object_set_new(root, "unfinished", rest);
	if (states->merge)
		json_object_set_new(
		        root, "merge",
		        json_pack("{s:s, s:s}", "job", states->merge->job, "slurm", states->merge->state));
	return root;
}

static int print_json(const struct shard_states *states, struct sb_error *err)
{
	json_t *value = status_value(states);
	const int code = output_json(NULL, value, err);

	json_decref(value);
	return code;
}

/* Each shard that needs somebody, and how many there are of all kinds. */
static void print_text(const struct shard_states *states)
{
	const char *between = "";

	for (size_t i = 0; i < states->nshards; i++) {
		const struct shard_status *shard = &states->shard[i];

		if (shard->progress != shard_fails)
			continue;
		printf("shard %zu: %s", i, shard->why ? shard->why : "no result");
		if (shard->task)
			printf(" (Slurm's job %s_%ld: %s)", shard->task->job, shard->task->index,
			       shard->task->state);
		putchar('\n');
	}
	printf("%zu %s: ", states->nshards, states->nshards == 1 ? "shard" : "shards");
	for (int i = 0; i < shard_progresses; i++) {
		if (!states->count[i])
			continue;
		printf("%s%zu %s", between, states->count[i], shard_progress_name[i]);
		between = ", ";
	}
	putchar('\n');
	if (states->merge)
		printf("merge: Slurm's job %s: %s\n", states->merge->job, states->merge->state);
}

/* What is to be said by the exit status. Without Slurm's word, whoever waits believes that somebody is at
 * work. */
static int conclusion(const struct shard_states *states, bool waiting)
{
	const bool done = states->count[shard_is_done] == states->nshards;

	if (!done && (shard_states_busy(states) || (waiting && !states->submissions.count)))
		return exit_unfinished;
	if (!done || !states->merge)
		return done ? exit_fine : exit_error;
	if (slurm_phase_of(states->merge) != slurm_ended)
		return exit_unfinished;
	return strcmp(states->merge->state, "COMPLETED") != 0 ? exit_error : exit_fine;
}

static int status(struct cluster_command *command, struct shard_plan *plan, struct sb_error *err)
{
	struct shard_states states;
	int code = shard_states_read(&states, plan, err), result;

	while (!code && command->wait && conclusion(&states, true) == exit_unfinished) {
		shard_states_free(&states);
		sleep(seconds_between_looks);
		code = shard_states_read(&states, plan, err);
	}
	if (!code && command->json)
		code = print_json(&states, err);
	else if (!code)
		print_text(&states);
	result = conclusion(&states, false);
	shard_states_free(&states);
	return code ? code : result;
}

int job_status_command(int argc, char **argv)
{
	static const struct option_table options = {.command = "sbtrace job status",
	                                            .usage = "[OPTIONS] PLAN",
	                                            .about = "How far the shards of a plan are.\n",
	                                            .row = status_rows,
	                                            .nrows = sizeof(status_rows) / sizeof(status_rows[0]),
	                                            .operand = take_plan};

	return with_plan(&options, argc, argv, status, wrong_status);
}
