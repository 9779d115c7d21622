/* kernel_switch.c - see kernel_switch.h. */
#include "binary/kernel_switch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* push rbp, rbx, r12, r13, r14, r15 */
static const uint8_t saves[] = {0x55, 0x53, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57};
/* mov [rdi + disp32], rsp; mov rsp, [rsi + disp32] */
static const uint8_t leaves[] = {0x48, 0x89, 0xa7}, enters[] = {0x48, 0x8b, 0xa6};

enum {
	PUSHF = 0x9c, /* between both in some versions */
	MOVE = 3 + 4, /* bytes */
	LONGEST = sizeof(saves) + 1 + 2 * MOVE,
	PIECE = 1 << 20
};

/* Linked code, and modules: the kernel is not in what its memory as a whole is mapped to. */
#define TEXT_BEGIN 0xffffffff80000000ull

struct switch_search {
	int fd;
	uint8_t *piece;
	uint64_t found;
	int count;
};

/* [@code, @end) begins with saves. */
static int is_switch(const uint8_t *code, const uint8_t *end)
{
	code += sizeof(saves);
	if (code < end && *code == PUSHF)
		++code;
	return end - code >= 2 * MOVE && memcmp(code, leaves, sizeof(leaves)) == 0 &&
	       memcmp(code + MOVE, enters, sizeof(enters)) == 0 && memcmp(code + 3, code + MOVE + 3, 4) == 0;
}

/* Those that begin in the first @begins of the piece's @size bytes. */
static void search_piece(struct switch_search *search, uint64_t address, size_t size, size_t begins)
{
	const uint8_t *const end = search->piece + size, *at = search->piece;

	while ((at = memmem(at, (size_t)(end - at), saves, sizeof(saves))) &&
	       (size_t)(at - search->piece) < begins) {
		if (is_switch(at, end)) {
			search->found = address + (size_t)(at - search->piece);
			++search->count;
		}
		++at;
	}
}

static void search_region(struct switch_search *search, const struct kernel_region *region)
{
	uint64_t begin = region->begin > TEXT_BEGIN ? region->begin : TEXT_BEGIN;

	for (; begin < region->end; begin += PIECE) {
		const uint64_t left = region->end - begin;
		const size_t want = left < PIECE + LONGEST ? (size_t)left : (size_t)(PIECE + LONGEST);
		const ssize_t size = pread(search->fd, search->piece, want,
		                           (off_t)(region->offset + (begin - region->begin)));

		if (size <= 0)
			return;
		search_piece(search, begin, (size_t)size, PIECE);
		if ((size_t)size < want)
			return;
	}
}

uint64_t kernel_switch_find(const struct kernel_base *base)
{
	struct switch_search search = {.fd = kernel_base_fd(base)};

	if (search.fd < 0)
		return 0;
	search.piece = malloc(PIECE + LONGEST);
	for (size_t i = 0; search.piece && i < base->regions.count; ++i)
		search_region(&search, &base->regions.region[i]);
	free(search.piece);
	return search.count == 1 ? search.found : 0;
}
