/* trace_file.c - see trace_file.h. */
#include "dump/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int system_error(const char *path, struct sb_error *err)
{
	return sb_error_set(err, errno == ENOENT ? -sbe_not_found : -sbe_io, path, UINT64_MAX, "%s",
	                    strerror(errno));
}

/* perf.data begins so, or the other way round when the machine was of the other byte order. */
static bool has_perf_magic(int fd)
{
	char magic[8];

	return pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	       (!memcmp(magic, "PERFILE2", 8) || !memcmp(magic, "2ELIFREP", 8));
}

static int open_recording(struct trace_file *file, const char *path, struct sb_error *err)
{
	int status = sb_perfdata_open(&file->perfdata, path, err);

	if (status < 0)
		return status;
	if (!sb_perfdata_info(file->perfdata)->has_pt)
		return sb_error_set(err, -sbe_not_found, path, UINT64_MAX, "holds no Intel PT");
	return sb_system_build(&file->system, file->perfdata, err);
}

static int map_raw(struct trace_file *file, int fd, uint64_t size, const char *path, struct sb_error *err)
{
	void *bytes;

	if (!size)
		return sb_error_set(err, -sbe_truncated, path, UINT64_MAX, "is empty");
	bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return system_error(path, err);
	(void)madvise(bytes, size, MADV_SEQUENTIAL);
	file->bytes = bytes;
	file->size = size;
	return 0;
}

static int open_by_kind(struct trace_file *file, int fd, const char *path, struct sb_error *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return system_error(path, err);
	if (S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && has_perf_magic(fd)))
		return open_recording(file, path, err);
	if (!S_ISREG(st.st_mode))
		return sb_error_set(err, -sbe_unsupported, path, UINT64_MAX, "not a regular file");
	return map_raw(file, fd, (uint64_t)st.st_size, path, err);
}

int trace_file_open(struct trace_file *file, const char *path, struct sb_error *err)
{
	/* Opening a FIFO must not wait for its writer. */
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int status;

	memset(file, 0, sizeof(*file));
	if (fd < 0)
		return system_error(path, err);
	status = open_by_kind(file, fd, path, err);
	close(fd);
	return status;
}

void trace_file_drop(struct trace_file *file, uint64_t done)
{
	enum { step = 16 << 20 }; /* a multiple of every page size */

	if (!file->bytes || done < file->dropped || done - file->dropped < step)
		return;
	done -= done % step;
	/* Only a hint: read again, they come back from the file. */
	(void)madvise((void *)(uintptr_t)(file->bytes + file->dropped), done - file->dropped, MADV_DONTNEED);
	file->dropped = done;
}

void trace_file_close(struct trace_file *file)
{
	sb_system_free(file->system);
	sb_perfdata_close(file->perfdata);
	if (file->bytes)
		munmap((void *)(uintptr_t)file->bytes, file->size);
	memset(file, 0, sizeof(*file));
}
