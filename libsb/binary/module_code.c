/* module_code.c - see module_code.h. Relocations: System V ABI, AMD64 supplement, chapter 4. */
#include "binary/module_code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "binary/elf_image.h"
#include "binary/kernel_sites.h"
#include "record/bytes.h"
#include "system/arena.h"

enum { CODE_MAX = 64 << 20 };

struct module {
	struct elf_image image;
	const struct module_place *place;
	struct kernel_code *code;
	uint64_t *base; /* owned; of each section; 0: it is no code that is kept */
	size_t nsections;
	Elf_Data *symbols;
	size_t names; /* the section with the symbols' names */
	size_t nsymbols;
};

/* ---- Sections --------------------------------------------------------------------------------- */

static int is_module(const struct elf_image *image)
{
	GElf_Ehdr header;

	return gelf_getehdr(image->elf, &header) && header.e_type == ET_REL &&
	       header.e_machine == EM_X86_64 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
	       header.e_ident[EI_DATA] == ELFDATA2LSB;
}

/* Zero, or what is wrong. */
static const char *place_sections(struct module *module, uint64_t *end)
{
	const struct module_place *place = module->place;
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	*end = place->begin;
	while ((scn = elf_nextscn(module->image.elf, scn))) {
		const size_t index = elf_ndxscn(scn);
		uint64_t begin;

		if (index >= module->nsections || !gelf_getshdr(scn, &header) ||
		    !elf_image_place(&module->image, &header, end, &begin))
			continue;
		if (header.sh_size > place->size || *end < begin || *end - place->begin > place->size)
			return "its code is longer than what was loaded";
		if (*end - place->begin > CODE_MAX)
			return "it has more than 64 MiB of code";
		module->base[index] = begin;
	}
	return *end == place->begin ? "it has no code" : NULL;
}

static void copy_sections(struct module *module)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	while ((scn = elf_nextscn(module->image.elf, scn))) {
		const size_t index = elf_ndxscn(scn);
		const uint8_t *bytes;

		if (index >= module->nsections || !module->base[index] || !gelf_getshdr(scn, &header))
			continue;
		bytes = elf_image_bytes(&module->image, &header);
		if (bytes)
			kernel_code_put(module->code, module->base[index], bytes, header.sh_size);
		else
			kernel_code_forget(module->code, module->base[index], header.sh_size);
	}
}

/* Between sections nobody says what stands. */
static void forget_gaps(struct module *module)
{
	struct kernel_code *code = module->code;
	uint64_t at = code->begin;
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	while ((scn = elf_nextscn(module->image.elf, scn))) {
		const uint64_t base = elf_ndxscn(scn) < module->nsections ? module->base[elf_ndxscn(scn)] : 0;

		if (!base || !gelf_getshdr(scn, &header))
			continue;
		kernel_code_forget(code, at, base - at);
		at = base + header.sh_size;
	}
}

/* ---- Symbols ---------------------------------------------------------------------------------- */

static int find_symbols(struct module *module)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	while ((scn = elf_nextscn(module->image.elf, scn))) {
		if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_SYMTAB)
			continue;
		module->symbols = elf_getdata(scn, NULL);
		module->names = header.sh_link;
		module->nsymbols = module->symbols ? module->symbols->d_size / sizeof(Elf64_Sym) : 0;
		return module->nsymbols && module->nsymbols < INT32_MAX;
	}
	return 0;
}

static int get_symbol(const struct module *module, uint64_t index, GElf_Sym *symbol, const char **name)
{
	if (index >= module->nsymbols || !gelf_getsym(module->symbols, (int)index, symbol))
		return 0;
	*name = elf_strptr(module->image.elf, module->names, symbol->st_name);
	return 1;
}

/* Where kallsyms has functions of this module of that name, is one at @address? */
static int agrees(const struct module *module, const char *name, uint64_t address)
{
	const struct kallsyms_index *index = module->place->kallsyms;
	const struct kallsyms_line *line = kallsyms_index_lines(index, name);
	int any = 0;

	for (; line && line < index->line + index->count && strcmp(line->name, name) == 0; ++line) {
		if (!line->module || (line->type != 't' && line->type != 'T') ||
		    strcmp(line->module, module->place->name) != 0)
			continue;
		if (line->address == address)
			return 1;
		any = 1;
	}
	return !any;
}

/* How many of the module's functions kallsyms has elsewhere. */
static size_t count_differences(const struct module *module)
{
	size_t count = 0;

	for (size_t i = 0; i < module->nsymbols; ++i) {
		GElf_Sym symbol;
		const char *name;

		if (get_symbol(module, i, &symbol, &name) && name && *name &&
		    symbol.st_shndx < module->nsections && module->base[symbol.st_shndx])
			count += !agrees(module, name, module->base[symbol.st_shndx] + symbol.st_value);
	}
	return count;
}

/* ---- Relocations ------------------------------------------------------------------------------ */

/* What the symbol stands for; zero: not known. */
static uint64_t symbol_address(const struct module *module, uint64_t index)
{
	const char *name;
	GElf_Sym symbol;

	if (!get_symbol(module, index, &symbol, &name))
		return 0;
	if (symbol.st_shndx == SHN_ABS)
		return symbol.st_value;
	if (symbol.st_shndx == SHN_UNDEF)
		return name ? kallsyms_index_find(module->place->kallsyms, name) : 0;
	return symbol.st_shndx < module->nsections && module->base[symbol.st_shndx]
	               ? module->base[symbol.st_shndx] + symbol.st_value
	               : 0;
}

/* How many bytes of opcode stand before the operand of a branch; zero: it is none that is known as one. */
static unsigned int branch_opcode(const struct kernel_code *code, uint64_t field)
{
	const uint8_t *bytes = code->bytes + (field - code->begin);

	if (field > code->begin && (bytes[-1] == 0xe8 || bytes[-1] == 0xe9))
		return 1;
	return field - code->begin > 1 && bytes[-2] == 0x0f && (bytes[-1] & 0xf0) == 0x80 ? 2 : 0;
}

/* Nobody knows what to write there: if it is a branch, nobody knows where it goes to. */
static void forget_branch(struct kernel_code *code, uint64_t field, int is_branch)
{
	const unsigned int opcode = branch_opcode(code, field);

	if (opcode)
		kernel_code_forget(code, field - opcode, opcode + 4);
	else if (is_branch)
		kernel_code_forget(code, field - 1, 5);
}

static void relocate(struct module *module, uint64_t section, const Elf64_Rela *rela)
{
	const uint64_t field = section + rela->r_offset;
	const uint64_t symbol = symbol_address(module, ELF64_R_SYM(rela->r_info));
	const uint64_t value = symbol + (uint64_t)rela->r_addend;
	const uint32_t type = ELF64_R_TYPE(rela->r_info);
	const size_t size = type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;
	uint8_t bytes[8];

	if (!kernel_code_has(module->code, field, size))
		return;
	switch (type) {
	case R_X86_64_NONE:
		return;
	case R_X86_64_64:
	case R_X86_64_32:
	case R_X86_64_32S:
		store_u64(bytes, value);
		break;
	case R_X86_64_PC64:
	case R_X86_64_PC32:
	case R_X86_64_PLT32:
		store_u64(bytes, value - field);
		break;
	default:
		kernel_code_forget(module->code, field, size);
		return;
	}
	if (symbol)
		kernel_code_put(module->code, field, bytes, size);
	else
		forget_branch(module->code, field, type == R_X86_64_PLT32);
}

typedef void apply_relocation(struct module *module, uint64_t section, const Elf64_Rela *rela);

static void relocate_all(struct module *module, apply_relocation *apply)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	while ((scn = elf_nextscn(module->image.elf, scn))) {
		const uint8_t *bytes;

		if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_RELA ||
		    header.sh_info >= module->nsections || !module->base[header.sh_info])
			continue;
		bytes = elf_image_bytes(&module->image, &header);
		for (uint64_t at = 0; bytes && header.sh_size - at >= sizeof(Elf64_Rela);
		     at += sizeof(Elf64_Rela)) {
			Elf64_Rela rela;

			memcpy(&rela, bytes + at, sizeof(rela));
			apply(module, module->base[header.sh_info], &rela);
		}
	}
}

/* What the kernel writes there depends on where everything is. */
static void forget_relocation(struct module *module, uint64_t section, const Elf64_Rela *rela)
{
	const uint64_t field = section + rela->r_offset;
	const uint32_t type = ELF64_R_TYPE(rela->r_info);

	if (!kernel_code_has(module->code, field, 8)) {
		kernel_code_forget(module->code, field, 8);
		return;
	}
	kernel_code_forget(module->code, field, type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4);
	forget_branch(module->code, field, type == R_X86_64_PLT32);
}

static uint64_t site_of(void *context, const Elf64_Rela *rela)
{
	const struct module *module = context;
	const uint64_t symbol = symbol_address(module, ELF64_R_SYM(rela->r_info));

	return symbol ? symbol + (uint64_t)rela->r_addend : 0;
}

/* ---- All -------------------------------------------------------------------------------------- */

static int say(char why[128], const char *text)
{
	snprintf(why, 128, "%s", text);
	return -sbe_format;
}

static int check_build(const struct module *module, char why[128])
{
	const size_t count = count_differences(module);

	if (!count)
		return 0;
	snprintf(why, 128, "kallsyms has %zu of its functions elsewhere: it is another build", count);
	return -sbe_format;
}

static int fill(struct module *module, char why[128])
{
	const struct site_source source = {.image = &module->image, .target = site_of, .context = module};

	copy_sections(module);
	relocate_all(module, relocate);
	return kernel_sites_apply(module->code, &source, module->place->state) < 0
	               ? say(why, "the table of what is patched in it is damaged")
	               : 0;
}

/* Puts its sections to their places. */
static int lay_out(struct module *module, uint64_t *end, char why[128])
{
	const char *wrong;

	if (!is_module(&module->image) || elf_getshdrnum(module->image.elf, &module->nsections) < 0 ||
	    module->nsections > module->image.size / sizeof(Elf64_Shdr))
		return say(why, "it is no kernel module of x86-64");
	module->base = calloc(module->nsections ? module->nsections : 1, sizeof(*module->base));
	if (!module->base)
		return -sbe_nomem;
	wrong = place_sections(module, end);
	if (wrong || !find_symbols(module))
		return say(why, wrong ? wrong : "it has no symbols");
	return 0;
}

static int read_module(struct module *module, char why[128])
{
	uint64_t end;
	int status = lay_out(module, &end, why);

	if (status == 0)
		status = check_build(module, why);
	if (status == 0)
		status = kernel_code_init(module->code, module->place->begin, end - module->place->begin);
	return status < 0 ? status : fill(module, why);
}

int module_code_read(struct kernel_code *code, int fd, const struct module_place *place, char why[128])
{
	struct module module = {.place = place, .code = code};
	int status = elf_image_map(&module.image, fd);

	*code = (struct kernel_code){0};
	why[0] = '\0';
	if (status == -sbe_format)
		say(why, "it is no ELF file");
	if (status == 0)
		status = read_module(&module, why);
	if (status < 0)
		kernel_code_free(code);
	free(module.base);
	elf_image_close(&module.image);
	return status;
}

/* ---- The kernel's memory ------------------------------------------------------------------------- */

enum { PROOF_LEAST = 16, LOCK = 0xf0, DATA_SEGMENT = 0x3e };

/* Whether the file has the bytes of [address, address + size): they may be in several regions. */
static int read_memory(const struct kernel_base *kcore, uint64_t address, uint8_t *bytes, uint64_t size)
{
	const struct kernel_regions *regions = &kcore->regions;
	size_t i = array_above(regions->region, regions->count, sizeof(*regions->region), address);

	for (i -= i > 0; size && i < regions->count && regions->region[i].begin <= address; ++i) {
		const struct kernel_region *region = &regions->region[i];
		const uint64_t left = region->end > address ? region->end - address : 0;
		const uint64_t part = size < left ? size : left;

		if (part && pread(kernel_base_fd(kcore), bytes, part,
		                  (off_t)(region->offset + (address - region->begin))) != (ssize_t)part)
			return 0;
		address += part;
		bytes += part;
		size -= part;
	}
	return !size;
}

/* On one processor, the kernel takes lock prefixes away. */
static int is_same(uint8_t built, uint8_t there)
{
	return built == there || (built == LOCK && there == DATA_SEGMENT);
}

static int compare_memory(const struct kernel_code *code, const struct kernel_base *kcore)
{
	uint8_t *there = malloc(code->size);
	uint64_t nknown = 0;
	int status = there ? read_memory(kcore, code->begin, there, code->size) : -sbe_nomem;

	for (uint64_t i = 0; status == 1 && i < code->size; ++i) {
		nknown += !code->unknown[i];
		status = code->unknown[i] || is_same(code->bytes[i], there[i]);
	}
	free(there);
	return status == 1 ? nknown >= PROOF_LEAST : status;
}

/* All that is sure before the module is loaded. */
static int compare_module(struct module *module, const struct kernel_base *kcore)
{
	const struct kernel_state nothing = {.may_trace = 1};
	const struct site_source source = {.image = &module->image, .target = site_of, .context = module};
	uint64_t end;
	char why[128];
	int status = lay_out(module, &end, why);

	if (status == 0)
		status = kernel_code_init(module->code, module->place->begin, end - module->place->begin);
	if (status < 0)
		return status;
	copy_sections(module);
	forget_gaps(module);
	relocate_all(module, forget_relocation);
	status = kernel_sites_apply(module->code, &source, &nothing);
	return status < 0 ? status : compare_memory(module->code, kcore);
}

int module_code_compare(int fd, const struct module_place *place, const struct kernel_base *kcore)
{
	const struct kallsyms_index none = {0};
	const struct module_place alone = {
	        .name = place->name, .begin = place->begin, .size = place->size, .kallsyms = &none};
	struct kernel_code code = {0};
	struct module module = {.place = &alone, .code = &code};
	int status = elf_image_map(&module.image, fd);

	if (status == 0)
		status = compare_module(&module, kcore);
	kernel_code_free(&code);
	free(module.base);
	elf_image_close(&module.image);
	return status == -sbe_format ? 0 : status;
}
