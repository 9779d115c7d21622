/* root.h - a directory, or a union of directories, that stands for the "/" of the recorded machine or
 * container.
 */
#ifndef SB_ROOT_H
#define SB_ROOT_H

#include <stddef.h>
#include <stdint.h>

#include <sb/binary.h>

#include "binary/rooted_open.h"

struct root {
	char **layer; /* owned; the uppermost first; none: nothing is there */
	char **real;  /* their real paths, owned */
	size_t nlayers;
	char *container; /* whose alone it is; owned, NULL: everybody's */
};

/* Checks that the layers are directories. On failure there is nothing to free. */
int root_init(struct root *root, const struct sb_root *given, struct sb_error *err);
void root_fini(struct root *root);

/* What @name, which begins with '/', is in the root; see rooted_open.h. */
enum rooted_status root_open(struct rooted_file *file, const struct root *root, const char *name);

/* The name that a real path has in the root, or NULL when it lies elsewhere. */
const char *root_name_of(const struct root *root, const char *path);

/* For messages. */
static inline const char *root_title(const struct root *root)
{
	return root->nlayers ? root->layer[0] : "";
}

#endif
