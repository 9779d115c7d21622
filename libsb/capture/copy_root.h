/* copy_root.h - copies of the files that a traced program maps, below a directory, so that a
 * recording can be replayed where they are not (or not the same). */
#ifndef SB_CAPTURE_COPY_ROOT_H
#define SB_CAPTURE_COPY_ROOT_H

#include <sys/types.h>

#include <sb/error.h>

#include "exec_maps.h"

struct copy_root;

/* Creates @directory if need be. */
int copy_root_open(struct copy_root **root, const char *directory, struct sb_error *err);
void copy_root_close(struct copy_root *root);

/* All processes are gone: what they wrote to since is copied once more. NULL is fine. */
int copy_root_finish(struct copy_root *root, struct sb_error *err);

/* Copies what @map of process @pid shows, unless it was copied before: a file to its path below the
 * directory, the vdso to "[vdso]". Other memory is skipped. */
int copy_root_add(struct copy_root *root, pid_t pid, const struct exec_map *map, struct sb_error *err);

#endif
