/* tracee_mm.c - code pages and breakpoints of an address space; tracee_path.c has the paths. */
#include "tracee_mm_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

enum { BREAKPOINT = 0xcc, WORD = 8 };

/* Hash tables */

static size_t slot_of(uint64_t key, size_t room)
{
	return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (room - 1);
}

struct code_page *mm_find_page(const struct tracee_mm *mm, uint64_t address)
{
	uint64_t base = address & ~(uint64_t)(CODE_PAGE - 1);

	if (!mm->page_room)
		return NULL;
	for (size_t i = slot_of(base, mm->page_room); mm->page[i]; i = (i + 1) & (mm->page_room - 1)) {
		if (mm->page[i]->base == base)
			return mm->page[i];
	}
	return NULL;
}

static void put_page(struct code_page **table, size_t room, struct code_page *page)
{
	size_t i = slot_of(page->base, room);

	while (table[i])
		i = (i + 1) & (room - 1);
	table[i] = page;
}

static int grow_pages(struct tracee_mm *mm)
{
	size_t room = mm->page_room ? 2 * mm->page_room : 64;
	struct code_page **table = calloc(room, sizeof(struct code_page *));

	if (!table)
		return -1;
	for (size_t i = 0; i < mm->page_room; i++) {
		if (mm->page[i])
			put_page(table, room, mm->page[i]);
	}
	free(mm->page);
	mm->page = table;
	mm->page_room = room;
	return 0;
}

static int add_page(struct tracee_mm *mm, struct code_page *page)
{
	if (2 * (mm->npages + 1) > mm->page_room && grow_pages(mm))
		return -1;
	put_page(mm->page, mm->page_room, page);
	mm->npages++;
	return 0;
}

struct code_path *mm_find_path(const struct tracee_mm *mm, uint64_t start)
{
	if (!mm->path_room)
		return NULL;
	for (size_t i = slot_of(start, mm->path_room); mm->path[i]; i = (i + 1) & (mm->path_room - 1)) {
		if (mm->path[i]->start == start)
			return mm->path[i];
	}
	return NULL;
}

static void put_path(struct code_path **table, size_t room, struct code_path *path)
{
	size_t i = slot_of(path->start, room);

	while (table[i])
		i = (i + 1) & (room - 1);
	table[i] = path;
}

int mm_add_path(struct tracee_mm *mm, struct code_path *path)
{
	size_t room = mm->path_room ? 2 * mm->path_room : 1024;
	struct code_path **table;

	if (2 * (mm->npaths + 1) > mm->path_room) {
		table = calloc(room, sizeof(struct code_path *));
		if (!table)
			return -1;
		for (size_t i = 0; i < mm->path_room; i++) {
			if (mm->path[i])
				put_path(table, room, mm->path[i]);
		}
		free(mm->path);
		mm->path = table;
		mm->path_room = room;
	}
	put_path(mm->path, mm->path_room, path);
	mm->npaths++;
	return 0;
}

static void forget_paths(struct tracee_mm *mm)
{
	for (size_t i = 0; i < mm->path_room; i++) {
		free(mm->path[i]);
		mm->path[i] = NULL;
	}
	mm->npaths = 0;
}

/* Life */

struct tracee_mm *tracee_mm_new(void)
{
	struct tracee_mm *mm = calloc(1, sizeof(*mm));

	if (mm)
		mm->refs = 1;
	return mm;
}

struct tracee_mm *tracee_mm_ref(struct tracee_mm *mm)
{
	mm->refs++;
	return mm;
}

void tracee_mm_unref(struct tracee_mm *mm)
{
	if (!mm || --mm->refs)
		return;
	forget_paths(mm);
	free(mm->path);
	free(mm->fleeting);
	for (size_t i = 0; i < mm->page_room; i++)
		free(mm->page[i]);
	free(mm->page);
	exec_maps_fini(&mm->maps);
	free(mm);
}

struct tracee_mm *tracee_mm_fork(const struct tracee_mm *mm)
{
	struct tracee_mm *copy = tracee_mm_new();

	if (!copy)
		return NULL;
	if (exec_maps_copy(&copy->maps, &mm->maps, NULL) < 0)
		goto failed;
	for (size_t i = 0; i < mm->page_room; i++) {
		struct code_page *page;

		if (!mm->page[i])
			continue;
		page = malloc(sizeof(*page));
		if (!page)
			goto failed;
		*page = *mm->page[i];
		/* The kernel made its copy at another moment than we do. */
		page->verified = 0;
		if (add_page(copy, page)) {
			free(page);
			goto failed;
		}
	}
	return copy;
failed:
	tracee_mm_unref(copy);
	return NULL;
}

/* Pages */

/* Sorts the bytes that are there now into ours and the program's. Returns whether the latter are
 * other ones than before. */
static int settle_page(struct code_page *page, const uint8_t *live)
{
	int changed = 0;

	for (size_t i = 0; i < CODE_PAGE; i++) {
		if (bit_get(page->planted, i) && live[i] == BREAKPOINT && page->bytes[i] != BREAKPOINT)
			continue;
		bit_clear(page->planted, i);
		changed |= page->bytes[i] != live[i];
		page->bytes[i] = live[i];
	}
	page->verified = 1;
	return changed;
}

size_t mm_read_code(pid_t tid, uint64_t address, uint8_t *bytes, size_t size)
{
	const struct iovec local = {bytes, size}, remote = {(void *)(uintptr_t)address, size};
	const ssize_t read = process_vm_readv(tid, &local, 1, &remote, 1, 0);
	size_t done = read > 0 ? (size_t)read : 0;

	while (done < size) {
		const uint64_t at = address + done, skip = at % WORD;
		size_t n = WORD - skip < size - done ? WORD - skip : size - done;
		long word;

		errno = 0;
		word = ptrace(PTRACE_PEEKTEXT, tid, (void *)(uintptr_t)(at - skip), NULL);
		if (errno)
			break;
		memcpy(bytes + done, (const uint8_t *)&word + skip, n);
		done += n;
	}
	return done;
}

static int read_page(struct code_page *page, pid_t tid)
{
	uint8_t live[CODE_PAGE];

	if (mm_read_code(tid, page->base, live, sizeof(live)) != sizeof(live))
		return -1;
	return settle_page(page, live);
}

struct code_page *mm_load_page(struct tracee_mm *mm, pid_t tid, uint64_t address)
{
	struct code_page *page = mm_find_page(mm, address);

	if (page) {
		if (!page->verified && read_page(page, tid) < 0)
			return NULL;
		return page;
	}
	page = calloc(1, sizeof(*page));
	if (!page)
		return NULL;
	page->base = address & ~(uint64_t)(CODE_PAGE - 1);
	if (read_page(page, tid) < 0 || add_page(mm, page)) {
		free(page);
		return NULL;
	}
	return page;
}

/* Breakpoints */

static int write_word(const struct code_page *page, pid_t tid, size_t at)
{
	uint8_t bytes[WORD];
	long word;

	at &= ~(size_t)(WORD - 1);
	for (size_t i = 0; i < WORD; i++)
		bytes[i] = bit_get(page->planted, at + i) ? BREAKPOINT : page->bytes[at + i];
	memcpy(&word, bytes, sizeof(word));
	return ptrace(PTRACE_POKETEXT, tid, (void *)(uintptr_t)(page->base + at), (void *)word) ? -1 : 0;
}

int tracee_mm_is_planted(const struct tracee_mm *mm, uint64_t address)
{
	const struct code_page *page = mm_find_page(mm, address);

	return page && page->verified && bit_get(page->planted, address % CODE_PAGE);
}

int tracee_mm_plant(struct tracee_mm *mm, pid_t tid, uint64_t address)
{
	const struct exec_map *map;
	struct code_page *page;
	size_t at = address % CODE_PAGE;

	if (tracee_mm_is_planted(mm, address))
		return 1;
	map = exec_maps_find(&mm->maps, address);
	if (!map || exec_map_volatile(map))
		return 0;
	page = mm_load_page(mm, tid, address);
	if (!page || bit_get(page->body, at))
		return 0;
	if (bit_get(page->planted, at))
		return 1;
	bit_set(page->planted, at);
	if (!write_word(page, tid, at))
		return 1;
	bit_clear(page->planted, at);
	return 0;
}

void tracee_mm_unplant(struct tracee_mm *mm, pid_t tid, uint64_t address, size_t size)
{
	for (; size; address++, size--) {
		struct code_page *page = mm_find_page(mm, address);
		size_t at = address % CODE_PAGE;

		if (!page || !bit_get(page->planted, at))
			continue;
		bit_clear(page->planted, at);
		if (write_word(page, tid, at))
			bit_set(page->planted, at); /* the thread died */
	}
}

static void release_page(struct code_page *page, pid_t tid)
{
	for (size_t at = 0; at < CODE_PAGE; at += WORD) {
		if (!page->planted[at / WORD])
			continue;
		page->planted[at / WORD] = 0;
		write_word(page, tid, at);
	}
	memset(page->body, 0, sizeof(page->body));
	page->verified = 0;
}

void tracee_mm_release(struct tracee_mm *mm, pid_t tid, uint64_t begin, uint64_t end)
{
	int found = 0;

	for (size_t i = 0; i < mm->page_room; i++) {
		struct code_page *page = mm->page[i];

		if (!page || page->base >= end || page->base + CODE_PAGE <= begin)
			continue;
		release_page(page, tid);
		found = 1;
	}
	if (found)
		forget_paths(mm);
}
