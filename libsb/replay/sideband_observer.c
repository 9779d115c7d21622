/* sideband_observer.c - see sideband_observer.h. */
#include "replay/sideband_observer.h"

#include <string.h>

enum { TSC_BITS = 56 }; /* of a TSC packet */

static uint64_t to_ns(const struct sideband_observer *observer, uint64_t tsc)
{
	return sb_clock_tsc_to_ns(observer->clock, tsc | observer->tsc_base);
}

uint64_t sideband_observer_now(const struct sideband_observer *observer)
{
	uint64_t tsc;

	if (pt_blk_time(observer->decoder, &tsc, NULL, NULL) < 0)
		return 0;
	return to_ns(observer, tsc);
}

static void earlier(uint64_t *limit, uint64_t time)
{
	if (time < *limit)
		*limit = time;
}

/* When to look again. What waits for tracing to be turned off needs no tick. */
static void set_limit(struct sideband_observer *observer, uint64_t now)
{
	const int waiting = observer->state == ptds_enabled;
	uint64_t limit = UINT64_MAX, tsc;

	if (observer->epoch)
		earlier(&limit, observer->epoch->to);
	if (!waiting) {
		if (observer->space && observer->space->to > now)
			earlier(&limit, observer->space->to);
		if (observer->next < observer->nscheds)
			earlier(&limit, observer->sched[observer->next].time);
	}
	tsc = limit == UINT64_MAX ? UINT64_MAX : sb_clock_ns_to_tsc(observer->clock, limit);
	observer->base.tick.limit =
	        tsc == UINT64_MAX || tsc < observer->tsc_base ? tsc : tsc - observer->tsc_base;
}

/* Where @now lies in the first @high entries of the schedule: the first one after it. */
static size_t find_next(const struct sideband_observer *observer, size_t high, uint64_t now)
{
	size_t low = 0;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (observer->sched[middle].time <= now)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* To where @now lies in the first @high entries of the schedule. */
static void go_to(struct sideband_observer *observer, size_t high, uint64_t now)
{
	observer->next = find_next(observer, high, now);
	observer->pid = observer->next ? observer->sched[observer->next - 1].pid : -1;
	observer->tid = observer->next ? observer->sched[observer->next - 1].tid : -1;
}

/* Who runs at @now. */
static void switch_threads(struct sideband_observer *observer, uint64_t now)
{
	if (observer->jump && now) {
		go_to(observer, observer->nscheds, now);
		observer->jump = 0;
	}
	/* Time went back. */
	if (observer->next && observer->sched[observer->next - 1].time > now)
		go_to(observer, observer->next, now);
	while (observer->next < observer->nscheds && observer->sched[observer->next].time <= now) {
		const struct sb_sched *sched = &observer->sched[observer->next++];

		observer->nswitches += sched->pid != observer->pid || sched->tid != observer->tid;
		observer->pid = sched->pid;
		observer->tid = sched->tid;
	}
	observer->space = observer->pid < 0 ? NULL : sb_system_space(observer->system, observer->pid, now);
}

static int use_image(struct sideband_observer *observer)
{
	struct pt_image *image = image_builder_get(observer->images, observer->epoch);

	if (!image)
		return -pte_nomem;
	if (image == observer->image)
		return 0;
	observer->image = image;
	return pt_blk_set_image(observer->decoder, image);
}

/* Applies what is due. @boundary: tracing is off, or is just being turned on. */
static int apply(struct sideband_observer *observer, uint64_t now, int boundary)
{
	int status;

	if (boundary)
		switch_threads(observer, now);
	observer->epoch = observer->space ? sb_space_epoch(observer->space, now) : NULL;
	status = use_image(observer);
	set_limit(observer, now);
	return status;
}

static int on_tick(struct pt_observer *self, uint64_t tsc, uint32_t lost_mtc, uint32_t lost_cyc)
{
	struct sideband_observer *observer = self->context;

	(void)lost_mtc;
	(void)lost_cyc;
	/* Before the first TSC packet, the time is relative. */
	if (pt_blk_time(observer->decoder, &tsc, NULL, NULL) < 0)
		return 0;
	return apply(observer, to_ns(observer, tsc), observer->state != ptds_enabled);
}

static int on_state(struct pt_observer *self, enum pt_decode_state state)
{
	struct sideband_observer *observer = self->context;

	observer->state = state;
	return state == ptds_unknown ? 0 : apply(observer, sideband_observer_now(observer), 1);
}

/* The counter's upper bits, which TSC packets do not have, do not change within a year: any record's
 * time tells them. */
static uint64_t upper_bits(const struct sb_clock *clock, const struct sb_sched *sched, size_t nscheds)
{
	uint64_t tsc = nscheds ? sb_clock_ns_to_tsc(clock, sched[nscheds - 1].time) : 0;

	return tsc == UINT64_MAX ? 0 : tsc >> TSC_BITS << TSC_BITS;
}

void sideband_observer_init(struct sideband_observer *observer, const struct sb_system *system,
                            const struct sb_clock *clock, struct image_builder *images,
                            const struct sb_sched *sched, size_t nscheds)
{
	*observer = (struct sideband_observer){.system = system,
	                                       .clock = clock,
	                                       .images = images,
	                                       .sched = sched,
	                                       .nscheds = nscheds,
	                                       .tsc_base = upper_bits(clock, sched, nscheds),
	                                       .pid = -1,
	                                       .tid = -1};
}

int sideband_observer_watch(struct sideband_observer *observer, struct pt_block_decoder *decoder)
{
	int status;

	observer->base = (struct pt_observer){.size = sizeof(observer->base), .context = observer};
	observer->base.tick.callback = on_tick;
	observer->base.state.callback = on_state;
	observer->decoder = decoder;
	observer->state = ptds_unknown;
	observer->image = NULL;
	status = use_image(observer);
	return status < 0 ? status : pt_blk_attach_obsv(decoder, &observer->base);
}

/* Nobody knows who runs. */
static int forget(struct sideband_observer *observer)
{
	observer->base.tick.limit = 0;
	observer->next = 0;
	observer->pid = observer->tid = -1;
	observer->space = NULL;
	observer->epoch = NULL;
	observer->nswitches = 0;
	return use_image(observer);
}

int sideband_observer_move(struct sideband_observer *observer, const struct sb_sched *sched, size_t nscheds)
{
	observer->sched = sched;
	observer->nscheds = nscheds;
	observer->tsc_base = upper_bits(observer->clock, sched, nscheds);
	observer->jump = 0;
	return forget(observer);
}

int sideband_observer_jump(struct sideband_observer *observer)
{
	observer->jump = 1;
	return forget(observer);
}

struct sideband_state sideband_observer_state(const struct sideband_observer *observer)
{
	return (struct sideband_state){.state = observer->state,
	                               .pid = observer->pid,
	                               .tid = observer->tid,
	                               .space = observer->space,
	                               .epoch = observer->epoch,
	                               .next = observer->next,
	                               .limit = observer->base.tick.limit};
}

int sideband_state_equal(const struct sideband_state *a, const struct sideband_state *b)
{
	return a->state == b->state && a->pid == b->pid && a->tid == b->tid && a->space == b->space &&
	       a->epoch == b->epoch && a->next == b->next && a->limit == b->limit;
}
