/* compare.c - runs commands in turn, several rounds, and prints time and peak memory of each.
 *
 *   compare ROUNDS NAME COMMAND [NAME COMMAND]...
 *
 * Commands go through sh, their output to /dev/null. The commands alternate within a round, so that
 * whatever else the machine does hits all of them; the last column is the ratio of medians to the
 * last command, which by convention is ours.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { max_rounds = 99 };

struct candidate {
	const char *name, *command;
	double seconds[max_rounds];
	long peak_kib;
	int status;
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void run_child(const char *command)
{
	int null = open("/dev/null", O_RDWR);

	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

static void run(struct candidate *candidate, int round)
{
	double start = now();
	pid_t pid = fork();
	struct rusage usage;
	int status;

	if (pid == 0)
		run_child(candidate->command);
	if (pid < 0 || wait4(pid, &status, 0, &usage) < 0) {
		perror("compare");
		exit(1);
	}
	candidate->seconds[round] = now() - start;
	if (usage.ru_maxrss > candidate->peak_kib)
		candidate->peak_kib = usage.ru_maxrss;
	if (status)
		candidate->status = status;
}

static int by_value(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 0, n = (argc - 2) / 2;
	struct candidate *candidate;

	if (rounds < 1 || rounds > max_rounds || n < 1 || argc % 2) {
		fprintf(stderr, "usage: compare ROUNDS NAME COMMAND [NAME COMMAND]...\n");
		return 2;
	}
	candidate = calloc((size_t)n, sizeof(*candidate));
	if (!candidate)
		return 1;
	for (int i = 0; i < n; ++i) {
		candidate[i].name = argv[2 + 2 * i];
		candidate[i].command = argv[3 + 2 * i];
	}
	for (int round = 0; round < rounds; ++round)
		for (int i = 0; i < n; ++i)
			run(&candidate[i], round);
	for (int i = 0; i < n; ++i)
		qsort(candidate[i].seconds, (size_t)rounds, sizeof(double), by_value);
	printf("| command | median s | best s | peak MiB | times ours |\n|---|---|---|---|---|\n");
	for (int i = 0; i < n; ++i)
		printf("| %s%s | %.3f | %.3f | %.1f | %.1f |\n", candidate[i].name,
		       candidate[i].status ? " (FAILED)" : "", candidate[i].seconds[rounds / 2],
		       candidate[i].seconds[0], (double)candidate[i].peak_kib / 1024,
		       candidate[i].seconds[rounds / 2] / candidate[n - 1].seconds[rounds / 2]);
	free(candidate);
	return 0;
}
