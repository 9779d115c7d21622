/* headless.c - a process whose first thread has ended, `headless DIRECTORY`: another one goes on, and then
 * loads a library, whose code it runs. DIRECTORY/headless appears when it has; it ends when DIRECTORY/end
 * does.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void rest(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

/* A zombie: /proc shows no mappings of it, and no files. */
static int has_first_thread(void)
{
	char text[256] = "";
	const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	const ssize_t size = read(fd, text, sizeof(text) - 1);

	close(fd);
	return size <= 0 || !strstr(text, ") Z");
}

static void *go_on(void *nothing)
{
	double (*cosine)(double);
	void *library;

	while (has_first_thread())
		rest();
	library = dlopen("libm.so.6", RTLD_NOW);
	*(void **)&cosine = library ? dlsym(library, "cos") : NULL;
	if (!cosine || cosine(0) < 0.5 || open("headless", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0)
		exit(1);
	while (access("end", F_OK) < 0)
		rest();
	exit(0);
	return nothing;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 2 || chdir(argv[1]) < 0 || pthread_create(&thread, NULL, go_on, NULL))
		return 2;
	pthread_exit(NULL);
}
