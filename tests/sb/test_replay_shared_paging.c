/* test_replay_shared_paging.c - whose memory a child has, where the kernel is traced: by the page tables
 * (CR3) that PIP packets name.
 *
 * Process 1 has /a at 0x1000 and /f at 0x3000, which makes its child 2 by a call that nobody knows. One of
 * them maps something. Times are in milliseconds, far apart beside the slack of the trace's time.
 */
#include "replay_fixture.h"

enum { A = 0x2000, B = 0x5000, ISOLATED = 0x1000, F_AT = 0x3000 };

static const uint64_t ms = 1000 * 1000;
static const uint8_t code_a[] = {0x90, 0x90, 0x0f, 0x05};
static const uint8_t code_b[] = {0x90, 0x0f, 0x05};
static const uint8_t code_f[] = {0x0f, 0x05, 0x90, 0x0f, 0x05};

/* What runs at 0x1000 behind 60 ms: of 1, then of 2. */
static const char *const both_b = "0/1/1@60000000: 1000 1001; 0/2/2@70000000: 1000 1001";
static const char *const a_and_b = "0/1/1@60000000: 1000 1001 1002; 0/2/2@70000000: 1000 1001";

static void has_mapped(struct fixture *fixture, int32_t pid)
{
	maps(fixture, 0, pid, 0x1000, "/a");
	maps(fixture, 0, pid, F_AT, "/f");
}

static void has_programs(struct fixture *fixture)
{
	has_file(fixture, "/a", code_a, sizeof(code_a));
	has_file(fixture, "/b", code_b, sizeof(code_b));
	has_file(fixture, "/f", code_f, sizeof(code_f));
	has_mapped(fixture, 1);
	switches(fixture, 0, 11 * ms, 0, 1);
}

/* From @time on in the kernel and in user space, under the page tables @cr3; in the kernel, they are @kernel.
 */
static void run_at(struct trace *trace, uint64_t time, uint64_t kernel, uint64_t cr3, uint64_t ip)
{
	trace_tsc(trace, time);
	trace_pip(trace, kernel);
	if (kernel != cr3)
		trace_pip(trace, cr3);
	trace_ip(trace, ppt_tip_pge, ip);
	trace_disabled(trace);
}

/* 1 runs, then its child, which maps /b at @ip, and both of them once more. */
static void two_run_at(struct fixture *fixture, uint64_t ip, uint64_t first, uint64_t second,
                       uint64_t isolated)
{
	struct trace trace = {0};

	switches(fixture, 0, 25 * ms, 1, 2);
	maps(fixture, 40 * ms, 2, ip, "/b");
	switches(fixture, 0, 55 * ms, 2, 1);
	switches(fixture, 0, 65 * ms, 1, 2);
	switches(fixture, 0, 75 * ms, 2, 1);
	trace_start(&trace, 10 * ms);
	run_at(&trace, 15 * ms, first, first + isolated, 0x1000);
	run_at(&trace, 20 * ms, first, first + isolated, 0x1000);
	run_at(&trace, 30 * ms, second, second + isolated, F_AT + 2);
	run_at(&trace, 35 * ms, second, second + isolated, F_AT + 2);
	run_at(&trace, 60 * ms, first, first + isolated, ip);
	run_at(&trace, 70 * ms, second, second + isolated, ip);
	run_at(&trace, 80 * ms, first, first + isolated, F_AT + 2);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
}

/* Over /a. */
static void two_run(struct fixture *fixture, uint64_t first, uint64_t second, uint64_t isolated)
{
	forks(fixture, 21 * ms, 1, 2);
	two_run_at(fixture, 0x1000, first, second, isolated);
}

static void assert_end(const struct fixture *fixture, const char *flow)
{
	const char *end = strstr(fixture->flow, "0/1/1@60000000");

	if (!end || strncmp(end, flow, strlen(flow)) != 0 || fixture->gaps[0])
		fail_msg("%s, gaps %s", fixture->flow, fixture->details);
}

static void one_cr3_is_one_memory(void **state)
{
	struct fixture *fixture = *state;

	has_programs(fixture);
	two_run(fixture, A, A, 0);
	assert_end(fixture, both_b);
}

static void another_cr3_is_a_copy(void **state)
{
	struct fixture *fixture = *state;

	has_programs(fixture);
	two_run(fixture, A, B, 0);
	assert_end(fixture, a_and_b);
}

/* Page-table isolation: a process has two pages, one of them in the kernel. */
static void isolated_pages_are_of_one_memory(void **state)
{
	struct fixture *fixture = *state;

	has_programs(fixture);
	two_run(fixture, A, A, ISOLATED);
	assert_end(fixture, both_b);
}

static void isolated_pages_of_another_are_a_copy(void **state)
{
	struct fixture *fixture = *state;

	has_programs(fixture);
	two_run(fixture, A, B, ISOLATED);
	assert_end(fixture, a_and_b);
}

/* Nothing was there before: that is no doubt, but all that says that 1 has it, too. */
static void what_one_maps_the_other_has(void **state)
{
	struct fixture *fixture = *state;

	has_programs(fixture);
	forks(fixture, 21 * ms, 1, 2);
	two_run_at(fixture, 0x9000, A, A, 0);
	assert_end(fixture, "0/1/1@60000000: 9000 9001; 0/2/2@70000000: 9000 9001");
}

static void what_a_copy_maps_the_other_has_not(void **state)
{
	struct fixture *fixture = *state;

	has_programs(fixture);
	forks(fixture, 21 * ms, 1, 2);
	two_run_at(fixture, 0x9000, A, B, 0);
	assert_null(strstr(fixture->flow, "0/1/1@60000000"));
	assert_non_null(strstr(fixture->flow, "0/2/2@70000000: 9000 9001"));
	assert_gap(fixture, sb_gap_not_mapped);
}

/* 2 was there before the recording. */
static void old_child(struct fixture *fixture)
{
	has_programs(fixture);
	assert_int_equal(sb_write_fork(fixture->writer, NULL, 2, 1, 2, 1, NULL), 0);
	has_mapped(fixture, 2);
}

static void one_cr3_is_one_memory_from_before(void **state)
{
	struct fixture *fixture = *state;

	old_child(fixture);
	two_run_at(fixture, 0x1000, A, A, ISOLATED);
	assert_end(fixture, both_b);
}

static void another_cr3_is_a_copy_from_before(void **state)
{
	struct fixture *fixture = *state;

	old_child(fixture);
	two_run_at(fixture, 0x1000, A, B, 0);
	assert_end(fixture, a_and_b);
}

/* 1 was seen under the page tables again and again, 2 seldom: that does not make them 1's. */
static void who_runs_seldom_is_not_taken_for_the_other(void **state)
{
	enum { TIMES = 10 };
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_programs(fixture);
	forks(fixture, 21 * ms, 1, 2);
	switches(fixture, 0, 25 * ms, 1, 2);
	maps(fixture, 40 * ms, 2, 0x1000, "/b");
	trace_start(&trace, 10 * ms);
	run_at(&trace, 15 * ms, A, A, 0x1000);
	run_at(&trace, 30 * ms, A, A, F_AT + 2);
	for (uint64_t i = 5; i < 5 + TIMES; ++i) {
		switches(fixture, 0, (10 * i - 5) * ms, i == 5 ? 2 : 0, 1);
		run_at(&trace, 10 * i * ms, A, A, 0x1000);
		switches(fixture, 0, (10 * i + 2) * ms, 1, 0);
	}
	switches(fixture, 0, 200 * ms, 0, 2);
	run_at(&trace, 210 * ms, A, A, 0x1000);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
	assert_non_null(strstr(fixture->flow, "0/1/1@140000000: 1000 1001; 0/2/2@210000000: 1000 1001"));
	assert_string_equal(fixture->gaps, "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_kernel, teardown)
	const struct CMUnitTest tests[] = {
	        TEST(one_cr3_is_one_memory),
	        TEST(another_cr3_is_a_copy),
	        TEST(isolated_pages_are_of_one_memory),
	        TEST(isolated_pages_of_another_are_a_copy),
	        TEST(what_one_maps_the_other_has),
	        TEST(what_a_copy_maps_the_other_has_not),
	        TEST(one_cr3_is_one_memory_from_before),
	        TEST(another_cr3_is_a_copy_from_before),
	        TEST(who_runs_seldom_is_not_taken_for_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
