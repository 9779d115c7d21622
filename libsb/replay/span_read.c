/* span_read.c - see span_read.h. */
#include "replay/span_read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "replay/span_read_internal.h"
#include "system/arena.h"

int span_reader_init(struct span_reader *reader, const struct span_world *world, uint64_t numbering)
{
	*reader = (struct span_reader){.world = world, .numbering = numbering};
	return span_blocks_init(&reader->told, 0);
}

void span_reader_fini(struct span_reader *reader)
{
	path_store_fini(&reader->numbered);
	span_blocks_fini(&reader->told);
	free(reader->block);
	free(reader->known);
	free(reader->path);
	free(reader->loose);
	free(reader->blocks);
	free(reader->times);
	free(reader->way);
	free(reader->back);
	free(reader->guess);
	span_shapes_fini(&reader->shapes);
	free(reader->frame);
	free(reader->edge);
	free(reader->turn);
	free(reader->slot);
	*reader = (struct span_reader){0};
}

/* ---- Bytes ------------------------------------------------------------------------------------ */

static const char *name_of(const struct span_reader *reader)
{
	return reader->name ? reader->name(reader->context, reader->index) : NULL;
}

static int damaged(const struct span_reader *reader, struct sb_error *err, const char *what)
{
	return sb_error_set(err, -sbe_format, name_of(reader), reader->offset - (reader->size - reader->at),
	                    "%s", what);
}

static int cut_short(const struct span_reader *reader, struct sb_error *err)
{
	return sb_error_set(err, -sbe_truncated, name_of(reader), reader->offset,
	                    "the result of a span ends here, in the middle");
}

/* All of @size bytes. */
static int read_whole(struct span_reader *reader, void *bytes, size_t size, struct sb_error *err)
{
	for (size_t have = 0; have < size;) {
		const int64_t n = reader->read(reader->context, reader->index, reader->offset,
		                               (uint8_t *)bytes + have, size - have, err);

		if (n < 0)
			return (int)n;
		if (n == 0)
			return cut_short(reader, err);
		have += (size_t)n;
		reader->offset += (uint64_t)n;
	}
	return 0;
}

enum { BLOCK_SLACK = SPAN_TAKEN_MAX * SPAN_VARINT_MAX + 1 }; /* zeros behind a block */

/* Step by step: what the size says may be wrong. */
static int read_block(struct span_reader *reader, size_t size, struct sb_error *err)
{
	size_t have = 0;

	while (have < size) {
		const size_t step = size - have < 1 << 20 ? size - have : 1 << 20;
		int status =
		        array_reserve_more(&reader->block, &reader->capacity, have, step + BLOCK_SLACK, 1);

		if (status == 0)
			status = read_whole(reader, reader->block + have, step, err);
		if (status < 0)
			return status;
		have += step;
	}
	memset(reader->block + size, 0, BLOCK_SLACK);
	return 0;
}

/* The next one of the reader's channel: its size, and the sum of what it holds. */
static int find_block(struct span_reader *reader, uint32_t *size, uint32_t *sum, struct sb_error *err)
{
	uint32_t header[2];

	for (;;) {
		const int status = read_whole(reader, header, sizeof(header), err);

		if (status < 0)
			return status;
		*size = header[0] & ((1u << SPAN_CHANNEL_SHIFT) - 1);
		*sum = header[1];
		if (!*size || *size > SPAN_BLOCK_MAX || header[0] >> SPAN_CHANNEL_SHIFT >= span_channels)
			return sb_error_set(err, -sbe_format, name_of(reader),
			                    reader->offset - sizeof(header),
			                    "expected a block of at most %d bytes, found one of %" PRIu32,
			                    SPAN_BLOCK_MAX, *size);
		if (header[0] >> SPAN_CHANNEL_SHIFT == reader->channel)
			return 0;
		reader->offset += *size;
	}
}

static int next_block(struct span_reader *reader, struct sb_error *err)
{
	uint32_t size = 0, sum = 0;
	int status;

	reader->size = reader->at = 0;
	status = find_block(reader, &size, &sum, err);
	if (status == 0)
		status = read_block(reader, size, err);
	if (status < 0)
		return status;
	reader->size = size;
	if (span_block_sum(reader->block, reader->size) == sum)
		return 0;
	return sb_error_set(err, -sbe_format, name_of(reader), reader->offset - reader->size,
	                    "%zu bytes are damaged: their sum is not the one that was written", reader->size);
}

/* ---- Paths ------------------------------------------------------------------------------------ */

/* Whether instructions of these lengths stand one after the other from @block->ip to @block->end_ip. */
static int lengths_fit(const struct pt_run_block *block)
{
	uint64_t ip = block->ip;

	for (uint16_t i = 0; i < block->ninsn; ++i) {
		if (!block->length[i] || block->length[i] > pt_max_insn_size)
			return 0;
		ip += i + 1 < block->ninsn ? block->length[i] : 0;
	}
	return ip == block->end_ip;
}

/* A block that was not told of before. Its number, or a negative code. */
static int64_t get_block(struct span_reader *reader)
{
	struct pt_run_block block = {.ip = reader->told.of[reader->told.last].block.end_ip};
	uint64_t ninsn, flags;
	uint32_t number;

	block.ip += (uint64_t)span_get_signed(reader);
	block.end_ip = block.ip + span_get(reader);
	flags = span_get(reader);
	block.mode = span_get_byte(reader);
	block.iclass = span_get_byte(reader);
	ninsn = span_get(reader);
	if (!ninsn || ninsn > UINT16_MAX || !span_has(reader, ninsn) || flags > UINT32_MAX ||
	    block.mode > ptem_64bit || block.iclass > ptic_indirect)
		return -sbe_format;
	block.flags = (uint32_t)flags;
	block.ninsn = (uint16_t)ninsn;
	block.length = reader->block + reader->at;
	reader->at += ninsn;
	if (!lengths_fit(&block))
		return -sbe_format;
	number = span_blocks_add(&reader->told, &block);
	return number ? (int64_t)number : -sbe_nomem;
}

/* The next block, which was not guessed. Zero or a negative code. */
static int get_other_block(struct span_reader *reader)
{
	struct span_blocks *told = &reader->told;
	const uint64_t reference = span_get(reader);
	int64_t number = reference <= told->count ? (int64_t)reference - 1 : 0;

	if (!reference)
		number = span_is_over(reader) ? -sbe_format : get_block(reader);
	else if (reference == 1)
		number = told->of[told->last].next[1];
	if (number <= 0)
		return number < 0 ? (int)number : -sbe_format;
	span_blocks_come(told, (uint32_t)number);
	reader->blocks[reader->nblocks++] = told->of[number].block;
	return 0;
}

/* There is room. */
static int get_guessed(struct span_reader *reader, uint64_t count)
{
	const struct span_block *of = reader->told.of;
	struct pt_run_block *to = reader->blocks + reader->nblocks;
	uint32_t last = reader->told.last;

	reader->nblocks += count;
	for (; count; --count) {
		last = of[last].next[0];
		if (!last)
			return -sbe_format;
		*to++ = of[last].block;
	}
	reader->told.last = last;
	return 0;
}

static uint32_t ninsn_of(const struct pt_run_block *block, uint64_t nblocks)
{
	uint32_t ninsn = 0;

	for (uint64_t i = 0; i < nblocks; ++i)
		ninsn += block[i].ninsn;
	return ninsn;
}

/* The blocks of a path, behind those that are there. Zero or a negative code. */
static int get_blocks(struct span_reader *reader, struct pt_run_path *path)
{
	const uint64_t nblocks = span_get(reader);
	const size_t first = reader->nblocks;
	int status = 0;

	if (!nblocks || nblocks > SPAN_FLOW_BLOCKS_MAX - first)
		return -sbe_format;
	if (array_reserve_more(&reader->blocks, &reader->block_capacity, first, nblocks,
	                       sizeof(*reader->blocks)) < 0)
		return -sbe_nomem;
	for (uint64_t left = nblocks; status == 0 && left; left = nblocks - (reader->nblocks - first)) {
		const uint64_t guessed = span_get(reader);

		if (span_is_over(reader) || guessed > left)
			return -sbe_format;
		status = get_guessed(reader, guessed);
		if (status == 0 && guessed < left)
			status = get_other_block(reader);
	}
	path->nblocks = (uint32_t)nblocks;
	path->ninsn = status == 0 ? ninsn_of(reader->blocks + first, nblocks) : 0;
	return status;
}

static int reach_known(struct span_reader *reader, uint32_t id)
{
	const size_t more = id < reader->nknown ? 0 : id + 1 - reader->nknown;

	if (array_reserve_more(&reader->known, &reader->known_capacity, reader->nknown, more,
	                       sizeof(*reader->known)) < 0)
		return -sbe_nomem;
	if (more)
		memset(reader->known + reader->nknown, 0, more * sizeof(*reader->known));
	reader->nknown += more;
	return 0;
}

/* A path under a number, which is kept. */
static int get_numbered(struct span_reader *reader, uint32_t id)
{
	const size_t before = reader->nblocks;
	struct pt_run_path path = {.id = id};
	int status = reach_known(reader, id);

	status = status < 0 ? status : get_blocks(reader, &path);
	if (status < 0)
		return status;
	path.block = reader->blocks + before;
	reader->known[id] = path_store_copy(&reader->numbered, &path, id);
	reader->nblocks = before;
	if (reader->numbered.used > SPAN_PATHS_SIZE_MAX)
		return -sbe_format;
	return reader->known[id] ? 0 : -sbe_nomem;
}

static int get_loose(struct span_reader *reader)
{
	struct pt_run_path *path;

	if (array_reserve(&reader->loose, &reader->loose_capacity, reader->nloose, sizeof(*reader->loose)) <
	    0)
		return -sbe_nomem;
	path = &reader->loose[reader->nloose++];
	*path = (struct pt_run_path){.id = ptr_no_id};
	return get_blocks(reader, path);
}

/* The path at @index of the flow: NULL when it is a loose one. Zero or a negative code. */
static int get_path(struct span_reader *reader, size_t index)
{
	const uint64_t reference = span_get(reader), id = (reference - 1) / 2;
	const int known = id < reader->nknown && reader->known[id];
	int status = 0;

	reader->path[index] = NULL;
	if (span_is_over(reader))
		return -sbe_format;
	if (!reference)
		return get_loose(reader);
	/* What a number stands for does not change: whoever counts has noted it. */
	if (id >= ptr_max_paths || known != (reference % 2 != 0))
		return -sbe_format;
	if (!known)
		status = get_numbered(reader, (uint32_t)id);
	reader->path[index] = status < 0 ? NULL : reader->known[id];
	return status;
}

/* Where loose paths are is known only when all were read. */
static void place_loose(struct span_reader *reader, size_t npaths)
{
	const struct pt_run_block *block = reader->blocks;
	size_t next = 0;

	for (size_t i = 0; i < reader->nloose; ++i) {
		reader->loose[i].block = block;
		block += reader->loose[i].nblocks;
	}
	for (size_t i = 0; i < npaths; ++i)
		if (!reader->path[i])
			reader->path[i] = &reader->loose[next++];
}

/* One path without a number, of one block that was told before: between sums there are many of those. */
static int is_of_one_block(const struct span_reader *reader)
{
	static const uint8_t of_one[] = {1, 0, 1};

	return span_has(reader, sizeof(of_one) + 2) &&
	       !memcmp(reader->block + reader->at, of_one, sizeof(of_one));
}

static int get_one_block(struct span_reader *reader, struct sb_flow *flow, int has_sums)
{
	struct pt_run_path *path;
	int status;

	reader->at += 3;
	if (array_reserve_more(&reader->path, &reader->path_capacity, 0, 1, sizeof(*reader->path)) < 0 ||
	    array_reserve_more(&reader->loose, &reader->loose_capacity, 0, 1, sizeof(*reader->loose)) < 0 ||
	    array_reserve_more(&reader->blocks, &reader->block_capacity, 0, 1, sizeof(*reader->blocks)) < 0)
		return -sbe_nomem;
	switch (reader->block[reader->at++]) {
	case 0:
		status = get_other_block(reader);
		break;
	case 1:
		status = get_guessed(reader, 1);
		break;
	default:
		status = -sbe_format;
		break;
	}
	path = reader->loose;
	*path = (struct pt_run_path){.block = reader->blocks, .nblocks = 1, .id = ptr_no_id};
	path->ninsn = status < 0 ? 0 : reader->blocks->ninsn;
	reader->path[0] = path;
	flow->path = reader->path;
	flow->npaths = 1;
	if (!has_sums) {
		flow->ninsn = path->ninsn;
		flow->nblocks = 1;
	}
	return status;
}

static int get_paths(struct span_reader *reader, struct sb_flow *flow, int has_sums)
{
	uint64_t npaths, ninsn = 0, nblocks = 0;
	int status = 0;

	reader->nloose = reader->nblocks = 0;
	if (is_of_one_block(reader))
		return get_one_block(reader, flow, has_sums);
	npaths = span_get(reader);
	if (npaths > SPAN_FLOW_BLOCKS_MAX || !span_has(reader, npaths))
		return -sbe_format;
	if (array_reserve_more(&reader->path, &reader->path_capacity, 0, npaths, sizeof(*reader->path)) < 0)
		return -sbe_nomem;
	for (uint64_t i = 0; i < npaths && status == 0; ++i)
		status = get_path(reader, i);
	if (status < 0)
		return status;
	place_loose(reader, npaths);
	for (uint64_t i = 0; i < npaths; ++i) {
		ninsn += reader->path[i]->ninsn;
		nblocks += reader->path[i]->nblocks;
	}
	flow->path = reader->path;
	flow->npaths = (uint32_t)npaths;
	if (!has_sums) {
		flow->ninsn = ninsn;
		flow->nblocks = (uint32_t)nblocks;
	}
	return nblocks <= UINT32_MAX ? 0 : -sbe_format;
}

/* ---- Items ------------------------------------------------------------------------------------ */

int span_get_membership(struct span_reader *reader, const struct sb_membership **membership)
{
	const uint64_t number = span_get(reader);

	if (number > reader->world->nmemberships)
		return -sbe_format;
	*membership = number ? reader->world->membership + number - 1 : NULL;
	return 0;
}

int span_get_epoch(struct span_reader *reader, const struct sb_epoch **epoch)
{
	const uint64_t number = span_get(reader);

	if (number > reader->world->nepochs)
		return -sbe_format;
	*epoch = number ? reader->world->epoch[number - 1] : NULL;
	return 0;
}

static int get_flow(struct span_reader *reader, struct sb_flow *flow)
{
	const uint8_t flags = span_get_byte(reader);
	const unsigned int times = reader->sums & sb_sums_counts ? 0u : span_flow_times,
	                   calls = reader->sums & sb_sums_stacks ? 0u : span_flow_calls,
	                   known = span_flow_flags & ~(times | calls | span_flow_kernel);
	int status = flags & ~known ? -sbe_format : 0;

	*flow = (struct sb_flow){.cpu = reader->cpu, .numbering = reader->numbering};
	reader->tsc += (uint64_t)span_get_signed(reader);
	if (status == 0 && flags & span_flow_owner)
		status = span_get_owner(reader, &reader->pid, &reader->tid);
	if (status == 0 && flags & span_flow_membership)
		status = span_get_membership(reader, &reader->membership);
	if (status == 0 && flags & span_flow_epoch)
		status = span_get_epoch(reader, &reader->epoch);
	if (flags & span_flow_left)
		flow->left_ip = span_get(reader);
	if (flags & span_flow_sums) {
		flow->nblocks = (uint32_t)span_get(reader);
		flow->ninsn = span_get(reader);
	}
	flow->tsc = reader->tsc;
	flow->pid = reader->pid;
	flow->tid = reader->tid;
	flow->membership = reader->membership;
	flow->epoch = reader->epoch;
	if (status == 0)
		status = get_paths(reader, flow, flags & span_flow_sums);
	if (status == 0 && flags & span_flow_times)
		status = span_get_times(reader, flow);
	return status == 0 && flags & span_flow_calls ? span_get_calls(reader, flow) : status;
}

static int get_gap(struct span_reader *reader, struct span_item *item)
{
	struct sb_gap *gap = &item->gap;
	const uint64_t reason = span_get(reader);
	uint64_t length;

	*gap = (struct sb_gap){0};
	item->timeless = span_get(reader) != 0;
	if (reason >= sb_gap_reasons || span_get_int(reader, &gap->cpu) < 0 ||
	    span_get_owner(reader, &gap->pid, &gap->tid) < 0)
		return -sbe_format;
	gap->reason = (enum sb_gap_reason)reason;
	gap->tsc_from = span_get(reader);
	gap->tsc_to = span_get(reader);
	gap->offset = span_get(reader);
	gap->bytes = span_get(reader);
	gap->ip = span_get(reader);
	length = span_get(reader);
	if (length >= sizeof(gap->detail) || !span_has(reader, length))
		return -sbe_format;
	memcpy(gap->detail, reader->block + reader->at, length);
	reader->at += length;
	return 0;
}

static int get_event(struct span_reader *reader, struct sb_flow_event *event)
{
	const uint64_t kind = span_get(reader);

	*event = (struct sb_flow_event){.cpu = reader->cpu};
	if (kind >= sb_flow_event_kinds)
		return -sbe_format;
	event->kind = (enum sb_flow_event_kind)kind;
	reader->tsc += (uint64_t)span_get_signed(reader);
	event->tsc = reader->tsc;
	if (span_get_owner(reader, &event->pid, &event->tid) < 0 ||
	    span_get_membership(reader, &event->membership) < 0)
		return -sbe_format;
	event->from = span_get(reader);
	event->to = span_get(reader);
	return 0;
}

static int get_slot(struct span_reader *reader, struct account_slot *slot)
{
	uint64_t container;

	*slot = (struct account_slot){.used = 1};
	if (span_get_owner(reader, &slot->thread.pid, &slot->thread.tid) < 0)
		return -sbe_format;
	container = span_get(reader);
	if (container > reader->world->ncontainers)
		return -sbe_format;
	slot->container = container ? reader->world->container[container - 1] : NULL;
	slot->thread.ninsn = span_get(reader);
	slot->thread.nblocks = span_get(reader);
	return 0;
}

static void get_account(struct span_reader *reader, struct sb_account *account)
{
	*account = (struct sb_account){0};
	account->bytes_decoded = span_get(reader);
	account->ninsn = span_get(reader);
	account->nblocks = span_get(reader);
	account->ninsn_filtered = span_get(reader);
	account->nswitches = span_get(reader);
	for (int i = 0; i < sb_switch_evidences; ++i)
		account->switches[i] = span_get(reader);
	for (int i = 0; i < sb_gap_reasons; ++i) {
		account->gap[i].count = span_get(reader);
		account->gap[i].bytes = span_get(reader);
	}
}

/* As many as there are, not as many as are said to be: a slot is larger than what it is read from. */
static int get_slots(struct span_reader *reader, uint64_t count)
{
	for (uint64_t i = 0; i < count; ++i) {
		if (array_reserve(&reader->slot, &reader->slot_capacity, i, sizeof(*reader->slot)) < 0)
			return -sbe_nomem;
		if (get_slot(reader, &reader->slot[i]) < 0 || span_is_over(reader))
			return -sbe_format;
	}
	return 0;
}

static int get_piece_end(struct span_reader *reader, struct span_item *item)
{
	uint64_t count;
	int status;

	item->position = span_get(reader) - 1;
	item->last_tsc = span_get(reader);
	item->part = (struct ledger_part){0};
	get_account(reader, &item->part.account);
	count = span_get(reader);
	status = span_has(reader, count) ? get_slots(reader, count) : -sbe_format;
	item->part.slot = reader->slot;
	item->part.nslots = item->part.nused = count;
	return status;
}

static int get_begin(struct span_reader *reader, struct span_item *item)
{
	if (span_get(reader) != SPAN_VERSION)
		return -sbe_unsupported;
	item->span.stream = span_get(reader);
	item->span.from = span_get(reader);
	item->span.to = span_get(reader) - 1;
	return 0;
}

static void renumber(struct span_reader *reader)
{
	reader->nknown = 0;
	path_store_clear(&reader->numbered);
	reader->numbering += 1;
}

static int get_item(struct span_reader *reader, struct span_item *item)
{
	switch (item->kind) {
	case span_begin:
		return get_begin(reader, item);
	case span_piece:
		item->position = span_get(reader);
		if (reader->nfunctions)
			reader->numbering += 1;
		reader->nfunctions = 0;
		span_shapes_clear(&reader->shapes);
		return 0;
	case span_flow:
		return get_flow(reader, &item->flow);
	case span_ways:
		item->kind = span_flow;
		return span_get_ways(reader, &item->flow);
	case span_seam:
		item->kind = span_flow;
		return span_get_seam(reader, &item->flow);
	case span_edges:
		item->kind = span_flow;
		return span_get_edges(reader, &item->flow);
	case span_turns:
		return span_get_turns(reader, &item->flow);
	case span_gap:
		return get_gap(reader, item);
	case span_event:
		return get_event(reader, &item->event);
	case span_piece_end:
		return get_piece_end(reader, item);
	case span_end:
		item->surveyed = span_get_byte(reader);
		reader->ended = 1;
		return 0;
	default:
		return -sbe_format;
	}
}

/* Whether that is what an item says, and nothing else. */
static int begin_anew(struct span_reader *reader, enum span_item_kind kind)
{
	switch (kind) {
	case span_renumber:
		renumber(reader);
		return 1;
	case span_forget:
		span_blocks_clear(&reader->told);
		return 1;
	case span_codes:
		reader->ncodes = 0;
		return 1;
	default:
		return 0;
	}
}

int span_read(struct span_reader *reader, struct span_item *item, struct sb_error *err)
{
	int status = 0;

	if (reader->ended)
		return 0;
	do {
		if (reader->at >= reader->size)
			status = next_block(reader, err);
		if (status < 0)
			return status;
		item->kind = (enum span_item_kind)span_get_byte(reader);
	} while (begin_anew(reader, item->kind));
	status = get_item(reader, item);
	if (status == -sbe_nomem)
		return sb_error_set(err, status, NULL, UINT64_MAX, "out of memory");
	if (status == -sbe_unsupported)
		return sb_error_set(err, status, name_of(reader), reader->offset,
		                    "a span's result of another version of sbtrace");
	if (status < 0 || span_is_over(reader))
		return damaged(reader, err, "expected an item of a span's result, found something else");
	return 1;
}

int span_read_others(struct span_reader *reader, struct span_item *item, struct sb_error *err)
{
	if (!reader->others.count || span_get_others(reader, &item->flow) == 0)
		return 0;
	return damaged(reader, err,
	               "expected flow one by one that adds up to what was told of it, found something else");
}
