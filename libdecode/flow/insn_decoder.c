/* insn_decoder.c - pt_insn_*: one instruction at a time, out of one basic block after the other.
 *
 * The flow is asked for a basic block; its instructions are handed out; status bits and errors that
 * came with the block are given with its last instruction, or with the call after it.
 */
#include <string.h>

#include "flow/decoder_face.h"

struct pt_insn_decoder {
	struct pt_flow flow;
	struct pt_run_block block; /* being handed out */
	uint32_t index;            /* of the next instruction; block.ninsn: none is left */
	uint64_t ip;
	int status;                /* what came with the block */
	int isid;
	uint8_t truncated;
	struct pt_section *section; /* NULL: bytes are read through the image */
	uint64_t base;
};

static void forget_block(struct pt_insn_decoder *decoder)
{
	memset(&decoder->block, 0, sizeof(decoder->block));
	decoder->index = 0;
	decoder->status = 0;
}

PT_DECODER_FACE(pt_insn, pt_insn_decoder, forget_block)

static int next_block(struct pt_insn_decoder *decoder)
{
	struct pt_flow_sink sink = {.block = &decoder->block, .capacity = 1};

	forget_block(decoder);
	decoder->status = pt_flow_run(&decoder->flow, &sink);
	if (!sink.count) {
		forget_block(decoder);
		return decoder->flow.status < 0 ? decoder->flow.status : pt_flow_status(&decoder->flow);
	}
	decoder->ip = decoder->block.ip;
	decoder->isid = sink.isid;
	decoder->truncated = sink.truncated;
	decoder->section = sink.section;
	decoder->base = sink.base;
	return 0;
}

static void fill_bytes(struct pt_insn_decoder *decoder, struct pt_insn *insn)
{
	const uint8_t *bytes = NULL;
	int errcode, isid;

	if (decoder->section)
		bytes = pt_section_bytes(decoder->section, &errcode);
	if (bytes) {
		memcpy(insn->raw, bytes + (insn->ip - decoder->base), insn->size);
		return;
	}
	if (pt_image_read(decoder->flow.image, &isid, insn->raw, insn->size, &decoder->flow.asid, insn->ip) <
	    insn->size)
		memset(insn->raw, 0, sizeof(insn->raw));
	else
		insn->truncated = decoder->truncated != 0;
}

static void fill_insn(struct pt_insn_decoder *decoder, struct pt_insn *insn)
{
	const struct pt_run_block *block = &decoder->block;

	insn->ip = decoder->ip;
	insn->isid = decoder->isid;
	insn->mode = (enum pt_exec_mode)block->mode;
	insn->size = block->length[decoder->index];
	insn->iclass = ptic_other;
	insn->speculative = block->flags & ptrf_speculative;
	if (decoder->index + 1u == block->ninsn)
		insn->iclass = (enum pt_insn_class)block->iclass;
	fill_bytes(decoder, insn);
}

static void take_entry_flags(struct pt_flow *flow, struct pt_insn *insn)
{
	insn->enabled = flow->was_enabled != 0;
	insn->resumed = flow->was_resumed != 0;
	insn->resynced = flow->was_resynced != 0;
	flow->was_enabled = 0;
	flow->was_resumed = 0;
	flow->was_resynced = 0;
}

static void set_exit_flags(const struct pt_flow *flow, struct pt_insn *insn)
{
	const struct pt_event *ev = &flow->evd.queue[flow->evd.queue_head];

	if (!flow->due)
		return;
	insn->disabled = ev->type == ptev_disabled || ev->type == ptev_async_disabled;
	insn->interrupted = ev->type == ptev_async_branch;
	insn->stopped = ev->type == ptev_stop;
	if (ev->type == ptev_tsx) {
		insn->aborted = ev->variant.tsx.aborted;
		insn->committed = !ev->variant.tsx.aborted && !ev->variant.tsx.speculative;
	}
}

int pt_insn_next(struct pt_insn_decoder *decoder, struct pt_insn *uinsn, size_t size)
{
	struct pt_insn insn = {0};
	int status;

	if (!decoder || !uinsn || !pt_face_may_move(&decoder->flow))
		return -pte_invalid;
	if (decoder->index == decoder->block.ninsn) {
		status = next_block(decoder);
		if (decoder->index == decoder->block.ninsn) {
			pt_copy_to_user(uinsn, size, &insn, sizeof(insn));
			return status;
		}
	}
	fill_insn(decoder, &insn);
	take_entry_flags(&decoder->flow, &insn);
	decoder->ip += insn.size;
	decoder->index += 1;
	status = 0;
	if (decoder->index == decoder->block.ninsn) {
		set_exit_flags(&decoder->flow, &insn);
		/* A decode error that stopped the flow comes with the next call, an observer's with this one. */
		status = decoder->status;
		if (status < 0 && status == decoder->flow.status)
			status = 0;
	}
	pt_copy_to_user(uinsn, size, &insn, sizeof(insn));
	return status;
}

int pt_insn_event(struct pt_insn_decoder *decoder, struct pt_event *event, size_t size)
{
	if (!decoder || !event || !pt_face_may_move(&decoder->flow))
		return -pte_invalid;
	if (decoder->index != decoder->block.ninsn)
		return -pte_bad_query;
	return pt_flow_event(&decoder->flow, event, size);
}
