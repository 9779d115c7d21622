/* make_system.c - a perf.data of a large system, of one of several shapes.
 *
 *   make_system SHAPE N FILE ROOT
 *
 * Each shape lets something else grow with N: processes with 500 mappings each, processes that come and go, a
 * chain of forks, one process with many mappings, ... What happens is few records each and a little code that
 * runs behind each switch, so whatever takes more than N times as long for N times as many is in the reader.
 * Prints how many instructions ran: so many must come out. The files that are mapped are made below ROOT. The
 * same arguments give the same file.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sb/perfdata_write.h>

#include "sideband_trace.h"

enum {
	CPUS_MAX = 600, /* that a recording with cgroups can have */
	FEW_CPUS = 4,
	FIRST_PID = 1000,
	ROUND_RECORDS = 1000, /* between FINISHED_ROUND records */
	STEP_NS = 700,
	PAGE = 0x1000,
	LIBRARIES = 64,
	PARTS = 8,       /* of a library: pages with the code */
	MANY_MAPS = 500, /* of one process */
	RUN_INSNS = 30   /* of sideband_trace_run() */
};

static const uint64_t first_time = 8000000000;
static const char library_path[] = "/usr/lib/bench/part-%" PRIu32 ".so";

struct machine {
	struct sb_perfdata_writer *writer;
	struct sb_error error;
	struct sb_perfdata_write_config config;
	uint64_t time, random, nrecords, round_end, ninsns;
	int32_t current[CPUS_MAX]; /* which process runs */
	struct sideband_trace trace[CPUS_MAX];
	int status; /* the first error */
};

/* ---- What happens on a machine ------------------------------------------------------------------ */

/* xorshift64* */
static uint64_t draw(struct machine *machine, uint64_t below)
{
	machine->random ^= machine->random >> 12;
	machine->random ^= machine->random << 25;
	machine->random ^= machine->random >> 27;
	return (machine->random * UINT64_C(0x2545f4914f6cdd1d) >> 16) % below;
}

static void note(struct machine *machine, int status)
{
	machine->nrecords++;
	if (!machine->status)
		machine->status = status;
}

static struct sb_write_sample sample_of(struct machine *machine, uint32_t cpu)
{
	const int32_t pid = machine->current[cpu];

	machine->time += STEP_NS;
	if (machine->nrecords >= machine->round_end) {
		machine->round_end = machine->nrecords + ROUND_RECORDS;
		if (!machine->status)
			machine->status = sb_write_finished_round(machine->writer, &machine->error);
	}
	return (struct sb_write_sample){.pid = pid, .tid = pid, .time = machine->time, .cpu = cpu};
}

/* @part: of all libraries. @cpu -1: it was so at the start. */
static void map_part(struct machine *machine, int32_t cpu, int32_t pid, uint64_t addr, uint32_t part)
{
	char name[64];
	const uint32_t library = part / PARTS % LIBRARIES;
	const struct sb_write_mmap2 map = {
	        .pid = pid,
	        .tid = pid,
	        .addr = addr,
	        .len = PAGE,
	        .pgoff = (uint64_t)(part % PARTS) * PAGE,
	        .maj = 8,
	        .ino = 1000 + library,
	        .prot = 5,
	        .flags = 2,
	        .filename = name,
	};
	struct sb_write_sample sample = {0};

	if (cpu >= 0)
		sample = sample_of(machine, (uint32_t)cpu);
	snprintf(name, sizeof(name), library_path, library);
	note(machine, sb_write_mmap2(machine->writer, cpu < 0 ? NULL : &sample, &map, &machine->error));
}

static void give_name(struct machine *machine, int32_t cpu, int32_t pid, int exec)
{
	struct sb_write_sample sample = {0};

	if (cpu >= 0)
		sample = sample_of(machine, (uint32_t)cpu);
	note(machine, sb_write_comm(machine->writer, cpu < 0 ? NULL : &sample, pid, pid, "program", exec,
	                            &machine->error));
}

static void fork_process(struct machine *machine, uint32_t cpu, int32_t child)
{
	const struct sb_write_sample sample = sample_of(machine, cpu);

	note(machine,
	     sb_write_fork(machine->writer, &sample, child, sample.pid, child, sample.pid, &machine->error));
}

static void exit_process(struct machine *machine, uint32_t cpu)
{
	const struct sb_write_sample sample = sample_of(machine, cpu);

	note(machine, sb_write_exit(machine->writer, &sample, sample.pid, FIRST_PID, sample.pid, FIRST_PID,
	                            &machine->error));
}

static void switch_to(struct machine *machine, uint32_t cpu, int32_t pid)
{
	const int32_t old = machine->current[cpu];
	struct sb_write_sample sample = sample_of(machine, cpu);

	note(machine, sb_write_switch(machine->writer, &sample, 1, 0, pid, pid, &machine->error));
	machine->current[cpu] = pid;
	sample = sample_of(machine, cpu);
	note(machine, sb_write_switch(machine->writer, &sample, 0, 0, old, old, &machine->error));
}

static void run_code(struct machine *machine, uint32_t cpu, uint64_t ip)
{
	machine->time += STEP_NS;
	sideband_trace_run(&machine->trace[cpu], machine->time, ip);
	machine->ninsns += RUN_INSNS;
}

/* What was before comes to an end: tracing starts. */
static void start(struct machine *machine)
{
	if (!machine->status)
		machine->status = sb_write_finished_init(machine->writer, &machine->error);
	for (uint32_t cpu = 0; cpu < machine->config.ncpus; ++cpu) {
		const struct sb_write_sample sample = sample_of(machine, cpu);

		note(machine, sb_write_itrace_start(machine->writer, &sample, sample.pid, sample.tid,
		                                    &machine->error));
	}
}

static int32_t pid_of(uint32_t process)
{
	return FIRST_PID + (int32_t)process;
}

/* Who is on a CPU when tracing starts was there before: who comes from nowhere might have anything mapped. */
static void name_all(struct machine *machine)
{
	for (uint32_t cpu = 0; cpu < machine->config.ncpus; ++cpu)
		give_name(machine, -1, pid_of(cpu), 0);
}

/* Where the program is, and where its libraries: at random, but each library next to the other. */
static uint64_t program_base(struct machine *machine)
{
	return UINT64_C(0x550000000000) + draw(machine, 1 << 28) * PAGE;
}

static uint64_t library_base(struct machine *machine)
{
	return UINT64_C(0x7e0000000000) + draw(machine, 1 << 28) * PAGE;
}

static uint64_t part_addr(uint64_t base, uint32_t part)
{
	return base + (uint64_t)part * 4 * PAGE;
}

/* ---- Shapes --------------------------------------------------------------------------------------- */

enum { whole, no_switches, no_map };

/* @n processes of one program, with many mappings each; all run twice. @lost: which records are missing. */
static void make_processes(struct machine *machine, uint32_t n, uint32_t nmaps, int lost)
{
	uint64_t *base = calloc(n, sizeof(*base));

	for (uint32_t i = 0; i < n && base; ++i) {
		base[i] = library_base(machine);
		give_name(machine, -1, pid_of(i), 0);
		map_part(machine, -1, pid_of(i), program_base(machine), 0);
		for (uint32_t part = 1; part < nmaps; ++part)
			if (lost != no_map || part != 1 + i % (nmaps - 1))
				map_part(machine, -1, pid_of(i), part_addr(base[i], part), part);
	}
	/* That the idle task ran in the beginning says nothing of who runs code. */
	for (uint32_t cpu = 0; cpu < FEW_CPUS && lost == no_switches; ++cpu)
		machine->current[cpu] = 0;
	start(machine);
	for (uint32_t i = 0; i < 2 * n && base; ++i) {
		const uint32_t process = i % n, cpu = process % FEW_CPUS;

		if (lost == no_switches)
			sample_of(machine, cpu);
		else
			switch_to(machine, cpu, pid_of(process));
		run_code(machine, cpu, part_addr(base[process], 1 + process % (nmaps - 1)));
	}
	free(base);
}

static void shape_processes(struct machine *machine, uint32_t n)
{
	make_processes(machine, n, MANY_MAPS, whole);
}

static void shape_no_switches(struct machine *machine, uint32_t n)
{
	make_processes(machine, n, MANY_MAPS, no_switches);
}

static void shape_lost_maps(struct machine *machine, uint32_t n)
{
	make_processes(machine, n, MANY_MAPS, no_map);
}

/* Processes come, execute a program, and go; their numbers are used again. All begin at the same address, as
 * without randomisation. */
static void shape_short_lived(struct machine *machine, uint32_t n)
{
	enum { NUMBERS = 300, MAPS = 8 };
	const uint64_t base = UINT64_C(0x7ffff0000000);

	give_name(machine, -1, FIRST_PID, 0);
	start(machine);
	for (uint32_t i = 0; i < n; ++i) {
		const uint32_t cpu = i % FEW_CPUS;
		const int32_t pid = pid_of(FEW_CPUS + i % NUMBERS);

		fork_process(machine, cpu, pid);
		switch_to(machine, cpu, pid);
		give_name(machine, (int32_t)cpu, pid, 1);
		for (uint32_t part = 0; part < MAPS; ++part)
			map_part(machine, (int32_t)cpu, pid, part_addr(base, part), part + i % PARTS);
		run_code(machine, cpu, part_addr(base, i % MAPS));
		exit_process(machine, cpu);
		switch_to(machine, cpu, pid_of(cpu));
	}
}

/* One process's child's child's ...; each maps one thing more, and runs it and what the first one mapped. */
static void shape_fork_chain(struct machine *machine, uint32_t n)
{
	const uint64_t base = library_base(machine);

	give_name(machine, -1, FIRST_PID, 0);
	map_part(machine, -1, FIRST_PID, part_addr(base, 0), 0);
	start(machine);
	for (uint32_t i = 1; i < n; ++i) {
		fork_process(machine, 0, pid_of(i));
		switch_to(machine, 0, pid_of(i));
		map_part(machine, 0, pid_of(i), part_addr(base, i), i);
		run_code(machine, 0, part_addr(base, i));
		run_code(machine, 0, base);
	}
}

/* One process, many mappings. */
static void shape_maps(struct machine *machine, uint32_t n)
{
	const uint64_t base = library_base(machine);

	name_all(machine);
	start(machine);
	for (uint32_t i = 0; i < n; ++i) {
		map_part(machine, 0, FIRST_PID, part_addr(base, i), i);
		run_code(machine, 0, part_addr(base, i));
	}
}

/* One process with some mappings, over which it maps others again and again. */
static void make_remaps(struct machine *machine, uint32_t n, int lost)
{
	const uint64_t base = library_base(machine);

	name_all(machine);
	map_part(machine, -1, FIRST_PID, program_base(machine), 0);
	map_part(machine, -1, FIRST_PID + 1, program_base(machine), 0);
	start(machine);
	for (uint32_t i = 0; i < MANY_MAPS; ++i)
		map_part(machine, 0, FIRST_PID, part_addr(base, i), 1);
	for (uint32_t i = 0; i < n; ++i) {
		const uint64_t addr = part_addr(base, i % MANY_MAPS);

		map_part(machine, 0, FIRST_PID, addr, 2 + i / MANY_MAPS % PARTS);
		run_code(machine, 0, addr);
		if (lost == no_map && i % 16 == 0)
			sideband_trace_run(&machine->trace[0], machine->time + 1, base - (i + 1) * 4 * PAGE);
	}
}

static void shape_remaps(struct machine *machine, uint32_t n)
{
	make_remaps(machine, n, whole);
}

/* The same, and it runs where nothing is known to be, too. */
static void shape_remaps_lost(struct machine *machine, uint32_t n)
{
	make_remaps(machine, n, no_map);
}

static void shape_cpus(struct machine *machine, uint32_t n)
{
	enum { SWITCHES = 200 };
	const uint64_t base = library_base(machine);

	for (uint32_t i = 0; i < 2 * n; ++i) {
		give_name(machine, -1, pid_of(i), 0);
		map_part(machine, -1, pid_of(i), base, i);
	}
	start(machine);
	for (uint32_t i = 0; i < SWITCHES; ++i) {
		for (uint32_t cpu = 0; cpu < n; ++cpu) {
			switch_to(machine, cpu, pid_of(2 * cpu + i % 2));
			run_code(machine, cpu, base);
		}
	}
}

/* Each process in a cgroup of its own, with namespaces of its own. */
static void shape_containers(struct machine *machine, uint32_t n)
{
	const uint64_t base = library_base(machine);
	struct sb_namespace spaces[7];
	char path[80];

	give_name(machine, -1, 1, 0);
	for (uint32_t i = 0; i < n; ++i) {
		give_name(machine, -1, pid_of(i), 0);
		map_part(machine, -1, pid_of(i), base, i);
		snprintf(path, sizeof(path), "/docker/%064" PRIx32, i);
		note(machine, sb_write_cgroup(machine->writer, NULL, 100 + i, path, &machine->error));
		for (uint32_t k = 0; k < 7; ++k)
			spaces[k] = (struct sb_namespace){3, UINT64_C(4026540000) + 8 * i + k};
		note(machine, sb_write_namespaces(machine->writer, NULL, pid_of(i), pid_of(i), spaces, 7,
		                                  &machine->error));
	}
	start(machine);
	for (uint32_t i = 0; i < 2 * n; ++i) {
		struct sb_write_sample sample;

		switch_to(machine, i % FEW_CPUS, pid_of(i % n));
		sample = sample_of(machine, i % FEW_CPUS);
		note(machine,
		     sb_write_cgroup_sample(machine->writer, &sample, 0, 100 + i % n, &machine->error));
		run_code(machine, i % FEW_CPUS, base);
	}
}

static const struct shape {
	const char *name;
	void (*make)(struct machine *machine, uint32_t n);
	int cgroups;
} shapes[] = {
        {"processes", shape_processes, 0},
        {"no-switches", shape_no_switches, 0},
        {"lost-maps", shape_lost_maps, 0},
        {"short-lived", shape_short_lived, 0},
        {"fork-chain", shape_fork_chain, 0},
        {"maps", shape_maps, 0},
        {"remaps", shape_remaps, 0},
        {"remaps-lost", shape_remaps_lost, 0},
        {"cpus", shape_cpus, 0},
        {"containers", shape_containers, 1},
};

/* ---- The files ------------------------------------------------------------------------------------ */

static void write_trace(struct machine *machine)
{
	for (uint32_t cpu = 0; cpu < machine->config.ncpus && !machine->status; ++cpu) {
		const struct sb_write_sample sample = sample_of(machine, cpu);
		struct sideband_trace *trace = &machine->trace[cpu];

		sideband_trace_psb(trace, machine->time);
		if (trace->failed) {
			machine->status =
			        sb_error_set(&machine->error, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
			return;
		}
		note(machine, sb_write_aux(machine->writer, &sample, 0, trace->size, 0, &machine->error));
		if (!machine->status)
			machine->status = sb_write_auxtrace(machine->writer, cpu, 0, trace->bytes,
			                                    trace->size, &machine->error);
	}
}

static int make(struct machine *machine, const struct shape *shape, uint32_t n, const char *path)
{
	int status;

	machine->config = (struct sb_perfdata_write_config){
	        .size = sizeof(machine->config),
	        .ncpus = strcmp(shape->name, "cpus") == 0 ? n : FEW_CPUS,
	        .pt_pmu_type = 8,
	        .pt_config = 0x400, /* TSC */
	        .family = 6,
	        .model = 85,
	        .stepping = 4,
	        .cmdline = "make_system",
	        .clock = {31, 1022611261, 7000000000},
	        .tsc_ctc_num = 168,
	        .tsc_ctc_den = 2,
	        .max_nonturbo_ratio = 21,
	        .user_only = 1,
	        .cgroups = shape->cgroups,
	};
	status = sb_perfdata_writer_open(&machine->writer, path, &machine->config, &machine->error);
	if (status < 0)
		return status;
	for (uint32_t cpu = 0; cpu < machine->config.ncpus; ++cpu) {
		machine->current[cpu] = pid_of(cpu);
		machine->trace[cpu].clock = &machine->config.clock;
		sideband_trace_psb(&machine->trace[cpu], first_time);
	}
	shape->make(machine, n);
	write_trace(machine);
	if (!machine->status)
		machine->status = sb_write_finished_round(machine->writer, &machine->error);
	status = sb_perfdata_writer_finish(machine->writer, &machine->error);
	for (uint32_t cpu = 0; cpu < machine->config.ncpus; ++cpu)
		sideband_trace_free(&machine->trace[cpu]);
	return machine->status ? machine->status : status;
}

static int write_library(const char *path)
{
	FILE *file = fopen(path, "wb");
	int status = 0;

	if (!file)
		return -1;
	for (long part = 0; part < PARTS && !status; ++part)
		status = fseek(file, part * PAGE, SEEK_SET) ||
		         fwrite(sideband_code, sideband_code_size, 1, file) != 1;
	if (!status)
		status = fseek(file, (long)PARTS * PAGE - 1, SEEK_SET) || fputc(0x90, file) == EOF;
	return fclose(file) || status ? -1 : 0;
}

static int write_libraries(const char *root)
{
	static const char *const directories[] = {"", "/usr", "/usr/lib", "/usr/lib/bench"};
	char path[1024], name[64];

	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); ++i) {
		snprintf(path, sizeof(path), "%.900s%s", root, directories[i]);
		(void)mkdir(path, 0777);
	}
	for (uint32_t library = 0; library < LIBRARIES; ++library) {
		snprintf(name, sizeof(name), library_path, library);
		snprintf(path, sizeof(path), "%.900s%s", root, name);
		if (write_library(path) < 0) {
			perror(path);
			return -1;
		}
	}
	return 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: make_system SHAPE N FILE ROOT (SHAPE:");
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); ++i)
		fprintf(stderr, " %s", shapes[i].name);
	fprintf(stderr, "; N: %d to 1000000, of CPUs %d)\n", FEW_CPUS, CPUS_MAX);
	return 2;
}

int main(int argc, char **argv)
{
	static struct machine machine = {.time = first_time, .random = 1, .round_end = ROUND_RECORDS};
	const struct shape *shape = NULL;
	char text[1024];
	long n;

	if (argc != 5)
		return usage();
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); ++i)
		if (strcmp(argv[1], shapes[i].name) == 0)
			shape = &shapes[i];
	n = strtol(argv[2], NULL, 10);
	if (!shape || n < FEW_CPUS || n > (shape->make == shape_cpus ? CPUS_MAX : 1000000))
		return usage();
	if (write_libraries(argv[4]) < 0)
		return 1;
	if (make(&machine, shape, (uint32_t)n, argv[3]) < 0) {
		fprintf(stderr, "make_system: %s\n", sb_error_string(&machine.error, text, sizeof(text)));
		return 1;
	}
	printf("%" PRIu64 "\n", machine.ninsns);
	return 0;
}
