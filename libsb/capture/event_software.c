/* event_software.c - the events that the kernel counts in software, on every machine. */
#include <linux/perf_event.h>
#include <string.h>

#include "capture/event_internal.h"

static const struct {
	const char *name, *other, *about; /* other: NULL when there is one name */
	uint64_t config;
} events[] = {
        {"cpu-clock", NULL, "time on the CPU, in ns, by a timer of the CPU", PERF_COUNT_SW_CPU_CLOCK},
        {"task-clock", NULL, "time that the task ran, in ns", PERF_COUNT_SW_TASK_CLOCK},
        {"page-faults", "faults", "page faults", PERF_COUNT_SW_PAGE_FAULTS},
        {"context-switches", "cs", "context switches", PERF_COUNT_SW_CONTEXT_SWITCHES},
        {"cpu-migrations", "migrations", "moves of the task to another CPU", PERF_COUNT_SW_CPU_MIGRATIONS},
        {"minor-faults", NULL, "page faults without input or output", PERF_COUNT_SW_PAGE_FAULTS_MIN},
        {"major-faults", NULL, "page faults with input or output", PERF_COUNT_SW_PAGE_FAULTS_MAJ},
        {"alignment-faults", NULL, "unaligned accesses that the kernel mended",
         PERF_COUNT_SW_ALIGNMENT_FAULTS},
        {"emulation-faults", NULL, "instructions that the kernel emulated", PERF_COUNT_SW_EMULATION_FAULTS},
        {"dummy", NULL, "counts nothing: for the records that come with an event", PERF_COUNT_SW_DUMMY},
        {"bpf-output", NULL, "what BPF programs write", PERF_COUNT_SW_BPF_OUTPUT},
        {"cgroup-switches", NULL, "switches to a task of another cgroup", PERF_COUNT_SW_CGROUP_SWITCHES},
};

enum { NEVENTS = sizeof(events) / sizeof(events[0]) };

int event_software_encode(const char **name, struct event_code *code)
{
	for (int i = 0; i < NEVENTS; ++i) {
		if (strcmp(*name, events[i].name) && (!events[i].other || strcmp(*name, events[i].other)))
			continue;
		*name = events[i].name;
		*code = (struct event_code){.type = PERF_TYPE_SOFTWARE,
		                            .config = {events[i].config},
		                            .idx = event_idx_software | i};
		return 1;
	}
	return 0;
}

int event_software_find(int idx, struct sb_event_info *info)
{
	const int i = idx & event_idx_mask;

	if (i >= NEVENTS)
		return -sb_event_not_found;
	info->pmu = "software";
	info->event = events[i].name;
	info->about = events[i].about;
	info->type = PERF_TYPE_SOFTWARE;
	return 0;
}

int event_software_list(sb_event_callback *callback, void *context)
{
	int status = 0;

	for (int i = 0; i < NEVENTS && status == 0; ++i)
		status = callback(context, "software", events[i].name, events[i].about);
	return status;
}
