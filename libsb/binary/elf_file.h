/* elf_file.h - what an ELF file says about itself: its build-id, and which of its bytes are code. */
#ifndef SB_ELF_FILE_H
#define SB_ELF_FILE_H

#include <stddef.h>
#include <stdint.h>

/* The GNU build-id: its length (at most 20), 0 when the file has none or is not ELF. */
int elf_file_build_id(int fd, uint8_t id[20]);

/* Whether a loader would have mapped @size bytes of the file at @offset executable. If so, zero, and
 * *code_size says how many of them are code; else -sbe_mismatch, and @why says what is there. Files that are
 * not ELF have no opinion: zero, all is code. */
int elf_file_check_mapping(int fd, uint64_t offset, uint64_t size, uint64_t *code_size, char *why,
                           size_t why_size);

#endif
