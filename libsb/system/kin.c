/* kin.c - see kin.h. */
#include "system/kin.h"

#include <stdlib.h>

#include "system/arena.h"

/* Comparing many with many is not worth more than that. */
enum { EFFORT_MAX = 1 << 24 };

struct kin {
	struct space *first; /* linked by kin.next */
	size_t count;
	int has_common, has_mapped, is_doubtful;
	int shares; /* some of them have one memory for sure */
	struct common_memory common;
};

void kinship_free(struct kinship *kinship)
{
	free(kinship->kin);
	free(kinship->fork);
	*kinship = (struct kinship){0};
}

/* ---- Who ---------------------------------------------------------------------------------------- */

static struct kin *kin_of(struct kinship *kinship, const struct space *space)
{
	return space->kin.kin ? &kinship->kin[space->kin.kin - 1] : NULL;
}

static void join(struct kin *kin, uint32_t number, struct space *space)
{
	space->kin.kin = space->kin.ever = number;
	space->kin.previous = NULL;
	space->kin.next = kin->first;
	if (kin->first)
		kin->first->kin.previous = space;
	kin->first = space;
	kin->count += 1;
}

void kinship_left(struct kinship *kinship, struct space *space)
{
	struct kin *kin = kin_of(kinship, space);

	if (!kin)
		return;
	if (space->kin.previous)
		space->kin.previous->kin.next = space->kin.next;
	else
		kin->first = space->kin.next;
	if (space->kin.next)
		space->kin.next->kin.previous = space->kin.previous;
	space->kin.kin = 0;
	space->kin.next = space->kin.previous = NULL;
	kin->count -= 1;
	/* Whoever is left has what it has; who joins it will begin with that. */
	if (kin->count == 1)
		kin->has_common = kin->shares = 0;
}

static int new_kin(struct kinship *kinship, struct space *space)
{
	if (array_reserve(&kinship->kin, &kinship->kin_capacity, kinship->nkin, sizeof(*kinship->kin)) < 0)
		return -sbe_nomem;
	kinship->kin[kinship->nkin++] = (struct kin){0};
	join(&kinship->kin[kinship->nkin - 1], (uint32_t)kinship->nkin, space);
	return 0;
}

static enum fork_memory memory_of(const struct kinship *kinship, const struct space *child)
{
	const struct fork_facts *facts = kinship->facts;
	const uint64_t time = child->public.from;

	for (size_t i = array_above(facts->of, facts->count, sizeof(*facts->of), time);
	     i > 0 && facts->of[i - 1].time == time; --i)
		if (facts->of[i - 1].pid == child->public.pid)
			return facts->of[i - 1].memory;
	return fork_unknown;
}

static int join_parent(struct kinship *kinship, struct space *child, struct space *parent)
{
	const enum fork_memory memory = memory_of(kinship, child);

	if (memory == fork_copies)
		return 0;
	if (!parent->kin.kin && new_kin(kinship, parent) < 0)
		return -sbe_nomem;
	join(kin_of(kinship, parent), parent->kin.kin, child);
	if (memory == fork_shares) {
		child->kin.memory = parent->kin.memory;
		child->kin.founder = parent->kin.founder;
		child->kin.is_shared = parent->kin.is_shared = 1;
		kin_of(kinship, parent)->shares = 1;
	}
	return 0;
}

/* Forks that were before the recording are not known as such. */
int kinship_forked(struct kinship *kinship, const struct told_fork *fork, struct space *child,
                   struct space *parent)
{
	if (!kinship->facts || !fork->time)
		return 0;
	if ((child && parent && join_parent(kinship, child, parent) < 0) ||
	    array_reserve(&kinship->fork, &kinship->fork_capacity, kinship->nforks, sizeof(*kinship->fork)) <
	            0)
		return -sbe_nomem;
	kinship->fork[kinship->nforks] = *fork;
	kinship->fork[kinship->nforks++].kin = child ? child->kin.kin : 0;
	return 0;
}

/* ---- What --------------------------------------------------------------------------------------- */

static int map_copy(struct space_pool *pool, struct space *space, const struct sb_map *map)
{
	struct sb_map_node *node = space_node(pool);

	if (!node)
		return -sbe_nomem;
	node->map = *map;
	return map_is_made(map) ? space_code(pool, space, node) : space_map(pool, space, node);
}

static int map_common(struct space_pool *pool, struct kin *kin, const struct sb_map *map)
{
	struct sb_map_node *node = space_node(pool);

	if (!node)
		return -sbe_nomem;
	node->map = *map;
	return space_map_common(pool, &kin->common, node);
}

/* From now on, nobody knows what @space has in the place of @map. */
static int doubt(struct space_pool *pool, struct space *space, const struct sb_map *map)
{
	struct sb_map doubtful = *map;

	doubtful.origin = sb_map_doubtful;
	return space_conflicts(space, &doubtful) ? map_copy(pool, space, &doubtful) : 0;
}

static int tell_others(struct kinship *kinship, struct kin *kin, struct space_pool *pool,
                       const struct space *mapper, const struct sb_map *map, int conflicts)
{
	int status = 0;

	for (struct space *space = kin->first; space && status == 0; space = space->kin.next) {
		if (space == mapper)
			continue;
		kinship->effort += 1;
		if (space->kin.memory == mapper->kin.memory) {
			status = map_copy(pool, space, map);
		} else if (conflicts && space_conflicts(space, map)) {
			kin->is_doubtful = 1;
			status = doubt(pool, space, map);
		}
	}
	return status;
}

int kinship_mapped(struct kinship *kinship, struct space_pool *pool, struct space *space,
                   const struct sb_map *map)
{
	struct kin *kin = kin_of(kinship, space);
	int conflicts;

	if (!kin || kin->count < 2 || !map->time)
		return 0;
	if (!kin->has_common)
		space_make_common(pool, &kin->common, space);
	kin->has_common = kin->has_mapped = 1;
	conflicts = map_common(pool, kin, map);
	if (conflicts < 0 || (!conflicts && !kin->shares) || kinship->effort > EFFORT_MAX)
		return conflicts < 0 ? conflicts : 0;
	return tell_others(kinship, kin, pool, space, map, conflicts);
}

/* ------------------------------------------------------------------------------------------------- */

/* Whether it matters how @fork was made. */
static int is_in_doubt(const struct kinship *kinship, const struct told_fork *fork, int mapped)
{
	const struct kin *kin = fork->kin ? &kinship->kin[fork->kin - 1] : NULL;

	return kin && (kin->is_doubtful || (mapped && kin->has_mapped));
}

int kinship_doubts(const struct kinship *kinship, int mapped, struct fork_fact **doubt, size_t *count)
{
	*count = 0;
	*doubt = calloc(kinship->nforks ? kinship->nforks : 1, sizeof(**doubt));
	if (!*doubt)
		return -sbe_nomem;
	for (size_t i = 0; i < kinship->nforks; ++i) {
		const struct told_fork *fork = &kinship->fork[i];

		if (is_in_doubt(kinship, fork, mapped))
			(*doubt)[(*count)++] =
			        (struct fork_fact){fork->time, fork->pid, fork->ppid, fork_unknown};
	}
	return array_sort(*doubt, *count, sizeof(**doubt));
}

enum fork_memory kin_memory(const struct sb_space *a, const struct sb_space *b)
{
	const struct kin_member *left = &((const struct space *)a)->kin,
	                        *right = &((const struct space *)b)->kin;

	if (left->memory == right->memory)
		return fork_shares;
	return left->ever && left->ever == right->ever ? fork_unknown : fork_copies;
}

int32_t kin_founder(const struct sb_space *space)
{
	return ((const struct space *)space)->kin.founder;
}

int kin_is_shared(const struct sb_space *space)
{
	return ((const struct space *)space)->kin.is_shared;
}
