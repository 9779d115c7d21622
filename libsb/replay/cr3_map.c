/* cr3_map.c - see cr3_map.h: asking. */
#include "replay/cr3_map.h"

#include <stdlib.h>

#include "replay/user_stretch.h"
#include "system/arena.h"
#include "system/kin.h"

void cr3_map_init(struct cr3_map *map, const struct sb_perfdata *perfdata, const struct sb_system *system,
                  struct address_index *addresses, uint64_t slack)
{
	*map = (struct cr3_map){
	        .perfdata = perfdata, .system = system, .addresses = addresses, .slack = slack};
	pthread_mutex_init(&map->lock, NULL);
}

void cr3_map_fini(struct cr3_map *map)
{
	free(map->use);
	free(map->owned);
	pthread_mutex_destroy(&map->lock);
}

int32_t cr3_memory_of(const struct cr3_map *map, int32_t pid, uint64_t time)
{
	const struct sb_space *space = sb_system_space(map->system, pid, time), *first;
	const int32_t founder = space ? kin_founder(space) : pid;

	if (founder == pid)
		return pid;
	first = sb_system_space(map->system, founder, time);
	return first && time < first->to && kin_memory(first, space) == fork_shares ? founder : pid;
}

static int make_once(struct cr3_map *map)
{
	pthread_mutex_lock(&map->lock);
	if (!map->made)
		map->status = cr3_learn(map);
	map->made = 1;
	pthread_mutex_unlock(&map->lock);
	return map->status;
}

/* Far from both ends, where time is most certain to be that of the same space. */
static uint64_t middle(const struct cr3_use *use)
{
	return use->from + (use->to - use->from) / 2;
}

int cr3_same_space(const struct cr3_map *map, const struct cr3_use *a, const struct cr3_use *b, int32_t pid)
{
	const struct sb_space *space = sb_system_space(map->system, pid, middle(a));

	return space && space == sb_system_space(map->system, pid, middle(b)) && middle(a) < space->to &&
	       middle(b) < space->to;
}

/* The page as it is in user space. */
static uint64_t in_user_space(const struct cr3_map *map, uint64_t cr3)
{
	return map->is_isolated ? cr3 | CR3_ISOLATED : cr3;
}

/* Whether the owner of @use has the same space at @time as when it was seen, and had those page tables alone
 * in it: of two, there was an exec between them without a record. */
static int owner_lives(const struct cr3_map *map, const struct cr3_use *use, uint64_t time)
{
	const struct sb_space *space = sb_system_space(map->system, use->owner, middle(use));

	return space && time + map->slack >= space->from && time < space->to &&
	       !cr3_owns_another(map, use->owner, use);
}

static int32_t both(int32_t found, int32_t owner)
{
	return found == cr3_unknown || found == owner ? owner : cr3_contradictory;
}

static const struct cr3_use *first_use(const struct cr3_map *map, uint64_t cr3)
{
	return map->use + (cr3 ? array_above(map->use, map->count, sizeof(*map->use), cr3 - 1) : 0);
}

/* A use that @time is in says more than those before and behind. */
static int32_t find(const struct cr3_map *map, uint64_t cr3, uint64_t time)
{
	const struct cr3_use *const end = map->use + map->count, *const first = first_use(map, cr3);
	int32_t found = cr3_unknown;
	int is_inside = 0;

	for (const struct cr3_use *use = first; use < end && use->cr3 == cr3; ++use) {
		if (time < use->from || time > use->to)
			continue;
		found = !is_inside || found == use->owner ? use->owner : cr3_contradictory;
		is_inside = 1;
	}
	for (const struct cr3_use *use = first; !is_inside && use < end && use->cr3 == cr3; ++use)
		if (use->owner >= 0 && owner_lives(map, use, time))
			found = both(found, use->owner);
	return found;
}

int32_t cr3_map_find(struct cr3_map *map, uint64_t cr3, uint64_t time, int *status)
{
	*status = make_once(map);
	return *status < 0 || !cr3 || !map->count ? cr3_unknown : find(map, in_user_space(map, cr3), time);
}

int cr3_owns_another(const struct cr3_map *map, int32_t pid, const struct cr3_use *use)
{
	const uint64_t owner = (uint64_t)(uint32_t)pid;
	size_t at =
	        pid > 0 ? array_above(map->owned, map->nowned, sizeof(*map->owned), owner - 1) : map->nowned;

	for (; at < map->nowned && map->owned[at].owner == owner; ++at) {
		const struct cr3_use *other = &map->use[map->owned[at].use];

		if (other->cr3 != use->cr3 && cr3_same_space(map, other, use, pid))
			return 1;
	}
	return 0;
}

int cr3_map_has_another(const struct cr3_map *map, int32_t pid, uint64_t cr3, uint64_t time)
{
	const struct cr3_use here = {.cr3 = in_user_space(map, cr3), .from = time, .to = time};

	return cr3_owns_another(map, pid, &here);
}
