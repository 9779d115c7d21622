/* module_files.h - the files of the modules that a recording names: what they are called, which lines they
 * have.
 *
 * A recording says where a module was, not which file it came from. So a file counts only when something
 * proves it: the recorded build-id, or the kernel's memory, which has the file's code there, byte for byte
 * but for what the kernel itself writes into it. Where two modules were at one address, one after the other,
 * neither counts. A file is looked for when an address in it is first asked for.
 */
#ifndef SB_MODULE_FILES_H
#define SB_MODULE_FILES_H

#include <sb/perfdata.h>
#include <sb/system.h>

#include "binary/module_find.h"
#include "binary/symbol_ranges.h"

struct module_file {
	uint64_t begin; /* first: sorted by it */
	uint64_t end;
	char *recorded; /* its name there; owned */
	char name[72];  /* "[name]" */
	uint8_t id[20]; /* the recorded build-id */
	uint8_t id_size;
	uint8_t is_unsure; /* something else was there, too */
	uint8_t is_tried;
	const struct sb_binary *binary; /* NULL: none, or none that is proved */
};

struct module_files {
	struct module_file *file; /* owned; sorted, without overlaps but for unsure ones */
	size_t count, capacity;
	struct module_finder finder;
	char *kcore; /* owned; NULL: there is none */
};

/* Those that @perfdata and @system name, in place of others. @kcore: a copy of the kernel's memory, as it may
 * be named; NULL: the one that the recording has, if any. Zero or -sbe_nomem. */
int module_files_read(struct module_files *files, const struct sb_perfdata *perfdata,
                      const struct sb_system *system, struct sb_resolver *resolver, const char *kcore);
void module_files_fini(struct module_files *files); /* zeroed is fine */

/* The module at @ip, or NULL; *bounds, if given, are narrowed to where that is the answer. */
struct module_file *module_files_at(const struct module_files *files, uint64_t ip,
                                    struct symbol_bounds *bounds);

/* Its file is looked for, unless it was before: file->binary. Zero or -sbe_nomem. */
int module_file_find(const struct module_files *files, struct module_file *file);

#endif
