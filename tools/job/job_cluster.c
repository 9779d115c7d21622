/* job_cluster.c - see job_cluster.h. */
#include "job/job_cluster.h"

#include <string.h>

#include "job/job.h"
#include "job/job_keys.h"

#define CLUSTER(member) offsetof(struct job_cluster, member)

static const struct job_key kubernetes_keys[] = {
        {.name = "image",
         .kind = &job_kind_word,
         .offset = CLUSTER(image) - CLUSTER(image),
         .about = "The image of containers, which has sbtrace.",
         .what = "the name of an image"},
        {.name = "namespace",
         .kind = &job_kind_word,
         .offset = CLUSTER(name_space) - CLUSTER(image),
         .about = "The namespace of the jobs.",
         .what = "the name of a namespace"},
        {.name = "claim",
         .kind = &job_kind_word,
         .offset = CLUSTER(claim) - CLUSTER(image),
         .about = "The claim of the volume that has the plan, the recordings and the roots.",
         .what = "the name of a PersistentVolumeClaim"},
        {.name = "mount",
         .kind = &job_kind_path,
         .offset = CLUSTER(mount) - CLUSTER(image),
         .about = "Where pods see the volume: the same place as here, since the plan has paths of here.",
         .what = "the name of a directory"},
};
static const struct job_table kubernetes_table = {"what Kubernetes needs", kubernetes_keys,
                                                  sizeof(kubernetes_keys) / sizeof(kubernetes_keys[0])};

static const struct job_key cluster_keys[] = {
        {.name = "time",
         .kind = &job_kind_duration,
         .offset = CLUSTER(time),
         .about = "The most time a task may take: a number with s, m, h or d behind it."},
        {.name = "memory",
         .kind = &job_kind_size,
         .offset = CLUSTER(memory),
         .about = "The memory of a task, in bytes, or with K, M, G or T behind it."},
        {.name = "cpus",
         .kind = &job_kind_count,
         .offset = CLUSTER(cpus),
         .about = "The CPUs of a task, which are as many threads.",
         .what = "a number of CPUs",
         .least = 1,
         .most = job_cpus_most},
        {.name = "throttle",
         .kind = &job_kind_count,
         .offset = CLUSTER(throttle),
         .about = "How many tasks run at a time.",
         .what = "a number of tasks",
         .least = 1,
         .most = job_tasks_most},
        {.name = "tasks",
         .kind = &job_kind_count,
         .offset = CLUSTER(tasks),
         .about = "How many tasks there are at most: with more shards, each task runs several.",
         .what = "a number of tasks",
         .least = 1,
         .most = job_tasks_most},
        {.name = "partition",
         .kind = &job_kind_word,
         .offset = CLUSTER(partition),
         .about = "Slurm's partition, or several with commas between them.",
         .what = "the name of a partition"},
        {.name = "account",
         .kind = &job_kind_word,
         .offset = CLUSTER(account),
         .about = "Slurm's account.",
         .what = "the name of an account"},
        {.name = "options",
         .kind = &job_kind_texts,
         .offset = CLUSTER(options),
         .about = "Further options of sbatch.",
         .what = "a list of options of sbatch",
         .item = "an option of sbatch"},
        {.name = "kubernetes",
         .kind = &job_kind_mapping,
         .offset = CLUSTER(image),
         .about = "What jobs of Kubernetes need.",
         .table = &kubernetes_table},
};
const struct job_table job_cluster_table = {"a cluster", cluster_keys,
                                            sizeof(cluster_keys) / sizeof(cluster_keys[0])};

void job_cluster_free(struct job_cluster *cluster)
{
	free(cluster->partition);
	free(cluster->account);
	job_texts_free(&cluster->options);
	free(cluster->image);
	free(cluster->name_space);
	free(cluster->claim);
	free(cluster->mount);
	*cluster = (struct job_cluster){0};
}

int job_cluster_check(const struct job *job, struct sb_error *err)
{
	const struct job_cluster *cluster = &job->cluster;
	struct job_place place;

	for (size_t i = 0; i < cluster->options.count; i++) {
		const char *option = cluster->options.value[i];

		if (option[0] == '-' && !strpbrk(option, "\r\n"))
			continue;
		place = job_places_find(&job->places, option);
		return job_fail_at(err, &place,
		                   "expected an option of sbatch such as --qos=low in one line, found '%s'",
		                   option);
	}
	if (!cluster->claim == !cluster->mount)
		return 0;
	place = job_places_find(&job->places, cluster->claim ? cluster->claim : cluster->mount);
	return job_fail_at(err, &place, "'claim' and 'mount' need each other");
}
