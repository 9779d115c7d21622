/* tools/sink/report_time.h - who ran on each CPU when, in bins of time.
 *
 * Bins begin narrow; whenever there are too many entries (of one process in one bin), all bins become twice
 * as wide. So memory does not grow with the recording, but for what so many processes on so many CPUs take.
 * Sums are exact.
 */
#ifndef TOOLS_SINK_REPORT_TIME_H
#define TOOLS_SINK_REPORT_TIME_H

#include <stddef.h>
#include <stdint.h>

enum { report_entries_most = 1 << 16, report_bins_least = 256 };

/* What one did in a bin. */
struct report_entry {
	uint64_t bin; /* its number, from time 0 on */
	uint32_t who; /* the caller's */
	uint32_t reserved;
	uint64_t sum[3]; /* the caller's */
};

struct report_cpu {
	int32_t cpu;
	struct report_entry *entry; /* owned; by bin, in a bin as they came */
	size_t count, capacity;
};

struct report_time {
	uint32_t shift;         /* a bin is so wide: 1 << shift */
	struct report_cpu *cpu; /* owned; sorted */
	size_t ncpus;
	size_t count; /* of all entries */
};

void report_time_free(struct report_time *time);

/* Its index in .cpu, as long as no other one is new. Negative: out of memory. */
int64_t report_time_cpu(struct report_time *time, int32_t cpu);

/* Adds @sum to what @who did on the CPU at @time, which never goes back on a CPU (else it counts as late as
 * what came before). Zero, or negative: out of memory. */
int report_time_add(struct report_time *time, size_t cpu, uint64_t at, uint32_t who, const uint64_t sum[3]);
/* Adds the time from @from to before @to to the first of its sums, in each bin its part. Likewise. */
int report_time_add_span(struct report_time *time, size_t cpu, uint32_t who, uint64_t from, uint64_t to);

#endif
