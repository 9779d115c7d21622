/* dwarf_lines.c - see dwarf_lines.h. DWARF 5, "Line Number Information"; how it is read is libdw's business.
 *
 * Units say which addresses they have code at; the line table of a unit is only read when one of them is
 * asked for. Its rows are kept as plain stretches of addresses: without those that no instruction is at. */
#include "binary/dwarf_lines.h"

#include <dwarf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	UNITS_MAX = 1 << 22,
	UNPACKED_RATIO_MAX = 1100, /* zlib and zstd do not pack better: what says so lies */
	UNPACKED_FREE = 1 << 20,
	NAME_MOST = 4096
};

struct row {
	uint64_t begin, end;
	const char *file;
	uint32_t line, column;
};

struct dwarf_unit {
	Dwarf_Die die;
	struct row *row; /* owned; sorted */
	size_t nrows, capacity;
	int loaded;
	unsigned int walked; /* in which round */
};

/* ---- Units ------------------------------------------------------------------------------------ */

/* A few bytes may not ask for gigabytes. */
static int is_modest(Elf_Scn *scn, const GElf_Shdr *section)
{
	GElf_Chdr packed;

	if (!(section->sh_flags & SHF_COMPRESSED))
		return 1;
	return gelf_getchdr(scn, &packed) &&
	       packed.ch_size / UNPACKED_RATIO_MAX <= section->sh_size + UNPACKED_FREE / UNPACKED_RATIO_MAX;
}

/* Whether libdw can read it without looking for other files by itself, or taking any amount of memory. */
static int is_readable(const struct elf_image *image)
{
	Elf_Scn *scn = NULL;
	int any = 0;

	while ((scn = elf_nextscn(image->elf, scn))) {
		GElf_Shdr section;
		const char *name;

		if (!gelf_getshdr(scn, &section))
			return 0;
		name = elf_image_name(image, &section);
		if (strcmp(name, ".gnu_debugaltlink") == 0 || strncmp(name, ".zdebug_", 8) == 0)
			return 0;
		if (strncmp(name, ".debug_", 7) == 0 && !is_modest(scn, &section))
			return 0;
		any |= strcmp(name, ".debug_line") == 0 && section.sh_type != SHT_NOBITS;
	}
	return any;
}

static int add_range(struct dwarf_lines *lines, uint64_t begin, uint64_t end)
{
	if (begin >= end)
		return 0;
	if (array_reserve(&lines->range, &lines->range_capacity, lines->nranges, sizeof(*lines->range)) < 0)
		return -sbe_nomem;
	lines->range[lines->nranges++] = (struct dwarf_range){begin, end, lines->nunits - 1};
	return 0;
}

static int add_unit(struct dwarf_lines *lines, Dwarf_Die *die)
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t at = 0;
	int status = 0;

	if (array_reserve(&lines->unit, &lines->unit_capacity, lines->nunits, sizeof(*lines->unit)) < 0)
		return -sbe_nomem;
	lines->unit[lines->nunits++] = (struct dwarf_unit){.die = *die};
	while (status == 0 && (at = dwarf_ranges(die, at, &base, &begin, &end)) > 0)
		status = add_range(lines, begin, end);
	return status;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct dwarf_range *left = a, *right = b;

	if (left->begin != right->begin)
		return left->begin < right->begin ? -1 : 1;
	if (left->end != right->end)
		return left->end > right->end ? -1 : 1;
	return left->unit < right->unit ? -1 : left->unit > right->unit;
}

static int read_units(struct dwarf_lines *lines)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	Dwarf_Half version;
	uint8_t type;
	int status = 0;

	while (status == 0 && lines->nunits < UNITS_MAX &&
	       dwarf_get_units(lines->dwarf, unit, &unit, &version, &type, &die, NULL) == 0)
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			status = add_unit(lines, &die);
	if (lines->nranges)
		qsort(lines->range, lines->nranges, sizeof(*lines->range), compare_ranges);
	return status;
}

int dwarf_lines_load(struct dwarf_lines *lines, struct elf_image *image)
{
	*lines = (struct dwarf_lines){.image = *image};
	*image = (struct elf_image){0};
	if (!is_readable(&lines->image))
		return 0;
	lines->dwarf = dwarf_begin_elf(lines->image.elf, DWARF_C_READ, NULL);
	return lines->dwarf ? read_units(lines) : 0;
}

void dwarf_lines_fini(struct dwarf_lines *lines)
{
	for (size_t i = 0; i < lines->nunits; ++i)
		free(lines->unit[i].row);
	free(lines->unit);
	free(lines->range);
	if (lines->dwfl)
		dwfl_end(lines->dwfl);
	else if (lines->dwarf)
		dwarf_end(lines->dwarf);
	elf_image_close(&lines->image);
	*lines = (struct dwarf_lines){0};
}

/* ---- Modules ------------------------------------------------------------------------------------ */

/* What libdwfl asks for. */
struct module_source {
	int fd;
	uint64_t *place; /* of each section; (Dwarf_Addr)-1: it is not there any more */
	size_t nsections;
};

static int find_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, char **file_name,
                    Elf **elf)
{
	const struct module_source *source = *userdata;

	(void)module;
	(void)base;
	(void)elf;
	*file_name = strdup(name);
	return source && *file_name ? fcntl(source->fd, F_DUPFD_CLOEXEC, 0) : -1;
}

/* It is the file that has it. */
static int find_debuginfo(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
                          const char *file_name, const char *link, GElf_Word crc, char **debug_name)
{
	(void)module;
	(void)userdata;
	(void)name;
	(void)base;
	(void)file_name;
	(void)link;
	(void)crc;
	(void)debug_name;
	return -1;
}

static int section_address(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
                           const char *section, GElf_Word index, const GElf_Shdr *header, Dwarf_Addr *address)
{
	const struct module_source *source = *userdata;

	(void)module;
	(void)name;
	(void)base;
	(void)section;
	(void)header;
	*address = source && index < source->nsections ? source->place[index] : (Dwarf_Addr)-1;
	return DWARF_CB_OK;
}

/* Of sections that the kernel keeps as code. Zero; -sbe_nomem; positive: they are none. */
static int place_sections(struct module_source *source, const struct elf_image *image, uint64_t base)
{
	Elf_Scn *scn = NULL;

	if (elf_getshdrnum(image->elf, &source->nsections) < 0 || source->nsections > image->size)
		return 1;
	source->place = reallocarray(NULL, source->nsections + 1, sizeof(*source->place));
	if (!source->place)
		return -sbe_nomem;
	memset(source->place, 0xff, (source->nsections + 1) * sizeof(*source->place));
	while ((scn = elf_nextscn(image->elf, scn))) {
		GElf_Shdr header;
		uint64_t begin;

		if (elf_ndxscn(scn) < source->nsections && gelf_getshdr(scn, &header) &&
		    elf_image_place(image, &header, &base, &begin))
			source->place[elf_ndxscn(scn)] = begin;
	}
	return 0;
}

/* Whether libdw may read it; then *source says where its sections go to. */
static int look_at(struct module_source *source, uint64_t base)
{
	struct elf_image image;
	int status = elf_image_map(&image, source->fd);

	if (status == 0)
		status = is_readable(&image) ? place_sections(source, &image, base) : -sbe_format;
	elf_image_close(&image);
	return status;
}

static int read_module(struct dwarf_lines *lines, struct module_source *source, uint64_t base)
{
	static const Dwfl_Callbacks callbacks = {
	        .find_elf = find_elf, .find_debuginfo = find_debuginfo, .section_address = section_address};
	Dwfl_Module *module;
	Dwarf_Addr bias;
	void **userdata;

	lines->dwfl = dwfl_begin(&callbacks);
	if (!lines->dwfl)
		return -sbe_nomem;
	module = dwfl_report_module(lines->dwfl, "module", base, base + 1);
	if (!module || !dwfl_module_info(module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL))
		return 0;
	*userdata = source;
	lines->dwarf = dwfl_module_getdwarf(module, &bias);
	*userdata = NULL;
	return lines->dwarf ? read_units(lines) : 0;
}

int dwarf_lines_load_module(struct dwarf_lines *lines, int fd, uint64_t base)
{
	struct module_source source = {.fd = fd};
	int status = look_at(&source, base);

	*lines = (struct dwarf_lines){0};
	if (status == 0)
		status = read_module(lines, &source, base);
	free(source.place);
	return status == -sbe_nomem ? status : 0;
}

/* ---- A unit's rows ---------------------------------------------------------------------------- */

static const char *string_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

/* A file as the unit names it: below the directory of the compilation, without "./". NULL: no memory. */
static const char *keep_file(struct string_table *strings, Dwarf_Die *unit, const char *name)
{
	const char *directory = *name == '/' ? NULL : string_of(unit, DW_AT_comp_dir);
	char whole[NAME_MOST], *to = whole;
	size_t length = 0;

	if (directory && *directory) {
		length = strnlen(directory, sizeof(whole) / 2);
		memcpy(whole, directory, length);
		to += length;
		if (to[-1] != '/')
			*to++ = '/';
	}
	while (*name && to < whole + sizeof(whole) - 1) {
		if (name[0] == '.' && name[1] == '/' && (to == whole || to[-1] == '/')) {
			name += 2 + strspn(name + 2, "/");
			continue;
		}
		*to++ = *name++;
	}
	*to = '\0';
	return string_table_keep(strings, whole);
}

/* What keep_file() made of a name last: neighbouring rows are of the same file. */
struct kept_file {
	const char *name, *kept;
};

static int read_row(struct row *row, Dwarf_Line *line, struct string_table *strings, Dwarf_Die *unit,
                    struct kept_file *file)
{
	const char *name = dwarf_linesrc(line, NULL, NULL);
	int number = 0, column = 0;

	dwarf_lineno(line, &number);
	dwarf_linecol(line, &column);
	row->line = name && number > 0 ? (uint32_t)number : 0;
	row->column = column > 0 ? (uint32_t)column : 0;
	if (!row->line)
		return 0;
	if (name != file->name) {
		file->kept = keep_file(strings, unit, name);
		file->name = name;
	}
	row->file = file->kept;
	return row->file ? 0 : -sbe_nomem;
}

/* Neighbours of one line and column are one row. */
static int add_row(struct dwarf_unit *unit, const struct row *row)
{
	struct row *last = unit->nrows ? &unit->row[unit->nrows - 1] : NULL;

	if (last && last->end == row->begin && last->file == row->file && last->line == row->line &&
	    last->column == row->column) {
		last->end = row->end;
		return 0;
	}
	if (array_reserve(&unit->row, &unit->capacity, unit->nrows, sizeof(*unit->row)) < 0)
		return -sbe_nomem;
	unit->row[unit->nrows++] = *row;
	return 0;
}

static int read_rows(struct dwarf_unit *unit, struct string_table *strings)
{
	struct kept_file file = {0};
	Dwarf_Lines *table;
	size_t count;
	int status = 0;

	unit->loaded = 1;
	if (dwarf_getsrclines(&unit->die, &table, &count) != 0)
		return 0;
	for (size_t i = 0; i + 1 < count && status == 0; ++i) {
		Dwarf_Line *line = dwarf_onesrcline(table, i), *next = dwarf_onesrcline(table, i + 1);
		struct row row = {0};
		bool ends;

		if (dwarf_lineendsequence(line, &ends) != 0 || ends ||
		    dwarf_lineaddr(line, &row.begin) != 0 || dwarf_lineaddr(next, &row.end) != 0 ||
		    row.begin >= row.end)
			continue;
		status = read_row(&row, line, strings, &unit->die, &file);
		if (status == 0)
			status = add_row(unit, &row);
	}
	return status;
}

static int load_rows(struct dwarf_unit *unit, struct string_table *strings)
{
	return unit->loaded ? 0 : read_rows(unit, strings);
}

/* ---- Finding ---------------------------------------------------------------------------------- */

/* The unit that has code at @address, or NULL; *low and *high become where that is so. */
static struct dwarf_unit *unit_at(struct dwarf_lines *lines, uint64_t address, uint64_t *low, uint64_t *high)
{
	const size_t above = array_above(lines->range, lines->nranges, sizeof(*lines->range), address);
	const struct dwarf_range *range = above ? &lines->range[above - 1] : NULL;

	if (above < lines->nranges && lines->range[above].begin < *high)
		*high = lines->range[above].begin;
	if (!range || address >= range->end) {
		if (range && range->end > *low)
			*low = range->end;
		return NULL;
	}
	*low = range->begin;
	if (range->end < *high)
		*high = range->end;
	return &lines->unit[range->unit];
}

/* Narrows what holds around an address to [@low, @high). */
static void narrow(struct sb_source_line *line, uint64_t low, uint64_t high)
{
	if (low > line->low)
		line->low = low;
	if (high < line->high)
		line->high = high;
}

int dwarf_lines_find(struct dwarf_lines *lines, struct string_table *strings, uint64_t address,
                     struct sb_source_line *line)
{
	struct dwarf_unit *unit;
	const struct row *row;
	size_t above;

	*line = (struct sb_source_line){.high = UINT64_MAX};
	unit = unit_at(lines, address, &line->low, &line->high);
	if (!unit)
		return 0;
	if (load_rows(unit, strings) < 0)
		return -sbe_nomem;
	above = array_above(unit->row, unit->nrows, sizeof(*unit->row), address);
	if (above < unit->nrows)
		narrow(line, 0, unit->row[above].begin);
	row = above ? &unit->row[above - 1] : NULL;
	if (!row)
		return 0;
	if (address >= row->end) {
		narrow(line, row->end, UINT64_MAX);
		return 0;
	}
	narrow(line, row->begin, row->end);
	line->file = row->file;
	line->line = row->line;
	line->column = row->column;
	return 0;
}

/* ---- Walking ---------------------------------------------------------------------------------- */

struct walker {
	struct dwarf_unit *unit;
	struct string_table *strings;
	const struct sb_source_walk *walk;
	int status;
};

static int tell_lines(const struct walker *walker)
{
	int status = 0;

	for (size_t i = 0; i < walker->unit->nrows && status == 0; ++i) {
		const struct row *row = &walker->unit->row[i];
		const struct sb_source_line line = {row->file, row->line, row->column, row->begin, row->end};

		if (row->line)
			status = walker->walk->line(walker->walk->context, &line);
	}
	return status;
}

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));

	return name ? name : dwarf_diename(die);
}

/* Of DWARF 5, file 0 is the unit's own; dwarf_decl_file() takes it for none, as it was up to DWARF 4. */
static const char *decl_file(Dwarf_Die *die, Dwarf_Die *unit)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;
	Dwarf_Files *files;
	Dwarf_Half version;

	if (dwarf_formudata(dwarf_attr_integrate(die, DW_AT_decl_file, &attribute), &number) != 0)
		return NULL;
	if (number)
		return dwarf_decl_file(die);
	if (dwarf_cu_info(unit->cu, &version, NULL, NULL, NULL, NULL, NULL, NULL) != 0 || version < 5 ||
	    dwarf_getsrcfiles(unit, &files, NULL) != 0)
		return NULL;
	return dwarf_filesrc(files, 0, NULL, NULL);
}

static int tell_function(Dwarf_Die *die, void *context)
{
	struct walker *walker = context;
	struct sb_source_function function = {0};
	const char *name = name_of(die), *file = decl_file(die, &walker->unit->die);
	char whole[NAME_MOST];
	int line = 0;

	if (!name || dwarf_entrypc(die, &function.entry) != 0)
		return DWARF_CB_OK;
	dwarf_decl_line(die, &line);
	function.line = file && line > 0 ? (uint32_t)line : 0;
	snprintf(whole, sizeof(whole), "%s", name);
	function.name = string_table_keep(walker->strings, whole);
	if (function.line)
		function.file = keep_file(walker->strings, &walker->unit->die, file);
	if (!function.name || (function.line && !function.file))
		walker->status = -sbe_nomem;
	else
		walker->status = walker->walk->function(walker->walk->context, &function);
	return walker->status ? DWARF_CB_ABORT : DWARF_CB_OK;
}

static int tell_functions(struct walker *walker)
{
	Dwarf_Die unit = walker->unit->die;

	dwarf_getfuncs(&unit, tell_function, walker, 0);
	return walker->status;
}

static int walk_unit(struct dwarf_unit *unit, struct string_table *strings, const struct sb_source_walk *walk)
{
	struct walker walker = {.unit = unit, .strings = strings, .walk = walk};
	int status = load_rows(unit, strings);

	if (status == 0 && walk->line)
		status = tell_lines(&walker);
	if (status == 0 && walk->function)
		status = tell_functions(&walker);
	return status;
}

int dwarf_lines_walk(struct dwarf_lines *lines, struct string_table *strings,
                     const struct sb_source_walk *walk)
{
	int status = 0;

	for (size_t i = 0; i < lines->nunits && status == 0; ++i)
		status = walk_unit(&lines->unit[i], strings, walk);
	return status;
}

int dwarf_lines_walk_unit(struct dwarf_lines *lines, struct string_table *strings, uint64_t address,
                          unsigned int round, const struct sb_source_walk *walk)
{
	uint64_t low = 0, high = UINT64_MAX;
	struct dwarf_unit *unit = unit_at(lines, address, &low, &high);

	if (!unit || unit->walked == round)
		return 0;
	unit->walked = round;
	return walk_unit(unit, strings, walk);
}
