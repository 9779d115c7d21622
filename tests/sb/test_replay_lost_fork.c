/* test_replay_lost_fork.c - a number of a process that is used again, while the record of the fork is lost,
 * or that of the first one's end as well.
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

/* ---- Without an end ------------------------------------------------------------------------------ */

/* Process 5000 has /a; forks are told of, then @lost records are missing; then one more fork is told of (0:
 * none), and 5000 runs. */
struct loss {
	int32_t forks[3];
	uint64_t lost;
	int32_t next;
	int is_doubtful;
};

static void records_are_lost(struct fixture *fixture, const struct loss *loss)
{
	const struct sb_write_sample at = sample(0, 1, 22 * ms);
	struct trace trace = {0};

	has_file(fixture, "/a", code_a, sizeof(code_a));
	maps(fixture, 0, 1, 0x2000, "/a");
	maps(fixture, 0, 5000, 0x1000, "/a");
	switches(fixture, 0, 11 * ms, 0, 5000);
	switches(fixture, 0, 18 * ms, 5000, 1);
	for (int i = 0; i < 3 && loss->forks[i]; ++i)
		forks(fixture, (uint64_t)(19 + i) * ms, 1, loss->forks[i]);
	if (loss->lost)
		assert_int_equal(sb_write_lost(fixture->writer, &at, loss->lost, NULL), 0);
	if (loss->next)
		forks(fixture, 23 * ms, 1, loss->next);
	switches(fixture, 0, 25 * ms, 1, 5000);
	trace_start(&trace, 10 * ms);
	trace_stretch(&trace, 15 * ms, 0x1000);
	trace_stretch(&trace, 30 * ms, 0x1000);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
}

static void a_number_that_may_have_been_given_again_while_records_were_lost(void **state)
{
	static const struct loss losses[] = {
	        {{4990, 0, 0}, 20, 0, 1},       /* it comes to 5000 */
	        {{4990, 0, 0}, 9, 0, 0},        /* not so far */
	        {{4990, 0, 0}, 10, 0, 1},       /* just so far: 4991 to 5000 */
	        {{4990, 0, 0}, 20, 4996, 0},    /* it came to 4996 later */
	        {{4990, 0, 0}, 20, 5003, 1},    /* it came by */
	        {{4990, 0, 0}, 20, 4989, 1},    /* recorded late */
	        {{5001, 0, 0}, 1000, 0, 0},     /* it was there before */
	        {{30000, 0, 0}, 1000, 0, 0},    /* it has come by, and not come round */
	        {{30000, 0, 0}, 7467, 0, 0},    /* 30001 to 32767, 300 to 4999 */
	        {{30000, 0, 0}, 7468, 0, 1},    /* and 5000 */
	        {{30000, 0, 0}, 9000, 4000, 0}, /* it came round, but not so far */
	        {{30000, 0, 0}, 9000, 6000, 1}, /* it came by */
	        {{70000, 0, 0}, 100000, 0, 0},  /* there are more numbers */
	        {{30000, 4990, 0}, 20, 0, 1},   /* it had come round before */
	        {{4992, 4990, 4991}, 7, 0, 0},  /* not in order: 4993 to 4999 */
	        {{4992, 4990, 4991}, 8, 0, 1},  /* and 5000 */
	        {{0, 0, 0}, 20, 5010, 1},       /* it came by right before */
	        {{0, 0, 0}, 20, 6000, 0},       /* it was far behind */
	        {{0, 0, 0}, 1000000, 0, 0},     /* nobody was forked */
	        {{4990, 0, 0}, 0, 0, 0},        /* nothing was lost */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); ++i) {
		struct fixture *fixture;
		void *of_state;
		int is_doubtful;

		setup(&of_state);
		fixture = of_state;
		records_are_lost(fixture, &losses[i]);
		is_doubtful = !strstr(fixture->flow, "0/5000/5000@30000000: 1000 1001 1002");
		if (!strstr(fixture->flow, "0/5000/5000@15000000: 1000 1001 1002") ||
		    is_doubtful != losses[i].is_doubtful || is_doubtful != (fixture->gaps[0] != 0))
			fail_msg("%zu: %s, gaps %s", i, fixture->flow, fixture->details);
		teardown(&of_state);
	}
}

/* ---- A CPU without any record -------------------------------------------------------------------- */

/* mov $57, %eax (fork).  syscall.  nop.  syscall.  jmp *%rax */
static const uint8_t code_fork[] = {0xb8, 57, 0, 0, 0, 0x0f, 0x05, 0x90, 0x0f, 0x05, 0xff, 0xe0};

/* Process 1 runs on CPU 0; then records are lost, in whose time somebody comes there that may be a child of
 * it: fork() returned on CPU @cpu while records were lost there, too. It calls the kernel, or jumps to
 * @target. */
static void a_child_comes(struct fixture *fixture, uint32_t cpu, uint64_t target)
{
	const struct sb_write_sample at = sample(0, 1, 40 * ms);
	struct trace trace = {0}, other = {0};

	has_file(fixture, "/fork", code_fork, sizeof(code_fork));
	maps(fixture, 0, 1, 0x1000, "/fork");
	switches(fixture, 0, 11 * ms, 0, 1);
	assert_int_equal(sb_write_lost(fixture->writer, &at, 40, NULL), 0);
	switches(fixture, 0, 41 * ms, 0, 1);
	trace_start(&trace, 10 * ms);
	if (cpu == 0)
		trace_stretch(&trace, 20 * ms, 0x1007);
	trace_enabled(&trace, 30 * ms, target ? 0x100a : 0x1008);
	if (target)
		trace_ip(&trace, ppt_tip, target);
	trace_disabled(&trace);
	traced(fixture, 0, trace.bytes, trace.size);
	trace_start(&other, 10 * ms);
	if (cpu == 1)
		trace_stretch(&other, 20 * ms, 0x1007);
	traced(fixture, 1, other.bytes, other.size);
	assert_int_equal(replay(fixture), 0);
}

static void a_child_may_come_from_a_cpu_that_lost_some(void **state)
{
	struct fixture *fixture = *state;

	a_child_comes(fixture, 0, 0);
	assert_string_equal(fixture->flow, "");
	assert_gap(fixture, sb_gap_unknown_process);
}

/* Not even that some were lost is left of it, only trace. */
static void a_child_may_come_from_a_cpu_that_lost_all(void **state)
{
	struct fixture *fixture = *state;

	a_child_comes(fixture, 1, 0);
	assert_string_equal(fixture->flow, "");
	assert_int_equal(sb_session_account(fixture->session)->gap[sb_gap_unknown_process].count, 2);
}

/* What nobody is known to have mapped does not tell them apart. */
static void a_child_may_go_where_a_mapping_is_lost(void **state)
{
	struct fixture *fixture = *state;

	a_child_comes(fixture, 0, 0x9000);
	assert_string_equal(fixture->flow, "");
	assert_gap(fixture, sb_gap_unknown_process);
}

/* ---- Named in passing ---------------------------------------------------------------------------- */

/* The record of 2's fork is lost, not that of its namespaces, which says nothing of what it has mapped: it
 * may be in its parent's code. */
static void a_child_may_be_named_by_its_namespaces_alone(void **state)
{
	static const struct sb_namespace all[] = {{4, 1}, {4, 2}, {4, 3}, {4, 4}, {4, 5}, {4, 6}, {4, 7}};
	const struct sb_write_sample at = sample(0, 2, 10 * ms + 3);
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_file(fixture, "/a", code_a, sizeof(code_a));
	maps(fixture, 0, 1, 0x1000, "/a");
	switches(fixture, 0, 1 * ms, 0, 1);
	switches(fixture, 0, 10 * ms, 1, 2);
	assert_int_equal(sb_write_namespaces(fixture->writer, &at, 2, 2, all, 7, NULL), 0);
	trace_start(&trace, 5 * ms);
	trace_stretch(&trace, 6 * ms, 0x1000);
	trace_stretch(&trace, 20 * ms, 0x1000);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, "0/1/1@6000000: 1000 1001 1002");
	assert_string_equal(fixture->gaps, "not-mapped+0");
}

/* ---- Programs ------------------------------------------------------------------------------------ */

/* 1 and 2 have called execve(2), and no record says who runs. 2 has mapped @filename, or nothing. */
static void two_programs(struct fixture *fixture, const char *filename)
{
	struct trace trace = {0};

	has_file(fixture, "/a", code_a, sizeof(code_a));
	execs(fixture, 1 * ms, 1, "a");
	maps(fixture, 1 * ms + 1, 1, 0x1000, "/a");
	execs(fixture, 2 * ms, 2, "a");
	maps(fixture, 2 * ms + 1, 2, 0x9000, "[vdso]");
	if (filename)
		maps(fixture, 2 * ms + 2, 2, 0x5000, filename);
	trace_start(&trace, 5 * ms);
	trace_stretch(&trace, 6 * ms, 0x1000);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
}

static void a_program_tells_who_runs(void **state)
{
	struct fixture *fixture = *state;

	two_programs(fixture, "/b");
	assert_string_equal(fixture->flow, "0/1/1@6000000: 1000 1001 1002");
}

/* 2 must have some program, and it may be the same. */
static void a_program_whose_mapping_is_lost_may_be_the_same(void **state)
{
	struct fixture *fixture = *state;

	two_programs(fixture, NULL);
	assert_string_equal(fixture->flow, "");
	assert_gap(fixture, sb_gap_unknown_process);
}

/* What loads a program is none. */
static void a_loader_is_mapped_behind_its_program(void **state)
{
	struct fixture *fixture = *state;

	two_programs(fixture, "/lib64/ld-linux-x86-64.so.2");
	assert_string_equal(fixture->flow, "");
	assert_gap(fixture, sb_gap_unknown_process);
}

/* Nor is a library, where the loader's mapping is lost, too. */
static void a_library_is_mapped_behind_its_program(void **state)
{
	struct fixture *fixture = *state;

	two_programs(fixture, "/usr/lib/x86_64-linux-gnu/libc.so.6");
	assert_string_equal(fixture->flow, "");
	assert_gap(fixture, sb_gap_unknown_process);
}

/* ---- What comes soon ----------------------------------------------------------------------------- */

/* 2, whose fork is lost, runs what it has of 1, which nobody knows, and maps /b there right behind: as soon
 * as the trace's time may be early. What it ran is not /b's code. */
static void what_a_stranger_maps_soon_is_not_there_before(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_file(fixture, "/a", code_a, sizeof(code_a));
	has_file(fixture, "/b", code_b, sizeof(code_b));
	maps(fixture, 0, 1, 0x1000, "/a");
	switches(fixture, 0, 1 * ms, 0, 1);
	switches(fixture, 0, 10 * ms, 1, 2);
	maps(fixture, 10 * ms + 3000, 2, 0x1000, "/b");
	trace_start(&trace, 5 * ms);
	trace_stretch(&trace, 10 * ms + 1000, 0x1000);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, "");
	assert_gap(fixture, sb_gap_not_mapped);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	        TEST(a_child_may_come_from_a_cpu_that_lost_some),
	        TEST(a_child_may_come_from_a_cpu_that_lost_all),
	        TEST(a_child_may_go_where_a_mapping_is_lost),
	        TEST(a_child_may_be_named_by_its_namespaces_alone),
	        TEST(a_program_tells_who_runs),
	        TEST(a_program_whose_mapping_is_lost_may_be_the_same),
	        TEST(a_loader_is_mapped_behind_its_program),
	        TEST(a_library_is_mapped_behind_its_program),
	        TEST(what_a_stranger_maps_soon_is_not_there_before),
	        TEST(what_a_number_had_mapped_before_it_ended_is_not_used),
	        TEST(a_number_that_is_forked_again_has_what_its_parent_has),
	        cmocka_unit_test(a_number_that_may_have_been_given_again_while_records_were_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
