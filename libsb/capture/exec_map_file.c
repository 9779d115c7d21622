/* exec_map_file.c - see exec_map_file.h. Files are opened through /proc/PID/map_files, which has even those
 * that were deleted; who may not do that opens them by their names, and looks whether they are the same.
 */
#include "capture/exec_map_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "binary/elf_file.h"
#include "capture/shortage.h"

/* What is at @path, if it is the mapped file still. */
static int open_same(const char *path, const struct exec_map *map, struct stat *info)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && (fstat(fd, info) < 0 || info->st_ino != map->ino || !S_ISREG(info->st_mode))) {
		close(fd);
		errno = ESTALE;
		fd = -1;
	}
	return fd;
}

/* What the process has under the mapping's name; when it is gone, what we have there, if it is on that
 * device. */
static int open_named(pid_t pid, const struct exec_map *map)
{
	char path[PATH_MAX + 64];
	struct stat info;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/root%s", pid, map->name);
	fd = open_same(path, map, &info);
	if (fd >= 0 || is_shortage(errno))
		return fd;
	fd = open_same(map->name, map, &info);
	if (fd >= 0 && (major(info.st_dev) != map->maj || minor(info.st_dev) != map->min)) {
		close(fd);
		errno = ESTALE;
		fd = -1;
	}
	return fd;
}

int exec_map_open(pid_t pid, const struct exec_map *map)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, map->begin, map->end);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd >= 0 || is_shortage(errno) ? fd : open_named(pid, map);
}

int exec_map_build_id(pid_t pid, const struct exec_map *map, struct file_id *id)
{
	int fd, size;

	*id = (struct file_id){0};
	if (!map->ino || map->name[0] != '/')
		return 0;
	fd = exec_map_open(pid, map);
	if (fd < 0)
		return is_shortage(errno) ? -errno : 0;
	size = elf_file_build_id(fd, id->id);
	id->size = size > 0 ? (uint8_t)size : 0;
	close(fd);
	return 0;
}

int exec_map_write(struct sb_perfdata_writer *writer, const struct sb_write_sample *sample, pid_t pid,
                   pid_t tid, const struct exec_map *map, const struct file_id *id, struct sb_error *err)
{
	struct sb_write_mmap2 record = {
	        .pid = pid,
	        .tid = tid,
	        .addr = map->begin,
	        .len = map->end - map->begin,
	        .pgoff = map->pgoff,
	        .maj = map->maj,
	        .min = map->min,
	        .ino = map->ino,
	        .prot = map->prot,
	        .flags = map->flags,
	        .filename = map->name,
	        .build_id_size = id->size,
	};

	memcpy(record.build_id, id->id, sizeof(id->id));
	return sb_write_mmap2(writer, sample, &record, err);
}
