/* lost_map.c - see lost_map.h. */
#include "replay/lost_map.h"

#include <stdlib.h>
#include <string.h>

#include <sb/error.h>

#include "system/address_space.h"
#include "system/system.h"

/* However many processes and mappings there are, an address takes so much and no more. */
enum {
	ANCHORS_MAX = 16,   /* mappings of the process that are looked at, those next to the address */
	STEPS_MAX = 64,     /* of a search for them, in either direction */
	WITNESSES_MAX = 32, /* families that say the same: no more are asked */
	FAMILIES_MAX = 256, /* that are asked */
	EPOCHS_MAX = 16,    /* of a family: the last ones */
	PAGE_BITS = 12
};

/* Farther away, files are not laid out together. */
static const uint64_t near_enough = 1ull << 30;

struct search {
	const struct part_index *parts;
	const struct sb_epoch *epoch;
	uint32_t family;
	uint64_t ip;
	const struct sb_map *anchor[ANCHORS_MAX];
	size_t nanchors;
	const struct sb_map *program; /* the lowest mapping of a file: as a rule, the program's */
	struct sb_map candidate;
	int nwitnesses, contradicted;
};

void lost_maps_init(struct lost_maps *lost, const struct sb_system *system)
{
	*lost = (struct lost_maps){0};
	part_index_init(&lost->parts, system);
	code_survey_init(&lost->survey, NULL, NULL, NULL);
	pthread_mutex_init(&lost->lock, NULL);
}

void lost_maps_survey(struct lost_maps *lost, const struct sb_perfdata *perfdata,
                      struct sb_resolver *resolver)
{
	lost->survey.system = lost->parts.system;
	lost->survey.perfdata = perfdata;
	lost->survey.resolver = resolver;
}

void lost_maps_fini(struct lost_maps *lost)
{
	code_survey_fini(&lost->survey);
	free(lost->slot);
	lost->slot = NULL;
	pthread_mutex_destroy(&lost->lock);
	part_index_fini(&lost->parts);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a < b ? b - a : a - b;
}

/* ---- Anchors ---------------------------------------------------------------------------------- */

/* The nearest come first. */
static void add_anchor(struct search *search, const struct sb_map *map)
{
	size_t at = search->nanchors;

	if (!map_has_file(map) || part_index_only(search->parts, search->family, search->epoch, map) != map)
		return;
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

static int is_near(const struct search *search, const struct sb_map *map)
{
	return map && distance(map->begin, search->ip) < near_enough;
}

static void find_anchors(struct search *search)
{
	const struct sb_map *map = sb_epoch_map(search->epoch, search->ip);

	for (int i = 0; i < STEPS_MAX && is_near(search, map); ++i) {
		add_anchor(search, map);
		map = sb_epoch_map(search->epoch, map->end);
	}
	map = epoch_map_before(search->epoch, search->ip);
	for (int i = 0; i < STEPS_MAX && is_near(search, map); ++i) {
		add_anchor(search, map);
		map = epoch_map_before(search->epoch, map->begin);
	}
}

static void find_program(struct search *search)
{
	const struct sb_map *map = sb_epoch_map(search->epoch, 0);

	for (int i = 0; i < STEPS_MAX && map && !search->program; ++i) {
		if (map_has_file(map))
			search->program = map;
		map = sb_epoch_map(search->epoch, map->end);
	}
}

/* ---- Other processes ---------------------------------------------------------------------------- */

/* Whether the process has nothing else where @map would be. */
static int is_free(const struct sb_epoch *epoch, const struct sb_map *map)
{
	const struct sb_map *next = sb_epoch_map(epoch, map->begin);

	return !next || next->begin >= map->end;
}

/* What the process of @other has there, seen from the nearest anchor that it has, too. Returns whether it has
 * something there. */
static int ask(struct search *search, uint32_t family, const struct sb_epoch *other)
{
	const struct sb_map *same = NULL;
	size_t i = 0;

	/* Other programs have other files before that one. */
	if (!part_index_only(search->parts, family, other, search->program))
		return 0;
	while (i < search->nanchors &&
	       !(same = part_index_only(search->parts, family, other, search->anchor[i])))
		i += 1;
	if (!same)
		return 0;

	const uint64_t shift = search->anchor[i]->begin - same->begin;
	const struct sb_map *found = sb_epoch_map(other, search->ip - shift);
	struct sb_map map;

	if (!found || found->begin > search->ip - shift || !map_has_file(found))
		return 0;
	map = *found;
	map.begin += shift;
	map.end += shift;
	if (!is_free(search->epoch, &map))
		return 0;
	if (!search->candidate.end)
		search->candidate = map;
	else if (search->candidate.begin != map.begin || !map_same_part(&search->candidate, &map))
		search->contradicted = 1;
	return 1;
}

static void ask_family(struct search *search, uint32_t family)
{
	size_t count;
	const struct family_epoch *epoch = part_index_epochs(search->parts, family, &count);
	int says = 0;

	for (size_t i = count > EPOCHS_MAX ? count - EPOCHS_MAX : 0; i < count && !search->contradicted; ++i)
		if (epoch[i].epoch->id != search->epoch->id)
			says |= ask(search, family, epoch[i].epoch);
	search->nwitnesses += says;
}

/* Those of the program: its own family first, then the next ones. */
static void ask_all(struct search *search)
{
	uint32_t family = search->family;

	for (int i = 0; i < FAMILIES_MAX && search->nwitnesses < WITNESSES_MAX && !search->contradicted;
	     ++i) {
		ask_family(search, family);
		family = part_index_next(search->parts, search->program, family);
		if (!family)
			family = part_index_next(search->parts, search->program, 0);
		if (!family || family == search->family)
			return;
	}
}

static int infer(struct lost_maps *lost, const struct sb_epoch *epoch, uint64_t ip, struct sb_map *map)
{
	struct search search = {.parts = &lost->parts, .epoch = epoch, .ip = ip};

	if (part_index_make(&lost->parts) < 0)
		return -sbe_nomem;
	search.family = part_index_family(search.parts, epoch);
	find_program(&search);
	/* If the program's own mapping is missing as well, the lowest one is of a library. */
	if (search.program && distance(search.program->begin, ip) >= near_enough) {
		find_anchors(&search);
		ask_all(&search);
	}
	if (!search.nwitnesses || search.contradicted)
		return 0;
	*map = search.candidate;
	return 1;
}

/* ---- Asking ----------------------------------------------------------------------------------- */

static size_t slot_of(const struct sb_epoch *epoch, uint64_t page)
{
	const uint64_t hash = (page ^ epoch->id) * 0x9e3779b97f4a7c15ull;

	return hash >> 52 & (LOST_MAP_SLOTS - 1);
}

/* The last answer for such a place, if it is for this very one. */
static int recall(struct lost_maps *lost, struct lost_map_slot *answer)
{
	const struct lost_map_slot *slot;
	int known;

	pthread_mutex_lock(&lost->lock);
	slot = lost->slot ? &lost->slot[slot_of(answer->epoch, answer->page)] : NULL;
	known = slot && slot->epoch == answer->epoch && slot->page == answer->page;
	if (known)
		*answer = *slot;
	pthread_mutex_unlock(&lost->lock);
	return known;
}

/* Hardly ever is anything asked: half a megabyte is only there once it is. */
static int remember(struct lost_maps *lost, const struct lost_map_slot *answer)
{
	int status = 0;

	pthread_mutex_lock(&lost->lock);
	if (!lost->slot)
		lost->slot = calloc(LOST_MAP_SLOTS, sizeof(*lost->slot));
	if (lost->slot)
		lost->slot[slot_of(answer->epoch, answer->page)] = *answer;
	else
		status = -sbe_nomem;
	pthread_mutex_unlock(&lost->lock);
	return status;
}

int lost_map_find(struct lost_maps *lost, const struct sb_epoch *epoch, uint64_t ip, struct sb_map *map)
{
	struct lost_map_slot answer = {.epoch = epoch, .page = ip >> PAGE_BITS};

	if (!recall(lost, &answer)) {
		answer.found = infer(lost, epoch, ip, &answer.map);
		if (answer.found == 0)
			answer.found = code_survey_find(&lost->survey, epoch, ip, &answer.map);
		if (answer.found < 0)
			return answer.found;
		if (remember(lost, &answer) < 0)
			return -sbe_nomem;
	}
	if (answer.found)
		*map = answer.map;
	return answer.found;
}
