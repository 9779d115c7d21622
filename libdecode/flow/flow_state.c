/* flow_state.c - whether two decoders of one trace will go on alike; and how one goes on as another one.
 *
 * At a PSB, little of what came before still counts: what does is copied here, in a form that compares byte
 * by byte. What an image, a cache or an observer would give again is left out, and so is what only
 * pt_blk_next() tells: the flags of its blocks.
 */
#include "flow/block_decoder.h"

#include "flow/decoder_face.h"

#include <stdlib.h>
#include <string.h>

struct pt_run_state {
	/* Where packets are read, and what was read ahead. */
	const uint8_t *pos, *packet, *sync, *reached;
	uint64_t tnt, tip_ip;
	uint32_t tnt_count, fresh_tnt;
	struct pt_last_ip last;
	struct pt_time time, before;
	struct pt_event queue[pt_evd_queue_size];
	struct pt_event fup_bound[pt_evd_bound_size], tip_bound[pt_evd_bound_size];
	uint32_t nqueued, nfup_bound, ntip_bound;
	uint64_t cr2, vmxq, vmxr;

	/* Where execution stands. */
	uint64_t ip, branch_ip, resume_ip, told;
	uint64_t cr3, vmcs;
	uint64_t circle_ip;
	uint32_t circle_steps, circle_limit, free_steps;
	int unit, status;
	enum pt_exec_mode mode;
	uint32_t depth;
	uint64_t returns[pt_return_stack_size];

	uint8_t flag[32];
};

static void copy_bound(struct pt_event *to, uint32_t *count, const struct pt_bound_events *from)
{
	*count = from->count;
	for (uint32_t i = 0; i < from->count; ++i)
		memcpy(&to[i], &from->event[i], sizeof(to[i]));
}

static void copy_trace(struct pt_run_state *state, const struct pt_evd *evd)
{
	state->pos = evd->pos;
	state->packet = evd->packet;
	state->sync = evd->sync;
	state->tnt_count = evd->tnt_count;
	state->tnt = evd->tnt_count ? evd->tnt : 0;
	state->last.ip = evd->last.ip;
	state->last.valid = evd->last.valid;
	state->last.suppressed = evd->last.suppressed;
	memcpy(&state->time, &evd->time, sizeof(evd->time));
	if (evd->ahead)
		memcpy(&state->before, &evd->before, sizeof(evd->before));
	state->nqueued = evd->queue_count;
	for (uint32_t i = 0; i < evd->queue_count; ++i)
		memcpy(&state->queue[i], &evd->queue[(evd->queue_head + i) % pt_evd_queue_size],
		       sizeof(state->queue[i]));
	copy_bound(state->fup_bound, &state->nfup_bound, &evd->fup_bound);
	copy_bound(state->tip_bound, &state->ntip_bound, &evd->tip_bound);
	state->cr2 = evd->evd.have_cr2 ? evd->evd.cr2 : 0;
	state->vmxq = evd->evd.have_vmxq ? evd->evd.vmxq : 0;
	state->vmxr = evd->evd.have_vmxr ? evd->evd.vmxr : 0;
}

static uint64_t present_ip(const struct pt_flow *flow)
{
	if (!flow->node)
		return flow->ip;
	return flow->section ? flow->base + flow->node->offset : flow->base;
}

static void copy_flow(struct pt_run_state *state, const struct pt_flow *flow)
{
	const struct pt_return_stack *returns = &flow->returns;

	state->reached = flow->reached;
	state->fresh_tnt = flow->evd.tnt_count ? flow->fresh_tnt : 0;
	state->unit = flow->unit;
	state->status = flow->status;
	state->mode = flow->mode;
	state->ip = flow->enabled && !flow->in_branch ? present_ip(flow) : 0;
	state->branch_ip = flow->in_branch ? flow->branch_ip : 0;
	state->resume_ip = !flow->enabled && flow->have_resume_ip ? flow->resume_ip : 0;
	state->tip_ip = flow->unit == pt_unit_tip ? flow->evd.tip_ip : 0;
	state->told = flow->ticks ? flow->told : 0;
	state->cr3 = flow->asid.cr3;
	state->vmcs = flow->asid.vmcs;
	state->circle_limit = flow->circle_limit;
	state->circle_steps = flow->circle_limit ? flow->circle_steps : 0;
	state->circle_ip = flow->circle_limit ? flow->circle_ip : 0;
	state->free_steps = flow->free_steps;
	state->depth = returns->depth;
	for (uint32_t i = 0; i < returns->depth; ++i)
		state->returns[i] = returns->ip[(returns->top - 1 - i) % pt_return_stack_size];
}

static void copy_flags(struct pt_run_state *state, const struct pt_flow *flow)
{
	const struct pt_evd *evd = &flow->evd;
	const uint8_t flags[] = {
	        evd->enabled,
	        evd->no_tnt,
	        evd->refused,
	        evd->psb_status,
	        evd->iflag,
	        evd->ahead,
	        flow->unit == pt_unit_tip ? evd->tip_suppressed : 0,
	        evd->fup_bound.branch,
	        evd->tip_bound.branch,
	        evd->evd.have_cr2,
	        evd->evd.have_vmxq,
	        evd->evd.have_vmxr,
	        flow->synced,
	        flow->enabled,
	        flow->speculative,
	        flow->due,
	        flow->in_branch,
	        flow->at_mov_cr3,
	        flow->non_root,
	        !flow->enabled && flow->have_resume_ip,
	        flow->tick_is_due,
	        flow->enabled && !flow->in_branch && flow->named_ip == present_ip(flow),
	        flow->crossing.callback ? flow->crossing.half : 0,
	};

	_Static_assert(sizeof(flags) <= sizeof(state->flag), "all flags fit");
	memcpy(state->flag, flags, sizeof(flags));
}

static void copy_state(struct pt_run_state *state, const struct pt_flow *flow)
{
	memset(state, 0, sizeof(*state));
	copy_trace(state, &flow->evd);
	copy_flow(state, flow);
	copy_flags(state, flow);
}

/* pt_blk_next() may be on the way along a path, at which the flow still stands where it begins. */
static void settle(const struct pt_block_decoder *decoder)
{
	pt_block_settle((struct pt_block_decoder *)(uintptr_t)decoder);
}

struct pt_run_state *pt_blk_save_state(const struct pt_block_decoder *decoder)
{
	struct pt_run_state *state = decoder ? malloc(sizeof(*state)) : NULL;

	if (!state)
		return NULL;
	settle(decoder);
	copy_state(state, &decoder->flow);
	return state;
}

int pt_blk_is_in_state(const struct pt_block_decoder *decoder, const struct pt_run_state *state)
{
	struct pt_run_state present;

	if (!decoder || !state)
		return -pte_invalid;
	settle(decoder);
	copy_state(&present, &decoder->flow);
	return memcmp(&present, state, sizeof(present)) == 0;
}

void pt_run_state_free(struct pt_run_state *state)
{
	free(state);
}

/* ---- Another decoder in the same state ---------------------------------------------------------- */

/* The reader of packets as it is, but for who listens. */
static void take_trace(struct pt_evd *evd, const struct pt_evd *from)
{
	int (*const tick)(void *context) = evd->tick;
	void *const context = evd->tick_context;
	const uint64_t limit = evd->tick_limit;

	*evd = *from;
	evd->tick = tick;
	evd->tick_context = context;
	evd->tick_limit = limit;
}

static void take_flags(struct pt_flow *flow, const struct pt_flow *from)
{
	flow->synced = from->synced;
	flow->at_start = from->at_start;
	flow->enabled = from->enabled;
	flow->speculative = from->speculative;
	flow->due = from->due;
	flow->in_branch = from->in_branch;
	flow->non_root = from->non_root;
	flow->at_mov_cr3 = from->at_mov_cr3;
	flow->have_resume_ip = from->have_resume_ip;
	flow->entry_flags = from->entry_flags;
	flow->tick_is_due = from->tick_is_due;
}

/* Code is looked up anew, in the flow's own image. */
static void take_place(struct pt_flow *flow, const struct pt_flow *from)
{
	pt_flow_set_asid(flow, from->asid.cr3, from->asid.vmcs);
	pt_flow_set_ip(flow, present_ip(from));
	flow->named_ip = from->named_ip;
	flow->branch_ip = from->branch_ip;
	flow->resume_ip = from->resume_ip;
	flow->mode = from->mode;
	flow->circle_ip = from->circle_ip;
	flow->circle_steps = from->circle_steps;
	flow->circle_limit = from->circle_limit;
	flow->free_steps = from->free_steps;
	flow->returns = from->returns;
	flow->crossing.half = pt_half_unknown;
}

static void take_flow(struct pt_flow *flow, const struct pt_flow *from)
{
	take_trace(&flow->evd, &from->evd);
	take_flags(flow, from);
	take_place(flow, from);
	flow->start = from->start;
	flow->reached = from->reached;
	flow->fresh_tnt = from->fresh_tnt;
	flow->unit = from->unit;
	flow->status = from->status;
	flow->told = from->told;
	flow->tick_ip = from->tick_ip;
	flow->unit_time = from->unit_time;
	flow->observers.state = from->observers.state;
}

int pt_blk_copy_state(struct pt_block_decoder *decoder, const struct pt_block_decoder *from)
{
	if (!decoder || !from || decoder == from || !from->flow.start || !pt_face_may_move(&decoder->flow))
		return -pte_invalid;
	settle(from);
	pt_cursor_reset(&decoder->cursor);
	take_flow(&decoder->flow, &from->flow);
	return from->flow.status < 0 ? from->flow.status : pt_flow_status(&decoder->flow);
}
