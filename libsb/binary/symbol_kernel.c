/* symbol_kernel.c - see symbol_kernel.h. */
#include "binary/symbol_kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binary/compressed_file.h"
#include "binary/kallsyms.h"

static const char kernel_dso[] = "[kernel.kallsyms]";

/* ---- ELF files -------------------------------------------------------------------------------- */

static int load(struct kernel_file *file, const char *path, uint64_t module_base, struct sb_error *err)
{
	const struct elf_symbols_options options = {.module_base = module_base};
	struct plain_file plain;
	int status = open_maybe_compressed(&plain, path, 0, err);

	if (status < 0)
		return status;
	status = elf_symbols_load(&file->symbols, plain.fd, &options);
	plain_file_close(&plain);
	if (status == -sbe_nomem)
		return sb_error_set(err, status, path, UINT64_MAX, "out of memory");
	if (status < 0)
		return sb_error_set(err, status, path, UINT64_MAX,
		                    "expected an ELF file, found something else");
	if (!file->symbols.table.nsymbols)
		return sb_error_set(err, -sbe_not_found, path, UINT64_MAX,
		                    "expected the symbols of functions, found none");
	return 0;
}

static void free_file(struct kernel_file *file)
{
	if (file)
		elf_symbols_fini(&file->symbols);
	free(file);
}

int symbol_kernel_add_file(struct symbol_kernel *kernel, const char *path, const char *dso, uint64_t offset,
                           uint64_t module_base, struct sb_error *err)
{
	struct kernel_file *file = NULL;
	int status = array_reserve(&kernel->file, &kernel->file_capacity, kernel->nfiles, sizeof(file));

	if (status == 0)
		file = calloc(1, sizeof(*file));
	if (!file)
		return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	file->offset = offset;
	snprintf(file->dso, sizeof(file->dso), "%s", dso);
	status = load(file, path, module_base, err);
	if (status < 0)
		free_file(file);
	else
		kernel->file[kernel->nfiles++] = file;
	return status;
}

static struct table_symbol *find_in_files(const struct symbol_kernel *kernel, uint64_t address,
                                          const char **dso, struct symbol_bounds *bounds)
{
	for (size_t i = 0; i < kernel->nfiles; ++i) {
		const struct kernel_file *file = kernel->file[i];
		const uint64_t linked = address - file->offset;
		uint64_t low, high;
		struct table_symbol *symbol = elf_symbols_find(&file->symbols, linked, &low, &high);

		low = linked - low < address ? address - (linked - low) : 0;
		high = high - linked < UINT64_MAX - address ? address + (high - linked) : UINT64_MAX;
		symbol_bounds_narrow(bounds, low, high);
		*dso = file->dso;
		if (symbol)
			return symbol;
	}
	return NULL;
}

/* ---- kallsyms ----------------------------------------------------------------------------------- */

enum { MODULES_MOST = 65535, PAGE = 4096 };

/* A line of the file: "ADDRESS TYPE NAME[\t[MODULE]]". */
struct line {
	uint64_t address; /* first: what is sorted by */
	char *name;
	uint16_t module;
	char type;
};

struct lines {
	struct line *line; /* owned */
	size_t count, capacity;
	int any, any_address; /* lines; addresses that are not zero */
};

/* The number of the module of that name; lines of one module stand together. */
static int number_module(struct kallsyms *kallsyms, const char *name, uint16_t *number)
{
	const size_t last = kallsyms->nmodules, length = strlen(name);
	char *made;

	if (last && strcmp(kallsyms->module[last - 1], name) == 0) {
		*number = (uint16_t)last;
		return 0;
	}
	*number = 0;
	if (last == MODULES_MOST || length > PAGE)
		return 0;
	made = arena_alloc(&kallsyms->names, length + 1);
	if (!made || array_reserve(&kallsyms->module, &kallsyms->module_capacity, last, sizeof(made)) < 0)
		return -sbe_nomem;
	memcpy(made, name, length + 1);
	kallsyms->module[kallsyms->nmodules++] = made;
	*number = (uint16_t)kallsyms->nmodules;
	return 0;
}

static int read_lines(struct kallsyms *kallsyms, size_t size, struct lines *lines)
{
	char *rest = kallsyms->text;
	struct kallsyms_line found;

	while (kallsyms_next(&rest, kallsyms->text + size, &found)) {
		struct line line = {.address = found.address, .name = found.name, .type = found.type};

		lines->any = 1;
		lines->any_address |= found.address != 0;
		if (found.module && number_module(kallsyms, found.module, &line.module) < 0)
			return -sbe_nomem;
		if (!is_kernel_address(line.address))
			continue;
		if (array_reserve(&lines->line, &lines->capacity, lines->count, sizeof(line)) < 0)
			return -sbe_nomem;
		lines->line[lines->count++] = line;
	}
	return array_sort(lines->line, lines->count, sizeof(*lines->line));
}

static int is_code(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

static uint64_t page_end(uint64_t address)
{
	return address > UINT64_MAX - 2 * PAGE ? UINT64_MAX : (address | (PAGE - 1)) + 1 + PAGE;
}

/* A function ends where anything else begins; the last one of a module, or of all, a page later at most. */
static int make_table(struct kallsyms *kallsyms, const struct lines *lines)
{
	size_t next = 0;
	int status = 0;

	for (size_t i = 0; i < lines->count && status == 0; ++i) {
		const struct line *line = &lines->line[i];
		struct table_symbol symbol = {.begin = line->address,
		                              .end = line->address,
		                              .limit = page_end(line->address),
		                              .name.raw = line->name,
		                              .binding = line->type == 'T' ? symbol_global
		                                         : line->type == 'w' || line->type == 'W'
		                                                 ? symbol_weak
		                                                 : symbol_local,
		                              .owner = line->module};

		while (next < lines->count && lines->line[next].address <= line->address)
			++next;
		if (next < lines->count &&
		    (lines->line[next].module == line->module || lines->line[next].address < symbol.limit))
			symbol.limit = lines->line[next].address;
		if (is_code(line->type))
			status = symbol_table_add(&kallsyms->table, &symbol);
	}
	return status == 0 ? symbol_table_seal(&kallsyms->table) : status;
}

static void kallsyms_fini(struct kallsyms *kallsyms)
{
	free(kallsyms->text);
	free(kallsyms->module);
	symbol_table_fini(&kallsyms->table);
	arena_free(&kallsyms->names);
	memset(kallsyms, 0, sizeof(*kallsyms));
}

static int read_kallsyms(struct kallsyms *kallsyms, const char *path, struct sb_error *err)
{
	struct lines lines = {0};
	size_t size;
	int status = kallsyms_read(path, &kallsyms->text, &size, err);

	if (status < 0)
		return status;
	status = read_lines(kallsyms, size, &lines);
	if (status == 0)
		status = make_table(kallsyms, &lines);
	free(lines.line);
	if (status < 0)
		return sb_error_set(err, status, path, UINT64_MAX, "out of memory");
	if (!lines.any)
		return sb_error_set(err, -sbe_format, path, UINT64_MAX,
		                    "expected lines of an address, a type and a name, as in /proc/kallsyms");
	if (!lines.any_address)
		return sb_error_set(err, -sbe_unsupported, path, UINT64_MAX,
		                    "all addresses are zero: who copied it was not allowed to see them "
		                    "(kernel.kptr_restrict)");
	if (!kallsyms->table.nsymbols)
		return sb_error_set(err, -sbe_format, path, UINT64_MAX,
		                    "expected functions in the upper half of addresses, found none");
	return 0;
}

int symbol_kernel_add_kallsyms(struct symbol_kernel *kernel, const char *path, struct sb_error *err)
{
	struct kallsyms kallsyms = {0};
	int status = read_kallsyms(&kallsyms, path, err);

	if (status < 0) {
		kallsyms_fini(&kallsyms);
		return status;
	}
	kallsyms_fini(&kernel->kallsyms);
	kernel->kallsyms = kallsyms;
	return 0;
}

/* ---- Recorded modules ---------------------------------------------------------------------------- */

static void modules_fini(struct symbol_kernel *kernel)
{
	for (size_t i = 0; kernel->of_module && i < kernel->modules.count; ++i)
		free_file(kernel->of_module[i]);
	free(kernel->of_module);
	kernel->of_module = NULL;
	module_files_fini(&kernel->modules);
}

int symbol_kernel_add_modules(struct symbol_kernel *kernel, const struct sb_perfdata *perfdata,
                              const struct sb_system *system, struct sb_resolver *resolver, const char *kcore)
{
	int status;

	modules_fini(kernel);
	status = module_files_read(&kernel->modules, perfdata, system, resolver, kcore);
	if (status < 0)
		return status;
	kernel->of_module = calloc(kernel->modules.count + 1, sizeof(struct kernel_file *));
	return kernel->of_module ? 0 : -sbe_nomem;
}

static int kallsyms_has_module(const struct kallsyms *kallsyms, const char *name)
{
	for (size_t i = 0; i < kallsyms->nmodules; ++i)
		if (strcmp(kallsyms->module[i], name) == 0)
			return 1;
	return 0;
}

/* What is not proved, or cannot be read, has no symbols. */
static int load_module(struct symbol_kernel *kernel, struct module_file *module, struct kernel_file **file)
{
	struct kernel_file *made;
	int status = module->is_tried ? 0 : module_file_find(&kernel->modules, module);

	if (status < 0 || !module->binary)
		return status;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -sbe_nomem;
	snprintf(made->dso, sizeof(made->dso), "%s", module->name);
	status = load(made, module->binary->path, module->begin, NULL);
	if (status == 0) {
		*file = made;
		return 0;
	}
	free_file(made);
	module->binary = NULL;
	return status == -sbe_nomem ? status : 0;
}

static int find_in_modules(struct symbol_kernel *kernel, uint64_t address, struct table_symbol **symbol,
                           const char **dso, struct symbol_bounds *bounds)
{
	struct module_file *module = module_files_at(&kernel->modules, address, bounds);
	struct kernel_file **file = module ? &kernel->of_module[module - kernel->modules.file] : NULL;
	uint64_t low, high;
	int status = 0;

	if (!module || kallsyms_has_module(&kernel->kallsyms, module->name))
		return 0;
	if (!*file)
		status = load_module(kernel, module, file);
	if (status < 0 || !*file)
		return status;
	*symbol = elf_symbols_find(&(*file)->symbols, address, &low, &high);
	symbol_bounds_narrow(bounds, low, high);
	*dso = (*file)->dso;
	return 0;
}

/* ---- All -------------------------------------------------------------------------------------- */

int symbol_kernel_find(struct symbol_kernel *kernel, uint64_t address, struct table_symbol **symbol,
                       const char **dso, struct symbol_bounds *bounds)
{
	const struct kallsyms *kallsyms = &kernel->kallsyms;
	uint64_t low, high;

	*symbol = find_in_files(kernel, address, dso, bounds);
	if (*symbol)
		return 0;
	*dso = NULL;
	if (kallsyms->text) {
		*symbol = symbol_table_find(&kallsyms->table, address, &low, &high);
		symbol_bounds_narrow(bounds, low, high);
	}
	if (!*symbol)
		return find_in_modules(kernel, address, symbol, dso, bounds);
	*dso = (*symbol)->owner ? kallsyms->module[(*symbol)->owner - 1] : kernel_dso;
	return 0;
}

void symbol_kernel_fini(struct symbol_kernel *kernel)
{
	for (size_t i = 0; i < kernel->nfiles; ++i)
		free_file(kernel->file[i]);
	free(kernel->file);
	modules_fini(kernel);
	kallsyms_fini(&kernel->kallsyms);
	memset(kernel, 0, sizeof(*kernel));
}
