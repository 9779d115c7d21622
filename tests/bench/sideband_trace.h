/* sideband_trace.h - the trace of a CPU that runs a little code behind each context switch. */
#ifndef BENCH_SIDEBAND_TRACE_H
#define BENCH_SIDEBAND_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include <sb/clock.h>

struct sideband_trace {
	const struct sb_clock *clock;
	uint8_t *bytes; /* owned */
	size_t size, capacity, psb;
	int failed; /* out of memory */
};

/* The code: the first bytes of what a process maps. */
extern const uint8_t sideband_code[];
extern const size_t sideband_code_size;

/* PSB+, at @time: tracing is off. */
void sideband_trace_psb(struct sideband_trace *trace, uint64_t time);

/* From @time on, the code at @ip runs a few times. */
void sideband_trace_run(struct sideband_trace *trace, uint64_t time, uint64_t ip);

void sideband_trace_free(struct sideband_trace *trace);

#endif
