/* pool.c - see pool.h. */
#include "count/pool.h"

#include <stdlib.h>
#include <string.h>

enum { chunk_size = 256 * 1024 };

struct pool_chunk {
	struct pool_chunk *next;
	size_t used, size;
	_Alignas(max_align_t) char byte[];
};

void *pool_take(struct pool *pool, size_t size)
{
	const size_t align = _Alignof(max_align_t);
	struct pool_chunk *chunk = pool->chunk;

	size = (size + align - 1) & ~(align - 1);
	if (!chunk || chunk->size - chunk->used < size) {
		const size_t room = size > chunk_size ? size : chunk_size;

		chunk = calloc(1, sizeof(*chunk) + room);
		if (!chunk)
			return NULL;
		chunk->next = pool->chunk;
		chunk->size = room;
		pool->chunk = chunk;
	}
	chunk->used += size;
	pool->used += size;
	return chunk->byte + chunk->used - size;
}

void pool_free(struct pool *pool)
{
	for (struct pool_chunk *chunk = pool->chunk, *next; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	*pool = (struct pool){0};
}
