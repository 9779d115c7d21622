/* tools/sink/report_runs.h - who ran where and when, and how much, for the report.
 *
 * What a process runs on a CPU in one bin of time, while nobody else comes, is added up before anybody looks
 * at bins. */
#ifndef TOOLS_SINK_REPORT_RUNS_H
#define TOOLS_SINK_REPORT_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include <sb/replay.h>

#include "sink/report_time.h"
#include "sink/sink.h"

enum { report_gap = 1u << 31 /* .who of entries that are gaps: this, and the reason */ };

struct report_process {
	int32_t pid;
	uint64_t user, kernel, nblocks;
	uint64_t first, last; /* ticks */
	const struct sb_container *container;
	uint64_t contained;    /* TSC of the turn that said so, */
	int32_t contained_cpu; /* and where that was */
};

struct report_running;

struct report_runs {
	const struct sink_context *context;
	struct report_time time;
	struct report_process *process;     /* owned */
	uint32_t nprocesses, *slot, nslots; /* slot: owned; of pids, index and one */
	struct report_running *running;     /* owned */
	size_t nrunning;
	uint32_t *place; /* owned; of a CPU's number and one in .running, and one; 0: it is not there yet */
	size_t nplaces;
	bool begun;
	uint64_t first, last; /* ticks of all */
};

/* @context must outlive it. */
void report_runs_init(struct report_runs *runs, const struct sink_context *context);
void report_runs_free(struct report_runs *runs);

/* Turns and gaps of all CPUs come in the order of time. Zero, or negative: no memory. */
int report_runs_add(struct report_runs *runs, const struct sb_flow_turn *turn, size_t nturns);
/* Before which TSC what follows on the CPU's latest turn may come as one (struct sb_sink, turns_until). */
uint64_t report_runs_until(const struct report_runs *runs, int32_t cpu);
int report_runs_gap(struct report_runs *runs, const struct sb_gap *gap);
/* After the last one. Zero, or negative: no memory. */
int report_runs_finish(struct report_runs *runs);

/* May move the others. NULL: no memory. */
struct report_process *report_runs_process(struct report_runs *runs, int32_t pid);

#endif
