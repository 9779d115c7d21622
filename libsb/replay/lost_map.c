/* lost_map.c - see lost_map.h. */
#include "replay/lost_map.h"

#include <stdlib.h>
#include <string.h>

#include <sb/error.h>

#include "system/system.h"

enum {
	ANCHORS_MAX = 16,   /* mappings of the process that are looked at, those next to the address */
	SPACES_MAX = 4096,  /* of other processes */
	CANDIDATES_MAX = 8, /* different answers */
	PAGE_BITS = 12
};

/* Farther away, files are not laid out together. */
static const uint64_t near_enough = 1ull << 30;

struct search {
	const struct sb_epoch *epoch;
	uint64_t ip;
	const struct sb_map *anchor[ANCHORS_MAX];
	size_t nanchors;
	const struct sb_map *program;            /* the lowest mapping of a file: as a rule, the program's */
	struct sb_map candidate[CANDIDATES_MAX]; /* different answers */
	size_t ncandidates;
	int too_many;
};

int lost_maps_init(struct lost_maps *lost, const struct sb_system *system)
{
	*lost = (struct lost_maps){.system = system};
	pthread_mutex_init(&lost->lock, NULL);
	lost->slot = calloc(LOST_MAP_SLOTS, sizeof(*lost->slot));
	return lost->slot ? 0 : -sbe_nomem;
}

void lost_maps_fini(struct lost_maps *lost)
{
	free(lost->slot);
	lost->slot = NULL;
	pthread_mutex_destroy(&lost->lock);
}

/* ---- Comparing -------------------------------------------------------------------------------- */

static int has_file(const struct sb_map *map)
{
	return map->filename[0] == '/' && !sb_map_is_anonymous(map->filename);
}

static int same_file(const struct sb_map *a, const struct sb_map *b)
{
	if (strcmp(a->filename, b->filename) != 0)
		return 0;
	if (a->build_id_size && b->build_id_size)
		return a->build_id_size == b->build_id_size &&
		       memcmp(a->build_id, b->build_id, a->build_id_size) == 0;
	return a->build_id_size || b->build_id_size ||
	       (a->ino == b->ino && a->maj == b->maj && a->min == b->min);
}

static int same_part(const struct sb_map *a, const struct sb_map *b)
{
	return a->pgoff == b->pgoff && same_file(a, b);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a < b ? b - a : a - b;
}

/* ---- Anchors ---------------------------------------------------------------------------------- */

static void add_anchor(struct search *search, const struct sb_map *map)
{
	size_t at = search->nanchors;

	/* The nearest come first. */
	while (at && distance(search->anchor[at - 1]->begin, search->ip) > distance(map->begin, search->ip))
		at -= 1;
	if (at == ANCHORS_MAX)
		return;
	if (search->nanchors == ANCHORS_MAX)
		search->nanchors -= 1;
	memmove(search->anchor + at + 1, search->anchor + at,
	        (search->nanchors - at) * sizeof(search->anchor[0]));
	search->anchor[at] = map;
	search->nanchors += 1;
}

static void find_anchors(struct search *search)
{
	const struct sb_map *map;

	for (map = sb_epoch_map(search->epoch, 0); map; map = sb_epoch_map(search->epoch, map->end)) {
		if (!has_file(map))
			continue;
		if (!search->program)
			search->program = map;
		if (distance(map->begin, search->ip) < near_enough)
			add_anchor(search, map);
	}
}

/* ---- Other processes ---------------------------------------------------------------------------- */

static const struct sb_map *find_part(const struct sb_epoch *epoch, const struct sb_map *part)
{
	const struct sb_map *map;

	for (map = sb_epoch_map(epoch, 0); map; map = sb_epoch_map(epoch, map->end))
		if (same_part(map, part))
			return map;
	return NULL;
}

/* Whether the process has nothing else where @map would be. */
static int is_free(const struct sb_epoch *epoch, const struct sb_map *map)
{
	const struct sb_map *next = sb_epoch_map(epoch, map->begin);

	return !next || next->begin >= map->end;
}

static void add_candidate(struct search *search, const struct sb_map *map)
{
	for (size_t i = 0; i < search->ncandidates; ++i)
		if (search->candidate[i].begin == map->begin && same_part(&search->candidate[i], map))
			return;
	if (search->ncandidates == CANDIDATES_MAX)
		search->too_many = 1;
	else
		search->candidate[search->ncandidates++] = *map;
}

/* What the process of @other has there, seen from the nearest anchor that it has, too. */
static void ask(struct search *search, const struct sb_epoch *other)
{
	const struct sb_map *same = NULL;
	size_t i = 0;

	/* Other programs have other files before that one. */
	if (!find_part(other, search->program))
		return;
	while (i < search->nanchors && !(same = find_part(other, search->anchor[i])))
		i += 1;
	if (!same)
		return;

	const uint64_t shift = search->anchor[i]->begin - same->begin;
	const struct sb_map *found = sb_epoch_map(other, search->ip - shift);
	struct sb_map map;

	if (!found || found->begin > search->ip - shift || !has_file(found))
		return;
	map = *found;
	map.begin += shift;
	map.end += shift;
	if (is_free(search->epoch, &map))
		add_candidate(search, &map);
}

static void ask_all(struct search *search, const struct sb_system *system)
{
	const size_t count = system_nspaces(system);

	for (size_t i = 0; i < count && i < SPACES_MAX; ++i) {
		const struct sb_space *space = system_space_at(system, i);

		for (size_t e = 0; e < space->nepochs; ++e)
			if (space->epoch[e].id != search->epoch->id)
				ask(search, &space->epoch[e]);
	}
}

static int infer(const struct lost_maps *lost, const struct sb_epoch *epoch, uint64_t ip, struct sb_map *map)
{
	struct search search = {.epoch = epoch, .ip = ip};

	find_anchors(&search);
	/* If the program's own mapping is missing as well, the lowest one is of a library. */
	if (search.program && distance(search.program->begin, ip) >= near_enough)
		ask_all(&search, lost->system);
	if (search.too_many || search.ncandidates != 1)
		return 0;
	*map = search.candidate[0];
	return 1;
}

/* ---- Asking ----------------------------------------------------------------------------------- */

static struct lost_map_slot *slot_of(const struct lost_maps *lost, const struct sb_epoch *epoch,
                                     uint64_t page)
{
	const uint64_t hash = (page ^ epoch->id) * 0x9e3779b97f4a7c15ull;

	return &lost->slot[hash >> 52 & (LOST_MAP_SLOTS - 1)];
}

int lost_map_find(struct lost_maps *lost, const struct sb_epoch *epoch, uint64_t ip, struct sb_map *map)
{
	const uint64_t page = ip >> PAGE_BITS;
	struct lost_map_slot *slot = slot_of(lost, epoch, page), answer = {.epoch = epoch, .page = page};
	int known;

	pthread_mutex_lock(&lost->lock);
	known = slot->epoch == epoch && slot->page == page;
	if (known)
		answer = *slot;
	pthread_mutex_unlock(&lost->lock);
	if (!known) {
		answer.found = infer(lost, epoch, ip, &answer.map);
		pthread_mutex_lock(&lost->lock);
		*slot = answer;
		pthread_mutex_unlock(&lost->lock);
	}
	if (answer.found)
		*map = answer.map;
	return answer.found;
}
