/* share.c DIR HOW - a process and its child map files of DIR at one address, one after the other, and run
 * what is there. Whose mapping the other one has is a matter of HOW the child is made:
 *
 * "fork", "vfork"; "share": by clone() with CLONE_VM, but not CLONE_THREAD. In "above" and "apart", made like
 * "share" and "fork", it is the parent that maps something while the child lives. "workers" are two children,
 * each of which maps something else where the parent has nothing.
 */
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "two_codes.h"

enum { STACK = 65536, ROUNDS = 3 };

static int fd[2], go[2], done[2];

static int say(const int to[2])
{
	return write(to[1], "", 1) == 1 ? 0 : 1;
}

static int await(const int from[2])
{
	char byte;

	return read(from[0], &byte, 1) == 1 ? 0 : 1;
}

static int map_and_run(void *which)
{
	if (map_file(*(const int *)which))
		return 1;
	run();
	return 0;
}

/* What it was born with, and then what its parent has mapped meanwhile, or has not. */
static int run_twice(void *unused)
{
	(void)unused;
	run();
	if (say(done) || await(go))
		return 1;
	run();
	return 0;
}

static char stack[STACK] __attribute__((aligned(64)));

static pid_t begin(const char *how, int (*function)(void *), void *argument)
{
	pid_t child;

	if (!strcmp(how, "share") || !strcmp(how, "above"))
		return clone(function, stack + STACK, CLONE_VM | SIGCHLD, argument);
	child = fork();
	if (!child)
		_exit(function(argument));
	return child;
}

static int ended_well(pid_t child)
{
	int status;

	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static int below(const char *how)
{
	if (!strcmp(how, "vfork")) {
		const pid_t child = vfork();

		if (!child)
			_exit(map_and_run(&fd[1]));
		return ended_well(child);
	}
	return ended_well(begin(how, map_and_run, &fd[1]));
}

static int above(const char *how)
{
	const pid_t child = begin(how, run_twice, NULL);

	return child > 0 && !await(done) && !map_file(fd[1]) && !say(go) && ended_well(child);
}

/* Each goes on when the other one has mapped its own. */
static int work(void *which)
{
	const int *const mine = which == &fd[0] ? go : done, *const other = which == &fd[0] ? done : go;

	if (map_and_run(which) || say(other) || await(mine))
		return 1;
	run();
	return 0;
}

static int workers(void)
{
	const pid_t first = begin("fork", work, &fd[0]), second = begin("fork", work, &fd[1]);

	return ended_well(first) && ended_well(second);
}

int main(int argc, char **argv)
{
	if (argc != 3 || (fd[0] = make_file(argv[1], 0)) < 0 || (fd[1] = make_file(argv[1], 1)) < 0 ||
	    pipe(go) || pipe(done))
		return 2;
	if (!strcmp(argv[2], "workers"))
		return !workers();
	for (int i = 0; i < ROUNDS; ++i) {
		const int is_above = !strcmp(argv[2], "above") || !strcmp(argv[2], "apart");

		if (map_file(fd[0]))
			return 1;
		run();
		if (!(is_above ? above(argv[2]) : below(argv[2])))
			return 1;
		run();
	}
	return 0;
}
