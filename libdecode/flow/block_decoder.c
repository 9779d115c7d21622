/* block_decoder.c - pt_blk_*: one block per branch that the trace decides.
 *
 * A block of this interface is a chain of basic blocks in one section: it goes through direct jumps
 * and calls, unless the configuration says that these end it.
 */
#include "flow/block_decoder.h"

#include <intel-pt-run.h>
#include <string.h>

#include "flow/block_step.h"
#include "flow/cursor_next.h"
#include "flow/decoder_face.h"

/* A chain of so many basic blocks cannot overflow pt_block.ninsn. */
enum { chain_max = 65535 / pt_node_max_insn };
_Static_assert((int)chain_max <= (int)pt_run_capacity, "a chain fits the run");

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

/* All but the flags. */
static void fill_block(const struct pt_flow *flow, const struct pt_flow_sink *sink, struct pt_block *block)
{
	const struct pt_run_block *first = &sink->block[0], *last = &sink->block[sink->count - 1];

	memset(block, 0, sizeof(*block));
	block->ip = first->ip;
	block->end_ip = last->end_ip;
	block->isid = sink->isid;
	block->mode = (enum pt_exec_mode)first->mode;
	block->iclass = (enum pt_insn_class)last->iclass;
	block->ninsn = (uint16_t)sink->ninsn;
	block->speculative = first->flags & ptrf_speculative;
	if (!sink->section && flow->truncated)
		fill_truncated(flow, block);
}

/* What makes a chain of a sink. */
static void want_chain(struct pt_block_decoder *decoder, struct pt_flow_sink *sink)
{
	sink->block = decoder->run;
	sink->capacity = chain_max;
	sink->stop_kinds = stop_kinds(&decoder->flow);
	sink->one_section = 1;
}

/* ---- In cached paths ---------------------------------------------------------------------------- */

static int walk_item(void *context, struct pt_flow_sink *sink)
{
	struct pt_block_decoder *decoder = context;

	want_chain(decoder, sink);
	return pt_flow_walk(&decoder->flow, sink);
}

static int append_item(void *context, const struct pt_flow_sink *sink)
{
	struct pt_block_decoder *decoder = context;
	struct pt_block block;

	fill_block(&decoder->flow, sink, &block);
	return pt_cursor_put(&decoder->cursor, &block);
}

static const struct pt_cursor_face cursor_face = {sizeof(struct pt_block), walk_item, append_item};

static void pt_blk_init(struct pt_block_decoder *decoder)
{
	pt_cursor_init(&decoder->cursor, &decoder->flow, &cursor_face, decoder);
}

static void pt_blk_fini(struct pt_block_decoder *decoder)
{
	pt_cursor_fini(&decoder->cursor);
	pt_run_walk_free(decoder->walk);
}

static void pt_blk_reset(struct pt_block_decoder *decoder)
{
	pt_cursor_reset(&decoder->cursor);
}

static uint32_t steps_done(const struct pt_block_decoder *decoder)
{
	return decoder->cursor.entry ? pt_cursor_steps(&decoder->cursor) : 0;
}

void pt_block_settle(struct pt_block_decoder *decoder)
{
	struct pt_cursor *cursor = &decoder->cursor;
	uint32_t steps;

	pt_cursor_unchain(cursor);
	steps = steps_done(decoder);
	cursor->at = cursor->until = cursor->end = NULL;
	if (cursor->entry)
		pt_cursor_leave(cursor, steps);
}

static void pt_blk_settle(struct pt_block_decoder *decoder)
{
	pt_block_settle(decoder);
}

static const struct pt_time *pt_blk_now(const struct pt_block_decoder *decoder)
{
	return pt_cursor_time(&decoder->cursor, steps_done(decoder));
}

int pt_blk_time_bound(const struct pt_block_decoder *decoder, uint64_t *tsc)
{
	const struct pt_time *time;

	if (!decoder || !tsc)
		return -pte_invalid;
	time = pt_blk_now(decoder);
	if (!time->have_tsc || !time->have_tma || !time->next)
		return -pte_no_time;
	*tsc = time->next;
	return 0;
}

PT_DECODER_FACE(pt_blk, pt_block_decoder, block)

/* Hands out a block with its flags, as much of it as the caller knows. */
static inline __attribute__((always_inline)) void give(struct pt_block *ublock, size_t size,
                                                       const struct pt_block *block, uint32_t flags)
{
	if (__builtin_expect(size == sizeof(*block), 1)) {
		*ublock = *block;
		if (__builtin_expect(flags != 0, 0))
			PT_FACE_SET_FLAGS(ublock, flags);
	} else {
		struct pt_block known = *block;

		PT_FACE_SET_FLAGS(&known, flags);
		pt_copy_to_user(ublock, size, &known, sizeof(known));
	}
}

/* The last block of a path was given, with those flags: what comes behind it decides of others. */
static __attribute__((noinline)) int leave_path(struct pt_block_decoder *decoder, struct pt_block *ublock,
                                                size_t size, uint32_t item, uint32_t flags)
{
	struct pt_flow *flow = &decoder->flow;
	const uint32_t more = pt_flow_exit_flags(flow);
	int errcode;

	if (more && size == sizeof(*ublock))
		PT_FACE_SET_FLAGS(ublock, more);
	else if (more)
		give(ublock, size, pt_item_at(&decoder->cursor.pool, item), flags | more);
	errcode = pt_observers_take_error(&flow->observers);
	return errcode < 0 ? errcode : pt_flow_status(flow);
}

/* The last block of a path is thought about: what comes behind it may belong to it. */
enum { tail = 1 };

static __attribute__((noinline)) int next_in_path(struct pt_block_decoder *decoder, struct pt_block *ublock,
                                                  size_t size)
{
	struct pt_cursor *cursor = &decoder->cursor;
	const uint32_t flags = pt_flow_take_entry_flags(&decoder->flow);
	const int is_last = cursor->end - cursor->at == tail;
	const uint32_t item = *cursor->at;

	give(ublock, size, pt_cursor_take(cursor), flags);
	if (__builtin_expect(!is_last, 0)) {
		cursor->until = cursor->end - tail;
		return 0;
	}
	cursor->until = cursor->at;
	if (!pt_cursor_next(cursor))
		return leave_path(decoder, ublock, size, item, flags);
	pt_cursor_hold(cursor, tail);
	return 0;
}

/* ---- On foot ------------------------------------------------------------------------------------ */

/* Behind a block that was stepped over. */
static int end_step(struct pt_block_decoder *decoder, struct pt_block *block, struct pt_block *ublock,
                    size_t size)
{
	struct pt_flow *flow = &decoder->flow;
	const uint32_t flags = pt_flow_take_entry_flags(flow) | pt_flow_exit_flags(flow);
	const int errcode = pt_observers_take_error(&flow->observers);

	if (flags)
		PT_FACE_SET_FLAGS(block, flags);
	if (block != ublock)
		pt_copy_to_user(ublock, size, block, sizeof(*block));
	return errcode < 0 ? errcode : pt_flow_status(flow);
}

static int next_on_foot(struct pt_block_decoder *decoder, struct pt_block *ublock, size_t size)
{
	struct pt_flow *flow = &decoder->flow;
	struct pt_flow_sink sink;
	/* Copying what was written just now would wait for it. */
	struct pt_block known, *const block = size == sizeof(known) ? ublock : &known;
	uint32_t flags;
	int status;

	if (pt_block_step(flow, stop_kinds(flow), block))
		return end_step(decoder, block, ublock, size);
	sink = (struct pt_flow_sink){0};
	want_chain(decoder, &sink);
	status = pt_flow_run(flow, &sink);
	if (sink.count) {
		fill_block(flow, &sink, block);
		flags = pt_flow_take_entry_flags(flow) | pt_flow_exit_flags(flow);
		if (flags)
			PT_FACE_SET_FLAGS(block, flags);
	} else {
		memset(block, 0, sizeof(*block));
		block->ip = flow->enabled ? flow->ip : 0;
		block->mode = flow->mode;
	}
	if (block != ublock)
		pt_copy_to_user(ublock, size, block, sizeof(*block));
	return status;
}

static __attribute__((noinline)) int next_with_care(struct pt_block_decoder *decoder, struct pt_block *ublock,
                                                    size_t size)
{
	struct pt_cursor *cursor;

	if (!pt_face_may_move(&decoder->flow))
		return -pte_invalid;
	cursor = &decoder->cursor;
	if (cursor->entry && !pt_cursor_is_right(cursor))
		pt_block_settle(decoder);
	if (!cursor->entry && !pt_cursor_is_on_foot(cursor) && pt_cursor_enter(cursor))
		pt_cursor_hold(cursor, tail);
	return cursor->entry ? next_in_path(decoder, ublock, size) : next_on_foot(decoder, ublock, size);
}

/* The last block of a path, the first one behind events, and whatever comes on foot. */
static __attribute__((noinline)) int next_with_thought(struct pt_block_decoder *decoder,
                                                       struct pt_block *ublock, size_t size)
{
	const struct pt_cursor *cursor = &decoder->cursor;

	return cursor->entry && pt_cursor_is_right(cursor) && pt_face_may_move(&decoder->flow)
	               ? next_in_path(decoder, ublock, size)
	               : next_with_care(decoder, ublock, size);
}

/* Nobody is called while there are blocks to be handed out like this, nor are there flags for the next one.
 */
int pt_blk_next(struct pt_block_decoder *decoder, struct pt_block *ublock, size_t size)
{
	if (!decoder || !ublock)
		return -pte_invalid;
	if (decoder->cursor.at == decoder->cursor.until)
		return next_with_thought(decoder, ublock, size);
	if (size != sizeof(*ublock) || !pt_flow_image_is_same(&decoder->flow))
		return next_with_care(decoder, ublock, size);
	*ublock = *(const struct pt_block *)pt_cursor_take(&decoder->cursor);
	return 0;
}

/* The first block of the path behind an event has flags, and so needs thought. */
static void hold_behind_event(struct pt_cursor *cursor)
{
	pt_cursor_hold(cursor, tail);
	cursor->until = cursor->at;
}

int pt_blk_event(struct pt_block_decoder *decoder, struct pt_event *event, size_t size)
{
	int status;

	if (!decoder || !event || !pt_face_may_move(&decoder->flow))
		return -pte_invalid;
	if (size != sizeof(*event) || !pt_cursor_may_turn(&decoder->cursor))
		return pt_flow_event(&decoder->flow, event, size);
	status = pt_cursor_turn(&decoder->cursor, event);
	if (decoder->cursor.entry)
		hold_behind_event(&decoder->cursor);
	return status;
}
