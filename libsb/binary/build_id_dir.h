/* build_id_dir.h - directories that hold files by their build-id.
 *
 * In the order in which a file may be there, for the build-id abcdef...:
 *   ab/cdef.../elf        perf buildid-cache(1); also .../vdso, and .../debug for debug information
 *   ab/cdef...            a link to the file: /usr/lib/.build-id of some distributions
 *   ab/cdef....debug      debug information: gdb's manual, "Debugging Information in Separate Files"
 * Links there lead to other places of the directory that holds .build-id.
 */
#ifndef SB_BUILD_ID_DIR_H
#define SB_BUILD_ID_DIR_H

#include <stddef.h>
#include <stdint.h>

#include <sb/error.h>

#include "binary/rooted_open.h"

struct build_id_dir {
	char *root;         /* owned */
	const char *prefix; /* of names in it: "/.build-id" or "" */
};

enum build_id_kind { build_id_code, build_id_debug };

/* @path may be the directory of that name, or the one that holds it. Zero or -sbe_not_found, -sbe_nomem. */
int build_id_dir_init(struct build_id_dir *dir, const char *path, struct sb_error *err);
void build_id_dir_fini(struct build_id_dir *dir);

/* The name of the @number-th place in a root where a file may be, below @prefix; zero when there are no more.
 */
int build_id_name(char *name, size_t size, const char *prefix, enum build_id_kind kind, unsigned int number,
                  const uint8_t *id, int id_size);

#endif
