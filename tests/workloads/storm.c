/* storm.c - begins threads and processes all the time: `storm ROUNDS FILE`, in each of which two threads
 * come and go, and in every fourth a process. The rounds count from when FILE is there.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { fork_every = 4, nap_ns = 300000 };

static void *nap(void *nothing)
{
	const struct timespec time = {.tv_nsec = nap_ns};

	nanosleep(&time, NULL);
	return nothing;
}

static void fork_one(void)
{
	const pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	if (pid < 0 || waitpid(pid, NULL, 0) < 0)
		exit(1);
}

int main(int argc, char **argv)
{
	const long rounds = argc > 1 ? atol(argv[1]) : 1000;
	const char *file = argc > 2 ? argv[2] : "/";
	int counts = 0;

	for (long i = 0, left = rounds; left > 0; i++, left -= counts) {
		pthread_t thread[2];

		for (int k = 0; k < 2; k++)
			if (pthread_create(&thread[k], NULL, nap, NULL))
				return 1;
		if (i % fork_every == 0)
			fork_one();
		for (int k = 0; k < 2; k++)
			pthread_join(thread[k], NULL);
		counts = counts || access(file, F_OK) == 0;
	}
	return 0;
}
