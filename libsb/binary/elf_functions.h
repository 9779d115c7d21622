/* elf_functions.h - where the functions of an ELF file begin, whether it has symbols or not. */
#ifndef SB_ELF_FUNCTIONS_H
#define SB_ELF_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

/* Addresses as the file is linked for, in no order. */
struct elf_functions {
	uint64_t *start; /* owned */
	size_t count;
	uint64_t entry; /* zero: none */
};

/* Of the file at @path, a path of this machine; none when it does not tell. Zero or -sbe_nomem. */
int elf_functions_read(struct elf_functions *functions, const char *path);
void elf_functions_free(struct elf_functions *functions);

#endif
