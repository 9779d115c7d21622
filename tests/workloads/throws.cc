// throws.cc - exceptions: through functions that clean up, caught and thrown again, in recursion. See
// stacks.h.
#include "stacks.h"

static volatile unsigned long work;

__attribute__((noinline)) static void leaf()
{
	work = work + 1;
}

struct refused {
	int number;
};

struct cleaned {
	__attribute__((noinline)) ~cleaned()
	{
		leaf();
	}
};

__attribute__((noinline)) static void thrower(int n)
{
	leaf();
	if (n % 3 == 0)
		throw refused{n};
	if (n % 3 == 1)
		throw n;
	throw "neither";
}

__attribute__((noinline)) static void through(int depth, int n)
{
	cleaned object;

	leaf();
	if (depth)
		through(depth - 1, n);
	else
		thrower(n);
	leaf();
}

__attribute__((noinline)) static void again(int n)
{
	try {
		through(n % 4, n);
	} catch (int) {
		leaf();
		throw;
	}
	leaf();
}

// Only the outermost one catches strings.
__attribute__((noinline)) static void levels(int depth, int n)
{
	try {
		leaf();
		if (depth)
			levels(depth - 1, n);
		else
			again(n);
	} catch (const refused &) {
		leaf();
		if (depth < 2)
			throw;
	}
	leaf();
}

int main()
{
	for (int i = 0; i < 9; i++) {
		try {
			levels(i % 5, i);
		} catch (const refused &) {
			leaf();
		} catch (int) {
			leaf();
		} catch (const char *) {
			leaf();
		}
		leaf();
	}
	noted_write();
	return 0;
}
