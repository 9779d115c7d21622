/* section.c - a piece of a file, mapped once, at first use.
 *
 * The file is looked at twice: when the section is made, for its size and time stamp, and when its
 * bytes are first asked for. Between the two it is closed, so that any number of sections may exist.
 * Threads that race for the first use each map; one publishes, the others unmap again. From then on
 * the pointer never changes, and nothing is unmapped before the last reference is gone. A slice has
 * no mapping: many pieces of one file cost the process one memory area, of which it has 65530.
 */
#include "code/section.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "code/block_graph.h"
#include "intel-pt.h"

/* Opens @filename if it is a regular file. Looks before it opens, because opening a device can have
 * effects, and again after: O_NONBLOCK keeps a fifo that came in between from blocking. */
static int open_regular(const char *filename, struct stat *st)
{
	int fd;

	if (stat(filename, st) < 0 || !S_ISREG(st->st_mode))
		return -pte_bad_file;
	fd = open(filename, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return errno == ENOMEM ? -pte_nomem : -pte_bad_file;
	if (fstat(fd, st) < 0 || !S_ISREG(st->st_mode) || st->st_size < 0) {
		close(fd);
		return -pte_bad_file;
	}
	return fd;
}

int pt_section_make(struct pt_section **section, const char *filename, uint64_t offset, uint64_t size)
{
	struct pt_section *made;
	uint64_t file_size;
	struct stat st;
	int fd;

	if (!filename || !size)
		return -pte_invalid;
	fd = open_regular(filename, &st);
	if (fd < 0)
		return fd;
	close(fd);

	file_size = (uint64_t)st.st_size;
	if (offset >= file_size)
		return -pte_invalid;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -pte_nomem;
	made->filename = strdup(filename);
	if (!made->filename) {
		free(made);
		return -pte_nomem;
	}
	made->offset = offset;
	made->size = size < file_size - offset ? size : file_size - offset;
	made->mtime_sec = st.st_mtim.tv_sec;
	made->mtime_nsec = st.st_mtim.tv_nsec;
	made->file_size = file_size;
	atomic_init(&made->refs, 1);
	*section = made;
	return 0;
}

int pt_section_slice(struct pt_section **slice, struct pt_section *parent, uint64_t offset, uint64_t size)
{
	struct pt_section *made;

	if (!size || offset >= parent->size || size > parent->size - offset)
		return -pte_invalid;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -pte_nomem;
	/* Never a chain: a slice of a slice hangs on the same whole. */
	made->whole = pt_section_get(parent->whole ? parent->whole : parent);
	made->filename = made->whole->filename;
	made->offset = parent->offset + offset;
	made->size = size;
	made->mtime_sec = parent->mtime_sec;
	made->mtime_nsec = parent->mtime_nsec;
	made->file_size = parent->file_size;
	atomic_init(&made->refs, 1);
	*slice = made;
	return 0;
}

struct pt_section *pt_section_get(struct pt_section *section)
{
	atomic_fetch_add_explicit(&section->refs, 1, memory_order_relaxed);
	return section;
}

/* Mappings start at page boundaries of the file: how far before the section's first byte. */
static uint64_t bytes_before(const struct pt_section *section)
{
	return section->offset % (uint64_t)sysconf(_SC_PAGESIZE);
}

static void unmap(const struct pt_section *section, const uint8_t *bytes)
{
	uint64_t before = bytes_before(section);

	munmap((void *)((uintptr_t)bytes - before), section->size + before);
}

void pt_section_put(struct pt_section *section)
{
	const uint8_t *bytes;

	if (!section || atomic_fetch_sub_explicit(&section->refs, 1, memory_order_acq_rel) != 1)
		return;
	pt_block_graph_free(atomic_load_explicit(&section->graph, memory_order_relaxed));
	bytes = atomic_load_explicit(&section->bytes, memory_order_relaxed);
	if (section->whole) {
		pt_section_put(section->whole);
	} else {
		if (bytes)
			unmap(section, bytes);
		free(section->filename);
	}
	free(section);
}

static bool is_unchanged(const struct pt_section *section, const struct stat *st)
{
	return (uint64_t)st->st_size == section->file_size && st->st_mtim.tv_sec == section->mtime_sec &&
	       st->st_mtim.tv_nsec == section->mtime_nsec;
}

static const uint8_t *map(const struct pt_section *section, int *errcode)
{
	uint64_t before = bytes_before(section);
	void *base = MAP_FAILED;
	struct stat st;
	int fd;

	fd = open_regular(section->filename, &st);
	if (fd < 0) {
		*errcode = fd;
		return NULL;
	}
	if (!is_unchanged(section, &st)) {
		*errcode = -pte_bad_image;
	} else {
		base = mmap(NULL, section->size + before, PROT_READ, MAP_PRIVATE, fd,
		            (off_t)(section->offset - before));
		*errcode = errno == ENOMEM ? -pte_nomem : -pte_bad_file;
	}
	close(fd);
	return base == MAP_FAILED ? NULL : (const uint8_t *)base + before;
}

static const uint8_t *slice_bytes(struct pt_section *section, int *errcode)
{
	const uint8_t *bytes = pt_section_bytes(section->whole, errcode);

	if (!bytes)
		return NULL;
	bytes += section->offset - section->whole->offset;
	atomic_store_explicit(&section->bytes, bytes, memory_order_release);
	return bytes;
}

const uint8_t *pt_section_bytes(struct pt_section *section, int *errcode)
{
	const uint8_t *bytes = atomic_load_explicit(&section->bytes, memory_order_acquire);
	const uint8_t *first = NULL;

	if (bytes)
		return bytes;
	if (section->whole)
		return slice_bytes(section, errcode);

	bytes = map(section, errcode);
	if (!bytes)
		return NULL;
	if (!atomic_compare_exchange_strong_explicit(&section->bytes, &first, bytes, memory_order_acq_rel,
	                                             memory_order_acquire)) {
		unmap(section, bytes);
		return first;
	}
	return bytes;
}
