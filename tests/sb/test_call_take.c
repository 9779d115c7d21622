/* Calls that were added up (struct sb_flow, calls): what comes of them when the frame that they were above of
 * is what it was taken for, and that they are refused when it is not. Without symbols, all of user space is
 * at hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sb/call_stack.h>

enum { most = 4 };

struct taken {
	struct sb_calls *calls;
	uint64_t sum[most]; /* by index */
	uint64_t address[most];
	uint32_t nsums, depth;
	uint64_t run, returned; /* frames that were left by returns */
};

static int on_run(void *context, struct sb_call_thread *thread, uint64_t ninsn)
{
	(void)thread;
	((struct taken *)context)->run += ninsn;
	return 0;
}

static int on_leave(void *context, struct sb_call_thread *thread, enum sb_leave how)
{
	(void)thread;
	((struct taken *)context)->returned += how == sb_leave_return;
	return 0;
}

static int on_sums(void *context, struct sb_call_thread *thread, const struct sb_calls_sum *sum,
                   uint32_t count)
{
	struct taken *taken = context;

	assert_true(count <= most);
	for (uint32_t i = 0; i < count; ++i) {
		taken->sum[i] += sum[i].ninsn;
		taken->address[i] = sum[i].function->address;
	}
	taken->nsums = count;
	taken->depth = thread->depth;
	return 0;
}

static void begin(struct taken *taken, int takes_sums)
{
	const struct sb_calls_consumer consumer = {
	        .context = taken, .run = on_run, .leave = on_leave, .sums = takes_sums ? on_sums : NULL};
	const struct sb_calls_options options = {.size = sizeof(options)};

	*taken = (struct taken){0};
	assert_int_equal(sb_calls_new(&taken->calls, &options, &consumer, NULL), 0);
}

/* One block, and what was added up behind it. */
static int give(struct taken *taken, uint64_t ip, enum pt_insn_class iclass,
                const struct sb_flow_calls *calls)
{
	static const uint8_t length[1] = {4};
	const struct pt_run_block block = {
	        .ip = ip, .end_ip = ip, .length = length, .ninsn = 1, .iclass = (uint8_t)iclass};
	const struct pt_run_path path = {.block = &block, .nblocks = 1, .ninsn = 1, .id = ptr_no_id};
	const struct pt_run_path *const paths[] = {&path};
	const struct sb_flow flow = {.pid = 10,
	                             .tid = 11,
	                             .tsc = 1,
	                             .path = paths,
	                             .npaths = 1,
	                             .nblocks = 1,
	                             .ninsn = 1,
	                             .numbering = 1,
	                             .calls = calls};

	return sb_calls_flow(taken->calls, &flow);
}

/* A function at 0x2000 was called, and one from there at 0x3000; the one at 0x2000 runs yet. */
static const struct sb_flow_call_sum sums[] = {
        {.ninsn = 5},
        {.function = 0, .ip = 0x2000, .is_called = 1, .ninsn = 7},
        {.function = 1, .ip = 0x3000, .is_called = 1, .below = 1, .ninsn = 9},
};
static const struct sb_flow_call_frame frame = {
        .ip = 0x2000, .from_ip = 0x1010, .return_ip = 0x1014, .how = sb_enter_call};
static const struct sb_flow_calls added_up = {.tsc_to = 2,
                                              .high = UINT64_C(1) << 63,
                                              .sum = sums,
                                              .nsums = 3,
                                              .deepest = 2,
                                              .returns = 1,
                                              .frame = &frame,
                                              .nframes = 1,
                                              .end_high = UINT64_C(1) << 63,
                                              .end_ip = 0x2010,
                                              .next_ip = 0x2014,
                                              .iclass = ptic_return};

static void what_was_added_up_is_above_the_innermost_frame(void **state)
{
	struct taken taken;

	(void)state;
	begin(&taken, 1);
	assert_int_equal(give(&taken, 0x1000, ptic_cond_jump, &added_up), 0);
	assert_int_equal(taken.nsums, 3);
	assert_int_equal(taken.depth, 1);
	assert_int_equal(taken.run, 1);
	assert_int_equal(taken.sum[0] + taken.sum[1] + taken.sum[2], 21);
	assert_int_equal(taken.address[1], 0x2000);
	assert_int_equal(taken.address[2], 0x3000);
	/* The frame that stayed returns to its caller. */
	assert_int_equal(give(&taken, 0x1014, ptic_cond_jump, NULL), 0);
	assert_int_equal(taken.returned, 1);
	assert_int_equal(sb_calls_doubts(taken.calls).returns, 2);
	assert_int_equal(sb_calls_doubts(taken.calls).found, 1);
	sb_calls_free(taken.calls);
}

static void expect_refused(const struct sb_flow_calls *calls)
{
	struct taken taken;

	begin(&taken, 1);
	assert_int_equal(give(&taken, 0x1000, ptic_cond_jump, calls), -sbe_order);
	assert_int_equal(taken.nsums, 0);
	sb_calls_free(taken.calls);
}

static void another_frame_than_expected_takes_nothing(void **state)
{
	struct sb_flow_call_sum unknown[] = {sums[0], sums[2]};
	struct sb_flow_calls calls = added_up;

	(void)state;
	calls.high = 0x2000;
	expect_refused(&calls);
	calls = added_up;
	calls.low = 0x1000;
	expect_refused(&calls);
	calls = added_up;
	calls.is_named = 1;
	expect_refused(&calls);
	calls = added_up;
	calls.deepest = UINT32_MAX;
	expect_refused(&calls);
	/* A function that was not told of. */
	calls = added_up;
	calls.sum = unknown;
	calls.nsums = 2;
	unknown[1].below = 0;
	expect_refused(&calls);
}

static void who_does_not_take_sums_refuses_them(void **state)
{
	struct taken taken;

	(void)state;
	begin(&taken, 0);
	assert_int_equal(give(&taken, 0x1000, ptic_cond_jump, &added_up), -sbe_order);
	sb_calls_free(taken.calls);
}

/* Flow of a thread on the CPU, which has a block, or nothing. */
static void run_thread(struct taken *taken, int32_t tid, uint64_t ip, enum pt_insn_class iclass,
                       int has_block)
{
	static const uint8_t length[1] = {4};
	static const struct sb_flow_calls nothing = {.tsc_to = 9};
	const struct pt_run_block block = {
	        .ip = ip, .end_ip = ip, .length = length, .ninsn = 1, .iclass = (uint8_t)iclass};
	const struct pt_run_path path = {.block = &block, .nblocks = 1, .ninsn = 1, .id = ptr_no_id};
	const struct pt_run_path *const paths[] = {&path};
	const struct sb_flow flow = {.pid = 10,
	                             .tid = tid,
	                             .tsc = 1,
	                             .path = has_block ? paths : NULL,
	                             .npaths = has_block != 0,
	                             .nblocks = has_block != 0,
	                             .ninsn = has_block != 0,
	                             .calls = has_block ? NULL : &nothing};

	assert_int_equal(sb_calls_flow(taken->calls, &flow), 0);
}

/* Of two threads that have called a function, the first one is said to have run last: what is missing is its,
 * and the other one returns. */
static void a_gap_is_of_who_ran_last(void **state)
{
	const struct sb_gap gap = {.cpu = 0};
	struct taken taken;

	(void)state;
	begin(&taken, 1);
	for (int32_t tid = 11; tid <= 12; tid++) {
		run_thread(&taken, tid, 0x1000, ptic_call, 1);
		run_thread(&taken, tid, 0x2000, ptic_return, 1);
	}
	run_thread(&taken, 11, 0, ptic_error, 0);
	assert_int_equal(sb_calls_gap(taken.calls, &gap), 0);
	run_thread(&taken, 12, 0x1004, ptic_other, 1);
	assert_int_equal(taken.returned, 1);
	run_thread(&taken, 11, 0x1004, ptic_other, 1);
	assert_int_equal(taken.returned, 1);
	sb_calls_free(taken.calls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(what_was_added_up_is_above_the_innermost_frame),
	        cmocka_unit_test(another_frame_than_expected_takes_nothing),
	        cmocka_unit_test(who_does_not_take_sums_refuses_them),
	        cmocka_unit_test(a_gap_is_of_who_ran_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
