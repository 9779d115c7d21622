/* kernel_vmlinux.c - see kernel_vmlinux.h. */
#include "binary/kernel_vmlinux.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "binary/elf_image.h"
#include "binary/kallsyms.h"
#include "binary/kernel_code.h"
#include "binary/kernel_sites.h"
#include "system/arena.h"

enum { CODE_MAX = 256 << 20 };

/* What is looked for; sorted. */
static const char *const names[] = {
        "__start___jump_table",   "__start_mcount_loc",       "__start_static_call_sites",
        "__static_call_text_end", "__static_call_text_start", "__stop___jump_table",
        "__stop_mcount_loc",      "__stop_static_call_sites",
};
enum { NAMES = sizeof(names) / sizeof(names[0]) };

struct making {
	struct elf_image image;
	uint64_t shift;
	struct kallsyms_name name[NAMES];
	struct kernel_regions *regions;
	size_t capacity;
	int code; /* file of what is made */
	uint64_t written;
};

/* ---- Symbols ---------------------------------------------------------------------------------- */

static uint64_t address_of(void *context, const char *name)
{
	const struct making *making = context;

	for (size_t i = 0; i < NAMES; ++i)
		if (strcmp(making->name[i].name, name) == 0)
			return making->name[i].found == 1 ? making->name[i].address : 0;
	return 0;
}

/* kallsyms' symbols, or else the file's own. */
static int find_names(struct making *making, const char *path, const char *kallsyms)
{
	for (size_t i = 0; i < NAMES; ++i)
		making->name[i] = (struct kallsyms_name){.name = names[i]};
	if (kallsyms && kallsyms_find_names(kallsyms, making->name, NAMES) == -sbe_nomem)
		return -sbe_nomem;
	for (size_t i = 0; i < NAMES; ++i) {
		struct kallsyms_name *name = &making->name[i];
		const uint64_t linked = name->found ? 0 : elf_symbol_address(path, names[i]);

		if (!linked)
			continue;
		name->address = linked + making->shift;
		name->found = 1;
	}
	return 0;
}

/* ---- Code ------------------------------------------------------------------------------------- */

/* Sections with code that stays: not that of starting up, nor what is only copied from. */
static int is_kept(const struct elf_image *image, const GElf_Shdr *section, uint64_t shift)
{
	static const char *const dropped[] = {".init", ".exit", ".altinstr"};
	const char *name = elf_image_name(image, section);
	const uint64_t begin = section->sh_addr + shift;

	if ((section->sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) != (SHF_ALLOC | SHF_EXECINSTR) ||
	    !(begin >> 63) || section->sh_size > CODE_MAX || section->sh_size > UINT64_MAX - begin)
		return 0;
	for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); ++i)
		if (strncmp(name, dropped[i], strlen(dropped[i])) == 0)
			return 0;
	return elf_image_bytes(image, section) != NULL;
}

/* Trampolines of static calls are jumps to what is called. */
static void forget_trampolines(struct making *making, struct kernel_code *code)
{
	const uint64_t begin = address_of(making, "__static_call_text_start");
	const uint64_t end = address_of(making, "__static_call_text_end");

	if (end > begin && kernel_code_has(code, begin, end - begin))
		kernel_code_forget(code, begin, end - begin);
}

static int write_known(struct making *making, const struct kernel_code *code)
{
	uint64_t at = code->begin, size;

	if (pwrite(making->code, code->bytes, code->size, (off_t)making->written) != (ssize_t)code->size)
		return -sbe_io;
	for (; (size = kernel_code_next(code, &at)); at += size) {
		if (array_reserve(&making->regions->region, &making->capacity, making->regions->count,
		                  sizeof(*making->regions->region)) < 0)
			return -sbe_nomem;
		making->regions->region[making->regions->count++] = (struct kernel_region){
		        .begin = at, .end = at + size, .offset = making->written + (at - code->begin)};
	}
	making->written += code->size;
	return 0;
}

static int add_section(struct making *making, const GElf_Shdr *section)
{
	const struct kernel_state nothing = {0};
	const struct site_source source = {
	        .image = &making->image, .symbol = address_of, .context = making, .shift = making->shift};
	struct kernel_code code;
	int status = kernel_code_init(&code, section->sh_addr + making->shift, section->sh_size);

	if (status < 0)
		return status;
	kernel_code_put(&code, code.begin, elf_image_bytes(&making->image, section), code.size);
	status = kernel_sites_apply(&code, &source, &nothing);
	forget_trampolines(making, &code);
	if (status == 0)
		status = making->written + code.size > CODE_MAX ? -sbe_format : write_known(making, &code);
	kernel_code_free(&code);
	return status;
}

static int add_sections(struct making *making)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr section;
	int status = 0;

	while (status == 0 && (scn = elf_nextscn(making->image.elf, scn)))
		if (gelf_getshdr(scn, &section) && is_kept(&making->image, &section, making->shift))
			status = add_section(making, &section);
	return status;
}

/* ------------------------------------------------------------------------------------------------- */

static int explain(int status, const char *name, struct sb_error *err)
{
	switch (status) {
	case -sbe_not_found:
		return sb_error_set(
		        err, status, name, UINT64_MAX,
		        "has no symbols that say where it was patched at boot: give its kallsyms, "
		        "too, or a vmlinux with symbols");
	case -sbe_io:
		return sb_error_set(err, status, name, UINT64_MAX, "cannot be copied: %s", strerror(errno));
	case -sbe_format:
		return sb_error_set(
		        err, status, name, UINT64_MAX,
		        "its tables of what is patched at boot are damaged, or of a kernel that is "
		        "not known");
	default:
		return status;
	}
}

static int make(struct making *making, const struct plain_file *vmlinux, const char *kallsyms)
{
	int status = find_names(making, vmlinux->path, kallsyms);

	if (status < 0)
		return status;
	making->code = memfd_create("sbtrace-vmlinux", MFD_CLOEXEC);
	if (making->code < 0)
		return -sbe_io;
	status = add_sections(making);
	if (status == 0)
		status = array_sort(making->regions->region, making->regions->count,
		                    sizeof(*making->regions->region));
	return status;
}

int kernel_vmlinux_read(struct kernel_regions *regions, int *code, const struct plain_file *vmlinux,
                        const char *name, uint64_t shift, const char *kallsyms, struct sb_error *err)
{
	struct making making = {.shift = shift, .regions = regions, .code = -1};
	GElf_Shdr section;
	int status = elf_image_map(&making.image, vmlinux->fd);

	*regions = (struct kernel_regions){0};
	*code = -1;
	if (status < 0 || !elf_image_section(&making.image, ".altinstructions", &section)) {
		elf_image_close(&making.image);
		return kernel_regions_read(regions, vmlinux->fd, name, shift, err);
	}
	status = make(&making, vmlinux, kallsyms);
	elf_image_close(&making.image);
	*code = making.code;
	if (status == 0)
		return 0;
	if (making.code >= 0)
		close(making.code);
	*code = -1;
	kernel_regions_free(regions);
	return explain(status, name, err);
}
