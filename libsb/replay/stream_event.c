/* stream_event.c - see stream_event.h. */
#include "replay/stream_event.h"

/* What @event is to the sink. Zero: nothing. */
static int event_for_sink(const struct pt_event *event, struct sb_flow_event *told)
{
	if (event->status_update)
		return 0;
	switch (event->type) {
	case ptev_enabled:
		*told = (struct sb_flow_event){.kind = sb_flow_on, .to = event->variant.enabled.ip};
		return 1;
	case ptev_disabled:
		*told = (struct sb_flow_event){.kind = sb_flow_off,
		                               .to = event->ip_suppressed ? 0 : event->variant.disabled.ip};
		return 1;
	case ptev_async_disabled:
		*told = (struct sb_flow_event){.kind = sb_flow_off_async,
		                               .from = event->variant.async_disabled.at,
		                               .to = event->ip_suppressed ? 0
		                                                          : event->variant.async_disabled.ip};
		return 1;
	case ptev_async_branch:
		*told = (struct sb_flow_event){.kind = sb_flow_interrupt,
		                               .from = event->variant.async_branch.from,
		                               .to = event->ip_suppressed ? 0
		                                                          : event->variant.async_branch.to};
		return 1;
	default:
		return 0;
	}
}

int stream_event_tell(struct stream_replay *replay, const struct pt_event *event)
{
	const struct sideband_observer *observer = replay->observer;
	const struct flow_owner *owner;
	struct ledger_place place;
	struct sb_flow_event told;

	if (!replay->ledger->sink->event || !event_for_sink(event, &told))
		return 0;
	owner = told.kind == sb_flow_on ? &observer->who : &observer->run;
	place = (struct ledger_place){.pid = owner->pid,
	                              .tid = owner->tid,
	                              .membership = owner->membership,
	                              .unwanted = switch_window_want(&replay->window, owner),
	                              .tsc = event->has_tsc ? event->tsc | observer->tsc_base : 0};
	return ledger_hold_event(replay->ledger, place, &told);
}

/* Before which instruction the flow was broken off from outside; 0: it was not. */
static uint64_t left_by(const struct pt_event *event)
{
	switch (event->type) {
	case ptev_async_branch:
		return event->variant.async_branch.from;
	case ptev_async_disabled:
		return event->variant.async_disabled.at;
	default:
		return 0;
	}
}

/* If there was any flow since it began or went on: what is held may be another thread's, or have been left
 * before. */
static void note_left(struct stream_replay *replay, const struct pt_event *event)
{
	const uint64_t left = left_by(event);

	if (left && replay->ran)
		ledger_hold_left(replay->ledger, left);
	if (left || event->type == ptev_enabled || event->type == ptev_disabled ||
	    event->type == ptev_overflow)
		replay->ran = 0;
}

void stream_event_interrupts(struct stream_replay *replay, const struct pt_event *event)
{
	if (event->status_update)
		return;
	note_left(replay, event);
	if (event->type == ptev_disabled || event->type == ptev_async_disabled ||
	    event->type == ptev_overflow)
		switch_window_spoil(&replay->window);
	if (event->type == ptev_disabled || event->type == ptev_async_disabled)
		sideband_observer_disabled(replay->observer, event->type == ptev_async_disabled);
	else if (event->type == ptev_overflow)
		sideband_observer_stray(replay->observer, 1);
}

void stream_event_paging(struct stream_replay *replay, const struct pt_event *event)
{
	switch (event->type) {
	case ptev_paging:
		sideband_observer_paging(replay->observer, event->variant.paging.non_root
		                                                   ? 0
		                                                   : CR3_PAGE(event->variant.paging.cr3));
		break;
	case ptev_async_paging:
		sideband_observer_paging(
		        replay->observer,
		        event->variant.async_paging.non_root ? 0 : CR3_PAGE(event->variant.async_paging.cr3));
		break;
	case ptev_disabled:
	case ptev_async_disabled:
	case ptev_overflow:
		sideband_observer_paging(replay->observer, 0);
		break;
	default:
		break;
	}
}
