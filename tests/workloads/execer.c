/* execer.c - replaces its image by itself a few times: from its only thread, and, with other threads
 * alive, from one that is not the first. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *spin(void *argument)
{
	volatile unsigned long *counter = argument;

	/* With a condition: nobody can count the rounds of `for (;;)` in a trace of Intel PT. */
	while (*counter != (unsigned long)-1)
		++*counter;
	return NULL;
}

static void replace(int rounds)
{
	char argument[16];

	snprintf(argument, sizeof(argument), "%d", rounds);
	execl("/proc/self/exe", "execer", argument, (char *)NULL);
	_exit(1);
}

static void *replace_from_thread(void *argument)
{
	replace(*(int *)argument);
	return NULL;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 3;
	unsigned long counter = 0;
	pthread_t thread[2];

	if (!rounds)
		return 0;
	rounds--;
	if (rounds % 2)
		replace(rounds);
	if (pthread_create(&thread[0], NULL, spin, &counter) ||
	    pthread_create(&thread[1], NULL, replace_from_thread, &rounds))
		return 1;
	pthread_join(thread[1], NULL);
	return 1;
}
