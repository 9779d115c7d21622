/* forkdl.c - forks without exec; the child loads a library that the parent has not, and uses it. */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int child(void)
{
	void *library = dlopen("libm.so.6", RTLD_NOW);
	union {
		void *object;
		double (*function)(double, double);
	} power = {library ? dlsym(library, "pow") : NULL};
	double sum = 0;

	if (!power.object)
		return 1;
	for (int i = 0; i < 50; i++)
		sum += power.function(1.01, i);
	printf("%.3f\n", sum);
	fflush(stdout);
	dlclose(library);
	return 0;
}

int main(void)
{
	int status = 1;
	pid_t pid = fork();

	if (!pid)
		return child();
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
