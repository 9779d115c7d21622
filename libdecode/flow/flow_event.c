/* flow_event.c - where events hold, and what they change. */
#include "flow/flow.h"

#include <string.h>

#include "event/event_place.h"

/* Whether @ev holds at an address of the flow, which is *ip. Where tracing is enabled, there is none yet. */
static int event_address(const struct pt_event *ev, uint64_t *ip)
{
	const uint64_t *place = pt_event_place((struct pt_event *)(uintptr_t)ev);

	if (!place || (ev->type == ptev_enabled && !ev->status_update))
		return 0;
	*ip = *place;
	return 1;
}

static enum pt_binding binding_while_disabled(const struct pt_event *ev)
{
	switch (ev->type) {
	case ptev_disabled:
	case ptev_async_disabled:
	case ptev_async_branch:
		return pt_bind_error;
	default:
		return pt_bind_now;
	}
}

/* Between a far branch and its target: what comes with the branch, and what has no place of its own. */
static enum pt_binding binding_in_branch(const struct pt_event *ev)
{
	uint64_t ip;

	switch (ev->type) {
	case ptev_async_disabled:
	case ptev_async_branch:
		return pt_bind_error;
	default:
		return !ev->ip_suppressed && !ev->status_update && event_address(ev, &ip) ? pt_bind_error
		                                                                          : pt_bind_now;
	}
}

/* An asynchronous event's address is in `at` or `from`, whether or not the destination was given. */
static int address_is_known(const struct pt_event *ev)
{
	return !ev->ip_suppressed || ev->type == ptev_async_disabled || ev->type == ptev_async_branch;
}

enum pt_binding pt_flow_binding(const struct pt_flow *flow, const struct pt_event *ev, uint64_t *ip)
{
	if (!flow->enabled)
		return binding_while_disabled(ev);
	if (ev->type == ptev_disabled)
		return flow->in_branch || (flow->at_mov_cr3 && ev->ip_suppressed) ? pt_bind_now
		                                                                  : pt_bind_disable;
	if (ev->type == ptev_enabled && !ev->status_update)
		return pt_bind_error;
	if (flow->in_branch)
		return binding_in_branch(ev);
	if (ev->type == ptev_ptwrite)
		return pt_bind_ptwrite;
	if (address_is_known(ev) && event_address(ev, ip))
		return pt_bind_ip;
	switch (ev->type) {
	case ptev_paging:
		return pt_bind_paging;
	case ptev_vmcs:
		return pt_bind_vmcs;
	default:
		return pt_bind_now;
	}
}

static void notify_state(struct pt_flow *flow)
{
	pt_flow_notify(flow, flow->enabled ? ptds_enabled : ptds_disabled);
}

void pt_flow_enable(struct pt_flow *flow, uint64_t ip)
{
	flow->enabled = 1;
	flow->in_branch = 0;
	pt_flow_set_ip(flow, ip);
	flow->named_ip = ip;
	notify_state(flow);
}

static void disable(struct pt_flow *flow, int have_resume_ip, uint64_t resume_ip)
{
	flow->enabled = 0;
	flow->in_branch = 0;
	flow->at_mov_cr3 = 0;
	flow->have_resume_ip = have_resume_ip & 1;
	flow->resume_ip = resume_ip;
	flow->node = NULL;
	notify_state(flow);
}

static void apply_enabled(struct pt_flow *flow, struct pt_event *ev)
{
	const uint64_t ip = ev->variant.enabled.ip;

	if (ev->status_update) {
		/* PSB empties the return stack. */
		pt_return_stack_clear(&flow->returns);
		if (!flow->enabled)
			pt_flow_enable(flow, ip);
		/* It is named for whoever was on the way as for whoever begins here. */
		else if (!flow->in_branch)
			flow->named_ip = ip;
		return;
	}
	ev->variant.enabled.resumed = flow->have_resume_ip && flow->resume_ip == ip;
	flow->entry_flags |= pt_flow_enabled;
	if (ev->variant.enabled.resumed)
		flow->entry_flags |= pt_flow_resumed;
	pt_flow_enable(flow, ip);
}

static void apply_overflow(struct pt_flow *flow, const struct pt_event *ev)
{
	pt_return_stack_clear(&flow->returns);
	flow->speculative = 0;
	flow->entry_flags |= pt_flow_resynced;
	/* Whether tracing was off in between, packets that were lost would have said: observers learn that
	 * nobody knows, and then what is. */
	pt_flow_notify(flow, ptds_unknown);
	if (ev->ip_suppressed)
		disable(flow, 0, 0);
	else
		pt_flow_enable(flow, ev->variant.overflow.ip);
}

static void set_cr3(struct pt_flow *flow, uint64_t cr3, uint32_t non_root)
{
	/* With nested paging, both may be the same by chance. */
	if (flow->non_root != non_root)
		flow->node = NULL;
	flow->non_root = non_root & 1;
	pt_flow_set_asid(flow, cr3, flow->asid.vmcs);
}

static void set_vmcs(struct pt_flow *flow, uint64_t base)
{
	pt_flow_set_asid(flow, flow->asid.cr3, base);
}

static int apply_exec_mode(struct pt_flow *flow, const struct pt_event *ev)
{
	const enum pt_exec_mode mode = ev->variant.exec_mode.mode;

	if (flow->mode == mode)
		return 0;
	if (ev->status_update && flow->enabled && flow->mode != ptem_unknown)
		return -pte_bad_status_update;
	flow->node = NULL;
	flow->mode = mode;
	return 0;
}

int pt_flow_apply(struct pt_flow *flow, struct pt_event *ev)
{
	switch (ev->type) {
	case ptev_enabled:
		apply_enabled(flow, ev);
		return 0;
	case ptev_disabled:
		disable(flow, flow->have_resume_ip, flow->resume_ip);
		return 0;
	case ptev_async_disabled:
		disable(flow, 1, ev->variant.async_disabled.at);
		return 0;
	case ptev_async_branch:
		if (ev->ip_suppressed)
			return -pte_noip;
		pt_flow_set_ip(flow, ev->variant.async_branch.to);
		return 0;
	case ptev_overflow:
		apply_overflow(flow, ev);
		return 0;
	case ptev_paging:
		set_cr3(flow, ev->variant.paging.cr3, ev->variant.paging.non_root);
		return 0;
	case ptev_async_paging:
		set_cr3(flow, ev->variant.async_paging.cr3, ev->variant.async_paging.non_root);
		return 0;
	case ptev_vmcs:
		set_vmcs(flow, ev->variant.vmcs.base);
		return 0;
	case ptev_async_vmcs:
		set_vmcs(flow, ev->variant.async_vmcs.base);
		return 0;
	case ptev_exec_mode:
		return apply_exec_mode(flow, ev);
	case ptev_tsx:
		flow->speculative = ev->variant.tsx.speculative;
		return 0;
	default:
		return 0;
	}
}

static uint32_t exit_flags_of(const struct pt_event *ev)
{
	switch (ev->type) {
	case ptev_disabled:
	case ptev_async_disabled:
		return pt_flow_disabled;
	case ptev_async_branch:
	case ptev_interrupt:
	case ptev_smi:
	case ptev_init:
	case ptev_vmexit:
	case ptev_shutdown:
	case ptev_uintr:
		return pt_flow_interrupted;
	case ptev_stop:
		return pt_flow_stopped;
	case ptev_tsx:
		if (ev->variant.tsx.aborted)
			return pt_flow_aborted;
		return ev->variant.tsx.speculative || ev->status_update ? 0 : pt_flow_committed;
	default:
		return 0;
	}
}

uint32_t pt_flow_exit_flags(const struct pt_flow *flow)
{
	uint32_t flags = 0;

	/* Events that were queued together hold at the same place. */
	for (uint32_t i = 0; flow->due && i < flow->evd.queue_count; ++i)
		flags |= exit_flags_of(&flow->evd.queue[(flow->evd.queue_head + i) % pt_evd_queue_size]);
	/* A TraceStop comes behind the TIP.PGD of the branch that led to it. */
	if ((flags & pt_flow_disabled) && pt_evd_stop_follows(&flow->evd))
		flags |= pt_flow_stopped;
	return flags;
}
