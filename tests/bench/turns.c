/* turns.c - what commands take of a processor's time: by themselves, or one as a whole in turns with its
 * parts.
 *
 *     turns COMMAND...
 *     turns TIMES PACE WHOLE... -- PART...
 *
 * The first prints a line "whole SECONDS KIB": user and system time, and peak memory. The second prints that
 * of WHOLE, and a line "part ..." of each of PART 0, PART 1, ... PART TIMES-1. A machine that is fast now and
 * slow a moment later is so to both: all run on one CPU, WHOLE is stopped while a part runs, and then goes on
 * for PACE times as long as that took. They should end together: what is left of one is not compared with
 * anything. Outputs go to /dev/null.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static volatile sig_atomic_t stopped; /* the whole's process id; zero: there is none, or it is over */

/* It would stay behind for good. */
static void end_stopped(int number)
{
	if (stopped)
		kill((pid_t)stopped, SIGKILL);
	if (number)
		_exit(128 + number);
}

static _Noreturn void fail(const char *name, const char *why)
{
	fprintf(stderr, "turns: %s: %s\n", name, why);
	end_stopped(0);
	exit(1);
}

static pid_t start(char **words)
{
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;
	int errcode = posix_spawn_file_actions_init(&actions);

	if (!errcode)
		errcode = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (!errcode)
		errcode = posix_spawnp(&pid, words[0], &actions, NULL, words, environ);
	if (errcode)
		fail(words[0], strerror(errcode));
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

static double seconds_of(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

/* Zero: it goes on. Otherwise it ended, which must have been well, and its line is printed. */
static int has_ended(pid_t pid, const char *name, int flags)
{
	struct rusage usage;
	int status;
	const pid_t ended = wait4(pid, &status, flags, &usage);

	if (!ended)
		return 0;
	if (pid == (pid_t)stopped)
		stopped = 0;
	if (ended < 0 || status)
		fail(name, ended < 0 ? strerror(errno) : "failed");
	printf("%s %.6f %ld\n", name, seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
	       usage.ru_maxrss);
	return 1;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void pass(double seconds)
{
	const time_t whole = (time_t)seconds;
	const struct timespec time = {whole, (long)((seconds - (double)whole) * 1e9)};

	nanosleep(&time, NULL);
}

/* @part has room for its number behind the last of its words. */
static void take_turns(char **whole, char **part, size_t nwords, unsigned long times, double pace)
{
	const pid_t pid = start(whole);

	stopped = pid;
	for (unsigned long i = 0; i < times; ++i) {
		double begin;
		char number[24];

		snprintf(number, sizeof(number), "%lu", i);
		part[nwords] = number;
		if (stopped)
			kill(pid, SIGSTOP);
		begin = now();
		has_ended(start(part), "part", 0);
		if (stopped) {
			kill(pid, SIGCONT);
			pass(pace * (now() - begin));
			has_ended(pid, "whole", WNOHANG);
		}
	}
	if (stopped)
		has_ended(pid, "whole", 0);
}

/* On the CPU where it is, as everything that it starts. */
static void stay_here(void)
{
	const int cpu = sched_getcpu();
	cpu_set_t here;

	CPU_ZERO(&here);
	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return;
	CPU_SET((size_t)cpu, &here);
	sched_setaffinity(0, sizeof(here), &here);
}

static int usage(void)
{
	fprintf(stderr, "usage: turns COMMAND... | turns TIMES PACE WHOLE... -- PART...\n");
	return 2;
}

int main(int argc, char **argv)
{
	char **part = argv + 1, **words;
	size_t nwords = 0;

	while (*part && strcmp(*part, "--"))
		part += 1;
	stay_here();
	if (!*part) {
		if (argc < 2)
			return usage();
		has_ended(start(argv + 1), "whole", 0);
		return 0;
	}
	if (part - argv < 4 || !part[1])
		return usage();
	*part++ = NULL;
	while (part[nwords])
		nwords += 1;
	words = calloc(nwords + 2, sizeof(*words));
	if (!words)
		return 1;
	memcpy(words, part, nwords * sizeof(*words));
	signal(SIGINT, end_stopped);
	signal(SIGTERM, end_stopped);
	signal(SIGHUP, end_stopped);
	take_turns(argv + 3, words, nwords, strtoul(argv[1], NULL, 10), strtod(argv[2], NULL));
	free(words);
	return 0;
}
