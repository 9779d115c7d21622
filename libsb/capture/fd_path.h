/* fd_path.h - what a file descriptor of a process is, by name. */
#ifndef SB_CAPTURE_FD_PATH_H
#define SB_CAPTURE_FD_PATH_H

#include <limits.h>
#include <sys/types.h>

/* The length of the name, or -1: there is none, or we may not look. */
int fd_path(pid_t pid, int fd, char path[PATH_MAX]);

#endif
