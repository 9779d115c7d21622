/* test_replay_unseen.c - who runs where a LOST record says that records are missing.
 *
 * Process 1, alone in having code at 0x1000, runs from 100 to 200 us; there the records end, up to a LOST
 * record at 600 us.
 */
#include "replay_fixture.h"

static const uint64_t us = 1000;

/* 1000 mov $SYS_fork, %eax   1005 syscall   1007 mov $SYS_getpid, %eax   100c nop   100d syscall   100f nop
 * 1010 syscall */
static const uint8_t code[] = {0xb8, 0x39, 0, 0,    0,    0x0f, 0x05, 0xb8, 0x27,
                               0,    0,    0, 0x90, 0x0f, 0x05, 0x90, 0x0f, 0x05};
enum { BEHIND_FORK = 0x1007, BEHIND_GETPID = 0x100f };

static void loses(struct fixture *fixture, uint64_t time, int32_t pid, uint64_t count)
{
	const struct sb_write_sample at = sample(0, pid, time);

	assert_int_equal(sb_write_lost(fixture->writer, &at, count, NULL), 0);
}

/* At 400 us, a system call returns to @ip. */
static void runs(struct fixture *fixture, uint64_t nlost, uint64_t ip)
{
	struct trace trace = {0};

	has_file(fixture, "/code", code, sizeof(code));
	execs(fixture, 10 * us, 1, "one");
	maps(fixture, 20 * us, 1, 0x1000, "/code");
	switches(fixture, 0, 100 * us, 0, 1);
	switches(fixture, 0, 200 * us, 1, 0);
	loses(fixture, 600 * us, 1, nlost);
	switches(fixture, 0, 900 * us, 1, 0);
	trace_start(&trace, 50 * us);
	trace_stretch(&trace, 150 * us, 0x1010);
	trace_stretch(&trace, 400 * us, ip);
	trace_stretch(&trace, 700 * us, 0x1010);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
}

/* Somebody may be there who came and went. Whoever made the record behind ran then, as it says. */
static void where_fork_returns_and_records_were_lost_it_may_be_somebody_unseen(void **state)
{
	struct fixture *fixture = *state;

	runs(fixture, 20, BEHIND_FORK);
	assert_string_equal(fixture->flow, "0/1/1@150000: 1010; 0/1/1@700000: 1010");
	assert_gap(fixture, sb_gap_unknown_process);
}

static void where_nobody_forked_there_is_nobody_unseen(void **state)
{
	struct fixture *fixture = *state;

	runs(fixture, 20, BEHIND_GETPID);
	assert_string_equal(fixture->flow, "0/1/1@150000: 1010; 0/1/1@400000: 100f 1010; 0/1/1@700000: 1010");
	assert_string_equal(fixture->gaps, "");
}

/* To come and to go takes two. */
static void where_one_record_was_lost_nobody_else_can_have_run(void **state)
{
	struct fixture *fixture = *state;

	runs(fixture, 1, BEHIND_FORK);
	assert_string_equal(fixture->flow,
	                    "0/1/1@150000: 1010; 0/1/1@400000: 1007 100c 100d; 0/1/1@700000: 1010");
	assert_string_equal(fixture->gaps, "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	        TEST(where_fork_returns_and_records_were_lost_it_may_be_somebody_unseen),
	        TEST(where_nobody_forked_there_is_nobody_unseen),
	        TEST(where_one_record_was_lost_nobody_else_can_have_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
