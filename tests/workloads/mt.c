/* mt.c - four threads that share a counter behind a mutex, and call through a pointer. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4 };

struct shared {
	pthread_mutex_t lock;
	unsigned long sum;
	int rounds;
};

static unsigned long twice(unsigned long x)
{
	return 2 * x;
}

static unsigned long fibonacci(unsigned long n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static void *work(void *argument)
{
	unsigned long (*const step[2])(unsigned long) = {twice, fibonacci};
	struct shared *shared = argument;

	for (int i = 0; i < shared->rounds; i++) {
		unsigned long value = step[i & 1]((unsigned long)i % 8);

		pthread_mutex_lock(&shared->lock);
		shared->sum += value;
		pthread_mutex_unlock(&shared->lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct shared shared = {.lock = PTHREAD_MUTEX_INITIALIZER, .rounds = argc > 1 ? atoi(argv[1]) : 400};
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&thread[i], NULL, work, &shared))
			return 1;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%lu\n", shared.sum);
	return 0;
}
