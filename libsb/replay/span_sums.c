/* span_sums.c - see span_sums.h. Most paths come again and again: what is counted on the way are whole paths,
 * under their numbers; a path is taken apart into the sums of its blocks at the end. Sums begin when a path
 * first comes, so their order is that of the flow. */
#include "replay/span_sums.h"

#include <stdlib.h>
#include <string.h>

#include "replay/span_format.h"

enum {
	row_slots_first = 1 << 12,
	found_bits = 13,
	sums_most = 1 << 17,          /* then, all are written */
	rows_most = 1 << 16,          /* likewise */
	blocks_most = SPAN_TIMES_MAX, /* of a flow that is written, or of a path counted as a whole */
};

/* A block of a file, whoever ran it, or else of an address space, or of a process: of those that begin at the
 * same place, are as long, and have as many instructions, the first one. */
struct span_sum {
	struct pt_run_block block; /* its lengths are owned */
	const struct sb_map *map;  /* NULL: of no file */
	uint64_t offset;           /* of what it begins at, in the file; else its address */
	const struct sb_epoch *epoch;
	int32_t pid;   /* who ran it first; -1: the kernel's code is everybody's */
	int32_t owner; /* who alone has this sum; -1: whoever runs it */
	int has_begun;
	uint32_t number;     /* when it has: its index among those that have */
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
	int far_within;     /* before the last block; only when ways are counted, as is: */
	uint32_t last_user; /* index + 1 of the last block of user space; 0: there is none */
	uint32_t sum[];     /* index, of each block */
};

int span_sums_init(struct span_sums *sums, struct span_writer *writer, enum sb_sums what)
{
	*sums = (struct span_sums){.writer = writer, .what = what, .nrow_slots = row_slots_first};
	sums->row = calloc(sums->nrow_slots, sizeof(struct sums_row *));
	sums->last = calloc(ptr_max_paths, sizeof(struct sums_row *));
	sums->found = calloc((size_t)1 << found_bits, sizeof(*sums->found));
	sums->seen = calloc(ptr_max_paths, sizeof(*sums->seen));
	if (!sums->found || !sums->seen || !sums->row || !sums->last)
		return -sbe_nomem;
	return 0;
}

void span_sums_fini(struct span_sums *sums)
{
	arena_free(&sums->lengths);
	arena_free(&sums->memory);
	free(sums->sum);
	index_slots_free(&sums->slots);
	free(sums->found);
	free(sums->row);
	free(sums->last);
	free(sums->seen);
	free(sums->block);
	free(sums->times);
	free(sums->begun);
	span_ways_fini(&sums->ways);
	*sums = (struct span_sums){0};
}

static uint64_t mix(uint64_t key)
{
	key *= 0x9e3779b97f4a7c15u;
	return key ^ key >> 32;
}

/* ---- Sums ------------------------------------------------------------------------------------- */

static uint32_t hash_of(const struct span_sum *sum)
{
	const uint64_t of = sum->map ? (uintptr_t)sum->map->filename : (uintptr_t)sum->epoch;

	return (uint32_t)mix(sum->offset ^ (of ^ (uint64_t)(uint32_t)sum->owner << 40) << 16);
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

	if (sum->offset != key->offset || sum->owner != key->owner ||
	    a->end_ip - a->ip != b->end_ip - b->ip || a->ninsn != b->ninsn)
		return 0;
	if (!sum->map || !key->map)
		return !sum->map && !key->map && sum->epoch == key->epoch;
	return is_same_file(sum->map, key->map);
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
	return index_slots_add(&sums->slots, hash_of(key), (uint32_t)sums->nsums);
}

/* The index of the sum of @key, which there is from now on; or a negative code. */
static int64_t sum_of(struct span_sums *sums, const struct span_sum *key)
{
	struct index_search search = index_search(hash_of(key));
	uint32_t number;

	while ((number = index_slots_next(&sums->slots, &search)))
		if (is_of(&sums->sum[number - 1], key))
			return number - 1;
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

/* The index of the sum of a block that was not found lately, which it is from now on; or a negative code. */
static __attribute__((noinline)) int64_t look_up(struct span_sums *sums, const struct pt_run_block *block,
                                                 const struct sb_epoch *epoch, int32_t pid,
                                                 struct sums_found *found)
{
	struct span_sum key = {.block = *block, .offset = block->ip, .epoch = epoch, .pid = pid};
	int64_t index;

	key.map = file_of(epoch, block->ip);
	if (key.map)
		key.offset += key.map->pgoff - key.map->begin;
	key.owner = key.map && sums->what != sb_sums_processes ? -1 : pid;
	index = sum_of(sums, &key);
	*found = (struct sums_found){.ip = block->ip,
	                             .end_ip = block->end_ip,
	                             .epoch = epoch,
	                             .pid = pid,
	                             .ninsn = block->ninsn,
	                             .sum = index < 0 ? 0 : (uint32_t)index + 1};
	return index;
}

/* The index of the sum that a block of @flow adds to, or a negative code. Most are asked for often. */
static inline int64_t sum_of_block(struct span_sums *sums, const struct sb_flow *flow,
                                   const struct pt_run_block *block)
{
	const int kernel = is_kernel(block);
	const struct sb_epoch *epoch = kernel ? NULL : flow->epoch;
	const int32_t pid = kernel && sums->what != sb_sums_processes ? -1 : flow->pid;
	struct sums_found *found = &sums->found[mix(block->ip ^ (uintptr_t)epoch << 8) >> (64 - found_bits)];

	if (found->ip == block->ip && found->end_ip == block->end_ip && found->epoch == epoch &&
	    found->pid == pid && found->ninsn == block->ninsn && found->sum)
		return found->sum - 1;
	return look_up(sums, block, epoch, pid, found);
}

/* It has something from now on. */
static int begin_sum(struct span_sums *sums, uint32_t index, uint64_t tsc)
{
	struct span_sum *sum = &sums->sum[index];

	if (array_reserve(&sums->begun, &sums->begun_capacity, sums->nbegun, sizeof(*sums->begun)) < 0)
		return -sbe_nomem;
	sum->number = (uint32_t)sums->nbegun;
	sums->begun[sums->nbegun++] = index;
	sum->has_begun = 1;
	sum->tsc = tsc;
	return 0;
}

static inline int begin(struct span_sums *sums, uint32_t index, uint64_t tsc)
{
	return sums->sum[index].has_begun ? 0 : begin_sum(sums, index, tsc);
}

/* ---- Ways ------------------------------------------------------------------------------------- */

static inline struct sb_way_code code_of(const struct span_sums *sums, uint32_t index)
{
	return span_ways_code(sums->sum[index].number, &sums->sum[index].block);
}

/* A block ran, at @ip; it has begun. */
static int pass(struct span_sums *sums, uint32_t index, uint64_t ip)
{
	struct sb_way_code code;

	sums->sum[index].count += 1;
	if (sums->what < sb_sums_ways)
		return 0;
	code = code_of(sums, index);
	return span_ways_go(&sums->ways, &code, ip, &code, code.is_kernel ? NULL : code.code);
}

/* A path ran that has no far transfer within. */
static int pass_row(struct span_sums *sums, const struct sums_row *row, uint64_t ip)
{
	const struct sb_way_code first = code_of(sums, row->sum[0]),
	                         last = code_of(sums, row->sum[row->nblocks - 1]);
	const void *last_user = row->last_user ? code_of(sums, row->last_user - 1).code : NULL;

	return span_ways_go(&sums->ways, &first, ip, &last, last_user);
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
		if (!is_kernel(&path->block[i]))
			row->last_user = (uint32_t)sum + 1;
		if (i && code_of(sums, row->sum[i - 1]).is_far)
			row->far_within = 1;
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

/* Block by block. */
static int pass_blocks(struct span_sums *sums, const struct sums_row *row, const struct sb_flow *flow,
                       const struct pt_run_path *path)
{
	int status = 0;

	for (uint32_t i = 0; i < row->nblocks && status == 0; ++i) {
		status = begin(sums, row->sum[i], flow->tsc);
		if (status == 0)
			status = pass(sums, row->sum[i], path->block[i].ip);
	}
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
	if (sums->what >= sb_sums_ways && row->far_within)
		return pass_blocks(sums, row, flow, path);
	if (!row->count++ && begin_row(sums, row, flow->tsc) < 0)
		return -sbe_nomem;
	return sums->what >= sb_sums_ways ? pass_row(sums, row, path->block[0].ip) : 0;
}

static int add_loose(struct span_sums *sums, const struct sb_flow *flow, const struct pt_run_path *path)
{
	for (uint32_t i = 0; i < path->nblocks; ++i) {
		const int64_t sum = sum_of_block(sums, flow, &path->block[i]);

		if (sum < 0 || begin(sums, (uint32_t)sum, flow->tsc) < 0 ||
		    pass(sums, (uint32_t)sum, path->block[i].ip) < 0)
			return -sbe_nomem;
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

static int unfold_ways(struct span_sums *sums, const struct sums_row *row)
{
	int status = 0;

	for (uint32_t i = 1; i < row->nblocks && status == 0; ++i)
		status = span_ways_count(&sums->ways, sums->sum[row->sum[i - 1]].number,
		                         sums->sum[row->sum[i]].number, 0, row->count);
	return status;
}

/* Takes all numbered paths apart. */
static int unfold(struct span_sums *sums)
{
	int status = 0;

	for (struct sums_row *row = sums->counted; row && status == 0; row = row->next_counted) {
		for (uint32_t i = 0; i < row->nblocks; ++i)
			sums->sum[row->sum[i]].count += row->count;
		if (sums->what >= sb_sums_ways)
			status = unfold_ways(sums, row);
		row->count = 0;
	}
	sums->counted = NULL;
	return status;
}

static int forget_rows(struct span_sums *sums)
{
	const int status = unfold(sums);

	memset(sums->row, 0, sums->nrow_slots * sizeof(struct sums_row *));
	memset(sums->last, 0, ptr_max_paths * sizeof(struct sums_row *));
	memset(sums->seen, 0, ptr_max_paths * sizeof(*sums->seen));
	arena_free(&sums->memory);
	sums->memory = (struct arena){0};
	sums->nrows = 0;
	return status;
}

/* There is too much of something. */
static int forget_all(struct span_sums *sums)
{
	int status = span_sums_flush(sums);

	if (status == 0)
		status = forget_rows(sums);
	index_slots_clear(&sums->slots);
	memset(sums->found, 0, sizeof(*sums->found) << found_bits);
	arena_free(&sums->lengths);
	sums->lengths = (struct arena){0};
	sums->nsums = 0;
	return status;
}

int span_sums_break(struct span_sums *sums)
{
	return span_ways_close(&sums->ways);
}

int span_sums_add(struct span_sums *sums, const struct sb_flow *flow)
{
	int status = 0;

	if (sums->nsums >= sums_most)
		status = forget_all(sums);
	else if (span_ways_are_many(&sums->ways))
		status = span_sums_flush(sums);
	if (status == 0 && (flow->numbering != sums->numbering || sums->nrows >= rows_most))
		status = forget_rows(sums);
	if (status == 0 && sums->what >= sb_sums_ways)
		status = span_ways_begin_flow(&sums->ways, flow);
	sums->numbering = flow->numbering;
	sums->cpu = flow->cpu;
	sums->tsc = flow->tsc;
	for (uint32_t i = 0; i < flow->npaths && status == 0; ++i)
		status = add_path(sums, flow, flow->path[i]);
	if (status == 0 && sums->what >= sb_sums_ways)
		status = span_ways_end_flow(&sums->ways, flow);
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

/* Up to where time went, of which no sum may tell: what follows is behind it. The last
 * seam tells that, too. */
static int write_time(struct span_sums *sums)
{
	const struct sb_flow flow = {.cpu = sums->cpu,
	                             .pid = -1,
	                             .tid = -1,
	                             .tsc = sums->tsc,
	                             .numbering = sums->writer->numbering};

	return span_write_flow(sums->writer, &flow, 1);
}

/* The next sums that began together and no later than @until, from index @at on. How many, or a negative
 * code. */
static int64_t write_next(struct span_sums *sums, size_t at, uint64_t until)
{
	const size_t most = sums->nbegun - at;
	const uint32_t *begun = most ? &sums->begun[at] : NULL;
	size_t n = 1;
	int status;

	if (!most || sums->sum[begun[0]].tsc > until)
		return 0;
	while (n < most && n < blocks_most && begins_together(&sums->sum[begun[0]], &sums->sum[begun[n]]))
		n += 1;
	status = write_together(sums, begun, n);
	return status < 0 ? status : (int64_t)n;
}

/* All from index *at on that began no later than @until. */
static int write_sums(struct span_sums *sums, size_t *at, uint64_t until)
{
	int64_t n;

	while ((n = write_next(sums, *at, until)) > 0)
		*at += (size_t)n;
	return n < 0 ? (int)n : 0;
}

/* That a thread has come to this CPU. */
static int write_arrival(struct span_sums *sums, const struct ways_seam *seam)
{
	const struct sb_flow flow = {.cpu = sums->cpu,
	                             .pid = seam->pid,
	                             .tid = seam->tid,
	                             .tsc = seam->seam.tsc_from,
	                             .numbering = sums->writer->numbering};

	return span_write_flow(sums->writer, &flow, 1);
}

/* Seams come behind the sums of all that was executed up to there. */
static int write_seam(struct span_sums *sums, struct ways_seam *seam, size_t *at)
{
	int status = write_sums(sums, at, seam->seam.tsc_from);

	seam->seam.back = seam->seam.nbacks ? sums->ways.back + seam->first_back : NULL;
	if (status == 0)
		status = write_arrival(sums, seam);
	if (status == 0)
		status = write_sums(sums, at, seam->tsc);
	return status < 0 ? status : span_write_seam(sums->writer, seam);
}

static int write_seams(struct span_sums *sums, size_t *at)
{
	int status = 0;

	for (size_t i = 0; i < sums->ways.nseams && status == 0; ++i)
		status = write_seam(sums, &sums->ways.seam[i], at);
	return status;
}

int span_sums_flush(struct span_sums *sums)
{
	size_t at = 0;
	int status = unfold(sums), has_ways;

	if (status == 0)
		status = span_ways_close(&sums->ways);
	has_ways = sums->nbegun || sums->ways.nseams ? sums->what >= sb_sums_ways : 0;
	if (status == 0 && has_ways)
		status = span_write_codes(sums->writer);
	if (status == 0 && has_ways)
		status = write_seams(sums, &at);
	if (status == 0)
		status = write_sums(sums, &at, UINT64_MAX);
	if (status == 0 && sums->nbegun && !has_ways)
		status = write_time(sums);
	if (status == 0 && has_ways)
		status = span_write_ways(sums->writer, sums->ways.way, sums->ways.nways);
	span_ways_clear(&sums->ways);
	sums->nbegun = 0;
	return status;
}
