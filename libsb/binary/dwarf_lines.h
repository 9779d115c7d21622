/* dwarf_lines.h - the line tables of one ELF file, through libdw. */
#ifndef SB_DWARF_LINES_H
#define SB_DWARF_LINES_H

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <sb/source_lines.h>

#include "binary/elf_image.h"
#include "system/string_table.h"

struct dwarf_unit;

/* A stretch of addresses that one unit has code in. */
struct dwarf_range {
	uint64_t begin, end;
	size_t unit;
};

struct dwarf_lines {
	struct elf_image image;
	Dwarf *dwarf;              /* NULL: the file has none */
	Dwfl *dwfl;                /* NULL, or what dwarf belongs to */
	struct dwarf_unit *unit;   /* owned */
	struct dwarf_range *range; /* owned; sorted, of overlapping ones the longer first */
	size_t nunits, unit_capacity, nranges, range_capacity;
};

/* Reads what units there are in @image, which is moved into *lines. Zero, also when there is no DWARF of use;
 * -sbe_nomem. To be ended by dwarf_lines_fini() in any case. */
int dwarf_lines_load(struct dwarf_lines *lines, struct elf_image *image);
/* The same of a kernel module, whose sections stood from @base on as the kernel lays them out: addresses are
 * those. @fd: the file, or its separate debug file, which has the same sections; not needed afterwards. */
int dwarf_lines_load_module(struct dwarf_lines *lines, int fd, uint64_t base);
void dwarf_lines_fini(struct dwarf_lines *lines); /* zeroed is fine */

static inline int dwarf_lines_any(const struct dwarf_lines *lines)
{
	return lines->nunits != 0;
}

/* The line at an address as the file was linked. Names are kept in @strings. Zero or -sbe_nomem. */
int dwarf_lines_find(struct dwarf_lines *lines, struct string_table *strings, uint64_t address,
                     struct sb_source_line *line);
int dwarf_lines_walk(struct dwarf_lines *lines, struct string_table *strings,
                     const struct sb_source_walk *walk);
/* Of the unit that has code at @address, unless it was walked in this @round, which is not 0. */
int dwarf_lines_walk_unit(struct dwarf_lines *lines, struct string_table *strings, uint64_t address,
                          unsigned int round, const struct sb_source_walk *walk);

#endif
