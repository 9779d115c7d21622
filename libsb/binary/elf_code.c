/* elf_code.c - see elf_code.h. System V gABI, "Program Header". */
#include "binary/elf_code.h"

#include <string.h>

#include "binary/elf_image.h"

void elf_codes_read(struct elf_codes *codes, Elf *elf)
{
	size_t count;

	codes->count = 0;
	if (elf_getphdrnum(elf, &count) < 0)
		return;
	for (size_t i = 0; i < count && i <= INT32_MAX && codes->count < ELF_CODE_SEGMENTS_MAX; ++i) {
		GElf_Phdr segment;

		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
		    !(segment.p_flags & PF_X) || !segment.p_filesz)
			continue;
		codes->segment[codes->count++] =
		        (struct sb_elf_code){segment.p_offset, segment.p_filesz, segment.p_vaddr};
	}
}

int elf_codes_address(const struct elf_codes *codes, uint64_t offset, uint64_t *address, uint64_t *low,
                      uint64_t *high)
{
	for (size_t i = 0; i < codes->count; ++i) {
		const struct sb_elf_code *code = &codes->segment[i];

		if (offset < code->offset || offset - code->offset >= code->size)
			continue;
		*address = code->address + (offset - code->offset);
		*low = code->offset;
		*high = code->size < UINT64_MAX - code->offset ? code->offset + code->size : UINT64_MAX;
		return 1;
	}
	return 0;
}

int sb_elf_code(const char *path, struct sb_elf_code *code, size_t room, struct sb_error *err)
{
	struct elf_image image;
	struct elf_codes codes;
	int status;

	if (!path || (!code && room))
		return sb_error_set(err, -sbe_invalid, path, UINT64_MAX, "sb_elf_code: no file");
	status = elf_image_open(&image, path);
	if (status < 0)
		return sb_error_set(err, status, path, UINT64_MAX, "%s",
		                    status == -sbe_not_found ? "cannot be opened"
		                    : status == -sbe_nomem   ? "out of memory"
		                                             : "is not ELF");
	elf_codes_read(&codes, image.elf);
	elf_image_close(&image);
	if (codes.count > room)
		codes.count = room;
	if (codes.count)
		memcpy(code, codes.segment, codes.count * sizeof(*code));
	return (int)codes.count;
}
