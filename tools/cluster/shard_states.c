/* shard_states.c - see shard_states.h. */
#include "cluster/shard_states.h"

#include <stdlib.h>
#include <string.h>

#include "job/shard_result.h"

const char *const shard_progress_name[shard_progresses] = {[shard_is_done] = "done",
                                                           [shard_runs] = "running",
                                                           [shard_waits] = "waiting",
                                                           [shard_fails] = "failed",
                                                           [shard_is_open] = "not submitted"};

static int out_of_memory(struct sb_error *err)
{
	return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
}

void shard_states_free(struct shard_states *states)
{
	for (size_t i = 0; states->shard && i < states->nshards; i++)
		free(states->shard[i].why);
	free(states->shard);
	slurm_queue_free(&states->queue);
	submissions_free(&states->submissions);
	*states = (struct shard_states){0};
}

/* ---- Slurm ------------------------------------------------------------------------------------ */

static int ask(struct shard_states *states, struct sb_error *err)
{
	const struct submissions *submissions = &states->submissions;
	const char **job = calloc(2 * submissions->count + 1, sizeof(*job));
	size_t njobs = 0;
	int code;

	if (!job)
		return out_of_memory(err);
	for (size_t i = 0; i < submissions->count; i++) {
		if (submissions->row[i].array)
			job[njobs++] = submissions->row[i].array;
		if (submissions->row[i].merge)
			job[njobs++] = submissions->row[i].merge;
	}
	code = slurm_queue_read(&states->queue, job, njobs, err);
	free(job);
	if (submissions->count && submissions->row[submissions->count - 1].merge)
		states->merge =
		        slurm_queue_find(&states->queue, submissions->row[submissions->count - 1].merge, -1);
	return code;
}

/* The task that was to run @shard last. One that still does anything counts more than a later one that ended.
 */
static const struct slurm_task *task_of(const struct shard_states *states, size_t shard)
{
	const struct submissions *submissions = &states->submissions;
	const struct slurm_task *last = NULL;

	for (size_t i = submissions->count; i--;) {
		const struct submission *row = &submissions->row[i];
		const struct slurm_task *task = row->array ? slurm_queue_find(&states->queue, row->array,
		                                                              (long)(shard / row->per_task))
		                                           : NULL;

		if (task && slurm_phase_of(task) != slurm_ended)
			return task;
		if (task && !last)
			last = task;
	}
	return last;
}

/* ---- Results ---------------------------------------------------------------------------------- */

static bool is_done(const struct shard_plan *plan, size_t shard, char **why)
{
	struct sb_error wrong = {0};
	json_t *record = shard_result_record(plan, shard, &wrong);
	char text[sizeof(wrong.file) + sizeof(wrong.text) + 64];

	if (!record && wrong.code != -sbe_not_found) {
		sb_error_string(&wrong, text, sizeof(text));
		*why = strdup(text);
	}
	json_decref(record);
	return record;
}

static enum shard_progress progress_of(const struct shard_states *states, const struct shard_status *shard)
{
	if (!shard->task)
		return states->submissions.count || shard->why ? shard_fails : shard_is_open;
	switch (slurm_phase_of(shard->task)) {
	case slurm_waits:
		return shard_waits;
	case slurm_runs:
		return shard_runs;
	case slurm_ended:
		break;
	}
	return shard_fails;
}

/* Slurm is asked first: what ends in between has its result by the time it is looked for. */
int shard_states_read(struct shard_states *states, const struct shard_plan *plan, struct sb_error *err)
{
	int code;

	*states = (struct shard_states){.nshards = plan->nshards};
	states->shard = calloc(plan->nshards + 1, sizeof(*states->shard));
	code = states->shard ? submissions_read(&states->submissions, plan->results, err)
	                     : out_of_memory(err);
	if (!code)
		code = ask(states, err);
	for (size_t i = 0; i < plan->nshards && !code; i++) {
		struct shard_status *shard = &states->shard[i];

		shard->task = task_of(states, i);
		shard->progress = is_done(plan, i, &shard->why) ? shard_is_done : progress_of(states, shard);
		states->count[shard->progress]++;
	}
	return code;
}
