/* Call stacks in and out of the kernel: threads that call, return, make system calls and are interrupted at
 * random, also in the kernel and in the handlers of other interrupts; that are switched from and to in it, on
 * two CPUs; and that get signals on the way back. The machine that makes the flow knows all stacks, and they
 * must be the engine's at every step: with the kernel on top of user space, and in a trace of user space
 * alone. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sb/call_stack.h>

#define KERNEL    UINT64_C(0xffffffff81000000)
#define SYSCALLS  (KERNEL + 0x100000)
#define INTERRUPT (KERNEL + 0x200000) /* a handler for each depth: none interrupts itself */
#define SWITCH    (KERNEL + 0x300000)
#define RESTORER  UINT64_C(0x7f000000)
#define HANDLER   UINT64_C(0x7e000000)

enum { THREADS = 5, CPUS = 2, DEEPEST = 48, KERNEL_DEEPEST = 24, SYSCALL_SIZE = 2, BLOCKS = 8 };

struct machine_frame {
	uint64_t ip, return_ip;
	enum sb_enter how;
};

struct stack {
	struct machine_frame frame[DEEPEST];
	unsigned int depth;
};

struct machine_thread {
	int32_t tid;
	struct stack stack;
	uint64_t ip;     /* where it goes on */
	int is_switched; /* it waits in the kernel */
	const struct sb_call_thread *seen;
};

/* What ran on a CPU and was not handed on. */
struct pending {
	struct pt_run_block block[BLOCKS];
	uint8_t length[BLOCKS][16];
	unsigned int nblocks;
	struct stack stack; /* in the last block */
	struct machine_thread *thread;
};

struct machine {
	struct sb_calls *calls;
	struct machine_thread thread[THREADS];
	struct machine_thread *running[CPUS];
	struct pending pending[CPUS];
	int user_only;
	uint64_t seed, compared, deepest, entries, nested, signals, switches;
};

static unsigned int chance(struct machine *machine, unsigned int n)
{
	machine->seed = machine->seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned int)(machine->seed >> 33) % n;
}

static unsigned int is_kernel(uint64_t ip)
{
	return ip >> 63 != 0;
}

/* ---- What is handed on, and compared ------------------------------------------------------------ */

static int on_run(void *context, struct sb_call_thread *thread, uint64_t ninsn)
{
	struct machine *machine = context;

	(void)ninsn;
	machine->thread[thread->tid - 1].seen = thread;
	return 0;
}

/* Whether a system call that a signal came in begins anew shows later. */
static int is_equal(const struct sb_call_thread *seen, const struct stack *stack)
{
	int same = seen->depth == stack->depth;

	for (unsigned int i = 0; same && i < stack->depth; ++i) {
		const struct machine_frame *frame = &stack->frame[i];

		same = seen->frame[i].ip == frame->ip && seen->frame[i].how == frame->how &&
		       !seen->frame[i].unsure &&
		       (frame->how == sb_enter_found || frame->how == sb_enter_signal ||
		        frame->how == sb_enter_jump || seen->frame[i].return_ip == frame->return_ip);
	}
	return same;
}

static void compare(struct machine *machine, const struct machine_thread *thread, const struct stack *stack)
{
	const struct sb_call_thread *seen = thread->seen;

	assert_non_null(seen);
	if (!is_equal(seen, stack)) {
		for (unsigned int i = 0; i < stack->depth; ++i)
			print_message("%2u: %s %" PRIx64 ", to %" PRIx64 "\n", i,
			              sb_enter_name(stack->frame[i].how), stack->frame[i].ip,
			              stack->frame[i].return_ip);
		for (unsigned int i = 0; i < seen->depth; ++i)
			print_message("%2u: concluded %s%s %" PRIx64 ", to %" PRIx64 "\n", i,
			              sb_enter_name((enum sb_enter)seen->frame[i].how),
			              seen->frame[i].unsure ? "?" : "", seen->frame[i].ip,
			              seen->frame[i].return_ip);
		fail_msg("the stack of thread %d is not what it should be", thread->tid);
	}
	machine->compared += 1;
	if (stack->depth > machine->deepest)
		machine->deepest = stack->depth;
}

/* @left_ip: where it was interrupted. */
static void hand_on(struct machine *machine, int cpu, uint64_t left_ip)
{
	struct pending *pending = &machine->pending[cpu];
	struct pt_run_path path = {.block = pending->block, .nblocks = pending->nblocks, .id = ptr_no_id};
	const struct pt_run_path *const paths[] = {&path};
	struct sb_flow flow = {
	        .cpu = cpu, .pid = 7, .tsc = 1, .path = paths, .npaths = 1, .left_ip = left_ip};

	if (!pending->nblocks)
		return;
	for (unsigned int i = 0; i < pending->nblocks; ++i) {
		pending->block[i].length = pending->length[i];
		path.ninsn += pending->block[i].ninsn;
	}
	flow.tid = pending->thread->tid;
	flow.nblocks = path.nblocks;
	flow.ninsn = path.ninsn;
	assert_int_equal(sb_calls_flow(machine->calls, &flow), 0);
	compare(machine, pending->thread, &pending->stack);
	pending->nblocks = 0;
}

/* ---- What threads do ----------------------------------------------------------------------------- */

/* Up to three instructions, of which the last one is of that class; it goes on behind them. */
static void run(struct machine *machine, int cpu, enum pt_insn_class iclass)
{
	struct machine_thread *thread = machine->running[cpu];
	struct pending *pending = &machine->pending[cpu];
	const uint16_t ninsn = (uint16_t)(1 + chance(machine, 3));
	/* No return ends where a call does. */
	const uint8_t last = iclass == ptic_far_call                              ? SYSCALL_SIZE
	                     : iclass == ptic_return || iclass == ptic_far_return ? 1
	                                                                          : 4;
	const uint64_t end_ip = thread->ip + 4 * (ninsn - 1u);

	if (!machine->user_only || !is_kernel(thread->ip)) {
		if (pending->nblocks == BLOCKS)
			hand_on(machine, cpu, 0);
		memset(pending->length[pending->nblocks], 4, sizeof(pending->length[0]));
		pending->length[pending->nblocks][ninsn - 1] = last;
		pending->block[pending->nblocks++] = (struct pt_run_block){
		        .ip = thread->ip, .end_ip = end_ip, .ninsn = ninsn, .iclass = (uint8_t)iclass};
		pending->thread = thread;
		pending->stack = thread->stack;
	}
	thread->ip = end_ip + last;
}

static struct machine_frame *top_of(struct machine_thread *thread)
{
	return &thread->stack.frame[thread->stack.depth - 1];
}

static void push(struct machine_thread *thread, uint64_t ip, enum sb_enter how)
{
	thread->stack.frame[thread->stack.depth++] =
	        (struct machine_frame){.ip = ip, .return_ip = thread->ip, .how = how};
	thread->ip = ip;
}

static void pop(struct machine_thread *thread)
{
	thread->ip = top_of(thread)->return_ip;
	thread->stack.depth -= 1;
}

static void call(struct machine *machine, int cpu)
{
	struct machine_thread *thread = machine->running[cpu];
	const uint64_t base = is_kernel(thread->ip) ? KERNEL : 0x400000;

	run(machine, cpu, ptic_call);
	push(thread, base + 0x1000u * (1 + chance(machine, 40)), sb_enter_call);
}

static void make_syscall(struct machine *machine, int cpu)
{
	run(machine, cpu, ptic_far_call);
	push(machine->running[cpu], SYSCALLS, sb_enter_syscall);
	machine->entries += 1;
}

/* Between instructions; also behind a branch, before its target ran. In a trace of user space alone, the
 * kernel cannot be seen to be interrupted. */
static void interrupt(struct machine *machine, int cpu)
{
	struct machine_thread *thread = machine->running[cpu];

	if (!machine->pending[cpu].nblocks)
		run(machine, cpu, ptic_other);
	machine->entries += 1;
	machine->nested += is_kernel(thread->ip);
	if (!machine->user_only || !is_kernel(thread->ip))
		hand_on(machine, cpu, thread->ip);
	push(thread, INTERRUPT + 0x1000u * thread->stack.depth, sb_enter_interrupt);
}

/* The first of the kernel's frames since the last entry. */
static unsigned int find_entry(const struct machine_thread *thread)
{
	unsigned int at = thread->stack.depth - 1;

	while (thread->stack.frame[at].how == sb_enter_call)
		at -= 1;
	return at;
}

static void give_signal(struct machine *machine, struct machine_thread *thread)
{
	const uint64_t handler = HANDLER + 0x1000u * chance(machine, 4);

	/* Nothing tells that from going on, or from a system call that begins anew. */
	if (thread->ip == handler || thread->ip == handler + SYSCALL_SIZE)
		return;
	push(thread, handler, sb_enter_signal);
	machine->signals += 1;
}

/* From whatever the kernel did last, though functions have not returned. */
static void leave_kernel(struct machine *machine, int cpu)
{
	struct machine_thread *thread = machine->running[cpu];
	const unsigned int entry = find_entry(thread);
	const int is_syscall = thread->stack.frame[entry].how == sb_enter_syscall;
	const int restores = entry && thread->stack.frame[entry - 1].ip == RESTORER;

	run(machine, cpu, ptic_far_return);
	thread->stack.depth = entry + 1;
	pop(thread);
	if (is_kernel(thread->ip))
		return;
	if (restores && is_syscall)
		pop(thread); /* sigreturn */
	else if (is_syscall && !chance(machine, 6))
		thread->ip -= SYSCALL_SIZE; /* it begins anew */
	if (thread->stack.depth < DEEPEST - KERNEL_DEEPEST - 2 && !chance(machine, 5))
		give_signal(machine, thread);
}

static void switch_thread(struct machine *machine, int cpu)
{
	struct machine_thread *from = machine->running[cpu], *to;

	run(machine, cpu, ptic_call);
	push(from, SWITCH, sb_enter_call);
	run(machine, cpu, ptic_jump);
	from->ip = SWITCH + 0x40;
	from->is_switched = 1;
	hand_on(machine, cpu, 0);
	do
		to = &machine->thread[chance(machine, THREADS)];
	while (!to->is_switched);
	to->is_switched = 0;
	machine->running[cpu] = to;
	machine->switches += to != from;
	run(machine, cpu, ptic_return);
	pop(to);
}

static void return_from(struct machine *machine, int cpu)
{
	struct machine_thread *thread = machine->running[cpu];

	run(machine, cpu, ptic_return);
	if (top_of(thread)->how != sb_enter_signal) {
		pop(thread);
		return;
	}
	/* The handler's frame is the restorer's now, which makes a system call. */
	top_of(thread)->ip = thread->ip = RESTORER;
	top_of(thread)->how = sb_enter_jump;
	if (chance(machine, 4))
		make_syscall(machine, cpu);
}

static unsigned int kernel_depth(const struct machine_thread *thread)
{
	unsigned int depth = 0;

	for (unsigned int i = 0; i < thread->stack.depth; ++i)
		depth += is_kernel(thread->stack.frame[i].ip);
	return depth;
}

static void act_in_kernel(struct machine *machine, int cpu)
{
	struct machine_thread *thread = machine->running[cpu];
	const int may_push = kernel_depth(thread) < KERNEL_DEEPEST && thread->stack.depth < DEEPEST - 2;

	switch (chance(machine, 10)) {
	case 0:
	case 1:
	case 2:
		if (may_push)
			call(machine, cpu);
		break;
	case 3:
	case 4:
		if (top_of(thread)->how == sb_enter_call)
			return_from(machine, cpu);
		break;
	case 5:
		if (may_push)
			interrupt(machine, cpu);
		break;
	case 6:
		if (may_push)
			switch_thread(machine, cpu);
		break;
	case 7:
		run(machine, cpu, ptic_cond_jump);
		thread->ip += 0x20;
		break;
	default:
		leave_kernel(machine, cpu);
	}
}

static void act_in_user(struct machine *machine, int cpu)
{
	struct machine_thread *thread = machine->running[cpu];
	const int may_push = thread->stack.depth < DEEPEST - KERNEL_DEEPEST;

	if (top_of(thread)->ip == RESTORER) {
		if (chance(machine, 3))
			make_syscall(machine, cpu);
		else
			interrupt(machine, cpu);
		return;
	}
	switch (chance(machine, 9)) {
	case 0:
	case 1:
	case 2:
		if (may_push)
			call(machine, cpu);
		break;
	case 3:
	case 4:
		if (thread->stack.depth > 1)
			return_from(machine, cpu);
		break;
	case 5:
		make_syscall(machine, cpu);
		break;
	case 6:
		run(machine, cpu, ptic_cond_jump);
		thread->ip += 0x20;
		break;
	default:
		interrupt(machine, cpu);
	}
}

static void act(struct machine *machine, int cpu)
{
	if (is_kernel(machine->running[cpu]->ip))
		act_in_kernel(machine, cpu);
	else
		act_in_user(machine, cpu);
	if (!chance(machine, 3))
		hand_on(machine, cpu, 0);
}

/* ---- The tests ----------------------------------------------------------------------------------- */

/* All are found in user space, and wait in the kernel then, but for those that run. */
static void begin(struct machine *machine, int user_only, uint64_t seed)
{
	const struct sb_calls_consumer consumer = {.context = machine, .run = on_run};
	const struct sb_calls_options options = {.size = sizeof(options)};

	memset(machine, 0, sizeof(*machine));
	machine->user_only = user_only;
	machine->seed = seed;
	assert_int_equal(sb_calls_new(&machine->calls, &options, &consumer, NULL), 0);
	for (int i = 0; i < THREADS; ++i) {
		struct machine_thread *thread = machine->running[0] = &machine->thread[i];

		thread->tid = i + 1;
		thread->ip = 0x400000 + 0x1000u * (unsigned int)i;
		push(thread, thread->ip, sb_enter_found);
		top_of(thread)->return_ip = 0;
		make_syscall(machine, 0);
		run(machine, 0, ptic_call);
		push(thread, SWITCH, sb_enter_call);
		run(machine, 0, ptic_jump);
		thread->ip = SWITCH + 0x40;
		thread->is_switched = i >= CPUS;
		hand_on(machine, 0, 0);
	}
	for (int cpu = 0; cpu < CPUS; ++cpu) {
		machine->running[cpu] = &machine->thread[cpu];
		run(machine, cpu, ptic_return);
		pop(machine->running[cpu]);
	}
}

static void run_machine(int user_only)
{
	static struct machine machine;

	for (uint64_t seed = 1; seed <= 20; ++seed) {
		begin(&machine, user_only, seed);
		for (int i = 0; i < 20000; ++i)
			act(&machine, (int)chance(&machine, CPUS));
		for (int cpu = 0; cpu < CPUS; ++cpu)
			hand_on(&machine, cpu, 0);
		assert_int_equal(sb_calls_doubts(machine.calls).lost, 0);
		assert_true(machine.compared > 1000 && machine.deepest > 12);
		assert_true(machine.entries > 1000 && machine.nested > 100);
		assert_true(machine.signals > 50 && machine.switches > 50);
		assert_int_equal(sb_calls_finish(machine.calls), 0);
		sb_calls_free(machine.calls);
	}
	print_message("the last of 20: %" PRIu64 " stacks compared, up to %" PRIu64 " deep; %" PRIu64
	              " times into the kernel, %" PRIu64 " of them in it; %" PRIu64 " switches, %" PRIu64
	              " signals\n",
	              machine.compared, machine.deepest, machine.entries, machine.nested, machine.switches,
	              machine.signals);
}

static void test_kernel_and_user(void **state)
{
	(void)state;
	run_machine(0);
}

static void test_user_only(void **state)
{
	(void)state;
	run_machine(1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_kernel_and_user),
	        cmocka_unit_test(test_user_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
