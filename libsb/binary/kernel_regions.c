/* kernel_regions.c - see kernel_regions.h. */
#include "binary/kernel_regions.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "binary/compressed_file.h"

enum { SEGMENTS_MAX = 1 << 16 };

static int compare_regions(const void *a, const void *b)
{
	const struct kernel_region *left = a, *right = b;

	return left->begin < right->begin ? -1 : left->begin > right->begin;
}

/* Whether code may be there, and in the file. A kernel is linked to where kernels are; anything else may be
 * moved there by a shift. */
static int is_code(const GElf_Ehdr *header, const GElf_Phdr *segment, uint64_t file_size, uint64_t shift)
{
	const uint64_t begin = segment->p_vaddr + shift;

	if (segment->p_type != PT_LOAD || !(segment->p_vaddr >> 63) || !(begin >> 63) || !segment->p_filesz)
		return 0;
	if (header->e_type != ET_CORE && !(segment->p_flags & PF_X))
		return 0;
	return segment->p_offset < file_size && segment->p_filesz <= UINT64_MAX - begin;
}

/* Where two overlap, the first one counts. */
static void cut_overlaps(struct kernel_regions *regions)
{
	size_t kept = 0;

	for (size_t i = 0; i < regions->count; ++i) {
		struct kernel_region region = regions->region[i];
		const uint64_t end = kept ? regions->region[kept - 1].end : 0;

		if (region.begin < end) {
			if (region.end <= end)
				continue;
			region.offset += end - region.begin;
			region.begin = end;
		}
		regions->region[kept++] = region;
	}
	regions->count = kept;
}

static int read_segments(struct kernel_regions *regions, Elf *elf, uint64_t file_size, uint64_t shift)
{
	GElf_Ehdr header;
	size_t count;

	if (!gelf_getehdr(elf, &header) || elf_getphdrnum(elf, &count) < 0 || count > SEGMENTS_MAX)
		return -sbe_format;
	regions->region = calloc(count ? count : 1, sizeof(*regions->region));
	if (!regions->region)
		return -sbe_nomem;
	for (size_t i = 0; i < count; ++i) {
		GElf_Phdr segment;
		uint64_t size;

		if (!gelf_getphdr(elf, (int)i, &segment) || !is_code(&header, &segment, file_size, shift))
			continue;
		size = segment.p_filesz < file_size - segment.p_offset ? segment.p_filesz
		                                                       : file_size - segment.p_offset;
		regions->region[regions->count++] = (struct kernel_region){
		        .begin = segment.p_vaddr + shift,
		        .end = segment.p_vaddr + shift + size,
		        .offset = segment.p_offset,
		};
	}
	qsort(regions->region, regions->count, sizeof(*regions->region), compare_regions);
	cut_overlaps(regions);
	return 0;
}

/* The regular file as ELF, or NULL. */
static Elf *open_elf(int fd, uint64_t *size)
{
	struct stat stat;
	Elf *elf;

	if (fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode) || elf_version(EV_CURRENT) == EV_NONE)
		return NULL;
	*size = (uint64_t)stat.st_size;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		return elf;
	elf_end(elf);
	return NULL;
}

static int read_file(struct kernel_regions *regions, int fd, uint64_t shift)
{
	uint64_t size;
	Elf *elf = open_elf(fd, &size);
	const int status = elf ? read_segments(regions, elf, size, shift) : -sbe_format;

	elf_end(elf);
	return status;
}

int kernel_regions_read(struct kernel_regions *regions, int fd, const char *name, uint64_t shift,
                        struct sb_error *err)
{
	int status;

	*regions = (struct kernel_regions){0};
	status = read_file(regions, fd, shift);
	if (status == -sbe_nomem)
		return sb_error_set(err, status, name, UINT64_MAX, "out of memory");
	if (status < 0)
		return sb_error_set(err, status, name, UINT64_MAX,
		                    "is no ELF file with segments: expected kcore or vmlinux");
	if (!regions->count) {
		kernel_regions_free(regions);
		return sb_error_set(err, -sbe_format, name, UINT64_MAX,
		                    "has no code at a kernel's addresses: expected kcore or vmlinux");
	}
	return 0;
}

void kernel_regions_free(struct kernel_regions *regions)
{
	free(regions->region);
	*regions = (struct kernel_regions){0};
}

/* ---- Symbols ---------------------------------------------------------------------------------- */

static uint64_t find_symbol(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, const char *name)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); ++i) {
		const char *string = elf_strptr(elf, header->sh_link, symbol.st_name);

		if (string && strcmp(string, name) == 0)
			return symbol.st_value;
	}
	return 0;
}

/* What @find finds in the file. */
static uint64_t ask_file(const char *path, const char *name, uint64_t (*find)(Elf *elf, const char *name))
{
	struct plain_file plain;
	uint64_t size, address = 0;
	Elf *elf;

	if (open_maybe_compressed(&plain, path, 0, NULL) < 0)
		return 0;
	elf = open_elf(plain.fd, &size);
	if (elf)
		address = find(elf, name);
	elf_end(elf);
	plain_file_close(&plain);
	return address;
}

static uint64_t symbol_of(Elf *elf, const char *name)
{
	uint64_t address = 0;
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while (!address && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
			address = find_symbol(elf, section, &header, name);
	return address;
}

static uint64_t section_of(Elf *elf, const char *name)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return 0;
	while ((section = elf_nextscn(elf, section))) {
		const char *string =
		        gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;

		if (string && strcmp(string, name) == 0)
			return header.sh_addr;
	}
	return 0;
}

uint64_t elf_symbol_address(const char *path, const char *name)
{
	return ask_file(path, name, symbol_of);
}

uint64_t elf_section_address(const char *path, const char *name)
{
	return ask_file(path, name, section_of);
}
