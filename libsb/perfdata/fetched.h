/* fetched.h - pieces of trace that come from a store, <sb/store.h>: some are kept, as several walks come to
 * the same piece one after the other. Any number of threads may take them.
 */
#ifndef SB_FETCHED_H
#define SB_FETCHED_H

#include <pthread.h>

#include <sb/store.h>

enum {
	FETCHED_PIECE_MAX = 8 << 20,
	FETCHED_KEPT_SIZE = 64 << 20, /* in all, or as much as is taken at a time */
	FETCHED_KEPT_MAX = 256,
};

struct fetched_piece {
	struct fetched_piece *next; /* the one that was used before */
	uint64_t offset, size;      /* in the object */
	unsigned int users;
	int is_here; /* else somebody has asked for it */
	uint8_t *bytes;
};

struct sb_fetched {
	struct sb_store store;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t came;
	struct fetched_piece *piece; /* the one that was used last, first */
	uint64_t size;
	unsigned int count;
	struct sb_error failure; /* its code is 0: none */
};

/* NULL: no memory. */
struct sb_fetched *fetched_new(const struct sb_store *store);
void fetched_free(struct sb_fetched *fetched); /* NULL is fine */

/* The object's bytes [offset, offset + size), which stay until they are given back. Zero or a negative code.
 */
int fetched_take(struct sb_fetched *fetched, uint64_t offset, uint64_t size, struct fetched_piece **piece);
void fetched_give(struct sb_fetched *fetched, struct fetched_piece *piece);

/* fetched_sideband.c: what is not trace becomes @map, with holes between; @ends: only what is before and
 * behind the records. Zero or a negative code. */
struct mapped_file;
int fetched_sideband(const struct sb_store *store, int ends, struct mapped_file *map, struct sb_error *err);

#endif
