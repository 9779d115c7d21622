/* event_pt.c - see event_pt.h. */
#include "capture/event_pt.h"

#include <inttypes.h>
#include <stdio.h>

#include "capture/event_error.h"

/* Attributes that only some processors have, and in which of caps/ they say so; with `values`, which values
 * are possible: bit N for N. */
static const struct {
	const char *name, *cap, *values;
} needs[] = {
        {"cyc", "psb_cyc", NULL},
        {"cyc_thresh", "psb_cyc", "cycle_thresholds"},
        {"psb_period", "psb_cyc", "psb_periods"},
        {"mtc", "mtc", NULL},
        {"mtc_period", "mtc", "mtc_periods"},
        {"ptw", "ptwrite", NULL},
        {"fup_on_ptw", "ptwrite", NULL},
        {"pwr_evt", "power_event_trace", NULL},
        {"event", "event_trace", NULL},
        {"notnt", "tnt_disable", NULL},
};

enum { wanted_period = 3 };

/* The highest of @values that is not above the wanted period; zero is one always. */
static uint64_t best_period(uint64_t values)
{
	uint64_t period = wanted_period;

	while (period && !(values >> period & 1))
		period -= 1;
	return period;
}

/* Zero when the PMU has no such attribute. */
static int put(const struct sysfs_pmu *pmu, uint64_t config[sysfs_configs], const char *name, uint64_t value,
               struct sb_error *err)
{
	struct sysfs_format format;
	const int status = sysfs_pmu_format(pmu, name, &format, err);

	if (status > 0)
		sysfs_format_put(&format, config, value);
	return status < 0 ? status : 0;
}

int event_pt_defaults(const struct sysfs_pmu *pmu, uint64_t config[sysfs_configs], struct sb_error *err)
{
	const uint64_t mtc = sysfs_pmu_cap(pmu, "mtc") != 0;
	const uint64_t psb = mtc && sysfs_pmu_cap(pmu, "psb_cyc");
	int status = put(pmu, config, "tsc", 1, err);

	if (status == 0 && mtc)
		status = put(pmu, config, "mtc", 1, err);
	if (status == 0 && mtc)
		status = put(pmu, config, "mtc_period", best_period(sysfs_pmu_cap(pmu, "mtc_periods")), err);
	if (status == 0 && psb)
		status = put(pmu, config, "psb_period", best_period(sysfs_pmu_cap(pmu, "psb_periods")), err);
	if (status == 0)
		status = put(pmu, config, "pt", 1, err);
	return status == 0 ? put(pmu, config, "branch", 1, err) : status;
}

/* Zero when it is not set, or there is no such attribute. */
static uint64_t get(const struct sysfs_pmu *pmu, const uint64_t config[sysfs_configs], const char *name)
{
	struct sysfs_format format;

	return sysfs_pmu_format(pmu, name, &format, NULL) > 0 ? sysfs_format_get(&format, config) : 0;
}

/* "0,3-6". */
static const char *list_values(uint64_t values, char text[sysfs_text_most])
{
	size_t size = 0;

	text[0] = '\0';
	for (unsigned int i = 0; i < 64; ++i) {
		unsigned int last = i;

		if (!(values >> i & 1))
			continue;
		while (last < 63 && values >> (last + 1) & 1)
			last += 1;
		size += (size_t)snprintf(text + size, sysfs_text_most - size, last > i ? "%s%u-%u" : "%s%u",
		                         size ? "," : "", i, last);
		i = last;
	}
	return text;
}

static int check_need(const struct sysfs_pmu *pmu, size_t i, uint64_t value, struct sb_error *err)
{
	char text[sysfs_text_most];
	uint64_t values;

	if (!value)
		return 0;
	if (!sysfs_pmu_cap(pmu, needs[i].cap))
		return event_fail(err, sb_event_bad_attr, "this processor has no %s (%s/caps/%s is 0)",
		                  needs[i].name, pmu->dir, needs[i].cap);
	values = needs[i].values ? sysfs_pmu_cap(pmu, needs[i].values) | 1 : UINT64_MAX;
	if (value < 64 && values >> value & 1)
		return 0;
	return event_fail(err, sb_event_bad_value, "%s=%" PRIu64 ": this processor has %s", needs[i].name,
	                  value, list_values(values, text));
}

int event_pt_check(const struct sysfs_pmu *pmu, const uint64_t config[sysfs_configs], struct sb_error *err)
{
	int status = 0;

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]) && status == 0; ++i)
		status = check_need(pmu, i, get(pmu, config, needs[i].name), err);
	/* The kernel refuses it, and does not say why. */
	if (status == 0 && get(pmu, config, "fup_on_ptw") && !get(pmu, config, "ptw"))
		status = event_fail(err, sb_event_combination, "fup_on_ptw without ptw");
	return status;
}
