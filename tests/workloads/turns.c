/* turns.c - stacks that take turns by one function, so that all wait at the same address: in a ring, and with
 * main() in between; by swapcontext, and by a jump, as libraries of coroutines make it. What is noted is each
 * one's own stack. See stacks.h. */
#include "stacks.h"

#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { others = 3 /* and main()'s own */ };

struct turn {
	struct noted_stack noted;
	ucontext_t context;
	void *sp;
	char stack[65536];
};

static struct turn turn[others + 1];
static int now = others, by_jump, is_ring, rounds;
static volatile unsigned long work;

void jump_fcontext(void **from, void *to);
__asm__(".text\n"
        ".type jump_fcontext, @function\n"
        "jump_fcontext:\n\tpush %rbp\n\tpush %rbx\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n"
        "\tmov %rsp, (%rdi)\n\tmov %rsi, %rsp\n"
        "\tpop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbx\n\tpop %rbp\n\tpop %r8\n\tjmp *%r8\n"
        ".size jump_fcontext, . - jump_fcontext\n");

static __attribute__((noinline)) void leaf(void)
{
	work++;
}

static unnoted void switch_to(int next)
{
	const int me = now;

	now = next;
	noted_now = &turn[next].noted;
	if (by_jump)
		jump_fcontext(&turn[me].sp, turn[next].sp);
	else
		swapcontext(&turn[me].context, &turn[next].context);
	work++;
}

static __attribute__((noinline)) void down(int n, int next)
{
	leaf();
	if (n)
		down(n - 1, next);
	else
		switch_to(next);
	leaf();
}

static __attribute__((noinline)) void go_round(int me)
{
	for (;;) {
		leaf();
		down(me + 1, is_ring ? (me + 1) % others : others);
		leaf();
		if (--rounds <= 0)
			switch_to(others);
	}
}

static void one(void)
{
	go_round(0);
}

static void two(void)
{
	go_round(1);
}

static void three(void)
{
	go_round(2);
}

static unnoted void make(int i, void (*function)(void))
{
	void **top = (void **)(turn[i].stack + sizeof(turn[i].stack) - 64);

	memset(&turn[i].noted, 0, sizeof(turn[i].noted));
	getcontext(&turn[i].context);
	turn[i].context.uc_stack.ss_sp = turn[i].stack;
	turn[i].context.uc_stack.ss_size = sizeof(turn[i].stack);
	makecontext(&turn[i].context, function, 0);
	*--top = NULL;
	*--top = (void *)(uintptr_t)function;
	turn[i].sp = top - 6;
}

static __attribute__((noinline)) void all(void)
{
	make(0, one);
	make(1, two);
	make(2, three);
	for (int i = 0; i < 6; i++) {
		rounds = 7;
		down(1, i % others);
		leaf();
	}
}

int main(void)
{
	noted_now = &turn[others].noted;
	for (int i = 0; i < 4; i++) {
		by_jump = i & 1;
		is_ring = i >> 1;
		all();
	}
	noted_write();
	return 0;
}
