/* tracee_mm_internal.h - shared by tracee_mm.c (pages, breakpoints) and tracee_path.c (paths). */
#ifndef SB_CAPTURE_TRACEE_MM_INTERNAL_H
#define SB_CAPTURE_TRACEE_MM_INTERNAL_H

#include "tracee_mm.h"

enum { CODE_PAGE = 4096 };

struct code_page {
	uint64_t base;
	int verified;                   /* @bytes and @planted are what the tracee has */
	uint8_t bytes[CODE_PAGE];       /* the program's own */
	uint8_t planted[CODE_PAGE / 8]; /* a bit per byte: a breakpoint is there */
	uint8_t body[CODE_PAGE / 8];    /* a bit per byte: inside an instruction, no place for one */
};

static inline int bit_get(const uint8_t *bits, size_t i)
{
	return bits[i / 8] >> (i % 8) & 1;
}

static inline void bit_set(uint8_t *bits, size_t i)
{
	bits[i / 8] = (uint8_t)(bits[i / 8] | 1u << (i % 8));
}

static inline void bit_clear(uint8_t *bits, size_t i)
{
	bits[i / 8] = (uint8_t)(bits[i / 8] & ~(1u << (i % 8)));
}

/* Reads what is there, breakpoints included; what may only be executed, too. How many bytes there are: where
 * nothing follows, fewer than @size. */
size_t mm_read_code(pid_t tid, uint64_t address, uint8_t *bytes, size_t size);

struct code_page *mm_find_page(const struct tracee_mm *mm, uint64_t address);
/* NULL: it cannot be read (or there is no memory). */
struct code_page *mm_load_page(struct tracee_mm *mm, pid_t tid, uint64_t address);

struct code_path *mm_find_path(const struct tracee_mm *mm, uint64_t start);
/* Takes over @path, unless there is no memory (-1). */
int mm_add_path(struct tracee_mm *mm, struct code_path *path);

#endif
