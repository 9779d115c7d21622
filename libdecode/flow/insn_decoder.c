/* insn_decoder.c - pt_insn_*: one instruction at a time, out of one basic block after the other.
 *
 * The flow is asked for a basic block; its instructions are handed out; status bits and errors that
 * came with the block are given with its last instruction, or with the call after it.
 */
#include <stddef.h>
#include <string.h>

#include "flow/cursor.h"
#include "flow/decoder_face.h"

/* How many instructions a cached path may have. */
enum { max_insns = 2048 };

/* How many bytes are read at once where an instruction stands. */
enum { copy_size = 16 };

/* What is kept of a path. */
enum { part_items, part_lengths, part_code };

/* A basic block of a cached path. The offsets are those of the lengths of its instructions, and of their
 * bytes, in the other two parts. */
struct insn_item {
	uint64_t ip;
	uint32_t length_at, code_at;
	int isid;
	uint16_t ninsn;
	uint8_t mode, iclass;
};

/* What is collected for a path. */
struct insn_record {
	struct pt_run_block block; /* the one that was walked last */
	struct insn_item item[pt_cursor_max_items];
	uint8_t length[max_insns];
	uint8_t code[max_insns * pt_max_insn_size + copy_size];
	uint32_t nitems, ninsn, ncode;
};

struct pt_insn_decoder {
	struct pt_flow flow;

	/* In a cached path: the instructions left in the present item, the next one, and the items left. */
	struct pt_cursor cursor;
	uint32_t left;
	uint32_t at;                  /* of the next one, from where the item begins */
	const uint8_t *length, *code; /* of the next one; of the item */
	const struct insn_item *item;
	uint32_t begun;             /* items of the present path, if there is one */
	struct insn_record *record; /* owned; NULL: not needed yet */

	/* On foot. */
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

	if (!decoder->record)
		return -pte_nomem;
	sink->block = &decoder->record->block;
	sink->capacity = 1;
	return pt_flow_walk(&decoder->flow, sink);
}

static void begin_items(void *context)
{
	struct pt_insn_decoder *decoder = context;

	if (!decoder->record)
		decoder->record = malloc(sizeof(*decoder->record));
	if (decoder->record)
		decoder->record->nitems = decoder->record->ninsn = decoder->record->ncode = 0;
}

static int append_item(void *context, const struct pt_flow_sink *sink)
{
	struct pt_insn_decoder *decoder = context;
	struct insn_record *record = decoder->record;
	const struct pt_run_block *block = &sink->block[0];
	const uint32_t size = (uint32_t)(block->end_ip - block->ip) + block->length[block->ninsn - 1];
	const uint8_t *bytes;
	int errcode;

	if (!record || record->nitems == pt_cursor_max_items || record->ninsn + block->ninsn > max_insns)
		return 0;
	bytes = pt_section_bytes(sink->section, &errcode);
	if (!bytes)
		return 0;
	record->item[record->nitems++] = (struct insn_item){.ip = block->ip,
	                                                    .length_at = record->ninsn,
	                                                    .code_at = record->ncode,
	                                                    .isid = sink->isid,
	                                                    .ninsn = block->ninsn,
	                                                    .mode = block->mode,
	                                                    .iclass = block->iclass};
	memcpy(record->length + record->ninsn, block->length, block->ninsn);
	memcpy(record->code + record->ncode, bytes + (block->ip - sink->base), size);
	record->ninsn += block->ninsn;
	record->ncode += size;
	return 1;
}

static void end_items(void *context, struct pt_run_record *kept)
{
	struct insn_record *record = ((struct pt_insn_decoder *)context)->record;

	memset(record->code + record->ncode, 0, copy_size);
	kept->part[part_items].bytes = record->item;
	kept->part[part_items].size = record->nitems * sizeof(record->item[0]);
	kept->part[part_lengths].bytes = record->length;
	kept->part[part_lengths].size = record->ninsn;
	kept->part[part_code].bytes = record->code;
	kept->part[part_code].size = record->ncode + copy_size;
}

static const struct pt_cursor_face cursor_face = {walk_item, begin_items, append_item, end_items};

static void pt_insn_init(struct pt_insn_decoder *decoder)
{
	pt_cursor_init(&decoder->cursor, &decoder->flow, &cursor_face, decoder);
}

static void pt_insn_fini(struct pt_insn_decoder *decoder)
{
	pt_cursor_fini(&decoder->cursor);
	free(decoder->record);
}

static void pt_insn_reset(struct pt_insn_decoder *decoder)
{
	decoder->cursor.entry = NULL;
	decoder->left = 0;
	forget_block(decoder);
}

/* The block that is being handed out was decoded: the flow stands behind it. */
static void pt_insn_settle(struct pt_insn_decoder *decoder)
{
	if (decoder->cursor.entry)
		pt_cursor_leave(&decoder->cursor, decoder->begun);
}

static const struct pt_time *pt_insn_now(const struct pt_insn_decoder *decoder)
{
	return pt_cursor_time(&decoder->cursor, decoder->begun);
}

PT_DECODER_FACE(pt_insn, pt_insn_decoder, insn)

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

/* The next block of the path. As on foot, the flow comes to its end before its instructions are handed out.
 */
static void begin_item(struct pt_insn_decoder *decoder)
{
	const struct pt_run_entry *entry = decoder->cursor.entry;
	const uint64_t before = decoder->flow.evd.time.tsc;
	const uint8_t *reached = decoder->flow.reached;
	const struct pt_run_extra *extra = entry->extra;
	const struct insn_item *item = (const struct insn_item *)extra->part[part_items] + decoder->begun;

	decoder->item = item;
	decoder->left = item->ninsn;
	decoder->at = 0;
	decoder->length = (const uint8_t *)extra->part[part_lengths] + item->length_at;
	decoder->code = (const uint8_t *)extra->part[part_code] + item->code_at;
	decoder->status = 0;
	if (++decoder->begun < entry->path.nblocks)
		return;
	decoder->begun = 0;
	if (!pt_cursor_next(&decoder->cursor))
		decoder->status = status_behind(&decoder->flow, before, reached);
}

/* A block of a cached path begins, if one comes next. */
static int begin_next(struct pt_insn_decoder *decoder)
{
	if (decoder->index != decoder->block.ninsn)
		return 0;
	if (decoder->cursor.entry && !pt_cursor_is_right(&decoder->cursor))
		pt_insn_settle(decoder);
	if (!decoder->cursor.entry) {
		decoder->begun = 0;
		if (!pt_cursor_enter(&decoder->cursor))
			return 0;
	}
	begin_item(decoder);
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

/* The bytes of an instruction, zeros behind them, and their number, as they stand in struct pt_insn. Of the
 * bytes that are read at once, those count that belong to it. */
static inline void copy_code(struct pt_insn *insn, const uint8_t *code, uint32_t size)
{
	static const uint64_t counts[2][copy_size] = {
	        {0, 0xff, 0xffff, 0xffffff, 0xffffffff, 0xffffffffff, 0xffffffffffff, 0xffffffffffffff,
	         UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
	         UINT64_MAX},
	        {0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xffff, 0xffffff, 0xffffffff, 0xffffffffff, 0xffffffffffff,
	         0xffffffffffffff},
	};
	uint64_t part[2];

	_Static_assert(offsetof(struct pt_insn, size) - offsetof(struct pt_insn, raw) == copy_size - 1,
	               "the size stands behind the bytes");
	memcpy(part, code, copy_size);
	part[0] &= counts[0][size];
	part[1] = (part[1] & counts[1][size]) | (uint64_t)size << 56;
	memcpy((uint8_t *)insn + offsetof(struct pt_insn, raw), part, copy_size);
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

/* The next instruction of the present item, but for its flags. */
static inline void fill_in_path(struct pt_insn_decoder *decoder, struct pt_insn *insn)
{
	enum { flags_at = offsetof(struct pt_insn, size) + 1 };
	const struct insn_item *item = decoder->item;
	const uint8_t length = *decoder->length;
	const uint32_t at = decoder->at;

	insn->ip = item->ip + at;
	insn->isid = item->isid;
	insn->mode = (enum pt_exec_mode)item->mode;
	insn->iclass = decoder->left == 1 ? (enum pt_insn_class)item->iclass : ptic_other;
	copy_code(insn, decoder->code + at, length);
	memset((uint8_t *)insn + flags_at, 0, sizeof(*insn) - flags_at);
	decoder->length += 1;
	decoder->at = at + length;
	decoder->left -= 1;
}

static int next_in_path(struct pt_insn_decoder *decoder, struct pt_insn *uinsn, size_t size)
{
	struct pt_flow *flow = &decoder->flow;
	uint32_t flags = pt_flow_take_entry_flags(flow);
	struct pt_insn insn, *to = size == sizeof(insn) ? uinsn : &insn;

	fill_in_path(decoder, to);
	if (!decoder->left)
		flags |= pt_flow_exit_flags(flow);
	if (flags)
		PT_FACE_SET_FLAGS(to, flags);
	if (to != uinsn)
		pt_copy_to_user(uinsn, size, to, sizeof(*to));
	return status_of_insn(decoder, decoder->left, 0);
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
	if (!decoder->left && !begin_next(decoder))
		return next_on_foot(decoder, uinsn, size);
	return next_in_path(decoder, uinsn, size);
}

int pt_insn_next(struct pt_insn_decoder *decoder, struct pt_insn *uinsn, size_t size)
{
	if (!decoder || !uinsn || !pt_face_may_move(&decoder->flow))
		return -pte_invalid;
	/* Most are neither the first ones of something, nor does anything come with them. */
	if (!decoder->left || size != sizeof(*uinsn) || decoder->status || decoder->flow.entry_flags)
		return next_with_care(decoder, uinsn, size);
	fill_in_path(decoder, uinsn);
	return 0;
}

int pt_insn_event(struct pt_insn_decoder *decoder, struct pt_event *event, size_t size)
{
	if (!decoder || !event || !pt_face_may_move(&decoder->flow))
		return -pte_invalid;
	if (decoder->index != decoder->block.ninsn || decoder->left)
		return -pte_bad_query;
	return pt_flow_event(&decoder->flow, event, size);
}
