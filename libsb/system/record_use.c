/* record_use.c - see record_use.h. */
#include "system/record_use.h"

#include <linux/perf_event.h>

/* The types that say something to the model, whoever listens: a bit per type. */
static int is_used(uint32_t type)
{
	static const uint64_t kernels =
	        1ull << PERF_RECORD_MMAP | 1ull << PERF_RECORD_MMAP2 | 1ull << PERF_RECORD_COMM |
	        1ull << PERF_RECORD_FORK | 1ull << PERF_RECORD_EXIT | 1ull << PERF_RECORD_LOST |
	        1ull << PERF_RECORD_SWITCH | 1ull << PERF_RECORD_SWITCH_CPU_WIDE | 1ull << PERF_RECORD_AUX |
	        1ull << PERF_RECORD_ITRACE_START | 1ull << PERF_RECORD_TEXT_POKE |
	        1ull << PERF_RECORD_KSYMBOL | 1ull << PERF_RECORD_BPF_EVENT | 1ull << PERF_RECORD_NAMESPACES |
	        1ull << PERF_RECORD_CGROUP | 1ull << PERF_RECORD_THROTTLE | 1ull << PERF_RECORD_LOST_SAMPLES;
	static const uint64_t perfs = 1ull << (SB_RECORD_ID_INDEX - 64) |
	                              1ull << (SB_RECORD_FINISHED_ROUND - 64) |
	                              1ull << (SB_RECORD_AUXTRACE_INFO - 64) |
	                              1ull << (SB_RECORD_AUXTRACE - 64) | 1ull << (SB_RECORD_TIME_CONV - 64);

	return type < 64 ? kernels >> type & 1 : type < 128 ? perfs >> (type - 64) & 1 : 0;
}

/* Samples are of use when they say something of cgroups, or of context switches. */
int record_says_something(const struct sb_record *record)
{
	if (record->type != PERF_RECORD_SAMPLE)
		return is_used(record->type);
	return (record->u.sample.has & PERF_SAMPLE_CGROUP) || record->u.sample.is_sched_switch;
}
