/* observer.c - see observer.h. */
#include "flow/observer.h"

#include <stdlib.h>
#include <string.h>

/* While attached, both next pointers point to the observer itself: enough to tell that it is. */
static int is_attached(const struct pt_observer *obsv)
{
	return obsv->tick.next == obsv || obsv->state.next == obsv;
}

static void mark(struct pt_observer *obsv, int attached)
{
	obsv->tick.next = attached ? obsv : NULL;
	obsv->state.next = attached ? obsv : NULL;
}

static int has_callback(const struct pt_observer *obsv)
{
	return obsv->tick.callback || obsv->state.callback;
}

void pt_observers_init(struct pt_observers *observers)
{
	memset(observers, 0, sizeof(*observers));
}

void pt_observers_fini(struct pt_observers *observers)
{
	for (uint32_t i = 0; i < observers->count; ++i)
		mark(observers->entry[i].obsv, 0);
	free(observers->entry);
	pt_observers_init(observers);
}

int pt_observers_attach(struct pt_observers *observers, struct pt_observer *obsv, const struct pt_time *time)
{
	if (!obsv || obsv->size < sizeof(*obsv) || is_attached(obsv))
		return -pte_invalid;
	if (!has_callback(obsv))
		return 0; /* detached again at once */
	if (observers->count == observers->capacity) {
		const uint32_t capacity = observers->capacity ? 2 * observers->capacity : 2;
		struct pt_observer_entry *entry = realloc(observers->entry, capacity * sizeof(*entry));

		if (!entry)
			return -pte_nomem;
		observers->entry = entry;
		observers->capacity = capacity;
	}
	mark(obsv, 1);
	observers->entry[observers->count++] = (struct pt_observer_entry){.obsv = obsv, .told = time->tsc};
	return 0;
}

static void keep_error(struct pt_observers *observers, int status)
{
	if (status < 0 && !observers->errcode)
		observers->errcode = status;
}

static void drop_detached(struct pt_observers *observers)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < observers->count; ++i) {
		if (has_callback(observers->entry[i].obsv))
			observers->entry[kept++] = observers->entry[i];
		else
			mark(observers->entry[i].obsv, 0);
	}
	observers->count = kept;
}

/* Ticks all that are due; when it is no new moment, only those that were not told of it. */
static void tick_due(struct pt_observers *observers, const struct pt_time *time, int new_moment)
{
	for (uint32_t i = 0; i < observers->count; ++i) {
		struct pt_observer *obsv = observers->entry[i].obsv;

		if (!obsv->tick.callback || time->tsc < obsv->tick.limit)
			continue;
		if (!new_moment && observers->entry[i].told == time->tsc)
			continue;
		observers->entry[i].told = time->tsc;
		observers->calls += 1;
		keep_error(observers, obsv->tick.callback(obsv, time->tsc, time->lost_mtc, time->lost_cyc));
	}
}

void pt_observers_tick(struct pt_observers *observers, const struct pt_time *time)
{
	observers->calling = 1;
	tick_due(observers, time, 1);
	observers->calling = 0;
	drop_detached(observers);
}

void pt_observers_state(struct pt_observers *observers, enum pt_decode_state state,
                        const struct pt_time *time)
{
	if (state == observers->state)
		return;
	observers->state = state;
	observers->calling = 1;
	for (uint32_t i = 0; i < observers->count; ++i) {
		struct pt_observer *obsv = observers->entry[i].obsv;

		if (!obsv->state.callback)
			continue;
		observers->calls += 1;
		keep_error(observers, obsv->state.callback(obsv, state));
	}
	if (time->have_tsc)
		tick_due(observers, time, 0);
	observers->calling = 0;
	drop_detached(observers);
}

uint64_t pt_observers_limit(const struct pt_observers *observers)
{
	uint64_t limit = UINT64_MAX;

	for (uint32_t i = 0; i < observers->count; ++i) {
		const struct pt_observer *obsv = observers->entry[i].obsv;

		if (obsv->tick.callback && obsv->tick.limit < limit)
			limit = obsv->tick.limit;
	}
	return limit;
}

int pt_observers_take_error(struct pt_observers *observers)
{
	const int status = observers->errcode;

	observers->errcode = 0;
	return status;
}
