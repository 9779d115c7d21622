/* timeline.h - when which function ran: the calls of all threads, with times.
 *
 * A flow has one time stamp, its calls have none: they are spread over the time from it to the CPU's next one
 * by how many instructions came before each, but at most slowest_ns for each instruction, as a thread may
 * have slept in between. Times of a thread do not go back. They are ns of perf's clock, or ticks of the time
 * stamp counter where the clock is not known.
 */
#ifndef TOOLS_SINK_TIMELINE_H
#define TOOLS_SINK_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include <sb/call_stack.h>

#include "sink/call_names.h"
#include "sink/sink.h"

enum { slowest_ns = 20 };

/* Of a function that runs, or ran. */
struct timeline_slice {
	int32_t cpu; /* where it began */
	int32_t pid, tid;
	uint32_t thread;     /* dense from 0; the idle threads of each CPU are threads of their own */
	uint32_t depth;      /* the outermost function's is 1 */
	uint64_t id, parent; /* from 1 on, in the order in which functions begin; parent 0: none */
	const char *name;
	const struct sb_function *function;
	uint64_t begin, end;  /* end: when it is over */
	uint64_t ninsn, self; /* when it is over: instructions with and without those of slices inside */
	bool unsure;
};

/* A thread on a CPU. */
struct timeline_run {
	int32_t cpu, pid, tid;
	uint64_t begin, end;
	const char *comm;
};

/* Each may be NULL. Zero, or negative to give up. */
struct timeline_consumer {
	void *context;
	/* Before the first slice of a process, and of a thread, with the names that they had last. */
	int (*process)(void *context, const struct timeline_slice *first, const char *comm);
	int (*thread)(void *context, const struct timeline_slice *first, const char *comm);
	int (*begin)(void *context, const struct timeline_slice *slice);
	int (*end)(void *context, const struct timeline_slice *slice);
	/* Of a CPU, in order; @begin == @end: a moment, or nobody knows how long. */
	int (*gap)(void *context, const struct sb_gap *gap, uint64_t begin, uint64_t end);
	/* At the end: what the schedule says, CPU after CPU. */
	int (*run)(void *context, const struct timeline_run *run);
};

struct timeline;

/* @deepest: functions that are deeper in the stack are left out; 0: none. NULL: out of memory. */
struct timeline *timeline_new(const struct sink_context *context, const struct timeline_consumer *consumer,
                              uint32_t deepest);
void timeline_free(struct timeline *timeline); /* NULL is fine */

int timeline_flow(struct timeline *timeline, const struct sb_flow *flow);
int timeline_gap(struct timeline *timeline, const struct sb_gap *gap);
/* Ends all slices, and tells the runs. */
int timeline_finish(struct timeline *timeline);

/* Whether times are ns. */
bool timeline_has_clock(const struct timeline *timeline);

#endif
