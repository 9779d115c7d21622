/* path_store.h - copies of paths, for those who need them longer than the decoder keeps them. */
#ifndef SB_PATH_STORE_H
#define SB_PATH_STORE_H

#include <intel-pt-run.h>

struct path_chunk;

struct path_store {
	struct path_chunk *chunk; /* owned; the newest, the full ones behind it */
	size_t used;              /* bytes in all */
};

/* Of the path, of its blocks, and of the lengths of their instructions; its number is @id. NULL: no memory. */
const struct pt_run_path *path_store_copy(struct path_store *store, const struct pt_run_path *path,
                                          uint32_t id);

/* Forgets all, and keeps some memory. */
void path_store_clear(struct path_store *store);
void path_store_fini(struct path_store *store);

#endif
