/* item_pool.c - see item_pool.h. */
#include "flow/item_pool.h"

#include <stdlib.h>
#include <string.h>

#include "packet/bytes.h"

/* Enough for most of a short trace: growing puts all items in their slots again. */
enum { first_capacity = 1 << 11 };

void pt_item_pool_init(struct pt_item_pool *pool, size_t size, uint32_t limit)
{
	*pool = (struct pt_item_pool){.size = size, .limit = limit};
}

void pt_item_pool_fini(struct pt_item_pool *pool)
{
	free(pool->bytes);
	free(pool->slot);
}

void pt_item_pool_clear(struct pt_item_pool *pool)
{
	if (pool->slot)
		memset(pool->slot, 0, 2 * (size_t)pool->capacity * sizeof(*pool->slot));
	pool->count = 0;
}

/* Each word has a factor of its own, so that no product waits for the one before. */
static inline uint64_t hash_of(const struct pt_item_pool *pool, const uint8_t *item)
{
	uint64_t hash = 0, factor = 0x9e3779b97f4a7c15u;

	for (size_t i = 0; i < pool->size; i += pt_item_word, factor += 0xd6e8feb86659fd92u)
		hash += pt_get64(item + i) * factor;
	return hash ^ hash >> 32;
}

/* Quicker than memcmp() for as few words as an item has. */
static inline int is_same(const struct pt_item_pool *pool, uint32_t number, const uint8_t *item)
{
	const uint8_t *known = pool->bytes + number * pool->size;
	uint64_t other = 0;

	for (size_t i = 0; i < pool->size; i += pt_item_word)
		other |= pt_get64(known + i) ^ pt_get64(item + i);
	return !other;
}

static uint32_t *slot_of(const struct pt_item_pool *pool, const uint8_t *item)
{
	for (uint64_t i = hash_of(pool, item);; ++i) {
		uint32_t *slot = &pool->slot[i & (2 * pool->capacity - 1)];

		if (!*slot || is_same(pool, *slot - 1, item))
			return slot;
	}
}

/* Twice as much room, or the first. */
static int grow(struct pt_item_pool *pool)
{
	const uint32_t capacity = pool->capacity ? 2 * pool->capacity : first_capacity;
	uint8_t *bytes = realloc(pool->bytes, capacity * pool->size);
	uint32_t *slot;

	if (!bytes)
		return 0;
	pool->bytes = bytes;
	slot = calloc(2 * (size_t)capacity, sizeof(*slot));
	if (!slot)
		return 0;
	free(pool->slot);
	pool->slot = slot;
	pool->capacity = capacity;
	for (uint32_t i = 0; i < pool->count; ++i)
		*slot_of(pool, bytes + i * pool->size) = i + 1;
	return 1;
}

int pt_item_put(struct pt_item_pool *pool, const void *item, uint32_t *at)
{
	uint32_t *slot;

	if (pool->count >= pool->limit || (pool->count == pool->capacity && !grow(pool)))
		return 0;
	slot = slot_of(pool, item);
	if (!*slot) {
		memcpy(pool->bytes + pool->count * pool->size, item, pool->size);
		*slot = ++pool->count;
	}
	*at = (uint32_t)((*slot - 1) * pool->size / pt_item_word);
	return 1;
}
