/* kcore_file.c - see kcore_file.h. */
#include "support/kcore_file.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { first_code = 0x1000, segments_most = 8 };

struct head {
	Elf64_Ehdr header;
	Elf64_Phdr segment[segments_most];
};

char *kcore_file_of(const struct temp_dir *dir, const struct kcore_segment *segment, size_t count)
{
	struct head head = {.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
	                                           ELFDATA2LSB, EV_CURRENT},
	                               .e_type = ET_CORE,
	                               .e_machine = EM_X86_64,
	                               .e_version = EV_CURRENT,
	                               .e_phoff = sizeof(Elf64_Ehdr),
	                               .e_ehsize = sizeof(Elf64_Ehdr),
	                               .e_phentsize = sizeof(Elf64_Phdr),
	                               .e_phnum = (Elf64_Half)count}};
	size_t end = first_code;
	uint8_t *file;
	char *path;

	for (size_t i = 0; i < count; i++)
		end += segment[i].size;
	file = calloc(1, end);
	if (!file || count > segments_most)
		abort();
	end = first_code;
	for (size_t i = 0; i < count; i++) {
		head.segment[i] = (Elf64_Phdr){.p_type = PT_LOAD,
		                               .p_offset = end,
		                               .p_vaddr = segment[i].address,
		                               .p_filesz = segment[i].size,
		                               .p_memsz = segment[i].size};
		memcpy(file + end, segment[i].code, segment[i].size);
		end += segment[i].size;
	}
	memcpy(file, &head, sizeof(head));
	path = temp_dir_write(dir, "kcore", file, end);
	free(file);
	return path;
}

char *kcore_file(const struct temp_dir *dir, uint64_t address, const uint8_t *code, size_t size)
{
	return kcore_file_of(dir, &(struct kcore_segment){address, code, size}, 1);
}
