/* index_slots.c - see index_slots.h. */
#include "system/index_slots.h"

#include <stdlib.h>
#include <string.h>

#include <sb/error.h>

enum { slots_first = 1 << 10 };

static void put(struct index_slots *slots, const struct index_slot *element)
{
	size_t at = element->hash & (slots->nslots - 1);

	while (slots->slot[at].number)
		at = (at + 1) & (slots->nslots - 1);
	slots->slot[at] = *element;
	slots->count += 1;
}

static int grow(struct index_slots *slots)
{
	struct index_slots bigger = {.nslots = slots->nslots ? 2 * slots->nslots : slots_first};

	bigger.slot = calloc(bigger.nslots, sizeof(*bigger.slot));
	if (!bigger.slot)
		return -sbe_nomem;
	for (size_t i = 0; i < slots->nslots; ++i)
		if (slots->slot[i].number)
			put(&bigger, &slots->slot[i]);
	free(slots->slot);
	*slots = bigger;
	return 0;
}

int index_slots_add(struct index_slots *slots, uint32_t hash, uint32_t number)
{
	if (2 * slots->count >= slots->nslots && grow(slots) < 0)
		return -sbe_nomem;
	put(slots, &(struct index_slot){hash, number});
	return 0;
}

void index_slots_clear(struct index_slots *slots)
{
	if (slots->count)
		memset(slots->slot, 0, slots->nslots * sizeof(*slots->slot));
	slots->count = 0;
}

void index_slots_free(struct index_slots *slots)
{
	free(slots->slot);
	*slots = (struct index_slots){0};
}
