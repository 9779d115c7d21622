/* exec_counts.c - see exec_counts.h.
 *
 * A path with a number is looked up by it, and then by the mappings that its code was taken from. What it is
 * made of is found once, when it is first seen there. Paths without a number are counted block by block. What
 * follows on what is told by sb/way.h. */
#include "count/exec_counts.h"

#include <stdlib.h>
#include <string.h>

#include <intel-pt.h>

#include "vector.h"

enum {
	numberings_most = 512,  /* that are known at a time, then all are taken apart */
	rows_per_cpu = 2 << 20, /* bytes; likewise: what a CPU's cache of paths may be of */
	rows_cpus_most = 16,
	row_slots_first = 4096,    /* a power of two */
	thread_slots_first = 1024, /* a power of two */
	cpu_slots = 1 << 14,       /* a power of two */
};

/* A path, as it was executed with certain mappings. */
struct row {
	struct row *next_in_slot;
	const struct numbering *numbering;
	const struct sb_epoch *epoch;
	uint32_t id;                        /* of the path */
	int32_t pid;                        /* -1: whoever */
	const struct code_block *last_user; /* NULL: none of them is user space's */
	uint64_t count;
	uint32_t nblocks;
	/* Far within: by that execution may come back to what was interrupted, or to user space; how paths
	 * are cut must not decide whether that is seen. */
	bool far_within;
	struct code_block *block[];
};

/* What is known of the paths of a numbering. */
struct numbering {
	uint64_t number;
	struct row **row; /* owned; by path, the one that was used last; NULL: none was */
	uint32_t nrows;
};

/* Each CPU has an idle thread, and may have an unknown one. */
struct thread {
	int32_t pid, tid, cpu;
	uint32_t ngaps; /* of that CPU, so far */
	bool used;
	bool lost; /* since it was on that CPU, there was a gap of it on another one */
	struct sb_way_thread way;
};

/* Where threads come to and go from. */
struct cpu {
	uint32_t ngaps; /* so far */
	/* Whose flow, or gap, came last. */
	int32_t pid, tid;
	bool is_gap;
	uint64_t tsc;
	/* Of flow that was added up: by number. */
	struct code_block **code; /* owned */
	size_t ncodes, code_room;
};

struct exec_counts {
	struct code_table table;
	struct pool rows;
	struct row **row_slot; /* owned; all rows, by what they are of */
	size_t nrows, row_slots;
	int32_t ncpus; /* up to the last one that flow came from */
	struct numbering numbering[numberings_most];
	uint32_t nnumberings;
	struct numbering *present;
	struct thread *thread; /* owned; open addressing */
	size_t nthreads, thread_slots;
	struct cpu *cpu;              /* owned; cpu_slots of them, by number */
	const struct sb_clock *clock; /* borrowed; NULL: no time is known */
	bool cut;
};

struct exec_counts *exec_counts_new(const struct sb_clock *clock, bool cut, bool by_process)
{
	struct exec_counts *counts = calloc(1, sizeof(*counts));

	if (!counts)
		return NULL;
	counts->cut = cut;
	counts->clock = clock && clock->time_mult ? clock : NULL;
	counts->ncpus = 1;
	counts->thread_slots = thread_slots_first;
	counts->thread = calloc(counts->thread_slots, sizeof(*counts->thread));
	counts->cpu = calloc(cpu_slots, sizeof(*counts->cpu));
	counts->row_slots = row_slots_first;
	counts->row_slot = calloc(counts->row_slots, sizeof(struct row *));
	if (counts->thread && counts->cpu && counts->row_slot && !code_table_init(&counts->table, by_process))
		return counts;
	free(counts->row_slot);
	free(counts->thread);
	free(counts->cpu);
	free(counts);
	return NULL;
}

static void forget_numberings(struct exec_counts *counts)
{
	for (uint32_t i = 0; i < counts->nnumberings; i++)
		free(counts->numbering[i].row);
	counts->nnumberings = 0;
	counts->present = NULL;
}

void exec_counts_free(struct exec_counts *counts)
{
	if (!counts)
		return;
	forget_numberings(counts);
	code_table_fini(&counts->table);
	pool_free(&counts->rows);
	free(counts->row_slot);
	free(counts->thread);
	for (size_t i = 0; i < cpu_slots; i++)
		free(counts->cpu[i].code);
	free(counts->cpu);
	free(counts);
}

/* ---- Threads ---------------------------------------------------------------------------------- */

static struct thread *thread_slot(struct thread *thread, size_t nslots, int32_t pid, int32_t tid)
{
	size_t i = ((uint32_t)tid * 0x9e3779b1u ^ (uint32_t)pid * 0x85ebca6bu) & (nslots - 1);

	while (thread[i].used && (thread[i].pid != pid || thread[i].tid != tid))
		i = (i + 1) & (nslots - 1);
	return &thread[i];
}

static int grow_threads(struct exec_counts *counts)
{
	const size_t nslots = 2 * counts->thread_slots;
	struct thread *thread = calloc(nslots, sizeof(*thread));

	if (!thread)
		return -1;
	for (size_t i = 0; i < counts->thread_slots; i++)
		if (counts->thread[i].used)
			*thread_slot(thread, nslots, counts->thread[i].pid, counts->thread[i].tid) =
			        counts->thread[i];
	free(counts->thread);
	counts->thread = thread;
	counts->thread_slots = nslots;
	return 0;
}

static int32_t number_of_thread(int32_t tid, int32_t cpu)
{
	return tid > 0 ? tid : -1 - cpu;
}

static struct cpu *cpu_of(struct exec_counts *counts, int32_t cpu)
{
	return &counts->cpu[(uint32_t)cpu & (cpu_slots - 1)];
}

/* The thread that was on @cpu, and perhaps nowhere else since, goes on there. */
static bool stays(const struct thread *thread, const struct cpu *cpu, const struct sb_flow *flow)
{
	return thread->cpu == flow->cpu && thread->pid == cpu->pid && thread->tid == cpu->tid &&
	       flow->tsc - cpu->tsc <= sb_way_pause_most;
}

/* The thread comes to where @flow is, or stays there: what it executed last may not be known any more. */
static void arrive(struct exec_counts *counts, struct thread *thread, const struct sb_flow *flow)
{
	struct cpu *cpu = cpu_of(counts, flow->cpu);
	const bool lost_here = cpu->is_gap && thread->pid == cpu->pid && thread->tid == cpu->tid;

	if (thread->ngaps != cpu_of(counts, thread->cpu)->ngaps)
		sb_way_forget(&thread->way);
	if (lost_here || (thread->lost && !stays(thread, cpu, flow))) {
		sb_way_forget(&thread->way);
		thread->lost = false;
	}
	thread->cpu = flow->cpu;
	thread->ngaps = cpu->ngaps;
	cpu->is_gap = false;
	cpu->pid = thread->pid;
	cpu->tid = thread->tid;
	cpu->tsc = flow->tsc;
}

/* NULL: out of memory. */
static struct thread *thread_of(struct exec_counts *counts, const struct sb_flow *flow)
{
	const int32_t tid = number_of_thread(flow->tid, flow->cpu);
	struct thread *thread;

	if (2 * counts->nthreads >= counts->thread_slots && grow_threads(counts))
		return NULL;
	thread = thread_slot(counts->thread, counts->thread_slots, flow->pid, tid);
	if (!thread->used) {
		*thread = (struct thread){.pid = flow->pid, .tid = tid, .cpu = flow->cpu, .used = true};
		counts->nthreads++;
	}
	return thread;
}

void exec_counts_gap(struct exec_counts *counts, const struct sb_gap *gap)
{
	const int32_t tid = number_of_thread(gap->tid, gap->cpu);
	struct thread *thread = thread_slot(counts->thread, counts->thread_slots, gap->pid, tid);
	struct cpu *cpu = cpu_of(counts, gap->cpu);

	cpu->ngaps++;
	cpu->is_gap = true;
	cpu->pid = gap->pid;
	cpu->tid = tid;
	/* It may have come from another CPU, or be about to: gaps have no time. */
	if (thread->used && thread->cpu != gap->cpu)
		thread->lost = true;
}

/* ---- Paths ------------------------------------------------------------------------------------ */

/* Takes all paths apart. */
static int unfold_row(struct exec_counts *counts, struct row *row)
{
	const uint64_t count = row->count;

	row->count = 0;
	for (uint32_t i = 0; i < row->nblocks && count; i++) {
		row->block[i]->count += count;
		if (i && !counts->cut &&
		    code_table_link(&counts->table, row->block[i - 1], row->block[i], false, count))
			return -1;
	}
	return 0;
}

static int unfold(struct exec_counts *counts)
{
	for (size_t i = 0; i < counts->row_slots; i++)
		for (struct row *row = counts->row_slot[i]; row; row = row->next_in_slot)
			if (unfold_row(counts, row))
				return -1;
	return 0;
}

static int forget_rows(struct exec_counts *counts)
{
	if (unfold(counts))
		return -1;
	forget_numberings(counts);
	pool_free(&counts->rows);
	memset(counts->row_slot, 0, counts->row_slots * sizeof(struct row *));
	counts->nrows = 0;
	return 0;
}

static int set_numbering(struct exec_counts *counts, uint64_t number)
{
	uint32_t i;

	for (i = 0; i < counts->nnumberings && counts->numbering[i].number != number; i++)
		;
	if (i == numberings_most) {
		if (forget_rows(counts))
			return -1;
		i = 0;
	}
	counts->present = &counts->numbering[i];
	if (i == counts->nnumberings) {
		*counts->present = (struct numbering){.number = number};
		counts->nnumberings++;
	}
	return 0;
}

/* Where the one is that was used last. */
static struct row **last_row(struct numbering *numbering, uint32_t id)
{
	uint32_t nrows = numbering->nrows ? numbering->nrows : 256;
	struct row **row;

	if (id < numbering->nrows)
		return &numbering->row[id];
	while (nrows <= id)
		nrows *= 2;
	row = realloc(numbering->row, nrows * sizeof(*row));
	if (!row)
		return NULL;
	memset(row + numbering->nrows, 0, (nrows - numbering->nrows) * sizeof(*row));
	numbering->row = row;
	numbering->nrows = nrows;
	return &row[id];
}

static int is_kernel(const struct code_block *block)
{
	return (int)(block->place.ip >> 63);
}

static int is_far(const struct code_block *block)
{
	return block->iclass == ptic_far_call || block->iclass == ptic_far_return ||
	       block->iclass == ptic_far_jump;
}

/* All of it is the kernel's, as its ends are: no path goes to user space and back. */
static bool is_kernel_path(const struct pt_run_path *path)
{
	return (path->block[0].ip & path->block[path->nblocks - 1].ip) >> 63;
}

static struct sb_symbols_place place_of(const struct exec_counts *counts, const struct sb_flow *flow)
{
	/* Without a clock, what was announced last holds. */
	return (struct sb_symbols_place){.epoch = flow->epoch,
	                                 .pid = flow->pid,
	                                 .time = counts->clock ? sb_clock_tsc_to_ns(counts->clock, flow->tsc)
	                                                       : UINT64_MAX - 1};
}

static struct row **row_slot(struct row **slot, size_t nslots, const struct row *key)
{
	uint64_t hash = (uintptr_t)key->epoch >> 4 ^ (uint64_t)(uint32_t)key->pid << 32 ^
	                (uint64_t)key->id * 0x9e3779b97f4a7c15 ^ (uintptr_t)key->numbering << 20;

	hash *= 0xff51afd7ed558ccd;
	return &slot[(hash ^ hash >> 32) & (nslots - 1)];
}

static int grow_rows(struct exec_counts *counts)
{
	const size_t nslots = 2 * counts->row_slots;
	struct row **slot = calloc(nslots, sizeof(struct row *));

	if (!slot)
		return -1;
	for (size_t i = 0; i < counts->row_slots; i++)
		for (struct row *row = counts->row_slot[i], *next; row; row = next) {
			struct row **to = row_slot(slot, nslots, row);

			next = row->next_in_slot;
			row->next_in_slot = *to;
			*to = row;
		}
	free(counts->row_slot);
	counts->row_slot = slot;
	counts->row_slots = nslots;
	return 0;
}

static bool is_same_row(const struct row *a, const struct row *b)
{
	return a->epoch == b->epoch && a->pid == b->pid && a->id == b->id && a->numbering == b->numbering;
}

static struct row *new_row(struct exec_counts *counts, const struct row *key, const struct sb_flow *flow,
                           const struct pt_run_path *path)
{
	const struct sb_symbols_place place = place_of(counts, flow);
	struct row *row = pool_take(&counts->rows, sizeof(*row) + path->nblocks * sizeof(row->block[0]));

	if (!row)
		return NULL;
	*row = *key;
	row->nblocks = path->nblocks;
	for (uint32_t i = 0; i < path->nblocks; i++) {
		row->block[i] = code_table_block(&counts->table, &place, &path->block[i]);
		if (!row->block[i])
			return NULL;
		if (!is_kernel(row->block[i]))
			row->last_user = row->block[i];
		row->far_within = row->far_within || (i && is_far(row->block[i - 1]));
	}
	return row;
}

/* The path as it is in this flow; NULL: out of memory. */
static struct row *row_of(struct exec_counts *counts, const struct sb_flow *flow,
                          const struct pt_run_path *path)
{
	const struct row key = {.numbering = counts->present,
	                        .epoch = is_kernel_path(path) ? NULL : flow->epoch,
	                        .id = path->id,
	                        /* Code of no file is its process's. */
	                        .pid = counts->table.by_process || !is_kernel_path(path) ? flow->pid : -1};
	struct row **last = last_row(counts->present, path->id), **slot, *row;

	if (!last)
		return NULL;
	/* The same process goes on. */
	if (*last && is_same_row(*last, &key))
		return *last;
	if (counts->nrows >= counts->row_slots && grow_rows(counts))
		return NULL;
	slot = row_slot(counts->row_slot, counts->row_slots, &key);
	for (row = *slot; row && !is_same_row(row, &key); row = row->next_in_slot)
		;
	if (!row) {
		row = new_row(counts, &key, flow, path);
		if (!row)
			return NULL;
		row->next_in_slot = *slot;
		*slot = row;
		counts->nrows++;
	}
	*last = row;
	return row;
}

/* ---- Flow ------------------------------------------------------------------------------------- */

static int on_way(void *context, const void *from, const void *to, int async)
{
	return code_table_link(context, from, to, async, 1);
}

static struct sb_way_code code_of(const struct code_block *block)
{
	return (struct sb_way_code){.code = block, .is_kernel = is_kernel(block), .is_far = is_far(block)};
}

/* The thread comes to @first, which is at @ip now, and goes on to @last. */
static int go_on(struct exec_counts *counts, struct thread *thread, const struct code_block *first,
                 uint64_t ip, const struct code_block *last, const struct code_block *last_user)
{
	const struct sb_way_counter counter = {.context = &counts->table, .way = on_way};
	const struct sb_way_code from = code_of(first), to = code_of(last);

	return counts->cut ? 0 : sb_way_go(&thread->way, &from, ip, &to, last_user, &counter);
}

static int add_block(struct exec_counts *counts, struct thread *thread, struct code_block *block, uint64_t ip)
{
	block->count++;
	return go_on(counts, thread, block, ip, block, is_kernel(block) ? NULL : block);
}

static int add_blocks(struct exec_counts *counts, const struct sb_flow *flow, struct thread *thread,
                      const struct pt_run_path *path)
{
	const struct sb_symbols_place place = place_of(counts, flow);

	for (uint32_t i = 0; i < path->nblocks; i++) {
		struct code_block *block = code_table_block(&counts->table, &place, &path->block[i]);

		if (!block || add_block(counts, thread, block, path->block[i].ip))
			return -1;
	}
	return 0;
}

static int add_row(struct exec_counts *counts, struct thread *thread, struct row *row,
                   const struct pt_run_path *path)
{
	if (!row->far_within) {
		row->count++;
		return go_on(counts, thread, row->block[0], path->block[0].ip, row->block[row->nblocks - 1],
		             row->last_user);
	}
	for (uint32_t i = 0; i < row->nblocks; i++)
		if (add_block(counts, thread, row->block[i], path->block[i].ip))
			return -1;
	return 0;
}

/* Blocks get numbers as they come. */
static int note_code(struct cpu *cpu, struct code_block *block)
{
	if (vector_reserve(&cpu->code, &cpu->code_room, cpu->ncodes, sizeof(struct code_block *)))
		return -1;
	cpu->code[cpu->ncodes++] = block;
	return 0;
}

/* Flow that was added up. */
static int add_sums(struct exec_counts *counts, const struct sb_flow *flow)
{
	const struct sb_symbols_place place = place_of(counts, flow);
	const uint64_t *times = flow->times;
	struct cpu *cpu = cpu_of(counts, flow->cpu);

	if (!flow->first_code)
		cpu->ncodes = 0;
	for (uint32_t i = 0; i < flow->npaths; i++)
		for (uint32_t k = 0; k < flow->path[i]->nblocks; k++) {
			struct code_block *block =
			        code_table_block(&counts->table, &place, &flow->path[i]->block[k]);

			if (!block || (!counts->cut && note_code(cpu, block)))
				return -1;
			block->count += *times++;
		}
	return 0;
}

/* ---- Seams ------------------------------------------------------------------------------------ */

/* NULL: there is none of that number. */
static const struct code_block *block_of(struct exec_counts *counts, const struct sb_flow *flow,
                                         uint32_t number)
{
	const struct cpu *cpu = cpu_of(counts, flow->cpu);

	return number < cpu->ncodes ? cpu->code[number] : NULL;
}

static int add_ways(struct exec_counts *counts, const struct sb_flow *flow)
{
	const struct sb_flow_ways *ways = flow->ways;

	for (size_t i = 0; i < ways->nways; i++) {
		const struct sb_flow_way *way = &ways->way[i];
		const struct code_block *from = block_of(counts, flow, way->from),
		                        *to = block_of(counts, flow, way->to);

		if (!from || !to || code_table_link(&counts->table, from, to, way->async != 0, way->count))
			return -1;
	}
	return 0;
}

/* What depended on what the thread did before. */
static int begin_seam(struct exec_counts *counts, struct sb_way_thread *way, const struct sb_flow *flow)
{
	const struct sb_flow_seam *seam = flow->ways->seam;
	const struct sb_way_counter counter = {.context = &counts->table, .way = on_way};
	const struct code_block *first = block_of(counts, flow, seam->first.code);
	struct sb_way_code code;

	if (!first)
		return -1;
	code = code_of(first);
	if (sb_way_come(way, &code, seam->first.ip, &counter))
		return -1;
	for (uint32_t i = 0; i < seam->nbacks; i++) {
		const struct code_block *to = block_of(counts, flow, seam->back[i].code);

		sb_way_keep(way, sb_way_interrupted_most - seam->back[i].deepest);
		if (!to || sb_way_take(way, to, seam->back[i].ip, &counter))
			return -1;
	}
	if (seam->comes_to_user && way->last_user) {
		const struct code_block *user = block_of(counts, flow, seam->user);

		return user ? on_way(&counts->table, way->last_user, user, false) : -1;
	}
	return 0;
}

/* What is known for what it will do. */
static int end_seam(struct exec_counts *counts, struct sb_way_thread *way, const struct sb_flow *flow)
{
	const struct sb_flow_seam *seam = flow->ways->seam;
	const struct code_block *last = block_of(counts, flow, seam->last);

	if (!last)
		return -1;
	way->last = code_of(last);
	way->left_ip = seam->left_ip;
	if (seam->has_last_user != sb_flow_user_as_before)
		way->last_user = NULL;
	if (seam->has_last_user == sb_flow_user_known) {
		way->last_user = block_of(counts, flow, seam->last_user);
		if (!way->last_user)
			return -1;
	}
	sb_way_keep(way, sb_way_interrupted_most - seam->deepest);
	for (uint32_t i = 0; i < seam->ninterrupted; i++) {
		const struct code_block *block = block_of(counts, flow, seam->interrupted[i].code);

		if (!block)
			return -1;
		sb_way_put(way, block, seam->interrupted[i].ip);
	}
	return 0;
}

static int add_seam(struct exec_counts *counts, const struct sb_flow *flow)
{
	struct thread *thread = thread_of(counts, flow);

	if (!thread)
		return -1;
	/* Until now, it stayed there. */
	cpu_of(counts, flow->cpu)->tsc = flow->tsc;
	if (!flow->ways->seam->has_code) {
		sb_way_interrupt(&thread->way, flow->ways->seam->left_ip);
		return 0;
	}
	return begin_seam(counts, &thread->way, flow) || end_seam(counts, &thread->way, flow) ? -1 : 0;
}

/* ------------------------------------------------------------------------------------------------- */

static size_t rows_most(const struct exec_counts *counts)
{
	const int32_t ncpus = counts->ncpus < rows_cpus_most ? counts->ncpus : rows_cpus_most;

	return (size_t)ncpus * rows_per_cpu;
}

int exec_counts_flow(struct exec_counts *counts, const struct sb_flow *flow)
{
	struct thread *thread;

	if (flow->times)
		return add_sums(counts, flow);
	if (flow->ways && counts->cut)
		return 0;
	if (flow->ways)
		return flow->ways->seam ? add_seam(counts, flow) : add_ways(counts, flow);
	thread = thread_of(counts, flow);
	if (!thread)
		return -1;
	arrive(counts, thread, flow);
	if (flow->cpu >= counts->ncpus)
		counts->ncpus = flow->cpu + 1;
	if ((counts->rows.used > rows_most(counts) && forget_rows(counts)))
		return -1;
	if (flow->npaths && (!counts->present || counts->present->number != flow->numbering) &&
	    set_numbering(counts, flow->numbering))
		return -1;
	for (uint32_t i = 0; i < flow->npaths; i++) {
		const struct pt_run_path *path = flow->path[i];
		struct row *row;

		if (path->id == ptr_no_id) {
			if (add_blocks(counts, flow, thread, path))
				return -1;
			continue;
		}
		row = row_of(counts, flow, path);
		if (!row || add_row(counts, thread, row, path))
			return -1;
	}
	sb_way_interrupt(&thread->way, flow->left_ip);
	return 0;
}

const struct code_table *exec_counts_table(struct exec_counts *counts)
{
	return unfold(counts) ? NULL : &counts->table;
}
