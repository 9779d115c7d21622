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

/* perf.data begins so, or the other way round when the machine was of the other byte order; or it is packed
 * with gzip, zstd or xz. */
static bool looks_like_recording(int fd)
{
	static const struct {
		char bytes[9];
		size_t size;
	} magic[] = {{"PERFILE2", 8},
	             {"2ELIFREP", 8},
	             {"\x1f\x8b", 2},
	             {"\x28\xb5\x2f\xfd", 4},
	             {"\xfd"
	              "7zXZ",
	              6}};
	char begin[8] = "";

	if (pread(fd, begin, sizeof(begin), 0) < 0)
		return false;
	for (size_t i = 0; i < sizeof(magic) / sizeof(magic[0]); i++)
		if (!memcmp(begin, magic[i].bytes, magic[i].size))
			return true;
	return false;
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

/* What is no regular file can be read but once, by those who know what it should be. */
int trace_file_open(struct trace_file *file, const char *path, struct sb_error *err)
{
	struct stat st;
	int fd, status;

	memset(file, 0, sizeof(*file));
	if (!strcmp(path, "-"))
		return open_recording(file, path, err);
	if (stat(path, &st))
		return system_error(path, err);
	if (!S_ISREG(st.st_mode))
		return open_recording(file, path, err);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return system_error(path, err);
	status = looks_like_recording(fd) ? open_recording(file, path, err)
	                                  : map_raw(file, fd, (uint64_t)st.st_size, path, err);
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
