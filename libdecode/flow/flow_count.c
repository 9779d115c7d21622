/* flow_count.c - see flow_count.h.
 *
 * All that changes stays in registers as long as the count cache knows the way; flow and event decoder learn
 * of it in the end.
 */
#include "flow/flow_count.h"

#include "event/event_fetch.h"

/* What changes on the way. It is in registers because its address is known to nobody: what is not inlined
 * gets a copy. */
struct trek {
	const struct pt_node *node; /* where execution stands, in the section; NULL: at ip */
	uint64_t ip;
	struct pt_section *section; /* NULL: the first one is yet to be found */
	uint64_t base;              /* its address */
	uint64_t ninsn;
	uint64_t end_ip; /* the last instruction of the last block that was passed */
	uint32_t nblocks;
	uint32_t free_steps; /* since trace was used */
	int isid;
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

/* Finds the node at trek->ip, where nobody was before. Zero: somebody else must go on there. */
static __attribute__((noinline)) int locate_copy(struct trek *trek, struct pt_flow *flow)
{
	flow->ip = trek->ip;
	flow->node = NULL;
	if (pt_flow_crosses(flow) || pt_flow_locate(flow) < 0 || !flow->section)
		return 0;
	trek->section = flow->section;
	trek->base = flow->base;
	trek->isid = flow->isid;
	trek->node = flow->node;
	return 1;
}

/* The same, where somebody may have been: in the same half of the address space. */
static inline __attribute__((always_inline)) int find(struct trek *trek, struct pt_flow *flow)
{
	const struct pt_flow_place *place = pt_flow_place_of(flow, trek->ip);

	if (__builtin_expect(!trek->section || (int64_t)(trek->ip ^ trek->base) < 0 ||
	                             !pt_flow_place_is(flow, place, trek->ip),
	                     0)) {
		struct trek copy = *trek;
		const int found = locate_copy(&copy, flow);

		*trek = copy;
		return found;
	}
	trek->section = place->section;
	trek->base = place->base;
	trek->isid = place->isid;
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

static inline __attribute__((always_inline)) void pass(struct trek *trek)
{
	trek->nblocks += 1;
	trek->ninsn += trek->node->ninsn;
	trek->end_ip = trek->base + trek->node->offset + trek->node->last;
}

/* Goes on as long as the way needs no trace. Returns enum pt_insn_kind of the node that does; pt_kind_other:
 * somebody else must go on. */
static __attribute__((noinline)) uint32_t go_free_copy(struct trek *trek, struct pt_flow *flow)
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

static inline __attribute__((always_inline)) uint32_t go_free(struct trek *trek, struct pt_flow *flow)
{
	struct trek copy = *trek;
	const uint32_t kind = go_free_copy(&copy, flow);

	*trek = copy;
	return kind;
}

/* Up to the use of one bit. Zero: somebody else must go on. */
static __attribute__((noinline)) int use_bit_copy(struct trek *trek, struct pt_flow *flow, int taken)
{
	const uint32_t kind = go_free_copy(trek, flow);

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

static inline __attribute__((always_inline)) int use_bit(struct trek *trek, struct pt_flow *flow, int taken)
{
	struct trek copy = *trek;
	const int used = use_bit_copy(&copy, flow, taken);

	*trek = copy;
	return used;
}

/* ---- Along ways ----------------------------------------------------------------------------------- */

/* What the way does to the return stack. Zero: that cannot be done at once. */
static inline __attribute__((always_inline)) int move_stack(struct trek *trek, struct pt_return_stack *stack,
                                                            const struct pt_count_way *way)
{
	const uint32_t effect = way->effect;
	const uint32_t npush = effect >> pt_count_npush_shift & 3, rise = effect >> pt_count_rise_shift;

	if (rise > pt_count_pushes || stack->depth + rise > pt_return_stack_size)
		return 0;
	if (effect & pt_count_pops)
		return pt_return_stack_pop(stack, &trek->ip);
	for (uint32_t i = 0; i < npush; ++i)
		pt_return_stack_push(stack, trek->base + way->push[i]);
	return 1;
}

/* Along @bits from where the trek stands, as far as a way is known. Returns what is left of them; @bits: none
 * can be gone at once, or they are none. */
static inline __attribute__((always_inline)) uint64_t go_way(struct trek *trek, struct pt_flow *flow,
                                                             struct pt_count_cache *cache, uint64_t bits)
{
	const uint64_t key = pt_count_key(trek->node, bits);
	const struct pt_count_way *way = pt_count_cache_way(cache, key);

	if (__builtin_expect(way->key != key, 0))
		way = pt_count_cache_learn(cache, trek->section, trek->node, bits);
	if (way->effect & pt_count_on_stack && !move_stack(trek, &flow->returns, way))
		return bits;
	trek->nblocks += way->nblocks;
	trek->ninsn += way->ninsn;
	trek->end_ip = trek->base + way->end;
	trek->node = way->to;
	return bits << (way->effect & pt_count_used);
}

/* Uses bits up: see count_cache.h. Returns what is left of them. */
static inline __attribute__((always_inline)) uint64_t pass_tnt(struct trek *trek, struct pt_flow *flow,
                                                               struct pt_count_cache *cache, uint64_t bits)
{
	do {
		uint64_t left = bits;

		if (!trek->node && !find(trek, flow))
			break;
		if (cache && !trek->free_steps)
			left = go_way(trek, flow, cache, bits);
		if (__builtin_expect(left == bits, 0)) {
			if (!use_bit(trek, flow, (int64_t)bits < 0))
				break;
			left = bits << 1;
		}
		bits = left;
	} while (bits != pt_count_no_bits);
	return bits;
}

/* To the branch that leads to @ip. Zero: it was not reached. */
static inline __attribute__((always_inline)) int pass_tip(struct trek *trek, struct pt_flow *flow,
                                                          struct pt_count_cache *cache, uint64_t ip)
{
	uint32_t kind;

	if (!trek->node && !find(trek, flow))
		return 0;
	if (!pt_kind_needs_trace(trek->node->kind) && cache && !trek->free_steps) {
		const uint32_t before = trek->nblocks;

		go_way(trek, flow, cache, pt_count_no_bits);
		trek->free_steps = trek->nblocks - before;
	}
	kind = trek->node->kind;
	if (!pt_kind_needs_trace((uint8_t)kind))
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

static void give(const struct trek *trek, struct pt_flow *flow, struct pt_flow_sink *sink)
{
	if (!trek->nblocks)
		return;
	sink->count = 1;
	sink->nblocks += trek->nblocks;
	sink->ninsn += trek->ninsn;
	sink->end_ip = trek->end_ip;
	flow->entry_flags = 0;
}

/* The bits of a short TNT, as they are looked up: it has two bits or more, of which the lowest is zero. */
static inline uint64_t bits_of(uint8_t tnt)
{
	const uint64_t word = (uint64_t)(tnt | 1) << 56;

	return word << (__builtin_clzll(word) + 1);
}

static __attribute__((noinline)) int walk(struct pt_flow *flow, struct pt_flow_sink *sink,
                                          const uint8_t *until)
{
	struct pt_evd *const evd = &flow->evd;
	const uint8_t *const start = evd->pos;
	const uint8_t *pos = start, *packet = start, *tnt = NULL;
	struct pt_last_ip last = evd->last;
	uint64_t bits = pt_count_no_bits;
	int unit = pt_flow_no_unit, used = 0;
	struct trek trek;

	begin(&trek, flow);
	while (pos < until) {
		const struct pt_packet_form *const form = &pt_packet_forms[*pos];

		if (form->type == ppt_tnt_8) {
			const uint64_t all = bits_of(*pos);

			tnt = packet = pos++;
			bits = pass_tnt(&trek, flow, sink->ways, all);
			if (bits != pt_count_no_bits) {
				used = bits != all;
				unit = pt_unit_tnt;
				break;
			}
		} else if (form->type == ppt_tip && pt_evd_can_take_ip(evd, form)) {
			packet = pos;
			pos = pt_last_ip_read(&last, form, pos);
			evd->tip_ip = last.ip;
			evd->tip_suppressed = 0;
			if (!pass_tip(&trek, flow, sink->ways, last.ip)) {
				unit = pt_unit_tip;
				break;
			}
			flow->named_ip = last.ip;
		} else {
			break;
		}
	}
	if (pos == start)
		return 0;
	evd->pos = pos;
	evd->packet = packet;
	evd->last = last;
	if (tnt) {
		flow->fresh_tnt = (uint32_t)pt_packet_forms[*tnt].word[0];
		evd->tnt = pt_packet_forms[*tnt].word[1];
		evd->tnt_count = 63 - (uint32_t)__builtin_ctzll(bits);
	}
	flow->unit = unit;
	/* Circles are looked for anew where trace was used. */
	if (used || unit == pt_flow_no_unit || packet != start)
		flow->circle_limit = 0;
	end(&trek, flow, sink);
	give(&trek, flow, sink);
	return 1;
}

static inline int may_begin(const struct pt_packet_form *form)
{
	return form->type == ppt_tnt_8 || form->type == ppt_tip;
}

int pt_flow_count_units(struct pt_flow *flow, struct pt_flow_sink *sink, const uint8_t *until)
{
	const struct pt_config *const config = &flow->evd.config;

	if (config->end - flow->evd.pos < pt_packet_form_room || (sink->count && !sink->section) ||
	    (flow->node && !flow->section))
		return 0;
	/* Half of the time, something about time comes next. */
	if (!may_begin(&pt_packet_forms[*flow->evd.pos]))
		return 0;
	if (until > config->end - pt_packet_form_room)
		until = config->end - pt_packet_form_room;
	return walk(flow, sink, until);
}
