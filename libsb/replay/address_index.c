/* address_index.c - see address_index.h.
 *
 * A fork has all that its parent has, so what is kept is where a whole family has code: as much as there are
 * mappings, however often it forks. Which of the family live, and have that code at that time, is looked up.
 */
#include "replay/address_index.h"

#include <stdlib.h>

#include "replay/fork_scan.h"
#include "system/arena.h"
#include "system/system.h"

/* Closer together, mappings of a family are one. */
static const uint64_t near_enough = 1 << 21;

void address_index_init(struct address_index *index, const struct sb_system *system)
{
	*index = (struct address_index){.system = system};
	pthread_mutex_init(&index->lock, NULL);
	pthread_mutex_init(&index->unseen_lock, NULL);
}

void address_index_fini(struct address_index *index)
{
	box_tree_free(&index->code);
	box_tree_free(&index->spaces);
	strangers_fini(&index->strangers);
	pthread_mutex_destroy(&index->lock);
	pthread_mutex_destroy(&index->unseen_lock);
}

/* ---- Making ----------------------------------------------------------------------------------- */

/* What a family has mapped. */
struct extent {
	uint64_t key; /* first: sorted by it */
	uint64_t begin, end;
	uint64_t family;
};

struct extents {
	struct extent *extent;
	size_t count, capacity;
	uint64_t family; /* of what is added */
};

static int is_near(const struct extent *extent, uint64_t begin)
{
	return begin <= extent->end || begin - extent->end <= near_enough;
}

/* A mapping follows what is mapped below it, as a rule. */
static int add_map(void *context, const struct sb_epoch *epoch, const struct sb_map *map)
{
	struct extents *all = context;
	struct extent *last = all->count ? &all->extent[all->count - 1] : NULL;

	(void)epoch;
	if (last && last->family == all->family && last->begin <= map->begin && is_near(last, map->begin)) {
		if (map->end > last->end)
			last->end = map->end;
		return 0;
	}
	if (array_reserve(&all->extent, &all->capacity, all->count, sizeof(*all->extent)) < 0)
		return -sbe_nomem;
	all->extent[all->count++] = (struct extent){map->begin, map->begin, map->end, all->family};
	return 0;
}

/* By family, and those of a family by address. */
static int sort_extents(struct extents *all)
{
	int status = array_sort(all->extent, all->count, sizeof(*all->extent));

	for (size_t i = 0; i < all->count; ++i)
		all->extent[i].key = all->extent[i].family;
	return status < 0 ? status : array_sort(all->extent, all->count, sizeof(*all->extent));
}

/* Leaves no two of a family that overlap, or nearly do. */
static void unite_extents(struct extents *all)
{
	size_t kept = 0;

	for (size_t i = 0; i < all->count; ++i) {
		const struct extent *one = &all->extent[i];
		struct extent *last = kept ? &all->extent[kept - 1] : NULL;

		if (!last || last->family != one->family || !is_near(last, one->begin))
			all->extent[kept++] = *one;
		else if (one->end > last->end)
			last->end = one->end;
	}
	all->count = kept;
}

/* The spaces of each family, and since when and until when there is any of it. */
static int add_spaces(struct address_index *index, struct box_span *lifetime)
{
	const size_t count = system_nspaces(index->system);
	int status = 0;

	for (size_t i = 0; i < count && status == 0; ++i) {
		const uint32_t family = system_space_family(index->system, i);
		const struct sb_space *space = system_space_at(index->system, i);
		const struct box box = {{family, (uint64_t)family + 1, space->from, space->to}, i};
		struct box_span *all = &lifetime[family];

		if (!all->end || space->from < all->from)
			all->from = space->from;
		if (!all->end || space->to > all->to)
			all->to = space->to;
		all->end = 1;
		status = box_tree_add(&index->spaces, &box);
	}
	return status;
}

static int add_code(struct address_index *index, const struct box_span *lifetime)
{
	const size_t count = system_nspaces(index->system);
	struct extents all = {0};
	int status = 0;

	for (size_t i = 0; i < count && status == 0; ++i) {
		all.family = system_space_family(index->system, i);
		status = system_walk_space(index->system, i, add_map, &all);
	}
	if (status == 0)
		status = sort_extents(&all);
	if (status == 0)
		unite_extents(&all);
	for (size_t i = 0; i < all.count && status == 0; ++i) {
		const struct extent *one = &all.extent[i];
		const struct box_span *lives = &lifetime[one->family];
		const struct box box = {{one->begin, one->end, lives->from, lives->to}, one->family};

		status = box_tree_add(&index->code, &box);
	}
	free(all.extent);
	return status;
}

static int make(struct address_index *index)
{
	struct box_span *lifetime = calloc(system_nspaces(index->system) + 1, sizeof(*lifetime));
	int status = lifetime ? add_spaces(index, lifetime) : -sbe_nomem;

	if (status == 0)
		status = add_code(index, lifetime);
	free(lifetime);
	if (status == 0)
		status = strangers_init(&index->strangers, index->system, index->perfdata);
	if (status == 0)
		status = box_tree_build(&index->spaces);
	return status < 0 ? status : box_tree_build(&index->code);
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

const struct strangers *address_index_strangers(struct address_index *index)
{
	return make_once(index) < 0 ? NULL : &index->strangers;
}

/* ---- Asking ----------------------------------------------------------------------------------- */

const struct sb_space *space_living(const struct sb_system *system, int32_t pid, uint64_t time,
                                    uint64_t slack)
{
	const struct sb_space *space = sb_system_space(system, pid, time);

	return space && time > slack && time - slack > space->to ? NULL : space;
}

int space_has_code(const struct sb_space *space, const uint64_t *ip, size_t nips, uint64_t time)
{
	const struct sb_epoch *epoch = space ? sb_space_epoch(space, time) : NULL;

	for (size_t i = 0; i < nips && epoch; ++i)
		if (!sb_epoch_code(epoch, ip[i]))
			return 0;
	return epoch != NULL;
}

struct question {
	struct address_index *index;
	const uint64_t *ip;
	size_t nips;
	const struct index_span *when;
	uint64_t from, to; /* @when, give or take the slack */
	int32_t *pid;
	size_t found, max;
};

static int lives(const struct question *question, const struct sb_space *space)
{
	return question->to >= space->from && (!question->from || question->from < space->to) &&
	       space->to > space->from;
}

/* A space that is about to begin, or has just ended, is asked for a moment at which it was there. */
static int had_code(const struct question *question, const struct sb_space *space, uint64_t time)
{
	if (time < space->from)
		time = space->from;
	if (time >= space->to)
		time = space->to - 1;
	return space_has_code(space, question->ip, question->nips, time);
}

static int is_found(const struct question *question, int32_t pid)
{
	for (size_t i = 0; i < question->found; ++i)
		if (question->pid[i] == pid)
			return 1;
	return 0;
}

/* Positive: there is no room for more. */
static int ask_space(void *context, const struct box *box)
{
	struct question *question = context;
	const struct sb_space *space = system_space_at(question->index->system, box->value);
	if (is_found(question, space->pid) || !lives(question, space) ||
	    (!had_code(question, space, question->when->from) &&
	     (question->when->from == question->when->to || !had_code(question, space, question->when->to))))
		return 0;
	question->pid[question->found++] = space->pid;
	return question->found == question->max;
}

static int ask_family(void *context, const struct box *box)
{
	struct question *question = context;

	return box_tree_find(&question->index->spaces, box->value, question->from, question->to, ask_space,
	                     question);
}

int address_index_find(struct address_index *index, const uint64_t *ip, size_t nips, uint64_t time,
                       uint64_t slack, int32_t *pid, size_t max)
{
	const struct index_span when = {time, time};

	return address_index_find_within(index, ip, nips, &when, slack, pid, max);
}

int address_index_find_within(struct address_index *index, const uint64_t *ip, size_t nips,
                              const struct index_span *when, uint64_t slack, int32_t *pid, size_t max)
{
	struct question question = {.index = index,
	                            .ip = ip,
	                            .nips = nips,
	                            .when = when,
	                            .from = when->from > slack ? when->from - slack : 0,
	                            .to = when->to < UINT64_MAX - slack ? when->to + slack : UINT64_MAX,
	                            .pid = pid,
	                            .max = max};

	if (!nips || !max)
		return 0;
	if (make_once(index) < 0)
		return -sbe_nomem;
	box_tree_find(&index->code, ip[0], question.from, question.to, ask_family, &question);
	return (int)question.found;
}

/* ---- Strangers ---------------------------------------------------------------------------------- */

/* Whether somebody who has code there may run whom no record names. Positive, zero, or -sbe_nomem. */
static int may_be_unseen(struct address_index *index, const uint64_t *ip, size_t nips, uint64_t time)
{
	const struct fork_source source = {.perfdata = index->perfdata,
	                                   .system = index->system,
	                                   .resolver = index->resolver,
	                                   .addresses = index,
	                                   .lost = &index->strangers.lost,
	                                   .slack = index->slack};

	pthread_mutex_lock(&index->unseen_lock);
	if (!index->unseen_made)
		index->unseen_status = fork_scan(&source, &index->forks);
	index->unseen_made = 1;
	pthread_mutex_unlock(&index->unseen_lock);
	if (index->unseen_status < 0)
		return index->unseen_status;
	return fork_sites_may_run(&index->forks, &source, ip, nips, time);
}

int address_index_add_strangers(struct address_index *index, const uint64_t *ip, size_t nips, uint64_t time,
                                uint64_t slack, int32_t *pid, int count, int max)
{
	int unseen = make_once(index);

	if (unseen == 0 && index->strangers.lost.count)
		unseen = may_be_unseen(index, ip, nips, time + slack);
	if (unseen < 0)
		return unseen;
	if (unseen && count < max)
		pid[count++] = STRANGER_UNSEEN;
	return (int)strangers_add(&index->strangers, time, slack, pid, (size_t)count, (size_t)max);
}
