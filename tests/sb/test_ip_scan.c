/* test_ip_scan.c - when addresses of user space were executed: at the time of the last TSC packet where that
 * packet says so, else between two packets that tell the time.
 */
#include "replay_fixture.h"

#include "replay/ip_scan.h"

enum { USER = 0x5000 };

static const uint64_t kernel = 0xffffffff81000000;

static int setup_mtc(void **state)
{
	return setup_traces(state, 1, PT_CONFIG, 1000);
}

/* " ip@from" or " ip@from-to" for each address. */
static int on_seen(void *context, const struct ip_seen *seen)
{
	struct fixture *fixture = context;

	append(fixture->flow, " %jx@%ju", (uintmax_t)seen->ip, (uintmax_t)seen->from);
	if (seen->to == UINT64_MAX)
		append(fixture->flow, "-");
	else if (seen->to != seen->from)
		append(fixture->flow, "-%ju", (uintmax_t)seen->to);
	return 0;
}

static void assert_scan(struct fixture *fixture, const struct trace *trace, const char *seen)
{
	const struct ip_sink sink = {fixture, on_seen};
	const struct sb_aux_stream *stream;
	struct sb_system *system;
	struct sb_error err = {0};
	size_t nstreams;

	traced(fixture, 0, trace->bytes, trace->size);
	assert_int_equal(sb_perfdata_writer_finish(fixture->writer, &err), 0);
	fixture->writer = NULL;
	assert_int_equal(sb_perfdata_open(&fixture->perfdata, fixture->recording, &err), 0);
	assert_int_equal(sb_system_build(&system, fixture->perfdata, &err), 0);
	stream = sb_perfdata_streams(fixture->perfdata, &nstreams);
	assert_int_equal(nstreams, 1);
	assert_int_equal(ip_scan(fixture->perfdata, system, stream, &sink), 0);
	sb_system_free(system);
	assert_string_equal(fixture->flow, seen);
}

/* At 80000, in the kernel. The first MTC is that of 88000. */
static struct trace begin(void)
{
	struct trace trace = {0};

	trace_psb(&trace);
	trace_tsc(&trace, 80000);
	trace_tma(&trace, 80, 0);
	trace_mode64(&trace);
	trace_psbend(&trace);
	return trace;
}

/* An overflow that is over at 83000. */
static struct trace begin_lost(void)
{
	struct trace trace = begin();

	trace_ovf(&trace);
	trace_tsc(&trace, 83000);
	trace_tma(&trace, 83, 0);
	return trace;
}

/* Where a processor enters user space, it does not tell the time. */
static void between_two_times(void **state)
{
	struct trace trace = begin();

	trace_ip(&trace, ppt_tip_pge, USER);
	trace_ip(&trace, ppt_tip, USER + 2);
	trace_mtc(&trace, 11);
	trace_ip(&trace, ppt_tip, USER + 4);
	trace_ip(&trace, ppt_tip, kernel);
	assert_scan(*state, &trace, " 0@0-80000 5000@80000-88000 5002@80000-88000 5004@88000-");
}

static void a_stamp_tells_until_tracing_is_turned_off(void **state)
{
	struct trace trace = begin();

	trace_enabled(&trace, 83000, USER);
	trace_ip(&trace, ppt_tip, USER + 2);
	trace_disabled(&trace);
	trace_ip(&trace, ppt_tip_pge, USER);
	assert_scan(*state, &trace, " 0@0-80000 5000@83000 5002@83000 5000@83000-");
}

/* The flow goes on in user space where the overflow ended. */
static void the_time_of_an_overflow_tells_what_goes_on_there(void **state)
{
	struct trace trace = begin_lost();

	trace_ip(&trace, ppt_fup, USER);
	trace_ip(&trace, ppt_tip, USER + 2);
	trace_mtc(&trace, 11);
	assert_scan(*state, &trace, " 0@0-80000 0@80000-83000 5002@83000");
}

/* It ended in the kernel, which is left later. */
static void the_time_of_an_overflow_is_not_that_of_what_comes_later(void **state)
{
	struct trace trace = begin_lost();

	trace_ip(&trace, ppt_tip_pge, USER);
	trace_mtc(&trace, 11);
	assert_scan(*state, &trace, " 0@0-80000 0@80000-83000 5000@83000-88000");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_mtc, teardown)
	const struct CMUnitTest tests[] = {
	        TEST(between_two_times),
	        TEST(a_stamp_tells_until_tracing_is_turned_off),
	        TEST(the_time_of_an_overflow_tells_what_goes_on_there),
	        TEST(the_time_of_an_overflow_is_not_that_of_what_comes_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
