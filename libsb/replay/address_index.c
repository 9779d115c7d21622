/* address_index.c - see address_index.h.
 *
 * Addresses are divided into regions of 2 MiB; an entry says that a space has code in a region. What is found
 * by region is then looked up.
 */
#include "replay/address_index.h"

#include <stdlib.h>

#include "system/arena.h"
#include "system/system.h"

enum { REGION_BITS = 21, REGIONS_MAX = 1024 /* of one mapping: more of it is not looked for */ };

struct address_entry {
	uint64_t region; /* first: what is searched by */
	const struct sb_space *space;
};

void address_index_init(struct address_index *index, const struct sb_system *system)
{
	*index = (struct address_index){.system = system};
	pthread_mutex_init(&index->lock, NULL);
}

void address_index_fini(struct address_index *index)
{
	free(index->entry);
	pthread_mutex_destroy(&index->lock);
}

/* ---- Making ----------------------------------------------------------------------------------- */

static int add_map(struct address_index *index, const struct sb_space *space, const struct sb_map *map)
{
	const uint64_t first = map->begin >> REGION_BITS, last = (map->end - 1) >> REGION_BITS;

	for (uint64_t region = first; region <= last && region - first < REGIONS_MAX; ++region) {
		struct address_entry *before = index->count ? &index->entry[index->count - 1] : NULL;

		if (before && before->space == space && before->region == region)
			continue;
		if (array_reserve(&index->entry, &index->capacity, index->count, sizeof(*index->entry)) < 0)
			return -sbe_nomem;
		index->entry[index->count++] = (struct address_entry){region, space};
	}
	return 0;
}

static int add_space(struct address_index *index, const struct sb_space *space)
{
	int status = 0;

	for (size_t e = 0; e < space->nepochs && status == 0; ++e) {
		const struct sb_epoch *epoch = &space->epoch[e];
		const struct sb_map *map;

		for (map = sb_epoch_map(epoch, 0); map && status == 0; map = sb_epoch_map(epoch, map->end))
			status = add_map(index, space, map);
	}
	return status;
}

/* By region, and then pid and time: equal entries become neighbours. */
static int compare_entries(const void *a, const void *b)
{
	const struct address_entry *left = a, *right = b;

	if (left->region != right->region)
		return left->region < right->region ? -1 : 1;
	if (left->space->pid != right->space->pid)
		return left->space->pid < right->space->pid ? -1 : 1;
	return left->space->from < right->space->from ? -1 : left->space->from > right->space->from;
}

static int make(struct address_index *index)
{
	const size_t count = system_nspaces(index->system);
	int status = 0;

	for (size_t i = 0; i < count && status == 0; ++i)
		status = add_space(index, system_space_at(index->system, i));
	if (status == 0 && index->count)
		qsort(index->entry, index->count, sizeof(*index->entry), compare_entries);
	return status;
}

static int make_once(struct address_index *index)
{
	pthread_mutex_lock(&index->lock);
	if (!index->made)
		index->status = make(index);
	index->made = 1;
	pthread_mutex_unlock(&index->lock);
	return index->status;
}

/* ---- Asking ----------------------------------------------------------------------------------- */

int space_has_code(const struct sb_space *space, const uint64_t *ip, size_t nips, uint64_t time)
{
	const struct sb_epoch *epoch = space ? sb_space_epoch(space, time) : NULL;

	for (size_t i = 0; i < nips && epoch; ++i)
		if (!sb_epoch_code(epoch, ip[i]))
			return 0;
	return epoch != NULL;
}

static size_t first_of_region(const struct address_index *index, uint64_t region)
{
	return region ? array_above(index->entry, index->count, sizeof(*index->entry), region - 1) : 0;
}

/* A space that is about to begin, or has just ended, is asked for a moment at which it was there. */
static int lives(const struct sb_space *space, uint64_t *time, uint64_t slack)
{
	if (*time + slack < space->from || (*time > slack && *time - slack >= space->to))
		return 0;
	if (*time < space->from)
		*time = space->from;
	if (*time >= space->to)
		*time = space->to - 1;
	return space->to > space->from;
}

int address_index_find(struct address_index *index, const uint64_t *ip, size_t nips, uint64_t time,
                       uint64_t slack, int32_t *pid, size_t max)
{
	const uint64_t region = nips ? ip[0] >> REGION_BITS : 0;
	size_t found = 0;

	if (!nips)
		return 0;
	if (make_once(index) < 0)
		return -sbe_nomem;
	for (size_t i = first_of_region(index, region);
	     i < index->count && index->entry[i].region == region && found < max; ++i) {
		const struct sb_space *space = index->entry[i].space;
		uint64_t moment = time;

		if ((found && pid[found - 1] == space->pid) || !lives(space, &moment, slack) ||
		    !space_has_code(space, ip, nips, moment))
			continue;
		pid[found++] = space->pid;
	}
	return (int)found;
}
