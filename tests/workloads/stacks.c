/* stacks.c - whatever makes call stacks hard to follow: longjmp, tail calls, signals, coroutines,
 * trampolines. See stacks.h. */
#include "stacks.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

static volatile unsigned long work;

static __attribute__((noinline)) void leaf(void)
{
	work++;
}

static __attribute__((noinline)) int recurse(int n)
{
	leaf();
	return n < 2 ? n : recurse(n - 1) + recurse(n - 2);
}

/* ---- longjmp ---- */

static jmp_buf outer, inner;

static __attribute__((noinline)) void dive(int n, jmp_buf *to)
{
	leaf();
	if (!n)
		longjmp(*to, 1);
	dive(n - 1, to);
	leaf();
}

/* Each level has its own setjmp; who is jumped to is not the innermost one. */
static __attribute__((noinline)) void levels(int n, jmp_buf *above)
{
	jmp_buf mine;

	leaf();
	if (!setjmp(mine)) {
		if (n)
			levels(n - 1, &mine);
		dive(2, above);
	}
	leaf();
}

static __attribute__((noinline)) void jumps(void)
{
	for (volatile int i = 0; i < 3; i++) {
		if (!setjmp(outer))
			dive(i * 4, &outer);
		leaf();
	}
	if (!setjmp(inner))
		levels(3, &inner);
	recurse(3);
}

/* ---- Tail calls: from functions that are not noted, or else they would not be tail calls ---- */

static __attribute__((noinline)) void target(int n)
{
	leaf();
	work += (unsigned long)n;
}

static unnoted void tail_odd(int n);
static unnoted void tail_even(int n)
{
	work++;
	if (!n)
		return target(n);
	return tail_odd(n - 1);
}

static unnoted void tail_odd(int n)
{
	work += 2;
	return tail_even(n - 1);
}

static void (*volatile indirect)(int) = target;

static unnoted void tail_indirect(int n)
{
	work++;
	return indirect(n);
}

static __attribute__((noinline)) void tails(void)
{
	for (int i = 0; i < 3; i++) {
		tail_even(2 * i);
		tail_indirect(i);
		leaf();
	}
}

/* ---- Trampolines: calls whose return goes elsewhere, as compilers make them against speculation ---- */

void through_thunk(int n);
__asm__(".text\n"
        ".type thunk, @function\n"
        "thunk:\n\tcall 1f\n0:\tpause\n\tlfence\n\tjmp 0b\n1:\tmov %rax, (%rsp)\n\tret\n"
        ".size thunk, . - thunk\n"
        ".globl through_thunk\n"
        ".type through_thunk, @function\n"
        "through_thunk:\n\tsub $8, %rsp\n\tmov indirect@GOTPCREL(%rip), %rax\n\tmov (%rax), %rax\n"
        "\tcall thunk\n\tadd $8, %rsp\n\tret\n"
        ".size through_thunk, . - through_thunk\n"
        ".globl pushed\n"
        ".type pushed, @function\n"
        "pushed:\n\tmov indirect@GOTPCREL(%rip), %rax\n\tpush (%rax)\n\tret\n"
        ".size pushed, . - pushed\n"
        /* Forgets the way back to its caller: returns to its caller's caller. */
        ".globl skip_caller\n"
        ".type skip_caller, @function\n"
        "skip_caller:\n\tmov (%rbp), %rax\n\tmov 8(%rbp), %rdx\n\tlea 16(%rbp), %rsp\n\tmov %rax, %rbp\n"
        "\tpush %rdx\n\tret\n"
        ".size skip_caller, . - skip_caller\n"
        /* Asks where it is. */
        ".globl where\n"
        ".type where, @function\n"
        "where:\n\tcall 1f\n1:\tpop %rax\n\tret\n"
        ".size where, . - where\n");
void pushed(int n);
void skip_caller(void);
uintptr_t where(void);

static unnoted void skipped(void)
{
	leaf();
	skip_caller();
	work++;
}

static __attribute__((noinline)) void trampolines(void)
{
	for (int i = 0; i < 3; i++) {
		through_thunk(i);
		leaf();
		pushed(i);
		leaf();
		skipped();
		leaf();
		work += where() & 1;
	}
}

/* ---- Signals ---- */

static sigjmp_buf back;

static void handler(int signal)
{
	leaf();
	work += (unsigned long)signal;
}

static void nested(int signal)
{
	leaf();
	if (signal == SIGUSR1)
		raise(SIGUSR2);
	leaf();
}

static void leave(int signal)
{
	leaf();
	siglongjmp(back, signal);
}

static unnoted void catch_signal(int signal, void (*function)(int), int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = function;
	action.sa_flags = flags;
	sigaction(signal, &action, NULL);
}

static __attribute__((noinline)) void fault(char *page)
{
	if (!sigsetjmp(back, 1))
		*(volatile char *)page = 1;
	leaf();
}

/* Is not noted: a signal may come before the note of a function that was entered. */
static unnoted unsigned long branches(unsigned long n)
{
	work += n;
	if (n % 3 == 1)
		return work;
	return n < 3 ? n : branches(n - 1) + branches(n - 2);
}

/* Signals that come anywhere, also right behind branches. */
static __attribute__((noinline)) void alarms(void)
{
	const struct itimerval often = {{0, 7000}, {0, 7000}}, never = {{0, 0}, {0, 0}};

	catch_signal(SIGALRM, handler, SA_RESTART);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 12; i++)
		work += branches(14);
	setitimer(ITIMER_REAL, &never, NULL);
}

static __attribute__((noinline)) void signals(void)
{
	char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	catch_signal(SIGUSR1, nested, 0);
	catch_signal(SIGUSR2, handler, 0);
	catch_signal(SIGSEGV, leave, 0);
	for (int i = 0; i < 3; i++) {
		raise(SIGUSR1);
		leaf();
		fault(page);
		leaf();
	}
	alarms();
}

/* ---- Coroutines ---- */

struct coroutine {
	struct noted_stack noted;
	ucontext_t context, *resumer;
	int rounds, done;
	char stack[65536];
};

static struct coroutine *running;

static unnoted void resume(struct coroutine *to)
{
	struct coroutine *from = running;
	ucontext_t here;

	running = to;
	to->resumer = &here;
	to->noted.below = noted_now;
	noted_now = &to->noted;
	swapcontext(&here, &to->context);
	noted_now = to->noted.below;
	running = from;
}

static unnoted void yield(void)
{
	struct coroutine *me = running;

	swapcontext(&me->context, me->resumer);
}

static __attribute__((noinline)) void yield_deep(int n)
{
	leaf();
	if (n)
		yield_deep(n - 1);
	else
		yield();
	leaf();
}

static void generate(void)
{
	struct coroutine *me = running;

	for (int i = 0; i < me->rounds; i++) {
		leaf();
		yield_deep(i % 3);
	}
	me->done = 1;
	yield();
}

/* Another function of the same depth: stacks that only their addresses tell apart. */
static void generate_more(void)
{
	struct coroutine *me = running;

	for (int i = 0; i < me->rounds; i++) {
		yield_deep(1);
		recurse(2);
	}
	me->done = 1;
	yield();
}

static unnoted struct coroutine *make(void (*function)(void), int rounds)
{
	struct coroutine *made = calloc(1, sizeof(*made));

	getcontext(&made->context);
	made->context.uc_stack.ss_sp = made->stack;
	made->context.uc_stack.ss_size = sizeof(made->stack);
	made->rounds = rounds;
	makecontext(&made->context, function, 0);
	return made;
}

/* Resumes from another depth than before. */
static __attribute__((noinline)) void resume_deep(struct coroutine *to, int n)
{
	leaf();
	if (n)
		resume_deep(to, n - 1);
	else if (!to->done)
		resume(to);
	leaf();
}

static __attribute__((noinline)) void coroutines(void)
{
	struct coroutine *one = make(generate, 7), *two = make(generate_more, 5);

	while (!one->done || !two->done) {
		for (int i = 0; i < 3; i++) {
			resume_deep(one, i);
			leaf();
		}
		resume_deep(two, 0);
		leaf();
	}
	free(one);
	free(two);
}

/* ---- From libraries back into the program ---- */

static int order(const void *a, const void *b)
{
	leaf();
	return *(const int *)a - *(const int *)b;
}

static __attribute__((noinline)) void callbacks(void)
{
	int number[24];

	for (int i = 0; i < 24; i++)
		number[i] = i * 7919 % 101;
	qsort(number, 24, sizeof(number[0]), order);
	work += (unsigned long)number[3];
}

int main(void)
{
	recurse(6);
	jumps();
	tails();
	trampolines();
	signals();
	coroutines();
	callbacks();
	noted_write();
	return 0;
}
