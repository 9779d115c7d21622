/* string_table.c - see string_table.h. */
#include "system/string_table.h"

#include <stdlib.h>
#include <string.h>

#include <sb/error.h>

struct string_slot {
	const char *string; /* NULL: free */
	uint64_t hash;
};

/* The slot of @string, or the free one that it belongs in. */
static struct string_slot *slot_of(const struct string_table *table, uint64_t hash, const char *string)
{
	size_t i = hash & (table->nslots - 1);

	while (table->slot[i].string &&
	       (table->slot[i].hash != hash || strcmp(table->slot[i].string, string) != 0))
		i = (i + 1) & (table->nslots - 1);
	return &table->slot[i];
}

static int grow(struct string_table *table)
{
	struct string_table bigger = *table;

	bigger.nslots = table->nslots ? 2 * table->nslots : 256;
	bigger.slot = calloc(bigger.nslots, sizeof(*bigger.slot));
	if (!bigger.slot)
		return -sbe_nomem;
	for (size_t i = 0; i < table->nslots; ++i)
		if (table->slot[i].string)
			*slot_of(&bigger, table->slot[i].hash, table->slot[i].string) = table->slot[i];
	free(table->slot);
	*table = bigger;
	return 0;
}

const char *string_table_keep(struct string_table *table, const char *string)
{
	const size_t length = strlen(string);
	const uint64_t hash = string_hash(table->seed, string, length);
	struct string_slot *slot;
	char *copy;

	if (2 * (table->count + 1) > table->nslots && grow(table) < 0)
		return NULL;
	slot = slot_of(table, hash, string);
	if (slot->string)
		return slot->string;
	copy = arena_alloc(&table->arena, length + 1);
	if (!copy)
		return NULL;
	memcpy(copy, string, length + 1);
	*slot = (struct string_slot){copy, hash};
	table->count += 1;
	return copy;
}

void string_table_init(struct string_table *table, uint64_t seed)
{
	memset(table, 0, sizeof(*table));
	table->seed = seed;
}

void string_table_free(struct string_table *table)
{
	free(table->slot);
	arena_free(&table->arena);
	memset(table, 0, sizeof(*table));
}
