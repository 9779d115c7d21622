/* A hash table of indices into an array that the owner keeps: finds the index of what equals a key. Open
 * addressing; at most half full, its size a power of two. All zero is an empty table. */
#ifndef PT_INDEX_TABLE_H
#define PT_INDEX_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pt_index_slot {
	uint32_t hash;
	uint32_t index; /* plus one; zero: empty */
};

struct pt_index_table {
	struct pt_index_slot *slot;
	size_t size;
	size_t count;
};

/* Whether element @index of the owner's array equals @key. */
typedef bool pt_index_same_fn(const void *owner, uint32_t index, const void *key);

bool pt_index_find(const struct pt_index_table *table, uint32_t hash, uint32_t *index, pt_index_same_fn *same,
                   const void *owner, const void *key);

/* Makes room for one more: zero or -pte_nomem. */
int pt_index_reserve(struct pt_index_table *table);

/* There must be room. */
void pt_index_insert(struct pt_index_table *table, uint32_t hash, uint32_t index);

void pt_index_free(struct pt_index_table *table);

/* Hashing: one value after the other; the upper half of the result is the best one. */
static inline uint64_t pt_hash_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

uint64_t pt_hash_string(uint64_t hash, const char *string);

#endif
