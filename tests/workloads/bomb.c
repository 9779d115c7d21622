/* bomb.c - a fork bomb that burns down: `bomb COUNT WIDTH` starts COUNT processes, WIDTH at a time; every 16th
 * runs another program, /bin/true, the others end at once. Prints how many there were, and how many of them ran
 * a program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { run_every = 16 };

static void start(long number)
{
	const pid_t pid = fork();

	if (pid < 0) {
		perror("fork");
		exit(1);
	}
	if (pid > 0)
		return;
	if (number % run_every == 0)
		execl("/bin/true", "true", (char *)NULL);
	_exit(0);
}

int main(int argc, char **argv)
{
	const long count = argc > 1 ? atol(argv[1]) : 10000, width = argc > 2 ? atol(argv[2]) : 64;
	long running = 0;

	for (long i = 0; i < count; i++) {
		start(i);
		if (++running >= width && wait(NULL) > 0)
			running--;
	}
	while (wait(NULL) > 0)
		;
	printf("%ld %ld\n", count, (count + run_every - 1) / run_every);
	return 0;
}
