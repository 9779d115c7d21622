/* make_sideband.c - a perf.data with a great many sideband records and next to no trace.
 *
 *   make_sideband FILE NRECORDS NPROCESSES [ROOT]
 *
 * A made-up machine: some CPUs switch among NPROCESSES processes, which map files, change their names,
 * start threads, exit, and come back under the same number, forked by another and with a program of their
 * own. The same arguments give the same file. NRECORDS counts those of the state at the start, too; there are
 * a few more when it does not suffice for that state, or in the last step. The trace of each CPU is two PSBs
 * without code, at the first and the last record's time, so that a reader has to follow the CPU's schedule to
 * its end. With ROOT, a little code of the process's runs behind each switch; the libraries are made below
 * it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sb/perfdata_write.h>

#include "sideband_trace.h"

enum {
	ncpus = 4,
	first_pid = 1000,
	round_records = 1000, /* between FINISHED_ROUND records, as when rings are drained */
	nprograms = 200,
	nlibraries = 64,
	step_ns = 700,
	page = 0x1000
};

static const uint64_t first_time = 8000000000;
static const char library_path[] = "/usr/lib/bench/library-%" PRIu32 ".so";

struct world {
	struct sb_perfdata_writer *writer;
	struct sb_error error;
	uint64_t nrecords, wanted, round_end;
	uint64_t time, random;
	int32_t nprocesses;
	uint8_t *running;  /* of each process: on some CPU now */
	uint32_t *library; /* of each process: mapped last */
	int32_t current[ncpus];
	struct sideband_trace trace[ncpus];
	int runs_code;
	int status; /* the first error */
};

/* xorshift64* */
static uint32_t draw(struct world *world, uint32_t below)
{
	world->random ^= world->random >> 12;
	world->random ^= world->random << 25;
	world->random ^= world->random >> 27;
	return (uint32_t)(((world->random * UINT64_C(0x2545f4914f6cdd1d)) >> 32) * below >> 32);
}

static void note(struct world *world, int status)
{
	world->nrecords++;
	if (!world->status)
		world->status = status;
}

static int32_t pid_of(int32_t process)
{
	return first_pid + process;
}

static struct sb_write_sample sample_of(struct world *world, uint32_t cpu)
{
	int32_t pid = pid_of(world->current[cpu]);

	world->time += step_ns;
	return (struct sb_write_sample){.pid = pid, .tid = pid, .time = world->time, .cpu = cpu};
}

static uint64_t library_addr(uint32_t library)
{
	return UINT64_C(0x7f0000000000) + ((uint64_t)library << 24);
}

static uint64_t library_size(uint32_t library)
{
	return UINT64_C(0x1000) << (library % 8);
}

static void write_map(struct world *world, const struct sb_write_sample *sample, int32_t process,
                      uint32_t library)
{
	char name[64];
	struct sb_write_mmap2 map = {
	        .pid = pid_of(process),
	        .tid = pid_of(process),
	        .addr = library_addr(library),
	        .len = library_size(library),
	        .pgoff = page,
	        .maj = 8,
	        .ino = 1000 + library,
	        .prot = 5,
	        .flags = 2,
	        .filename = name,
	};

	world->library[process] = library;
	snprintf(name, sizeof(name), library_path, library);
	note(world, sb_write_mmap2(world->writer, sample, &map, &world->error));
}

static void write_name(struct world *world, const struct sb_write_sample *sample, int32_t process, int exec)
{
	char name[16];

	snprintf(name, sizeof(name), "program-%" PRIu32, draw(world, nprograms));
	note(world, sb_write_comm(world->writer, sample, pid_of(process), pid_of(process), name, exec,
	                          &world->error));
}

/* One that no CPU runs. */
static int32_t idle_process(struct world *world)
{
	int32_t process;

	do
		process = (int32_t)draw(world, (uint32_t)world->nprocesses);
	while (world->running[process]);
	return process;
}

static void switch_cpu(struct world *world, uint32_t cpu)
{
	int32_t old = world->current[cpu], new = idle_process(world);
	struct sb_write_sample sample = sample_of(world, cpu);

	note(world, sb_write_switch(world->writer, &sample, 1, (int)draw(world, 2), pid_of(new), pid_of(new),
	                            &world->error));
	world->running[old] = 0;
	world->running[new] = 1;
	world->current[cpu] = new;
	sample = sample_of(world, cpu);
	note(world, sb_write_switch(world->writer, &sample, 0, 0, pid_of(old), pid_of(old), &world->error));
	if (world->runs_code)
		sideband_trace_run(&world->trace[cpu], world->time + 1, library_addr(world->library[new]));
}

static void map_library(struct world *world, uint32_t cpu)
{
	struct sb_write_sample sample = sample_of(world, cpu);

	write_map(world, &sample, world->current[cpu], draw(world, nlibraries));
}

static void change_name(struct world *world, uint32_t cpu)
{
	struct sb_write_sample sample = sample_of(world, cpu);

	write_name(world, &sample, world->current[cpu], 0);
}

/* A thread that lives for two records. */
static void thread_passes(struct world *world, uint32_t cpu)
{
	struct sb_write_sample sample = sample_of(world, cpu);
	int32_t tid = pid_of(world->nprocesses + (int32_t)cpu);

	note(world,
	     sb_write_fork(world->writer, &sample, sample.pid, sample.pid, tid, sample.pid, &world->error));
	sample = sample_of(world, cpu);
	sample.tid = tid;
	note(world,
	     sb_write_exit(world->writer, &sample, sample.pid, sample.pid, tid, sample.pid, &world->error));
}

/* The CPU's process exits; the next one forks it anew, and it executes a program. */
static void process_returns(struct world *world, uint32_t cpu)
{
	struct sb_write_sample sample = sample_of(world, cpu);
	int32_t process = world->current[cpu], pid = pid_of(process);

	note(world, sb_write_exit(world->writer, &sample, pid, first_pid, pid, first_pid, &world->error));
	switch_cpu(world, cpu);
	sample = sample_of(world, cpu);
	note(world, sb_write_fork(world->writer, &sample, pid, sample.pid, pid, sample.pid, &world->error));
	sample = sample_of(world, cpu);
	sample.pid = sample.tid = pid;
	write_name(world, &sample, process, 1);
	for (uint32_t i = 0; i < 3; ++i)
		write_map(world, &sample, process, draw(world, nlibraries));
}

static void trace_starts(struct world *world, uint32_t cpu)
{
	struct sb_write_sample sample = sample_of(world, cpu);

	note(world, sb_write_itrace_start(world->writer, &sample, sample.pid, sample.tid, &world->error));
}

/* What happens, and how often, in 1000 steps: of the records, about nine of ten are switches. */
static const struct {
	void (*happens)(struct world *world, uint32_t cpu);
	uint32_t weight;
} steps[] = {
        {switch_cpu, 890},   {map_library, 60},     {change_name, 15},
        {thread_passes, 20}, {process_returns, 10}, {trace_starts, 5},
};

static void step(struct world *world)
{
	uint32_t cpu = draw(world, ncpus), chance = draw(world, 1000);
	size_t i = 0;

	for (; chance >= steps[i].weight; ++i)
		chance -= steps[i].weight;
	steps[i].happens(world, cpu);
	if (world->nrecords >= world->round_end) {
		world->round_end = world->nrecords + round_records;
		if (!world->status)
			world->status = sb_write_finished_round(world->writer, &world->error);
	}
}

static void write_start(struct world *world)
{
	for (int32_t process = 0; process < world->nprocesses; ++process) {
		write_name(world, NULL, process, 0);
		for (uint32_t i = 0; i < 3; ++i)
			write_map(world, NULL, process, draw(world, nlibraries));
	}
	if (!world->status)
		world->status = sb_write_finished_init(world->writer, &world->error);
	for (uint32_t cpu = 0; cpu < ncpus; ++cpu) {
		world->current[cpu] = (int32_t)cpu;
		world->running[cpu] = 1;
		trace_starts(world, cpu);
	}
}

static void write_trace(struct world *world)
{
	for (uint32_t cpu = 0; cpu < ncpus && !world->status; ++cpu) {
		struct sb_write_sample sample = sample_of(world, cpu);
		struct sideband_trace *trace = &world->trace[cpu];

		sideband_trace_psb(trace, world->time);
		if (trace->failed) {
			world->status =
			        sb_error_set(&world->error, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
			return;
		}
		note(world, sb_write_aux(world->writer, &sample, 0, trace->size, 0, &world->error));
		if (!world->status)
			world->status = sb_write_auxtrace(world->writer, cpu, 0, trace->bytes, trace->size,
			                                  &world->error);
	}
}

static int make(struct world *world, const char *path)
{
	struct sb_perfdata_write_config config = {
	        .size = sizeof(config),
	        .ncpus = ncpus,
	        .pt_pmu_type = 8,
	        .pt_config = 0x400, /* TSC */
	        .family = 6,
	        .model = 85,
	        .stepping = 4,
	        .cmdline = "make_sideband",
	        .clock = {31, 1022611261, 7000000000},
	        .tsc_ctc_num = 168,
	        .tsc_ctc_den = 2,
	        .max_nonturbo_ratio = 21,
	        .user_only = 1,
	};
	int status = sb_perfdata_writer_open(&world->writer, path, &config, &world->error);

	if (status < 0)
		return status;
	for (uint32_t cpu = 0; cpu < ncpus; ++cpu) {
		world->trace[cpu].clock = &config.clock;
		sideband_trace_psb(&world->trace[cpu], first_time);
	}
	write_start(world);
	while (!world->status && world->nrecords < world->wanted)
		step(world);
	write_trace(world);
	if (!world->status)
		world->status = sb_write_finished_round(world->writer, &world->error);
	status = sb_perfdata_writer_finish(world->writer, &world->error);
	return world->status ? world->status : status;
}

static int write_library(const char *path, uint32_t library)
{
	FILE *file = fopen(path, "wb");
	int status;

	if (!file)
		return -1;
	status = fseek(file, page, SEEK_SET) || fwrite(sideband_code, sideband_code_size, 1, file) != 1 ||
	         fseek(file, page + (long)library_size(library) - 1, SEEK_SET) || fputc(0x90, file) == EOF;
	return fclose(file) || status ? -1 : 0;
}

/* All libraries below @root, which is there. */
static int write_libraries(const char *root)
{
	static const char *const directories[] = {"/usr", "/usr/lib", "/usr/lib/bench"};
	char path[1024], name[64];

	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); ++i) {
		snprintf(path, sizeof(path), "%.900s%s", root, directories[i]);
		(void)mkdir(path, 0777);
	}
	for (uint32_t library = 0; library < nlibraries; ++library) {
		snprintf(name, sizeof(name), library_path, library);
		snprintf(path, sizeof(path), "%.900s%s", root, name);
		if (write_library(path, library) < 0) {
			perror(path);
			return -1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct world world = {.time = first_time, .random = 1, .round_end = round_records};
	const int usable = argc == 4 || argc == 5;
	char text[1024];

	world.wanted = usable ? strtoull(argv[2], NULL, 10) : 0;
	world.nprocesses = usable ? atoi(argv[3]) : 0;
	if (!world.wanted || world.nprocesses <= ncpus || world.nprocesses > 1000000) {
		fprintf(stderr, "usage: make_sideband FILE NRECORDS NPROCESSES [ROOT] (more than %d)\n",
		        ncpus);
		return 2;
	}
	world.runs_code = argc == 5;
	world.running = calloc((size_t)world.nprocesses, 1);
	world.library = calloc((size_t)world.nprocesses, sizeof(*world.library));
	if (world.runs_code && write_libraries(argv[4]) < 0)
		return 1;
	if (!world.running || !world.library || make(&world, argv[1]) < 0) {
		fprintf(stderr, "make_sideband: %s\n", sb_error_string(&world.error, text, sizeof(text)));
		return 1;
	}
	for (uint32_t cpu = 0; cpu < ncpus; ++cpu)
		sideband_trace_free(&world.trace[cpu]);
	free(world.library);
	free(world.running);
	return 0;
}
