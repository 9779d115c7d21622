/* live_machine.c - see live_machine.h. The processor tells of its crystal clock by CPUID leaf 15h, and of its
 * nominal frequency by 16h, for kernels that do not say (Intel SDM, vol. 2).
 */
#include "capture/live_machine.h"

#include <cpuid.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "capture/event_error.h"
#include "capture/live_events.h"
#include "capture/shortage.h"
#include "capture/sysfs_pmu.h"

enum { crystal_leaf = 0x15, frequency_leaf = 0x16, bus_mhz = 100 };

/* The value of a line "KEY : VALUE"; zero when it is not that line. */
static int take_value(const char *line, const char *key, char *value, size_t size)
{
	const size_t length = strlen(key);
	const char *colon = strchr(line, ':');

	if (strncmp(line, key, length) != 0 || !colon || line[length + strspn(line + length, " \t")] != ':')
		return 0;
	colon += 1 + strspn(colon + 1, " \t");
	snprintf(value, size, "%.*s", (int)strcspn(colon, "\n"), colon);
	return 1;
}

/* Zero, or -errno of a shortage. */
static int read_cpuinfo(struct live_machine *machine, const char *proc)
{
	static const char *const keys[] = {"vendor_id", "cpu family", "model", "stepping"};
	char path[PATH_MAX], line[4096], value[4][16] = {"unknown", "0", "0", "0"};
	FILE *file;

	snprintf(machine->cpudesc, sizeof(machine->cpudesc), "unknown");
	snprintf(path, sizeof(path), "%s/cpuinfo", proc);
	file = fopen(path, "re");
	if (!file && is_shortage(errno))
		return -errno;
	while (file && fgets(line, sizeof(line), file) && line[0] != '\n') {
		for (int i = 0; i < 4; ++i)
			take_value(line, keys[i], value[i], sizeof(value[i]));
		take_value(line, "model name", machine->cpudesc, sizeof(machine->cpudesc));
	}
	if (file)
		fclose(file);
	snprintf(machine->cpuid, sizeof(machine->cpuid), "%s,%s,%s,%s", value[0], value[1], value[2],
	         value[3]);
	return 0;
}

static int take_cpu(void *context, uint32_t cpu)
{
	uint32_t *ncpus = context;

	if (cpu >= *ncpus)
		*ncpus = cpu + 1;
	return 0;
}

/* Zero, or -errno of a shortage. */
static int read_ratios(struct live_machine *machine, const struct sysfs_pmu *pmu)
{
	unsigned int eax, ebx, ecx, edx, ratio = 0;
	char text[sysfs_text_most];
	int status = sysfs_pmu_text(pmu, ".", "tsc_art_ratio", text);

	if (status < 0)
		return status;
	if (!status ||
	    sscanf(text, "%" SCNu32 ":%" SCNu32, &machine->tsc_ctc_num, &machine->tsc_ctc_den) != 2) {
		machine->tsc_ctc_num = machine->tsc_ctc_den = 0;
		if (__get_cpuid(crystal_leaf, &eax, &ebx, &ecx, &edx)) {
			machine->tsc_ctc_num = ebx;
			machine->tsc_ctc_den = eax;
		}
	}
	status = sysfs_pmu_text(pmu, ".", "max_nonturbo_ratio", text);
	if (status < 0)
		return status;
	if (!status || sscanf(text, "%u", &ratio) != 1) {
		ratio = 0;
		if (__get_cpuid(frequency_leaf, &eax, &ebx, &ecx, &edx))
			ratio = (eax & 0xffff) / bus_mhz;
	}
	machine->max_nonturbo_ratio = ratio <= UINT8_MAX ? (uint8_t)ratio : 0;
	return 0;
}

static int read_pt(struct live_machine *machine, const char *sysfs)
{
	struct sysfs_pmu pmu;
	uint64_t event_trace;
	int status = sysfs_pmu_open(&pmu, sysfs, "intel_pt", NULL);

	if (status < 0)
		return status == -sb_event_nomem ? -ENOMEM : 0;
	machine->pt_type = pmu.type;
	if (sysfs_pmu_cap(&pmu, "event_trace", &event_trace, NULL) < 0)
		return -ENOMEM;
	machine->event_trace = event_trace != 0;
	return read_ratios(machine, &pmu);
}

int live_machine_read(struct live_machine *machine, const char *proc, const char *sysfs)
{
	int status;

	memset(machine, 0, sizeof(*machine));
	status = read_cpuinfo(machine, proc);
	if (!is_shortage(-status))
		status = live_cpus(sysfs, "possible", take_cpu, &machine->ncpus);
	if (!is_shortage(-status))
		status = live_cpus(sysfs, "online", take_cpu, &machine->ncpus);
	return is_shortage(-status) ? status : read_pt(machine, sysfs);
}

struct sb_clock live_machine_clock(const struct live_ring *ring)
{
	const struct perf_event_mmap_page *page = ring->page;
	struct sb_clock clock = {0};
	uint32_t lock;

	/* The kernel may be about to change it; see perf_event_open(2). */
	do {
		lock = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
		clock = (struct sb_clock){0};
		if (page->cap_user_time_zero)
			clock = (struct sb_clock){.time_shift = page->time_shift,
			                          .time_mult = page->time_mult,
			                          .time_zero = page->time_zero};
		__asm__ volatile("" ::: "memory"); /* x86 keeps loads in order */
	} while (lock & 1 || lock != __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE));
	return clock;
}
