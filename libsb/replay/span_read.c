/* span_read.c - see span_read.h. */
#include "replay/span_read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "system/arena.h"

int span_reader_init(struct span_reader *reader, const struct span_world *world, uint64_t numbering)
{
	*reader = (struct span_reader){.world = world, .numbering = numbering};
	reader->known = calloc(ptr_max_paths, sizeof(*reader->known));
	return reader->known ? span_blocks_init(&reader->told, 0) : -sbe_nomem;
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

/* Step by step: what the size says may be wrong. */
static int read_block(struct span_reader *reader, size_t size, struct sb_error *err)
{
	size_t have = 0;

	while (have < size) {
		const size_t step = size - have < 1 << 20 ? size - have : 1 << 20;
		int status = array_reserve_more(&reader->block, &reader->capacity, have, step, 1);

		if (status == 0)
			status = read_whole(reader, reader->block + have, step, err);
		if (status < 0)
			return status;
		have += step;
	}
	return 0;
}

static int next_block(struct span_reader *reader, struct sb_error *err)
{
	uint32_t header[2];
	int status;

	reader->size = reader->at = 0;
	status = read_whole(reader, header, sizeof(header), err);
	if (status < 0)
		return status;
	if (!header[0] || header[0] > SPAN_BLOCK_MAX)
		return sb_error_set(err, -sbe_format, name_of(reader), reader->offset - sizeof(header),
		                    "expected a block of at most %d bytes, found one of %" PRIu32,
		                    SPAN_BLOCK_MAX, header[0]);
	status = read_block(reader, header[0], err);
	if (status < 0)
		return status;
	reader->size = header[0];
	if (crc32_z(0, reader->block, reader->size) == header[1])
		return 0;
	return sb_error_set(err, -sbe_format, name_of(reader), reader->offset - reader->size,
	                    "%zu bytes are damaged: their CRC-32 is not the one that was written",
	                    reader->size);
}

/* What cannot be read is zero, and leaves the reader behind the block. */
static uint64_t get(struct span_reader *reader)
{
	const uint8_t *at = reader->block + reader->at, *end = reader->block + reader->size;
	uint64_t value = 0;

	for (unsigned int shift = 0; at < end && shift < 64; shift += 7) {
		value |= (uint64_t)(*at & 0x7f) << shift;
		if (!(*at++ & 0x80)) {
			reader->at = (size_t)(at - reader->block);
			return value;
		}
	}
	reader->at = reader->size + 1;
	return 0;
}

static int64_t get_signed(struct span_reader *reader)
{
	return span_unzigzag(get(reader));
}

static uint8_t get_byte(struct span_reader *reader)
{
	if (reader->at < reader->size)
		return reader->block[reader->at++];
	reader->at = reader->size + 1;
	return 0;
}

static int is_over(const struct span_reader *reader)
{
	return reader->at > reader->size;
}

/* As many bytes are left, at least; so many things can be there. */
static int has(const struct span_reader *reader, uint64_t count)
{
	return reader->at <= reader->size && count <= reader->size - reader->at;
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

	block.ip += (uint64_t)get_signed(reader);
	block.end_ip = block.ip + get(reader);
	flags = get(reader);
	block.mode = get_byte(reader);
	block.iclass = get_byte(reader);
	ninsn = get(reader);
	if (!ninsn || ninsn > UINT16_MAX || !has(reader, ninsn) || flags > UINT32_MAX ||
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
	const uint64_t reference = get(reader);
	int64_t number = reference <= told->count ? (int64_t)reference - 1 : 0;

	if (!reference)
		number = is_over(reader) ? -sbe_format : get_block(reader);
	else if (reference == 1)
		number = told->of[told->last].next[1];
	if (number <= 0)
		return number < 0 ? (int)number : -sbe_format;
	span_blocks_come(told, (uint32_t)number);
	reader->blocks[reader->nblocks++] = told->of[number].block;
	return 0;
}

static int get_guessed(struct span_reader *reader, uint64_t count)
{
	struct span_blocks *told = &reader->told;

	for (; count; --count) {
		const uint32_t guess = told->of[told->last].next[0];

		if (!guess)
			return -sbe_format;
		told->last = guess;
		reader->blocks[reader->nblocks++] = told->of[guess].block;
	}
	return 0;
}

/* The blocks of a path, behind those that are there. Zero or a negative code. */
static int get_blocks(struct span_reader *reader, struct pt_run_path *path)
{
	const uint64_t nblocks = get(reader);
	const size_t first = reader->nblocks;
	int status = 0;

	if (!nblocks || nblocks > SPAN_FLOW_BLOCKS_MAX - first)
		return -sbe_format;
	if (array_reserve_more(&reader->blocks, &reader->block_capacity, first, nblocks,
	                       sizeof(*reader->blocks)) < 0)
		return -sbe_nomem;
	for (uint64_t left = nblocks; status == 0 && left; left = nblocks - (reader->nblocks - first)) {
		const uint64_t guessed = get(reader);

		if (is_over(reader) || guessed > left)
			return -sbe_format;
		status = get_guessed(reader, guessed);
		if (status == 0 && guessed < left)
			status = get_other_block(reader);
	}
	path->nblocks = (uint32_t)nblocks;
	path->ninsn = 0;
	for (uint64_t i = 0; status == 0 && i < nblocks; ++i)
		path->ninsn += reader->blocks[first + i].ninsn;
	return status;
}

/* A path under a number, which is kept. */
static int get_numbered(struct span_reader *reader, uint32_t id)
{
	const size_t before = reader->nblocks;
	struct pt_run_path path = {.id = id};
	int status = get_blocks(reader, &path);

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
	const uint64_t reference = get(reader), id = (reference - 1) / 2;
	int status = 0;

	reader->path[index] = NULL;
	if (is_over(reader))
		return -sbe_format;
	if (!reference)
		return get_loose(reader);
	/* What a number stands for does not change: whoever counts has noted it. */
	if (id >= ptr_max_paths || (reader->known[id] != NULL) != (reference % 2 != 0))
		return -sbe_format;
	if (!reader->known[id])
		status = get_numbered(reader, (uint32_t)id);
	reader->path[index] = reader->known[id];
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

static int get_paths(struct span_reader *reader, struct sb_flow *flow, int has_sums)
{
	const uint64_t npaths = get(reader);
	uint64_t ninsn = 0, nblocks = 0;
	int status = 0;

	reader->nloose = reader->nblocks = 0;
	if (npaths > SPAN_FLOW_BLOCKS_MAX || !has(reader, npaths))
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

static int get_int(struct span_reader *reader, int32_t *value)
{
	const int64_t wide = get_signed(reader);

	*value = (int32_t)wide;
	return wide == *value ? 0 : -sbe_format;
}

static int get_owner(struct span_reader *reader, int32_t *pid, int32_t *tid)
{
	return get_int(reader, pid) < 0 ? -sbe_format : get_int(reader, tid);
}

static int get_membership(struct span_reader *reader, const struct sb_membership **membership)
{
	const uint64_t number = get(reader);

	if (number > reader->world->nmemberships)
		return -sbe_format;
	*membership = number ? reader->world->membership + number - 1 : NULL;
	return 0;
}

static int get_epoch(struct span_reader *reader, const struct sb_epoch **epoch)
{
	const uint64_t number = get(reader);

	if (number > reader->world->nepochs)
		return -sbe_format;
	*epoch = number ? reader->world->epoch[number - 1] : NULL;
	return 0;
}

/* How often each block ran. */
static int get_times(struct span_reader *reader, struct sb_flow *flow)
{
	uint64_t nblocks = 0;

	for (uint32_t i = 0; i < flow->npaths; ++i)
		nblocks += flow->path[i]->nblocks;
	if (nblocks > SPAN_TIMES_MAX || !has(reader, nblocks))
		return -sbe_format;
	if (array_reserve_more(&reader->times, &reader->times_capacity, 0, nblocks, sizeof(*reader->times)) <
	    0)
		return -sbe_nomem;
	for (uint64_t i = 0; i < nblocks; ++i)
		reader->times[i] = get(reader);
	flow->times = reader->times;
	if (reader->sums < sb_sums_ways)
		return 0;
	flow->first_code = (uint32_t)reader->ncodes;
	reader->ncodes += nblocks;
	return reader->ncodes <= SPAN_CODES_MAX ? 0 : -sbe_format;
}

static int get_flow(struct span_reader *reader, struct sb_flow *flow)
{
	const uint8_t flags = get_byte(reader);
	const unsigned int known = span_flow_flags & ~(reader->sums ? 0u : (unsigned int)span_flow_times);
	int status = flags & ~known ? -sbe_format : 0;

	*flow = (struct sb_flow){.cpu = reader->cpu, .numbering = reader->numbering};
	reader->tsc += (uint64_t)get_signed(reader);
	if (status == 0 && flags & span_flow_owner)
		status = get_owner(reader, &reader->pid, &reader->tid);
	if (status == 0 && flags & span_flow_membership)
		status = get_membership(reader, &reader->membership);
	if (status == 0 && flags & span_flow_epoch)
		status = get_epoch(reader, &reader->epoch);
	if (flags & span_flow_left)
		flow->left_ip = get(reader);
	if (flags & span_flow_sums) {
		flow->nblocks = (uint32_t)get(reader);
		flow->ninsn = get(reader);
	}
	flow->tsc = reader->tsc;
	flow->pid = reader->pid;
	flow->tid = reader->tid;
	flow->membership = reader->membership;
	flow->epoch = reader->epoch;
	if (status == 0)
		status = get_paths(reader, flow, flags & span_flow_sums);
	return status == 0 && flags & span_flow_times ? get_times(reader, flow) : status;
}

/* ---- Ways ------------------------------------------------------------------------------------- */

static int get_code(struct span_reader *reader, uint64_t number, uint32_t *code)
{
	*code = (uint32_t)number;
	return number < reader->ncodes ? 0 : -sbe_format;
}

/* A flow that only has ways. */
static void begin_ways(struct span_reader *reader, struct sb_flow *flow)
{
	*flow = (struct sb_flow){.cpu = reader->cpu,
	                         .pid = -1,
	                         .tid = -1,
	                         .tsc = reader->tsc,
	                         .numbering = reader->numbering,
	                         .ways = &reader->ways};
	reader->ways = (struct sb_flow_ways){0};
}

static int get_ways(struct span_reader *reader, struct sb_flow *flow)
{
	const uint64_t nways = get(reader);
	uint64_t before = 0;

	if (reader->sums < sb_sums_ways || nways > SPAN_WAYS_MAX || !has(reader, nways))
		return -sbe_format;
	if (array_reserve_more(&reader->way, &reader->way_capacity, 0, nways, sizeof(*reader->way)) < 0)
		return -sbe_nomem;
	for (uint64_t i = 0; i < nways; ++i) {
		struct sb_flow_way *way = &reader->way[i];
		const uint64_t from = before + (uint64_t)get_signed(reader), step = get(reader);

		before = from + (uint64_t)span_unzigzag(step >> 1);
		way->async = step & 1;
		way->count = get(reader);
		if (get_code(reader, from, &way->from) < 0 || get_code(reader, before, &way->to) < 0)
			return -sbe_format;
	}
	begin_ways(reader, flow);
	reader->ways.way = reader->way;
	reader->ways.nways = nways;
	return 0;
}

/* @last: the address that was told of last. */
static int get_stop(struct span_reader *reader, struct sb_flow_stop *stop, uint64_t *last)
{
	const int status = get_code(reader, get(reader), &stop->code);

	*last += (uint64_t)get_signed(reader);
	stop->ip = *last;
	return status;
}

static int get_deepest(struct span_reader *reader, uint32_t *deepest)
{
	const uint64_t value = get(reader);

	*deepest = (uint32_t)value;
	return value <= sb_way_interrupted_most ? 0 : -sbe_format;
}

static int get_backs(struct span_reader *reader, struct sb_flow_seam *seam, uint64_t *last)
{
	const uint64_t nbacks = get(reader);

	if (nbacks > UINT32_MAX || !has(reader, nbacks))
		return -sbe_format;
	for (uint32_t i = 0; i < nbacks; ++i) {
		if (array_reserve(&reader->back, &reader->back_capacity, i, sizeof(*reader->back)) < 0)
			return -sbe_nomem;
		if (get_deepest(reader, &reader->back[i].deepest) < 0 ||
		    get_stop(reader, &reader->back[i], last) < 0)
			return -sbe_format;
	}
	seam->nbacks = (uint32_t)nbacks;
	seam->back = reader->back;
	return 0;
}

/* What a stretch leaves behind. */
static int get_end(struct span_reader *reader, struct sb_flow_seam *seam, uint64_t *last)
{
	const uint64_t user = get(reader), last_code = get(reader), last_user = get(reader);

	seam->comes_to_user = user != 0;
	if ((user && get_code(reader, user - 1, &seam->user) < 0) ||
	    get_code(reader, last_code, &seam->last) < 0 || last_user > sb_flow_user_known)
		return -sbe_format;
	seam->has_last_user = (enum sb_flow_user)last_user;
	if (last_user == sb_flow_user_known && get_code(reader, get(reader), &seam->last_user) < 0)
		return -sbe_format;
	if (get_deepest(reader, &seam->deepest) < 0 || get_deepest(reader, &seam->ninterrupted) < 0)
		return -sbe_format;
	for (uint32_t i = 0; i < seam->ninterrupted; ++i)
		if (get_stop(reader, &seam->interrupted[i], last) < 0)
			return -sbe_format;
	return 0;
}

static int get_seam(struct span_reader *reader, struct sb_flow *flow)
{
	struct sb_flow_seam *seam = &reader->seam;
	uint64_t last = 0;
	int status;

	*seam = (struct sb_flow_seam){0};
	reader->tsc += (uint64_t)get_signed(reader);
	begin_ways(reader, flow);
	if (reader->sums < sb_sums_ways || get_owner(reader, &flow->pid, &flow->tid) < 0)
		return -sbe_format;
	reader->ways.seam = seam;
	seam->tsc_from = flow->tsc - get(reader);
	seam->left_ip = get(reader);
	seam->has_code = get(reader) != 0;
	if (!seam->has_code)
		return 0;
	if (get_stop(reader, &seam->first, &last) < 0)
		return -sbe_format;
	status = get_backs(reader, seam, &last);
	return status < 0 ? status : get_end(reader, seam, &last);
}

static int get_gap(struct span_reader *reader, struct span_item *item)
{
	struct sb_gap *gap = &item->gap;
	const uint64_t reason = get(reader);
	uint64_t length;

	*gap = (struct sb_gap){0};
	item->timeless = get(reader) != 0;
	if (reason >= sb_gap_reasons || get_int(reader, &gap->cpu) < 0 ||
	    get_owner(reader, &gap->pid, &gap->tid) < 0)
		return -sbe_format;
	gap->reason = (enum sb_gap_reason)reason;
	gap->tsc_from = get(reader);
	gap->tsc_to = get(reader);
	gap->offset = get(reader);
	gap->bytes = get(reader);
	gap->ip = get(reader);
	length = get(reader);
	if (length >= sizeof(gap->detail) || !has(reader, length))
		return -sbe_format;
	memcpy(gap->detail, reader->block + reader->at, length);
	reader->at += length;
	return 0;
}

static int get_event(struct span_reader *reader, struct sb_flow_event *event)
{
	const uint64_t kind = get(reader);

	*event = (struct sb_flow_event){.cpu = reader->cpu};
	if (kind >= sb_flow_event_kinds)
		return -sbe_format;
	event->kind = (enum sb_flow_event_kind)kind;
	reader->tsc += (uint64_t)get_signed(reader);
	event->tsc = reader->tsc;
	if (get_owner(reader, &event->pid, &event->tid) < 0 || get_membership(reader, &event->membership) < 0)
		return -sbe_format;
	event->from = get(reader);
	event->to = get(reader);
	return 0;
}

static int get_slot(struct span_reader *reader, struct account_slot *slot)
{
	uint64_t container;

	*slot = (struct account_slot){.used = 1};
	if (get_owner(reader, &slot->thread.pid, &slot->thread.tid) < 0)
		return -sbe_format;
	container = get(reader);
	if (container > reader->world->ncontainers)
		return -sbe_format;
	slot->container = container ? reader->world->container[container - 1] : NULL;
	slot->thread.ninsn = get(reader);
	slot->thread.nblocks = get(reader);
	return 0;
}

static void get_account(struct span_reader *reader, struct sb_account *account)
{
	*account = (struct sb_account){0};
	account->bytes_decoded = get(reader);
	account->ninsn = get(reader);
	account->nblocks = get(reader);
	account->ninsn_filtered = get(reader);
	account->nswitches = get(reader);
	for (int i = 0; i < sb_switch_evidences; ++i)
		account->switches[i] = get(reader);
	for (int i = 0; i < sb_gap_reasons; ++i) {
		account->gap[i].count = get(reader);
		account->gap[i].bytes = get(reader);
	}
}

/* As many as there are, not as many as are said to be: a slot is larger than what it is read from. */
static int get_slots(struct span_reader *reader, uint64_t count)
{
	for (uint64_t i = 0; i < count; ++i) {
		if (array_reserve(&reader->slot, &reader->slot_capacity, i, sizeof(*reader->slot)) < 0)
			return -sbe_nomem;
		if (get_slot(reader, &reader->slot[i]) < 0 || is_over(reader))
			return -sbe_format;
	}
	return 0;
}

static int get_piece_end(struct span_reader *reader, struct span_item *item)
{
	uint64_t count;
	int status;

	item->position = get(reader) - 1;
	item->last_tsc = get(reader);
	item->part = (struct ledger_part){0};
	get_account(reader, &item->part.account);
	count = get(reader);
	status = has(reader, count) ? get_slots(reader, count) : -sbe_format;
	item->part.slot = reader->slot;
	item->part.nslots = item->part.nused = count;
	return status;
}

static int get_begin(struct span_reader *reader, struct span_item *item)
{
	if (get(reader) != SPAN_VERSION)
		return -sbe_unsupported;
	item->span.stream = get(reader);
	item->span.from = get(reader);
	item->span.to = get(reader) - 1;
	return 0;
}

static void renumber(struct span_reader *reader)
{
	memset(reader->known, 0, ptr_max_paths * sizeof(*reader->known));
	path_store_clear(&reader->numbered);
	reader->numbering += 1;
}

static int get_item(struct span_reader *reader, struct span_item *item)
{
	switch (item->kind) {
	case span_begin:
		return get_begin(reader, item);
	case span_piece:
		item->position = get(reader);
		return 0;
	case span_flow:
		return get_flow(reader, &item->flow);
	case span_ways:
		item->kind = span_flow;
		return get_ways(reader, &item->flow);
	case span_seam:
		item->kind = span_flow;
		return get_seam(reader, &item->flow);
	case span_gap:
		return get_gap(reader, item);
	case span_event:
		return get_event(reader, &item->event);
	case span_piece_end:
		return get_piece_end(reader, item);
	case span_end:
		item->surveyed = get_byte(reader);
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
		item->kind = (enum span_item_kind)get_byte(reader);
	} while (begin_anew(reader, item->kind));
	status = get_item(reader, item);
	if (status == -sbe_nomem)
		return sb_error_set(err, status, NULL, UINT64_MAX, "out of memory");
	if (status == -sbe_unsupported)
		return sb_error_set(err, status, name_of(reader), reader->offset,
		                    "a span's result of another version of sbtrace");
	if (status < 0 || is_over(reader))
		return damaged(reader, err, "expected an item of a span's result, found something else");
	return 1;
}
