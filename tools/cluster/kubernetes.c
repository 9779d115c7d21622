/* kubernetes.c - see kubernetes.h. */
#include "cluster/kubernetes.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

enum { tries_per_index = 3 };

static const char volume[] = "traces";

/* ---- What pods run ---------------------------------------------------------------------------- */

/* Kubernetes counts from zero: when only some tasks are to be run, the script has their list. */
static void print_task(FILE *file, const struct batch *batch)
{
	if (batch->ntasks == batch->tasks.ntasks) {
		batch_print_shards(file, batch, "$JOB_COMPLETION_INDEX");
		return;
	}
	fputs("set --", file);
	for (size_t i = 0; i < batch->tasks.ntasks; i++)
		if (batch->task[i])
			fprintf(file, " %zu", i);
	fputs("\nshift \"$JOB_COMPLETION_INDEX\"\n", file);
	batch_print_shards(file, batch, "$1");
}

static json_t *script(const struct batch *batch, bool merge)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	json_t *value;

	if (!file)
		return NULL;
	if (merge) {
		batch_print_wait(file, batch);
		batch_print_merge(file, batch);
	} else {
		print_task(file, batch);
	}
	value = fclose(file) ? NULL : json_string(text);
	free(text);
	return value;
}

/* ---- Pods ------------------------------------------------------------------------------------- */

static json_t *resources(const struct batch *batch, bool merge)
{
	const uint64_t memory = batch->plan->job.cluster.memory;
	json_t *requests = json_object(), *value = json_object();

	json_object_set_new(requests, "cpu", json_sprintf("%u", merge ? 1 : batch_cpus(batch)));
	if (memory) {
		json_object_set_new(requests, "memory", json_sprintf("%" PRIu64, memory));
		json_object_set_new(value, "limits",
		                    json_pack("{s:o}", "memory", json_sprintf("%" PRIu64, memory)));
	}
	json_object_set_new(value, "requests", requests);
	return value;
}

/* A task's time is its pod's; the pod that merges also waits, for nobody knows how long. */
static json_t *pod(const struct batch *batch, bool merge)
{
	const struct job_cluster *cluster = &batch->plan->job.cluster;
	json_t *container, *spec;

	container = json_pack("{s:s, s:s, s:[s, s, o], s:o}", "name", merge ? "merge" : "shards", "image",
	                      cluster->image, "command", "/bin/sh", "-c", script(batch, merge), "resources",
	                      resources(batch, merge));
	spec = json_pack("{s:s, s:[O]}", "restartPolicy", "Never", "containers", container);
	if (cluster->time && !merge)
		json_object_set_new(spec, "activeDeadlineSeconds", json_integer((json_int_t)cluster->time));
	if (cluster->claim) {
		json_object_set_new(container, "volumeMounts",
		                    json_pack("[{s:s, s:s}]", "name", volume, "mountPath", cluster->mount));
		json_object_set_new(spec, "volumes",
		                    json_pack("[{s:s, s:{s:s}}]", "name", volume, "persistentVolumeClaim",
		                              "claimName", cluster->claim));
	}
	json_decref(container);
	return spec;
}

/* ---- Jobs ------------------------------------------------------------------------------------- */

static json_t *labels(const struct batch *batch)
{
	return json_pack("{s:s, s:s%}", "app.kubernetes.io/name", "sbtrace", "sbtrace-plan",
	                 batch->plan->hash, (size_t)16);
}

static json_t *job(const struct batch *batch, bool merge, json_t *spec)
{
	const char *name_space = batch->plan->job.cluster.name_space;
	json_t *metadata = json_pack(
	        "{s:o, s:o, s:{s:s}, s:s*}", "name",
	        json_sprintf("sbtrace-%.16s%s", batch->plan->hash, merge ? "-merge" : ""), "labels",
	        labels(batch), "annotations", "sbtrace/plan", batch->plan->path, "namespace", name_space);

	json_object_set_new(
	        spec, "template",
	        json_pack("{s:{s:o}, s:o}", "metadata", "labels", labels(batch), "spec", pod(batch, merge)));
	return json_pack("{s:s, s:s, s:o, s:o}", "apiVersion", "batch/v1", "kind", "Job", "metadata",
	                 metadata, "spec", spec);
}

static json_t *shards_job(const struct batch *batch)
{
	const unsigned int throttle = batch->plan->job.cluster.throttle;
	const size_t parallel = throttle && throttle < batch->ntasks ? throttle : batch->ntasks;

	return job(batch, false,
	           json_pack("{s:s, s:I, s:I, s:i}", "completionMode", "Indexed", "completions",
	                     (json_int_t)batch->ntasks, "parallelism", (json_int_t)parallel,
	                     "backoffLimitPerIndex", tries_per_index));
}

static json_t *merge_job(const struct batch *batch)
{
	return job(batch, true, json_pack("{s:i, s:i}", "completions", 1, "parallelism", 1));
}

/* A pod sees nothing of this machine but the volume. */
static int check(const struct batch *batch, struct sb_error *err)
{
	const struct job_cluster *cluster = &batch->plan->job.cluster;
	const char *const seen[] = {batch->plan->path, batch->plan->results, batch->plan->directory};
	size_t length = cluster->mount ? strlen(cluster->mount) : 0;

	while (length > 1 && cluster->mount[length - 1] == '/')
		length--;
	if (!cluster->image)
		return sb_error_set(
		        err, -sbe_invalid, batch->plan->path, UINT64_MAX,
		        "the job does not say which image has sbtrace: cluster: {kubernetes: {image: NAME}}");
	for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]) && length > 1; i++)
		if (strncmp(seen[i], cluster->mount, length) || (seen[i][length] && seen[i][length] != '/'))
			return sb_error_set(err, -sbe_invalid, batch->plan->path, UINT64_MAX,
			                    "%s is not below %s, where pods see the volume", seen[i],
			                    cluster->mount);
	return 0;
}

int kubernetes_print(const struct batch *batch, struct sb_error *err)
{
	json_t *items, *list;
	int code = check(batch, err);

	if (code)
		return code;
	items = json_array();
	if (batch->ntasks)
		json_array_append_new(items, shards_job(batch));
	json_array_append_new(items, merge_job(batch));
	list = json_pack("{s:s, s:s, s:o}", "apiVersion", "v1", "kind", "List", "items", items);
	code = output_json(NULL, list, err);
	json_decref(list);
	return code;
}
