/* index_table.c - see index_table.h. */
#include "code/index_table.h"

#include <stdlib.h>
#include <string.h>

#include "intel-pt.h"

uint64_t pt_hash_string(uint64_t hash, const char *string)
{
	size_t left = strlen(string);

	while (left) {
		size_t step = left < sizeof(uint64_t) ? left : sizeof(uint64_t);
		uint64_t value = 0;

		memcpy(&value, string, step);
		hash = pt_hash_mix(hash, value);
		string += step;
		left -= step;
	}
	return hash;
}

bool pt_index_find(const struct pt_index_table *table, uint32_t hash, uint32_t *index, pt_index_same_fn *same,
                   const void *owner, const void *key)
{
	if (!table->size)
		return false;
	for (size_t i = hash;; i++) {
		const struct pt_index_slot *slot = &table->slot[i & (table->size - 1)];

		if (!slot->index)
			return false;
		if (slot->hash == hash && same(owner, slot->index - 1, key)) {
			*index = slot->index - 1;
			return true;
		}
	}
}

static void insert(struct pt_index_table *table, struct pt_index_slot slot)
{
	size_t i = slot.hash & (table->size - 1);

	while (table->slot[i].index)
		i = (i + 1) & (table->size - 1);
	table->slot[i] = slot;
	table->count++;
}

void pt_index_insert(struct pt_index_table *table, uint32_t hash, uint32_t index)
{
	insert(table, (struct pt_index_slot){hash, index + 1});
}

int pt_index_reserve(struct pt_index_table *table)
{
	struct pt_index_table larger = {.size = table->size ? table->size * 2 : 64};

	if (table->count < table->size / 2)
		return 0;
	larger.slot = calloc(larger.size, sizeof(*larger.slot));
	if (!larger.slot)
		return -pte_nomem;
	for (size_t i = 0; i < table->size; i++)
		if (table->slot[i].index)
			insert(&larger, table->slot[i]);
	free(table->slot);
	*table = larger;
	return 0;
}

void pt_index_free(struct pt_index_table *table)
{
	free(table->slot);
}
