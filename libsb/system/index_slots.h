/* index_slots.h - a hash of the elements of an array that somebody else has: those of one hash, for whoever
 * compares them.
 *
 * Open addressing, at most half full. Elements go by numbers that are not zero. Zeroed, it is empty. */
#ifndef SB_INDEX_SLOTS_H
#define SB_INDEX_SLOTS_H

#include <stddef.h>
#include <stdint.h>

struct index_slot {
	uint32_t hash, number; /* 0: free */
};

struct index_slots {
	struct index_slot *slot; /* owned */
	size_t nslots, count;
};

/* A search for elements of one hash. */
struct index_search {
	uint32_t hash;
	size_t at;
};

/* The lower bits of a hash say where elements are: they have to be its best. */
static inline struct index_search index_search(uint32_t hash)
{
	return (struct index_search){hash, hash};
}

/* The number of the next one; 0: there is no more. */
static inline uint32_t index_slots_next(const struct index_slots *slots, struct index_search *search)
{
	const struct index_slot *slot;

	if (!slots->nslots)
		return 0;
	do
		slot = &slots->slot[search->at++ & (slots->nslots - 1)];
	while (slot->number && slot->hash != search->hash);
	return slot->number;
}

/* One more element. Zero or -sbe_nomem. */
int index_slots_add(struct index_slots *slots, uint32_t hash, uint32_t number);
/* Forgets all. */
void index_slots_clear(struct index_slots *slots);
void index_slots_free(struct index_slots *slots);

#endif
