/* string_table.h - the names of a system: each kept once, so that equal names are one pointer, and the
 * recording's pages need not stay in memory for them.
 */
#ifndef SB_STRING_TABLE_H
#define SB_STRING_TABLE_H

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

/* The table's copy of @string, which is shorter than 64 KiB; NULL when there is no memory. */
const char *string_table_keep(struct string_table *table, const char *string);

#endif
