/* test_replay_overflow.c - what a replay makes of overflows: a gap each, of whoever lost instructions,
 * however they end, and wherever the trace is cut. */
#include "replay_fixture.h"

/* nop; jne . ; syscall */
static const uint8_t code[] = {0x90, 0x75, 0xfe, 0x0f, 0x05};

static void two_processes_run(struct fixture *fixture)
{
	has_file(fixture, "/a", code, sizeof(code));
	maps(fixture, 0, 1, 0x1000, "/a");
	maps(fixture, 0, 2, 0x1000, "/a");
	switches(fixture, 0, 150, 0, 1);
}

/* ---- Whose they are ---------------------------------------------------------------------------- */

static void assert_overflow(const struct fixture *fixture, int32_t pid, uint64_t tsc, uint64_t offset)
{
	assert_string_equal(fixture->gaps, "overflow+0");
	assert_int_equal(fixture->gap.pid, pid);
	assert_int_equal(fixture->gap.tid, pid);
	assert_int_equal(fixture->gap.tsc_from, tsc);
	assert_int_equal(fixture->gap.offset, offset);
}

/* Process 1 runs, and what it does then is lost, up to the packets that come next: their offset. */
static uint64_t loses_some(struct trace *trace)
{
	trace_start(trace, 100);
	trace_enabled(trace, 200, 0x1000);
	trace_tnt(trace, "t");
	trace_ovf(trace);
	return trace->size;
}

static void replays(struct fixture *fixture, const struct trace *trace)
{
	traced(fixture, 0, trace->bytes, trace->size);
	assert_int_equal(replay(fixture), 0);
}

/* Somebody comes back from the kernel at @tsc. */
static void goes_on(struct fixture *fixture, struct trace *trace, uint64_t tsc)
{
	trace_enabled(trace, tsc, 0x1003);
	trace_disabled(trace);
	replays(fixture, trace);
}

/* The other one, which runs when tracing is turned on again, has lost nothing. */
static void one_in_the_kernel_is_of_whoever_ran(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};
	uint64_t offset;

	two_processes_run(fixture);
	switches(fixture, 0, 250, 1, 2);
	offset = loses_some(&trace);
	trace_tsc(&trace, 240);
	goes_on(fixture, &trace, 300);
	assert_overflow(fixture, 1, 240, offset);
	assert_string_equal(fixture->flow, "0/1/1@200: 1000 1001; 0/2/2@300: 1003");
}

/* That it ended later says so: the other one was there by then, and may have run. */
static uint64_t lasts_over_a_switch(struct fixture *fixture)
{
	struct trace trace = {0};
	uint64_t offset;

	two_processes_run(fixture);
	switches(fixture, 0, 250, 1, 2);
	switches(fixture, 0, 350, 2, 1);
	offset = loses_some(&trace);
	trace_start(&trace, 300);
	goes_on(fixture, &trace, 400);
	return offset;
}

static void one_in_the_kernel_is_of_whoever_came_in_it(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t offset = lasts_over_a_switch(fixture);

	assert_overflow(fixture, 2, 300, offset);
}

/* It has lost something, too: who asks for it alone is told as well. */
static void one_over_a_switch_is_told_who_asks_for_the_one_before(void **state)
{
	struct fixture *fixture = *state;
	static const int32_t pid[] = {1};
	uint64_t offset;

	fixture->options.pid = pid;
	fixture->options.npids = 1;
	offset = lasts_over_a_switch(fixture);
	assert_string_equal(fixture->flow, "0/1/1@200: 1000 1001; 0/1/1@400: 1003");
	assert_overflow(fixture, 2, 300, offset);
}

static void the_last_packet_is_of_whoever_ran(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	two_processes_run(fixture);
	switches(fixture, 0, 250, 1, 2);
	loses_some(&trace);
	replays(fixture, &trace);
	assert_overflow(fixture, 1, 200, trace.size);
}

/* ---- Where they end ---------------------------------------------------------------------------- */

/* Most of them right before a PSB. */
static void none_is_lost_where_chunks_end(void **state)
{
	enum { STRETCHES = 60 };
	struct trace trace = {0};

	for (size_t size = 8; size < 3000; size += 24) {
		struct fixture *fixture;
		uint64_t tsc = 1000;

		teardown(state);
		setup(state);
		fixture = *state;
		two_processes_run(fixture);
		trace.size = 0;
		trace_start(&trace, 900);
		for (int i = 0; i < STRETCHES; ++i, tsc += 100) {
			trace_enabled(&trace, tsc, 0x1000);
			trace_tnt(&trace, "t");
			trace_ovf(&trace);
			trace_tsc(&trace, tsc + 10);
			if (i % 3)
				trace_start(&trace, tsc + 20);
		}
		for (size_t at = 0; at < trace.size; at += size)
			traced(fixture, 0, trace.bytes + at, at + size < trace.size ? size : trace.size - at);
		assert_int_equal(replay(fixture), 0);
		assert_int_equal(sb_session_account(fixture->session)->gap[sb_gap_overflow].count, STRETCHES);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	        TEST(one_in_the_kernel_is_of_whoever_ran),
	        TEST(one_in_the_kernel_is_of_whoever_came_in_it),
	        TEST(one_over_a_switch_is_told_who_asks_for_the_one_before),
	        TEST(the_last_packet_is_of_whoever_ran),
	        TEST(none_is_lost_where_chunks_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
