/* kcore_file.c - see kcore_file.h. */
#include "support/kcore_file.h"

#include <assert.h>
#include <elf.h>
#include <string.h>

enum { CODE = 0x1000, CODE_MAX = 0x1000 };

char *kcore_file(const struct temp_dir *dir, uint64_t address, const uint8_t *code, size_t size)
{
	const struct {
		Elf64_Ehdr header;
		Elf64_Phdr segment;
	} head = {
	        .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
	                               EV_CURRENT},
	                   .e_type = ET_CORE,
	                   .e_machine = EM_X86_64,
	                   .e_version = EV_CURRENT,
	                   .e_phoff = sizeof(Elf64_Ehdr),
	                   .e_ehsize = sizeof(Elf64_Ehdr),
	                   .e_phentsize = sizeof(Elf64_Phdr),
	                   .e_phnum = 1},
	        .segment = {.p_type = PT_LOAD,
	                    .p_offset = CODE,
	                    .p_vaddr = address,
	                    .p_filesz = size,
	                    .p_memsz = size},
	};
	uint8_t file[CODE + CODE_MAX] = {0};

	assert(size <= CODE_MAX);
	memcpy(file, &head, sizeof(head));
	memcpy(file + CODE, code, size);
	return temp_dir_write(dir, "kcore", file, CODE + size);
}
