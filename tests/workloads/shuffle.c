/* shuffle.c - stacks that take turns in no order: whoever has one switches to any other, wherever it is in
 * its calls, again and again without returning in between, or ends and is made anew. By swapcontext, by
 * jump_fcontext, and by a function whose name nobody knows. Two of the stacks begin with the same function.
 * With an argument, each stack has a place of its own where it switches. What is noted is each one's own
 * stack. See stacks.h. */
#include "stacks.h"

#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { others = 5 /* and main()'s own */ };

struct turn {
	struct noted_stack noted;
	ucontext_t context;
	void *sp;
	char stack[65536];
};

static struct turn turn[others + 1];
static int now = others, how, left, has_own_places;
static volatile unsigned long work;

#define SWITCHER(name)                                                                                       \
	void name(void **from, void *to);                                                                    \
	__asm__(".text\n.type " #name ", @function\n" #name ":\n"                                            \
	        "\tpush %rbp\n\tpush %rbx\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n"             \
	        "\tmov %rsp, (%rdi)\n\tmov %rsi, %rsp\n"                                                     \
	        "\tpop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbx\n\tpop %rbp\n\tret\n"            \
	        ".size " #name ", . - " #name "\n")
SWITCHER(jump_fcontext);
SWITCHER(hop);

static unnoted unsigned int chance(unsigned int n)
{
	static unsigned int seed = 12345;

	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % n;
}

static __attribute__((noinline)) void leaf(void)
{
	work++;
}

static inline __attribute__((always_inline, no_instrument_function)) void change(int me, int next)
{
	if (how == 0)
		swapcontext(&turn[me].context, &turn[next].context);
	else if (how == 1)
		jump_fcontext(&turn[me].sp, turn[next].sp);
	else
		hop(&turn[me].sp, turn[next].sp);
	work++;
}

static unnoted void change_anyone(int me, int next)
{
	change(me, next);
}

#define PLACE(number)                                                                                        \
	static unnoted void change##number(int me, int next)                                                 \
	{                                                                                                    \
		work += number;                                                                              \
		change(me, next);                                                                            \
	}
PLACE(1)
PLACE(2)
PLACE(3)
PLACE(4)
PLACE(5)
PLACE(6)

static void (*volatile own_place[others + 1])(int me, int next) = {change1, change2, change3,
                                                                   change4, change5, change6};

static unnoted void switch_to(int next)
{
	const int me = now;

	if (next == me)
		return;
	now = next;
	noted_now = &turn[next].noted;
	if (has_own_places)
		own_place[me](me, next);
	else
		change_anyone(me, next);
	work++;
}

static unnoted void go_anywhere(void)
{
	for (unsigned int i = chance(3); i; i--)
		switch_to(--left < 0 ? others : (int)chance(others + 1));
}

static __attribute__((noinline)) void even(unsigned int n);

static __attribute__((noinline)) void odd(unsigned int n)
{
	leaf();
	if (n)
		even(n - 1);
	go_anywhere();
	leaf();
	work++;
}

static __attribute__((noinline)) void even(unsigned int n)
{
	if (chance(2))
		go_anywhere();
	leaf();
	if (n)
		odd(n - 1);
	leaf();
	work++;
}

static unnoted void walk(void)
{
	for (;;) {
		leaf();
		if (chance(2))
			even(chance(5));
		else
			odd(chance(5));
		go_anywhere();
		if (left < 0)
			switch_to(others);
	}
}

static void one(void)
{
	leaf();
	walk();
}

static void two(void)
{
	leaf();
	walk();
}

static void three(void)
{
	odd(1);
	walk();
}

static void four(void)
{
	even(2);
	walk();
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
	static void (*const function[others])(void) = {one, two, three, four, one};

	for (int i = 0; i < others; i++)
		make(i, function[i]);
	left = 40;
	while (left >= 0) {
		leaf();
		odd(chance(4));
		switch_to((int)chance(others));
	}
	leaf();
}

int main(int argc, char **argv)
{
	(void)argv;
	has_own_places = argc > 1;
	noted_now = &turn[others].noted;
	for (int i = 0; i < (has_own_places ? 3 : 9);
	     i++) { /* who is made anew may wait where it did before */
		how = i % 3;
		all();
	}
	noted_write();
	return 0;
}
