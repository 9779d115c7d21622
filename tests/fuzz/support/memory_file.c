/* memory_file.c - see memory_file.h. */
#include "memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

void memory_file_open(struct memory_file *file)
{
	file->fd = memfd_create("fuzz", MFD_CLOEXEC);
	FUZZ_CHECK(file->fd >= 0, "no memory file");
	snprintf(file->name, sizeof(file->name), "/proc/self/fd/%d", file->fd);
}

void memory_file_set(struct memory_file *file, const uint8_t *bytes, size_t size)
{
	FUZZ_CHECK(ftruncate(file->fd, (off_t)size) == 0, "cannot be cut");
	FUZZ_CHECK(pwrite(file->fd, bytes, size, 0) == (ssize_t)size, "cannot be written");
}
