/* test_replay_lost_fork.c - a number of a process that is used again, while the record of the fork is lost.
 *
 * Process 2 is forked by 1, which has /a at 0x1000, and ends. Then 3, which has /b there, forks another 2.
 * Times are in milliseconds, far apart beside the slack of the trace's time.
 */
#include "replay_fixture.h"

static const uint64_t ms = 1000 * 1000;
static const uint8_t code_a[] = {0x90, 0x90, 0x0f, 0x05};
static const uint8_t code_b[] = {0x90, 0x0f, 0x05};

static void number_is_used_again(struct fixture *fixture, int forked)
{
	const struct sb_write_sample at = sample(0, 2, 25 * ms);
	struct trace trace = {0};

	has_file(fixture, "/a", code_a, sizeof(code_a));
	has_file(fixture, "/b", code_b, sizeof(code_b));
	maps(fixture, 0, 1, 0x1000, "/a");
	maps(fixture, 0, 3, 0x1000, "/b");
	forks(fixture, 5 * ms, 1, 2);
	switches(fixture, 0, 15 * ms, 0, 2);
	assert_int_equal(sb_write_exit(fixture->writer, &at, 2, 1, 2, 1, NULL), 0);
	switches(fixture, 0, 26 * ms, 2, 3);
	if (forked)
		forks(fixture, 35 * ms, 3, 2);
	switches(fixture, 0, 36 * ms, 3, 2);
	trace_start(&trace, 10 * ms);
	trace_stretch(&trace, 20 * ms, 0x1000);
	trace_stretch(&trace, 30 * ms, 0x1000);
	trace_stretch(&trace, 40 * ms, 0x1000);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
}

/* What the one that had ended had mapped is not what the other one has. */
static void what_a_number_had_mapped_before_it_ended_is_not_used(void **state)
{
	struct fixture *fixture = *state;

	number_is_used_again(fixture, 0);
	assert_string_equal(fixture->flow, "0/2/2@20000000: 1000 1001 1002; 0/3/3@30000000: 1000 1001");
	assert_gap(fixture, sb_gap_not_mapped);
	assert_non_null(strstr(fixture->details, "missing records: of this process' fork"));
}

static void a_number_that_is_forked_again_has_what_its_parent_has(void **state)
{
	struct fixture *fixture = *state;

	number_is_used_again(fixture, 1);
	assert_string_equal(fixture->flow, "0/2/2@20000000: 1000 1001 1002; 0/3/3@30000000: 1000 1001; "
	                                   "0/2/2@40000000: 1000 1001");
	assert_string_equal(fixture->gaps, "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	        TEST(what_a_number_had_mapped_before_it_ended_is_not_used),
	        TEST(a_number_that_is_forked_again_has_what_its_parent_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
