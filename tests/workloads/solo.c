/* solo.c - one thread, linked statically to fixed addresses: code that a program which knows nothing of
 * mappings can follow. Indirect calls, a jump table, recursion deeper than a return stack, system calls, a
 * signal, longjmp. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int seen;
static jmp_buf back;

static void handler(int number)
{
	seen += number;
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static int deep(int depth)
{
	return depth > 0 ? deep(depth - 1) + 1 : seen;
}

__attribute__((noinline)) static void leave(int depth)
{
	if (depth == 0)
		longjmp(back, 1);
	leave(depth - 1);
	seen++;
}

__attribute__((noinline)) static int select_one(int what)
{
	switch (what) {
	case 0:
		return deep(3);
	case 1:
		return deep(100);
	case 2:
		return (int)strlen("solo");
	case 3:
		return seen * 7;
	case 4:
		return getppid() > 0;
	case 5:
		return abs(-seen);
	default:
		return -1;
	}
}

int main(void)
{
	int numbers[24], sum = 0;

	for (int i = 0; i < 24; i++)
		numbers[i] = i * 37 % 29;
	qsort(numbers, 24, sizeof(*numbers), by_value);
	for (int i = 0; i < 24; i++)
		sum += select_one(numbers[i] % 7);
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	if (!setjmp(back))
		leave(5);
	printf("%d %d\n", sum > 0, seen);
	return 0;
}
