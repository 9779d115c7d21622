/* Call stacks: hand-made flow in, who entered and left which function out. Without symbols, a function is
 * where calls go to. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sb/call_stack.h>

#define KERNEL UINT64_C(0xffffffff81000000)

/* What was told, as text: "+address how" and "-address how", with the number of instructions between. */
struct told {
	struct sb_calls *calls;
	char text[8192];
	uint64_t ninsn;
};

static void tell(struct told *told, const char *format, ...)
{
	const size_t used = strlen(told->text);
	va_list list;

	va_start(list, format);
	vsnprintf(told->text + used, sizeof(told->text) - used, format, list);
	va_end(list);
}

static int on_run(void *context, struct sb_call_thread *thread, uint64_t ninsn)
{
	struct told *told = context;

	assert_true(thread->depth > 0 && ninsn > 0);
	told->ninsn += ninsn;
	tell(told, "%" PRIu64 " ", ninsn);
	return 0;
}

static int on_enter(void *context, struct sb_call_thread *thread)
{
	const struct sb_call_frame *top = sb_calls_top(thread);

	tell(context, "%s+%d:%" PRIx64 " %s%s\n", "", thread->tid, top->ip & 0xffffff,
	     sb_enter_name((enum sb_enter)top->how), top->unsure ? "?" : "");
	assert_int_equal(top->note.number, 0);
	sb_calls_top(thread)->note.number = top->ip;
	return 0;
}

static int on_leave(void *context, struct sb_call_thread *thread, enum sb_leave how)
{
	const struct sb_call_frame *top = sb_calls_top(thread);

	assert_true(top->note.number == top->ip);
	tell(context, "-%d:%" PRIx64 " %s\n", thread->tid, top->ip & 0xffffff, sb_leave_name(how));
	return 0;
}

static void begin(struct told *told)
{
	const struct sb_calls_consumer consumer = {
	        .context = told, .run = on_run, .enter = on_enter, .leave = on_leave};
	const struct sb_calls_options options = {.size = sizeof(options)};

	memset(told, 0, sizeof(*told));
	assert_int_equal(sb_calls_new(&told->calls, &options, &consumer, NULL), 0);
}

/* Compares, and begins anew. */
static void expect(struct told *told, const char *text)
{
	assert_string_equal(told->text, text);
	told->text[0] = '\0';
}

static void end(struct told *told)
{
	sb_calls_free(told->calls);
}

/* A block of @ninsn instructions of 4 bytes each. */
struct step {
	uint64_t ip;
	uint16_t ninsn;
	enum pt_insn_class iclass;
};

static void run_thread(struct told *told, int32_t cpu, int32_t tid, uint64_t left_ip, const struct step *step,
                       size_t count)
{
	static const uint8_t length[16] = {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4};
	struct pt_run_block block[16];
	struct pt_run_path path = {.block = block, .nblocks = (uint32_t)count, .id = ptr_no_id};
	const struct pt_run_path *const paths[] = {&path};
	struct sb_flow flow = {
	        .cpu = cpu, .pid = 10, .tid = tid, .tsc = 1, .path = paths, .npaths = 1, .left_ip = left_ip};

	assert_true(count <= 16);
	for (size_t i = 0; i < count; ++i) {
		block[i] = (struct pt_run_block){.ip = step[i].ip,
		                                 .end_ip = step[i].ip + 4u * (step[i].ninsn - 1u),
		                                 .length = length,
		                                 .ninsn = step[i].ninsn,
		                                 .iclass = (uint8_t)step[i].iclass};
		path.ninsn += step[i].ninsn;
	}
	flow.nblocks = path.nblocks;
	flow.ninsn = path.ninsn;
	assert_int_equal(sb_calls_flow(told->calls, &flow), 0);
}

#define RUN(told, cpu, tid, left, ...)                                                                       \
	run_thread(told, cpu, tid, left, (const struct step[]){__VA_ARGS__},                                 \
	           sizeof((const struct step[]){__VA_ARGS__}) / sizeof(struct step))

static void test_calls(void **state)
{
	struct told told;

	(void)state;
	begin(&told);
	RUN(&told, 0, 11, 0, {0x1000, 3, ptic_call}, {0x2000, 2, ptic_cond_jump}, {0x2100, 1, ptic_call},
	    {0x3000, 5, ptic_return}, {0x2104, 1, ptic_return}, {0x100c, 2, ptic_other});
	expect(&told, "+11:1000 found\n"
	              "3 +11:2000 call\n"
	              "3 +11:3000 call\n"
	              "5 -11:3000 return\n"
	              "1 -11:2000 return\n"
	              "2 ");
	/* Straight on, in the next flow. A call of the next instruction is none. */
	RUN(&told, 0, 11, 0, {0x1014, 1, ptic_call}, {0x1018, 1, ptic_jump}, {0x1000, 1, ptic_other});
	expect(&told, "3 ");
	assert_int_equal(sb_calls_finish(told.calls), 0);
	expect(&told, "-11:1000 end\n");
	end(&told);
}

static void test_kernel(void **state)
{
	struct told told;

	(void)state;
	begin(&told);
	/* A system call, in which the kernel calls, and is interrupted behind a call. */
	RUN(&told, 0, 11, 0, {0x1000, 2, ptic_far_call}, {KERNEL, 1, ptic_call},
	    {KERNEL + 0x100, 2, ptic_call});
	RUN(&told, 0, 11, KERNEL + 0x204, {KERNEL + 0x200, 1, ptic_other});
	RUN(&told, 0, 11, 0, {KERNEL + 0x900, 1, ptic_call}, {KERNEL + 0xa00, 1, ptic_return},
	    {KERNEL + 0x904, 1, ptic_far_return}, {KERNEL + 0x204, 1, ptic_return},
	    {KERNEL + 0x108, 1, ptic_return}, {KERNEL + 4, 1, ptic_far_return}, {0x1008, 1, ptic_other});
	expect(&told, "+11:1000 found\n"
	              "2 +11:0 syscall\n"
	              "1 +11:100 call\n"
	              "2 +11:200 call\n"
	              "1 +11:900 interrupt\n"
	              "1 +11:a00 call\n"
	              "1 -11:a00 return\n"
	              "1 -11:900 return\n"
	              "1 -11:200 return\n"
	              "1 -11:100 return\n"
	              "1 -11:0 return\n"
	              "1 ");
	/* An interrupt of user space, right behind a call; and what its end leaves on the kernel's stack
	 * goes. */
	RUN(&told, 0, 11, 0x3000, {0x100c, 1, ptic_call});
	RUN(&told, 0, 11, 0, {KERNEL + 0x900, 1, ptic_call}, {KERNEL + 0xa00, 1, ptic_far_return},
	    {0x3000, 1, ptic_return}, {0x1010, 1, ptic_other});
	expect(&told, "1 +11:3000 call\n"
	              "+11:900 interrupt\n"
	              "1 +11:a00 call\n"
	              "1 -11:a00 unwound\n"
	              "-11:900 return\n"
	              "1 -11:3000 return\n"
	              "1 ");
	end(&told);
}

/* Threads take turns in the kernel, where each has a stack of its own. */
static void test_switch(void **state)
{
	struct told told;

	(void)state;
	begin(&told);
	RUN(&told, 0, 11, 0, {0x1000, 1, ptic_far_call}, {KERNEL, 1, ptic_call},
	    {KERNEL + 0x500, 1, ptic_jump});
	RUN(&told, 0, 12, 0, {KERNEL + 0x540, 1, ptic_return});
	RUN(&told, 0, 12, 0, {KERNEL + 0x600, 1, ptic_far_return}, {0x2000, 1, ptic_call},
	    {0x2800, 1, ptic_far_call}, {KERNEL, 1, ptic_call}, {KERNEL + 0x500, 1, ptic_jump});
	/* On another CPU. */
	RUN(&told, 1, 11, 0, {KERNEL + 0x540, 1, ptic_return}, {KERNEL + 4, 1, ptic_far_return},
	    {0x1004, 1, ptic_other});
	expect(&told, "+11:1000 found\n"
	              "1 +11:0 syscall\n"
	              "1 +11:500 call\n"
	              "1 +12:540 found\n"
	              "1 -12:540 return\n"
	              "+12:600 found\n"
	              "1 -12:600 return\n"
	              "+12:2000 found\n"
	              "1 +12:2800 call\n"
	              "1 +12:0 syscall\n"
	              "1 +12:500 call\n"
	              "1 1 -11:500 return\n"
	              "1 -11:0 return\n"
	              "1 ");
	end(&told);
}

/* A handler is entered where the kernel returns to another address, and left by sigreturn. */
static void test_signal(void **state)
{
	struct told told;

	(void)state;
	begin(&told);
	RUN(&told, 0, 11, 0, {0x1000, 1, ptic_call}, {0x2000, 1, ptic_far_call}, {KERNEL, 1, ptic_far_return},
	    {0x5000, 1, ptic_call}, {0x6000, 1, ptic_return}, {0x5004, 1, ptic_return},
	    {0x7000, 1, ptic_far_call}, {KERNEL, 1, ptic_far_return}, {0x2004, 1, ptic_return},
	    {0x1004, 1, ptic_other});
	expect(&told, "+11:1000 found\n"
	              "1 +11:2000 call\n"
	              "1 +11:0 syscall\n"
	              "1 -11:0 return\n"
	              "+11:5000 signal\n"
	              "1 +11:6000 call\n"
	              "1 -11:6000 return\n"
	              "1 -11:5000 return\n"
	              "+11:7000 jump\n"
	              "1 +11:0 syscall\n"
	              "1 -11:0 return\n"
	              "-11:7000 return\n"
	              "1 -11:2000 return\n"
	              "1 ");
	end(&told);
}

/* Without the kernel's trace: tracing is off in it. */
static void test_signal_while_off(void **state)
{
	struct told told;

	(void)state;
	begin(&told);
	/* Behind a call, before its target ran; the system call of sigreturn. */
	RUN(&told, 0, 11, 0x3000, {0x1000, 1, ptic_call});
	RUN(&told, 0, 11, 0, {0x5000, 1, ptic_return}, {0x7000, 1, ptic_far_call});
	RUN(&told, 0, 11, 0, {0x3000, 1, ptic_return}, {0x1004, 1, ptic_other});
	expect(&told, "+11:1000 found\n"
	              "1 +11:3000 call\n"
	              "+11:5000 signal\n"
	              "1 -11:5000 return\n"
	              "+11:7000 jump\n"
	              "1 -11:7000 return\n"
	              "1 -11:3000 return\n"
	              "1 ");
	/* Where it was interrupted, and nothing came. */
	RUN(&told, 0, 11, 0x1010, {0x1008, 2, ptic_other});
	RUN(&told, 0, 11, 0, {0x1010, 1, ptic_other});
	expect(&told, "2 1 ");
	end(&told);
}

/* Coroutines: a return to another stack, which comes back where it was left. */
static void test_returns_elsewhere(void **state)
{
	struct told told;
	struct sb_calls_doubts doubts;

	(void)state;
	begin(&told);
	/* Two frames at once. */
	RUN(&told, 0, 11, 0, {0x1000, 1, ptic_call}, {0x2000, 1, ptic_call}, {0x3000, 1, ptic_return},
	    {0x1004, 1, ptic_other});
	expect(&told, "+11:1000 found\n"
	              "1 +11:2000 call\n"
	              "1 +11:3000 call\n"
	              "1 -11:3000 unwound\n"
	              "-11:2000 return\n"
	              "1 ");
	/* To where nobody was. */
	RUN(&told, 0, 11, 0, {0x1008, 1, ptic_call}, {0x2000, 1, ptic_return}, {0x9000, 1, ptic_other});
	expect(&told, "1 +11:2000 call\n"
	              "1 -11:2000 lost\n"
	              "+11:9000 found?\n"
	              "1 ");
	doubts = sb_calls_doubts(told.calls);
	assert_int_equal(doubts.unwound, 1);
	assert_int_equal(doubts.lost, 1);
	end(&told);
}

static void test_gap(void **state)
{
	struct told told;
	const struct sb_gap gap = {.reason = sb_gap_overflow, .cpu = 0, .pid = 10, .tid = 11};

	(void)state;
	begin(&told);
	RUN(&told, 0, 11, 0, {0x1000, 1, ptic_call}, {0x2000, 1, ptic_call}, {0x3000, 1, ptic_other});
	assert_int_equal(sb_calls_gap(told.calls, &gap), 0);
	/* Not known where: what was there stays, as a guess; the next gap drops what was found then. */
	RUN(&told, 0, 11, 0, {0x8000, 1, ptic_other});
	assert_int_equal(sb_calls_gap(told.calls, &gap), 0);
	RUN(&told, 0, 11, 0, {0x9000, 1, ptic_return}, {0x2004, 1, ptic_return}, {0x1004, 1, ptic_other});
	assert_int_equal(sb_calls_finish(told.calls), 0);
	assert_int_equal(told.ninsn, 7);
	end(&told);
}

/* Recursion without end costs no memory without end, and time stays in proportion. */
static void test_deep(void **state)
{
	struct told told;

	(void)state;
	begin(&told);
	for (int i = 0; i < 200000; ++i) {
		RUN(&told, 0, 11, 0, {0x1000, 1, ptic_call});
		told.text[0] = '\0';
	}
	for (uint64_t i = 0; i < 20000; ++i) {
		RUN(&told, 0, 11, 0, {0x1000, 1, ptic_return}, {0x100000 + 8 * i, 1, ptic_call});
		told.text[0] = '\0';
	}
	assert_int_equal(told.ninsn, 240000);
	assert_true(sb_calls_doubts(told.calls).lost >= 65536);
	assert_int_equal(sb_calls_finish(told.calls), 0);
	end(&told);
}

static void test_options(void **state)
{
	const struct sb_calls_consumer consumer = {0};
	struct sb_calls_options options = {.size = 1};
	struct sb_calls *calls;

	(void)state;
	assert_int_equal(sb_calls_new(&calls, &options, &consumer, NULL), -sbe_invalid);
	assert_string_equal(sb_enter_name(sb_enter_tail), "tail");
	assert_string_equal(sb_leave_name(sb_leave_end), "end");
	assert_string_equal(sb_enter_name(sb_enters), "?");
	sb_calls_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_calls),
	        cmocka_unit_test(test_kernel),
	        cmocka_unit_test(test_switch),
	        cmocka_unit_test(test_signal),
	        cmocka_unit_test(test_signal_while_off),
	        cmocka_unit_test(test_returns_elsewhere),
	        cmocka_unit_test(test_gap),
	        cmocka_unit_test(test_deep),
	        cmocka_unit_test(test_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
