/* tracepoints.c - which tracepoint a SAMPLE is of, and what a sample of sched:sched_switch says.
 *
 * A tracepoint's event has its number as attr.config; TRACING_DATA says what the raw bytes of that number
 * are.
 */
#include "perfdata/perfdata_internal.h"

#include <linux/perf_event.h>
#include <stdlib.h>

const char *sb_perfdata_set_tracepoints(struct sb_perfdata *perfdata, const uint8_t *bytes, uint64_t size)
{
	const char *wrong;

	tracing_data_free(&perfdata->tracepoints);
	wrong = tracing_data_read(&perfdata->tracepoints, bytes, size);
	perfdata->sched_switch = tracing_data_by_name(&perfdata->tracepoints, "sched", "sched_switch");
	return wrong;
}

/* NULL: nobody knows. */
static const struct event_attr *attr_of(const struct sb_perfdata *perfdata, const struct sb_record *sample)
{
	const struct id_attr *entry = NULL;

	if (sample->sample.has & PERF_SAMPLE_ID)
		entry = sb_perfdata_find_id(perfdata, sample->sample.id);
	if (entry)
		return &perfdata->attr[entry->attr];
	return perfdata->nattrs == 1 ? perfdata->attr : NULL;
}

const struct sb_tracepoint *sb_perfdata_tracepoint(const struct sb_perfdata *perfdata,
                                                   const struct sb_record *sample)
{
	const struct event_attr *attr;

	if (sample->type != PERF_RECORD_SAMPLE || !(sample->u.sample.has & PERF_SAMPLE_RAW) ||
	    !perfdata->tracepoints.ntracepoints)
		return NULL;
	attr = attr_of(perfdata, sample);
	return attr && attr->type == PERF_TYPE_TRACEPOINT
	               ? tracing_data_by_id(&perfdata->tracepoints, attr->config)
	               : NULL;
}

static int get_tid(const struct sb_tracepoint *tracepoint, const char *name, const struct sb_sample *sample,
                   int32_t *tid)
{
	const struct sb_tracepoint_field *field = sb_tracepoint_find(tracepoint, name);
	uint64_t value;

	if (!field || !sb_tracepoint_value(field, sample->raw, sample->raw_size, &value))
		return 0;
	*tid = (int32_t)value;
	return 1;
}

void sb_perfdata_read_sched_switch(const struct sb_perfdata *perfdata, struct sb_record *record)
{
	struct sb_sample *sample = &record->u.sample;
	const struct sb_tracepoint *tracepoint = sb_perfdata_tracepoint(perfdata, record);

	if (tracepoint && tracepoint == perfdata->sched_switch)
		sample->is_sched_switch = get_tid(tracepoint, "prev_pid", sample, &sample->prev_tid) &&
		                          get_tid(tracepoint, "next_pid", sample, &sample->next_tid);
}
