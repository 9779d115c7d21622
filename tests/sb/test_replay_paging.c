/* test_replay_paging.c - who runs where records of switches are missing, by the page tables that PIP packets
 * name.
 *
 * Process 1 has /a at 0x1000 and forks 2, which has the same: addresses do not tell them apart. That 1 has
 * the page tables A comes from what it executed before the fork. Times are in milliseconds, far apart beside
 * the slack of the trace's time.
 */
#include "replay_fixture.h"

enum { A = 0x2000, B = 0x5000, C = 0x8000 };

static const uint64_t ms = 1000 * 1000;
static const uint8_t code_a[] = {0x90, 0x90, 0x0f, 0x05};

/* One system call's worth of user space. */
static void stretch_under(struct trace *trace, uint64_t time, uint64_t cr3)
{
	trace_tsc(trace, time);
	trace_pip(trace, cr3);
	trace_ip(trace, ppt_tip_pge, 0x1000);
	trace_disabled(trace);
}

static void two_siblings(struct fixture *fixture, int forked)
{
	has_file(fixture, "/a", code_a, sizeof(code_a));
	maps(fixture, 0, 1, 0x1000, "/a");
	switches(fixture, 0, 1 * ms, 0, 1);
	if (forked)
		forks(fixture, 5 * ms, 1, 2);
}

/* What runs under A at 3 and 10, under B at 20, under A at 40. */
static void stretches(struct fixture *fixture, uint64_t cr3)
{
	struct trace trace = {0};

	trace_start(&trace, 2 * ms);
	stretch_under(&trace, 3 * ms, A);
	stretch_under(&trace, 10 * ms, A);
	stretch_under(&trace, 20 * ms, cr3);
	stretch_under(&trace, 40 * ms, A);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
}

/* No record of either switch is left, nor any sign of them in other records. */
static void siblings_without_records_are_told_apart(void **state)
{
	struct fixture *fixture = *state;

	two_siblings(fixture, 1);
	stretches(fixture, B);
	assert_string_equal(fixture->flow, "0/1/1@3000000: 1000 1001 1002; 0/1/1@10000000: 1000 1001 1002; "
	                                   "0/2/2@20000000: 1000 1001 1002; 0/1/1@40000000: 1000 1001 1002");
	assert_string_equal(fixture->gaps, "");
	assert_int_equal(sb_session_account(fixture->session)->switches[sb_switch_by_paging], 2);
	assert_int_equal(sb_session_account(fixture->session)->switches[sb_switch_uncertain], 0);
}

/* Of the switch from 1 to 2 no record is left, but of the one back: where it was, the page tables say. */
static void a_lost_switch_is_where_the_page_tables_change(void **state)
{
	struct fixture *fixture = *state;

	two_siblings(fixture, 1);
	switches(fixture, 0, 30 * ms, 2, 1);
	stretches(fixture, B);
	assert_string_equal(fixture->flow, "0/1/1@3000000: 1000 1001 1002; 0/1/1@10000000: 1000 1001 1002; "
	                                   "0/2/2@20000000: 1000 1001 1002; 0/1/1@40000000: 1000 1001 1002");
	assert_string_equal(fixture->gaps, "");
}

/* Records that name another process than the page tables are not believed. */
static void page_tables_are_right_where_records_say_otherwise(void **state)
{
	struct fixture *fixture = *state;

	two_siblings(fixture, 1);
	switches(fixture, 0, 15 * ms, 1, 2);
	stretches(fixture, B); /* at 40, it is 1 again */
	assert_string_equal(fixture->flow, "0/1/1@3000000: 1000 1001 1002; 0/1/1@10000000: 1000 1001 1002; "
	                                   "0/2/2@20000000: 1000 1001 1002; 0/1/1@40000000: 1000 1001 1002");
}

/* The fork has no record, either: of two page tables one are not those of 1, but nobody knows which. */
static void page_tables_that_contradict_each_other_are_a_gap(void **state)
{
	struct fixture *fixture = *state;

	two_siblings(fixture, 0);
	stretches(fixture, B);
	assert_string_equal(fixture->flow, "");
	assert_true(sb_session_account(fixture->session)->gap[sb_gap_unknown_process].count > 0);
}

/* A record that a thread makes says who ran: of 2, which nobody switched to. */
static void a_record_of_a_thread_says_whose_page_tables_are(void **state)
{
	struct fixture *fixture = *state;
	const struct sb_write_sample at = sample(0, 2, 10 * ms);
	struct trace trace = {0};

	has_file(fixture, "/a", code_a, sizeof(code_a));
	maps(fixture, 0, 1, 0x1000, "/a");
	maps(fixture, 0, 2, 0x1000, "/a");
	maps(fixture, 0, 3, 0x1000, "/a");
	assert_int_equal(sb_write_comm(fixture->writer, &at, 2, 2, "two", 0, NULL), 0);
	trace_start(&trace, 2 * ms);
	trace_tsc(&trace, 3 * ms);
	trace_pip(&trace, B);
	trace_ip(&trace, ppt_tip_pge, 0x1000);
	/* on until long behind the record */
	trace_tsc(&trace, 20 * ms);
	trace_disabled(&trace);
	stretch_under(&trace, 40 * ms, C);
	stretch_under(&trace, 50 * ms, B);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, "0/2/2@20000000: 1000 1001 1002; 0/2/2@50000000: 1000 1001 1002");
	assert_int_equal(sb_session_account(fixture->session)->gap[sb_gap_unknown_process].count, 1);
}

/* After the end of 2, its page tables are 3's. */
static void page_tables_come_to_another_process(void **state)
{
	struct fixture *fixture = *state;
	const struct sb_write_sample at = sample(0, 2, 25 * ms);
	struct trace trace = {0};

	two_siblings(fixture, 1);
	assert_int_equal(sb_write_exit(fixture->writer, &at, 2, 1, 2, 1, NULL), 0);
	forks(fixture, 28 * ms, 1, 3);
	trace_start(&trace, 2 * ms);
	stretch_under(&trace, 3 * ms, A);
	stretch_under(&trace, 20 * ms, B);
	stretch_under(&trace, 30 * ms, B);
	stretch_under(&trace, 40 * ms, A);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, "0/1/1@3000000: 1000 1001 1002; 0/2/2@20000000: 1000 1001 1002; "
	                                   "0/3/3@30000000: 1000 1001 1002; 0/1/1@40000000: 1000 1001 1002");
}

static void jobs_change_nothing(void **state)
{
	enum { STRETCHES = 40 };
	struct fixture *fixture = *state;
	struct trace trace = {0};
	char *flow;

	two_siblings(fixture, 1);
	switches(fixture, 0, 500 * ms, 2, 1);
	for (uint64_t i = 0; i < STRETCHES; ++i) {
		trace_start(&trace, (2 + 10 * i) * ms);
		stretch_under(&trace, (3 + 10 * i) * ms, i % 3 ? B : A);
	}
	traced(fixture, 0, trace.bytes, trace.size);
	fixture->options.jobs = 1;
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->gaps, "");
	assert_non_null(strstr(fixture->flow, "0/2/2@13000000"));
	assert_non_null(strstr(fixture->flow, "0/1/1@33000000"));
	flow = strdup(fixture->flow);
	fixture->piece_size = 1;
	for (unsigned int jobs = 2; jobs < 8; ++jobs) {
		fixture->options.jobs = jobs;
		assert_replay(fixture, flow, "");
	}
	free(flow);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	        TEST(siblings_without_records_are_told_apart),
	        TEST(a_lost_switch_is_where_the_page_tables_change),
	        TEST(page_tables_are_right_where_records_say_otherwise),
	        TEST(page_tables_that_contradict_each_other_are_a_gap),
	        TEST(a_record_of_a_thread_says_whose_page_tables_are),
	        TEST(page_tables_come_to_another_process),
	        TEST(jobs_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
