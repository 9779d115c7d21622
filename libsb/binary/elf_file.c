/* elf_file.c - see elf_file.h. ELF: elf(5), System V gABI chapters 4 and 5; read through libelf. */
#include "binary/elf_file.h"

#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sb/binary.h>

enum { BUILD_ID_MAX = 20, PAGE = 4096 };

/* The file as ELF, or NULL. */
static Elf *elf_of(int fd)
{
	Elf *elf;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return NULL;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) != ELF_K_ELF) {
		elf_end(elf);
		return NULL;
	}
	return elf;
}

static size_t segment_count(Elf *elf)
{
	size_t count;

	return elf_getphdrnum(elf, &count) == 0 && count <= INT32_MAX ? count : 0;
}

/* ---- Build-id --------------------------------------------------------------------------------- */

static int build_id_in_notes(Elf_Data *notes, uint8_t id[20])
{
	GElf_Nhdr note;
	size_t offset = 0, next, name, desc;

	while ((next = gelf_getnote(notes, offset, &note, &name, &desc)) > 0) {
		const uint8_t *bytes = notes->d_buf;

		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
		    memcmp(bytes + name, "GNU", sizeof("GNU")) == 0) {
			const size_t size = note.n_descsz < BUILD_ID_MAX ? note.n_descsz : BUILD_ID_MAX;

			memcpy(id, bytes + desc, size);
			return (int)size;
		}
		offset = next;
	}
	return 0;
}

/* Of what was never linked: a kernel module. */
static int build_id_in_sections(Elf *elf, uint8_t id[20])
{
	Elf_Scn *section = NULL;
	int size = 0;

	while (!size && (section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		Elf_Data *notes;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_NOTE)
			continue;
		notes = elf_getdata(section, NULL);
		if (notes && notes->d_buf)
			size = build_id_in_notes(notes, id);
	}
	return size;
}

static int build_id_of(Elf *elf, uint8_t id[20])
{
	const size_t count = segment_count(elf);
	int size = count ? 0 : build_id_in_sections(elf, id);

	for (size_t i = 0; i < count && !size; ++i) {
		GElf_Phdr segment;
		Elf_Data *notes;

		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_NOTE)
			continue;
		notes = elf_getdata_rawchunk(elf, (int64_t)segment.p_offset, segment.p_filesz,
		                             segment.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		if (notes && notes->d_buf)
			size = build_id_in_notes(notes, id);
	}
	return size;
}

int elf_file_build_id(int fd, uint8_t id[20])
{
	Elf *elf = elf_of(fd);
	int size;

	memset(id, 0, BUILD_ID_MAX);
	if (!elf)
		return 0;
	size = build_id_of(elf, id);
	elf_end(elf);
	return size;
}

int sb_elf_build_id(const char *path, uint8_t id[20], struct sb_error *err)
{
	int fd, size;

	if (!path || !id)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_elf_build_id: no path");
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return sb_error_set(err, -sbe_io, path, UINT64_MAX, "cannot be opened: %m");
	size = elf_file_build_id(fd, id);
	close(fd);
	return size;
}

/* ---- Debug files ------------------------------------------------------------------------------ */

static int has_no_code(Elf *elf)
{
	Elf_Scn *section = NULL;
	int without = 0;

	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_EXECINSTR))
			continue;
		if (header.sh_type != SHT_NOBITS)
			return 0;
		without = 1;
	}
	return without;
}

int elf_file_is_debug_only(int fd)
{
	Elf *elf = elf_of(fd);
	int result;

	if (!elf)
		return 0;
	result = has_no_code(elf);
	elf_end(elf);
	return result;
}

/* The section of that name, or NULL. */
static Elf_Scn *section_of(Elf *elf, const char *name)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		const char *found;
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header))
			continue;
		found = elf_strptr(elf, names, header.sh_name);
		if (found && strcmp(found, name) == 0)
			return section;
	}
	return NULL;
}

/* The name, zeros up to a multiple of four, the checksum. */
static int read_debuglink(const Elf_Data *data, char *name, size_t name_size, uint32_t *crc)
{
	const char *bytes = data->d_buf;
	const char *end = bytes ? memchr(bytes, 0, data->d_size) : NULL;
	size_t length, place;

	if (!end || end == bytes)
		return 0;
	length = (size_t)(end - bytes);
	place = (length + 4) & ~(size_t)3;
	if (length >= name_size || data->d_size < 4 || place > data->d_size - 4 || strchr(bytes, '/'))
		return 0;
	memcpy(name, bytes, length + 1);
	memcpy(crc, bytes + place, 4);
	return 1;
}

int elf_file_debuglink(int fd, char *name, size_t name_size, uint32_t *crc)
{
	Elf *elf = elf_of(fd);
	Elf_Scn *section;
	Elf_Data *data;
	int found = 0;

	if (!elf)
		return 0;
	section = section_of(elf, ".gnu_debuglink");
	data = section ? elf_rawdata(section, NULL) : NULL;
	if (data)
		found = read_debuglink(data, name, name_size, crc);
	elf_end(elf);
	return found;
}

/* ---- Mappings --------------------------------------------------------------------------------- */

/* What the loader makes of the segments; file offsets, in whole pages. */
struct layout {
	uint64_t code_begin, code_end; /* the code segments around the mapping's first byte, joined */
	uint64_t first_begin;          /* of the lowest segment */
	uint64_t span;                 /* of all segments in memory */
	uint64_t file_size;
	int nsegments;
	int any_segment;    /* the first byte is in some segment */
	int all_executable; /* on an executable stack's account */
};

static uint64_t page_down(uint64_t value)
{
	return value & ~(uint64_t)(PAGE - 1);
}

static uint64_t page_up(uint64_t value)
{
	return value > UINT64_MAX - PAGE ? page_down(UINT64_MAX) : page_down(value + PAGE - 1);
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

static void add_segment(struct layout *layout, const GElf_Phdr *segment, uint64_t offset)
{
	const uint64_t begin = page_down(segment->p_offset);
	const uint64_t end = page_up(sum(segment->p_offset, segment->p_filesz));

	if (offset >= begin && offset < end)
		layout->any_segment = 1;
	if (!(segment->p_flags & PF_X))
		return;
	if (layout->code_end > layout->code_begin && begin == layout->code_end) {
		layout->code_end = end; /* the kernel joins neighbours */
	} else if (offset >= begin && offset < end) {
		layout->code_begin = begin;
		layout->code_end = end;
	}
}

static void read_layout(Elf *elf, uint64_t offset, struct layout *layout)
{
	const size_t count = segment_count(elf);
	uint64_t lowest = UINT64_MAX, highest = 0;

	memset(layout, 0, sizeof(*layout));
	layout->all_executable = 1;
	for (size_t i = 0; i < count; ++i) {
		GElf_Phdr segment;

		if (!gelf_getphdr(elf, (int)i, &segment))
			continue;
		if (segment.p_type == PT_GNU_STACK && !(segment.p_flags & PF_X))
			layout->all_executable = 0;
		if (segment.p_type != PT_LOAD)
			continue;
		layout->nsegments += 1;
		add_segment(layout, &segment, offset);
		if (page_down(segment.p_vaddr) < lowest) {
			lowest = page_down(segment.p_vaddr);
			layout->first_begin = page_down(segment.p_offset);
		}
		if (page_up(sum(segment.p_vaddr, segment.p_memsz)) > highest)
			highest = page_up(sum(segment.p_vaddr, segment.p_memsz));
	}
	layout->span = highest > lowest ? highest - lowest : 0;
}

/* A mapping is what a loader makes of a code segment; loaders may also begin by mapping the whole span
 * like the first segment. A part from the middle, as mprotect() cuts it out, is fine, too; one that
 * begins like a segment and ends elsewhere comes from another version of the file. */
static int mapping_fits(const struct layout *layout, uint64_t offset, uint64_t size, uint64_t *code_size)
{
	const uint64_t end = sum(offset, page_up(size));

	/* The kernel maps a vdso as a whole, whatever its one segment says. */
	*code_size = size;
	if (!offset && layout->nsegments == 1 && end == page_up(layout->file_size))
		return 1;
	if (offset < layout->code_begin || offset >= layout->code_end) {
		*code_size = size;
		return layout->any_segment && layout->all_executable;
	}
	if (end > layout->code_end) {
		*code_size = layout->code_end - offset;
		return offset == layout->first_begin && page_up(size) == layout->span;
	}
	*code_size = size;
	return offset != layout->code_begin || end == layout->code_end;
}

static int is_whole_segment(const struct layout *layout, uint64_t offset, uint64_t size)
{
	const uint64_t end = sum(offset, page_up(size));

	if (offset == layout->code_begin && end == layout->code_end)
		return 1;
	return offset == layout->first_begin && page_up(size) == layout->span;
}

static int check(int fd, uint64_t offset, uint64_t size, uint64_t *code_size, int whole, char *why,
                 size_t why_size)
{
	struct layout layout;
	struct stat st;
	Elf *elf = elf_of(fd);

	*code_size = size;
	if (!elf) {
		if (whole)
			snprintf(why, why_size, "it is no ELF file");
		return whole ? -sbe_mismatch : 0;
	}
	read_layout(elf, offset, &layout);
	elf_end(elf);
	/* libelf would read all of the file to tell. */
	if (fstat(fd, &st) == 0 && st.st_size > 0)
		layout.file_size = (uint64_t)st.st_size;
	if (mapping_fits(&layout, offset, size, code_size) &&
	    (!whole || is_whole_segment(&layout, offset, size)))
		return 0;
	if (layout.code_end > layout.code_begin)
		snprintf(why, why_size, "its code segment is 0x%" PRIx64 "-0x%" PRIx64, layout.code_begin,
		         layout.code_end);
	else
		snprintf(why, why_size, "it has no code segment there");
	return -sbe_mismatch;
}

int elf_file_check_mapping(int fd, uint64_t offset, uint64_t size, uint64_t *code_size, char *why,
                           size_t why_size)
{
	return check(fd, offset, size, code_size, 0, why, why_size);
}

int elf_file_check_whole_segment(int fd, uint64_t offset, uint64_t size, uint64_t *code_size, char *why,
                                 size_t why_size)
{
	return check(fd, offset, size, code_size, 1, why, why_size);
}
