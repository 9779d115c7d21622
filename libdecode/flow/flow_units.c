/* flow_units.c - see flow_units.h.
 *
 * Most of a trace is short TNTs and TIPs, and most of the code behind them branches, jumps, calls and returns
 * in sections that are known. For these, all that changes stays in registers; flow, event decoder and sink
 * learn of it when something else comes.
 */
#include "flow/flow_units.h"

#include "event/event_fetch.h"

/* What changes on the way. */
struct trek {
	const struct pt_node *node; /* where execution stands, in the flow's section; NULL: at ip */
	uint64_t ip;
	uint64_t base; /* the section's address */
	struct pt_run_block *block;
	uint64_t ninsn;
	const struct pt_node *last; /* that was passed, in the section; NULL: in another one, to end_ip */
	uint64_t end_ip;
	uint32_t free_steps; /* since trace was used */
	int used;            /* it was */
};

/* The node at @ip; NULL: somebody else must go on there. */
static const struct pt_node *locate(struct pt_flow *flow, struct pt_flow_sink *sink, uint64_t ip)
{
	flow->ip = ip;
	flow->node = NULL;
	if (pt_flow_crosses(flow) || pt_flow_locate(flow) < 0 || !flow->section || pt_flow_has_no_hold(flow))
		return NULL;
	if (sink->section != flow->section || sink->base != flow->base)
		pt_flow_enter_section(flow, sink);
	return flow->node;
}

static inline __attribute__((always_inline)) void leave_section(struct trek *trek)
{
	if (trek->last)
		trek->end_ip = trek->base + trek->last->offset + trek->last->last;
	trek->last = NULL;
}

/* locate(), where it is in the present section and was before. */
static inline __attribute__((always_inline)) const struct pt_node *look_up(const struct trek *trek,
                                                                           const struct pt_flow *flow)
{
	const struct pt_flow_place *place = pt_flow_place_of(flow, trek->ip);

	return pt_flow_place_is(flow, place, trek->ip) && place->section == flow->section &&
	                       place->base == trek->base
	               ? place->node
	               : NULL;
}

/* Where execution stands; NULL: somebody else must go on. */
static inline __attribute__((always_inline)) const struct pt_node *here(struct trek *trek,
                                                                        struct pt_flow *flow,
                                                                        struct pt_flow_sink *sink)
{
	if (__builtin_expect(trek->node != NULL, 1))
		return trek->node;
	trek->node = look_up(trek, flow);
	if (!trek->node) {
		leave_section(trek);
		trek->node = locate(flow, sink, trek->ip);
		trek->base = flow->base;
	}
	return trek->node;
}

static inline __attribute__((always_inline)) void go(struct trek *trek, const struct pt_flow *flow, int taken)
{
	const struct pt_node *const node = trek->node;
	const struct pt_node *to =
	        atomic_load_explicit(taken ? &node->taken : &node->next, memory_order_acquire);

	if (__builtin_expect(!to, 0)) {
		const uint64_t ip = trek->base + node->offset;

		trek->ip = taken ? pt_node_taken_ip(node, ip) : pt_node_next_ip(node, ip);
		to = pt_graph_link(flow->section, node, taken);
	}
	trek->node = to;
}

static inline __attribute__((always_inline)) int has_room(const struct trek *trek,
                                                          const struct pt_flow_sink *sink)
{
	return trek->block != sink->block + sink->capacity;
}

static inline __attribute__((always_inline)) void pass(struct trek *trek)
{
	const struct pt_node *const node = trek->node;

	pt_flow_fill_block(trek->block++, node, trek->base + node->offset, 0);
	trek->ninsn += node->ninsn;
	trek->last = node;
}

/* Goes on as long as the way needs no trace. Returns enum pt_insn_kind of the node that does; pt_kind_other:
 * somebody else must go on. */
static inline __attribute__((always_inline)) uint32_t go_free(struct trek *trek, struct pt_flow *flow,
                                                              struct pt_flow_sink *sink)
{
	for (;;) {
		const struct pt_node *const node = here(trek, flow, sink);

		if (!node || !has_room(trek, sink))
			return pt_kind_other;
		if (pt_kind_needs_trace(node->kind))
			return node->kind;
		if (trek->free_steps >= pt_flow_short_free_steps)
			return pt_kind_other;
		if (node->kind == pt_kind_call)
			pt_flow_push_return(flow, node, trek->base + node->offset);
		else if (node->kind != pt_kind_jump && node->kind != pt_kind_fall)
			return pt_kind_other;
		trek->free_steps += 1;
		pass(trek);
		go(trek, flow, node->kind != pt_kind_fall);
	}
}

static inline __attribute__((always_inline)) void use_trace(struct trek *trek)
{
	trek->free_steps = 0;
	trek->used = 1;
}

/* Uses up @left bits, of which the next one is the highest of @bits. Returns how many are left. */
static inline __attribute__((always_inline)) uint32_t pass_tnt(struct trek *trek, struct pt_flow *flow,
                                                               struct pt_flow_sink *sink, uint64_t bits,
                                                               uint32_t left)
{
	for (; left; left -= 1, bits <<= 1) {
		const uint32_t kind = go_free(trek, flow, sink);
		const int taken = (int64_t)bits < 0;

		if (kind == pt_kind_cond) {
			pass(trek);
			go(trek, flow, taken);
		} else if (kind == pt_kind_ret && taken && flow->returns.depth) {
			pass(trek);
			pt_return_stack_pop(&flow->returns, &trek->ip);
			trek->node = NULL;
		} else {
			break;
		}
		use_trace(trek);
	}
	return left;
}

/* To the branch that leads to @ip. Zero: it was not reached. */
static inline __attribute__((always_inline)) int pass_tip(struct trek *trek, struct pt_flow *flow,
                                                          struct pt_flow_sink *sink, uint64_t ip)
{
	const uint32_t kind = go_free(trek, flow, sink);

	if (kind == pt_kind_other || kind == pt_kind_cond)
		return 0;
	if (kind == pt_kind_ind_call)
		pt_flow_push_return(flow, trek->node, trek->base + trek->node->offset);
	pass(trek);
	trek->ip = ip;
	trek->node = NULL;
	use_trace(trek);
	return 1;
}

/* What the sink gets. Returns whether it was anything. */
static inline int give(struct trek *trek, struct pt_flow_sink *sink)
{
	const uint32_t count = (uint32_t)(trek->block - sink->block);

	if (count == sink->count)
		return 0;
	sink->count = count;
	leave_section(trek);
	sink->ninsn += trek->ninsn;
	sink->end_ip = trek->end_ip;
	return 1;
}

static int walk(struct pt_flow *flow, struct pt_flow_sink *sink, const uint8_t *until)
{
	struct pt_evd *const evd = &flow->evd;
	struct trek trek = {.node = flow->node,
	                    .ip = flow->ip,
	                    .base = flow->base,
	                    .block = sink->block + sink->count,
	                    .free_steps = flow->free_steps};
	const uint8_t *const begin = evd->pos;
	int unit = pt_flow_no_unit;

	while (unit == pt_flow_no_unit && evd->pos < until) {
		const struct pt_packet_form *const form = &pt_packet_forms[*evd->pos];

		if (form->type == ppt_tnt_8) {
			const uint32_t count = (uint32_t)form->word[0];
			const uint32_t left =
			        pass_tnt(&trek, flow, sink, form->word[1] << (64 - count), count);

			pt_evd_take_tnt(evd, form);
			evd->tnt_count = left;
			flow->fresh_tnt = count;
			if (left)
				unit = pt_unit_tnt;
		} else if (form->type == ppt_tip && pt_evd_can_take_ip(evd, form)) {
			pt_evd_take_tip(evd, form);
			if (pass_tip(&trek, flow, sink, evd->tip_ip))
				flow->named_ip = evd->tip_ip;
			else
				unit = pt_unit_tip;
		} else {
			break;
		}
	}
	if (evd->pos == begin)
		return 0;
	evd->ahead = 0;
	flow->unit = unit;
	flow->node = trek.node;
	flow->ip = trek.node ? trek.base + trek.node->offset : trek.ip;
	if (trek.used)
		flow->circle_limit = 0;
	flow->free_steps = trek.free_steps;
	flow->at_mov_cr3 = 0;
	if (give(&trek, sink))
		flow->entry_flags = 0;
	return 1;
}

int pt_flow_walk_units(struct pt_flow *flow, struct pt_flow_sink *sink, const uint8_t *until)
{
	const struct pt_config *const config = &flow->evd.config;

	if (config->end - flow->evd.pos < pt_packet_form_room || (sink->count && !sink->section) ||
	    (flow->node && !flow->section))
		return 0;
	if (until > config->end - pt_packet_form_room)
		until = config->end - pt_packet_form_room;
	if (sink->section != flow->section || sink->base != flow->base) {
		if (flow->node && pt_flow_has_no_hold(flow))
			return 0;
		/* Without a node, the section is none that the flow stands in. */
		if (flow->node)
			pt_flow_enter_section(flow, sink);
		else
			flow->section = NULL;
	}
	return walk(flow, sink, until);
}
