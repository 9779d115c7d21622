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

/* Of a process that was there when the recording began. */
struct old_fork {
	uint64_t key; /* first: sorted by it */
	struct space *child, *parent;
	int32_t ppid;
};

void kinship_free(struct kinship *kinship)
{
	free(kinship->old);
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

/* @child has @parent's memory, and so have all that have the child's. */
static void share(struct kinship *kinship, struct space *child, struct space *parent)
{
	const uint32_t memory = child->kin.memory;
	const struct kin *kin = kin_of(kinship, child);
	struct space *space = kin ? kin->first : child;

	for (; space; space = kin ? space->kin.next : NULL) {
		if (space->kin.memory != memory)
			continue;
		space->kin.memory = parent->kin.memory;
		space->kin.founder = parent->kin.founder;
		space->kin.is_shared = 1;
	}
	parent->kin.is_shared = 1;
}

/* All kin of @child become @parent's. */
static void unite(struct kinship *kinship, struct space *child, struct space *parent)
{
	struct kin *kin = kin_of(kinship, child), *others = kin_of(kinship, parent);

	others->shares |= kin->shares;
	for (struct space *space = kin->first, *next; space; space = next) {
		next = space->kin.next;
		join(others, parent->kin.kin, space);
	}
	*kin = (struct kin){0};
}

static int join_parent(struct kinship *kinship, struct space *child, struct space *parent,
                       enum fork_memory memory)
{
	if (memory == fork_copies)
		return 0;
	if (!parent->kin.kin && new_kin(kinship, parent) < 0)
		return -sbe_nomem;
	if (memory == fork_shares)
		share(kinship, child, parent);
	if (!child->kin.kin)
		join(kin_of(kinship, parent), parent->kin.kin, child);
	else if (child->kin.kin != parent->kin.kin)
		unite(kinship, child, parent);
	kin_of(kinship, parent)->shares |= memory == fork_shares;
	return 0;
}

/* ---- Before the recording ------------------------------------------------------------------------- */

static int note_old(struct kinship *kinship, struct space *child, struct space *parent, int32_t ppid)
{
	if (!child)
		return 0;
	if (array_reserve(&kinship->old, &kinship->old_capacity, kinship->nold, sizeof(*kinship->old)) < 0)
		return -sbe_nomem;
	kinship->old[kinship->nold++] = (struct old_fork){.child = child, .parent = parent, .ppid = ppid};
	return 0;
}

/* The first of what @pid itself has mapped, or the last; NULL: nothing. */
static const struct sb_map *outermost(const struct sb_map_node *node, int32_t pid, int last)
{
	const struct sb_map *found;

	if (!node)
		return NULL;
	found = outermost(last ? node->right : node->left, pid, last);
	if (found)
		return found;
	return node->map.pid == pid ? &node->map : outermost(last ? node->left : node->right, pid, last);
}

/* The same of all that have one memory, and of few others: the kernel puts a program and its stack at random
 * places. Zero: it has nothing mapped, or is not what it was. */
static uint64_t place_of(const struct space *space)
{
	const struct sb_map_node *maps = space && space->public.to == UINT64_MAX ? space->trees.maps : NULL;
	const struct sb_map *first = outermost(maps, space ? space->public.pid : 0, 0),
	                    *last = outermost(maps, space ? space->public.pid : 0, 1);
	uint64_t place;

	if (!first || !last || !first->pid)
		return 0;
	place = (first->begin ^ (uintptr_t)first->filename) * 0x9e3779b97f4a7c15ull;
	place = (place ^ place >> 29 ^ last->begin ^ (uintptr_t)last->filename << 7) * 0xbf58476d1ce4e5b9ull;
	return (place ^ place >> 32) | 1;
}

/* Records of parents may come behind those of their children. */
static int find_parents(struct kinship *kinship)
{
	for (size_t i = 0; i < kinship->nold; ++i)
		kinship->old[i].key = (uint32_t)kinship->old[i].child->public.pid;
	if (array_sort(kinship->old, kinship->nold, sizeof(*kinship->old)) < 0)
		return -sbe_nomem;
	for (size_t i = 0; i < kinship->nold; ++i) {
		struct old_fork *old = &kinship->old[i];
		const uint64_t key = (uint32_t)old->ppid;
		const size_t at = array_above(kinship->old, kinship->nold, sizeof(*kinship->old), key);

		if (at && kinship->old[at - 1].key == key)
			old->parent = kinship->old[at - 1].child;
	}
	return 0;
}

/* Those whose parent is another program, or has ended, may have each other's memory. */
static int join_orphans(struct kinship *kinship)
{
	int status = array_sort(kinship->old, kinship->nold, sizeof(*kinship->old));

	for (size_t i = 1; i < kinship->nold && status == 0; ++i)
		if (kinship->old[i].key && kinship->old[i].key == kinship->old[i - 1].key)
			status = join_parent(kinship, kinship->old[i].child, kinship->old[i - 1].child,
			                     fork_unknown);
	return status;
}

/* All that there was is known. */
static int begin(struct kinship *kinship)
{
	int status = find_parents(kinship);

	kinship->has_begun = 1;
	for (size_t i = 0; i < kinship->nold && status == 0; ++i) {
		struct old_fork *old = &kinship->old[i];
		const uint64_t place = place_of(old->child);
		const int is_like = place && old->parent != old->child && place == place_of(old->parent);

		old->key = place && !is_like ? (place ^ (uint32_t)old->ppid) * 0x9e3779b97f4a7c15ull | 1 : 0;
		if (is_like)
			status =
			        join_parent(kinship, old->child, old->parent, memory_of(kinship, old->child));
		else
			old->parent = NULL;
	}
	return status < 0 ? status : join_orphans(kinship);
}

/* ---- While it is recorded ------------------------------------------------------------------------- */

int kinship_forked(struct kinship *kinship, const struct told_fork *fork, struct space *child,
                   struct space *parent)
{
	if (!kinship->facts)
		return 0;
	if (!fork->time)
		return note_old(kinship, child, parent, fork->ppid);
	if (!kinship->has_begun && begin(kinship) < 0)
		return -sbe_nomem;
	if ((child && parent && join_parent(kinship, child, parent, memory_of(kinship, child)) < 0) ||
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

int kin_doubt(struct space_pool *pool, struct space *space, const struct sb_map *map)
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
			status = kin_doubt(pool, space, map);
		}
	}
	return status;
}

int kinship_mapped(struct kinship *kinship, struct space_pool *pool, struct space *space,
                   const struct sb_map *map)
{
	struct kin *kin;
	int conflicts;

	if (!map->time || !kinship->facts)
		return 0;
	if (!kinship->has_begun && begin(kinship) < 0)
		return -sbe_nomem;
	kin = kin_of(kinship, space);
	if (!kin || kin->count < 2)
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

/* Whether it matters how one of the kin of that number was made. */
static int is_in_doubt(const struct kinship *kinship, uint32_t number, int mapped)
{
	const struct kin *kin = number ? &kinship->kin[number - 1] : NULL;

	return kin && (kin->is_doubtful || (mapped && kin->has_mapped));
}

int kinship_doubts(const struct kinship *kinship, int mapped, struct fork_fact **doubt, size_t *count)
{
	*count = 0;
	*doubt = calloc(kinship->nforks + kinship->nold + 1, sizeof(**doubt));
	if (!*doubt)
		return -sbe_nomem;
	for (size_t i = 0; i < kinship->nforks; ++i) {
		const struct told_fork *fork = &kinship->fork[i];

		if (is_in_doubt(kinship, fork->kin, mapped))
			(*doubt)[(*count)++] =
			        (struct fork_fact){fork->time, fork->pid, fork->ppid, fork_unknown};
	}
	for (size_t i = 0; i < kinship->nold; ++i) {
		const struct old_fork *old = &kinship->old[i];

		if (old->parent && is_in_doubt(kinship, old->child->kin.ever, mapped))
			(*doubt)[(*count)++] =
			        (struct fork_fact){0, old->child->public.pid, old->ppid, fork_unknown};
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
