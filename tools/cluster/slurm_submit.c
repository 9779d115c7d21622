/* slurm_submit.c - see slurm_submit.h. The merge depends on the end of all tasks, whatever came of them: it
 * finds out itself what is missing, and says so. */
#include "cluster/slurm_submit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cluster/run_command.h"
#include "output.h"

static int out_of_memory(struct sb_error *err)
{
	return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
}

/* ---- Scripts ---------------------------------------------------------------------------------- */

/* A value in a line of #SBATCH: sbatch takes quotes and backslashes there as a shell does, and % for what it
 * fills in.
 */
static void print_path(FILE *file, const char *path)
{
	for (; *path; path++) {
		if (strchr("\"\\", *path))
			putc('\\', file);
		if (*path == '%')
			putc('%', file);
		putc(*path, file);
	}
}

/* @log: the file's name in the results' directory. */
static void print_head(FILE *file, const struct batch *batch, const char *name, const char *log)
{
	const struct job_cluster *cluster = &batch->plan->job.cluster;

	fprintf(file,
	        "#!/bin/sh\n# Written by sbtrace job submit.\n#SBATCH --job-name=%s\n#SBATCH --output=\"",
	        name);
	print_path(file, batch->plan->results);
	fprintf(file, "/%s\"\n#SBATCH --open-mode=append\n", log);
	if (cluster->partition)
		fprintf(file, "#SBATCH --partition=%s\n", cluster->partition);
	if (cluster->account)
		fprintf(file, "#SBATCH --account=%s\n", cluster->account);
	if (cluster->time)
		fprintf(file, "#SBATCH --time=%" PRIu64 "\n", (cluster->time + 59) / 60);
	if (cluster->memory)
		fprintf(file, "#SBATCH --mem=%" PRIu64 "M\n", (cluster->memory + (1 << 20) - 1) >> 20);
	for (size_t i = 0; i < cluster->options.count; i++)
		fprintf(file, "#SBATCH %s\n", cluster->options.value[i]);
}

/* A node that dies takes its tasks with it: they are queued again. */
static void print_array(FILE *file, const struct batch *batch, const char *ranges)
{
	const unsigned int throttle = batch->plan->job.cluster.throttle;

	print_head(file, batch, "sbtrace", "slurm-%A_%a.log");
	fprintf(file, "#SBATCH --requeue\n#SBATCH --cpus-per-task=%u\n#SBATCH --array=%s", batch_cpus(batch),
	        ranges);
	if (throttle)
		fprintf(file, "%%%u", throttle);
	fputs("\n\n", file);
	batch_print_shards(file, batch, "$SLURM_ARRAY_TASK_ID");
}

static void print_merge(FILE *file, const struct batch *batch)
{
	print_head(file, batch, "sbtrace-merge", "slurm-merge-%j.log");
	fputs("#SBATCH --requeue\n\n", file);
	batch_print_merge(file, batch);
}

/* To be freed. NULL: no memory. */
static char *script(const struct batch *batch, bool merge)
{
	char *text = NULL, *ranges = merge ? NULL : tasks_ranges(batch->task, batch->tasks.ntasks);
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (file && merge)
		print_merge(file, batch);
	else if (file && ranges)
		print_array(file, batch, ranges);
	free(ranges);
	if (file && !fclose(file) && text && *text)
		return text;
	free(text);
	return NULL;
}

int slurm_print(FILE *file, const struct batch *batch, struct sb_error *err)
{
	char *array = batch->ntasks ? script(batch, false) : NULL, *merge = script(batch, true);
	const int code = merge && (array || !batch->ntasks) ? 0 : out_of_memory(err);

	if (!code && array)
		fprintf(file, "# sbatch --parsable shards.sbatch\n%s\n", array);
	if (!code)
		fprintf(file, "# sbatch --parsable %smerge.sbatch\n%s",
		        array ? "--dependency=afterany:ARRAY " : "", merge);
	free(array);
	free(merge);
	return code;
}

/* ---- Submitting ------------------------------------------------------------------------------- */

static int write_script(const struct batch *batch, bool merge, const char *path, struct sb_error *err)
{
	char *text = script(batch, merge);
	const int code = text ? output_text(path, text, err) : out_of_memory(err);

	free(text);
	return code;
}

/* The job's number, of "12" or "12;cluster"; to be freed. */
static int sbatch(const char *path, const char *dependency, char **job, struct sb_error *err)
{
	const char *const argv[] = {"sbatch", "--parsable", dependency ? dependency : path,
	                            dependency ? path : NULL, NULL};
	const int status = run_command(argv, false, job, err);

	if (status < 0)
		return status;
	(*job)[strspn(*job, "0123456789")] = '\0';
	if (!status && **job)
		return 0;
	free(*job);
	*job = NULL;
	return sb_error_set(err, -sbe_io, path, UINT64_MAX, "was not submitted: sbatch ends with status %d",
	                    status);
}

static char *script_path(const struct batch *batch, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", batch->plan->results, name) < 0 ? NULL : path;
}

static int submit_array(const struct batch *batch, struct submissions *submissions, struct sb_error *err)
{
	char *path = script_path(batch, "shards.sbatch"), *job = NULL;
	int code = path ? write_script(batch, false, path, err) : out_of_memory(err);

	if (!code)
		code = sbatch(path, NULL, &job, err);
	if (!code)
		code = submissions_add(submissions, job, batch->tasks.per_task, err);
	if (!code)
		printf("%zu %s: job %s\n", batch->ntasks, batch->ntasks == 1 ? "task" : "tasks", job);
	free(path);
	free(job);
	return code;
}

static bool is_alive(const struct shard_states *states, const char *job)
{
	for (size_t i = 0; i < states->queue.count; i++)
		if (!strcmp(states->queue.task[i].job, job) &&
		    slurm_phase_of(&states->queue.task[i]) != slurm_ended)
			return true;
	return false;
}

/* "--dependency=afterany:12:13": the last array, if it is new, and those before it that are not at their end.
 * "": there are none. */
static char *dependency(const struct shard_states *states, bool is_new)
{
	const struct submissions *submissions = &states->submissions;
	char *text = NULL;
	size_t size, n = 0;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	fputs("--dependency=afterany", file);
	for (size_t i = 0; i < submissions->count; i++) {
		const char *array = submissions->row[i].array;

		if (!array || (!(is_new && i + 1 == submissions->count) && !is_alive(states, array)))
			continue;
		fprintf(file, ":%s", array);
		n++;
	}
	if (fclose(file)) {
		free(text);
		return NULL;
	}
	if (!n)
		*text = '\0';
	return text;
}

/* Merges that wait would find their results missing, or do what the new one does. */
static void call_off(const struct shard_states *states, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *merge = states->submissions.row[i].merge;
		const char *const argv[] = {"scancel", merge, NULL};
		const struct slurm_task *task = merge ? slurm_queue_find(&states->queue, merge, -1) : NULL;
		struct sb_error ignored = {0};
		char *text = NULL;

		if (task && slurm_phase_of(task) == slurm_waits)
			run_command(argv, true, &text, &ignored);
		free(text);
	}
}

static int submit_merge(const struct batch *batch, struct shard_states *states, struct sb_error *err)
{
	struct submissions *submissions = &states->submissions;
	char *path = script_path(batch, "merge.sbatch"), *after = dependency(states, batch->ntasks != 0),
	     *job = NULL;
	int code = path && after ? write_script(batch, true, path, err) : out_of_memory(err);

	if (!code)
		code = sbatch(path, *after ? after : NULL, &job, err);
	if (!code && !batch->ntasks)
		code = submissions_add(submissions, NULL, 1, err);
	if (!code)
		code = submissions_set_merge(submissions, job, err);
	if (!code)
		printf("merge: job %s\n", job);
	free(path);
	free(after);
	free(job);
	return code;
}

/* What was submitted is noted down at once, so that it is known whatever comes then. */
int slurm_submit(const struct batch *batch, struct shard_states *states, struct sb_error *err)
{
	const size_t before = states->submissions.count;
	int code = 0;

	if (mkdir(batch->plan->results, 0777) && errno != EEXIST)
		return sb_error_set(err, -sbe_io, batch->plan->results, UINT64_MAX, "cannot be made: %s",
		                    strerror(errno));
	if (batch->ntasks)
		code = submit_array(batch, &states->submissions, err);
	if (!code && batch->ntasks)
		code = submissions_write(&states->submissions, err);
	if (!code)
		code = submit_merge(batch, states, err);
	if (!code)
		code = submissions_write(&states->submissions, err);
	if (!code)
		call_off(states, before);
	return code;
}
