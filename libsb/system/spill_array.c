/* spill_array.c - see spill_array.h. */
#include "system/spill_array.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <sb/error.h>

#include "nameless_file.h"
#include "system/arena.h"

/* In a file system that is memory itself, nothing is won. */
static int is_on_disk(int fd)
{
	struct statfs on;

	return !fstatfs(fd, &on) && on.f_type != TMPFS_MAGIC && on.f_type != RAMFS_MAGIC;
}

/* All room is asked for at once: to write to a page that has none would end the process. So would asking for
 * more than a process may write. */
static int make_room(int fd, size_t bytes)
{
	struct rlimit most;

	return !getrlimit(RLIMIT_FSIZE, &most) && bytes <= most.rlim_cur &&
	       !fallocate(fd, 0, 0, (off_t)bytes);
}

static void *map_file(int fd, size_t bytes)
{
	void *map = MAP_FAILED;

	if (make_room(fd, bytes))
		map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return map == MAP_FAILED ? NULL : map;
}

static void *to_file(struct spill_array *spill, void *array, size_t used, size_t bytes)
{
	const int fd = nameless_file();
	void *map = fd >= 0 && is_on_disk(fd) ? map_file(fd, bytes) : NULL;

	if (!map) {
		if (fd >= 0)
			close(fd);
		spill->is_kept = 1;
		return NULL;
	}
	memcpy(map, array, used);
	free(array);
	spill->fd = fd;
	spill->mapped = bytes;
	spill->released = 0;
	return map;
}

static void *grow_file(struct spill_array *spill, void *array, size_t bytes)
{
	void *map;

	if (!make_room(spill->fd, bytes))
		return NULL;
	map = mremap(array, spill->mapped, bytes, MREMAP_MAYMOVE);
	if (map == MAP_FAILED)
		return NULL;
	spill->mapped = bytes;
	return map;
}

static void *to_heap(struct spill_array *spill, void *array, size_t used, size_t bytes)
{
	void *heap = malloc(bytes);

	if (!heap)
		return NULL;
	memcpy(heap, array, used);
	spill_array_free(spill, array);
	spill->is_kept = 1;
	return heap;
}

static void *resize(struct spill_array *spill, void *array, size_t used, size_t bytes)
{
	void *more = NULL;

	if (spill->mapped) {
		more = grow_file(spill, array, bytes);
		return more ? more : to_heap(spill, array, used, bytes);
	}
	if (bytes > SPILL_FROM && !spill->is_kept)
		more = to_file(spill, array, used, bytes);
	return more ? more : realloc(array, bytes);
}

int spill_array_reserve(struct spill_array *spill, void *array, size_t *capacity, size_t count, size_t more,
                        size_t size)
{
	const size_t wanted = array_capacity(*capacity, count, more);
	void *rows;

	if (wanted == *capacity)
		return 0;
	if (wanted > PTRDIFF_MAX / size)
		return -sbe_nomem;
	memcpy(&rows, array, sizeof(rows));
	rows = resize(spill, rows, count * size, wanted * size);
	if (!rows)
		return -sbe_nomem;
	memcpy(array, &rows, sizeof(rows));
	*capacity = wanted;
	return 0;
}

void spill_array_seal(struct spill_array *spill)
{
	if (spill->mapped && spill->fd >= 0)
		close(spill->fd);
	spill->fd = -1;
}

static void let_go(const struct spill_array *spill, const void *array, size_t begin, size_t end)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	begin &= ~(page - 1);
	end &= ~(page - 1);
	if (begin < end && end <= spill->mapped)
		(void)madvise((char *)(uintptr_t)array + begin, end - begin, MADV_DONTNEED);
}

void spill_array_pass_far(struct spill_array *spill, const void *array, size_t offset)
{
	if (offset < spill->released) {
		spill->released = 0;
		return;
	}
	let_go(spill, array, spill->released, offset - SPILL_WINDOW);
	spill->released = offset - SPILL_WINDOW;
}

void spill_array_release(const struct spill_array *spill, const void *array)
{
	if (spill->mapped)
		let_go(spill, array, 0, spill->mapped);
}

void spill_array_free(struct spill_array *spill, void *array)
{
	if (spill->mapped) {
		munmap(array, spill->mapped);
		if (spill->fd >= 0)
			close(spill->fd);
	} else {
		free(array);
	}
	memset(spill, 0, sizeof(*spill));
}
