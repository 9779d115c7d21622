/* Strides: along as many windows as the run cache knows, one behind the other. */
#ifndef PT_RUN_STRIDE_H
#define PT_RUN_STRIDE_H

#include "flow/run_walk.h"

/* Follows windows as long as they are known, from where the flow stands, which is plain. @events: those may
 * be part of cached paths, and nobody listens to time. Returns whether there were any. */
int pt_run_stride(struct pt_run_walk *walk, uint32_t events);

/* Tells the time behind the run's first @npaths paths. */
static inline void pt_run_tell_time(struct pt_run_walk *walk, struct pt_run_time *told, uint32_t npaths)
{
	const struct pt_time *time = &walk->flow->evd.time;

	walk->told = time->tsc;
	*told = (struct pt_run_time){.path = npaths,
	                             .lost_mtc = time->lost_mtc,
	                             .lost_cyc = time->lost_cyc,
	                             .has_tsc = time->have_tsc,
	                             .tsc = time->tsc};
}

/* The run begins now. */
static inline void pt_run_begin_time(struct pt_run_walk *walk)
{
	pt_run_tell_time(walk, &walk->time, 0);
}

/* Time went on inside of the run, behind its first @npaths paths. */
static inline void pt_run_put_time(struct pt_run_walk *walk, uint32_t npaths)
{
	if (walk->last_time)
		walk->ntimes = 0;
	pt_run_tell_time(walk, &walk->times[walk->ntimes++], npaths);
}

/* Behind the first @npaths paths. */
static inline void pt_run_put_event(struct pt_run_walk *walk, const struct pt_event *event, uint32_t npaths)
{
	struct pt_run_event *const put = &walk->event[walk->nevents++];

	put->path = npaths;
	put->reserved = 0;
	memcpy(&put->event, event, sizeof(put->event));
}

#endif
