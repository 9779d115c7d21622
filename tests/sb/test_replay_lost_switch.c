/* test_replay_lost_switch.c - which thread of a process runs where records of switches are missing.
 *
 * Threads 1 and 3 of process 1 run the same code, /a at 0x1000. On the CPU, 1 runs since 150.
 */
#include "replay_fixture.h"

static const uint8_t code_a[] = {0x90, 0x90, 0x90, 0x0f, 0x05};
static const uint8_t code_b[] = {0x90, 0x0f, 0x05};

enum { MAIN = 1, CHILD = 2, OTHER = 3 };

static void thread_switches_on(struct fixture *fixture, uint32_t cpu, uint64_t time, int32_t from, int32_t to)
{
	struct sb_write_sample out = sample(cpu, MAIN, time), in = sample(cpu, MAIN, time + 1);

	out.tid = from;
	in.tid = to;
	assert_int_equal(sb_write_switch(fixture->writer, &out, 1, 0, MAIN, to, NULL), 0);
	assert_int_equal(sb_write_switch(fixture->writer, &in, 0, 0, MAIN, from, NULL), 0);
}

static void thread_switches(struct fixture *fixture, uint64_t time, int32_t from, int32_t to)
{
	thread_switches_on(fixture, 0, time, from, to);
}

static void thread_forks(struct fixture *fixture)
{
	const struct sb_write_sample at = sample(0, MAIN, 50);

	assert_int_equal(sb_write_fork(fixture->writer, &at, MAIN, MAIN, OTHER, MAIN, NULL), 0);
}

static void thread_maps(struct fixture *fixture, uint64_t time, int32_t tid)
{
	struct sb_write_sample at = sample(0, MAIN, time);
	const struct sb_write_mmap2 map = {.pid = MAIN,
	                                   .tid = tid,
	                                   .addr = 0x9000,
	                                   .len = 0x1000,
	                                   .prot = PROT_READ | PROT_EXEC,
	                                   .filename = "/a"};

	at.tid = tid;
	assert_int_equal(sb_write_mmap2(fixture->writer, &at, &map, NULL), 0);
}

static void two_threads(struct fixture *fixture)
{
	has_file(fixture, "/a", code_a, sizeof(code_a));
	maps(fixture, 0, MAIN, 0x1000, "/a");
	thread_forks(fixture);
	switches(fixture, 0, 150, 0, MAIN);
}

/* From @from on, up to an interrupt at @to. */
static void trace_interrupted(struct trace *trace, uint64_t tsc, uint64_t from, uint64_t to)
{
	trace_enabled(trace, tsc, from);
	trace_ip(trace, ppt_fup, to);
	trace_disabled(trace);
}

static void told(struct fixture *fixture, struct trace *trace, const char *flow)
{
	traced(fixture, 0, trace->bytes, trace->size);
	assert_replay(fixture, flow, "");
}

/* Both of the switch's records are lost, and 3 happens to go on where 1 stopped. The next record says that 3
 * ran: since when, nobody knows. */
static void going_on_in_the_same_place_does_not_prove_who_it_is(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	two_threads(fixture);
	thread_switches(fixture, 400, OTHER, MAIN);
	trace_start(&trace, 100);
	trace_interrupted(&trace, 200, 0x1000, 0x1001);
	trace_interrupted(&trace, 300, 0x1001, 0x1002);
	trace_interrupted(&trace, 500, 0x1001, 0x1002);
	told(fixture, &trace, "0/1/1@200: 1000; 0/1/-1@300: 1001; 0/1/1@500: 1001");
}

/* The same, but the next record says that 1 ran: no sign of another one. It is the first of @nswitches, of
 * those back to 1 @nlost are lost. */
static void the_next_record_says_the_same(struct fixture *fixture, int nlost, int nswitches)
{
	struct trace trace = {0};

	two_threads(fixture);
	for (int i = 0; i < nswitches; ++i) {
		const int away = i < nlost || (i - nlost) % 2 == 0;

		thread_switches(fixture, 400 + 100 * (uint64_t)i, away ? MAIN : OTHER, away ? OTHER : MAIN);
	}
	trace_start(&trace, 100);
	trace_interrupted(&trace, 200, 0x1000, 0x1001);
	trace_interrupted(&trace, 300, 0x1001, 0x1002);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
}

static void going_on_in_the_same_place_is_believed_with_the_next_record(void **state)
{
	struct fixture *fixture = *state;

	the_next_record_says_the_same(fixture, 1, 40);
	assert_string_equal(fixture->flow, "0/1/1@200: 1000; 0/1/1@300: 1001");
}

/* Both may have stopped there: where so many switches are lost, two may be that follow each other. */
static void going_on_in_the_same_place_is_not_believed_where_many_are_lost(void **state)
{
	struct fixture *fixture = *state;

	the_next_record_says_the_same(fixture, 3, 4);
	assert_string_equal(fixture->flow, "0/1/1@200: 1000; 0/1/-1@300: 1001");
}

/* From 1 to 3 and back, both without a record: that execution goes on elsewhere than where it was interrupted
 * tells. */
static void going_on_elsewhere_than_where_an_interrupt_came_is_another_one(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	two_threads(fixture);
	/* One record in many is lost. */
	for (uint64_t time = 10000; time < 20000; time += 200) {
		thread_switches(fixture, time, MAIN, OTHER);
		if (time != 15000)
			thread_switches(fixture, time + 100, OTHER, MAIN);
	}
	trace_start(&trace, 100);
	trace_interrupted(&trace, 200, 0x1000, 0x1001);
	trace_interrupted(&trace, 300, 0x1001, 0x1002);
	trace_interrupted(&trace, 400, 0x1001, 0x1002);
	told(fixture, &trace, "0/1/1@200: 1000; 0/1/1@300: 1001; 0/1/-1@400: 1001");
}

/* Thread 3, which is seen on another CPU, puts /b in the place of /a while 1 runs and time stands still:
 * which of both 1 executes, nobody knows. The same must hold where the FORK of 3 is lost, and switches alone
 * tell of it. */
static void a_thread_maps_while_time_stands_still(struct fixture *fixture, int forked)
{
	const struct sb_write_sample at = sample(1, MAIN, 50);
	struct trace trace = {0};

	has_file(fixture, "/a", code_a, sizeof(code_a));
	has_file(fixture, "/b", code_b, sizeof(code_b));
	maps(fixture, 0, MAIN, 0x1000, "/a");
	if (forked)
		assert_int_equal(sb_write_fork(fixture->writer, &at, MAIN, MAIN, OTHER, MAIN, NULL), 0);
	switches(fixture, 0, 150, 0, MAIN);
	thread_switches_on(fixture, 1, 150, MAIN, OTHER);
	maps(fixture, 250, MAIN, 0x1000, "/b");
	trace_start(&trace, 100);
	trace_stretch(&trace, 200, 0x1000);
	trace_stretch(&trace, 300, 0x1000);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, "0/1/1@300: 1000 1001");
	assert_non_null(strstr(fixture->details, "other code came there"));
}

static void a_thread_may_map_while_another_one_runs(void **state)
{
	a_thread_maps_while_time_stands_still(*state, 1);
}

static void a_thread_without_a_fork_may_map_while_another_one_runs(void **state)
{
	a_thread_maps_while_time_stands_still(*state, 0);
}

/* 1 comes back from the idle thread without a record, and nobody else has code there. */
static void nobody_idle_runs_in_user_space(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_file(fixture, "/a", code_a, sizeof(code_a));
	maps(fixture, 0, MAIN, 0x1000, "/a");
	switches(fixture, 0, 150, 0, MAIN);
	switches(fixture, 0, 250, MAIN, 0);
	switches(fixture, 0, 350, MAIN, 0);
	trace_start(&trace, 100);
	trace_interrupted(&trace, 300, 0x1000, 0x1001);
	told(fixture, &trace, "0/1/-1@300: 1000");
}

/* One after the other at no time of its own, each up to an interrupt. */
static void trace_interrupted_late(struct trace *trace)
{
	trace_ip(trace, ppt_tip_pge, 0x1000);
	trace_ip(trace, ppt_fup, 0x1001);
	trace_disabled(trace);
}

/* Time stands still, and there are switches before it goes on: none of them where tracing stays on until
 * then. */
static void tracing_that_stays_on_up_to_a_known_time_tells_who_runs(void **state)
{
	struct fixture *fixture = *state;
	/* 5000 jne 5000  5002 syscall */
	static const uint8_t loop[] = {0x75, 0xfe, 0x0f, 0x05};
	struct trace trace = {0};

	two_threads(fixture);
	has_file(fixture, "/loop", loop, sizeof(loop));
	maps(fixture, 0, MAIN, 0x5000, "/loop");
	thread_switches(fixture, 400, MAIN, OTHER);
	thread_switches(fixture, 600, OTHER, MAIN);
	thread_switches(fixture, 800, MAIN, OTHER);
	trace_start(&trace, 100);
	trace_tsc(&trace, 200);
	trace_mode64(&trace);
	trace_interrupted_late(&trace);
	trace_interrupted_late(&trace);
	trace_ip(&trace, ppt_tip_pge, 0x5000);
	trace_tnt(&trace, "tt");
	trace_psb(&trace);
	trace_tsc(&trace, 1000);
	trace_mode64(&trace);
	trace_ip(&trace, ppt_fup, 0x5000);
	trace_psbend(&trace);
	trace_tnt(&trace, "n");
	trace_disabled(&trace);
	told(fixture, &trace,
	     "0/1/1@200: 1000; 0/1/-1@200: 1000; 0/1/3@200: 5000 5000; 0/1/3@1000: 5000 5002");
}

/* The same, but it is turned off before: there may have been a switch. */
static void tracing_that_is_turned_off_before_a_known_time_does_not(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	two_threads(fixture);
	thread_switches(fixture, 400, MAIN, OTHER);
	thread_switches(fixture, 600, OTHER, MAIN);
	trace_start(&trace, 100);
	trace_tsc(&trace, 200);
	trace_mode64(&trace);
	trace_interrupted_late(&trace);
	trace_interrupted_late(&trace);
	trace_start(&trace, 1000);
	told(fixture, &trace, "0/1/1@200: 1000; 0/1/-1@200: 1000");
}

/* Somebody is in user space from 200 to 300. */
static void trace_long(struct trace *trace)
{
	trace_start(trace, 100);
	trace_enabled(trace, 200, 0x1000);
	trace_tsc(trace, 300);
	trace_ip(trace, ppt_fup, 0x1001);
	trace_disabled(trace);
}

/* All switches are lost. 1 made a record while time stood still; who runs when it is known again, nobody
 * knows: that was long ago. */
static void what_time_tells_late_is_not_fresh(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_file(fixture, "/a", code_a, sizeof(code_a));
	maps(fixture, 0, MAIN, 0x1000, "/a");
	thread_forks(fixture);
	maps(fixture, 250, MAIN, 0x9000, "/a");
	trace_long(&trace);
	trace_mode64(&trace);
	trace_interrupted_late(&trace);
	told(fixture, &trace, "0/1/-1@300: 1000 1000");
}

/* The switches from 2 to 1 and back are lost; 1 execs, as far as the trace's time says, while user space
 * runs: it did so before. Who comes next, nobody knows: both have the same code. */
static void what_took_effect_before_user_space_was_left_is_not_fresh(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_file(fixture, "/a", code_a, sizeof(code_a));
	maps(fixture, 0, MAIN, 0x1000, "/a");
	forks(fixture, 50, MAIN, CHILD);
	switches(fixture, 0, 90, 0, CHILD);
	execs(fixture, 250, MAIN, "a");
	maps(fixture, 250, MAIN, 0x1000, "/a");
	switches(fixture, 0, 400, MAIN, 0);
	trace_long(&trace);
	trace_interrupted(&trace, 310, 0x1000, 0x1001);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, "0/2/2@300: 1000");
	assert_gap(fixture, sb_gap_unknown_process);
}

static int setup_exact(void **state)
{
	return setup_traces(state, 1, PT_CONFIG | SB_PT_CONFIG_CYC, 0);
}

/* The flow begins at a PSB in the middle of user space: 3 had mapped something, but may have been switched
 * away since.
 */
static void what_came_before_a_psb_in_user_space_is_not_fresh(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	two_threads(fixture);
	thread_maps(fixture, 250, OTHER);
	thread_switches(fixture, 400, OTHER, MAIN);
	trace_psb(&trace);
	trace_tsc(&trace, 300);
	trace_mode64(&trace);
	trace_ip(&trace, ppt_fup, 0x1001);
	trace_psbend(&trace);
	trace_disabled(&trace);
	told(fixture, &trace, "0/1/-1@300: 1001 1002 1003");
}

enum { FAR = 1000000 }; /* more than the trace's time may be wrong */

/* The same of a process: another one with the same code begins at @forked; time goes on at 500 * FAR. */
static void a_process_begins(struct fixture *fixture, uint64_t forked)
{
	struct trace trace = {0};

	has_file(fixture, "/a", code_a, sizeof(code_a));
	maps(fixture, 0, MAIN, 0x1000, "/a");
	forks(fixture, forked, MAIN, CHILD);
	trace_start(&trace, 100);
	trace_interrupted(&trace, 200, 0x1000, 0x1001);
	trace_mode64(&trace);
	trace_interrupted_late(&trace);
	trace_start(&trace, 500 * FAR);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
}

static void a_process_that_begins_before_time_goes_on_may_run(void **state)
{
	struct fixture *fixture = *state;

	a_process_begins(fixture, 350 * FAR);
	assert_string_equal(fixture->flow, "0/1/1@200: 1000");
	assert_gap(fixture, sb_gap_unknown_process);
}

static void a_process_that_begins_when_time_has_gone_on_did_not_run(void **state)
{
	struct fixture *fixture = *state;

	a_process_begins(fixture, 600 * FAR);
	assert_string_equal(fixture->flow, "0/1/1@200: 1000 1000");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	        TEST(going_on_in_the_same_place_does_not_prove_who_it_is),
	        TEST(going_on_in_the_same_place_is_believed_with_the_next_record),
	        TEST(going_on_in_the_same_place_is_not_believed_where_many_are_lost),
	        TEST(going_on_elsewhere_than_where_an_interrupt_came_is_another_one),
	        TEST(nobody_idle_runs_in_user_space),
	        cmocka_unit_test_setup_teardown(a_thread_may_map_while_another_one_runs, setup_late,
	                                        teardown),
	        cmocka_unit_test_setup_teardown(a_thread_without_a_fork_may_map_while_another_one_runs,
	                                        setup_late, teardown),
	        cmocka_unit_test_setup_teardown(tracing_that_stays_on_up_to_a_known_time_tells_who_runs,
	                                        setup_late, teardown),
	        cmocka_unit_test_setup_teardown(tracing_that_is_turned_off_before_a_known_time_does_not,
	                                        setup_late, teardown),
	        cmocka_unit_test_setup_teardown(what_time_tells_late_is_not_fresh, setup_late, teardown),
	        TEST(what_took_effect_before_user_space_was_left_is_not_fresh),
	        cmocka_unit_test_setup_teardown(what_came_before_a_psb_in_user_space_is_not_fresh,
	                                        setup_exact, teardown),
	        cmocka_unit_test_setup_teardown(a_process_that_begins_before_time_goes_on_may_run, setup_late,
	                                        teardown),
	        cmocka_unit_test_setup_teardown(a_process_that_begins_when_time_has_gone_on_did_not_run,
	                                        setup_late, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
