/* path_store.c - see path_store.h. */
#include "replay/path_store.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_SIZE = 64 * 1024 };

struct path_chunk {
	struct path_chunk *next;
	size_t used, size;
	_Alignas(16) uint8_t byte[];
};

static void *take(struct path_store *store, size_t size)
{
	struct path_chunk *chunk = store->chunk;

	size = (size + 15) & ~(size_t)15;
	if (!chunk || chunk->size - chunk->used < size) {
		const size_t room = size > CHUNK_SIZE ? size : CHUNK_SIZE;

		chunk = malloc(sizeof(*chunk) + room);
		if (!chunk)
			return NULL;
		*chunk = (struct path_chunk){.next = store->chunk, .size = room};
		store->chunk = chunk;
	}
	chunk->used += size;
	store->used += size;
	return chunk->byte + chunk->used - size;
}

const struct pt_run_path *path_store_copy(struct path_store *store, const struct pt_run_path *path,
                                          uint32_t id)
{
	const size_t size = sizeof(*path) + path->nblocks * sizeof(*path->block);
	struct pt_run_path *copy = take(store, size + path->ninsn);
	struct pt_run_block *block;
	uint8_t *length;

	if (!copy)
		return NULL;
	block = (struct pt_run_block *)(copy + 1);
	length = (uint8_t *)copy + size;
	*copy = *path;
	copy->block = block;
	copy->id = id;
	for (uint32_t i = 0; i < path->nblocks; ++i) {
		block[i] = path->block[i];
		block[i].length = memcpy(length, path->block[i].length, block[i].ninsn);
		length += block[i].ninsn;
	}
	return copy;
}

static void free_chunks(struct path_chunk *chunk)
{
	while (chunk) {
		struct path_chunk *next = chunk->next;

		free(chunk);
		chunk = next;
	}
}

/* One chunk is enough for nearly always. */
void path_store_clear(struct path_store *store)
{
	struct path_chunk *newest = store->chunk;

	store->used = 0;
	if (!newest)
		return;
	free_chunks(newest->next);
	newest->next = NULL;
	newest->used = 0;
}

void path_store_fini(struct path_store *store)
{
	free_chunks(store->chunk);
	memset(store, 0, sizeof(*store));
}
