/* file_limit.c - see file_limit.h. */
#include "capture/file_limit.h"

#include <pthread.h>
#include <sys/resource.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int users;
static int is_raised;
static struct rlimit before;

void file_limit_raise(void)
{
	struct rlimit all;

	pthread_mutex_lock(&lock);
	if (!users++ && getrlimit(RLIMIT_NOFILE, &before) == 0 && before.rlim_cur < before.rlim_max) {
		all = before;
		all.rlim_cur = all.rlim_max;
		is_raised = setrlimit(RLIMIT_NOFILE, &all) == 0;
	}
	pthread_mutex_unlock(&lock);
}

void file_limit_restore(void)
{
	pthread_mutex_lock(&lock);
	if (!--users && is_raised) {
		setrlimit(RLIMIT_NOFILE, &before);
		is_raised = 0;
	}
	pthread_mutex_unlock(&lock);
}
