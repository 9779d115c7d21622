/* test_symbols_hostile.c - ELF files that were made to keep their reader busy, or to fill the memory:
 * sections that all hold the same bytes, names of a megabyte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "binary/elf_symbols.h"

enum { file_size = 4 << 20, text_size = 1 << 20, code_address = 0x10000 };

struct file {
	uint8_t *bytes;
	Elf64_Ehdr *header;
	Elf64_Shdr *section;
};

/* An ELF file of @nsections sections, the headers first. Section 1 is code that is the whole file, section 2
 * is text: one letter, again and again, and a zero at its end. */
static struct file make(unsigned int nsections)
{
	struct file file = {.bytes = malloc(file_size)};
	const size_t text = file_size - text_size;

	assert_non_null(file.bytes);
	memset(file.bytes, 0, file_size);
	file.header = (Elf64_Ehdr *)file.bytes;
	file.section = (Elf64_Shdr *)(file.bytes + sizeof(*file.header));
	memcpy(file.header->e_ident, ELFMAG, SELFMAG);
	file.header->e_ident[EI_CLASS] = ELFCLASS64;
	file.header->e_ident[EI_DATA] = ELFDATA2LSB;
	file.header->e_ident[EI_VERSION] = EV_CURRENT;
	file.header->e_type = ET_DYN;
	file.header->e_machine = EM_X86_64;
	file.header->e_version = EV_CURRENT;
	file.header->e_ehsize = sizeof(*file.header);
	file.header->e_shoff = sizeof(*file.header);
	file.header->e_shentsize = sizeof(*file.section);
	file.header->e_shnum = (Elf64_Half)nsections;
	file.header->e_shstrndx = 2;
	file.section[1] = (Elf64_Shdr){.sh_type = SHT_PROGBITS,
	                               .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
	                               .sh_addr = code_address,
	                               .sh_size = file_size};
	memset(file.bytes + text, 'p', text_size - 1);
	file.section[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = text, .sh_size = text_size};
	return file;
}

/* Fills from @offset up to the text with symbols of the longest name at one address. */
static Elf64_Shdr put_symbols(struct file *file, size_t offset)
{
	Elf64_Sym *symbol = (Elf64_Sym *)(file->bytes + offset);
	const size_t count = (file_size - text_size - offset) / sizeof(*symbol);

	for (size_t i = 0; i < count; ++i)
		symbol[i] = (Elf64_Sym){.st_name = (Elf64_Word)(i % 16),
		                        .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		                        .st_shndx = 1,
		                        .st_value = code_address,
		                        .st_size = 16};
	return (Elf64_Shdr){.sh_type = SHT_SYMTAB,
	                    .sh_link = 2,
	                    .sh_offset = offset,
	                    .sh_size = count * sizeof(*symbol),
	                    .sh_entsize = sizeof(*symbol)};
}

/* Loads it, in reasonable time and memory; how many symbols there are. */
static size_t load(struct file *file)
{
	const struct elf_symbols_options options = {0};
	struct elf_symbols symbols;
	struct timespec begin, end;
	size_t count;
	int fd = memfd_create("hostile", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, file->bytes, file_size), file_size);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	assert_int_equal(elf_symbols_load(&symbols, fd, &options), 0);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	count = symbols.table.nsymbols + symbols.plt.nsymbols;
	assert_true(symbols.table.symbol_capacity <= 1 << 19);
	assert_true(symbols.plt.symbol_capacity <= 1 << 19);
	assert_true(end.tv_sec - begin.tv_sec < 10);
	elf_symbols_fini(&symbols);
	close(fd);
	free(file->bytes);
	return count;
}

static void all_symbols_have_one_address_and_a_name_of_a_megabyte(void **state)
{
	struct file file = make(4);

	(void)state;
	file.section[3] = put_symbols(&file, 4096);
	assert_int_equal(load(&file), 1);
}

static void all_sections_are_the_same_symbol_table(void **state)
{
	enum { count = 20000 };
	struct file file = make(count);
	const Elf64_Shdr symbols = put_symbols(&file, (count + 1) * sizeof(Elf64_Shdr));

	(void)state;
	for (unsigned int i = 3; i < count; ++i)
		file.section[i] = symbols;
	assert_int_equal(load(&file), 1);
}

static void all_sections_are_the_same_linkage_table(void **state)
{
	enum { count = 20000 };
	struct file file = make(count);
	const size_t begin = (count + 1) * sizeof(Elf64_Shdr);
	const Elf64_Shdr relocations = {.sh_type = SHT_RELA,
	                                .sh_flags = SHF_ALLOC,
	                                .sh_link = 3,
	                                .sh_offset = begin,
	                                .sh_size = file_size - text_size - begin,
	                                .sh_entsize = sizeof(Elf64_Rela)};
	/* Its name is what the text begins with: ".plt". */
	const Elf64_Shdr plt = {.sh_type = SHT_PROGBITS,
	                        .sh_flags = SHF_ALLOC,
	                        .sh_addr = 0x100000,
	                        .sh_offset = begin,
	                        .sh_size = file_size - text_size - begin,
	                        .sh_entsize = 1};

	(void)state;
	memcpy(file.bytes + file_size - text_size, ".plt", 4);
	memset(file.bytes + begin, 0xff, file_size - text_size - begin);
	for (size_t i = begin; i + 24 <= file_size - text_size; i += 24) {
		const Elf64_Rela relocation = {.r_offset = 0x100000 + i % 4096,
		                               .r_info = ELF64_R_INFO(1, R_X86_64_JUMP_SLOT),
		                               .r_addend = 0x25ff25ff25ff25ff};

		memcpy(file.bytes + i, &relocation, sizeof(relocation));
	}
	file.section[3] = (Elf64_Shdr){.sh_type = SHT_DYNSYM,
	                               .sh_link = 2,
	                               .sh_offset = begin,
	                               .sh_size = 480,
	                               .sh_entsize = sizeof(Elf64_Sym)};
	for (unsigned int i = 4; i < count; ++i)
		file.section[i] = i % 2 ? relocations : plt;
	load(&file);
}

static void nothing_but_headers_is_in_range(void **state)
{
	struct file file = make(8);
	const Elf64_Shdr far = {.sh_type = SHT_SYMTAB,
	                        .sh_link = 2,
	                        .sh_offset = UINT64_MAX - 8,
	                        .sh_size = UINT64_MAX,
	                        .sh_entsize = 1};

	(void)state;
	file.section[1].sh_addr = UINT64_MAX - 4;
	file.section[3] = far;
	file.section[4] = put_symbols(&file, 4096);
	file.section[4].sh_link = UINT32_MAX;
	file.section[5] = file.section[4];
	file.section[5].sh_type = SHT_DYNSYM;
	file.section[5].sh_link = 5;
	file.header->e_shstrndx = 4000;
	assert_int_equal(load(&file), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(all_symbols_have_one_address_and_a_name_of_a_megabyte),
	        cmocka_unit_test(all_sections_are_the_same_symbol_table),
	        cmocka_unit_test(all_sections_are_the_same_linkage_table),
	        cmocka_unit_test(nothing_but_headers_is_in_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
