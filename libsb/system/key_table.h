/* key_table.h - numbers for keys of one size: each key that is kept gets the next one, from 0 on.
 *
 * What belongs to a key lies in its owner's array, at the key's number.
 */
#ifndef SB_KEY_TABLE_H
#define SB_KEY_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct key_table {
	size_t key_size;
	uint64_t seed; /* nobody can prepare keys that collide */
	uint8_t *key;  /* by number; owned */
	size_t count, capacity;
	uint32_t *slot; /* one more than the number, 0: free; open addressing, at most half full; owned */
	size_t nslots;
};

void key_table_init(struct key_table *table, size_t key_size, uint64_t seed);
void key_table_free(struct key_table *table);

/* The number of the key at @key, which is kept if it is new. Positive: it is; zero: it is not; or
 * -sbe_nomem. */
int key_table_keep(struct key_table *table, const void *key, uint32_t *number);

/* Whether the key is there; then its number. */
int key_table_find(const struct key_table *table, const void *key, uint32_t *number);

/* Valid until the next key is kept. */
static inline const void *key_table_key(const struct key_table *table, uint32_t number)
{
	return table->key + number * table->key_size;
}

#endif
