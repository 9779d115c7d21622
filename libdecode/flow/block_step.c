/* block_step.c - see block_step.h.
 *
 * Where code is new, most blocks end at a conditional branch within a TNT that was fetched already. Nothing
 * can happen there but that the flow moves on, which is done here in as few steps as possible. What is found
 * on the way is applied only when the block is whole.
 */
#include "flow/block_step.h"

#include <string.h>

enum { most_calls = 4, most_nodes = 16 };

struct way {
	const struct pt_node *first, *last; /* in the flow's section */
	uint32_t ninsn, ncalls;
	uint64_t return_ip[most_calls]; /* of the calls on the way */
};

/* No events, ticks, errors, callbacks, nor flags, and the section is held already. */
static inline int is_plain(const struct pt_flow *flow)
{
	return flow->unit == pt_unit_tnt && flow->evd.tnt_count && flow->enabled && flow->section &&
	       flow->nheld == 1 && flow->held[0] == flow->section && flow->status >= 0 && !flow->ticks &&
	       !flow->due && !flow->in_branch && !flow->speculative && !flow->entry_flags &&
	       !flow->crossing.callback && !flow->observers.errcode && !flow->free_steps &&
	       pt_flow_image_is_same(flow);
}

/* Where the flow stands, if that is known; NULL: somebody else must look. */
static inline const struct pt_node *here(const struct pt_flow *flow)
{
	const struct pt_flow_place *place;

	if (flow->node)
		return flow->node;
	place = pt_flow_place_of(flow, flow->ip);
	return pt_flow_place_is(flow, place, flow->ip) && place->section == flow->section &&
	                       place->base == flow->base
	               ? place->node
	               : NULL;
}

/* Adds @node to the way. Zero: it is too long. */
static inline int pass(struct way *way, const struct pt_node *node, uint64_t base)
{
	way->last = node;
	way->ninsn += node->ninsn;
	if (node->kind != pt_kind_call || node->target == (int64_t)node->size)
		return 1;
	if (way->ncalls == most_calls)
		return 0;
	way->return_ip[way->ncalls++] = pt_node_next_ip(node, base + node->offset);
	return 1;
}

/* From @node to one that uses a bit. Zero: there is none that can be reached so. */
static inline int find_way(const struct pt_flow *flow, struct way *way, const struct pt_node *node,
                           uint32_t stop_kinds)
{
	way->first = node;
	way->ninsn = way->ncalls = 0;
	for (uint32_t count = 0; node && count < most_nodes; ++count) {
		const uint32_t kind = node->kind;

		if (!pass(way, node, flow->base))
			return 0;
		if (kind == pt_kind_cond || kind == pt_kind_ret)
			return 1;
		if (kind != pt_kind_jump && kind != pt_kind_call && kind != pt_kind_fall)
			return 0;
		if (stop_kinds >> kind & 1)
			return 0;
		node = pt_graph_link(flow->section, node, kind != pt_kind_fall);
	}
	return 0;
}

static inline void push_returns(struct pt_flow *flow, const struct way *way)
{
	for (uint32_t i = 0; i < way->ncalls; ++i)
		pt_return_stack_push(&flow->returns, way->return_ip[i]);
}

/* Behind the branch at the way's end. */
static inline void go_on(struct pt_flow *flow, const struct pt_node *node, int taken)
{
	const uint64_t ip = flow->base + node->offset;

	flow->ip = taken ? pt_node_taken_ip(node, ip) : pt_node_next_ip(node, ip);
	flow->node = pt_graph_link(flow->section, node, taken);
}

int pt_block_step(struct pt_flow *flow, uint32_t stop_kinds, struct pt_block *block)
{
	const struct pt_node *const node = is_plain(flow) ? here(flow) : NULL;
	struct way way;
	int taken;

	if (!node || !find_way(flow, &way, node, stop_kinds))
		return 0;
	taken = flow->evd.tnt >> (flow->evd.tnt_count - 1) & 1;
	if (way.last->kind == pt_kind_ret && (!taken || !(flow->returns.depth + way.ncalls)))
		return 0;
	memset(block, 0, sizeof(*block));
	block->ip = flow->base + way.first->offset;
	block->end_ip = flow->base + way.last->offset + way.last->last;
	block->isid = flow->isid;
	block->mode = (enum pt_exec_mode)way.first->mode;
	block->iclass = (enum pt_insn_class)way.last->iclass;
	block->ninsn = (uint16_t)way.ninsn;

	push_returns(flow, &way);
	flow->circle_limit = 0;
	flow->at_start = flow->at_mov_cr3 = 0;
	if (way.last->kind == pt_kind_ret) {
		pt_return_stack_pop(&flow->returns, &flow->ip);
		flow->node = NULL;
	} else {
		go_on(flow, way.last, taken);
	}
	flow->evd.tnt_count -= 1;
	if (!flow->evd.tnt_count)
		pt_flow_advance(flow);
	return 1;
}
