/* test_switch_window.c - records of switches are missing, and time stands still between PSBs: where there are
 * as many records as the kernel is seen switching, they are of these switches.
 *
 *   K        81000000 nop  81000001 call 81000010  81000006 jne 81000000  81000008 nop  81000009 jne 81000000
 *   switch   81000010 nop  81000011 ret
 */
#include "replay_fixture.h"

#include "support/kcore_file.h"

#define K 0xffffffff81000000ull

static const uint8_t code[] = {0x90, 0xe8, 0x0a, 0x00, 0x00, 0x00, 0x75, 0xf8, 0x90,
                               0x75, 0xf5, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0x90, 0xc3};

static char *kcore, *kallsyms;

static int setup_still(void **state)
{
	static const char names[] = "ffffffff81000010 T __switch_to_asm\n";
	struct fixture *fixture;

	setup_traces(state, 0, PT_CONFIG & ~PT_CONFIG_MTC, 0);
	fixture = *state;
	kcore = kcore_file(&fixture->dir, K, code, sizeof(code));
	kallsyms = temp_dir_write(&fixture->dir, "kallsyms", (const uint8_t *)names, sizeof(names) - 1);
	fixture->options.kcore = kcore;
	fixture->options.kallsyms = kallsyms;
	return 0;
}

static int teardown_still(void **state)
{
	free(kcore);
	free(kallsyms);
	return teardown(state);
}

/* A PSB at @tsc, where the kernel is; behind it, so many switches. */
static void trace_window(struct trace *trace, uint64_t tsc, int npasses)
{
	trace_psb(trace);
	trace_tsc(trace, tsc);
	trace_mode64(trace);
	trace_ip(trace, ppt_fup, K);
	trace_psbend(trace);
	for (int i = 0; i < npasses; ++i)
		trace_tnt(trace, "tt"); /* the return; back to K */
}

/* Whose the instructions are, in order: "thread*count". */
static void check(struct fixture *fixture, const struct trace *trace, const char *expected)
{
	char owners[TEXT_MAX] = "";
	int32_t last = -2;

	traced(fixture, 0, trace->bytes, trace->size);
	assert_int_equal(replay(fixture), 0);
	for (const char *at = fixture->flow; at; at = strstr(at, "; ")) {
		int cpu, pid, tid, read = 0;

		at += *at == ';' ? 2 : 0;
		assert_int_equal(sscanf(at, "%d/%d/%d@%n", &cpu, &pid, &tid, &read), 3);
		if (tid != last)
			append(owners, "%s%d", owners[0] ? " " : "", tid);
		last = tid;
	}
	assert_string_equal(owners, expected);
	assert_string_equal(fixture->gaps, "");
}

/* In the second window, a switch has no record: who ran behind the first one, nobody knows, but in the third
 * one it is clear. */
static void as_many_records_as_passes_are_theirs(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	trace_window(&trace, 1000000, 2);
	trace_window(&trace, 2000000, 2);
	trace_window(&trace, 3000000, 2);
	trace_window(&trace, 4000000, 0);
	switches(fixture, 0, 500000, 9, 1);
	switches(fixture, 0, 1300000, 1, 2);
	switches(fixture, 0, 1600000, 2, 3);
	switches(fixture, 0, 2300000, 3, 4);
	switches(fixture, 0, 3300000, 5, 6);
	switches(fixture, 0, 3600000, 6, 7);
	check(fixture, &trace, "1 2 3 -1 5 6 7");
}

/* Between 4 and 6, a switch has no record: there was just one, as there is one more pass than there are
 * records. */
static void a_gap_in_the_records_is_a_switch(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	trace_window(&trace, 2000000, 3);
	trace_window(&trace, 3000000, 0);
	switches(fixture, 0, 2300000, 3, 4);
	switches(fixture, 0, 2600000, 6, 7);
	check(fixture, &trace, "3 4 6 7");
}

/* There are two passes more, and nobody knows where; but up to the first one. */
static void more_passes_than_gaps_prove_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	trace_window(&trace, 2000000, 4);
	trace_window(&trace, 3000000, 0);
	switches(fixture, 0, 2300000, 3, 4);
	switches(fixture, 0, 2600000, 6, 7);
	check(fixture, &trace, "3 -1");
}

/* Two passes behind the second PSB, and two switches, the first one with a record at @first. */
static void check_first(struct fixture *fixture, uint64_t first, const char *expected)
{
	struct trace trace = {0};

	trace_window(&trace, 2000000, 1);
	trace_window(&trace, 3000000, 2);
	trace_window(&trace, 4000000, 0);
	switches(fixture, 0, 500000, 9, 1);
	switches(fixture, 0, 2300000, 3, 4);
	switches(fixture, 0, first, 4, 6);
	switches(fixture, 0, 3300000, 6, 5);
	check(fixture, &trace, expected);
}

static void switches_inside_count(void **state)
{
	check_first(*state, 3100000, "3 4 6 5");
}

/* Its pass may be before the PSB or behind it. */
static void what_may_be_outside_does_not_count(void **state)
{
	check_first(*state, 2999999, "-1");
}

/* More records than passes: some passes were not seen, whatever the reason. */
static void more_records_than_passes_prove_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	trace_window(&trace, 2000000, 1);
	trace_window(&trace, 3000000, 0);
	switches(fixture, 0, 500000, 9, 1);
	switches(fixture, 0, 2300000, 3, 4);
	switches(fixture, 0, 2600000, 4, 3);
	check(fixture, &trace, "-1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(as_many_records_as_passes_are_theirs, setup_still,
	                                        teardown_still),
	        cmocka_unit_test_setup_teardown(a_gap_in_the_records_is_a_switch, setup_still,
	                                        teardown_still),
	        cmocka_unit_test_setup_teardown(more_passes_than_gaps_prove_nothing, setup_still,
	                                        teardown_still),
	        cmocka_unit_test_setup_teardown(switches_inside_count, setup_still, teardown_still),
	        cmocka_unit_test_setup_teardown(more_records_than_passes_prove_nothing, setup_still,
	                                        teardown_still),
	        cmocka_unit_test_setup_teardown(what_may_be_outside_does_not_count, setup_still,
	                                        teardown_still),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
