/* elf_code.h - what of an ELF file a loader maps as code: how offsets in it and addresses relate. */
#ifndef SB_ELF_CODE_H
#define SB_ELF_CODE_H

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

#include <sb/binary.h>

enum { ELF_CODE_SEGMENTS_MAX = 64 };

struct elf_codes {
	struct sb_elf_code segment[ELF_CODE_SEGMENTS_MAX];
	size_t count;
};

void elf_codes_read(struct elf_codes *codes, Elf *elf);

/* The address that the byte at @offset of the file is linked for. *low, *high: around it in the file, where
 * the difference is the same. Zero: no code is there. */
int elf_codes_address(const struct elf_codes *codes, uint64_t offset, uint64_t *address, uint64_t *low,
                      uint64_t *high);

#endif
