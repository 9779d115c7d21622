/* bundle_rows.h - the rows of a manifest while it is being written: those of this recording, and what an
 * earlier manifest said of files that this recording does not name. */
#ifndef SB_BUNDLE_ROWS_H
#define SB_BUNDLE_ROWS_H

#include <jansson.h>
#include <sb/binary.h>

#include "binary/bundle_store.h"

struct bundle_rows {
	json_t *files, *missing; /* by what identifies them */
	json_t *named;           /* recorded files that this recording names */
	json_t *recordings;      /* by name */
	json_t *earlier;         /* the manifest that was there before, or NULL */
};

int bundle_rows_init(struct bundle_rows *rows, const char *directory, struct sb_error *err);
void bundle_rows_fini(struct bundle_rows *rows);

/* The sum of a file of the earlier manifest; see known_sha256. */
const char *bundle_rows_known(void *rows, const char *name, uint64_t size);

/* What stands for @map. Zero or -sbe_nomem; the same may be added again. */
int bundle_rows_add_file(struct bundle_rows *rows, const char *container, const struct sb_map *map,
                         const struct sb_binary *binary, const struct stored_file *stored);
int bundle_rows_add_missing(struct bundle_rows *rows, const char *container, const struct sb_map *map,
                            const struct sb_binary *binary);
int bundle_rows_add_recording(struct bundle_rows *rows, const char *name);

/* Those of files or missing as a list, by path and then by all the rest. NULL: out of memory. */
json_t *bundle_rows_sorted(const json_t *object);

/* The whole manifest, or NULL: out of memory. */
json_t *bundle_rows_manifest(const struct bundle_rows *rows);

#endif
