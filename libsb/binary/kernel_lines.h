/* kernel_lines.h - the line tables of the kernel: of vmlinux, and of the modules that a recording names.
 *
 * Addresses are those where code ran. A module's file is relocatable: its DWARF is read as of where its
 * sections were (module_files.h).
 */
#ifndef SB_KERNEL_LINES_H
#define SB_KERNEL_LINES_H

#include "binary/dwarf_lines.h"
#include "binary/module_files.h"

struct kernel_lines {
	char *path;    /* of a vmlinux that was named; owned; NULL: none was */
	char *release; /* what else may lead to the recorded one; owned; NULL: not known */
	uint8_t id[20], id_size;
	const struct sb_system *system; /* borrowed */
	int is_tried;
	struct dwarf_lines vmlinux;
	uint64_t shift; /* from where it was linked to where it ran */
	struct module_files modules;
	struct dwarf_lines **of_module; /* owned, and so is each; of each module, NULL: not read, or none */
	unsigned int round;             /* of walking */
};

/* See sb/source_lines.h. Zero or -sbe_nomem. */
int kernel_lines_add_vmlinux(struct kernel_lines *kernel, const char *path, uint64_t shift);
int kernel_lines_add_recording(struct kernel_lines *kernel, const struct sb_perfdata *perfdata,
                               const struct sb_system *system, struct sb_resolver *resolver,
                               const char *kcore);
void kernel_lines_fini(struct kernel_lines *kernel); /* zeroed is fine */

int kernel_lines_find(struct kernel_lines *kernel, struct sb_resolver *resolver, struct string_table *strings,
                      uint64_t ip, struct sb_source_line *line);
int kernel_lines_walk(struct kernel_lines *kernel, struct sb_resolver *resolver, struct string_table *strings,
                      const uint64_t *ip, size_t count, const struct sb_source_walk *walk);

#endif
