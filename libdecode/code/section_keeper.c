/* section_keeper.c - see section_keeper.h. A section's reference count goes from one, the cache's own, to
 * two and back only under the keeper's lock; above that it needs none. */
#include "code/section_keeper.h"

#include <pthread.h>
#include <stdlib.h>

struct pt_keeper {
	_Atomic uint64_t refs; /* the cache's and one per section */
	pthread_mutex_t lock;  /* guards the following */
	bool closed;
	uint64_t limit;
	uint64_t kept; /* the sum of the costs of those in the list; within the limit outside of the lock */
	struct pt_section *newest, *oldest;
};

struct pt_keeper *pt_keeper_make(void)
{
	struct pt_keeper *keeper = calloc(1, sizeof(*keeper));

	if (!keeper)
		return NULL;
	if (pthread_mutex_init(&keeper->lock, NULL) != 0) {
		free(keeper);
		return NULL;
	}
	keeper->limit = UINT64_MAX;
	atomic_init(&keeper->refs, 1);
	return keeper;
}

static void let_go(struct pt_keeper *keeper)
{
	if (atomic_fetch_sub_explicit(&keeper->refs, 1, memory_order_acq_rel) != 1)
		return;
	pthread_mutex_destroy(&keeper->lock);
	free(keeper);
}

void pt_keeper_adopt(struct pt_keeper *keeper, struct pt_section *section)
{
	atomic_fetch_add_explicit(&keeper->refs, 1, memory_order_relaxed);
	section->keeper = keeper;
}

static void take_out(struct pt_keeper *keeper, struct pt_section *section)
{
	if (!section->kept)
		return;
	*(section->newer ? &section->newer->older : &keeper->newest) = section->older;
	*(section->older ? &section->older->newer : &keeper->oldest) = section->newer;
	keeper->kept -= section->cost;
	section->kept = false;
}

static void put_in(struct pt_keeper *keeper, struct pt_section *section, uint64_t cost)
{
	section->kept = true;
	section->cost = cost;
	section->newer = NULL;
	section->older = keeper->newest;
	*(keeper->newest ? &keeper->newest->newer : &keeper->oldest) = section;
	keeper->newest = section;
	keeper->kept += cost;
}

static void evict(struct pt_keeper *keeper)
{
	while (keeper->kept > keeper->limit) {
		struct pt_section *section = keeper->oldest;

		take_out(keeper, section);
		pt_section_drop(section);
	}
}

/* Nobody uses @section any more. One that is larger than the limit must not push out all others. */
static void keep(struct pt_keeper *keeper, struct pt_section *section)
{
	const uint64_t cost = pt_section_cost(section);

	if (!cost)
		return;
	if (cost > keeper->limit) {
		pt_section_drop(section);
		return;
	}
	put_in(keeper, section, cost);
	evict(keeper);
}

void pt_keeper_set_limit(struct pt_keeper *keeper, uint64_t limit)
{
	pthread_mutex_lock(&keeper->lock);
	keeper->limit = limit;
	evict(keeper);
	pthread_mutex_unlock(&keeper->lock);
}

struct pt_section *pt_keeper_get(struct pt_keeper *keeper, struct pt_section *section)
{
	pthread_mutex_lock(&keeper->lock);
	take_out(keeper, section);
	pt_section_get(section);
	pthread_mutex_unlock(&keeper->lock);
	return section;
}

void pt_keeper_put(struct pt_keeper *keeper, struct pt_section *section)
{
	uint64_t before;

	pthread_mutex_lock(&keeper->lock);
	before = atomic_fetch_sub_explicit(&section->refs, 1, memory_order_acq_rel);
	if (before == 2 && !keeper->closed)
		keep(keeper, section);
	pthread_mutex_unlock(&keeper->lock);
	if (before != 1)
		return;
	pt_section_destroy(section);
	let_go(keeper);
}

void pt_keeper_close(struct pt_keeper *keeper)
{
	pthread_mutex_lock(&keeper->lock);
	keeper->closed = true;
	while (keeper->newest)
		take_out(keeper, keeper->newest);
	pthread_mutex_unlock(&keeper->lock);
	let_go(keeper);
}
