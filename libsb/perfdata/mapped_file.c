/* mapped_file.c - files, mapped read-only; and the two helpers every file of this room needs.
 *
 * What cannot be mapped as it is, because it is packed or comes out of a pipe, becomes a temporary file
 * first.
 */
#include "perfdata/perfdata_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compression.h"
#include "perfdata/spool.h"
#include "perfdata/unpack.h"

static int map_descriptor(struct mapped_file *map, int fd, const char *path, struct sb_error *err)
{
	struct stat status;
	void *bytes;

	if (fstat(fd, &status) < 0)
		return sb_error_set(err, -sbe_io, path, UINT64_MAX, "%s", strerror(errno));
	if (!S_ISREG(status.st_mode))
		return sb_error_set(err, -sbe_unsupported, path, UINT64_MAX, "not a regular file");
	map->size = (uint64_t)status.st_size;
	map->written = status.st_mtim.tv_sec < 0 ? 0
	                                         : (uint64_t)status.st_mtim.tv_sec * 1000000000 +
	                                                   (uint64_t)status.st_mtim.tv_nsec;
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

int sb_mapped_file_from(struct mapped_file *map, int fd, const char *name, struct sb_error *err)
{
	int status;

	memset(map, 0, sizeof(*map));
	map->path = strdup(name);
	status = map->path ? map_descriptor(map, fd, name, err)
	                   : sb_error_set(err, -sbe_nomem, name, UINT64_MAX, "out of memory");
	if (status < 0)
		sb_mapped_file_close(map);
	return status;
}

/* Negative, with @err filled, when there is no such file. */
static int open_file(const char *path, int flags, struct sb_error *err)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | flags);

	if (fd < 0)
		return sb_error_set(err, errno == ENOENT ? -sbe_not_found : -sbe_io, path, UINT64_MAX, "%s",
		                    strerror(errno));
	return fd;
}

int sb_mapped_file_open(struct mapped_file *map, const char *path, struct sb_error *err)
{
	/* Opening a FIFO must not wait for its writer. */
	const int fd = open_file(path, O_NONBLOCK, err);
	int status;

	memset(map, 0, sizeof(*map));
	if (fd < 0)
		return fd;
	status = sb_mapped_file_from(map, fd, path, err);
	close(fd);
	return status;
}

int sb_mapped_file_open_in(struct mapped_file *map, const char *directory, const char *name,
                           struct sb_error *err)
{
	char *path = sb_path_join(directory, name);
	int status;

	if (!path)
		return sb_error_set(err, -sbe_nomem, directory, UINT64_MAX, "out of memory");
	status = sb_mapped_file_open(map, path, err);
	free(path);
	return status;
}

/* A regular file that is not packed. */
static int is_mappable(int fd)
{
	uint8_t magic[COMPRESSION_MAGIC_MAX];
	struct stat status;
	ssize_t size;

	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return 0;
	size = pread(fd, magic, sizeof(magic), 0);
	return size < 0 || !compression_of(magic, (size_t)size);
}

static int map_unpacked(struct mapped_file *map, int fd, const char *name, struct sb_error *err)
{
	struct spool spool;
	int status = spool_open(&spool, name, err);

	if (status < 0)
		return status;
	status = unpack(&spool, fd, err);
	if (status == 0)
		return spool_map(&spool, map, err);
	spool_close(&spool);
	return status;
}

int sb_mapped_file_open_any(struct mapped_file *map, const char *path, struct sb_error *err)
{
	const int is_input = !strcmp(path, "-");
	const char *name = is_input ? "(standard input)" : path;
	const int fd = is_input ? STDIN_FILENO : open_file(path, 0, err);
	int status;

	memset(map, 0, sizeof(*map));
	if (fd < 0)
		return fd;
	if (is_mappable(fd))
		status = sb_mapped_file_from(map, fd, name, err);
	else
		status = map_unpacked(map, fd, name, err);
	if (!is_input)
		close(fd);
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
