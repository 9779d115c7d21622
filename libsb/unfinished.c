/* unfinished.c - see unfinished.h.
 *
 * A directory holds an empty file, the mark, until it has its name: nothing else that somebody may have
 * called NAME.tmp.backup is removed. Between the making of a file and its being locked somebody may take it
 * for one that was left; so whoever has locked it looks whether it is still there.
 */
#include "unfinished.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char mark[] = ".sbtrace-unfinished";

enum { random_letters = 6, depth_most = 64 };

/* ---- Where -------------------------------------------------------------------------------------- */

char *unfinished_place(const char *path)
{
	struct stat info;

	if (lstat(path, &info) < 0) {
		if (path[0])
			return strdup(path);
		errno = ENOENT;
		return NULL;
	}
	if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
		errno = EINVAL;
		return NULL;
	}
	return realpath(path, NULL);
}

/* ---- Making ----------------------------------------------------------------------------------- */

/* Whether it has been removed meanwhile. Where there are no such locks, nobody removes it. */
static int is_gone(int fd)
{
	struct stat info;

	if (flock(fd, LOCK_EX) < 0)
		return 0;
	return fstat(fd, &info) == 0 && info.st_nlink == 0;
}

static int make_file(char *temporary)
{
	return mkostemp(temporary, O_CLOEXEC);
}

static int open_directory(int at, const char *name)
{
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int make_directory(char *temporary)
{
	int fd;

	do {
		memset(temporary + strlen(temporary) - random_letters, 'X', random_letters);
		if (!mkdtemp(temporary))
			return -1;
		fd = open_directory(AT_FDCWD, temporary);
	} while (fd < 0 && errno == ENOENT); /* somebody took it for one that was left */
	return fd;
}

static int make(const char *path, char **temporary, int (*one)(char *temporary))
{
	for (;;) {
		int fd = -1;

		if (asprintf(temporary, "%s.tmp.XXXXXX", path) < 0)
			*temporary = NULL;
		else
			fd = one(*temporary);
		if (fd >= 0 && !is_gone(fd))
			return fd;
		free(*temporary);
		*temporary = NULL;
		if (fd < 0)
			return -1;
		close(fd);
	}
}

int unfinished_file(const char *path, char **temporary)
{
	return make(path, temporary, make_file);
}

int unfinished_directory(const char *path, char **temporary)
{
	const int fd = make(path, temporary, make_directory);
	int marked, error;

	if (fd < 0)
		return -1;
	marked = openat(fd, mark, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (marked >= 0) {
		close(marked);
		return fd;
	}
	error = errno;
	rmdir(*temporary);
	free(*temporary);
	*temporary = NULL;
	close(fd);
	errno = error;
	return -1;
}

int unfinished_give_name(int fd, const char *path, char **temporary)
{
	char own[64];
	int free_name;

	(void)flock(fd, LOCK_EX);
	/* Which name is free, is found out by making a file of that name. */
	free_name = make(path, temporary, make_file);
	if (free_name < 0)
		return -1;
	unlink(*temporary);
	close(free_name);
	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, own, AT_FDCWD, *temporary, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	free(*temporary);
	*temporary = NULL;
	return -1;
}

/* ---- The end ---------------------------------------------------------------------------------- */

int unfinished_rename_directory(int fd, const char *temporary, const char *path)
{
	if (rename(temporary, path) < 0)
		return -1;
	(void)unlinkat(fd, mark, 0);
	return 0;
}

/* All that is in it; the mark last, in case that we are killed, too. */
static void empty(int directory, int depth)
{
	const int fd = dup(directory);
	DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	if (!stream && fd >= 0)
		close(fd);
	if (!stream)
		return;
	rewinddir(stream);
	while ((entry = readdir(stream))) {
		const char *name = entry->d_name;
		int below;

		if (!strcmp(name, ".") || !strcmp(name, "..") || (!depth && !strcmp(name, mark)) ||
		    unlinkat(directory, name, 0) == 0 || depth == depth_most)
			continue;
		below = open_directory(directory, name);
		if (below < 0)
			continue;
		empty(below, depth + 1);
		close(below);
		(void)unlinkat(directory, name, AT_REMOVEDIR);
	}
	closedir(stream);
	if (!depth)
		(void)unlinkat(directory, mark, 0);
}

void unfinished_remove_directory(int fd, const char *temporary)
{
	empty(fd, 0);
	(void)rmdir(temporary);
}

/* ---- What was left ---------------------------------------------------------------------------- */

/* "NAME.tmp.XXXXXX", of @name. */
static int is_temporary(const char *entry, const char *name)
{
	static const char between[] = ".tmp.";
	const size_t size = strlen(name);

	if (strncmp(entry, name, size) != 0 || strncmp(entry + size, between, sizeof(between) - 1) != 0)
		return 0;
	entry += size + sizeof(between) - 1;
	for (size_t i = 0; i < random_letters; ++i)
		if (!isalnum((unsigned char)entry[i]))
			return 0;
	return !entry[random_letters];
}

static int begins_with(int fd, const char *magic, const struct stat *info)
{
	char bytes[64];
	const size_t size = strlen(magic);

	return !info->st_size || (size <= sizeof(bytes) && pread(fd, bytes, size, 0) == (ssize_t)size &&
	                          !memcmp(bytes, magic, size));
}

static int remove_file(int directory, const char *name, int fd, const struct stat *info, const char *magic)
{
	return magic && begins_with(fd, magic, info) && unlinkat(directory, name, 0) == 0;
}

static int remove_tree(int directory, const char *name, int fd)
{
	/* The mark comes first. */
	if (unlinkat(directory, name, AT_REMOVEDIR) == 0)
		return 1;
	if (faccessat(fd, mark, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	empty(fd, 0);
	return unlinkat(directory, name, AT_REMOVEDIR) == 0;
}

/* Whether it was one that was left, and is no more. */
static int clear_one(int directory, const char *name, const char *magic)
{
	const int fd = openat(directory, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	struct stat info;
	int removed = 0;

	if (fd < 0)
		return 0;
	if (fstat(fd, &info) == 0 && info.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0) {
		if (S_ISREG(info.st_mode))
			removed = remove_file(directory, name, fd, &info, magic);
		else if (S_ISDIR(info.st_mode))
			removed = remove_tree(directory, name, fd);
	}
	close(fd);
	return removed;
}

void unfinished_clear(const char *path, const char *magic, void (*removed)(void *context, const char *name),
                      void *context)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char *parent = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	DIR *stream = parent ? opendir(parent) : NULL;
	struct dirent *entry;

	while (stream && *name && (entry = readdir(stream)))
		if (is_temporary(entry->d_name, name) && clear_one(dirfd(stream), entry->d_name, magic) &&
		    removed)
			removed(context, entry->d_name);
	if (stream)
		closedir(stream);
	free(parent);
}
