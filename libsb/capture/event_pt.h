/* event_pt.h - what is special about the PMU intel_pt: what is not said has values, and what the hardware
 * cannot do is refused before the kernel does it without a reason (perf-intel-pt(1); Intel SDM vol. 3, CPUID
 * leaf 14h).
 */
#ifndef SB_EVENT_PT_H
#define SB_EVENT_PT_H

#include "capture/sysfs_pmu.h"

static inline int event_pt_is(const char *pmu)
{
	return !__builtin_strcmp(pmu, "intel_pt");
}

/* Zero or a negative enum sb_event_errcode. */
int event_pt_defaults(const struct sysfs_pmu *pmu, uint64_t config[sysfs_configs], struct sb_error *err);
int event_pt_check(const struct sysfs_pmu *pmu, const uint64_t config[sysfs_configs], struct sb_error *err);

#endif
