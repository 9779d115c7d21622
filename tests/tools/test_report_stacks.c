/* Which call stacks a report tells of, and with how many instructions, depends on nothing but their totals:
 * not on the order in which they ran, nor on how many of them are in memory at a time. */
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "sink/report_stacks.h"

enum { functions = 6000, finest = 1000, text_most = 1 << 16 };

/* What is at 0x1000 calls the function at @ip, which runs @ninsn instructions and returns. */
static void call(struct report_stacks *stacks, uint64_t ip, uint16_t ninsn)
{
	static uint8_t length[UINT16_MAX];
	const struct pt_run_block block[] = {
	        {.ip = 0x1000, .end_ip = 0x1000, .length = length, .ninsn = 1, .iclass = ptic_call},
	        {.ip = ip,
	         .end_ip = ip + 4 * (uint64_t)(ninsn - 1),
	         .length = length,
	         .ninsn = ninsn,
	         .iclass = ptic_return},
	        {.ip = 0x1004, .end_ip = 0x1004, .length = length, .ninsn = 1, .iclass = ptic_cond_jump},
	};
	const struct pt_run_path path = {.block = block, .nblocks = 3, .ninsn = ninsn + 2u, .id = ptr_no_id};
	const struct pt_run_path *const paths[] = {&path};
	const struct sb_flow flow = {.pid = 10,
	                             .tid = 11,
	                             .tsc = 1,
	                             .path = paths,
	                             .npaths = 1,
	                             .nblocks = 3,
	                             .ninsn = path.ninsn,
	                             .numbering = 1};

	memset(length, 4, sizeof(length));
	assert_int_equal(sb_calls_flow(stacks->calls, &flow), 0);
}

/* Two of them are heavy, but never at a time. */
static void call_some(struct report_stacks *stacks, uint64_t number)
{
	call(stacks, 0x100000 + number * 0x1000, (uint16_t)(1 + number % 7));
	if (number % 5 == 0)
		call(stacks, 0x50000, 3);
	if (number % 1000 == 7)
		call(stacks, 0x60000, 600);
}

/* Where each that is told of is, and how much ran there and in what is not told of above: *at moves. */
static void describe(const struct report_stacks *stacks, const uint64_t *total, uint64_t least, uint32_t node,
                     char **at)
{
	uint64_t own = total[node];

	for (uint32_t i = stacks->node[node].child; i; i = stacks->node[i].link)
		own -= total[i] >= least ? total[i] : 0;
	*at += sprintf(*at, "(%" PRIx64 " %" PRIu64,
	               stacks->node[node].parent
	                       ? stacks->function[report_function(&stacks->node[node])]->address
	                       : 0,
	               own);
	for (uint32_t i = stacks->node[node].child; i; i = stacks->node[i].link)
		if (total[i] >= least)
			describe(stacks, total, least, i, at);
	*at += sprintf(*at, ")");
}

static void begin(struct report_stacks *stacks, uint32_t most)
{
	static const struct sink_context nothing;

	assert_int_equal(report_stacks_init(stacks, &nothing, most, finest), 0);
}

/* To be freed. */
static char *finish(struct report_stacks *stacks, uint32_t told)
{
	char *text = calloc(1, text_most), *at = text;
	const struct sb_function **order;
	uint32_t *rank, count;
	uint64_t *total;

	assert_non_null(text);
	assert_int_equal(report_stacks_finish(stacks), 0);
	assert_int_equal(report_stacks_sort(stacks, &rank, &order, &count), 0);
	total = report_stacks_totals(stacks);
	assert_non_null(total);
	assert_int_equal(stacks->ngroups, 1);
	describe(stacks, total, report_stacks_least(stacks, total, told), stacks->group[0].root, &at);
	free(total);
	free(rank);
	free(order);
	report_stacks_free(stacks);
	return text;
}

static char *forward(uint32_t most, int *was_aside)
{
	struct report_stacks stacks;

	begin(&stacks, most);
	for (uint64_t i = 0; i < functions; i++)
		call_some(&stacks, i);
	*was_aside = stacks.aside.nrounds > 1;
	return finish(&stacks, UINT32_MAX);
}

static char *backward(uint32_t most, int *was_aside)
{
	struct report_stacks stacks;

	begin(&stacks, most);
	for (uint64_t i = functions; i-- > 0;)
		call_some(&stacks, i);
	*was_aside = stacks.aside.nrounds > 1;
	return finish(&stacks, UINT32_MAX);
}

static void only_totals_matter(void **state)
{
	int was_aside;
	char *all = forward(report_nodes_all, &was_aside);

	(void)state;
	assert_false(was_aside);
	/* 24,000 of the light ones, 3,600 twice, and 12,012 of the caller, which has the light ones' as well.
	 */
	assert_non_null(strstr(all, "(50000 3600)"));
	assert_non_null(strstr(all, "(60000 3600)"));
	for (int i = 0; i < 3; i++) {
		char *other = i == 0   ? forward(report_nodes_least, &was_aside)
		              : i == 1 ? backward(report_nodes_least, &was_aside)
		                       : backward(report_nodes_all, &was_aside);

		assert_int_equal(was_aside, i < 2);
		assert_string_equal(all, other);
		free(other);
	}
	free(all);
}

/* Where nothing can be put aside, it stays in memory. */
static void without_a_file_all_stay(void **state)
{
	struct rlimit before;
	int was_aside;
	char *all = forward(report_nodes_all, &was_aside), *other;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, before.rlim_max}), 0);
	other = forward(report_nodes_least, &was_aside);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_false(was_aside);
	assert_string_equal(all, other);
	free(all);
	free(other);
}

/* What went and does not come back is told, and not as memory that is missing. */
static void a_file_that_cannot_be_read_is_told(void **state)
{
	struct report_stacks stacks;

	(void)state;
	begin(&stacks, report_nodes_least);
	for (uint64_t i = 0; i < functions; i++)
		call_some(&stacks, i);
	assert_true(stacks.aside.nrounds > 1);
	assert_int_equal(ftruncate(fileno(stacks.aside.file), 100), 0);
	assert_int_equal(report_stacks_finish(&stacks), -sbe_io);
	report_stacks_free(&stacks);
}

/* Of several that have as many instructions, all are told of, or none. */
static void no_more_than_asked_for_are_told(void **state)
{
	/* The caller's own are two for each of 54 calls. */
	static const char *const expected[] = {"(0 0(0 3308))", "(0 0(0 308(80000 3000)))",
	                                       "(0 0(0 308(80000 3000)))",
	                                       "(0 0(0 108(60000 100)(70000 100)(80000 3000)))"};

	(void)state;
	for (uint32_t told = 1; told <= 4; told++) {
		struct report_stacks stacks;
		char *found;

		begin(&stacks, report_nodes_least);
		for (int i = 0; i < 25; i++) {
			call(&stacks, 0x60000, 4);
			call(&stacks, 0x70000, 4);
		}
		for (int i = 0; i < 4; i++)
			call(&stacks, 0x80000, 750);
		found = finish(&stacks, told);
		assert_string_equal(found, expected[told - 1]);
		free(found);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(only_totals_matter),
	        cmocka_unit_test(without_a_file_all_stay),
	        cmocka_unit_test(a_file_that_cannot_be_read_is_told),
	        cmocka_unit_test(no_more_than_asked_for_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
