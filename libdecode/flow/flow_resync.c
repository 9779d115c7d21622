/* flow_resync.c - going on after an error, in the middle of a PSB segment.
 *
 * Where trace and code do not fit, code is missing, or the like, the trace itself is still good: the
 * next packet that tells an address (a TIP, an event bound to a FUP, TIP.PGE, PSB+) is where the flow
 * can go on. Behind a packet that cannot be read, only the next PSB is.
 */
#include "flow/flow.h"

#include "event/event_place.h"
#include "event/tip_order.h"

/* Whether the flow can stand where the event at the queue's head holds; else it is applied as far as it goes
 * without an address, and dropped. */
static int stands_at_event(struct pt_flow *flow)
{
	struct pt_event event = *pt_evd_event(&flow->evd);
	const uint64_t *place = pt_event_place(&event);

	if (event.type == ptev_overflow || (event.type == ptev_enabled && !event.status_update)) {
		flow->due = 1;
		return 1;
	}
	if (place && (!event.ip_suppressed || event.type == ptev_async_branch)) {
		pt_flow_enable(flow, *place);
		pt_flow_arrive(flow);
		return 1;
	}
	pt_evd_pop(&flow->evd);
	if (event.type != ptev_disabled && event.type != ptev_async_disabled)
		pt_flow_apply(flow, &event);
	return 0;
}

/* Whether the code at the target of the TIP that was read last has all of its TNT bits behind the TIP, before
 * which a TNT stands, or may stand. If not, who has not followed the flow up to here cannot tell which are
 * that code's. */
static int is_in_order(struct pt_flow *flow)
{
	if (flow->asked_order != flow->evd.sync) {
		flow->asked_order = flow->evd.sync;
		flow->order = (uint8_t)pt_tip_order(&flow->evd);
	}
	return flow->order == pt_tips_in_order ||
	       (flow->order == pt_tips_unclear && pt_tnt_follows(&flow->evd));
}

/* Uses up the present unit. Returns whether it told where execution stands. *@behind_tnt: a TNT may stand
 * before it, and nothing but TIPs and the time in between. */
static int stands_at_unit(struct pt_flow *flow, int *behind_tnt)
{
	switch (flow->unit) {
	case pt_unit_tnt:
		flow->evd.tnt_count = 0;
		*behind_tnt = 1;
		return 0;
	case pt_unit_tip:
		if (flow->evd.tip_suppressed || (*behind_tnt && !is_in_order(flow)))
			return 0;
		pt_flow_enable(flow, flow->evd.tip_ip);
		pt_flow_advance(flow);
		return 1;
	case pt_flow_no_unit:
		return 0;
	default:
		if (pt_evd_event(&flow->evd)->type != ptev_cbr)
			*behind_tnt = 0;
		return stands_at_event(flow);
	}
}

static int go_on(struct pt_flow *flow)
{
	int behind_tnt = 1;

	/* The unit at which the error was found, as far as it is left. */
	if (flow->unit >= 0 && stands_at_unit(flow, &behind_tnt))
		return 0;
	flow->evd.tnt_count = 0;
	for (;;) {
		flow->unit = pt_evd_fetch(&flow->evd);
		if (flow->unit < 0)
			return flow->unit;
		flow->reached = flow->evd.sync;
		if (stands_at_unit(flow, &behind_tnt))
			return 0;
	}
}

/* The reader of packets stopped, and does not know where the next one begins. */
static int is_lost(int status)
{
	return status == -pte_bad_opc || status == -pte_bad_packet || status == -pte_bad_context;
}

/* No packet makes this of a part of an address and what was before. */
static const uint64_t no_last_ip = 0xdead000000000000;

static int is_whole(uint64_t ip)
{
	return ip >> 48 != no_last_ip >> 48;
}

/* What stands at a part of an address is of no use: it is not looked at again. */
static void drop_unit(struct pt_flow *flow)
{
	if (flow->unit == pt_unit_event)
		pt_evd_pop(&flow->evd);
	if (flow->unit == pt_unit_tip || (flow->unit == pt_unit_event && !flow->evd.queue_count))
		flow->unit = pt_flow_no_unit;
}

/* Whether the packet that was read last is a TIP or TIP.PGE with a whole address. */
static int ends_with_whole(const struct pt_evd *evd)
{
	const unsigned int opcode = evd->packet[0] & 0x1f, ipc = evd->packet[0] >> 5;

	return (opcode == 0x0d || opcode == 0x11) && (ipc == pt_ipc_sext_48 || ipc == pt_ipc_full);
}

/* What was read ahead was put together from packets before; only what the last of them holds as a whole does
 * not depend on them. */
static void forget_parts(struct pt_flow *flow)
{
	struct pt_event *event = flow->unit == pt_unit_event ? pt_evd_event(&flow->evd) : NULL;

	if (!ends_with_whole(&flow->evd) || flow->unit == pt_unit_tnt) {
		drop_unit(flow);
		flow->evd.last.ip = no_last_ip;
	} else if (event && event->type == ptev_async_branch) {
		event->variant.async_branch.from = no_last_ip;
	}
}

/* Where an asynchronous branch came from is of no use, but where it led to is: as from a program to the
 * kernel, whose addresses have nothing in common. */
static int go_to_target(struct pt_flow *flow)
{
	const struct pt_event *event = pt_evd_event(&flow->evd);
	uint64_t to;

	if (!flow->due || event->type != ptev_async_branch || event->ip_suppressed ||
	    !is_whole(event->variant.async_branch.to))
		return 0;
	to = event->variant.async_branch.to;
	pt_evd_pop(&flow->evd);
	flow->due = 0;
	pt_flow_enable(flow, to);
	pt_flow_advance(flow);
	return 1;
}

int pt_flow_resync_whole(struct pt_flow *flow)
{
	int status;

	if (!flow->synced || is_lost(flow->unit))
		return pt_flow_sync_forward(flow);
	forget_parts(flow);
	for (;;) {
		status = pt_flow_resync(flow);
		if (status < 0 || !flow->enabled || is_whole(flow->ip))
			return status;
		if (go_to_target(flow))
			return pt_flow_status(flow);
		/* Behind a TIP, the next unit was read, and is looked at. */
		if (flow->due)
			drop_unit(flow);
	}
}

int pt_flow_resync(struct pt_flow *flow)
{
	const int unit = flow->unit;
	int status;

	if (!flow->synced || is_lost(unit))
		return pt_flow_sync_forward(flow);
	pt_flow_lose_way(flow);
	pt_flow_notify(flow, ptds_unknown);
	flow->entry_flags = pt_flow_resynced;
	flow->status = 0;
	pt_flow_look_at_image(flow);
	status = go_on(flow);
	/* Whatever the reader refuses, it refuses again. */
	if (status < 0 && status != -pte_eos)
		return pt_flow_sync_forward(flow);
	flow->status = status < 0 ? status : 0;
	if (status == 0)
		status = pt_observers_take_error(&flow->observers);
	return status < 0 ? status : pt_flow_status(flow);
}
