/* flow_count.c - see flow_count.h.
 *
 * All that changes stays in registers as long as the count cache knows the way; flow and event decoder learn
 * of it in the end.
 */
#include "flow/flow_count.h"

#include "event/event_fetch.h"

/* What changes on the way. */
struct trek {
	const struct pt_node *node; /* where execution stands, in the section; NULL: at ip */
	uint64_t ip;
	struct pt_section *section; /* NULL: the first one is yet to be found */
	uint64_t base;              /* its address */
	int isid;
	uint64_t ninsn;
	const struct pt_node *last; /* that was passed, in the section; NULL: in another one, to end_ip */
	uint64_t end_ip;
	uint32_t nblocks;
	uint32_t free_steps; /* since trace was used */
};

static void begin(struct trek *trek, const struct pt_flow *flow)
{
	*trek = (struct trek){.node = flow->node,
	                      .ip = flow->ip,
	                      .section = flow->section,
	                      .base = flow->base,
	                      .isid = flow->isid,
	                      .free_steps = flow->free_steps};
}

/* The section changes. */
static inline void leave_section(struct trek *trek)
{
	if (trek->last)
		trek->end_ip = trek->base + trek->last->offset + trek->last->last;
	trek->last = NULL;
}

static inline void enter_section(struct trek *trek, struct pt_section *section, uint64_t base, int isid)
{
	if (trek->section == section && trek->base == base)
		return;
	leave_section(trek);
	trek->section = section;
	trek->base = base;
	trek->isid = isid;
}

/* Finds the node at trek->ip, where nobody was before. Zero: somebody else must go on there. */
static __attribute__((noinline)) int locate(struct trek *trek, struct pt_flow *flow)
{
	flow->ip = trek->ip;
	flow->node = NULL;
	if (pt_flow_crosses(flow) || pt_flow_locate(flow) < 0 || !flow->section)
		return 0;
	enter_section(trek, flow->section, flow->base, flow->isid);
	trek->node = flow->node;
	return 1;
}

/* The same, where somebody may have been: in the same half of the address space. */
static inline __attribute__((always_inline)) int find(struct trek *trek, struct pt_flow *flow)
{
	const struct pt_flow_place *place = pt_flow_place_of(flow, trek->ip);

	if (!trek->section || (int64_t)(trek->ip ^ trek->base) < 0 ||
	    !pt_flow_place_is(flow, place, trek->ip))
		return locate(trek, flow);
	enter_section(trek, place->section, place->base, place->isid);
	trek->node = place->node;
	return 1;
}

/* ---- Step by step --------------------------------------------------------------------------------- */

static void go(struct trek *trek, int taken)
{
	const struct pt_node *const node = trek->node;
	const uint64_t ip = trek->base + node->offset;

	trek->ip = taken ? pt_node_taken_ip(node, ip) : pt_node_next_ip(node, ip);
	trek->node = pt_graph_link(trek->section, node, taken);
}

static void pass(struct trek *trek)
{
	trek->nblocks += 1;
	trek->ninsn += trek->node->ninsn;
	trek->last = trek->node;
}

/* Goes on as long as the way needs no trace. Returns enum pt_insn_kind of the node that does; pt_kind_other:
 * somebody else must go on. */
static uint32_t go_free(struct trek *trek, struct pt_flow *flow)
{
	for (;;) {
		const struct pt_node *node;

		if (!trek->node && !find(trek, flow))
			return pt_kind_other;
		node = trek->node;
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
		go(trek, node->kind != pt_kind_fall);
	}
}

/* Up to the use of one bit. Zero: somebody else must go on. */
static int use_bit(struct trek *trek, struct pt_flow *flow, int taken)
{
	const uint32_t kind = go_free(trek, flow);

	if (kind != pt_kind_cond && (kind != pt_kind_ret || !taken || !flow->returns.depth))
		return 0;
	pass(trek);
	if (kind == pt_kind_cond) {
		go(trek, taken);
	} else {
		pt_return_stack_pop(&flow->returns, &trek->ip);
		trek->node = NULL;
	}
	trek->free_steps = 0;
	return 1;
}

/* ---- Along ways ----------------------------------------------------------------------------------- */

/* Goes along @way, which fits. */
static inline __attribute__((always_inline)) void go_along(struct trek *trek, struct pt_flow *flow,
                                                           const struct pt_count_way *way)
{
	trek->nblocks += way->nblocks;
	trek->ninsn += way->ninsn;
	trek->last = way->last;
	trek->node = way->to;
	for (uint32_t i = 0; i < way->npush; ++i)
		pt_return_stack_push(&flow->returns,
		                     pt_node_next_ip(way->push[i], trek->base + way->push[i]->offset));
	if (!way->to)
		pt_return_stack_pop(&flow->returns, &trek->ip);
}

/* The way along @bits from where the trek stands; NULL: there is none that can be gone at once. */
static inline __attribute__((always_inline)) const struct pt_count_way *find_way(const struct trek *trek,
                                                                                 const struct pt_flow *flow,
                                                                                 struct pt_count_cache *cache,
                                                                                 uint64_t bits)
{
	struct pt_count_way *way;

	if (!cache || trek->free_steps)
		return NULL;
	way = pt_count_cache_way(cache, trek->node, bits);
	if (__builtin_expect(!pt_count_way_is(way, trek->node, bits), 0))
		pt_count_cache_learn(cache, way, trek->section, trek->node, bits);
	return pt_count_way_fits(way, flow->returns.depth) ? way : NULL;
}

/* Uses bits up: see count_cache.h. Returns what is left of them. */
static inline __attribute__((always_inline)) uint64_t pass_tnt(struct trek *trek, struct pt_flow *flow,
                                                               struct pt_count_cache *cache, uint64_t bits)
{
	while (bits != pt_count_no_bits) {
		const struct pt_count_way *way;

		if (!trek->node && !find(trek, flow))
			break;
		way = find_way(trek, flow, cache, bits);
		if (__builtin_expect(way != NULL, 1)) {
			bits <<= way->used;
			go_along(trek, flow, way);
		} else if (use_bit(trek, flow, (int64_t)bits < 0)) {
			bits <<= 1;
		} else {
			break;
		}
	}
	return bits;
}

/* To the branch that leads to @ip. Zero: it was not reached. */
static inline __attribute__((always_inline)) int pass_tip(struct trek *trek, struct pt_flow *flow,
                                                          struct pt_count_cache *cache, uint64_t ip)
{
	uint32_t kind;

	if (!trek->node && !find(trek, flow))
		return 0;
	if (!pt_kind_needs_trace(trek->node->kind)) {
		const struct pt_count_way *way = find_way(trek, flow, cache, pt_count_no_bits);

		if (way) {
			trek->free_steps = way->nblocks;
			go_along(trek, flow, way);
		}
	}
	kind = go_free(trek, flow);
	if (kind == pt_kind_other || kind == pt_kind_cond)
		return 0;
	if (kind == pt_kind_ind_call)
		pt_flow_push_return(flow, trek->node, trek->base + trek->node->offset);
	pass(trek);
	trek->ip = ip;
	trek->node = NULL;
	trek->free_steps = 0;
	return 1;
}

/* ---- Units ---------------------------------------------------------------------------------------- */

/* The flow comes to where the trek stands. */
static void end(const struct trek *trek, struct pt_flow *flow, struct pt_flow_sink *sink)
{
	flow->node = trek->node;
	flow->ip = trek->node ? trek->base + trek->node->offset : trek->ip;
	flow->free_steps = trek->free_steps;
	flow->evd.ahead = 0;
	flow->at_mov_cr3 = 0;
	/* The section may be one that has gone. */
	if (!trek->nblocks && !trek->node)
		return;
	flow->section = trek->section;
	flow->base = trek->base;
	flow->isid = trek->isid;
	if (sink->section != trek->section || sink->base != trek->base)
		pt_flow_enter_section(flow, sink);
}

static void give(struct trek *trek, struct pt_flow *flow, struct pt_flow_sink *sink)
{
	if (!trek->nblocks)
		return;
	leave_section(trek);
	sink->count = 1;
	sink->nblocks += trek->nblocks;
	sink->ninsn += trek->ninsn;
	sink->end_ip = trek->end_ip;
	flow->entry_flags = 0;
}

static int walk(struct pt_flow *flow, struct pt_flow_sink *sink, const uint8_t *until)
{
	struct pt_evd *const evd = &flow->evd;
	const uint8_t *const start = evd->pos;
	const struct pt_packet_form *tnt = NULL;
	uint64_t bits = pt_count_no_bits;
	int unit = pt_flow_no_unit, used = 0;
	struct trek trek;

	begin(&trek, flow);
	while (unit == pt_flow_no_unit && evd->pos < until) {
		const struct pt_packet_form *const form = &pt_packet_forms[*evd->pos];

		if (form->type == ppt_tnt_8) {
			const uint64_t all = (form->word[1] << 1 | 1) << (63 - (uint32_t)form->word[0]);

			tnt = form;
			evd->packet = evd->pos++;
			bits = pass_tnt(&trek, flow, sink->ways, all);
			used |= bits != all;
			if (bits != pt_count_no_bits)
				unit = pt_unit_tnt;
		} else if (form->type == ppt_tip && pt_evd_can_take_ip(evd, form)) {
			pt_evd_take_tip(evd, form);
			if (pass_tip(&trek, flow, sink->ways, evd->tip_ip)) {
				flow->named_ip = evd->tip_ip;
				used = 1;
			} else {
				unit = pt_unit_tip;
			}
		} else {
			break;
		}
	}
	if (evd->pos == start)
		return 0;
	if (tnt) {
		flow->fresh_tnt = (uint32_t)tnt->word[0];
		evd->tnt = tnt->word[1];
		evd->tnt_count = 63 - (uint32_t)__builtin_ctzll(bits);
	}
	flow->unit = unit;
	/* Circles are looked for anew where trace was used. */
	if (used)
		flow->circle_limit = 0;
	end(&trek, flow, sink);
	give(&trek, flow, sink);
	return 1;
}

int pt_flow_count_units(struct pt_flow *flow, struct pt_flow_sink *sink, const uint8_t *until)
{
	const struct pt_config *const config = &flow->evd.config;

	if (config->end - flow->evd.pos < pt_packet_form_room || (sink->count && !sink->section) ||
	    (flow->node && !flow->section))
		return 0;
	if (until > config->end - pt_packet_form_room)
		until = config->end - pt_packet_form_room;
	return walk(flow, sink, until);
}
