/* cursor_event.c - tracing is turned off behind a cached path, and on again before another one; see cursor.h.
 *
 * What pt_flow_event() does, where nothing of what it looks out for can be.
 */
#include "event/event_packets.h"
#include "flow/cursor_next.h"

/* Whether @ev, which is due, is alone, and nobody but the flow takes note of it. */
static int is_plain(const struct pt_flow *flow, const struct pt_event *ev)
{
	return flow->evd.queue_count == 1 && !ev->status_update && flow->reached == flow->evd.sync &&
	       !(flow->ticks | flow->in_branch | flow->at_mov_cr3) && !flow->observers.count;
}

/* The event that was just handed out, @ev, becomes the one of the TIP.PGE that comes next, at the same time.
 * Zero: something else comes. */
static int becomes_enabled(struct pt_evd *evd, struct pt_event *ev)
{
	const struct pt_packet_form *form;

	evd->pos = pt_packet_skip_pads(evd->pos, evd->config.end);
	if (!pt_evd_has_room(evd))
		return 0;
	form = &pt_packet_forms[*evd->pos];
	if (form->type != ppt_tip_pge || !pt_evd_can_take_ip(evd, form))
		return 0;
	pt_evd_take_ip(evd, form);
	ev->type = ptev_enabled;
	pt_evd_set_event_time(evd, ev);
	ev->ip_suppressed = 0;
	ev->variant.enabled.ip = evd->last.ip;
	ev->variant.enabled.resumed = 0;
	evd->enabled = 1;
	evd->no_tnt = 0;
	evd->ahead = 0;
	return 1;
}

static int turn_off(struct pt_flow *flow, struct pt_event *ev)
{
	flow->enabled = 0;
	flow->node = NULL;
	flow->observers.state = ptds_disabled;
	pt_flow_look_at_image(flow);
	if (!becomes_enabled(&flow->evd, ev)) {
		pt_evd_pop(&flow->evd);
		pt_flow_advance(flow);
		return pt_flow_status(flow);
	}
	flow->fresh_tnt = 0;
	return pts_event_pending | pts_ip_suppressed;
}

static int turn_on(struct pt_cursor *cursor, struct pt_event *event)
{
	struct pt_flow *flow = cursor->flow;

	pt_flow_apply(flow, event);
	pt_evd_pop(&flow->evd);
	pt_flow_look_at_image(flow);
	flow->due = 0;
	flow->unit = pt_flow_no_unit;
	flow->evd.pos = pt_packet_skip_pads(flow->evd.pos, flow->evd.config.end);
	if (pt_cursor_enter_known(cursor))
		return 0;
	pt_flow_advance(flow);
	return pt_flow_status(flow);
}

int pt_cursor_turn(struct pt_cursor *cursor, struct pt_event *event)
{
	struct pt_flow *flow = cursor->flow;
	struct pt_event *ev = &flow->evd.queue[flow->evd.queue_head];
	const int turns = ev->type == (flow->enabled ? ptev_disabled : ptev_enabled);

	if (!flow->due || !turns || !is_plain(flow, ev))
		return -pte_bad_query;
	flow->at_start = 0;
	flow->told = ev->tsc;
	*event = *ev;
	return flow->enabled ? turn_off(flow, ev) : turn_on(cursor, event);
}
