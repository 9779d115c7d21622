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

/* The nearest that the processor can do. */
static int put_period(const struct sysfs_pmu *pmu, uint64_t config[sysfs_configs], const char *name,
                      const char *cap, struct sb_error *err)
{
	uint64_t values;
	const int status = sysfs_pmu_cap(pmu, cap, &values, err);

	return status == 0 ? put(pmu, config, name, best_period(values), err) : status;
}

int event_pt_defaults(const struct sysfs_pmu *pmu, uint64_t config[sysfs_configs], struct sb_error *err)
{
	uint64_t mtc = 0, psb = 0;
	int status = sysfs_pmu_cap(pmu, "mtc", &mtc, err);

	if (status == 0)
		status = sysfs_pmu_cap(pmu, "psb_cyc", &psb, err);
	if (status == 0)
		status = put(pmu, config, "tsc", 1, err);
	if (status == 0 && mtc)
		status = put(pmu, config, "mtc", 1, err);
	if (status == 0 && mtc)
		status = put_period(pmu, config, "mtc_period", "mtc_periods", err);
	if (status == 0 && mtc && psb)
		status = put_period(pmu, config, "psb_period", "psb_periods", err);
	if (status == 0)
		status = put(pmu, config, "pt", 1, err);
	return status == 0 ? put(pmu, config, "branch", 1, err) : status;
}

/* Zero when it is not set, or there is no such attribute that we understand. */
static int get(const struct sysfs_pmu *pmu, const uint64_t config[sysfs_configs], const char *name,
               uint64_t *value, struct sb_error *err)
{
	struct sysfs_format format;
	const int status = sysfs_pmu_format(pmu, name, &format, NULL);

	*value = status > 0 ? sysfs_format_get(&format, config) : 0;
	return status == -sb_event_nomem
	               ? event_fail(err, sb_event_nomem, "%s/format cannot be read", pmu->dir)
	               : 0;
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
	uint64_t cap, values = UINT64_MAX;
	int status;

	if (!value)
		return 0;
	status = sysfs_pmu_cap(pmu, needs[i].cap, &cap, err);
	if (status == 0 && !cap)
		return event_fail(err, sb_event_bad_attr, "this processor has no %s (%s/caps/%s is 0)",
		                  needs[i].name, pmu->dir, needs[i].cap);
	if (status == 0 && needs[i].values) {
		status = sysfs_pmu_cap(pmu, needs[i].values, &values, err);
		values |= 1;
	}
	if (status < 0 || (value < 64 && values >> value & 1))
		return status;
	return event_fail(err, sb_event_bad_value, "%s=%" PRIu64 ": this processor has %s", needs[i].name,
	                  value, list_values(values, text));
}

int event_pt_check(const struct sysfs_pmu *pmu, const uint64_t config[sysfs_configs], struct sb_error *err)
{
	uint64_t value, fup = 0, ptw = 0;
	int status = 0;

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]) && status == 0; ++i) {
		status = get(pmu, config, needs[i].name, &value, err);
		if (status == 0)
			status = check_need(pmu, i, value, err);
	}
	if (status == 0)
		status = get(pmu, config, "fup_on_ptw", &fup, err);
	if (status == 0)
		status = get(pmu, config, "ptw", &ptw, err);
	/* The kernel refuses it, and does not say why. */
	if (status == 0 && fup && !ptw)
		status = event_fail(err, sb_event_combination, "fup_on_ptw without ptw");
	return status;
}
