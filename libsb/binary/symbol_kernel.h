/* symbol_kernel.h - the kernel's functions: vmlinux and modules, whose symbols have sizes, before kallsyms;
 * and behind it the files of recorded modules that it does not have.
 */
#ifndef SB_SYMBOL_KERNEL_H
#define SB_SYMBOL_KERNEL_H

#include <sb/error.h>

#include "binary/elf_symbols.h"
#include "binary/module_files.h"
#include "binary/symbol_ranges.h"
#include "system/arena.h"

/* A vmlinux or a module. */
struct kernel_file {
	struct elf_symbols symbols;
	uint64_t offset; /* between where code ran and what it was linked for */
	char dso[80];
};

/* /proc/kallsyms. */
struct kallsyms {
	char *text; /* owned; names point into it */
	struct symbol_table table;
	const char **module; /* owned; "[name]"; of the tables' owners, 0 is the kernel itself */
	size_t nmodules, module_capacity;
	struct arena names;
};

struct symbol_kernel {
	struct kernel_file **file; /* owned */
	size_t nfiles, file_capacity;
	struct kallsyms kallsyms;
	struct module_files modules;
	struct kernel_file **of_module; /* owned, and so is each; of each module, NULL: not read, or none */
};

/* Whether an address is the kernel's. */
static inline int is_kernel_address(uint64_t address)
{
	return (int64_t)address < 0;
}

/* See sb/symbols.h. */
int symbol_kernel_add_file(struct symbol_kernel *kernel, const char *path, const char *dso, uint64_t offset,
                           uint64_t module_base, struct sb_error *err);
int symbol_kernel_add_kallsyms(struct symbol_kernel *kernel, const char *path, struct sb_error *err);

/* The modules of a recording, see module_files_read(). */
int symbol_kernel_add_modules(struct symbol_kernel *kernel, const struct sb_perfdata *perfdata,
                              const struct sb_system *system, struct sb_resolver *resolver,
                              const char *kcore);

/* *symbol: the one at @address, or NULL; *dso is what it belongs to; *bounds are narrowed. Zero or
 * -sbe_nomem. */
int symbol_kernel_find(struct symbol_kernel *kernel, uint64_t address, struct table_symbol **symbol,
                       const char **dso, struct symbol_bounds *bounds);
void symbol_kernel_fini(struct symbol_kernel *kernel);

#endif
