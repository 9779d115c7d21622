/* key_table.c - see key_table.h. */
#include "system/key_table.h"

#include <stdlib.h>
#include <string.h>

#include <sb/error.h>

#include "system/arena.h"

/* Owners have two bits of a number, or of the next one, to themselves. */
enum { KEYS_MAX = (1 << 30) - 2 };

void key_table_init(struct key_table *table, size_t key_size, uint64_t seed)
{
	*table = (struct key_table){.key_size = key_size, .seed = seed};
}

void key_table_free(struct key_table *table)
{
	free(table->key);
	free(table->slot);
	key_table_init(table, table->key_size, table->seed);
}

static uint64_t hash_of(const struct key_table *table, const uint8_t *key)
{
	uint64_t hash = table->seed, value;

	for (size_t i = 0; i < table->key_size; i += sizeof(value)) {
		const size_t left = table->key_size - i;

		value = 0;
		memcpy(&value, key + i, left < sizeof(value) ? left : sizeof(value));
		hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
	}
	return hash;
}

/* The slot of @key, or the free one that it belongs in. */
static uint32_t *slot_of(const struct key_table *table, const uint8_t *key)
{
	size_t i = hash_of(table, key) & (table->nslots - 1);

	while (table->slot[i] && memcmp(key_table_key(table, table->slot[i] - 1), key, table->key_size) != 0)
		i = (i + 1) & (table->nslots - 1);
	return &table->slot[i];
}

static int grow(struct key_table *table)
{
	struct key_table bigger = *table;

	bigger.nslots = table->nslots ? 2 * table->nslots : 64;
	bigger.slot = calloc(bigger.nslots, sizeof(*bigger.slot));
	if (!bigger.slot)
		return -sbe_nomem;
	for (uint32_t i = 0; i < table->count; ++i)
		*slot_of(&bigger, key_table_key(table, i)) = i + 1;
	free(table->slot);
	*table = bigger;
	return 0;
}

int key_table_keep(struct key_table *table, const void *key, uint32_t *number)
{
	uint32_t *slot;

	if (2 * (table->count + 1) > table->nslots && grow(table) < 0)
		return -sbe_nomem;
	slot = slot_of(table, key);
	if (*slot) {
		*number = *slot - 1;
		return 0;
	}
	if (table->count >= KEYS_MAX ||
	    array_reserve(&table->key, &table->capacity, table->count, table->key_size) < 0)
		return -sbe_nomem;
	memcpy(table->key + table->count * table->key_size, key, table->key_size);
	*number = (uint32_t)table->count++;
	*slot = *number + 1;
	return 1;
}

int key_table_find(const struct key_table *table, const void *key, uint32_t *number)
{
	const uint32_t *slot = table->nslots ? slot_of(table, key) : NULL;

	if (!slot || !*slot)
		return 0;
	*number = *slot - 1;
	return 1;
}
