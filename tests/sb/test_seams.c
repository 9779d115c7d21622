/* Whether flow is counted as it comes, or each CPU's is added up apart, in pieces, and seams are joined: the
 * same code ran as often, and the same followed on what. Flow is drawn at random: threads that go from one
 * CPU to another, interrupts in interrupts, far transfers that come back and that do not, gaps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <intel-pt.h>

#include "count/exec_counts.h"
#include "replay/span_order.h"
#include "replay/span_read.h"
#include "replay/span_sums.h"
#include "system/system.h"

enum {
	ncpus = 2,
	nthreads = 5,
	nblocks = 12,
	npaths = 16,
	path_most = 5,
	nitems = 3000,
	bytes_most = 4 << 20
};

static const uint8_t lengths[] = {3};

struct item {
	int32_t cpu, pid, tid;
	uint64_t tsc, left_ip, numbering;
	int is_gap, ends_piece;
	const struct pt_run_path *path[3];
	uint32_t npaths;
};

struct scene {
	uint64_t seed;
	struct pt_run_block block[nblocks];
	struct pt_run_block paths_block[2][npaths][path_most];
	struct pt_run_path path[2][npaths]; /* of each numbering; every other one has no number */
	struct item item[nitems];           /* of all CPUs, as they come */
};

struct bytes {
	uint8_t *at;
	size_t size;
};

static uint32_t draw(struct scene *scene, uint32_t below)
{
	scene->seed = scene->seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(scene->seed >> 33) % below;
}

/* ---- The scene -------------------------------------------------------------------------------- */

static int is_kernel(const struct pt_run_block *block)
{
	return (int)(block->ip >> 63);
}

static void make_blocks(struct scene *scene)
{
	static const enum pt_insn_class classes[] = {ptic_jump, ptic_far_return, ptic_far_call,
	                                             ptic_cond_jump};

	for (uint64_t i = 0; i < nblocks; i++) {
		const uint64_t ip = (i % 2 ? 0xffffffff80000000 : 0x400000) + 16 * i;

		scene->block[i] = (struct pt_run_block){.ip = ip,
		                                        .end_ip = ip,
		                                        .length = lengths,
		                                        .ninsn = 1,
		                                        .mode = ptem_64bit,
		                                        .iclass = (uint8_t)classes[i / 2 % 4]};
	}
}

/* From the kernel to user space, only far transfers lead; and no path goes there and back. */
static int may_follow(const struct pt_run_block *path, uint32_t count, const struct pt_run_block *to)
{
	const struct pt_run_block *from = &path[count - 1];

	if (is_kernel(from) && !is_kernel(to))
		return from->iclass == ptic_far_return || from->iclass == ptic_far_call;
	return is_kernel(from) || !is_kernel(to) || !is_kernel(&path[0]);
}

static void make_path(struct scene *scene, int numbering, uint32_t id)
{
	struct pt_run_block *block = scene->paths_block[numbering][id];
	uint32_t count = 0;

	for (uint32_t most = 1 + draw(scene, path_most); count < most; count++) {
		block[count] = scene->block[draw(scene, nblocks)];
		if (count && !may_follow(block, count, &block[count]))
			break;
	}
	scene->path[numbering][id] = (struct pt_run_path){
	        .block = block, .nblocks = count, .ninsn = count, .id = id % 2 ? id : ptr_no_id};
}

static int is_on_cpu(const int *thread, int which)
{
	return thread[0] == which || thread[1] == which;
}

/* Where a thread was interrupted, and will perhaps go on. */
struct waiting {
	uint64_t ip[2 * sb_way_interrupted_most];
	uint32_t count;
};

/* A path that begins at @ip, or ends in a far transfer, if one is found. */
static const struct pt_run_path *find_path(struct scene *scene, const struct item *item, uint64_t ip)
{
	for (uint32_t i = 0; i < 8 * npaths; i++) {
		const struct pt_run_path *path = &scene->path[item->numbering][draw(scene, npaths)];

		if (ip ? path->block[0].ip == ip
		       : path->block[path->nblocks - 1].iclass == ptic_far_return && path->nblocks == 1)
			return path;
	}
	return &scene->path[item->numbering][0];
}

static void make_flow(struct scene *scene, struct item *item, struct waiting *waiting)
{
	/* There are times of interrupts, and of coming back from them. */
	const uint32_t deeper = item->tsc / 200000 % 2 ? 2 : 12;

	item->npaths = draw(scene, 4);
	for (uint32_t i = 0; i < item->npaths; i++)
		item->path[i] = &scene->path[item->numbering][draw(scene, npaths)];
	if (waiting->count && draw(scene, 4)) {
		item->npaths = 2;
		item->path[0] = find_path(scene, item, 0);
		item->path[1] = find_path(scene, item, waiting->ip[--waiting->count]);
	}
	if (draw(scene, deeper) || waiting->count == 2 * sb_way_interrupted_most)
		return;
	item->left_ip = scene->path[item->numbering][draw(scene, npaths)].block[0].ip;
	waiting->ip[waiting->count++] = item->left_ip;
	if (deeper == 2 && waiting->count > 1)
		item->npaths = item->npaths ? 1 : 0;
}

/* Threads change CPUs, and come to one after some time. */
static void make_items(struct scene *scene)
{
	int on_cpu[ncpus] = {0, 1};
	struct waiting waiting[nthreads] = {0};
	uint64_t tsc = 1000;

	for (size_t i = 0; i < nitems; i++) {
		const uint32_t cpu = draw(scene, ncpus);
		struct item *item = &scene->item[i];

		if (draw(scene, 12) == 0) {
			int other = (int)draw(scene, nthreads);

			tsc += sb_way_pause_most + 1;
			on_cpu[cpu] = is_on_cpu(on_cpu, other) ? on_cpu[cpu] : other;
		}
		tsc += 1 + draw(scene, 50);
		/* Thread 0 is nobody: each CPU has one. */
		*item = (struct item){.cpu = (int32_t)cpu,
		                      .pid = on_cpu[cpu] ? 10 + on_cpu[cpu] / 3 : -1,
		                      .tid = on_cpu[cpu] ? 20 + on_cpu[cpu] : -1,
		                      .tsc = tsc,
		                      .numbering = i < nitems / 2,
		                      .is_gap = draw(scene, 60) == 0,
		                      .ends_piece = draw(scene, 40) == 0};
		/* It may be of somebody else. */
		if (item->is_gap && draw(scene, 2))
			item->tid = 20 + (int32_t)draw(scene, nthreads);
		if (!item->is_gap)
			make_flow(scene, item, &waiting[on_cpu[cpu]]);
	}
}

static struct scene *make_scene(uint64_t seed)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	scene->seed = seed;
	make_blocks(scene);
	for (int numbering = 0; numbering < 2; numbering++)
		for (uint32_t id = 0; id < npaths; id++)
			make_path(scene, numbering, id);
	make_items(scene);
	return scene;
}

/* ---- Counting --------------------------------------------------------------------------------- */

static struct sb_flow flow_of(const struct item *item)
{
	struct sb_flow flow = {.cpu = item->cpu,
	                       .pid = item->pid,
	                       .tid = item->tid,
	                       .tsc = item->tsc,
	                       .path = item->path,
	                       .npaths = item->npaths,
	                       .numbering = item->numbering + 1,
	                       .left_ip = item->left_ip};

	for (uint32_t i = 0; i < item->npaths; i++)
		flow.nblocks += item->path[i]->nblocks;
	flow.ninsn = flow.nblocks;
	return flow;
}

static struct sb_gap gap_of(const struct item *item)
{
	return (struct sb_gap){
	        .reason = sb_gap_overflow, .cpu = item->cpu, .pid = item->pid, .tid = item->tid};
}

/* Gaps have no time: they come right behind what their CPU had before. */
static void count_in_order(struct scene *scene, struct exec_counts *counts)
{
	size_t next[ncpus] = {0};
	uint64_t tsc[ncpus] = {0};

	for (;;) {
		size_t first = ncpus;

		for (size_t cpu = 0; cpu < ncpus; cpu++) {
			while (next[cpu] < nitems && scene->item[next[cpu]].cpu != (int32_t)cpu)
				next[cpu]++;
			if (next[cpu] == nitems)
				continue;
			if (!scene->item[next[cpu]].is_gap)
				tsc[cpu] = scene->item[next[cpu]].tsc;
			if (first == ncpus || tsc[cpu] < tsc[first])
				first = cpu;
		}
		if (first == ncpus)
			return;
		if (scene->item[next[first]].is_gap) {
			const struct sb_gap gap = gap_of(&scene->item[next[first]]);

			exec_counts_gap(counts, &gap);
		} else {
			const struct sb_flow flow = flow_of(&scene->item[next[first]]);

			assert_int_equal(exec_counts_flow(counts, &flow), 0);
		}
		next[first]++;
	}
}

static int write_bytes(void *context, const void *from, size_t size)
{
	struct bytes *bytes = context;

	assert_true(size <= bytes_most - bytes->size);
	memcpy(bytes->at + bytes->size, from, size);
	bytes->size += size;
	return 0;
}

static int64_t read_bytes(void *context, size_t index, uint64_t offset, void *to, size_t size,
                          struct sb_error *err)
{
	const struct bytes *bytes = context;
	const size_t left = offset < bytes->size ? bytes->size - (size_t)offset : 0;

	(void)index;
	(void)err;
	size = size < left ? size : left;
	memcpy(to, bytes->at + offset, size);
	return (int64_t)size;
}

/* What @cpu's flow is added up to; @ends_pieces: here and there, it is written and begun anew. */
static void add_up(const struct scene *scene, int32_t cpu, enum sb_sums what, int ends_pieces,
                   const struct span_world *world, struct bytes *bytes)
{
	struct span_writer writer;
	struct span_sums sums;

	*bytes = (struct bytes){.at = malloc(bytes_most)};
	assert_non_null(bytes->at);
	assert_int_equal(span_writer_init(&writer, write_bytes, bytes, world, span_flows), 0);
	assert_int_equal(span_sums_init(&sums, &writer, what), 0);
	for (size_t i = 0; i < nitems; i++) {
		const struct item *item = &scene->item[i];

		if (item->cpu != cpu)
			continue;
		if (item->is_gap) {
			const struct sb_gap gap = gap_of(item);

			assert_int_equal(span_sums_flush(&sums), 0);
			assert_int_equal(span_write_gap(&writer, &gap, 1), 0);
		} else {
			const struct sb_flow flow = flow_of(item);

			assert_int_equal(span_sums_add(&sums, &flow), 0);
		}
		if (ends_pieces && item->ends_piece)
			assert_int_equal(span_sums_flush(&sums), 0);
	}
	assert_int_equal(span_sums_flush(&sums), 0);
	assert_int_equal(span_write_end(&writer, 0), 0);
	span_sums_fini(&sums);
	span_writer_fini(&writer);
}

/* Of a CPU: what comes next. */
struct strand {
	struct span_reader reader;
	struct span_item item;
	uint64_t tsc;
	int is_over;
};

static void advance(struct strand *strand)
{
	assert_int_equal(span_read(&strand->reader, &strand->item, NULL), 1);
	strand->is_over = strand->item.kind == span_end;
	if (strand->item.kind == span_flow && strand->item.flow.tsc > strand->tsc)
		strand->tsc = strand->item.flow.tsc;
}

static void join(struct bytes *bytes, const struct span_world *world, struct exec_counts *counts)
{
	struct strand strand[ncpus] = {0};
	struct span_order order;

	assert_int_equal(span_order_init(&order), 0);
	for (size_t i = 0; i < ncpus; i++) {
		assert_int_equal(span_reader_init(&strand[i].reader, world, i << 32), 0);
		strand[i].reader.context = &bytes[i];
		strand[i].reader.read = read_bytes;
		strand[i].reader.cpu = (int32_t)i;
		strand[i].reader.sums = sb_sums_ways;
		advance(&strand[i]);
	}
	while (!strand[0].is_over || !strand[1].is_over) {
		const size_t first =
		        strand[0].is_over || (!strand[1].is_over && strand[1].tsc < strand[0].tsc);
		struct strand *next = &strand[first];
		const struct order_place place = {next->tsc, first};

		if (next->item.kind == span_gap) {
			exec_counts_gap(counts, &next->item.gap);
		} else {
			assert_int_equal(span_order_flow(&order, &place, &next->item.flow, NULL), 0);
			assert_int_equal(exec_counts_flow(counts, &next->item.flow), 0);
		}
		advance(next);
	}
	span_order_fini(&order);
	for (size_t i = 0; i < ncpus; i++)
		span_reader_fini(&strand[i].reader);
}

/* ---- Comparing -------------------------------------------------------------------------------- */

struct counted {
	int32_t from_pid, to_pid;
	int async;
	uint64_t from, to, count; /* to 0: how often a block ran */
};

static int compare(const void *a, const void *b)
{
	const struct counted *left = a, *right = b;

	if (left->from_pid != right->from_pid)
		return left->from_pid < right->from_pid ? -1 : 1;
	if (left->to_pid != right->to_pid)
		return left->to_pid < right->to_pid ? -1 : 1;
	if (left->async != right->async)
		return left->async < right->async ? -1 : 1;
	if (left->from != right->from)
		return left->from < right->from ? -1 : 1;
	return left->to == right->to ? 0 : left->to < right->to ? -1 : 1;
}

static size_t list(struct exec_counts *counts, struct counted **result)
{
	const struct code_table *table = exec_counts_table(counts);
	struct counted *all;
	size_t count = 0;

	assert_non_null(table);
	all = calloc(table->nblocks + table->nlinks + 1, sizeof(*all));
	assert_non_null(all);
	for (size_t i = 0; i < table->block_slots; i++)
		for (const struct code_block *at = table->block[i]; at; at = at->next)
			all[count++] = (struct counted){
			        .from_pid = at->object->pid, .from = at->offset, .count = at->count};
	for (size_t i = 0; i < table->link_slots; i++)
		for (const struct code_link *at = table->link[i]; at; at = at->next)
			all[count++] =
			        (struct counted){at->from->object->pid, at->to->object->pid, at->async,
			                         at->from->offset,      at->to->offset,      at->count};
	qsort(all, count, sizeof(*all), compare);
	*result = all;
	return count;
}

static void assert_same(struct exec_counts *one, struct exec_counts *other)
{
	struct counted *a, *b;
	const size_t count = list(one, &a);

	assert_int_equal(list(other, &b), count);
	assert_true(count > nblocks);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(compare(&a[i], &b[i]), 0);
		assert_int_equal(a[i].count, b[i].count);
	}
	free(a);
	free(b);
}

static void expect_seams_join(enum sb_sums what)
{
	struct sb_system *system = system_new(0);
	const bool by_process = what == sb_sums_processes;
	struct span_world world;

	assert_true(system && system_seal(system, 0) == 0 && span_world_init(&world, system) == 0);
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct scene *scene = make_scene(seed);
		struct exec_counts *whole = exec_counts_new(NULL, false, by_process),
		                   *joined = exec_counts_new(NULL, false, by_process);
		struct bytes bytes[ncpus];

		assert_true(whole && joined);
		count_in_order(scene, whole);
		for (int32_t cpu = 0; cpu < ncpus; cpu++)
			add_up(scene, cpu, what, seed % 2, &world, &bytes[cpu]);
		join(bytes, &world, joined);
		assert_same(whole, joined);
		for (size_t cpu = 0; cpu < ncpus; cpu++)
			free(bytes[cpu].at);
		exec_counts_free(whole);
		exec_counts_free(joined);
		free(scene);
	}
	span_world_fini(&world);
	sb_system_free(system);
}

static void seams_join(void **state)
{
	(void)state;
	expect_seams_join(sb_sums_ways);
}

static void seams_join_by_process(void **state)
{
	(void)state;
	expect_seams_join(sb_sums_processes);
}

/* ---- Order ------------------------------------------------------------------------------------ */

/* A thread's seam at @tsc, on a CPU, of flow that began at @from. */
static int order_seam(struct span_order *order, int32_t cpu, int32_t tid, uint64_t from, uint64_t tsc,
                      struct sb_error *err)
{
	const struct sb_flow_seam seam = {.tsc_from = from};
	const struct sb_flow_ways ways = {.seam = &seam};
	const struct sb_flow flow = {.cpu = cpu, .pid = 7, .tid = tid, .tsc = tsc, .ways = &ways};
	const struct order_place place = {tsc, (size_t)cpu};

	return span_order_flow(order, &place, &flow, err);
}

static void what_a_thread_did_at_a_time_elsewhere_is_no_order(void **state)
{
	struct span_order order;
	struct sb_error err = {0};

	(void)state;
	assert_int_equal(span_order_init(&order), 0);
	assert_int_equal(order_seam(&order, 0, 8, 10, 20, &err), 0);
	assert_int_equal(order_seam(&order, 1, 8, 21, 30, &err), 0);
	/* At the same time, the lower CPU comes first. */
	assert_int_equal(order_seam(&order, 0, 9, 10, 30, &err), 0);
	assert_int_equal(order_seam(&order, 1, 9, 30, 40, &err), 0);
	assert_int_equal(order_seam(&order, 0, 9, 40, 50, &err), -sbe_order);
	assert_non_null(strstr(err.text, "process 7, thread 9"));
	/* What is nobody's is each CPU's own. */
	assert_int_equal(order_seam(&order, 0, -1, 10, 60, &err), 0);
	assert_int_equal(order_seam(&order, 1, -1, 10, 60, &err), 0);
	/* Many threads. */
	for (int32_t tid = 100; tid < 3000; tid++)
		assert_int_equal(order_seam(&order, 1, tid, 100, 200, &err), 0);
	for (int32_t tid = 100; tid < 3000; tid++)
		assert_int_equal(order_seam(&order, 0, tid, 200, 300, &err), -sbe_order);
	span_order_fini(&order);
}

/* Calls of a thread that were added up, from when they began on. */
static int order_calls(struct span_order *order, int32_t cpu, uint64_t from, uint64_t to,
                       struct sb_error *err)
{
	const struct sb_flow_calls calls = {.tsc_to = to};
	const struct sb_flow flow = {.cpu = cpu, .pid = 7, .tid = 8, .tsc = from, .calls = &calls};
	const struct order_place place = {from, (size_t)cpu};

	return span_order_flow(order, &place, &flow, err);
}

static void calls_at_a_time_elsewhere_are_no_order(void **state)
{
	struct span_order order;
	struct sb_error err = {0};

	(void)state;
	assert_int_equal(span_order_init(&order), 0);
	assert_int_equal(order_calls(&order, 0, 10, 20, &err), 0);
	assert_int_equal(order_calls(&order, 1, 20, 30, &err), 0);
	assert_int_equal(order_calls(&order, 1, 30, 40, &err), 0);
	assert_int_equal(order_calls(&order, 0, 40, 50, &err), -sbe_order);
	assert_int_equal(order_calls(&order, 0, 41, 50, &err), 0);
	assert_int_equal(order_calls(&order, 1, 45, 60, &err), -sbe_order);
	span_order_fini(&order);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(calls_at_a_time_elsewhere_are_no_order),
	        cmocka_unit_test(seams_join),
	        cmocka_unit_test(seams_join_by_process),
	        cmocka_unit_test(what_a_thread_did_at_a_time_elsewhere_is_no_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
