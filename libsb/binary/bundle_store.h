/* bundle_store.h - the directory of a bundle while it is being written: all of what is added is there in the
 * end, or nothing is.
 *
 * A new bundle grows beside its place and is moved there when it is complete. To an old one files are added,
 * each appearing whole; they do no harm before the manifest names them, and are removed again when that does
 * not come about.
 */
#ifndef SB_BUNDLE_STORE_H
#define SB_BUNDLE_STORE_H

#include <jansson.h>
#include <stdint.h>

#include <sb/error.h>

struct bundle_store {
	char *directory; /* where it shall be */
	char *work;      /* where it is now; the same for an old one */
	int lock;        /* a descriptor of work, locked */
	char **added;    /* names below work, files and directories in the order in which they were made */
	size_t nadded, room;
};

/* A file of the bundle. */
struct stored_file {
	char name[128]; /* below the bundle's directory */
	char sha256[65];
	char build_id[41]; /* "": it has none */
	uint64_t size;
	int copied; /* it was not there before */
};

int bundle_store_open(struct bundle_store *store, const char *directory, struct sb_error *err);

/* Whether an earlier run left a file of that name and size there: fills in the rest, from @sha256 (NULL: is
 * read). */
typedef const char *known_sha256(void *context, const char *name, uint64_t size);

/* Adds the bytes of @path under a name that goes by them. */
int bundle_store_add(struct bundle_store *store, const char *path, known_sha256 *known, void *context,
                     struct stored_file *stored, struct sb_error *err);

/* Copies a regular file to the name @to. The same bytes may be there already; other bytes are an error. */
int bundle_store_copy(struct bundle_store *store, const char *path, const char *to,
                      struct stored_file *stored, struct sb_error *err);

/* Puts the manifest, and thereby the bundle, in its place. */
int bundle_store_commit(struct bundle_store *store, const json_t *manifest, struct sb_error *err);

/* Frees @store; what was not committed is removed. */
void bundle_store_close(struct bundle_store *store);

#endif
