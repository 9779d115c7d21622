/* part_index.c - see part_index.h. */
#include "replay/part_index.h"

#include <stdlib.h>
#include <string.h>

#include <sb/error.h>

#include "system/arena.h"
#include "system/system.h"

/* Of one part in one family: where there are more, it is no landmark. */
enum { PLACES_MAX = 8 };

void part_index_init(struct part_index *index, const struct sb_system *system)
{
	*index = (struct part_index){.system = system};
	pthread_mutex_init(&index->lock, NULL);
}

void part_index_fini(struct part_index *index)
{
	free(index->part);
	free(index->epoch);
	free(index->family_of);
	pthread_mutex_destroy(&index->lock);
}

/* ---- Comparing -------------------------------------------------------------------------------- */

int map_has_file(const struct sb_map *map)
{
	return map->origin != sb_map_doubtful && map->filename[0] == '/' &&
	       !sb_map_is_anonymous(map->filename);
}

static int same_file(const struct sb_map *a, const struct sb_map *b)
{
	if (a->filename != b->filename && strcmp(a->filename, b->filename) != 0)
		return 0;
	if (a->build_id_size && b->build_id_size)
		return a->build_id_size == b->build_id_size &&
		       memcmp(a->build_id, b->build_id, a->build_id_size) == 0;
	return a->build_id_size || b->build_id_size ||
	       (a->ino == b->ino && a->maj == b->maj && a->min == b->min);
}

int map_same_part(const struct sb_map *a, const struct sb_map *b)
{
	return a->pgoff == b->pgoff && same_file(a, b);
}

/* Of the part, in the upper half: equal names are one pointer. */
static uint64_t key_of(const struct sb_map *map, uint32_t family)
{
	const uint64_t hash = ((uintptr_t)map->filename ^ map->pgoff << 16) * UINT64_C(0x9e3779b97f4a7c15);

	return hash >> 32 << 32 | family;
}

/* ---- Making ----------------------------------------------------------------------------------- */

struct making {
	struct part_index *index;
	uint32_t family;
};

static int add_part(void *context, const struct sb_epoch *epoch, const struct sb_map *map)
{
	struct making *making = context;
	struct part_index *index = making->index;

	(void)epoch;
	if (!map_has_file(map))
		return 0;
	if (array_reserve(&index->part, &index->part_capacity, index->nparts, sizeof(*index->part)) < 0)
		return -sbe_nomem;
	/* The key comes when they are in the order of their addresses. */
	index->part[index->nparts++] = (struct family_part){map->begin, making->family, map};
	return 0;
}

/* Those that others of the family do not have. */
static int add_epochs(struct part_index *index, size_t number)
{
	const struct sb_space *space = system_space_at(index->system, number);
	const uint32_t family = system_space_family(index->system, number);

	for (size_t i = 0; i < space->nepochs; ++i) {
		const struct sb_epoch *epoch = &space->epoch[i];

		if (index->family_of[epoch->id])
			continue;
		index->family_of[epoch->id] = family;
		if (array_reserve(&index->epoch, &index->epoch_capacity, index->nepochs,
		                  sizeof(*index->epoch)) < 0)
			return -sbe_nomem;
		index->epoch[index->nepochs++] = (struct family_epoch){family, epoch};
	}
	return 0;
}

/* By part, family and address. */
static int sort_parts(struct part_index *index)
{
	int status = array_sort(index->part, index->nparts, sizeof(*index->part));

	for (size_t i = 0; i < index->nparts; ++i) {
		struct family_part *part = &index->part[i];
		const uint64_t begin = part->key;

		part->key = key_of(part->map, (uint32_t)part->begin);
		part->begin = begin;
	}
	return status < 0 ? status : array_sort(index->part, index->nparts, sizeof(*index->part));
}

/* A mapping that one epoch has from the other is one. */
static void drop_repeats(struct part_index *index)
{
	size_t kept = 0;

	for (size_t i = 0; i < index->nparts; ++i) {
		const struct family_part *part = &index->part[i],
		                         *last = kept ? &index->part[kept - 1] : NULL;

		if (!last || last->key != part->key || last->begin != part->begin ||
		    !map_same_part(last->map, part->map))
			index->part[kept++] = *part;
	}
	index->nparts = kept;
}

static int make(struct part_index *index)
{
	const size_t count = system_nspaces(index->system);
	const size_t nepochs = sb_system_nepochs(index->system);
	int status = 0;

	index->family_of = calloc(nepochs + 1, sizeof(*index->family_of));
	if (!index->family_of)
		return -sbe_nomem;
	for (size_t i = 0; i < count && status == 0; ++i) {
		struct making making = {.index = index, .family = system_space_family(index->system, i)};

		status = system_walk_space(index->system, i, add_part, &making);
		if (status == 0)
			status = add_epochs(index, i);
	}
	if (status == 0)
		status = sort_parts(index);
	if (status == 0)
		status = array_sort(index->epoch, index->nepochs, sizeof(*index->epoch));
	drop_repeats(index);
	return status;
}

int part_index_make(struct part_index *index)
{
	pthread_mutex_lock(&index->lock);
	if (!index->made)
		index->status = make(index);
	index->made = 1;
	pthread_mutex_unlock(&index->lock);
	return index->status;
}

/* ---- Asking ----------------------------------------------------------------------------------- */

uint32_t part_index_family(const struct part_index *index, const struct sb_epoch *epoch)
{
	return index->family_of[epoch->id];
}

uint32_t part_index_next(const struct part_index *index, const struct sb_map *map, uint32_t family)
{
	const uint64_t key = key_of(map, family);
	size_t i = array_above(index->part, index->nparts, sizeof(*index->part), key);

	for (; i < index->nparts && index->part[i].key >> 32 == key >> 32; ++i)
		if (map_same_part(index->part[i].map, map))
			return (uint32_t)index->part[i].key;
	return 0;
}

const struct family_epoch *part_index_epochs(const struct part_index *index, uint32_t family, size_t *count)
{
	const size_t first = array_above(index->epoch, index->nepochs, sizeof(*index->epoch), family - 1);

	*count = array_above(index->epoch, index->nepochs, sizeof(*index->epoch), family) - first;
	return index->epoch + first;
}

const struct sb_map *part_index_only(const struct part_index *index, uint32_t family,
                                     const struct sb_epoch *epoch, const struct sb_map *map)
{
	const uint64_t key = key_of(map, family);
	size_t i = array_above(index->part, index->nparts, sizeof(*index->part), key - 1);
	const struct sb_map *only = NULL;

	for (size_t n = 0; i < index->nparts && index->part[i].key == key; ++i, ++n) {
		const struct sb_map *found = sb_epoch_map(epoch, index->part[i].begin);

		if (n == PLACES_MAX)
			return NULL;
		if (!found || found->begin != index->part[i].begin || !map_same_part(found, map))
			continue;
		if (only && only != found)
			return NULL;
		only = found;
	}
	return only;
}
