/* fastest_cpu.c - on which CPU a loop of calls and memory takes least.
 *
 *   fastest_cpu              says which, and how many times as long the others take
 *   fastest_cpu COMMAND...   becomes the command, which stays there
 *
 * A virtual CPU may share its core with somebody else's: then it takes half as long again, and a comparison
 * in which one side ran here and the other there says nothing.
 */
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { rounds = 5, loops = 1 << 20 };

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static __attribute__((noinline)) void step(volatile uint32_t *value)
{
	*value = *value * 5 + 1;
}

static double time_loop(void)
{
	const double begin = now();
	uint32_t value = 0;

	for (unsigned i = 0; i < loops; ++i)
		step(&value);
	return now() - begin;
}

/* Zero, or -1. */
static int move_to(size_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

/* The least time on each CPU in @all, in turns; zero: it was not to be had. Returns the fastest one. */
static size_t measure(const cpu_set_t *all, double *seconds)
{
	size_t fastest = CPU_SETSIZE;

	for (unsigned round = 0; round < rounds; ++round)
		for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
			double spent;

			if (!CPU_ISSET(cpu, all) || move_to(cpu) < 0)
				continue;
			spent = time_loop();
			if (seconds[cpu] <= 0 || spent < seconds[cpu])
				seconds[cpu] = spent;
		}
	for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
		if (seconds[cpu] > 0 && (fastest == CPU_SETSIZE || seconds[cpu] < seconds[fastest]))
			fastest = cpu;
	return fastest;
}

int main(int argc, char **argv)
{
	static double seconds[CPU_SETSIZE];
	cpu_set_t all;
	size_t fastest;

	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		CPU_ZERO(&all); /* more CPUs than the set has room for: no choice, then */
	fastest = measure(&all, seconds);
	if (argc > 1) {
		if (fastest != CPU_SETSIZE)
			(void)move_to(fastest);
		execvp(argv[1], argv + 1);
		fprintf(stderr, "fastest_cpu: %s: %s\n", argv[1], strerror(errno));
		return 127;
	}
	if (fastest == CPU_SETSIZE)
		return 0;
	printf("CPU %zu", fastest);
	for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
		if (seconds[cpu] > 0 && cpu != fastest)
			printf(", CPU %zu %.2f times as slow", cpu, seconds[cpu] / seconds[fastest]);
	printf("\n");
	return 0;
}
