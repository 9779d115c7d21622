/* kernel_code.h - code of a file - vmlinux, a module - on its way to what ran.
 *
 * The kernel and its modules change their code when they start: what the processor can do, where returns and
 * indirect branches go, whether functions are traced, which branches are taken at all. Tables in the file say
 * where. What stands there afterwards follows from what else is known (kernel_state.h), or is not known: such
 * bytes are marked, and are no code for anybody.
 */
#ifndef SB_KERNEL_CODE_H
#define SB_KERNEL_CODE_H

#include <stddef.h>
#include <stdint.h>

struct kernel_code {
	uint64_t begin, size;
	uint8_t *bytes;   /* owned */
	uint8_t *unknown; /* owned; one for each byte: whether nobody knows it */
};

/* Zeros, all known. Zero or -sbe_nomem. */
int kernel_code_init(struct kernel_code *code, uint64_t begin, uint64_t size);
void kernel_code_free(struct kernel_code *code);

/* Whether [address, address + size) lies in it. */
static inline int kernel_code_has(const struct kernel_code *code, uint64_t address, uint64_t size)
{
	return address >= code->begin && size <= code->size && address - code->begin <= code->size - size;
}

/* What lies outside is left out. */
void kernel_code_forget(struct kernel_code *code, uint64_t address, uint64_t size);
/* [address, address + size) is in it; from now on it is known. */
void kernel_code_put(struct kernel_code *code, uint64_t address, const void *bytes, uint64_t size);

/* From *at on, the next stretch of known bytes: its size, and *at is where it begins. Zero: there is none. */
uint64_t kernel_code_next(const struct kernel_code *code, uint64_t *at);

#endif
