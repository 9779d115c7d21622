/* elf_symbols.h - the functions of an ELF file: where they are, and what they are called. */
#ifndef SB_ELF_SYMBOLS_H
#define SB_ELF_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "binary/elf_code.h"
#include "binary/elf_image.h"
#include "binary/symbol_table.h"

struct elf_symbols {
	struct symbol_table table; /* by the file's own (virtual) addresses */
	struct symbol_table plt;   /* the same, for where the table has nothing: procedure linkage tables */
	struct elf_codes codes;
	struct elf_image image[3]; /* that hold the names: the file, its debug file, its .gnu_debugdata */
};

/* Opens the separate debug file. Zero, or -sbe_not_found, or -sbe_nomem. */
typedef int find_debug_image(void *context, struct elf_image *debug);

struct elf_symbols_options {
	find_debug_image *find_debug; /* NULL: none is looked for */
	void *context;
	/* Of a kernel module (ET_REL), whose sections are laid out one behind the other from here on. */
	uint64_t module_base;
};

/* Reads the file behind @fd, which is not needed any more afterwards. Zero; -sbe_format: not ELF; -sbe_nomem.
 * To be ended by elf_symbols_fini() in any case. */
int elf_symbols_load(struct elf_symbols *symbols, int fd, const struct elf_symbols_options *options);
void elf_symbols_fini(struct elf_symbols *symbols);

/* The symbol at @address, or NULL; and around it in which addresses [*low, *high) this is the answer. */
struct table_symbol *elf_symbols_find(const struct elf_symbols *symbols, uint64_t address, uint64_t *low,
                                      uint64_t *high);

/* Fills symbols->plt, when the table has been sealed. Zero or -sbe_nomem. */
int elf_symbols_read_plt(struct elf_symbols *symbols, const struct elf_image *image);

#endif
