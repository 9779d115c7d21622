/* mapped_file.c - regular files, mapped read-only; and the two helpers every file of this room needs. */
#include "perfdata/perfdata_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int map_descriptor(struct mapped_file *map, int fd, const char *path, struct sb_error *err)
{
	struct stat status;
	void *bytes;

	if (fstat(fd, &status) < 0)
		return sb_error_set(err, -sbe_io, path, UINT64_MAX, "%s", strerror(errno));
	if (!S_ISREG(status.st_mode))
		return sb_error_set(err, -sbe_unsupported, path, UINT64_MAX, "not a regular file");
	map->size = (uint64_t)status.st_size;
	if (!map->size)
		return 0;
	bytes = mmap(NULL, map->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return sb_error_set(err, -sbe_io, path, UINT64_MAX, "mapping it failed: %s", strerror(errno));
	/* Pages come and go one by one: huge ones would stay whole beside what is released. */
	(void)madvise(bytes, map->size, MADV_NOHUGEPAGE);
	map->bytes = bytes;
	return 0;
}

int sb_mapped_file_open(struct mapped_file *map, const char *path, struct sb_error *err)
{
	int fd, status;

	memset(map, 0, sizeof(*map));
	/* Opening a FIFO must not wait for its writer. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return sb_error_set(err, errno == ENOENT ? -sbe_not_found : -sbe_io, path, UINT64_MAX, "%s",
		                    strerror(errno));
	map->path = strdup(path);
	status = map->path ? map_descriptor(map, fd, path, err)
	                   : sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	close(fd);
	if (status < 0)
		sb_mapped_file_close(map);
	return status;
}

void sb_mapped_file_close(struct mapped_file *map)
{
	if (map->bytes)
		munmap((void *)(uintptr_t)map->bytes, map->size);
	free(map->path);
	memset(map, 0, sizeof(*map));
}

void sb_mapped_file_release(const struct mapped_file *map, uint64_t begin, uint64_t end)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	begin = (begin + page - 1) & ~(page - 1);
	end &= ~(page - 1);
	/* A private mapping that nobody writes to: the bytes come from the file again. */
	if (begin < end && end <= map->size)
		(void)madvise((void *)(uintptr_t)(map->bytes + begin), end - begin, MADV_DONTNEED);
}

char *sb_path_join(const char *directory, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

void *sb_array_room(void *array, size_t count, size_t size)
{
	/* Full when the count is a power of two: the capacity needs no variable of its own. */
	if (count & (count - 1))
		return array;
	return reallocarray(array, count ? count * 2 : 1, size);
}
