/* elf_file.h - what an ELF file says about itself: its build-id, and which of its bytes are code. */
#ifndef SB_ELF_FILE_H
#define SB_ELF_FILE_H

#include <stddef.h>
#include <stdint.h>

/* The GNU build-id: its length (at most 20), 0 when the file has none or is not ELF. */
int elf_file_build_id(int fd, uint8_t id[20]);

/* Whether it is a separate debug file: the sections of the file that it was taken from, without their code.
 */
int elf_file_is_debug_only(int fd);

/* The .gnu_debuglink: whether there is one. The name has no slash in it; the checksum is that of gdb's
 * manual, "Debugging Information in Separate Files", which is zlib's crc32(). */
int elf_file_debuglink(int fd, char *name, size_t name_size, uint32_t *crc);

/* Whether a loader would have mapped @size bytes of the file at @offset executable. If so, zero, and
 * *code_size says how many of them are code; else -sbe_mismatch, and @why says what is there. Files that are
 * not ELF have no opinion: zero, all is code. */
int elf_file_check_mapping(int fd, uint64_t offset, uint64_t size, uint64_t *code_size, char *why,
                           size_t why_size);

/* The same, and stricter: the file must be ELF, and the mapping a whole code segment of it, or what a loader
 * begins with. */
int elf_file_check_whole_segment(int fd, uint64_t offset, uint64_t size, uint64_t *code_size, char *why,
                                 size_t why_size);

#endif
