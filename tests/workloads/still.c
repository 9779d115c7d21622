/* still.c - threads, and a child, that do nothing: `still THREADS DIRECTORY`. DIRECTORY/there appears when
 * all are there; all end when DIRECTORY/end does.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *rest(void *nothing)
{
	const struct timespec time = {.tv_nsec = 10000000};

	while (access("end", F_OK) < 0)
		nanosleep(&time, NULL);
	return nothing;
}

int main(int argc, char **argv)
{
	const int nthreads = argc == 3 ? atoi(argv[1]) : 0;
	pid_t pid;

	if (nthreads < 1 || chdir(argv[2]) < 0)
		return 2;
	pid = fork();
	if (pid == 0) {
		rest(NULL);
		return 0;
	}
	for (int i = 1; i < nthreads; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, rest, NULL))
			return 1;
	}
	if (pid < 0 || open("there", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0)
		return 1;
	rest(NULL);
	return waitpid(pid, NULL, 0) != pid;
}
