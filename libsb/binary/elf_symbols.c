/* elf_symbols.c - see elf_symbols.h. Symbols: System V gABI chapter 4, "Symbol Table". */
#include "binary/elf_symbols.h"

#include <stdlib.h>
#include <string.h>

#include <sb/error.h>

/* A section as symbols need it. */
struct section {
	uint64_t base; /* what is added to the values of its symbols */
	uint64_t begin, end;
	int is_code;
};

struct sections {
	struct section *section; /* owned; the first one is none */
	size_t count;
};

/* ---- Sections --------------------------------------------------------------------------------- */

/* *next: where the next section of a file without addresses goes to. */
static struct section describe(const struct elf_image *image, const GElf_Shdr *header, int without_addresses,
                               uint64_t *next)
{
	struct section section = {.begin = header->sh_addr,
	                          .is_code = (header->sh_flags & SHF_EXECINSTR) != 0 &&
	                                     (header->sh_flags & SHF_ALLOC) != 0};

	if (without_addresses && section.is_code) {
		section.is_code = elf_image_place(image, header, next, &section.begin);
		section.base = section.begin;
	}
	section.end = section.begin + header->sh_size;
	section.is_code &= section.end > section.begin;
	return section;
}

static int read_sections(struct sections *sections, const struct elf_image *image, uint64_t module_base)
{
	size_t count;
	GElf_Ehdr header;
	Elf_Scn *scn = NULL;

	*sections = (struct sections){0};
	if (!gelf_getehdr(image->elf, &header) || elf_getshdrnum(image->elf, &count) < 0 || !count ||
	    count > image->size / sizeof(Elf32_Shdr))
		return 0;
	sections->section = calloc(count, sizeof(*sections->section));
	if (!sections->section)
		return -sbe_nomem;
	sections->count = count;
	while ((scn = elf_nextscn(image->elf, scn))) {
		const size_t index = elf_ndxscn(scn);
		GElf_Shdr section;

		if (index < count && gelf_getshdr(scn, &section))
			sections->section[index] =
			        describe(image, &section, header.e_type == ET_REL, &module_base);
	}
	return 0;
}

/* ---- Symbols ---------------------------------------------------------------------------------- */

/* One symbol table and what belongs to it. */
struct source {
	const struct sections *sections;
	Elf_Data *symbols, *indices; /* indices: of the sections, where they are too large; or NULL */
	const char *names;
	size_t names_size; /* the last one is a zero */
};

static int binding_of(const GElf_Sym *symbol)
{
	switch (GELF_ST_BIND(symbol->st_info)) {
	case STB_LOCAL:
		return symbol_local;
	case STB_WEAK:
		return symbol_weak;
	default:
		return symbol_global;
	}
}

/* Labels of the assembler that are no names for anybody: ".L12", "$x". */
static int is_nameless(const char *name)
{
	return !*name || *name == '$' || (name[0] == '.' && name[1] == 'L');
}

static int is_code_symbol(const struct source *source, const GElf_Sym *symbol, Elf32_Word index)
{
	const int type = GELF_ST_TYPE(symbol->st_info);

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return 0;
	if (!index || index >= source->sections->count || !source->sections->section[index].is_code)
		return 0;
	return symbol->st_name < source->names_size && !is_nameless(source->names + symbol->st_name);
}

static int add_symbol(struct symbol_table *table, const struct source *source, const GElf_Sym *symbol,
                      Elf32_Word index)
{
	const struct section *section;
	struct table_symbol added;
	uint64_t begin;

	if (!is_code_symbol(source, symbol, index))
		return 0;
	section = &source->sections->section[index];
	begin = section->base + symbol->st_value;
	if (begin < section->begin || begin >= section->end)
		return 0;
	added = (struct table_symbol){.begin = begin,
	                              .end = section->end,
	                              .limit = section->end,
	                              .name.raw = source->names + symbol->st_name,
	                              .binding = (uint8_t)binding_of(symbol),
	                              .is_label = GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE};
	if (symbol->st_size < section->end - begin)
		added.end = begin + symbol->st_size;
	return symbol_table_add(table, &added);
}

static int add_symbols(struct symbol_table *table, const struct source *source)
{
	const size_t count = source->symbols->d_size / sizeof(Elf32_Sym); /* or fewer */
	int status = 0;

	for (size_t i = 1; i < count && i <= INT32_MAX && status == 0; ++i) {
		GElf_Sym symbol;
		Elf32_Word index = 0;

		if (!gelf_getsymshndx(source->symbols, source->indices, (int)i, &symbol, &index))
			break;
		if (symbol.st_shndx < SHN_LORESERVE)
			index = symbol.st_shndx;
		else if (symbol.st_shndx != SHN_XINDEX)
			continue;
		status = add_symbol(table, source, &symbol, index);
	}
	return status;
}

/* The section indices of the symbol table in section @number, or NULL. */
static Elf_Data *find_indices(Elf *elf, size_t number)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr section;

		if (gelf_getshdr(scn, &section) && section.sh_type == SHT_SYMTAB_SHNDX &&
		    section.sh_link == number && !(section.sh_flags & SHF_COMPRESSED))
			return elf_getdata(scn, NULL);
	}
	return NULL;
}

static int find_names(const struct elf_image *image, size_t number, struct source *source)
{
	Elf_Scn *scn = elf_getscn(image->elf, number);
	GElf_Shdr section;

	if (!scn || !gelf_getshdr(scn, &section))
		return 0;
	source->names = (const char *)elf_image_bytes(image, &section);
	source->names_size = section.sh_size;
	return source->names && !source->names[source->names_size - 1];
}

/* Adds the functions of the symbol table in section @scn. */
static int add_table(struct symbol_table *table, const struct elf_image *image,
                     const struct sections *sections, Elf_Scn *scn, const GElf_Shdr *section)
{
	struct source source = {.sections = sections};

	if (!elf_image_bytes(image, section) || !find_names(image, section->sh_link, &source))
		return 0;
	source.symbols = elf_getdata(scn, NULL);
	source.indices = find_indices(image->elf, elf_ndxscn(scn));
	return source.symbols ? add_symbols(table, &source) : 0;
}

/* Adds the functions of both symbol tables in @image, of which there is one of each type. *nfull: how many
 * .symtab has. */
static int add_image(struct symbol_table *table, const struct elf_image *image, uint64_t module_base,
                     size_t *nfull)
{
	struct sections sections;
	Elf_Scn *scn = NULL;
	int had_symtab = 0, had_dynsym = 0;
	int status = read_sections(&sections, image, module_base);

	while (status == 0 && (scn = elf_nextscn(image->elf, scn))) {
		const size_t before = table->nsymbols;
		GElf_Shdr section;

		if (!gelf_getshdr(scn, &section))
			continue;
		if (section.sh_type == SHT_SYMTAB && !had_symtab) {
			had_symtab = 1;
			status = add_table(table, image, &sections, scn, &section);
			*nfull += table->nsymbols - before;
		} else if (section.sh_type == SHT_DYNSYM && !had_dynsym) {
			had_dynsym = 1;
			status = add_table(table, image, &sections, scn, &section);
		}
	}
	free(sections.section);
	return status;
}

/* ---- The file --------------------------------------------------------------------------------- */

/* What a stripped file has elsewhere. */
static int add_elsewhere(struct elf_symbols *symbols, const struct elf_symbols_options *options)
{
	size_t nfull = 0;
	int status = -sbe_not_found;

	if (options->find_debug)
		status = options->find_debug(options->context, &symbols->image[1]);
	if (status == 0)
		status = add_image(&symbols->table, &symbols->image[1], options->module_base, &nfull);
	if (status == -sbe_nomem || nfull)
		return status;
	status = elf_image_unpack_debugdata(&symbols->image[2], &symbols->image[0]);
	if (status == 0)
		status = add_image(&symbols->table, &symbols->image[2], options->module_base, &nfull);
	return status == -sbe_nomem ? status : 0;
}

int elf_symbols_load(struct elf_symbols *symbols, int fd, const struct elf_symbols_options *options)
{
	size_t nfull = 0;
	int status;

	*symbols = (struct elf_symbols){0};
	status = elf_image_map(&symbols->image[0], fd);
	if (status < 0)
		return status;
	elf_codes_read(&symbols->codes, symbols->image[0].elf);
	status = add_image(&symbols->table, &symbols->image[0], options->module_base, &nfull);
	if (status == 0 && !nfull)
		status = add_elsewhere(symbols, options);
	if (status == 0)
		status = symbol_table_seal(&symbols->table);
	return status < 0 ? status : elf_symbols_read_plt(symbols, &symbols->image[0]);
}

struct table_symbol *elf_symbols_find(const struct elf_symbols *symbols, uint64_t address, uint64_t *low,
                                      uint64_t *high)
{
	struct table_symbol *found = symbol_table_find(&symbols->table, address, low, high);
	uint64_t plt_low, plt_high;

	if (found)
		return found;
	found = symbol_table_find(&symbols->plt, address, &plt_low, &plt_high);
	if (plt_low > *low)
		*low = plt_low;
	if (plt_high < *high)
		*high = plt_high;
	return found;
}

void elf_symbols_fini(struct elf_symbols *symbols)
{
	symbol_table_fini(&symbols->table);
	symbol_table_fini(&symbols->plt);
	for (size_t i = 0; i < sizeof(symbols->image) / sizeof(symbols->image[0]); ++i)
		elf_image_close(&symbols->image[i]);
}
