/* fastest_cpu.c - on which CPU a loop of calls and memory takes least.
 *
 *   fastest_cpu COMMAND...   becomes the command, which stays there
 *
 * BENCH_CPUS in its environment then says which one that is, and how many times as long the others take.
 * A virtual CPU may share its core with somebody else's: then it takes half as long again, and a comparison
 * in which one side ran here and the other there says nothing.
 */
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

static void tell(size_t fastest, const double *seconds)
{
	char text[256];
	int used = snprintf(text, sizeof(text), "CPU %zu", fastest);

	for (size_t cpu = 0; cpu < CPU_SETSIZE && used < (int)sizeof(text); ++cpu)
		if (seconds[cpu] > 0 && cpu != fastest)
			used += snprintf(text + used, sizeof(text) - (size_t)used,
			                 ", CPU %zu %.2f times as slow", cpu,
			                 seconds[cpu] / seconds[fastest]);
	setenv("BENCH_CPUS", text, 1);
}

int main(int argc, char **argv)
{
	static double seconds[CPU_SETSIZE];
	cpu_set_t all;
	size_t fastest;

	if (argc < 2) {
		fprintf(stderr, "usage: fastest_cpu COMMAND...\n");
		return 2;
	}
	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		CPU_ZERO(&all); /* more CPUs than the set has room for: no choice, then */
	fastest = measure(&all, seconds);
	if (fastest != CPU_SETSIZE) {
		(void)move_to(fastest);
		tell(fastest, seconds);
	}
	execvp(argv[1], argv + 1);
	fprintf(stderr, "fastest_cpu: %s: %s\n", argv[1], strerror(errno));
	return 127;
}
