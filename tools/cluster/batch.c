/* batch.c - see batch.h. */
#include "cluster/batch.h"

#include <string.h>

void batch_print_word(FILE *file, const char *text)
{
	putc('\'', file);
	for (const char *at = text; *at; at++) {
		if (*at == '\'')
			fputs("'\\'", file);
		putc(*at, file);
	}
	putc('\'', file);
}

unsigned int batch_cpus(const struct batch *batch)
{
	const unsigned int cpus = batch->plan->job.cluster.cpus;

	return cpus ? cpus : 1;
}

static void print_command(FILE *file, const struct batch *batch, const char *action)
{
	batch_print_word(file, batch->sbtrace);
	fprintf(file, " job %s ", action);
	batch_print_word(file, batch->plan->path);
	fputs(" --results ", file);
	batch_print_word(file, batch->plan->results);
}

void batch_print_shards(FILE *file, const struct batch *batch, const char *index)
{
	const struct tasks *tasks = &batch->tasks;

	if (tasks->per_task == 1) {
		fputs("exec ", file);
		print_command(file, batch, "run");
		fprintf(file, " --jobs %u --shard \"%s\"\n", batch_cpus(batch), index);
		return;
	}
	fprintf(file, "first=$((%s * %zu))\n", index, tasks->per_task);
	fprintf(file, "last=$((first + %zu))\n", tasks->per_task - 1);
	fprintf(file, "[ $last -lt %zu ] || last=%zu\n", tasks->nshards, tasks->nshards - 1);
	fputs("exec ", file);
	print_command(file, batch, "run");
	fprintf(file, " --jobs %u --shard $first-$last\n", batch_cpus(batch));
}

void batch_print_merge(FILE *file, const struct batch *batch)
{
	fputs("exec ", file);
	print_command(file, batch, "merge");
	putc('\n', file);
}

void batch_print_wait(FILE *file, const struct batch *batch)
{
	print_command(file, batch, "status");
	fputs(" --wait || exit 1\n", file);
}
