/* lost_spans.c - see lost_spans.h. */
#include "replay/lost_spans.h"

#include <linux/perf_event.h>
#include <stdlib.h>

#include "system/arena.h"
#include "system/schedule.h"

/* Records: whoever is switched to and away again, and is named by none that is left, has lost as many. */
enum { HIDES_LEAST = 2 };

static int add(struct lost_spans *spans, const struct lost_span *span)
{
	if (array_reserve(&spans->of, &spans->capacity, spans->count, sizeof(*spans->of)) < 0)
		return -sbe_nomem;
	spans->of[spans->count++] = *span;
	return 0;
}

/* From there to the next switch, the schedule says that nobody knows who runs. */
static int is_nobody(const struct sb_sched *entry)
{
	return entry->tid < 0 && entry->prev_tid < 0 && entry->records == sb_sched_other;
}

/* From the CPU's record before to where it is known again who runs. */
static struct lost_span span_of(const struct sb_system *system, const struct sb_lost *lost)
{
	struct lost_span span = {0, UINT64_MAX, lost->cpu, lost->nrecords, lost->nrecords >= HIDES_LEAST};
	size_t count;
	const struct sb_sched *sched = sb_system_schedule(system, lost->cpu, &count);
	const size_t behind = array_above(sched, count, sizeof(*sched), lost->time);

	for (size_t i = behind; i && !span.from; --i)
		if (is_nobody(&sched[i - 1]))
			span.from = sched[i - 1].time;
	for (size_t i = behind; i < count && span.to == UINT64_MAX; ++i)
		if (sched[i].tid >= 0)
			span.to = sched[i].time;
	if (behind && sched[behind - 1].tid >= 0)
		span.to = lost->time;
	return span;
}

/* What perf adds at the end happened nowhere: where that is, schedules say. */
static int add_told(struct lost_spans *spans, const struct sb_system *system)
{
	size_t count;
	const struct sb_lost *lost = sb_system_lost(system, &count);
	int status = 0;

	for (size_t i = 0; i < count && status == 0; ++i)
		if (lost[i].type == PERF_RECORD_LOST) {
			const struct lost_span span = span_of(system, &lost[i]);

			status = add(spans, &span);
		}
	return status;
}

/* Where a CPU's records end before the recording does. */
static int add_ends(struct lost_spans *spans, const struct sb_system *system)
{
	const struct schedule *schedule = system_schedule(system);
	int status = 0;

	for (size_t i = 0; i < schedule->ncpus && status == 0; ++i) {
		const struct sb_sched *end = schedule_end(schedule, i);

		if (end && is_nobody(end))
			status = add(spans, &(struct lost_span){end->time, UINT64_MAX, (int32_t)i, 0, 1});
	}
	return status;
}

/* Whether records tell at all who runs. */
static int is_told(const struct schedule *schedule)
{
	for (size_t i = 0; i < schedule->ncpus; ++i)
		if (schedule_end(schedule, i))
			return 1;
	return 0;
}

/* Where a CPU's trace begins, a record says who runs there: of one with trace of which there is none, but of
 * others, all records are lost. */
static int add_silent(struct lost_spans *spans, const struct sb_system *system,
                      const struct sb_perfdata *perfdata)
{
	size_t nstreams = 0, count;
	const struct sb_aux_stream *stream = perfdata ? sb_perfdata_streams(perfdata, &nstreams) : NULL;
	int status = 0;

	if (!is_told(system_schedule(system)))
		return 0;
	for (size_t i = 0; i < nstreams && status == 0; ++i) {
		if (stream[i].cpu < 0)
			continue;
		sb_system_schedule(system, stream[i].cpu, &count);
		if (!count)
			status = add(spans, &(struct lost_span){0, UINT64_MAX, stream[i].cpu, 0, 1});
	}
	return status;
}

static int unite(struct lost_spans *spans)
{
	struct lost_time *any = calloc(spans->count + 1, sizeof(*any)), *last = NULL;

	if (!any)
		return -sbe_nomem;
	spans->any.of = any;
	for (size_t i = 0; i < spans->count; ++i) {
		const struct lost_span *one = &spans->of[i];

		if (!last || last->to < one->from) {
			last = &any[spans->any.count++];
			*last = (struct lost_time){one->from, one->to};
		} else if (last->to < one->to) {
			last->to = one->to;
		}
	}
	return 0;
}

int lost_spans_init(struct lost_spans *spans, const struct sb_system *system,
                    const struct sb_perfdata *perfdata)
{
	int status;

	*spans = (struct lost_spans){0};
	status = add_told(spans, system);
	if (status == 0)
		status = add_ends(spans, system);
	if (status == 0)
		status = add_silent(spans, system, perfdata);
	if (status == 0)
		status = array_sort(spans->of, spans->count, sizeof(*spans->of));
	return status < 0 ? status : unite(spans);
}

void lost_spans_fini(struct lost_spans *spans)
{
	free(spans->of);
	free((void *)(uintptr_t)spans->any.of);
	*spans = (struct lost_spans){0};
}

int lost_spans_meet(const struct lost_spans *spans, uint64_t from, uint64_t to)
{
	return lost_times_meet(&spans->any, from, to);
}

int lost_spans_hide(const struct lost_spans *spans, int32_t cpu, uint64_t from, uint64_t to)
{
	if (!lost_spans_meet(spans, from, to))
		return 0;
	for (size_t i = 0; i < spans->count && spans->of[i].from <= to; ++i)
		if (spans->of[i].hides_switch && spans->of[i].to >= from &&
		    (spans->of[i].cpu < 0 || spans->of[i].cpu == cpu))
			return 1;
	return 0;
}
