/* kernel_sites.h - the places that the kernel patches when it boots or loads a module, as the file's tables
 * list them, and what stands there afterwards.
 *
 * Tables (sections; in vmlinux some are between symbols instead): .return_sites, .retpoline_sites,
 * __mcount_loc,
 * __jump_table, .static_call_sites, .altinstructions, .parainstructions. A module's tables are not relocated
 * yet: their places are those of the relocations. .smp_locks is left alone: with or without the prefix, the
 * instruction is as long and does the same.
 */
#ifndef SB_KERNEL_SITES_H
#define SB_KERNEL_SITES_H

#include "binary/elf_image.h"
#include "binary/kernel_code.h"
#include "binary/kernel_state.h"

/* What the tables are read from. */
struct site_source {
	const struct elf_image *image;
	/* What the relocation points to, as an address; zero: not in the code. NULL: the file is linked, its
	 * tables hold addresses. */
	uint64_t (*target)(void *context, const Elf64_Rela *rela);
	/* The address of a symbol; zero: not known. For linked files. */
	uint64_t (*symbol)(void *context, const char *name);
	void *context;
	uint64_t shift; /* from where it was linked to where it ran */
};

/* Applies them to @code. Zero; -sbe_format: a table is damaged; -sbe_not_found: it has a table between
 * symbols that are not known: then nobody knows what was patched. */
int kernel_sites_apply(struct kernel_code *code, const struct site_source *source,
                       const struct kernel_state *state);

#endif
