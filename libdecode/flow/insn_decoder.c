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
	int status; /* what came with the block */
	int before; /* the status bits before it */
	int isid;
	struct pt_section *section; /* NULL: the bytes are the flow's scratch_bytes */
	uint64_t base;
};

static void forget_block(struct pt_insn_decoder *decoder)
{
	memset(&decoder->block, 0, sizeof(decoder->block));
	decoder->index = 0;
	decoder->status = 0;
}

PT_DECODER_FACE(pt_insn, pt_insn_decoder, insn, forget_block, forget_block)

static int next_block(struct pt_insn_decoder *decoder)
{
	struct pt_flow_sink sink = {.block = &decoder->block, .capacity = 1};

	forget_block(decoder);
	decoder->before = pt_flow_status(&decoder->flow);
	decoder->status = pt_flow_run(&decoder->flow, &sink);
	if (!sink.count) {
		const int status = decoder->status;

		forget_block(decoder);
		return status;
	}
	decoder->ip = decoder->block.ip;
	decoder->isid = sink.isid;
	decoder->section = sink.section;
	decoder->base = sink.base;
	return 0;
}

static void fill_bytes(struct pt_insn_decoder *decoder, struct pt_insn *insn)
{
	const uint8_t *bytes = decoder->flow.scratch_bytes;
	int errcode;

	if (decoder->section)
		bytes = pt_section_bytes(decoder->section, &errcode);
	else
		insn->truncated = decoder->flow.truncated != 0;
	if (bytes)
		memcpy(insn->raw, bytes + (insn->ip - decoder->base), insn->size);
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

/* What came with the block is said with its last instruction; an observer's error at once. */
static int status_of_insn(struct pt_insn_decoder *decoder)
{
	const int status = decoder->status;

	if (decoder->index == decoder->block.ninsn)
		return status;
	if (status < 0 && status != decoder->flow.status) {
		decoder->status =
		        decoder->flow.status < 0 ? decoder->flow.status : pt_flow_status(&decoder->flow);
		return status;
	}
	return decoder->before;
}

int pt_insn_next(struct pt_insn_decoder *decoder, struct pt_insn *uinsn, size_t size)
{
	struct pt_insn insn = {0};
	uint32_t flags;
	int status;

	if (!decoder || !uinsn || !pt_face_may_move(&decoder->flow))
		return -pte_invalid;
	if (decoder->index == decoder->block.ninsn) {
		status = next_block(decoder);
		if (decoder->index == decoder->block.ninsn) {
			if (decoder->flow.enabled) {
				insn.ip = decoder->flow.ip;
				insn.mode = decoder->flow.mode;
			}
			pt_copy_to_user(uinsn, size, &insn, sizeof(insn));
			return status;
		}
	}
	fill_insn(decoder, &insn);
	flags = pt_flow_take_entry_flags(&decoder->flow);
	decoder->ip += insn.size;
	decoder->index += 1;
	if (decoder->index == decoder->block.ninsn)
		flags |= pt_flow_exit_flags(&decoder->flow);
	PT_FACE_SET_FLAGS(&insn, flags);
	pt_copy_to_user(uinsn, size, &insn, sizeof(insn));
	return status_of_insn(decoder);
}

int pt_insn_event(struct pt_insn_decoder *decoder, struct pt_event *event, size_t size)
{
	if (!decoder || !event || !pt_face_may_move(&decoder->flow))
		return -pte_invalid;
	if (decoder->index != decoder->block.ninsn)
		return -pte_bad_query;
	return pt_flow_event(&decoder->flow, event, size);
}
