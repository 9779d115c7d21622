/* spill_array.c - see spill_array.h. */
#include "system/spill_array.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <sb/error.h>

#include "nameless_file.h"
#include "system/aligned_map.h"
#include "system/arena.h"

/* In a file system that is memory itself, nothing is won. */
static int is_on_disk(int fd)
{
	struct statfs on;

	return !fstatfs(fd, &on) && on.f_type != TMPFS_MAGIC && on.f_type != RAMFS_MAGIC;
}

static size_t page_down(size_t bytes)
{
	return bytes & ~((size_t)sysconf(_SC_PAGESIZE) - 1);
}

static size_t page_up(size_t bytes)
{
	return page_down(bytes + (size_t)sysconf(_SC_PAGESIZE) - 1);
}

/* Small pages: they go one by one. */
static void *reserve_addresses(size_t bytes)
{
	void *map = aligned_map(bytes);

	if (map)
		(void)madvise(map, bytes, MADV_NOHUGEPAGE);
	return map;
}

/* To write more than a process may would end it. */
static int may_write(size_t bytes)
{
	struct rlimit most;

	return !getrlimit(RLIMIT_FSIZE, &most) && bytes <= most.rlim_cur;
}

static int write_all(int fd, const uint8_t *bytes, size_t size, size_t offset)
{
	while (size) {
		const ssize_t done = pwrite(fd, bytes, size, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return -1;
		bytes += done;
		offset += (size_t)done;
		size -= (size_t)done;
	}
	return 0;
}

/* What is before @end, a page's, goes to the file, and is the file from then on. It is written: to make a
 * shared page where it is first touched costs several times as much. Zero or -1; then nothing has changed. */
static int write_out(struct spill_array *spill, uint8_t *array, size_t end)
{
	const size_t begin = spill->filed, size = end - begin;
	void *map;

	if (spill->fd < 0 || !may_write(end) || write_all(spill->fd, array + begin, size, begin) < 0)
		return -1;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, spill->fd, (off_t)begin);
	if (map == MAP_FAILED)
		return -1;
	if (mremap(map, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, array + begin) == MAP_FAILED) {
		memcpy(array + begin, map, size);
		munmap(map, size);
		return -1;
	}
	spill->filed = end;
	return 0;
}

/* Addresses where the rows that are in the file come first, then @size bytes of @rest. NULL: there are none.
 */
static uint8_t *lay_out(struct spill_array *spill, const void *rest, size_t size, size_t bytes)
{
	uint8_t *map = reserve_addresses(bytes);

	if (!map)
		return NULL;
	if (spill->filed && mmap(map, spill->filed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, spill->fd,
	                         0) == MAP_FAILED) {
		munmap(map, bytes);
		return NULL;
	}
	if (size)
		memcpy(map + spill->filed, rest, size);
	spill->mapped = bytes;
	return map;
}

/* More addresses for the array. */
static void *move(struct spill_array *spill, uint8_t *array, size_t used, size_t bytes)
{
	const size_t before = spill->mapped;
	uint8_t *more = lay_out(spill, array + spill->filed, used - spill->filed, bytes);

	if (more)
		munmap(array, before);
	return more;
}

/* Of an array that has none. Zero or -1; then it stays in memory. */
static int open_file(struct spill_array *spill)
{
	const int fd = nameless_file();

	if (fd >= 0 && is_on_disk(fd)) {
		spill->fd = fd;
		return 0;
	}
	if (fd >= 0)
		close(fd);
	spill->is_kept = 1;
	return -1;
}

/* Its file is of no use for more rows; with none there, it is closed. */
static void keep(struct spill_array *spill)
{
	if (!spill->filed)
		close(spill->fd);
	spill->is_kept = 1;
}

static void *to_file(struct spill_array *spill, void *array, size_t used, size_t bytes)
{
	void *map;

	if (open_file(spill) < 0)
		return NULL;
	map = lay_out(spill, array, used, bytes);
	if (map)
		free(array);
	else
		keep(spill);
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

/* The end of the array stays in memory: it is what is worked on. */
enum { IN_MEMORY = SPILL_FROM / 2 };

static void *grow(struct spill_array *spill, void *array, size_t used, size_t bytes)
{
	if (spill->fd < 0)
		return NULL;
	if (used - spill->filed >= SPILL_FROM && write_out(spill, array, page_down(used) - IN_MEMORY) < 0)
		return NULL;
	return bytes <= spill->mapped ? array : move(spill, array, used, page_up(2 * bytes));
}

static size_t addresses_for(size_t bytes)
{
	enum { ADDRESSES = 16 * SPILL_FROM };

	return bytes > ADDRESSES ? page_up(2 * bytes) : ADDRESSES;
}

/* Of a mapped array, until it is time to write out some of it. */
static size_t room_of(const struct spill_array *spill, size_t used)
{
	return used + IN_MEMORY < spill->mapped ? used + IN_MEMORY : spill->mapped;
}

/* @bytes are enough; *@room: how many there are then. */
static void *resize(struct spill_array *spill, void *array, size_t used, size_t bytes, size_t *room)
{
	void *more = NULL;

	/* Rows that were put are not to be seen before they are gathered. */
	if (!spill->mapped && !spill->is_kept && !spill->filed && bytes > SPILL_FROM)
		more = to_file(spill, array, used, addresses_for(bytes));
	else if (spill->mapped)
		more = grow(spill, array, used, bytes);
	if (more) {
		*room = room_of(spill, used);
		*room = bytes > *room ? bytes : *room;
		return more;
	}
	*room = bytes;
	return spill->mapped ? to_heap(spill, array, used, bytes) : realloc(array, bytes);
}

int spill_array_reserve(struct spill_array *spill, void *array, size_t *capacity, size_t count, size_t more,
                        size_t size)
{
	const int is_enough = more <= *capacity && count <= *capacity - more;
	const size_t wanted = spill->mapped ? count + more : array_capacity(*capacity, count, more);
	size_t room;
	void *rows;

	if (is_enough)
		return 0;
	if (wanted > PTRDIFF_MAX / 4 / size)
		return -sbe_nomem;
	memcpy(&rows, array, sizeof(rows));
	rows = resize(spill, rows, count * size, wanted * size, &room);
	if (!rows)
		return -sbe_nomem;
	memcpy(array, &rows, sizeof(rows));
	*capacity = room / size;
	return 0;
}

size_t spill_array_put(struct spill_array *spill, const void *rows, size_t size)
{
	const size_t whole = page_down(size), end = spill->filed + whole;

	if (!whole || spill->mapped || spill->is_kept || (!spill->filed && open_file(spill) < 0))
		return 0;
	if (!may_write(end) || write_all(spill->fd, rows, whole, spill->filed) < 0) {
		keep(spill);
		return 0;
	}
	spill->filed = end;
	return whole;
}

int spill_array_gather(struct spill_array *spill, void *array, size_t *capacity, size_t *count, size_t size)
{
	const size_t used = spill->filed + *count * size;
	void *rows, *all;

	if (spill->mapped || !spill->filed)
		return 0;
	memcpy(&rows, array, sizeof(rows));
	all = lay_out(spill, rows, *count * size, addresses_for(used));
	if (!all)
		return -sbe_nomem;
	free(rows);
	memcpy(array, &all, sizeof(all));
	*capacity = room_of(spill, used) / size;
	*count = used / size;
	return 0;
}

void spill_array_seal(struct spill_array *spill, void *array, size_t used)
{
	const size_t end = page_down(used), behind = page_up(used);

	if (!spill->mapped || spill->fd < 0)
		return;
	/* Where the file has no room, the rest stays in memory. */
	if (end > spill->filed)
		(void)write_out(spill, array, end);
	if (behind < spill->mapped)
		(void)madvise((uint8_t *)array + behind, spill->mapped - behind, MADV_DONTNEED);
	close(spill->fd);
	spill->fd = -1;
}

static void let_go(const struct spill_array *spill, const void *array, size_t begin, size_t end)
{
	begin = page_down(begin);
	end = page_down(end < spill->filed ? end : spill->filed);
	if (begin < end)
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
	if ((spill->mapped || spill->filed) && spill->fd >= 0)
		close(spill->fd);
	if (spill->mapped)
		munmap(array, spill->mapped);
	else
		free(array);
	memset(spill, 0, sizeof(*spill));
}
