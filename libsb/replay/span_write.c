/* span_write.c - see span_write.h. */
#include "replay/span_write.h"

#include <stdlib.h>
#include <string.h>

#include "replay/span_write_internal.h"
#include "system/arena.h"

int span_writer_init(struct span_writer *writer, sb_span_write *write, void *context,
                     const struct span_world *world, enum span_channel channel)
{
	*writer =
	        (struct span_writer){.write = write, .context = context, .channel = channel, .world = world};
	writer->capacity = 2 * SPAN_BLOCK_SIZE;
	writer->buffer = malloc(writer->capacity);
	writer->known = calloc(ptr_max_paths, sizeof(*writer->known));
	writer->size = SPAN_BLOCK_HEADER;
	if (!writer->buffer || !writer->known)
		return -sbe_nomem;
	return span_blocks_init(&writer->blocks, 1);
}

void span_writer_fini(struct span_writer *writer)
{
	free(writer->buffer);
	free(writer->known);
	free(writer->guess);
	span_shapes_fini(&writer->shapes);
	free(writer->turn);
	span_blocks_fini(&writer->blocks);
	*writer = (struct span_writer){0};
}

/* ---- Bytes ------------------------------------------------------------------------------------ */

static int flush(struct span_writer *writer)
{
	const uint32_t size = (uint32_t)(writer->size - SPAN_BLOCK_HEADER);
	const uint32_t head = size | (uint32_t)writer->channel << SPAN_CHANNEL_SHIFT;
	uint32_t sum;

	if (!size || writer->failed)
		return writer->failed;
	sum = span_block_sum(writer->buffer + SPAN_BLOCK_HEADER, size);
	memcpy(writer->buffer, &head, sizeof(head));
	memcpy(writer->buffer + sizeof(head), &sum, sizeof(sum));
	writer->failed = writer->write(writer->context, writer->buffer, writer->size);
	writer->size = SPAN_BLOCK_HEADER;
	return writer->failed;
}

uint8_t *span_write_room(struct span_writer *writer, size_t more)
{
	uint8_t *bigger;

	if (writer->failed)
		return NULL;
	if (writer->capacity - writer->size >= more)
		return writer->buffer + writer->size;
	bigger = realloc(writer->buffer, 2 * writer->capacity + more);
	if (!bigger) {
		writer->failed = -sbe_nomem;
		return NULL;
	}
	writer->buffer = bigger;
	writer->capacity = 2 * writer->capacity + more;
	return writer->buffer + writer->size;
}

/* The item up to @at is written; a block that is full goes out. */
static int done(struct span_writer *writer, const uint8_t *at)
{
	writer->size = (size_t)(at - writer->buffer);
	return writer->size >= SPAN_BLOCK_SIZE ? flush(writer) : 0;
}

/* ---- Items ------------------------------------------------------------------------------------ */

int span_write_begin(struct span_writer *writer, const struct sb_span *span)
{
	uint8_t *at = span_write_room(writer, ITEM_MAX);

	if (!at)
		return writer->failed;
	*at++ = span_begin;
	at = put(at, SPAN_VERSION);
	at = put(at, span->stream);
	at = put(at, span->from);
	return done(writer, put(at, span->to + 1));
}

int span_write_piece(struct span_writer *writer, uint64_t position)
{
	uint8_t *at = span_write_room(writer, ITEM_MAX);

	if (!at)
		return writer->failed;
	writer->nfunctions = 0;
	span_shapes_clear(&writer->shapes);
	*at++ = span_piece;
	return done(writer, put(at, position));
}

static uint8_t *put_account(uint8_t *at, const struct sb_account *account)
{
	at = put(at, account->bytes_decoded);
	at = put(at, account->ninsn);
	at = put(at, account->nblocks);
	at = put(at, account->ninsn_filtered);
	at = put(at, account->nswitches);
	for (int i = 0; i < sb_switch_evidences; ++i)
		at = put(at, account->switches[i]);
	for (int i = 0; i < sb_gap_reasons; ++i) {
		at = put(at, account->gap[i].count);
		at = put(at, account->gap[i].bytes);
	}
	return at;
}

int span_write_piece_end(struct span_writer *writer, uint64_t to, uint64_t last_tsc,
                         const struct ledger_part *part)
{
	enum { NUMBERS = 8 + sb_switch_evidences + 2 * sb_gap_reasons };
	uint8_t *at = span_write_room(writer, NUMBERS * VARINT_MAX + part->nused * 5 * VARINT_MAX);

	if (!at)
		return writer->failed;
	*at++ = span_piece_end;
	at = put(at, to + 1);
	at = put(at, last_tsc);
	at = put_account(at, &part->account);
	at = put(at, part->nused);
	for (size_t i = 0; i < part->nslots; ++i) {
		const struct account_slot *slot = &part->slot[i];

		if (!slot->used)
			continue;
		at = put_signed(at, slot->thread.pid);
		at = put_signed(at, slot->thread.tid);
		at = put(at, slot->container ? (uint64_t)slot->container->index + 1 : 0);
		at = put(at, slot->thread.ninsn);
		at = put(at, slot->thread.nblocks);
	}
	return done(writer, at);
}

static uint8_t *put_block(struct span_writer *writer, uint8_t *at, const struct pt_run_block *block)
{
	const struct pt_run_block *before = &writer->blocks.of[writer->blocks.last].block;

	at = put_signed(at, (int64_t)(block->ip - before->end_ip));
	at = put(at, block->end_ip - block->ip);
	at = put(at, block->flags);
	*at++ = block->mode;
	*at++ = block->iclass;
	at = put(at, block->ninsn);
	memcpy(at, block->length, block->ninsn);
	return at + block->ninsn;
}

/* A block that did not come as guessed. NULL: it cannot be told. */
static uint8_t *put_other_block(struct span_writer *writer, uint8_t *at, const struct pt_run_block *block)
{
	struct span_blocks *blocks = &writer->blocks;
	const uint32_t second = blocks->of[blocks->last].next[1];
	uint32_t number;

	if (second && span_block_is(&blocks->of[second], block)) {
		*at++ = 1;
		span_blocks_come(blocks, second);
		return at;
	}
	number = span_blocks_find(blocks, block);
	if (number) {
		at = put(at, (uint64_t)number + 1);
	} else {
		*at++ = 0;
		at = put_block(writer, at, block);
		number = span_blocks_add(blocks, block);
		if (!number) {
			writer->failed = -sbe_nomem;
			return NULL;
		}
	}
	span_blocks_come(blocks, number);
	return at;
}

/* How many blocks from @block on come as guessed. */
static uint32_t count_guessed(struct span_blocks *blocks, const struct pt_run_block *block, uint32_t nblocks)
{
	uint32_t count = 0;

	while (count < nblocks) {
		const uint32_t guess = blocks->of[blocks->last].next[0];

		if (!guess || !span_block_is(&blocks->of[guess], &block[count]))
			break;
		blocks->last = guess;
		count += 1;
	}
	return count;
}

static int put_path(struct span_writer *writer, const struct pt_run_path *path)
{
	enum { LEAST = 8 * VARINT_MAX };
	uint8_t *at = span_write_room(writer, LEAST);
	uint32_t told = 0;

	if (!at)
		return writer->failed;
	at = put(at, path->nblocks);
	for (;;) {
		const uint32_t guessed =
		        count_guessed(&writer->blocks, &path->block[told], path->nblocks - told);

		at = put(at, guessed);
		told += guessed;
		writer->size = (size_t)(at - writer->buffer);
		if (told == path->nblocks)
			return 0;
		at = span_write_room(writer, 2 * LEAST + path->block[told].ninsn);
		if (at)
			at = put_other_block(writer, at, &path->block[told]);
		if (!at)
			return writer->failed;
		told += 1;
		writer->size = (size_t)(at - writer->buffer);
		if (told == path->nblocks)
			return 0;
	}
}

static int put_paths(struct span_writer *writer, const struct sb_flow *flow)
{
	for (uint32_t i = 0; i < flow->npaths; ++i) {
		const struct pt_run_path *path = flow->path[i];
		const int numbered = path->id != ptr_no_id, is_new = !numbered || !writer->known[path->id];
		uint8_t *at = span_write_room(writer, VARINT_MAX);

		if (!at)
			return writer->failed;
		at = put(at, numbered ? 2 * (uint64_t)path->id + 1 + (uint64_t)is_new : 0);
		writer->size = (size_t)(at - writer->buffer);
		if (!is_new)
			continue;
		if (put_path(writer, path) < 0)
			return writer->failed;
		if (numbered)
			writer->known[path->id] = 1;
	}
	return 0;
}

static uint32_t number_of(const struct span_writer *writer, const struct sb_membership *membership)
{
	return membership ? (uint32_t)(membership - writer->world->membership) + 1 : 0;
}

static int renumber(struct span_writer *writer, uint64_t numbering)
{
	uint8_t *at = span_write_room(writer, ITEM_MAX);

	if (!at)
		return writer->failed;
	*at++ = span_renumber;
	writer->size = (size_t)(at - writer->buffer);
	memset(writer->known, 0, ptr_max_paths * sizeof(*writer->known));
	writer->numbering = numbering;
	return 0;
}

/* Too many blocks are known. */
static int forget(struct span_writer *writer)
{
	uint8_t *at = span_write_room(writer, ITEM_MAX);

	if (!at)
		return writer->failed;
	*at++ = span_forget;
	writer->size = (size_t)(at - writer->buffer);
	span_blocks_clear(&writer->blocks);
	return 0;
}

/* Whether the flow's sums are not those of its paths. */
static int has_sums(const struct sb_flow *flow, int paths)
{
	uint64_t ninsn = 0, nblocks = 0;

	for (uint32_t i = 0; paths && i < flow->npaths; ++i) {
		ninsn += flow->path[i]->ninsn;
		nblocks += flow->path[i]->nblocks;
	}
	return ninsn != flow->ninsn || nblocks != flow->nblocks;
}

/* What is not as it was, and what little else there is. */
static uint8_t *put_changes(struct span_writer *writer, uint8_t *at, const struct sb_flow *flow, int paths)
{
	const uint32_t membership = number_of(writer, flow->membership);
	uint32_t flags = has_sums(flow, paths) ? span_flow_sums : 0;

	flags |= flow->pid != writer->pid || flow->tid != writer->tid ? span_flow_owner : 0;
	flags |= membership != writer->membership ? span_flow_membership : 0;
	flags |= flow->epoch != writer->epoch ? span_flow_epoch : 0;
	flags |= flow->left_ip ? span_flow_left : 0;
	flags |= flow->times ? span_flow_times : 0;
	flags |= flow->calls ? span_flow_calls : 0;
	*at++ = (uint8_t)flags;
	at = put_signed(at, (int64_t)(flow->tsc - writer->tsc));
	if (flags & span_flow_owner) {
		at = put_signed(at, flow->pid);
		at = put_signed(at, flow->tid);
	}
	if (flags & span_flow_membership)
		at = put(at, membership);
	if (flags & span_flow_epoch)
		at = put(at, span_world_epoch(writer->world, flow->epoch));
	if (flags & span_flow_left)
		at = put(at, flow->left_ip);
	if (flags & span_flow_sums) {
		at = put(at, flow->nblocks);
		at = put(at, flow->ninsn);
	}
	writer->tsc = flow->tsc;
	writer->pid = flow->pid;
	writer->tid = flow->tid;
	writer->membership = membership;
	writer->epoch = flow->epoch;
	return at;
}

static int put_times(struct span_writer *writer, const struct sb_flow *flow)
{
	uint8_t *at = span_write_room(writer, (size_t)flow->nblocks * VARINT_MAX);

	if (!at)
		return writer->failed;
	for (uint32_t i = 0; i < flow->nblocks; ++i)
		at = put(at, flow->times[i]);
	writer->size = (size_t)(at - writer->buffer);
	return 0;
}

int span_write_flow(struct span_writer *writer, const struct sb_flow *flow, int paths)
{
	uint8_t *at;

	if (paths && flow->numbering != writer->numbering && renumber(writer, flow->numbering) < 0)
		return writer->failed;
	if (span_blocks_are_full(&writer->blocks) && forget(writer) < 0)
		return writer->failed;
	at = span_write_room(writer, ITEM_MAX);
	if (!at)
		return writer->failed;
	*at++ = span_flow;
	at = put_changes(writer, at, flow, paths);
	at = put(at, paths ? flow->npaths : 0);
	writer->size = (size_t)(at - writer->buffer);
	if (paths && put_paths(writer, flow) < 0)
		return writer->failed;
	if (flow->times && put_times(writer, flow) < 0)
		return writer->failed;
	if (flow->calls && span_put_calls(writer, flow, paths) < 0)
		return writer->failed;
	return done(writer, writer->buffer + writer->size);
}

int span_write_edges(struct span_writer *writer, int32_t pid, const struct sb_epoch *epoch,
                     const struct sb_flow_calls *calls)
{
	uint8_t *at = span_write_room(writer, ITEM_MAX + calls->nedges * 6 * VARINT_MAX);
	uint64_t last = 0;

	if (!at)
		return writer->failed;
	*at++ = span_edges;
	at = put_signed(at, pid);
	at = put(at, span_world_epoch(writer->world, epoch));
	return done(writer, span_put_edges(at, calls, &last));
}

/* ---- Turns ------------------------------------------------------------------------------------ */

/* Whose they are, and whether the kernel ran. */
static uint8_t *put_turns_head(struct span_writer *writer, uint8_t *at, unsigned int *flags)
{
	const struct sb_flow_turn *first = writer->turn;
	const uint32_t membership = number_of(writer, first->membership);

	*flags = first->pid != writer->pid || first->tid != writer->tid ? span_flow_owner : 0;
	*flags |= membership != writer->membership ? span_flow_membership : 0;
	for (size_t i = 0; i < writer->nturns; ++i)
		*flags |= writer->turn[i].ninsn_kernel ? span_flow_kernel : 0;
	*at++ = span_turns;
	*at++ = (uint8_t)*flags;
	if (*flags & span_flow_owner) {
		at = put_signed(at, first->pid);
		at = put_signed(at, first->tid);
	}
	if (*flags & span_flow_membership)
		at = put(at, membership);
	writer->pid = first->pid;
	writer->tid = first->tid;
	writer->membership = membership;
	return put(at, writer->nturns);
}

/* @step: how much later it began than what is told of before it. */
static uint8_t *put_turn(uint8_t *at, const struct sb_flow_turn *turn, uint64_t step, unsigned int flags)
{
	at = put(at, step);
	at = put(at, turn->nblocks);
	at = put(at, turn->ninsn);
	return flags & span_flow_kernel ? put(at, turn->ninsn_kernel) : at;
}

/* All but the first one. */
static uint8_t *put_others(const struct span_writer *writer, uint8_t *at, unsigned int flags)
{
	const struct sb_flow_turn *first = writer->turn, *last = first + writer->nturns - 1;
	uint8_t bytes[SPAN_TURNS_MAX * 4 * VARINT_MAX], *end = bytes;
	struct sb_flow_turn all = {0};

	for (const struct sb_flow_turn *turn = first + 1; turn <= last; ++turn) {
		all.nblocks += turn->nblocks;
		all.ninsn += turn->ninsn;
		all.ninsn_kernel += turn->ninsn_kernel;
		if (turn < last)
			end = put_turn(end, turn, turn->tsc - turn[-1].tsc, flags);
	}
	at = put_turn(at, &all, last->tsc - first->tsc, flags);
	at = put(at, (uint64_t)(end - bytes));
	memcpy(at, bytes, (size_t)(end - bytes));
	return at + (end - bytes);
}

int span_write_turns(struct span_writer *writer)
{
	const struct sb_flow_turn *first = writer->turn;
	unsigned int flags;
	uint8_t *at;

	if (!writer->nturns)
		return writer->failed;
	at = span_write_room(writer, ITEM_MAX + (writer->nturns + 1) * 4 * VARINT_MAX);
	if (!at)
		return writer->failed;
	at = put_turns_head(writer, at, &flags);
	at = put_turn(at, first, span_zigzag((int64_t)(first->tsc - writer->tsc)), flags);
	if (writer->nturns > 1)
		at = put_others(writer, at, flags);
	writer->tsc = first[writer->nturns - 1].tsc;
	writer->nturns = 0;
	return done(writer, at);
}

/* So many blocks can be added up. */
static int is_short(const struct sb_flow_turn *turn)
{
	return turn->nblocks <= UINT32_MAX / SPAN_TURNS_MAX;
}

static int goes_on(const struct sb_flow_turn *last, const struct sb_flow_turn *turn)
{
	return last->pid == turn->pid && last->tid == turn->tid && last->membership == turn->membership &&
	       last->tsc <= turn->tsc && is_short(turn);
}

int span_write_turn(struct span_writer *writer, const struct sb_flow_turn *turn)
{
	const size_t count = writer->nturns;

	if (count && (count == SPAN_TURNS_MAX || !goes_on(&writer->turn[count - 1], turn)) &&
	    span_write_turns(writer) < 0)
		return writer->failed;
	if (array_reserve(&writer->turn, &writer->turn_capacity, writer->nturns, sizeof(*turn)) < 0) {
		writer->failed = -sbe_nomem;
		return writer->failed;
	}
	writer->turn[writer->nturns++] = *turn;
	return 0;
}

/* ---- Ways ------------------------------------------------------------------------------------- */

int span_write_codes(struct span_writer *writer)
{
	uint8_t *at = span_write_room(writer, ITEM_MAX);

	if (!at)
		return writer->failed;
	*at++ = span_codes;
	return done(writer, at);
}

static int write_some_ways(struct span_writer *writer, const struct sb_flow_way *way, size_t nways)
{
	uint8_t *at = span_write_room(writer, ITEM_MAX + nways * 3 * VARINT_MAX);
	uint32_t before = 0;

	if (!at)
		return writer->failed;
	*at++ = span_ways;
	at = put(at, nways);
	for (size_t i = 0; i < nways; ++i) {
		const int64_t step = (int64_t)way[i].to - (int64_t)way[i].from;

		at = put_signed(at, (int64_t)way[i].from - (int64_t)before);
		at = put(at, span_zigzag(step) << 1 | (way[i].async != 0));
		at = put(at, way[i].count);
		before = way[i].to;
	}
	return done(writer, at);
}

int span_write_ways(struct span_writer *writer, const struct sb_flow_way *way, size_t nways)
{
	int status = 0;

	for (size_t i = 0; i < nways && status == 0; i += SPAN_WAYS_MAX)
		status = write_some_ways(writer, way + i,
		                         nways - i < SPAN_WAYS_MAX ? nways - i : SPAN_WAYS_MAX);
	return status;
}

/* @last: the address that was told of last. */
static uint8_t *put_stop(uint8_t *at, const struct sb_flow_stop *stop, uint64_t *last)
{
	at = put(at, stop->code);
	at = put_signed(at, (int64_t)(stop->ip - *last));
	*last = stop->ip;
	return at;
}

static uint8_t *put_seam(uint8_t *at, const struct sb_flow_seam *seam)
{
	uint64_t last = 0;

	at = put_stop(at, &seam->first, &last);
	at = put(at, seam->nbacks);
	for (uint32_t i = 0; i < seam->nbacks; ++i) {
		at = put(at, seam->back[i].deepest);
		at = put_stop(at, &seam->back[i], &last);
	}
	at = put(at, seam->comes_to_user ? (uint64_t)seam->user + 1 : 0);
	at = put(at, seam->last);
	at = put(at, seam->has_last_user);
	if (seam->has_last_user == sb_flow_user_known)
		at = put(at, seam->last_user);
	at = put(at, seam->deepest);
	at = put(at, seam->ninterrupted);
	for (uint32_t i = 0; i < seam->ninterrupted; ++i)
		at = put_stop(at, &seam->interrupted[i], &last);
	return at;
}

int span_write_seam(struct span_writer *writer, const struct ways_seam *ended)
{
	const struct sb_flow_seam *seam = &ended->seam;
	uint8_t *at = span_write_room(writer, 2 * ITEM_MAX + (size_t)seam->nbacks * 3 * VARINT_MAX);

	if (!at)
		return writer->failed;
	*at++ = span_seam;
	at = put_signed(at, (int64_t)(ended->tsc - writer->tsc));
	at = put_signed(at, ended->pid);
	at = put_signed(at, ended->tid);
	at = put(at, ended->tsc - seam->tsc_from);
	at = put(at, seam->left_ip);
	at = put(at, seam->has_code != 0);
	if (seam->has_code)
		at = put_seam(at, seam);
	writer->tsc = ended->tsc;
	return done(writer, at);
}

int span_write_gap(struct span_writer *writer, const struct sb_gap *gap, int timeless)
{
	const size_t length = strnlen(gap->detail, sizeof(gap->detail) - 1);
	uint8_t *at = span_write_room(writer, ITEM_MAX + sizeof(gap->detail));

	if (!at)
		return writer->failed;
	*at++ = span_gap;
	at = put(at, gap->reason);
	at = put(at, timeless ? 1 : 0);
	at = put_signed(at, gap->cpu);
	at = put_signed(at, gap->pid);
	at = put_signed(at, gap->tid);
	at = put(at, gap->tsc_from);
	at = put(at, gap->tsc_to);
	at = put(at, gap->offset);
	at = put(at, gap->bytes);
	at = put(at, gap->ip);
	at = put(at, length);
	memcpy(at, gap->detail, length);
	return done(writer, at + length);
}

int span_write_event(struct span_writer *writer, const struct sb_flow_event *event)
{
	uint8_t *at = span_write_room(writer, ITEM_MAX);

	if (!at)
		return writer->failed;
	*at++ = span_event;
	at = put(at, event->kind);
	at = put_signed(at, (int64_t)(event->tsc - writer->tsc));
	at = put_signed(at, event->pid);
	at = put_signed(at, event->tid);
	at = put(at, number_of(writer, event->membership));
	at = put(at, event->from);
	at = put(at, event->to);
	writer->tsc = event->tsc;
	return done(writer, at);
}

int span_write_end(struct span_writer *writer, int surveyed)
{
	uint8_t *at = span_write_room(writer, ITEM_MAX);

	if (!at)
		return writer->failed;
	*at++ = span_end;
	*at++ = surveyed != 0;
	writer->size = (size_t)(at - writer->buffer);
	return flush(writer);
}
