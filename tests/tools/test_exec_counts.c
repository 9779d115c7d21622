/* What is counted must not depend on how flow was cut into paths. The program: block A, interrupted behind it
 * at B; the handler H, whose IRET comes back to B; then B. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <intel-pt.h>

#include "count/exec_counts.h"

enum { a_ip = 0x1000, b_ip = 0x2000, h_ip = 0x3000 };

static const uint64_t kernel = 0xffffffff80000000;
static const uint8_t lengths[] = {2};

static struct pt_run_block block_at(uint64_t ip, enum pt_insn_class iclass)
{
	return (struct pt_run_block){.ip = kernel + ip,
	                             .end_ip = kernel + ip,
	                             .length = lengths,
	                             .ninsn = 1,
	                             .mode = ptem_64bit,
	                             .iclass = (uint8_t)iclass};
}

static void add_on(struct exec_counts *counts, int32_t cpu, int32_t tid, const struct pt_run_path *path,
                   uint64_t left_ip)
{
	const struct sb_flow flow = {.cpu = cpu,
	                             .pid = 1,
	                             .tid = tid,
	                             .path = &path,
	                             .npaths = 1,
	                             .nblocks = path->nblocks,
	                             .ninsn = path->nblocks,
	                             .left_ip = left_ip};

	assert_int_equal(exec_counts_flow(counts, &flow), 0);
}

static void add(struct exec_counts *counts, const struct pt_run_path *path, uint64_t left_ip)
{
	add_on(counts, 0, 1, path, left_ip);
}

/* How often @to followed on @from, not by an interrupt. */
static uint64_t followed(const struct code_table *table, uint64_t from, uint64_t to)
{
	uint64_t count = 0;

	for (size_t i = 0; i < table->link_slots; i++)
		for (const struct code_link *link = table->link[i]; link; link = link->next)
			if (link->from->offset == kernel + from && link->to->offset == kernel + to &&
			    !link->async)
				count += link->count;
	return count;
}

/* @cut: the handler and what comes behind it are one path, or two; @ids: paths have numbers. */
static void check(int cut, int ids)
{
	const struct pt_run_block block[] = {block_at(a_ip, ptic_jump), block_at(h_ip, ptic_far_return),
	                                     block_at(b_ip, ptic_jump)};
	const struct pt_run_path
	        a = {.block = block, .nblocks = 1, .ninsn = 1, .id = ids ? 0 : ptr_no_id},
	        h = {.block = block + 1, .nblocks = 1, .ninsn = 1, .id = ids ? 1 : ptr_no_id},
	        b = {.block = block + 2, .nblocks = 1, .ninsn = 1, .id = ids ? 2 : ptr_no_id},
	        hb = {.block = block + 1, .nblocks = 2, .ninsn = 2, .id = ids ? 3 : ptr_no_id};
	struct exec_counts *counts = exec_counts_new(NULL, false, false);
	const struct code_table *table;

	assert_non_null(counts);
	for (int turn = 0; turn < 3; turn++) {
		add(counts, &a, block[2].ip);
		if (cut) {
			add(counts, &h, 0);
			add(counts, &b, 0);
		} else {
			add(counts, &hb, 0);
		}
	}
	table = exec_counts_table(counts);
	assert_non_null(table);
	assert_int_equal(followed(table, a_ip, b_ip), 3);
	assert_int_equal(followed(table, h_ip, b_ip), 3);
	assert_int_equal(followed(table, b_ip, a_ip), 2);
	exec_counts_free(counts);
}

static void coming_back_counts_however_paths_are_cut(void **state)
{
	(void)state;
	for (int cut = 0; cut < 2; cut++)
		for (int ids = 0; ids < 2; ids++)
			check(cut, ids);
}

/* Gaps come before their time: one of another CPU breaks nothing of what the thread does meanwhile, but what
 * it did before it came there, or was away there. */
static void gaps_of_another_cpu_come_too_early(void **state)
{
	const struct pt_run_block block[] = {block_at(a_ip, ptic_jump), block_at(h_ip, ptic_far_return),
	                                     block_at(b_ip, ptic_jump)};
	const struct pt_run_path a = {.block = block, .nblocks = 1, .ninsn = 1, .id = ptr_no_id},
	                         hb = {.block = block + 1, .nblocks = 2, .ninsn = 2, .id = ptr_no_id};
	const struct sb_gap gap = {.reason = sb_gap_overflow, .cpu = 1, .pid = 1, .tid = 1};

	(void)state;
	for (int comes = 0; comes < 2; comes++) {
		struct exec_counts *counts = exec_counts_new(NULL, false, false);
		const struct code_table *table;

		assert_non_null(counts);
		add(counts, &a, block[2].ip);
		exec_counts_gap(counts, &gap);
		add(counts, &hb, 0);
		if (!comes) /* it was away, and somebody else was here */
			add_on(counts, 0, 2, &a, 0);
		add_on(counts, comes, 1, &a, 0);
		add_on(counts, comes, 1, &hb, 0);
		table = exec_counts_table(counts);
		assert_non_null(table);
		assert_int_equal(followed(table, a_ip, b_ip), 1);
		assert_int_equal(followed(table, b_ip, a_ip), 0);
		assert_int_equal(followed(table, a_ip, h_ip), 1);
		exec_counts_free(counts);
	}
}

enum { nprocesses = 5000, npaths = 40, nturns = 3 };

/* What each of many processes did in the kernel is told of each by itself; nobody's counts get lost, whoever
 * else was there in between. */
static void a_whole_machine_is_counted_by_process(void **state)
{
	struct pt_run_block *block = calloc(npaths, sizeof(*block));
	struct exec_counts *counts = exec_counts_new(NULL, false, true);
	const struct code_table *table;
	uint64_t *count = calloc(nprocesses, sizeof(*count));

	(void)state;
	assert_true(block && counts && count);
	for (int i = 0; i < npaths; i++)
		block[i] = block_at((uint64_t)i * 16, ptic_jump);
	for (int turn = 0; turn < nturns; turn++)
		for (int pid = 0; pid < nprocesses; pid++)
			for (uint32_t i = 0; i < npaths; i++) {
				const struct pt_run_path path = {.block = &block[i],
				                                 .nblocks = 1,
				                                 .ninsn = 1,
				                                 .id = i},
				                         *at = &path;
				const struct sb_flow flow = {.pid = pid,
				                             .tid = pid,
				                             .path = &at,
				                             .npaths = 1,
				                             .nblocks = 1,
				                             .ninsn = 1,
				                             .cpu = pid % 7};

				assert_int_equal(exec_counts_flow(counts, &flow), 0);
			}
	table = exec_counts_table(counts);
	assert_non_null(table);
	assert_int_equal(table->nobjects, nprocesses);
	assert_int_equal(table->nblocks, nprocesses * npaths);
	for (size_t i = 0; i < table->block_slots; i++)
		for (const struct code_block *at = table->block[i]; at; at = at->next) {
			assert_int_equal(at->count, nturns);
			count[at->object->pid]++;
		}
	for (int pid = 0; pid < nprocesses; pid++)
		assert_int_equal(count[pid], npaths);
	exec_counts_free(counts);
	free(block);
	free(count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(coming_back_counts_however_paths_are_cut),
	        cmocka_unit_test(gaps_of_another_cpu_come_too_early),
	        cmocka_unit_test(a_whole_machine_is_counted_by_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
