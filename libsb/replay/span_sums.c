/* span_sums.c - see span_sums.h. Most paths come again and again: what is counted on the way are whole paths,
 * under their numbers; a path is taken apart into the sums of its blocks at the end. Sums begin when a path
 * first comes, so their order is that of the flow. */
#include "replay/span_sums.h"

#include <stdlib.h>
#include <string.h>

#include "replay/span_format.h"

enum {
	slots_first = 1 << 12,
	found_bits = 12,
	sums_most = 1 << 17,          /* then, all are written */
	rows_most = 1 << 16,          /* likewise */
	blocks_most = SPAN_TIMES_MAX, /* of a flow that is written, or of a path counted as a whole */
};

/* A block of a file, whoever ran it, or else of an address space: of those that begin at the same place, are
 * as long, and have as many instructions, the first one. */
struct span_sum {
	struct pt_run_block block; /* its lengths are owned */
	const struct sb_map *map;  /* NULL: of no file */
	uint64_t offset;           /* of what it begins at, in the file; else its address */
	const struct sb_epoch *epoch;
	int32_t pid; /* -1: whoever; the kernel's code is everybody's */
	int has_begun;
	uint64_t tsc, count; /* when it began */
};

/* Where a block of an address space counts. */
struct sums_found {
	uint64_t ip, end_ip;
	const struct sb_epoch *epoch;
	int32_t pid;
	uint16_t ninsn;
	uint32_t sum; /* index + 1; 0: free */
};

/* A numbered path as it ran in some address space. */
struct sums_row {
	struct sums_row *next, *next_counted; /* of the same slot; of those that have something */
	const struct sb_epoch *epoch;
	int32_t pid;
	uint32_t id, nblocks;
	uint64_t count;
	uint32_t sum[]; /* index, of each block */
};

int span_sums_init(struct span_sums *sums, struct span_writer *writer)
{
	*sums = (struct span_sums){.writer = writer, .nslots = slots_first, .nrow_slots = slots_first};
	sums->slot = calloc(sums->nslots, sizeof(*sums->slot));
	sums->row = calloc(sums->nrow_slots, sizeof(struct sums_row *));
	sums->last = calloc(ptr_max_paths, sizeof(struct sums_row *));
	sums->found = calloc((size_t)1 << found_bits, sizeof(*sums->found));
	sums->seen = calloc(ptr_max_paths, sizeof(*sums->seen));
	if (!sums->slot || !sums->found || !sums->seen || !sums->row || !sums->last)
		return -sbe_nomem;
	return 0;
}

void span_sums_fini(struct span_sums *sums)
{
	arena_free(&sums->lengths);
	arena_free(&sums->memory);
	free(sums->sum);
	free(sums->slot);
	free(sums->found);
	free(sums->row);
	free(sums->last);
	free(sums->seen);
	free(sums->block);
	free(sums->times);
	free(sums->begun);
	*sums = (struct span_sums){0};
}

static uint64_t mix(uint64_t key)
{
	key *= 0x9e3779b97f4a7c15u;
	return key ^ key >> 32;
}

/* ---- Sums ------------------------------------------------------------------------------------- */

static size_t slot_of(const struct span_sums *sums, const struct span_sum *sum)
{
	const uint64_t of = sum->map ? (uintptr_t)sum->map->filename
	                             : (uintptr_t)sum->epoch ^ (uint64_t)(uint32_t)sum->pid << 40;

	return mix(sum->offset ^ of << 16) & (sums->nslots - 1);
}

/* Names are the system's, which has each only once. */
static int is_same_file(const struct sb_map *a, const struct sb_map *b)
{
	return a == b ||
	       (a->filename == b->filename && a->ino == b->ino && a->maj == b->maj && a->min == b->min &&
	        a->origin == b->origin && a->build_id_size == b->build_id_size &&
	        memcmp(a->build_id, b->build_id, a->build_id_size) == 0);
}

static int is_of(const struct span_sum *sum, const struct span_sum *key)
{
	const struct pt_run_block *a = &sum->block, *b = &key->block;

	if (sum->offset != key->offset || a->end_ip - a->ip != b->end_ip - b->ip || a->ninsn != b->ninsn)
		return 0;
	if (!sum->map || !key->map)
		return !sum->map && !key->map && sum->epoch == key->epoch && sum->pid == key->pid;
	return is_same_file(sum->map, key->map);
}

static void put_slot(struct span_sums *sums, size_t index)
{
	size_t slot = slot_of(sums, &sums->sum[index]);

	while (sums->slot[slot])
		slot = (slot + 1) & (sums->nslots - 1);
	sums->slot[slot] = (uint32_t)index + 1;
}

static int grow_slots(struct span_sums *sums)
{
	uint32_t *bigger = calloc(2 * sums->nslots, sizeof(*bigger));

	if (!bigger)
		return -sbe_nomem;
	free(sums->slot);
	sums->slot = bigger;
	sums->nslots *= 2;
	for (size_t i = 0; i < sums->nsums; ++i)
		put_slot(sums, i);
	return 0;
}

/* One more. Zero or -sbe_nomem. */
static int add_sum(struct span_sums *sums, const struct span_sum *key)
{
	uint8_t *length = arena_alloc(&sums->lengths, key->block.ninsn);

	if (!length || array_reserve(&sums->sum, &sums->capacity, sums->nsums, sizeof(*sums->sum)) < 0)
		return -sbe_nomem;
	memcpy(length, key->block.length, key->block.ninsn);
	sums->sum[sums->nsums] = *key;
	sums->sum[sums->nsums].block.length = length;
	sums->nsums += 1;
	if (2 * sums->nsums >= sums->nslots)
		return grow_slots(sums);
	put_slot(sums, sums->nsums - 1);
	return 0;
}

/* The index of the sum of @key, which there is from now on; or a negative code. */
static int64_t sum_of(struct span_sums *sums, const struct span_sum *key)
{
	size_t slot = slot_of(sums, key);

	for (; sums->slot[slot]; slot = (slot + 1) & (sums->nslots - 1))
		if (is_of(&sums->sum[sums->slot[slot] - 1], key))
			return sums->slot[slot] - 1;
	return add_sum(sums, key) < 0 ? -sbe_nomem : (int64_t)sums->nsums - 1;
}

static int is_kernel(const struct pt_run_block *block)
{
	return (int)(block->ip >> 63);
}

/* The file's mapping that code is from; NULL: it is not known to be any's. */
static const struct sb_map *file_of(const struct sb_epoch *epoch, uint64_t ip)
{
	const struct sb_map *map = epoch ? sb_epoch_code(epoch, ip) : NULL;

	return map && (map->build_id_size || map->ino) ? map : NULL;
}

/* The index of the sum that a block of @flow adds to, or a negative code. */
static int64_t sum_of_block(struct span_sums *sums, const struct sb_flow *flow,
                            const struct pt_run_block *block)
{
	const int kernel = is_kernel(block);
	const struct sb_epoch *epoch = kernel ? NULL : flow->epoch;
	const int32_t pid = kernel ? -1 : flow->pid;
	struct sums_found *found = &sums->found[mix(block->ip ^ (uintptr_t)epoch << 8) >> (64 - found_bits)];
	struct span_sum key;
	int64_t index;

	if (found->ip == block->ip && found->end_ip == block->end_ip && found->epoch == epoch &&
	    found->pid == pid && found->ninsn == block->ninsn && found->sum)
		return found->sum - 1;
	key = (struct span_sum){.block = *block, .offset = block->ip, .epoch = epoch, .pid = pid};
	key.map = file_of(epoch, block->ip);
	if (key.map)
		key.offset += key.map->pgoff - key.map->begin;
	index = sum_of(sums, &key);
	*found = (struct sums_found){.ip = block->ip,
	                             .end_ip = block->end_ip,
	                             .epoch = epoch,
	                             .pid = pid,
	                             .ninsn = block->ninsn,
	                             .sum = index < 0 ? 0 : (uint32_t)index + 1};
	return index;
}

/* It has something from now on. */
static int begin_sum(struct span_sums *sums, uint32_t index, uint64_t tsc)
{
	struct span_sum *sum = &sums->sum[index];

	if (array_reserve(&sums->begun, &sums->begun_capacity, sums->nbegun, sizeof(*sums->begun)) < 0)
		return -sbe_nomem;
	sums->begun[sums->nbegun++] = index;
	sum->has_begun = 1;
	sum->tsc = tsc;
	return 0;
}

static inline int begin(struct span_sums *sums, uint32_t index, uint64_t tsc)
{
	return sums->sum[index].has_begun ? 0 : begin_sum(sums, index, tsc);
}

/* ---- Paths ------------------------------------------------------------------------------------ */

static struct sums_row **row_slot(struct sums_row **row, size_t nslots, const struct sums_row *key)
{
	const uint64_t who = mix((uintptr_t)key->epoch ^ (uint64_t)(uint32_t)key->pid << 32);

	return &row[mix(who ^ key->id) & (nslots - 1)];
}

static int grow_rows(struct span_sums *sums)
{
	const size_t nslots = 2 * sums->nrow_slots;
	struct sums_row **bigger = calloc(nslots, sizeof(struct sums_row *));

	if (!bigger)
		return -sbe_nomem;
	for (size_t i = 0; i < sums->nrow_slots; ++i)
		for (struct sums_row *row = sums->row[i], *next; row; row = next) {
			struct sums_row **slot = row_slot(bigger, nslots, row);

			next = row->next;
			row->next = *slot;
			*slot = row;
		}
	free(sums->row);
	sums->row = bigger;
	sums->nrow_slots = nslots;
	return 0;
}

static int is_same(const struct sums_row *a, const struct sums_row *b)
{
	return a->id == b->id && a->epoch == b->epoch && a->pid == b->pid;
}

/* NULL: no memory. */
static struct sums_row *new_row(struct span_sums *sums, const struct sums_row *key,
                                const struct sb_flow *flow, const struct pt_run_path *path)
{
	struct sums_row *row, **slot;

	if (sums->nrows >= sums->nrow_slots && grow_rows(sums) < 0)
		return NULL;
	row = arena_alloc(&sums->memory, sizeof(*row) + path->nblocks * sizeof(row->sum[0]));
	if (!row)
		return NULL;
	*row = *key;
	row->nblocks = path->nblocks;
	for (uint32_t i = 0; i < path->nblocks; ++i) {
		const int64_t sum = sum_of_block(sums, flow, &path->block[i]);

		if (sum < 0)
			return NULL;
		row->sum[i] = (uint32_t)sum;
	}
	slot = row_slot(sums->row, sums->nrow_slots, row);
	row->next = *slot;
	*slot = row;
	sums->nrows += 1;
	return row;
}

static int begin_row(struct span_sums *sums, struct sums_row *row, uint64_t tsc)
{
	int status = 0;

	row->next_counted = sums->counted;
	sums->counted = row;
	for (uint32_t i = 0; i < row->nblocks && status == 0; ++i)
		status = begin(sums, row->sum[i], tsc);
	return status;
}

static int add_numbered(struct span_sums *sums, const struct sb_flow *flow, const struct pt_run_path *path)
{
	const struct sums_row key = {.epoch = flow->epoch, .pid = flow->pid, .id = path->id};
	struct sums_row *row = sums->last[path->id];

	if (!row || !is_same(row, &key)) {
		row = *row_slot(sums->row, sums->nrow_slots, &key);
		while (row && !is_same(row, &key))
			row = row->next;
		if (!row)
			row = new_row(sums, &key, flow, path);
		if (!row)
			return -sbe_nomem;
		sums->last[path->id] = row;
	}
	return row->count++ ? 0 : begin_row(sums, row, flow->tsc);
}

static int add_loose(struct span_sums *sums, const struct sb_flow *flow, const struct pt_run_path *path)
{
	for (uint32_t i = 0; i < path->nblocks; ++i) {
		const int64_t sum = sum_of_block(sums, flow, &path->block[i]);

		if (sum < 0 || begin(sums, (uint32_t)sum, flow->tsc) < 0)
			return -sbe_nomem;
		sums->sum[sum].count += 1;
	}
	return 0;
}

/* Half of all paths come once: these need no row. */
static int add_path(struct span_sums *sums, const struct sb_flow *flow, const struct pt_run_path *path)
{
	if (path->id == ptr_no_id || path->nblocks > blocks_most || !sums->seen[path->id]) {
		if (path->id != ptr_no_id)
			sums->seen[path->id] = 1;
		return add_loose(sums, flow, path);
	}
	return add_numbered(sums, flow, path);
}

/* Takes all numbered paths apart. */
static void unfold(struct span_sums *sums)
{
	for (struct sums_row *row = sums->counted; row; row = row->next_counted) {
		for (uint32_t i = 0; i < row->nblocks; ++i)
			sums->sum[row->sum[i]].count += row->count;
		row->count = 0;
	}
	sums->counted = NULL;
}

static void forget_rows(struct span_sums *sums)
{
	unfold(sums);
	memset(sums->row, 0, sums->nrow_slots * sizeof(struct sums_row *));
	memset(sums->last, 0, ptr_max_paths * sizeof(struct sums_row *));
	memset(sums->seen, 0, ptr_max_paths * sizeof(*sums->seen));
	arena_free(&sums->memory);
	sums->memory = (struct arena){0};
	sums->nrows = 0;
}

/* There is too much of something. */
static int forget_all(struct span_sums *sums)
{
	const int status = span_sums_flush(sums);

	forget_rows(sums);
	memset(sums->slot, 0, sums->nslots * sizeof(*sums->slot));
	memset(sums->found, 0, sizeof(*sums->found) << found_bits);
	arena_free(&sums->lengths);
	sums->lengths = (struct arena){0};
	sums->nsums = 0;
	return status;
}

int span_sums_add(struct span_sums *sums, const struct sb_flow *flow)
{
	int status = 0;

	if (sums->nsums >= sums_most)
		status = forget_all(sums);
	if (flow->numbering != sums->numbering || sums->nrows >= rows_most)
		forget_rows(sums);
	sums->numbering = flow->numbering;
	sums->cpu = flow->cpu;
	sums->tsc = flow->tsc;
	for (uint32_t i = 0; i < flow->npaths && status == 0; ++i)
		status = add_path(sums, flow, flow->path[i]);
	return status;
}

/* ---- Writing ---------------------------------------------------------------------------------- */

static int begins_together(const struct span_sum *a, const struct span_sum *b)
{
	return a->tsc == b->tsc && a->epoch == b->epoch && a->pid == b->pid;
}

/* Sums that begin together, as the blocks of a path. */
static int write_together(struct span_sums *sums, const uint32_t *begun, size_t count)
{
	const struct span_sum *sum = &sums->sum[begun[0]];
	struct pt_run_path path = {.nblocks = (uint32_t)count, .id = ptr_no_id};
	const struct pt_run_path *only = &path;
	struct sb_flow flow = {.cpu = sums->cpu,
	                       .pid = sum->pid,
	                       .tid = -1,
	                       .tsc = sum->tsc,
	                       .path = &only,
	                       .npaths = 1,
	                       .nblocks = path.nblocks,
	                       .epoch = sum->epoch,
	                       .numbering = sums->writer->numbering};

	if (array_reserve_more(&sums->block, &sums->block_capacity, 0, count, sizeof(*sums->block)) < 0 ||
	    array_reserve_more(&sums->times, &sums->times_capacity, 0, count, sizeof(*sums->times)) < 0)
		return -sbe_nomem;
	for (size_t i = 0; i < count; ++i) {
		struct span_sum *with = &sums->sum[begun[i]];

		sums->block[i] = with->block;
		sums->times[i] = with->count;
		with->count = 0;
		with->has_begun = 0;
		path.ninsn += sums->block[i].ninsn;
	}
	path.block = sums->block;
	flow.ninsn = path.ninsn;
	flow.times = sums->times;
	return span_write_flow(sums->writer, &flow, 1);
}

/* Up to where time went, of which no sum may tell: what follows is behind it. */
static int write_time(struct span_sums *sums)
{
	const struct sb_flow flow = {.cpu = sums->cpu,
	                             .pid = -1,
	                             .tid = -1,
	                             .tsc = sums->tsc,
	                             .numbering = sums->writer->numbering};

	return span_write_flow(sums->writer, &flow, 1);
}

int span_sums_flush(struct span_sums *sums)
{
	const uint32_t *begun = sums->begun;
	int status = 0;

	unfold(sums);
	for (size_t i = 0, n; i < sums->nbegun && status == 0; i += n) {
		for (n = 1; i + n < sums->nbegun && n < blocks_most; ++n)
			if (!begins_together(&sums->sum[begun[i]], &sums->sum[begun[i + n]]))
				break;
		status = write_together(sums, &begun[i], n);
	}
	if (status == 0 && sums->nbegun)
		status = write_time(sums);
	sums->nbegun = 0;
	return status;
}
