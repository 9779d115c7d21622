/* slurm_queue.c - see slurm_queue.h. */
#include "cluster/slurm_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/run_command.h"
#include "vector.h"

void slurm_queue_free(struct slurm_queue *queue)
{
	free(queue->task);
	*queue = (struct slurm_queue){0};
}

enum slurm_phase slurm_phase_of(const struct slurm_task *task)
{
	static const char *const ended[] = {"BOOT_FAIL", "CANCELLED",     "COMPLETED", "DEADLINE", "FAILED",
	                                    "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED",  "TIMEOUT"};
	static const char *const waits[] = {"PENDING",      "REQUEUED",      "REQUEUE_FED",
	                                    "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"};

	for (size_t i = 0; i < sizeof(ended) / sizeof(ended[0]); i++)
		if (!strcmp(task->state, ended[i]))
			return slurm_ended;
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		if (!strcmp(task->state, waits[i]))
			return slurm_waits;
	return slurm_runs;
}

/* ---- What they print -------------------------------------------------------------------------- */

/* "12_3|RUNNING", "12|CANCELLED by 0"; what looks otherwise, such as the steps of a job, is left out. */
static bool parse_task(const char *line, struct slurm_task *task)
{
	int length = 0;

	*task = (struct slurm_task){.index = -1};
	if (sscanf(line, "%23[0-9]%n", task->job, &length) != 1)
		return false;
	line += length;
	if (*line == '_') {
		char *end;

		task->index = strtol(line + 1, &end, 10);
		if (end == line + 1)
			return false;
		line = end;
	}
	return *line == '|' && sscanf(line + 1, "%23[A-Z_]", task->state) == 1;
}

static int by_task(const void *a, const void *b)
{
	const struct slurm_task *left = a, *right = b;
	const int jobs = strcmp(left->job, right->job);

	return jobs ? jobs : (left->index > right->index) - (left->index < right->index);
}

const struct slurm_task *slurm_queue_find(const struct slurm_queue *queue, const char *job, long index)
{
	struct slurm_task wanted = {.index = index};

	snprintf(wanted.job, sizeof(wanted.job), "%s", job);
	return queue->count ? bsearch(&wanted, queue->task, queue->count, sizeof(wanted), by_task) : NULL;
}

/* Adds what is not known yet. @text is changed. */
static int add_lines(struct slurm_queue *queue, char *text, struct sb_error *err)
{
	const size_t nknown = queue->count;
	size_t room = nknown;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		const struct slurm_queue known = {queue->task, nknown};
		struct slurm_task task;

		if (!parse_task(line, &task) || slurm_queue_find(&known, task.job, task.index))
			continue;
		if (vector_reserve(&queue->task, &room, queue->count, sizeof(task)))
			return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
		queue->task[queue->count++] = task;
	}
	if (queue->count)
		qsort(queue->task, queue->count, sizeof(queue->task[0]), by_task);
	return 0;
}

/* ---- Asking ----------------------------------------------------------------------------------- */

/* squeue also fails for a single job that it has forgotten. Then it must answer about jobs of ours at all:
 * else Slurm is down, and nobody knows what runs. */
static int ask_squeue(struct slurm_queue *queue, const char *jobs, struct sb_error *err)
{
	const char *const argv[] = {"squeue",         "--noheader", "--array", "--states=all",
	                            "--format=%i|%T", "--jobs",     jobs,      NULL};
	const char *const any[] = {"squeue", "--noheader", "--me", "--format=%i", NULL};
	char *text;
	int status = run_command(argv, true, &text, err);

	if (status > 0) {
		free(text);
		status = run_command(any, false, &text, err);
		if (status > 0)
			status = sb_error_set(err, -sbe_io, "squeue", UINT64_MAX,
			                      "does not know what runs: exit status %d", status);
	} else if (!status) {
		status = add_lines(queue, text, err);
	}
	free(text);
	return status;
}

/* Without accounting there is nothing to be known. */
static int ask_sacct(struct slurm_queue *queue, const char *jobs, struct sb_error *err)
{
	const char *const argv[] = {
	        "sacct",  "--noheader", "--parsable2", "--allocations", "--format=JobID,State",
	        "--jobs", jobs,         NULL};
	struct sb_error ignored = {0};
	char *text;
	const int status = run_command(argv, true, &text, &ignored);
	const int code = status ? 0 : add_lines(queue, text, err);

	free(text);
	return code;
}

int slurm_queue_read(struct slurm_queue *queue, const char *const *job, size_t njobs, struct sb_error *err)
{
	char *jobs = NULL;
	size_t size;
	FILE *file = open_memstream(&jobs, &size);
	int code = 0;

	*queue = (struct slurm_queue){0};
	for (size_t i = 0; file && i < njobs; i++)
		fprintf(file, "%s%s", i ? "," : "", job[i]);
	if (!file || fclose(file))
		code = sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	if (!code && njobs)
		code = ask_squeue(queue, jobs, err);
	if (!code && njobs)
		code = ask_sacct(queue, jobs, err);
	free(jobs);
	return code;
}
