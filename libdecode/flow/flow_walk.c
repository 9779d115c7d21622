/* flow_walk.c - walking through code, as far as the trace says the way.
 *
 * A step is one basic block. What ends the block decides how to go on: without trace, with a TNT
 * bit, or with a TIP. When the unit of trace is used up, the next one is fetched at once, because an
 * event may hold before the next branch.
 */
#include "flow/flow.h"

/* What a step came to. */
enum step {
	step_on,  /* go on */
	step_stop /* return to the caller: full, due, or the time changed */
};

static uint64_t node_ip(const struct pt_flow *flow)
{
	return flow->section ? flow->base + flow->node->offset : flow->base;
}

static uint64_t next_ip(const struct pt_flow *flow)
{
	return pt_node_next_ip(flow->node, node_ip(flow));
}

static uint64_t taken_ip(const struct pt_flow *flow)
{
	return pt_node_taken_ip(flow->node, node_ip(flow));
}

/* Moves to the node behind this one. Where it is not in the same section, only the address is known. */
static void go_next(struct pt_flow *flow)
{
	const uint64_t ip = next_ip(flow);
	const struct pt_node *next;

	flow->ip = ip;
	if (!flow->section || pt_graph_next(&next, flow->section, flow->node) < 0 ||
	    next->kind == pt_kind_split)
		next = NULL;
	flow->node = next;
}

static void go_taken(struct pt_flow *flow)
{
	const uint64_t ip = taken_ip(flow);
	const struct pt_node *taken;

	flow->ip = ip;
	if (!flow->section || pt_graph_taken(&taken, flow->section, flow->node) < 0 ||
	    taken->kind == pt_kind_split)
		taken = NULL;
	flow->node = taken;
}

static void go_to(struct pt_flow *flow, uint64_t ip)
{
	flow->ip = ip;
	flow->node = NULL;
}

static void go_to_tip(struct pt_flow *flow)
{
	go_to(flow, flow->evd.tip_ip);
	flow->named_ip = flow->evd.tip_ip;
}

/* Trace was used: the way so far was no circle. */
static void leave_circle(struct pt_flow *flow)
{
	flow->circle_limit = 0;
	flow->free_steps = 0;
}

/* Whether the flow came back to where it was, without trace. */
static int in_circle(struct pt_flow *flow)
{
	if (flow->circle_limit && flow->circle_ip == flow->ip)
		return 1;
	if (!flow->circle_limit || ++flow->circle_steps == flow->circle_limit) {
		flow->circle_ip = flow->ip;
		flow->circle_steps = 0;
		flow->circle_limit = flow->circle_limit ? 2 * flow->circle_limit : 16;
	}
	return 0;
}

/* Goes on behind a block that ends in something which needs no trace. -pte_bad_query: in circles. */
static int go_free(struct pt_flow *flow)
{
	if (++flow->free_steps > pt_flow_max_free_steps)
		return -pte_bad_query;
	switch (flow->node->kind) {
	case pt_kind_jump:
		go_taken(flow);
		break;
	case pt_kind_call:
		pt_flow_push_return(flow, flow->node, node_ip(flow));
		go_taken(flow);
		break;
	default:
		go_next(flow);
		return 0;
	}
	return in_circle(flow) ? -pte_bad_query : 0;
}

void pt_flow_enter_section(struct pt_flow *flow, struct pt_flow_sink *sink)
{
	sink->section = flow->section;
	sink->base = flow->base;
	sink->isid = flow->isid;
	if (!sink->counts && flow->section && !(flow->nheld && flow->held[flow->nheld - 1] == flow->section))
		flow->held[flow->nheld++] = pt_section_get(flow->section);
}

/* The blocks of the last run are not used any more. The last section is likely to be the next one. */
static void release_held(struct pt_flow *flow)
{
	if (flow->nheld < 2)
		return;
	for (uint32_t i = 0; i + 1 < flow->nheld; ++i)
		pt_section_put(flow->held[i]);
	flow->held[0] = flow->held[flow->nheld - 1];
	flow->nheld = 1;
}

static uint32_t block_flags(const struct pt_flow *flow)
{
	uint32_t flags = flow->speculative ? ptrf_speculative : 0;

	if (flow->unit == -pte_eos)
		flags |= ptrf_unproven;
	return flags;
}

/* What comes behind the last packet does not count: it may not have run. */
static void count_node(const struct pt_flow *flow, struct pt_flow_sink *sink)
{
	sink->count = 1;
	if (flow->unit == -pte_eos)
		return;
	sink->nblocks += 1;
	sink->ninsn += flow->node->ninsn;
	sink->end_ip = node_ip(flow) + flow->node->last;
}

/* Appends the present node. */
static void emit_node(struct pt_flow *flow, struct pt_flow_sink *sink)
{
	if (!sink->count || sink->section != flow->section || sink->base != flow->base)
		pt_flow_enter_section(flow, sink);
	if (sink->counts) {
		count_node(flow, sink);
		return;
	}
	pt_flow_fill_block(&sink->block[sink->count++], flow->node, node_ip(flow), block_flags(flow));
	sink->ninsn += flow->node->ninsn;
}

/* The flow may have gone on to another event or another time than @before: enum step. */
static int step_at(const struct pt_flow *flow, const struct pt_flow_sink *sink, uint64_t before)
{
	return flow->due || ((sink->count || sink->started) && flow->evd.time.tsc != before) ||
	                       flow->observers.errcode
	               ? step_stop
	               : step_on;
}

/* The flow stands where the event holds. */
static int arrive(struct pt_flow *flow, const struct pt_flow_sink *sink)
{
	const uint64_t before = flow->evd.time.tsc;
	const uint8_t *reached = flow->reached;

	leave_circle(flow);
	pt_flow_arrive(flow);
	/* Whoever counts PSBs learns of each, also of one that brings no event. */
	if ((sink->count || sink->started) && flow->reached != reached)
		return step_stop;
	return step_at(flow, sink, before);
}

/* Appends the instructions of the present node that come before @ip, when @ip is one of its
 * instructions. Returns whether it is; the flow then stands there. */
static int emit_up_to(struct pt_flow *flow, struct pt_flow_sink *sink, uint64_t ip)
{
	const struct pt_node *node = flow->node;
	const uint64_t begin = node_ip(flow), distance = ip - begin;
	struct pt_run_block *block;
	uint64_t offset = 0, last = 0;
	uint16_t n = 0;

	if (distance >= node->size)
		return 0;
	while (offset < distance) {
		last = offset;
		offset += node->length[n++];
	}
	if (offset != distance)
		return 0;
	if (n) {
		emit_node(flow, sink);
		sink->ninsn -= (uint64_t)node->ninsn - n;
		sink->end_ip = begin + last;
	}
	if (n && !sink->counts) {
		block = &sink->block[sink->count - 1];
		block->end_ip = begin + last;
		block->ninsn = n;
		block->iclass = ptic_other;
	}
	go_to(flow, ip);
	return 1;
}

/* Whether the caller's conditions to stop hold before the present node is appended. */
static int stop_before(const struct pt_flow *flow, const struct pt_flow_sink *sink)
{
	if (sink->count == sink->capacity)
		return 1;
	if (!sink->counts && pt_flow_has_no_hold(flow))
		return 1;
	if (!sink->count)
		return 0;
	if (!flow->section)
		return 1;
	return sink->one_section && (flow->section != sink->section || flow->base != sink->base ||
	                             flow->node->mode != sink->block[0].mode);
}

static int stop_behind(const struct pt_flow_sink *sink, uint32_t kind)
{
	return (sink->stop_kinds >> kind) & 1;
}

/* The unit is used up: fetch the next one. */
static int fetch(struct pt_flow *flow, const struct pt_flow_sink *sink)
{
	const uint64_t before = flow->evd.time.tsc;
	const uint8_t *reached = flow->reached;

	leave_circle(flow);
	if (sink->no_fetch) {
		flow->unit = pt_flow_no_unit;
		return step_stop;
	}
	pt_flow_advance(flow);
	if ((sink->count || sink->started) && flow->reached != reached)
		return step_stop;
	return step_at(flow, sink, before);
}

static int take_deferred_tip(struct pt_flow *flow, const struct pt_flow_sink *sink, uint64_t ip)
{
	const uint64_t before = flow->evd.time.tsc;
	int status;

	if (sink->in_window && flow->evd.pos >= sink->until)
		return -pte_bad_query;
	status = pt_evd_fetch_deferred_tip(&flow->evd);
	if (status < 0)
		return status == -pte_eos ? -pte_bad_query : status;
	if (flow->evd.tip_suppressed)
		return -pte_noip;
	flow->unit_time = flow->evd.time;
	flow->fresh_tnt = 0; /* the TIP stands behind the bits: even if all are left, they are not ahead */
	pt_flow_tick_at(flow, ip);
	go_to_tip(flow);
	leave_circle(flow);
	pt_flow_look_at_image(flow);
	return flow->evd.time.tsc != before && (sink->count || sink->started) ? step_stop : step_on;
}

static int take_compressed_return(struct pt_flow *flow)
{
	uint64_t ip;

	flow->evd.tnt_count -= 1;
	if (!((flow->evd.tnt >> flow->evd.tnt_count) & 1))
		return -pte_bad_retcomp;
	if (!pt_return_stack_pop(&flow->returns, &ip))
		return -pte_retstack_empty;
	go_to(flow, ip);
	return 0;
}

/* The node behind one that the section's links alone lead on from, given the next TNT bit; NULL: none. */
static inline const struct pt_node *linked(const struct pt_node *node, uint64_t bit)
{
	switch (node->kind) {
	case pt_kind_cond:
		return atomic_load_explicit(bit ? &node->taken : &node->next, memory_order_acquire);
	case pt_kind_jump:
	case pt_kind_call:
		return atomic_load_explicit(&node->taken, memory_order_acquire);
	case pt_kind_fall:
		return atomic_load_explicit(&node->next, memory_order_acquire);
	default:
		return NULL;
	}
}

/* The common case in a loop of its own: branches, jumps and calls along links that are known, behind a block
 * of the same section. Changes nothing that step_tnt() would do otherwise, but that circles are found later.
 */
static void walk_links(struct pt_flow *flow, struct pt_flow_sink *sink)
{
	const struct pt_node *node = flow->node, *next;
	const uint64_t base = flow->base;
	const uint32_t flags = block_flags(flow), before = sink->count;
	struct pt_run_block *block = &sink->block[before], *const end = &sink->block[sink->capacity];
	uint32_t left = flow->evd.tnt_count;
	uint32_t free_steps = flow->free_steps;
	uint64_t tnt, ninsn = 0;

	if (!left || !before || sink->counts || sink->stop_kinds || flow->ticks || !flow->section ||
	    sink->section != flow->section || sink->base != base)
		return;
	tnt = flow->evd.tnt << (64 - left); /* the next bit comes first */
	for (; left && block < end && free_steps < pt_flow_short_free_steps; node = next) {
		const uint64_t ip = base + node->offset;

		next = linked(node, tnt >> 63);
		if (!next)
			break;
		free_steps += 1;
		if (node->kind == pt_kind_cond) {
			free_steps = 0;
			left -= 1;
			tnt <<= 1;
		} else if (node->kind == pt_kind_call) {
			pt_flow_push_return(flow, node, ip);
		}
		pt_flow_fill_block(block++, node, ip, flags);
		ninsn += node->ninsn;
	}
	sink->count = (uint32_t)(block - sink->block);
	if (sink->count == before)
		return;
	if (left != flow->evd.tnt_count)
		leave_circle(flow);
	flow->free_steps = free_steps;
	sink->ninsn += ninsn;
	flow->evd.tnt_count = left;
	flow->node = node;
	flow->ip = base + node->offset;
}

/* One block on, with TNT bits at hand. Returns enum step or a negative code. */
static int step_tnt(struct pt_flow *flow, struct pt_flow_sink *sink)
{
	uint32_t kind;
	uint64_t ip;
	int status = step_on;

	walk_links(flow, sink);
	if (!flow->evd.tnt_count)
		return fetch(flow, sink);
	if (sink->count == sink->capacity)
		return step_stop;
	kind = flow->node->kind;
	ip = node_ip(flow) + flow->node->last;
	emit_node(flow, sink);
	switch (kind) {
	case pt_kind_cond:
		pt_flow_tick_at(flow, ip);
		flow->evd.tnt_count -= 1;
		if ((flow->evd.tnt >> flow->evd.tnt_count) & 1)
			go_taken(flow);
		else
			go_next(flow);
		break;
	case pt_kind_ret:
		pt_flow_tick_at(flow, ip);
		status = take_compressed_return(flow);
		break;
	case pt_kind_ind_call:
		pt_flow_push_return(flow, flow->node, node_ip(flow));
		status = take_deferred_tip(flow, sink, ip);
		break;
	case pt_kind_ind_jump:
	case pt_kind_far:
		status = take_deferred_tip(flow, sink, ip);
		break;
	default:
		status = go_free(flow);
		return status < 0 ? status : stop_behind(sink, kind) ? step_stop : step_on;
	}
	leave_circle(flow);
	if (status == step_on && !flow->evd.tnt_count)
		status = fetch(flow, sink);
	return status == step_on && (flow->tick_is_due || stop_behind(sink, kind)) ? step_stop : status;
}

static int take_tip(struct pt_flow *flow, const struct pt_flow_sink *sink)
{
	if (flow->evd.tip_suppressed)
		return -pte_noip;
	pt_flow_tick_at(flow, node_ip(flow) + flow->node->last);
	go_to_tip(flow);
	return fetch(flow, sink);
}

/* One block on, with a TIP at hand. */
static int step_tip(struct pt_flow *flow, struct pt_flow_sink *sink)
{
	const uint32_t kind = flow->node->kind;
	int status;

	emit_node(flow, sink);
	switch (kind) {
	case pt_kind_cond:
		return -pte_bad_query;
	case pt_kind_ind_call:
		pt_flow_push_return(flow, flow->node, node_ip(flow));
		status = take_tip(flow, sink);
		break;
	case pt_kind_ret: /* not compressed: the return stack stays as it is */
	case pt_kind_ind_jump:
	case pt_kind_far:
		status = take_tip(flow, sink);
		break;
	default:
		status = go_free(flow);
		break;
	}
	return status == step_on && (flow->tick_is_due || stop_behind(sink, kind)) ? step_stop : status;
}

/* One block on, towards the address that an event binds to. */
static int step_to_ip(struct pt_flow *flow, struct pt_flow_sink *sink, uint64_t ip)
{
	int status;

	if (emit_up_to(flow, sink, ip))
		return arrive(flow, sink);
	emit_node(flow, sink);
	status = pt_kind_needs_trace(flow->node->kind) ? -pte_bad_query : go_free(flow);
	if (status < 0)
		return status;
	/* The next block may begin at the address: the event is due before anything is read there. */
	return flow->ip == ip ? arrive(flow, sink) : step_on;
}

/* Where execution would go on if whatever disabled tracing at the present node had not: what is called
 * returns behind the call. */
static void set_resume_ip(struct pt_flow *flow)
{
	flow->have_resume_ip = 1;
	flow->resume_ip = next_ip(flow);
	switch (flow->node->kind) {
	case pt_kind_call:
	case pt_kind_ind_call:
	case pt_kind_mov_cr3:
		break;
	case pt_kind_jump:
		flow->resume_ip = taken_ip(flow);
		break;
	case pt_kind_far:
		flow->have_resume_ip = flow->node->iclass == ptic_far_call;
		break;
	default:
		flow->have_resume_ip = 0;
		break;
	}
}

/* Execution stands in a branch whose outcome is "tracing was disabled". */
static int disabled_here(struct pt_flow *flow)
{
	set_resume_ip(flow);
	go_to(flow, next_ip(flow));
	flow->due = 1;
	return step_stop;
}

/* Whether the instruction that ends the present node disabled tracing. */
static int disables(const struct pt_flow *flow, const struct pt_event *ev)
{
	switch (flow->node->kind) {
	case pt_kind_jump:
	case pt_kind_call:
		return ev->ip_suppressed ? pt_flow_leaves_filter(flow, taken_ip(flow))
		                         : taken_ip(flow) == ev->variant.disabled.ip;
	case pt_kind_mov_cr3: /* to what is filtered out; else its PIP would have come first */
		return ev->ip_suppressed;
	default:
		return pt_kind_needs_trace(flow->node->kind);
	}
}

/* One block on, towards the branch that disabled tracing. */
static int step_to_disable(struct pt_flow *flow, struct pt_flow_sink *sink, const struct pt_event *ev)
{
	int status;

	emit_node(flow, sink);
	if (disables(flow, ev))
		return disabled_here(flow);
	status = go_free(flow);
	return status < 0 ? status : step_on;
}

/* One block on, towards an instruction of @kind, or a far branch. */
static int step_to_insn(struct pt_flow *flow, struct pt_flow_sink *sink, uint32_t kind)
{
	const uint32_t found = flow->node->kind;
	int status;

	emit_node(flow, sink);
	if (found == pt_kind_far) {
		/* The event holds for the branch's target, which comes with the TIP behind it. */
		flow->in_branch = 1;
		flow->branch_ip = node_ip(flow) + flow->node->last;
		set_resume_ip(flow);
		go_next(flow);
		flow->due = 1;
		return step_stop;
	}
	if (pt_kind_needs_trace(flow->node->kind))
		return -pte_bad_query;
	status = go_free(flow);
	if (status < 0)
		return status;
	if (found != kind)
		return step_on;
	if (found == pt_kind_mov_cr3) {
		flow->at_mov_cr3 = 1;
		flow->have_resume_ip = 1;
		flow->resume_ip = flow->ip;
	}
	return arrive(flow, sink);
}

/* One block on, towards the PTWRITE that the event tells of. */
static int step_to_ptwrite(struct pt_flow *flow, struct pt_flow_sink *sink, struct pt_event *ev)
{
	uint64_t *ip = &ev->variant.ptwrite.ip, at;
	int status, found;

	emit_node(flow, sink);
	if (pt_kind_needs_trace(flow->node->kind))
		return -pte_bad_query;
	at = node_ip(flow) + flow->node->last;
	found = flow->node->kind == pt_kind_ptwrite && (ev->ip_suppressed || at == *ip);
	status = go_free(flow);
	if (status < 0)
		return status;
	if (!found)
		return step_on;
	*ip = at;
	ev->ip_suppressed = 0;
	return arrive(flow, sink);
}

static int step_to_event(struct pt_flow *flow, struct pt_flow_sink *sink)
{
	struct pt_event *ev = pt_evd_event(&flow->evd);
	uint64_t ip = 0;

	switch (pt_flow_binding(flow, ev, &ip)) {
	case pt_bind_ip:
		return step_to_ip(flow, sink, ip);
	case pt_bind_disable:
		return step_to_disable(flow, sink, ev);
	case pt_bind_paging:
		return step_to_insn(flow, sink, pt_kind_mov_cr3);
	case pt_bind_vmcs:
		return step_to_insn(flow, sink, pt_kind_vmcs);
	case pt_bind_ptwrite:
		return step_to_ptwrite(flow, sink, ev);
	case pt_bind_now:
	case pt_bind_error:
		break;
	}
	return -pte_internal;
}

/* The trace has ended: one block on, unless it ends where trace would be needed. */
static int step_eos(struct pt_flow *flow, struct pt_flow_sink *sink)
{
	int status;

	if (pt_kind_needs_trace(flow->node->kind)) {
		emit_node(flow, sink);
		return -pte_eos;
	}
	emit_node(flow, sink);
	status = go_free(flow);
	return status < 0 ? -pte_eos : step_on;
}

static int step_once(struct pt_flow *flow, struct pt_flow_sink *sink)
{
	switch (flow->unit) {
	case pt_unit_tnt:
		return step_tnt(flow, sink);
	case pt_unit_tip:
		return step_tip(flow, sink);
	case pt_unit_event:
		return step_to_event(flow, sink);
	case -pte_eos:
		return step_eos(flow, sink);
	default:
		return flow->unit;
	}
}

/* Walks until something stops it. Returns enum step_stop or a negative code. */
static int walk(struct pt_flow *flow, struct pt_flow_sink *sink)
{
	int status = step_on;

	while (status == step_on) {
		if (flow->unit < 0 && flow->unit != -pte_eos)
			return flow->unit;
		if (flow->due)
			return step_stop;
		if (!flow->enabled)
			return flow->unit < 0 ? flow->unit : -pte_bad_query;
		/* Only the target of the branch is missing, and would have been taken when it was fetched. */
		if (flow->in_branch)
			return -pte_bad_query;
		/* What a scratch node's lengths are lasts only until the next one is made. */
		if (sink->count && !sink->section)
			return step_stop;
		if (pt_flow_crosses(flow)) {
			if (sink->count || sink->started)
				return step_stop;
			pt_flow_cross(flow);
			if (flow->observers.errcode)
				return step_stop;
		}
		if (!flow->node) {
			status = pt_flow_locate(flow);
			/* What came before the missing code is handed out first. */
			if (status < 0)
				return sink->count ? step_stop : status;
		}
		if (stop_before(flow, sink))
			return step_stop;
		status = step_once(flow, sink);
	}
	return status;
}

int pt_flow_walk(struct pt_flow *flow, struct pt_flow_sink *sink)
{
	int status = walk(flow, sink);

	return status < 0 ? status : 0;
}

void pt_flow_begin_sink(struct pt_flow *flow, struct pt_flow_sink *sink)
{
	sink->count = 0;
	sink->nblocks = 0;
	sink->ninsn = 0;
	release_held(flow);
}

int pt_flow_run(struct pt_flow *flow, struct pt_flow_sink *sink)
{
	int status, errcode;

	pt_flow_begin_sink(flow, sink);
	if (flow->status < 0)
		return flow->status;
	if (flow->due || flow->tick_is_due)
		return -pte_bad_query;
	flow->at_mov_cr3 = 0;
	flow->at_start = 0;
	/* The user may have changed the image since. */
	pt_flow_look_at_image(flow);
	if (flow->unit == pt_flow_no_unit)
		pt_flow_advance(flow);
	status = walk(flow, sink);
	errcode = pt_observers_take_error(&flow->observers);
	if (status < 0) {
		flow->status = status;
		return status;
	}
	return errcode < 0 ? errcode : pt_flow_status(flow);
}
