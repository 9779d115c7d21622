/* test_replay_shared_memory.c - what a process has when its child maps something over it, which may have the
 * same memory.
 *
 * Process 1 has /a at 0x1000 and /f, which makes a child, at 0x3000. Process 2 comes to user space behind
 * that call, and maps /b over /a. Then 1 runs at 0x1000. Times are in milliseconds, far apart beside the
 * slack of the trace's time.
 */
#include "replay_fixture.h"

static const uint64_t ms = 1000 * 1000;
static const uint8_t code_a[] = {0x90, 0x90, 0x0f, 0x05};
static const uint8_t code_b[] = {0x90, 0x0f, 0x05};

static const char *const is_a = "0/1/1@40000000: 1000 1001 1002";
static const char *const is_b = "0/1/1@40000000: 1000 1001";

/* The code of a system call. */
struct call {
	const char *what;
	uint8_t code[24];
	size_t size;
	const char *flow; /* of 1 in the end; NULL: a gap */
};

enum { F_AT = 0x3000, CALL_AT = 4, CODE_MAX = 32 };

static void has_programs(struct fixture *fixture, const struct call *call)
{
	uint8_t code[CODE_MAX] = {0};

	memset(code, 0x90, CALL_AT);
	memcpy(code + CALL_AT, call->code, call->size);
	memcpy(code + CALL_AT + call->size, code_a, sizeof(code_a));
	has_file(fixture, "/a", code_a, sizeof(code_a));
	has_file(fixture, "/b", code_b, sizeof(code_b));
	has_file(fixture, "/f", code, sizeof(code));
	maps(fixture, 0, 1, 0x1000, "/a");
	maps(fixture, 0, 1, F_AT, "/f");
}

/* @between: what else happens before the child maps something. */
static void child_maps(struct fixture *fixture, const struct call *call,
                       void (*between)(struct fixture *fixture), const char *name)
{
	struct trace trace = {0};

	has_programs(fixture, call);
	switches(fixture, 0, 15 * ms, 0, 1);
	forks(fixture, 21 * ms, 1, 2);
	if (between)
		between(fixture);
	switches(fixture, 0, 25 * ms, 1, 2);
	maps(fixture, 31 * ms, 2, 0x1000, name);
	switches(fixture, 0, 35 * ms, 2, 1);
	trace_start(&trace, 10 * ms);
	trace_stretch(&trace, 30 * ms, F_AT + CALL_AT + call->size);
	trace_stretch(&trace, 40 * ms, 0x1000);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
}

/* What 1 executed in the end. */
static void assert_end(const struct fixture *fixture, const char *what, const char *flow)
{
	const char *end = strstr(fixture->flow, "0/1/1@40000000");

	if (flow ? !end || strcmp(end, flow) != 0 || fixture->gaps[0]
	         : end || !strstr(fixture->details, "/b: mapped by a process that may have the same memory"))
		fail_msg("%s: %s, gaps %s", what, fixture->flow, fixture->details);
}

static const struct call fork_call = {"fork", {0xb8, 57, 0, 0, 0, 0x0f, 0x05}, 7, NULL};

static void the_call_says_whose_memory_it_is(void **state)
{
	const struct call calls[] = {
	        {"fork", {0xb8, 57, 0, 0, 0, 0x0f, 0x05}, 7, is_a},
	        {"vfork", {0xb8, 58, 0, 0, 0, 0x0f, 0x05}, 7, is_b},
	        /* as in glibc's fork(): mov $0x1200011, %edi; lea 0x2d0(%rax), %r10; mov $56, %eax */
	        {"clone, no flag",
	         {0xbf, 0x11, 0, 0x20, 1, 0x4c, 0x8d, 0x90, 0xd0, 2, 0, 0, 0xb8, 56, 0, 0, 0, 0x0f, 0x05},
	         19,
	         is_a},
	        {"clone, CLONE_VM", {0xbf, 0x11, 1, 0, 0, 0xb8, 56, 0, 0, 0, 0x0f, 0x05}, 12, is_b},
	        {"clone, zero", {0x31, 0xff, 0xb8, 56, 0, 0, 0, 0x0f, 0x05}, 9, is_a},
	        {"clone, flags behind", {0xb8, 56, 0, 0, 0, 0xbf, 0x11, 0, 0, 0, 0x0f, 0x05}, 12, is_a},
	        {"clone, flags unknown", {0xb8, 56, 0, 0, 0, 0x0f, 0x05}, 7, NULL},
	        {"clone, another register",
	         {0x41, 0xbf, 0x11, 0, 0, 0, 0xb8, 56, 0, 0, 0, 0x0f, 0x05},
	         13,
	         NULL},
	        {"clone, flags changed", /* or %eax, %edi */
	         {0xbf, 0x11, 0, 0, 0, 0x09, 0xc7, 0xb8, 56, 0, 0, 0, 0x0f, 0x05},
	         14,
	         NULL},
	        {"clone3", {0xbf, 0x11, 0, 0, 0, 0xb8, 0xb3, 1, 0, 0, 0x0f, 0x05}, 12, NULL},
	        {"unknown", {0x89, 0xd0, 0x0f, 0x05}, 4, NULL},
	        {"int $0x80", {0xb8, 2, 0, 0, 0, 0xcd, 0x80}, 7, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); ++i) {
		void *fixture;

		setup(&fixture);
		child_maps(fixture, &calls[i], NULL, "/b");
		assert_end(fixture, calls[i].what, calls[i].flow);
		teardown(&fixture);
	}
}

/* Nobody saw the child come to user space. */
static void lose_records(struct fixture *fixture)
{
	const struct sb_write_sample at = sample(0, 1, 23 * ms);

	assert_int_equal(sb_write_lost(fixture->writer, &at, 5, NULL), 0);
}

static void a_child_that_may_have_run_before_is_doubtful(void **state)
{
	child_maps(*state, &fork_call, lose_records, "/b");
	assert_end(*state, "lost", NULL);
}

static const struct call unknown_call = {"clone", {0xb8, 56, 0, 0, 0, 0x0f, 0x05}, 7, NULL};

static void the_same_file_is_no_doubt(void **state)
{
	child_maps(*state, &unknown_call, NULL, "/a");
	assert_end(*state, "the same", is_a);
}

static void child_execs(struct fixture *fixture)
{
	execs(fixture, 24 * ms, 2, "other");
	maps(fixture, 24 * ms, 2, F_AT, "/f");
}

static void whoever_called_exec_has_its_own(void **state)
{
	child_maps(*state, &unknown_call, child_execs, "/b");
	assert_end(*state, "exec", is_a);
}

static void child_ends(struct fixture *fixture)
{
	const struct sb_write_sample at = sample(0, 2, 24 * ms);

	assert_int_equal(sb_write_exit(fixture->writer, &at, 2, 1, 2, 1, NULL), 0);
	maps(fixture, 24 * ms + 1, 1, 0x1000, "/b");
	maps(fixture, 24 * ms + 2, 1, 0x1000, "/a");
}

/* Its number is somebody else's then. */
static void whoever_ended_has_nothing(void **state)
{
	child_maps(*state, &unknown_call, child_ends, "/b");
	assert_non_null(strstr(((struct fixture *)*state)->flow, is_a));
}

/* 1 maps something, and its child does not have it for sure. Its child's child, made by the same call,
 * neither. */
static void what_the_parent_maps_is_doubtful_for_all_below(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_programs(fixture, &unknown_call);
	forks(fixture, 11 * ms, 1, 2);
	forks(fixture, 12 * ms, 2, 3);
	switches(fixture, 0, 13 * ms, 0, 2);
	switches(fixture, 0, 15 * ms, 2, 3);
	maps(fixture, 17 * ms, 1, 0x1000, "/b");
	switches(fixture, 0, 19 * ms, 3, 1);
	switches(fixture, 0, 25 * ms, 1, 2);
	switches(fixture, 0, 35 * ms, 2, 3);
	trace_start(&trace, 10 * ms);
	trace_stretch(&trace, 14 * ms, 0x1000);
	trace_stretch(&trace, 16 * ms, 0x1000);
	trace_stretch(&trace, 20 * ms, 0x1000);
	trace_stretch(&trace, 30 * ms, 0x1000);
	trace_stretch(&trace, 40 * ms, 0x1000);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, "0/2/2@14000000: 1000 1001 1002; 0/3/3@16000000: 1000 1001 1002; "
	                                   "0/1/1@20000000: 1000 1001");
	assert_non_null(strstr(fixture->gaps, "anonymous"));
}

/* ---- Before the recording --------------------------------------------------------------------- */

/* @child is @parent's, and both were there before. */
static void was_forked(struct fixture *fixture, int32_t parent, int32_t child)
{
	assert_int_equal(sb_write_fork(fixture->writer, NULL, child, parent, child, parent, NULL), 0);
}

/* What 1 and 2 have at 0x1000, one of them since before the recording; 2 maps /b there, and both run. */
static void old_child_maps(struct fixture *fixture)
{
	struct trace trace = {0};

	switches(fixture, 0, 15 * ms, 0, 2);
	maps(fixture, 31 * ms, 2, 0x1000, "/b");
	switches(fixture, 0, 35 * ms, 2, 1);
	switches(fixture, 0, 45 * ms, 1, 2);
	trace_start(&trace, 10 * ms);
	trace_stretch(&trace, 20 * ms, 0x1000);
	trace_stretch(&trace, 40 * ms, 0x1000);
	trace_stretch(&trace, 50 * ms, 0x1000);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
}

/* An attached process, and its parent: nobody knows whether the child has its memory. */
static void who_was_there_may_have_its_parents_memory(void **state)
{
	struct fixture *fixture = *state;

	has_programs(fixture, &unknown_call);
	was_forked(fixture, 1, 2);
	maps(fixture, 0, 2, 0x1000, "/a");
	maps(fixture, 0, 2, F_AT, "/f");
	old_child_maps(fixture);
	assert_end(fixture, "before", NULL);
	assert_non_null(strstr(fixture->flow, "0/2/2@50000000: 1000 1001"));
}

/* The parent has a larger number, and its records come last. */
static void the_parents_records_may_come_last(void **state)
{
	struct fixture *fixture = *state;

	has_file(fixture, "/a", code_a, sizeof(code_a));
	has_file(fixture, "/b", code_b, sizeof(code_b));
	was_forked(fixture, 2, 1);
	maps(fixture, 0, 1, 0x1000, "/a");
	was_forked(fixture, 9, 2);
	maps(fixture, 0, 2, 0x1000, "/a");
	old_child_maps(fixture);
	assert_end(fixture, "last", NULL);
}

static void who_was_there_may_have_its_siblings_memory(void **state)
{
	struct fixture *fixture = *state;

	has_file(fixture, "/a", code_a, sizeof(code_a));
	has_file(fixture, "/b", code_b, sizeof(code_b));
	for (int32_t pid = 1; pid <= 2; ++pid) {
		was_forked(fixture, 9, pid);
		maps(fixture, 0, pid, 0x1000, "/a");
	}
	old_child_maps(fixture);
	assert_end(fixture, "siblings", NULL);
}

/* A memory of its own is at other places. */
static void who_has_other_places_has_its_own(void **state)
{
	struct fixture *fixture = *state;

	has_programs(fixture, &unknown_call);
	was_forked(fixture, 1, 2);
	maps(fixture, 0, 2, 0x1000, "/a");
	maps(fixture, 0, 2, F_AT + 0x1000, "/f");
	old_child_maps(fixture);
	assert_end(fixture, "other places", "0/1/1@40000000: 1000 1001 1002; 0/2/2@50000000: 1000 1001");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(the_call_says_whose_memory_it_is),
	        TEST(a_child_that_may_have_run_before_is_doubtful),
	        TEST(the_same_file_is_no_doubt),
	        TEST(whoever_called_exec_has_its_own),
	        TEST(whoever_ended_has_nothing),
	        TEST(what_the_parent_maps_is_doubtful_for_all_below),
	        TEST(who_was_there_may_have_its_parents_memory),
	        TEST(the_parents_records_may_come_last),
	        TEST(who_was_there_may_have_its_siblings_memory),
	        TEST(who_has_other_places_has_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
