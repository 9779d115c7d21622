/* module_code.h - the code of a kernel module as it was loaded: NAME.ko, put to its place and relocated.
 *
 * The kernel lays the sections with code out one behind the other, relocates them against its own symbols and
 * those of other modules, and patches what the module's tables list (kernel_sites.h). Branches to what is not
 * found are not known; addresses of data in instructions are not filled in: no flow depends on them.
 */
#ifndef SB_MODULE_CODE_H
#define SB_MODULE_CODE_H

#include "binary/kallsyms.h"
#include "binary/kernel_base.h"
#include "binary/kernel_code.h"
#include "binary/kernel_state.h"

struct module_place {
	const char *name;                      /* "[name]" */
	uint64_t begin, size;                  /* what the kernel gave it, for code and data */
	const struct kallsyms_index *kallsyms; /* empty: not known */
	const struct kernel_state *state;
};

/* @fd is a file of plain ELF. Zero; -sbe_format: it is no module, or not the one that kallsyms has the
 * symbols of; why is put into @why; -sbe_nomem. */
int module_code_read(struct kernel_code *code, int fd, const struct module_place *place, char why[128]);

/* Whether the kernel's memory has that module's code at @place, whose kallsyms and state are not looked at:
 * each byte but those that the kernel writes itself (relocations, what its tables list). 1: so it is; 0: it
 * is not, or nobody knows; -sbe_nomem. */
int module_code_compare(int fd, const struct module_place *place, const struct kernel_base *kcore);

#endif
