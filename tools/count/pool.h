/* tools/count/pool.h - memory for many small things that live equally long. */
#ifndef TOOLS_COUNT_POOL_H
#define TOOLS_COUNT_POOL_H

#include <stddef.h>

struct pool_chunk;

/* Zeroed is empty. */
struct pool {
	struct pool_chunk *chunk; /* owned; the newest, the full ones behind it */
	size_t used;              /* bytes in all */
};

/* Zeroed, aligned for any type; NULL: out of memory. */
void *pool_take(struct pool *pool, size_t size);
void pool_free(struct pool *pool);

#endif
