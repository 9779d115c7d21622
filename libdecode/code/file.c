/* file.c - see file.h. Looked at twice: when it is made, for its size and time stamp, and at each mapping. */
#include "code/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "intel-pt.h"

/* Opens @name if it is a regular file. Looks before it opens, because opening a device can have
 * effects, and again after: O_NONBLOCK keeps a fifo that came in between from blocking. */
static int open_regular(const char *name, struct stat *st)
{
	int fd;

	if (stat(name, st) < 0 || !S_ISREG(st->st_mode))
		return -pte_invalid;
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return errno == ENOMEM ? -pte_nomem : -pte_invalid;
	if (fstat(fd, st) < 0 || !S_ISREG(st->st_mode)) {
		close(fd);
		return -pte_invalid;
	}
	return fd;
}

int pt_file_make(struct pt_file **file, const char *name)
{
	struct pt_file *made;
	struct stat st;

	/* Whether it can be opened shows when it is mapped; that it may be, is known now. */
	if (!name || stat(name, &st) < 0 || !S_ISREG(st.st_mode) ||
	    faccessat(AT_FDCWD, name, R_OK, AT_EACCESS) < 0)
		return -pte_invalid;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -pte_nomem;
	made->name = strdup(name);
	if (!made->name || pthread_mutex_init(&made->lock, NULL) != 0) {
		free(made->name);
		free(made);
		return -pte_nomem;
	}
	made->size = (uint64_t)st.st_size;
	made->mtime_sec = st.st_mtim.tv_sec;
	made->mtime_nsec = st.st_mtim.tv_nsec;
	atomic_init(&made->refs, 1);
	*file = made;
	return 0;
}

struct pt_file *pt_file_get(struct pt_file *file)
{
	atomic_fetch_add_explicit(&file->refs, 1, memory_order_relaxed);
	return file;
}

void pt_file_put(struct pt_file *file)
{
	if (atomic_fetch_sub_explicit(&file->refs, 1, memory_order_acq_rel) != 1)
		return;
	pthread_mutex_destroy(&file->lock);
	free(file->name);
	free(file);
}

bool pt_file_same(const struct pt_file *a, const struct pt_file *b)
{
	return a->size == b->size && a->mtime_sec == b->mtime_sec && a->mtime_nsec == b->mtime_nsec &&
	       strcmp(a->name, b->name) == 0;
}

static bool is_unchanged(const struct pt_file *file, const struct stat *st)
{
	return (uint64_t)st->st_size == file->size && st->st_mtim.tv_sec == file->mtime_sec &&
	       st->st_mtim.tv_nsec == file->mtime_nsec;
}

/* Mapped, each page of a file is met by a page fault, and taken down again: of up to so many bytes, a copy
 * takes less time. All copies together take no more memory than this, however many files there are. */
enum { copy_most = 256 << 10, copies_most = 8 << 20 };

static _Atomic uint64_t copied;

static bool take_room(uint64_t size)
{
	if (size > copy_most)
		return false;
	if (atomic_fetch_add_explicit(&copied, size, memory_order_relaxed) + size <= copies_most)
		return true;
	atomic_fetch_sub_explicit(&copied, size, memory_order_relaxed);
	return false;
}

static void give_room_back(uint64_t size)
{
	atomic_fetch_sub_explicit(&copied, size, memory_order_relaxed);
}

static uint8_t *read_all(const struct pt_file *file, int fd, int *errcode)
{
	uint8_t *bytes = malloc(file->size);
	size_t done = 0;
	ssize_t n = 1;

	*errcode = bytes ? -pte_bad_image : -pte_nomem;
	while (bytes && done < file->size && n > 0) {
		n = pread(fd, bytes + done, file->size - done, (off_t)done);
		done += n > 0 ? (size_t)n : 0;
	}
	if (done == file->size)
		return bytes;
	free(bytes);
	return NULL;
}

static uint8_t *map_all(const struct pt_file *file, int fd, int *errcode)
{
	void *bytes = mmap(NULL, file->size, PROT_READ, MAP_PRIVATE, fd, 0);

	*errcode = errno == ENOMEM ? -pte_nomem : -pte_bad_image;
	return bytes == MAP_FAILED ? NULL : bytes;
}

static uint8_t *copy_or_map(struct pt_file *file, int fd, int *errcode)
{
	uint8_t *bytes;

	file->is_copy = take_room(file->size);
	if (!file->is_copy)
		return map_all(file, fd, errcode);
	bytes = read_all(file, fd, errcode);
	if (!bytes)
		give_room_back(file->size);
	return bytes;
}

/* Under the lock. */
static const uint8_t *map(struct pt_file *file, int *errcode)
{
	const uint8_t *bytes = NULL;
	struct stat st;
	int fd = open_regular(file->name, &st);

	*errcode = fd == -pte_nomem ? -pte_nomem : -pte_bad_image;
	if (fd < 0)
		return NULL;
	if (is_unchanged(file, &st))
		bytes = copy_or_map(file, fd, errcode);
	close(fd);
	return bytes;
}

static void unmap(const struct pt_file *file)
{
	void *bytes = (void *)(uintptr_t)file->bytes;

	if (!file->is_copy) {
		munmap(bytes, file->size);
		return;
	}
	free(bytes);
	give_room_back(file->size);
}

/* Writing to a file shows in its mapping, and removing it hides whether it was written to. */
static bool is_known_unchanged(const struct pt_file *file)
{
	struct stat st;

	return stat(file->name, &st) == 0 && is_unchanged(file, &st);
}

const uint8_t *pt_file_map(struct pt_file *file, int *errcode)
{
	const uint8_t *bytes = NULL;

	pthread_mutex_lock(&file->lock);
	if (!file->bytes)
		bytes = file->bytes = map(file, errcode);
	else if (is_known_unchanged(file))
		bytes = file->bytes;
	else
		*errcode = -pte_bad_image;
	file->users += bytes != NULL;
	pthread_mutex_unlock(&file->lock);
	return bytes;
}

void pt_file_map_again(struct pt_file *file)
{
	pthread_mutex_lock(&file->lock);
	file->users += 1;
	pthread_mutex_unlock(&file->lock);
}

void pt_file_unmap(struct pt_file *file)
{
	pthread_mutex_lock(&file->lock);
	file->users -= 1;
	if (!file->users) {
		unmap(file);
		file->bytes = NULL;
	}
	pthread_mutex_unlock(&file->lock);
}
