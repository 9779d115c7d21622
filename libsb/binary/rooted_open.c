/* rooted_open.c - see rooted_open.h: openat2(2) where the kernel has it, realpath(3) elsewhere. */
#include "binary/rooted_open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A descriptor that only names the file, or -1. */
static int open_in_root(const char *root, const char *name)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
	                       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	int directory = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = -1, saved;

	if (directory < 0)
		return -1;
	/* EAGAIN: somebody renamed a directory on the way, so that ".." could not be judged. */
	for (int tries = 0; tries < 8; ++tries) {
		fd = (int)syscall(SYS_openat2, directory, name, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	saved = errno;
	close(directory);
	errno = saved;
	return fd;
}

static int is_below(const char *path, const char *root)
{
	const size_t length = strlen(root);

	if (strcmp(root, "/") == 0)
		return 1;
	return strncmp(path, root, length) == 0 && path[length] == '/';
}

/* Without openat2(): links that lead out of the root are refused, not followed within it. */
static int open_checked(const char *root, const char *name)
{
	char *joined, *real_root = realpath(root, NULL), *real = NULL;
	int fd = -1;

	if (real_root && asprintf(&joined, "%s%s", strcmp(root, "/") == 0 ? "" : root, name) >= 0) {
		real = realpath(joined, NULL);
		free(joined);
	}
	if (real && is_below(real, real_root))
		fd = open(real, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	else if (real)
		errno = ENOENT;
	free(real);
	free(real_root);
	return fd;
}

/* What a descriptor is called now. */
static char *path_of(int fd)
{
	char link[64], path[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length <= 0 || length >= (ssize_t)sizeof(path) - 1)
		return NULL;
	path[length] = '\0';
	return strdup(path);
}

static uint64_t nanoseconds_of(const struct timespec *time)
{
	return time->tv_sec < 0 ? 0 : (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

/* Opens for reading what @named names. */
static int reopen(struct rooted_file *file, int named)
{
	struct stat before, after;

	file->path = path_of(named);
	if (!file->path)
		return -1;
	file->fd = open(file->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	if (file->fd >= 0 && fstat(named, &before) == 0 && fstat(file->fd, &after) == 0 &&
	    before.st_dev == after.st_dev && before.st_ino == after.st_ino) {
		file->size = (uint64_t)after.st_size;
		file->maj = major(after.st_dev);
		file->min = minor(after.st_dev);
		file->ino = after.st_ino;
		file->written = nanoseconds_of(&after.st_mtim);
		return 0;
	}
	rooted_close(file);
	return -1;
}

enum rooted_status rooted_open_named(struct rooted_file *file, int named)
{
	struct stat status;

	*file = (struct rooted_file){.fd = -1};
	if (fstat(named, &status) < 0)
		return rooted_failed;
	if (!S_ISREG(status.st_mode))
		return rooted_not_regular;
	return reopen(file, named) == 0 ? rooted_found : rooted_failed;
}

static int open_name(const char *root, const char *name)
{
	const int named = open_in_root(root, name);

	if (named < 0 && (errno == ENOSYS || errno == EPERM || errno == EINVAL || errno == E2BIG))
		return open_checked(root, name);
	return named;
}

int rooted_open_folder(const char *root, const char *name)
{
	const int named = open_name(root, name);
	int fd;

	if (named < 0)
		return -1;
	fd = openat(named, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(named);
	return fd;
}

enum rooted_status rooted_open(struct rooted_file *file, const char *root, const char *name)
{
	enum rooted_status result;
	int named;

	*file = (struct rooted_file){.fd = -1};
	named = open_name(root, name);
	if (named < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? rooted_missing : rooted_failed;
	result = rooted_open_named(file, named);
	close(named);
	return result;
}

void rooted_close(struct rooted_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	*file = (struct rooted_file){.fd = -1};
}
