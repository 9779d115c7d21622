/* block_decoder.c - pt_blk_*: one block per branch that the trace decides.
 *
 * A block of this interface is a chain of basic blocks in one section: it goes through direct jumps
 * and calls, unless the configuration says that these end it.
 */
#include "flow/block_decoder.h"

#include <string.h>

#include "flow/decoder_face.h"

/* A chain of so many basic blocks cannot overflow pt_block.ninsn. */
enum { chain_max = 65535 / pt_node_max_insn };
_Static_assert((int)chain_max <= (int)pt_run_capacity, "a chain fits the run");

static void forget_nothing(struct pt_block_decoder *decoder)
{
	(void)decoder;
}

static void free_walk(struct pt_block_decoder *decoder)
{
	pt_run_walk_free(decoder->walk);
}

PT_DECODER_FACE(pt_blk, pt_block_decoder, block, forget_nothing, free_walk)

static uint32_t stop_kinds(const struct pt_flow *flow)
{
	const struct pt_conf_flags *flags = &flow->evd.config.flags;
	uint32_t kinds = pt_kinds_of_trace;

	if (flags->variant.block.end_on_call)
		kinds |= 1u << pt_kind_call;
	if (flags->variant.block.end_on_jump)
		kinds |= 1u << pt_kind_jump;
	return kinds;
}

static void fill_truncated(const struct pt_flow *flow, struct pt_block *block)
{
	block->truncated = 1;
	block->size = ((const struct pt_node *)flow->scratch)->length[block->ninsn - 1];
	memcpy(block->raw, flow->scratch_bytes + (block->end_ip - block->ip), block->size);
}

static void fill_block(struct pt_block_decoder *decoder, const struct pt_flow_sink *sink,
                       struct pt_block *block)
{
	const struct pt_run_block *first = &sink->block[0], *last = &sink->block[sink->count - 1];

	block->ip = first->ip;
	block->end_ip = last->end_ip;
	block->isid = sink->isid;
	block->mode = (enum pt_exec_mode)first->mode;
	block->iclass = (enum pt_insn_class)last->iclass;
	block->ninsn = (uint16_t)sink->ninsn;
	block->speculative = first->flags & ptrf_speculative;
	if (!sink->section && decoder->flow.truncated)
		fill_truncated(&decoder->flow, block);
	PT_FACE_SET_FLAGS(block,
	                  pt_flow_take_entry_flags(&decoder->flow) | pt_flow_exit_flags(&decoder->flow));
}

int pt_blk_next(struct pt_block_decoder *decoder, struct pt_block *ublock, size_t size)
{
	struct pt_flow_sink sink = {0};
	struct pt_block block = {0};
	int status;

	if (!decoder || !ublock || !pt_face_may_move(&decoder->flow))
		return -pte_invalid;
	sink.block = decoder->run;
	sink.capacity = chain_max;
	sink.stop_kinds = stop_kinds(&decoder->flow);
	sink.one_section = 1;
	status = pt_flow_run(&decoder->flow, &sink);
	if (sink.count) {
		fill_block(decoder, &sink, &block);
	} else {
		block.ip = decoder->flow.enabled ? decoder->flow.ip : 0;
		block.mode = decoder->flow.mode;
	}
	pt_copy_to_user(ublock, size, &block, sizeof(block));
	return status;
}

int pt_blk_event(struct pt_block_decoder *decoder, struct pt_event *event, size_t size)
{
	if (!decoder || !event || !pt_face_may_move(&decoder->flow))
		return -pte_invalid;
	return pt_flow_event(&decoder->flow, event, size);
}
