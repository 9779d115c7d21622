/* turns.c - what commands take, of a processor's time: one as a whole, others in turns with it.
 *
 *     turns COMMAND...
 *     turns --times N WHOLE... -- PART...
 *
 * The first prints the seconds (user and system, also of what it starts) and the peak memory in KiB of a
 * command; the second a line "whole", and one "part" for each of PART 0, PART 1, ... PART N-1. A machine that
 * is fast now and slow a second later is so to both of them: WHOLE is stopped while a part runs, and goes on
 * for as long as that took. Outputs go to /dev/null.
 */
#include <errno.h>
#include <fcntl.h>
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

static pid_t start(char **words)
{
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;
	int errcode = posix_spawn_file_actions_init(&actions);

	if (!errcode)
		errcode = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (!errcode)
		errcode = posix_spawnp(&pid, words[0], &actions, NULL, words, environ);
	if (errcode) {
		fprintf(stderr, "turns: %s: %s\n", words[0], strerror(errcode));
		exit(1);
	}
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

/* Zero: it goes on. Otherwise it ended, which must have been well, and its line is printed. */
static int has_ended(pid_t pid, const char *name, int flags)
{
	struct rusage usage;
	int status;
	const pid_t ended = wait4(pid, &status, flags, &usage);

	if (!ended)
		return 0;
	if (ended < 0 || status) {
		fprintf(stderr, "turns: %s: %s\n", name, ended < 0 ? strerror(errno) : "failed");
		exit(1);
	}
	printf("%s %.6f %ld\n", name,
	       (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
	       usage.ru_maxrss);
	return 1;
}

static struct timespec now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time;
}

/* Runs PART @number. Returns how long it took. */
static struct timespec run_part(char **part, size_t nwords, unsigned long number)
{
	struct timespec begin = now(), took;
	char text[24];

	snprintf(text, sizeof(text), "%lu", number);
	part[nwords] = text;
	has_ended(start(part), "part", 0);
	took = now();
	took.tv_sec -= begin.tv_sec;
	took.tv_nsec -= begin.tv_nsec;
	if (took.tv_nsec < 0) {
		took.tv_sec -= 1;
		took.tv_nsec += 1000000000;
	}
	return took;
}

static void take_turns(char **whole, char **part, size_t nwords, unsigned long times)
{
	const pid_t pid = start(whole);
	int is_over = 0;

	for (unsigned long i = 0; i < times; ++i) {
		struct timespec took;

		if (!is_over)
			kill(pid, SIGSTOP);
		took = run_part(part, nwords, i);
		if (!is_over) {
			kill(pid, SIGCONT);
			nanosleep(&took, NULL);
			is_over = has_ended(pid, "whole", WNOHANG);
		}
	}
	if (!is_over)
		has_ended(pid, "whole", 0);
}

/* Where the words of PART begin, which "--" is before; NULL: nowhere. */
static char **find_part(char **words)
{
	while (*words && strcmp(*words, "--"))
		words += 1;
	if (!*words)
		return NULL;
	*words = NULL;
	return words + 1;
}

int main(int argc, char **argv)
{
	const int in_turns = argc > 3 && !strcmp(argv[1], "--times");
	char **part = in_turns ? find_part(argv + 3) : NULL, **words;
	size_t nwords = 0;

	if (argc < 2 || (in_turns && (!part || !part[0] || part == argv + 4))) {
		fprintf(stderr, "usage: turns COMMAND... | turns --times N WHOLE... -- PART...\n");
		return 2;
	}
	if (!in_turns) {
		has_ended(start(argv + 1), "whole", 0);
		return 0;
	}
	while (part[nwords])
		nwords += 1;
	words = calloc(nwords + 2, sizeof(*words));
	if (!words)
		return 1;
	memcpy(words, part, nwords * sizeof(*words));
	take_turns(argv + 3, words, nwords, strtoul(argv[2], NULL, 10));
	free(words);
	return 0;
}
