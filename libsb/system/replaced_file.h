/* replaced_file.h - paths at which there were several files, one after the other, while a recording was made.
 *
 * A file that is installed anew has its path, but another inode. What is at the path when the recording is
 * replayed can be one of them at most; so by its path alone neither is found. Containers have paths of their
 * own, and a file's device may look different by how it was asked for: only files of one device, mapped in
 * one container, count.
 */
#ifndef SB_REPLACED_FILE_H
#define SB_REPLACED_FILE_H

#include <sb/system.h>

#include "system/key_table.h"

struct process_table;
struct named_file;

struct replaced_files {
	struct key_table names;    /* kept names: equal ones are one pointer */
	struct named_file *file;   /* owned; by number of the name: the first one */
	size_t capacity, nseveral; /* of which there are others, perhaps */
};

void replaced_files_init(struct replaced_files *files, uint64_t seed);
void replaced_files_free(struct replaced_files *files);

/* @map was recorded. Zero or -sbe_nomem. */
int replaced_files_note(struct replaced_files *files, const struct sb_map *map);

/* Sets map.replaced of all mappings of such files. All else of @table has been sealed. Zero or -sbe_nomem. */
int replaced_files_mark(struct replaced_files *files, struct process_table *table);

#endif
