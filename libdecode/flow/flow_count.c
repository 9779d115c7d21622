/* flow_count.c - see flow_count.h.
 *
 * As long as the ways and the places that come next are known, all that changes stays in registers
 * (walk_known()). What is not known is walked packet by packet, and is known then. Flow and event decoder
 * learn of it in the end.
 */
#include "flow/flow_count.h"

#include "event/event_fetch.h"

/* What changes on the way. */
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

/* Where somebody was before, in the same half of the address space. Zero: that is not known. */
static inline __attribute__((always_inline)) int find_known(struct trek *trek, const struct pt_flow *flow)
{
	const struct pt_flow_place *place = pt_flow_place_of(flow, trek->ip);

	if (__builtin_expect(!trek->section || (int64_t)(trek->ip ^ trek->base) < 0 ||
	                             !pt_flow_place_is(flow, place, trek->ip),
	                     0))
		return 0;
	trek->section = place->section;
	trek->base = place->base;
	trek->isid = place->isid;
	trek->node = place->node;
	return 1;
}

/* Finds the node at trek->ip. Zero: somebody else must go on there. */
static int find(struct trek *trek, struct pt_flow *flow)
{
	if (find_known(trek, flow))
		return 1;
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

/* ---- Step by step --------------------------------------------------------------------------------- */

static void go(struct trek *trek, int taken)
{
	const struct pt_node *const node = trek->node;
	const uint64_t ip = trek->base + node->offset;

	trek->ip = taken ? pt_node_taken_ip(node, ip) : pt_node_next_ip(node, ip);
	trek->node = pt_graph_link(trek->section, node, taken);
}

static inline void pass(struct trek *trek)
{
	trek->nblocks += 1;
	trek->ninsn += trek->node->ninsn;
	trek->end_ip = trek->base + trek->node->offset + trek->node->last;
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

/* How deep the stack may be for a way to rise so far; none rises by three, see pt_count_never. */
static const int32_t most_depth[] = {pt_return_stack_size, pt_return_stack_size - 1, pt_return_stack_size - 2,
                                     -1};
_Static_assert(pt_count_never >> pt_count_rise_shift == 3 && pt_count_pushes == 2, "one row for each rise");

/* What the way does to the return stack; nobody records it. Zero: that cannot be done at once. */
static inline __attribute__((always_inline)) int move_stack(struct trek *trek, struct pt_return_stack *stack,
                                                            const struct pt_count_way *way)
{
	const uint32_t effect = way->effect;

	if ((int32_t)stack->depth > most_depth[effect >> pt_count_rise_shift])
		return 0;
	if (effect & pt_count_pops)
		return pt_return_stack_take(stack, &trek->ip);
	if (effect & 3 << pt_count_npush_shift) {
		pt_return_stack_put(stack, trek->base + way->push[0]);
		if (effect & 2 << pt_count_npush_shift)
			pt_return_stack_put(stack, trek->base + way->push[1]);
	}
	return 1;
}

/* Zero: the way cannot be gone at once. */
static inline __attribute__((always_inline)) int go_way(struct trek *trek, struct pt_return_stack *stack,
                                                        const struct pt_count_way *way)
{
	if (way->effect & pt_count_on_stack && !move_stack(trek, stack, way))
		return 0;
	trek->nblocks += way->nblocks;
	trek->ninsn += way->ninsn;
	trek->end_ip = trek->base + way->end;
	trek->node = way->to;
	return 1;
}

/* Along @bits from where the trek stands, as far as a way can be learnt. Returns what is left of them; @bits:
 * none can be gone at once, or they are none. */
static uint64_t learn_way(struct trek *trek, struct pt_flow *flow, struct pt_count_cache *cache,
                          uint64_t bits)
{
	const uint64_t key = pt_count_key(trek->node, bits);
	const struct pt_count_way *way = pt_count_cache_way(cache, key);

	if (way->key != key)
		way = pt_count_cache_learn(cache, trek->section, trek->node, bits);
	return go_way(trek, &flow->returns, way) ? bits << (way->effect & pt_count_used) : bits;
}

/* Uses bits up: see count_cache.h. Returns what is left of them. */
static uint64_t pass_tnt(struct trek *trek, struct pt_flow *flow, struct pt_count_cache *cache, uint64_t bits)
{
	do {
		uint64_t left = bits;

		if (!trek->node && !find(trek, flow))
			break;
		if (cache && !trek->free_steps)
			left = learn_way(trek, flow, cache, bits);
		if (left == bits) {
			if (!use_bit(trek, flow, (int64_t)bits < 0))
				break;
			left = bits << 1;
		}
		bits = left;
	} while (bits != pt_count_no_bits);
	return bits;
}

/* Through the branch at the end of trek->node, which leads to @ip. */
static inline void branch_to(struct trek *trek, struct pt_flow *flow, uint64_t ip)
{
	if (trek->node->kind == pt_kind_ind_call)
		pt_flow_push_return(flow, trek->node, trek->base + trek->node->offset);
	pass(trek);
	trek->ip = ip;
	trek->node = NULL;
	trek->free_steps = 0;
}

/* To the branch that leads to @ip. Zero: it was not reached. */
static int pass_tip(struct trek *trek, struct pt_flow *flow, struct pt_count_cache *cache, uint64_t ip)
{
	uint32_t kind;

	if (!trek->node && !find(trek, flow))
		return 0;
	if (!pt_kind_needs_trace(trek->node->kind) && cache && !trek->free_steps) {
		const uint32_t before = trek->nblocks;

		learn_way(trek, flow, cache, pt_count_no_bits);
		trek->free_steps = trek->nblocks - before;
	}
	kind = go_free(trek, flow);
	if (kind == pt_kind_other || kind == pt_kind_cond)
		return 0;
	branch_to(trek, flow, ip);
	return 1;
}

/* ---- Packets -------------------------------------------------------------------------------------- */

/* How far the trace was read. */
struct reading {
	const uint8_t *pos, *until;
	const uint8_t *tnt; /* the last short TNT; NULL: none */
	const uint8_t *tip; /* the last TIP; NULL: none */
	struct pt_last_ip last;
	uint64_t bits; /* what is left of the last TNT */
};

static inline int is_tnt_8(uint8_t byte)
{
	return !(byte & 1) && byte > 2;
}

/* The bits of a short TNT, as they are looked up: it has two bits or more, of which the lowest is zero. */
static inline uint64_t bits_of(uint8_t tnt)
{
	const uint64_t word = (uint64_t)(tnt | 1) << 56;

	return word << (__builtin_clzll(word) + 1);
}

static inline int waits_for_tip(const struct pt_node *node)
{
	return pt_kind_needs_trace(node->kind) && node->kind != pt_kind_cond;
}

/* To the branch that the TIP at reading->pos belongs to, if the way there is known. Zero: it is not, or that
 * is no TIP that can be taken. */
static inline __attribute__((always_inline)) int take_tip(struct trek *trek, struct reading *reading,
                                                          struct pt_flow *flow,
                                                          const struct pt_count_cache *cache)
{
	const struct pt_packet_form *const form = &pt_packet_forms[*reading->pos];

	if (form->type != ppt_tip || !pt_evd_can_take_ip(&flow->evd, form))
		return 0;
	if (!pt_kind_needs_trace(trek->node->kind)) {
		const uint64_t key = pt_count_key(trek->node, pt_count_no_bits);
		const struct pt_count_way *way = pt_count_cache_way(cache, key);

		if (way->key != key || !way->to || !waits_for_tip(way->to) ||
		    !go_way(trek, &flow->returns, way))
			return 0;
	} else if (!waits_for_tip(trek->node)) {
		return 0;
	}
	reading->tip = reading->pos;
	reading->pos = pt_last_ip_read(&reading->last, form, reading->pos);
	branch_to(trek, flow, reading->last.ip);
	return 1;
}

/* As far as ways and places are known. What changes has no address that anybody else knows, so that it is in
 * registers. */
static __attribute__((noinline)) void walk_known(struct trek *to, struct reading *up_to, struct pt_flow *flow,
                                                 const struct pt_count_cache *cache)
{
	struct reading reading = *up_to;
	struct trek trek = *to;

	for (;;) {
		const struct pt_count_way *way;
		uint64_t key;

		if (!trek.node && !find_known(&trek, flow))
			break;
		if (reading.bits == pt_count_no_bits) {
			if (reading.pos >= reading.until)
				break;
			if (!is_tnt_8(*reading.pos)) {
				if (!take_tip(&trek, &reading, flow, cache))
					break;
				continue;
			}
			reading.tnt = reading.pos++;
			reading.bits = bits_of(*reading.tnt);
		}
		key = pt_count_key(trek.node, reading.bits);
		way = pt_count_cache_way(cache, key);
		if (__builtin_expect(way->key != key, 0) || !go_way(&trek, &flow->returns, way))
			break;
		reading.bits <<= way->effect & pt_count_used;
	}
	*up_to = reading;
	*to = trek;
}

/* The next packet, or what is left of it. Returns enum pt_unit if that cannot be used up, pt_flow_no_unit if
 * it was, or -1: it is another one. */
static int walk_packet(struct trek *trek, struct reading *reading, struct pt_flow *flow,
                       struct pt_count_cache *cache)
{
	if (reading->bits == pt_count_no_bits) {
		const uint8_t *const pos = reading->pos;
		const struct pt_packet_form *const form = &pt_packet_forms[*pos];

		if (form->type == ppt_tip && pt_evd_can_take_ip(&flow->evd, form)) {
			if (reading->tip)
				flow->named_ip = reading->last.ip;
			reading->tip = pos;
			reading->pos = pt_last_ip_read(&reading->last, form, pos);
			return pass_tip(trek, flow, cache, reading->last.ip) ? pt_flow_no_unit : pt_unit_tip;
		}
		if (!is_tnt_8(*pos))
			return -1;
		reading->tnt = reading->pos++;
		reading->bits = bits_of(*pos);
	}
	reading->bits = pass_tnt(trek, flow, cache, reading->bits);
	return reading->bits == pt_count_no_bits ? pt_flow_no_unit : pt_unit_tnt;
}

/* As far as there are short TNTs and TIPs that can be used up. Returns enum pt_unit of the one that cannot,
 * or pt_flow_no_unit. */
static int walk_packets(struct trek *trek, struct reading *reading, struct pt_flow *flow,
                        struct pt_count_cache *cache)
{
	for (;;) {
		int unit;

		if (cache && !trek->free_steps)
			walk_known(trek, reading, flow, cache);
		if (reading->bits == pt_count_no_bits && reading->pos >= reading->until)
			return pt_flow_no_unit;
		unit = walk_packet(trek, reading, flow, cache);
		if (unit < 0)
			return pt_flow_no_unit;
		if (unit != pt_flow_no_unit)
			return unit;
	}
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

/* Where the event decoder is told to be, behind @reading. */
static void tell(struct pt_flow *flow, const struct reading *reading, int unit)
{
	struct pt_evd *const evd = &flow->evd;

	evd->pos = reading->pos;
	evd->packet = reading->tip > reading->tnt ? reading->tip : reading->tnt;
	evd->last = reading->last;
	if (reading->tip) {
		evd->tip_ip = reading->last.ip;
		evd->tip_suppressed = 0;
		if (unit != pt_unit_tip)
			flow->named_ip = reading->last.ip;
	}
	if (reading->tnt) {
		flow->fresh_tnt = (uint32_t)pt_packet_forms[*reading->tnt].word[0];
		evd->tnt = pt_packet_forms[*reading->tnt].word[1];
		evd->tnt_count = 63 - (uint32_t)__builtin_ctzll(reading->bits);
	}
}

static int walk(struct pt_flow *flow, struct pt_flow_sink *sink, const uint8_t *until)
{
	const uint8_t *const start = flow->evd.pos;
	struct reading reading = {
	        .pos = start, .until = until, .last = flow->evd.last, .bits = pt_count_no_bits};
	struct trek trek;
	int unit, used;

	begin(&trek, flow);
	unit = walk_packets(&trek, &reading, flow, sink->ways);
	if (reading.pos == start)
		return 0;
	used = unit == pt_unit_tnt && reading.bits != bits_of(*reading.tnt);
	tell(flow, &reading, unit);
	flow->unit = unit;
	/* Circles are looked for anew where trace was used. */
	if (used || unit == pt_flow_no_unit || flow->evd.packet != start)
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
