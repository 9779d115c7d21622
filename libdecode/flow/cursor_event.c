/* cursor_event.c - tracing is turned off behind a cached path, and on again before another one; see cursor.h.
 *
 * What pt_flow_event() does, where nothing of what it looks out for can be.
 */
#include "flow/cursor_next.h"

int pt_cursor_may_turn(const struct pt_cursor *cursor)
{
	struct pt_flow *flow = cursor->flow;
	const struct pt_event *ev = pt_evd_event(&flow->evd);

	return flow->due && flow->evd.queue_count == 1 && !ev->status_update &&
	       ev->type == (flow->enabled ? ptev_disabled : ptev_enabled) &&
	       flow->reached == flow->evd.sync && !(flow->ticks | flow->in_branch | flow->at_mov_cr3) &&
	       !flow->observers.count;
}

/* Tracing was turned off: most often, it is turned on next. */
static int fetch_behind_off(struct pt_flow *flow)
{
	if (!pt_evd_fetch_enabled(&flow->evd)) {
		pt_flow_advance(flow);
		return pt_flow_status(flow);
	}
	flow->fresh_tnt = 0;
	return pts_event_pending | pts_ip_suppressed;
}

static int fetch_behind_on(struct pt_cursor *cursor)
{
	struct pt_flow *flow = cursor->flow;

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
	const int status = pt_flow_use_event(flow, event);

	if (status < 0)
		return status;
	return flow->enabled ? fetch_behind_on(cursor) : fetch_behind_off(flow);
}
