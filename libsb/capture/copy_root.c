/* copy_root.c - see copy_root.h. */
#include "copy_root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "capture/exec_map_file.h"

#define VDSO_NAME "[vdso]"

/* A file that has been copied. */
struct copied_file {
	char *name;
	int growing; /* it is to be copied again in the end */
};

struct copy_root {
	int directory;
	char *path;
	struct copied_file *done;
	size_t ndone, room;
};

static int fail(const char *path, struct sb_error *err)
{
	return sb_error_set(err, -sbe_io, path, UINT64_MAX, "%s", strerror(errno));
}

int copy_root_open(struct copy_root **out, const char *directory, struct sb_error *err)
{
	struct copy_root *root = calloc(1, sizeof(*root));
	int status;

	*out = NULL;
	if (!root)
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	root->directory = -1;
	if (mkdir(directory, 0777) && errno != EEXIST) {
		status = fail(directory, err);
		goto failed;
	}
	root->directory = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	root->path = strdup(directory);
	if (root->directory < 0 || !root->path) {
		status = fail(directory, err);
		goto failed;
	}
	*out = root;
	return 0;
failed:
	copy_root_close(root);
	return status;
}

static int is_done(const struct copy_root *root, const char *name)
{
	for (size_t i = 0; i < root->ndone; i++) {
		if (!strcmp(root->done[i].name, name))
			return 1;
	}
	return 0;
}

/* A jitdump is written for as long as the process runs. */
static int is_growing(const char *name)
{
	const char *end = strrchr(name, '.');

	return strstr(name, "/jit-") && end && !strcmp(end, ".dump");
}

static int mark_done(struct copy_root *root, const char *name, struct sb_error *err)
{
	if (root->ndone == root->room) {
		size_t room = root->room ? 2 * root->room : 16;
		struct copied_file *done = realloc(root->done, room * sizeof(*done));

		if (!done)
			return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
		root->done = done;
		root->room = room;
	}
	root->done[root->ndone] = (struct copied_file){strdup(name), is_growing(name)};
	if (!root->done[root->ndone].name)
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	root->ndone++;
	return 0;
}

static int make_parents(const struct copy_root *root, const char *name, struct sb_error *err)
{
	char path[PATH_MAX];

	for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(path, sizeof(path), "%.*s", (int)(slash - name), name);
		if (mkdirat(root->directory, path, 0777) && errno != EEXIST)
			return fail(path, err);
	}
	return 0;
}

static int create(const struct copy_root *root, const char *name)
{
	return openat(root->directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
}

static int copy_bytes(int to, int from)
{
	ssize_t n;

	do
		n = sendfile(to, from, NULL, 1 << 24);
	while (n > 0);
	return n < 0 ? -1 : 0;
}

/* What has its name now is better than nothing, where files cannot be told from each other (overlays). */
static int open_mapped(pid_t pid, const struct exec_map *map)
{
	const int fd = exec_map_open(pid, map);

	return fd >= 0 ? fd : open(map->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* /dev/zero can be mapped as well, but not copied. */
static int has_end(int fd)
{
	struct stat info;

	return !fstat(fd, &info) && S_ISREG(info.st_mode);
}

/* One that has no name any more can be had only by who may look into map_files. */
static int is_deleted(const char *name)
{
	static const char mark[] = " (deleted)";
	const size_t size = strlen(name);

	return size >= sizeof(mark) && !strcmp(name + size - (sizeof(mark) - 1), mark);
}

/* The file at @from, from its beginning, as @name. */
static int copy_descriptor(const struct copy_root *root, const char *name, int from, struct sb_error *err)
{
	int to = create(root, name + strspn(name, "/")), status = 0;

	if (to < 0 || lseek(from, 0, SEEK_SET) < 0 || copy_bytes(to, from))
		status = fail(name, err);
	if (to >= 0 && close(to) && !status)
		status = fail(name, err);
	return status;
}

static int copy_file(const struct copy_root *root, pid_t pid, const struct exec_map *map,
                     struct sb_error *err)
{
	const int from = open_mapped(pid, map);
	int status = 0;

	if (from < 0)
		return is_deleted(map->name) ? 0 : fail(map->name, err);
	if (has_end(from)) {
		status = make_parents(root, map->name + strspn(map->name, "/"), err);
		if (status >= 0)
			status = copy_descriptor(root, map->name, from, err);
	}
	close(from);
	return status;
}

static int copy_vdso(const struct copy_root *root, pid_t pid, const struct exec_map *map,
                     struct sb_error *err)
{
	size_t size = (size_t)(map->end - map->begin);
	uint8_t *bytes = malloc(size);
	struct iovec local = {bytes, size}, remote = {(void *)(uintptr_t)map->begin, size};
	int fd, status = 0;

	if (!bytes)
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	fd = create(root, VDSO_NAME);
	if (fd < 0 || process_vm_readv(pid, &local, 1, &remote, 1, 0) != (ssize_t)size ||
	    write(fd, bytes, size) != (ssize_t)size)
		status = fail(VDSO_NAME, err);
	if (fd >= 0 && close(fd) && !status)
		status = fail(VDSO_NAME, err);
	free(bytes);
	return status;
}

int copy_root_add(struct copy_root *root, pid_t pid, const struct exec_map *map, struct sb_error *err)
{
	int vdso = !strcmp(map->name, VDSO_NAME), status;

	if ((!vdso && map->name[0] != '/') || !strncmp(map->name, "//", 2) || is_done(root, map->name))
		return 0;
	status = mark_done(root, map->name, err);
	if (status < 0)
		return status;
	return vdso ? copy_vdso(root, pid, map, err) : copy_file(root, pid, map, err);
}

int copy_root_finish(struct copy_root *root, struct sb_error *err)
{
	int status = 0;

	for (size_t i = 0; root && i < root->ndone && !status; i++) {
		int from = root->done[i].growing ? open(root->done[i].name, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;

		if (from < 0)
			continue; /* what it was in the beginning is better than nothing */
		status = copy_descriptor(root, root->done[i].name, from, err);
		close(from);
	}
	return status;
}

void copy_root_close(struct copy_root *root)
{
	if (!root)
		return;
	if (root->directory >= 0)
		close(root->directory);
	for (size_t i = 0; i < root->ndone; i++)
		free(root->done[i].name);
	free(root->done);
	free(root->path);
	free(root);
}
