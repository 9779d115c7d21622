/* insn_decoder.c - pt_insn_*: one instruction at a time, out of one basic block after the other.
 *
 * The flow is asked for a basic block; its instructions are handed out; status bits and errors that
 * came with the block are given with its last instruction, or with the call after it.
 */
#include <stddef.h>
#include <string.h>

#include "flow/cursor_next.h"
#include "flow/decoder_face.h"

struct pt_insn_decoder {
	struct pt_flow flow;

	/* In a cached path. The flow stands behind the block whose instructions are the last that the cursor
	 * holds: at once where somebody listens, else when the last one is handed out, or somebody asks. */
	struct pt_cursor cursor;
	uint8_t moved; /* it does */

	struct pt_run_block recorded; /* the one that was walked last */

	/* On foot. */
	struct pt_run_block block; /* being handed out */
	uint32_t index;            /* of the next instruction; block.ninsn: none is left */
	uint64_t ip;
	int status; /* what came with the block; in a path with its last one, when the flow has moved */
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

/* ---- In cached paths ---------------------------------------------------------------------------- */

static int walk_item(void *context, struct pt_flow_sink *sink)
{
	struct pt_insn_decoder *decoder = context;

	sink->block = &decoder->recorded;
	sink->capacity = 1;
	return pt_flow_walk(&decoder->flow, sink);
}

static int append_items(void *context, const struct pt_flow_sink *sink)
{
	struct pt_insn_decoder *decoder = context;
	const struct pt_run_block *block = &sink->block[0];
	const uint8_t *bytes;
	uint64_t ip = block->ip;
	int errcode;

	bytes = pt_section_bytes(sink->section, &errcode);
	if (!bytes)
		return 0;
	for (uint32_t i = 0; i < block->ninsn; ip += block->length[i++]) {
		struct pt_insn insn;

		memset(&insn, 0, sizeof(insn));
		insn.ip = ip;
		insn.isid = sink->isid;
		insn.mode = (enum pt_exec_mode)block->mode;
		insn.iclass = i + 1u == block->ninsn ? (enum pt_insn_class)block->iclass : ptic_other;
		insn.size = block->length[i];
		memcpy(insn.raw, bytes + (ip - sink->base), insn.size);
		if (!pt_cursor_put(&decoder->cursor, &insn))
			return 0;
	}
	return 1;
}

static const struct pt_cursor_face cursor_face = {sizeof(struct pt_insn), walk_item, append_items};

static void pt_insn_init(struct pt_insn_decoder *decoder)
{
	pt_cursor_init(&decoder->cursor, &decoder->flow, &cursor_face, decoder);
}

static void pt_insn_fini(struct pt_insn_decoder *decoder)
{
	pt_cursor_fini(&decoder->cursor);
}

/* What comes with the last block of a path. As on foot, an error that was found right behind it does, unless
 * something else was before: another time than @before, or another PSB than @reached. */
static int status_behind(struct pt_flow *flow, uint64_t before, const uint8_t *reached)
{
	const int status = pt_observers_take_error(&flow->observers);

	if (status < 0)
		return status;
	if (flow->unit < 0 && flow->unit != -pte_eos && !flow->due && flow->evd.time.tsc == before &&
	    flow->reached == reached)
		flow->status = flow->unit;
	return flow->status < 0 ? flow->status : pt_flow_status(flow);
}

/* The cursor holds nothing but instructions of a path's last block: the flow comes to its end. */
static void move(struct pt_insn_decoder *decoder)
{
	struct pt_cursor *cursor = &decoder->cursor;
	const uint8_t *reached = decoder->flow.reached;
	uint64_t before;

	pt_cursor_count_owed(cursor);
	before = decoder->flow.evd.time.tsc;
	cursor->until = cursor->at;
	decoder->moved = 1;
	decoder->status = 0;
	if (!pt_cursor_next(cursor))
		decoder->status = status_behind(&decoder->flow, before, reached);
	cursor->until = cursor->end - 1;
}

/* The blocks of the path that were begun. That the last one is among them means: the flow has moved. */
static uint32_t blocks_begun(struct pt_insn_decoder *decoder)
{
	struct pt_cursor *cursor = &decoder->cursor;

	if (!cursor->entry || decoder->moved)
		return 0;
	if (!pt_cursor_is_in_last_step(cursor))
		return pt_cursor_steps(cursor);
	move(decoder);
	return 0;
}

/* Where it searches from is where the flow stands. */
static void pt_insn_reset(struct pt_insn_decoder *decoder)
{
	(void)blocks_begun(decoder);
	pt_cursor_reset(&decoder->cursor);
	forget_block(decoder);
}

/* The block that is being handed out was decoded: the flow stands behind it, and only it is held. */
static void pt_insn_settle(struct pt_insn_decoder *decoder)
{
	struct pt_cursor *cursor = &decoder->cursor;
	uint32_t begun;

	if (cursor->entry && !decoder->moved)
		pt_cursor_unchain(cursor);
	begun = blocks_begun(decoder);
	if (!cursor->entry)
		return;
	if (!decoder->moved) {
		cursor->end = begun ? pt_cursor_behind(cursor, begun) : cursor->at;
		decoder->moved = 1;
		decoder->status = 0;
	}
	cursor->until = cursor->at;
	pt_cursor_leave(cursor, begun);
	cursor->until = cursor->end - (cursor->at != cursor->end);
}

static const struct pt_time *pt_insn_now(struct pt_insn_decoder *decoder)
{
	const uint32_t begun = blocks_begun(decoder);

	return pt_cursor_time(&decoder->cursor, begun);
}

PT_DECODER_FACE(pt_insn, pt_insn_decoder, insn)

/* Holds the path before which the flow stands. */
static void begin_path(struct pt_insn_decoder *decoder)
{
	struct pt_cursor *cursor = &decoder->cursor;

	decoder->moved = 0;
	pt_cursor_hold(cursor, 1);
	if (decoder->flow.observers.count)
		cursor->until = pt_cursor_behind(cursor, cursor->entry->path.nblocks - 1);
}

/* An instruction of a cached path is held. Zero: none is next. */
static int hold(struct pt_insn_decoder *decoder)
{
	struct pt_cursor *cursor = &decoder->cursor;

	if (cursor->entry && !pt_cursor_is_right(cursor))
		pt_insn_settle(decoder);
	if (cursor->at == cursor->end) {
		if (decoder->index != decoder->block.ninsn || !pt_cursor_enter(cursor))
			return 0;
		begin_path(decoder);
	}
	if (cursor->at == cursor->until && !decoder->moved)
		move(decoder);
	return 1;
}

/* Hands out an instruction with its flags, as much of it as the caller knows. */
static void give(struct pt_insn *uinsn, size_t size, struct pt_insn *insn, uint32_t flags)
{
	if (flags)
		PT_FACE_SET_FLAGS(insn, flags);
	if (__builtin_expect(size == sizeof(*insn), 1))
		*uinsn = *insn;
	else
		pt_copy_to_user(uinsn, size, insn, sizeof(*insn));
}

/* What came with the block is said with its last instruction, of which @left is zero; an observer's error at
 * once. @before: the status bits before the block. */
static int status_of_insn(struct pt_insn_decoder *decoder, uint32_t left, int before)
{
	const int status = decoder->status;

	if (!left)
		return status;
	if (status < 0 && status != decoder->flow.status) {
		decoder->status =
		        decoder->flow.status < 0 ? decoder->flow.status : pt_flow_status(&decoder->flow);
		return status;
	}
	return before;
}

static int next_in_path(struct pt_insn_decoder *decoder, struct pt_insn *uinsn, size_t size)
{
	struct pt_cursor *cursor = &decoder->cursor;
	struct pt_flow *flow = &decoder->flow;
	uint32_t flags = pt_flow_take_entry_flags(flow);
	struct pt_insn insn = *(const struct pt_insn *)pt_cursor_take(cursor);
	const uint32_t left = (uint32_t)(cursor->end - cursor->at);
	int status;

	if (!left)
		flags |= pt_flow_exit_flags(flow);
	give(uinsn, size, &insn, flags);
	status = decoder->moved ? status_of_insn(decoder, left, 0) : 0;
	if (left)
		return status;
	if (cursor->entry)
		begin_path(decoder);
	else
		cursor->until = cursor->at;
	return status;
}

/* ---- On foot ------------------------------------------------------------------------------------ */

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

static int next_on_foot(struct pt_insn_decoder *decoder, struct pt_insn *uinsn, size_t size)
{
	struct pt_insn insn = {0};
	uint32_t flags;
	int status;

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
	give(uinsn, size, &insn, flags);
	return status_of_insn(decoder, decoder->block.ninsn - decoder->index, decoder->before);
}

static __attribute__((noinline)) int next_with_care(struct pt_insn_decoder *decoder, struct pt_insn *uinsn,
                                                    size_t size)
{
	if (!decoder || !uinsn || !pt_face_may_move(&decoder->flow))
		return -pte_invalid;
	return hold(decoder) ? next_in_path(decoder, uinsn, size) : next_on_foot(decoder, uinsn, size);
}

/* Most are neither the first ones of something, nor does anything come with them; and nobody is called while
 * there are such.
 */
int pt_insn_next(struct pt_insn_decoder *decoder, struct pt_insn *uinsn, size_t size)
{
	if (!decoder || !uinsn || decoder->cursor.at == decoder->cursor.until || size != sizeof(*uinsn) ||
	    !pt_cursor_is_right(&decoder->cursor))
		return next_with_care(decoder, uinsn, size);
	*uinsn = *(const struct pt_insn *)pt_cursor_take(&decoder->cursor);
	return 0;
}

int pt_insn_event(struct pt_insn_decoder *decoder, struct pt_event *event, size_t size)
{
	if (!decoder || !event || !pt_face_may_move(&decoder->flow))
		return -pte_invalid;
	if (decoder->index != decoder->block.ninsn || decoder->cursor.at != decoder->cursor.end)
		return -pte_bad_query;
	return pt_flow_event(&decoder->flow, event, size);
}
