/* fd_path.c - see fd_path.h; proc(5): /proc/PID/fd. */
#include "capture/fd_path.h"

#include <stdio.h>
#include <unistd.h>

int fd_path(pid_t pid, int fd, char path[PATH_MAX])
{
	char name[64];
	ssize_t size;

	snprintf(name, sizeof(name), "/proc/%d/fd/%d", pid, fd);
	size = readlink(name, path, PATH_MAX - 1);
	if (size < 0)
		return -1;
	path[size] = '\0';
	return (int)size;
}
