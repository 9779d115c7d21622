/* string_table.h - the names of a system: each kept once, so that equal names are one pointer, and the
 * recording's pages need not stay in memory for them.
 */
#ifndef SB_STRING_TABLE_H
#define SB_STRING_TABLE_H

#include <string.h>

#include "system/arena.h"

struct string_slot;

struct string_table {
	struct arena arena;
	struct string_slot *slot; /* open addressing, at most half full; owned */
	size_t nslots, count;
	uint64_t seed; /* nobody can prepare names that collide */
};

void string_table_init(struct string_table *table, uint64_t seed);
void string_table_free(struct string_table *table);

static inline uint64_t string_hash_step(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

/* Of @length bytes, eight at a time. */
static inline uint64_t string_hash(uint64_t seed, const char *string, size_t length)
{
	uint64_t hash = seed, value;

	for (; length >= sizeof(value); string += sizeof(value), length -= sizeof(value)) {
		memcpy(&value, string, sizeof(value));
		hash = string_hash_step(hash, value);
	}
	value = length; /* below 8: does not fill the byte it is in */
	for (size_t i = 0; i < length; ++i)
		value = value << 8 | (uint8_t)string[i];
	return string_hash_step(hash, value);
}

/* The table's copy of @string, which is shorter than 64 KiB; NULL when there is no memory. */
const char *string_table_keep(struct string_table *table, const char *string);

#endif
