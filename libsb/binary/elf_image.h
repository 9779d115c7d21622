/* elf_image.h - an ELF file in memory, for who reads its sections: mapped, or unpacked. */
#ifndef SB_ELF_IMAGE_H
#define SB_ELF_IMAGE_H

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

struct elf_image {
	Elf *elf; /* NULL: none; owned */
	uint8_t *bytes;
	size_t size;
	int is_mapped;     /* else from malloc(); owned either way */
	const char *names; /* of the sections; NULL: there are none */
	size_t names_size; /* the last one is a zero */
};

/* The file, whose descriptor is not needed any more afterwards. Zero; -sbe_format: not ELF; -sbe_nomem. */
int elf_image_map(struct elf_image *image, int fd);
/* The same of the file at @path, a path of this machine; -sbe_not_found: it cannot be opened. */
int elf_image_open(struct elf_image *image, const char *path);
/* The ELF file in the xz-compressed section .gnu_debugdata of @outer, which is where distributions put the
 * names of functions that .dynsym does not have. Zero; -sbe_not_found: no such section; -sbe_format: it
 * cannot be unpacked; -sbe_nomem. */
int elf_image_unpack_debugdata(struct elf_image *image, const struct elf_image *outer);
void elf_image_close(struct elf_image *image); /* zeroed is fine */

/* The name of a section, "" when it has none. */
const char *elf_image_name(const struct elf_image *image, const GElf_Shdr *section);
/* The first section of that name: zero when there is none. */
int elf_image_section(const struct elf_image *image, const char *name, GElf_Shdr *section);
/* The bytes of a section, as they are in the file; NULL when it has none, or compressed ones. */
const uint8_t *elf_image_bytes(const struct elf_image *image, const GElf_Shdr *section);

/* Whether the kernel keeps this section of a module as code: its place is then *begin, the first one at or behind
 * *next, which is moved behind it. What a module needs for initialisation only is laid out elsewhere, and
 * dropped. */
int elf_image_place(const struct elf_image *image, const GElf_Shdr *section, uint64_t *next, uint64_t *begin);

#endif
