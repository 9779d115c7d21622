/* elf_functions.c - see elf_functions.h. The table that unwinders search, .eh_frame_hdr, has an entry for
 * each function: LSB Core, "Exception Frames". Compilers for x86-64 make it for all code, and strip(1) leaves
 * it. */
#include "binary/elf_functions.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include <sb/error.h>

#include "binary/elf_image.h"

enum {
	VERSION = 1,
	FOUR_BYTES = 0x03,      /* DW_EH_PE_udata4 */
	PC_RELATIVE = 0x1b,     /* DW_EH_PE_pcrel | DW_EH_PE_sdata4 */
	HEADER_RELATIVE = 0x3b, /* DW_EH_PE_datarel | DW_EH_PE_sdata4 */
	HEADER = 12,            /* version, three encodings, the frames' address, the number of entries */
	ENTRY = 8,              /* the function, its frame */
};

static int32_t get32(const uint8_t *bytes)
{
	int32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* @table: the @size bytes that stand at @address. */
static int read_table(struct elf_functions *functions, const uint8_t *table, size_t size, uint64_t address)
{
	static const uint8_t known[] = {VERSION, PC_RELATIVE, FOUR_BYTES, HEADER_RELATIVE};
	size_t count;

	if (size < HEADER || memcmp(table, known, sizeof(known)) != 0)
		return 0;
	count = (uint32_t)get32(table + 8);
	if (count > (size - HEADER) / ENTRY)
		count = (size - HEADER) / ENTRY;
	functions->start = reallocarray(NULL, count + 1, sizeof(*functions->start));
	if (!functions->start)
		return -sbe_nomem;
	for (size_t i = 0; i < count; ++i)
		functions->start[i] = address + (uint64_t)(int64_t)get32(table + HEADER + i * ENTRY);
	functions->count = count;
	return 0;
}

static int read_image(struct elf_functions *functions, Elf *elf)
{
	GElf_Ehdr header;
	size_t count;

	if (!gelf_getehdr(elf, &header) || elf_getphdrnum(elf, &count) < 0)
		return 0;
	functions->entry = header.e_entry;
	for (size_t i = 0; i < count && i <= INT32_MAX; ++i) {
		GElf_Phdr segment;
		const Elf_Data *data;

		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_GNU_EH_FRAME)
			continue;
		data = elf_getdata_rawchunk(elf, (int64_t)segment.p_offset, segment.p_filesz, ELF_T_BYTE);
		return data && data->d_buf ? read_table(functions, data->d_buf, data->d_size, segment.p_vaddr)
		                           : 0;
	}
	return 0;
}

int elf_functions_read(struct elf_functions *functions, const char *path)
{
	struct elf_image image;
	int status;

	*functions = (struct elf_functions){0};
	status = elf_image_open(&image, path);
	if (status < 0)
		return status == -sbe_nomem ? status : 0;
	status = read_image(functions, image.elf);
	elf_image_close(&image);
	return status;
}

void elf_functions_free(struct elf_functions *functions)
{
	free(functions->start);
	*functions = (struct elf_functions){0};
}
