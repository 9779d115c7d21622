/* box.c - a container's shell: box STEP... takes one step after the other. unshare(1), mount(8), chroot(8),
 * readlink(1) and sleep(1) from a script do the same, but their dynamic linkers and C libraries would be
 * nearly all that is recorded.
 *
 *   unshare                the rest in PID and mount namespaces of its own
 *   bind FROM TO           mounts a directory at another place
 *   overlay OPTIONS TO     mounts an overlay
 *   chroot DIRECTORY
 *   namespace FILE         writes the number of its PID namespace
 *   note FILE WHAT         appends "WHAT PID NAMESPACE", its PID as /proc has it
 *   join FILE              writes its PID: into a cgroup
 *   await FILE             until there is something in it
 *   linger                 for a second
 *   run COMMAND... ,       which shall succeed
 *   exec COMMAND...
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void check(int right, const char *what)
{
	if (right)
		return;
	perror(what);
	exit(1);
}

/* As this child is done, so is its parent. */
static void pass_on(pid_t child)
{
	int status = 0;

	check(waitpid(child, &status, 0) == child, "waitpid");
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void unshare_all(void)
{
	pid_t child;

	check(!unshare(CLONE_NEWPID | CLONE_NEWNS), "unshare");
	child = fork();
	check(child >= 0, "fork");
	if (child)
		pass_on(child);
	check(!mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), "mount: private");
}

static void write_file(const char *path, int flags, const char *text)
{
	int file = open(path, O_WRONLY | flags, 0644);

	check(file >= 0, path);
	check(write(file, text, strlen(text)) == (ssize_t)strlen(text), path);
	close(file);
}

static void read_link(const char *path, char *target, size_t size)
{
	ssize_t length = readlink(path, target, size - 1);

	check(length > 0, path);
	target[length] = '\0';
}

static void write_namespace(const char *path)
{
	char link[64];

	read_link("/proc/self/ns/pid", link, sizeof(link));
	*strchrnul(link, ']') = '\0';
	write_file(path, O_CREAT | O_TRUNC, strchrnul(link, '[') + 1);
}

static void note(const char *path, const char *what)
{
	char pid[32], namespace[64], line[160];

	read_link("/proc/self", pid, sizeof(pid));
	read_link("/proc/self/ns/pid", namespace, sizeof(namespace));
	snprintf(line, sizeof(line), "%s %s %s\n", what, pid, namespace);
	write_file(path, O_CREAT | O_APPEND, line);
}

static void join(const char *path)
{
	char pid[32];

	snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	write_file(path, 0, pid);
}

static void await(const char *path)
{
	const struct timespec moment = {.tv_nsec = 20000000};
	struct stat info;

	while (stat(path, &info) || !info.st_size)
		nanosleep(&moment, NULL);
}

static void linger(void)
{
	nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
}

/* Returns what follows the command. */
static char **run(char **command)
{
	char **end = command;
	int status = 0;
	pid_t child;

	while (*end && strcmp(*end, ","))
		++end;
	check(*end != NULL, "run: no ','");
	*end = NULL;
	child = fork();
	check(child >= 0, "fork");
	if (!child) {
		execv(command[0], command);
		_exit(127);
	}
	check(waitpid(child, &status, 0) == child && !status, command[0]);
	return end + 1;
}

/* One step that begins at @step; returns the next. */
static char **take(char **step)
{
	const char *name = step[0], *first = step[1], *second = first ? step[2] : NULL;

	if (!strcmp(name, "unshare"))
		return unshare_all(), step + 1;
	if (!strcmp(name, "linger"))
		return linger(), step + 1;
	check(first != NULL, name);
	if (!strcmp(name, "chroot"))
		return check(!chroot(first) && !chdir("/"), first), step + 2;
	if (!strcmp(name, "namespace"))
		return write_namespace(first), step + 2;
	if (!strcmp(name, "join"))
		return join(first), step + 2;
	if (!strcmp(name, "await"))
		return await(first), step + 2;
	if (!strcmp(name, "run"))
		return run(step + 1);
	if (!strcmp(name, "exec")) {
		execv(first, step + 1);
		check(0, first);
	}
	check(second != NULL, name);
	if (!strcmp(name, "bind"))
		return check(!mount(first, second, NULL, MS_BIND, NULL), second), step + 3;
	if (!strcmp(name, "overlay"))
		return check(!mount("overlay", second, "overlay", 0, first), second), step + 3;
	if (!strcmp(name, "note"))
		return note(first, second), step + 3;
	check(0, name);
	return NULL;
}

int main(int argc, char **argv)
{
	(void)argc;
	for (char **step = argv + 1; *step;)
		step = take(step);
	return 0;
}
