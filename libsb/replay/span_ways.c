/* span_ways.c - see span_ways.h. That something came before a stretch is a block, too: ways from there are
 * what its seam tells of. */
#include "replay/span_ways.h"

#include <stdlib.h>

#include "replay/span_format.h"
#include "system/arena.h"

enum {
	ways_most = 1 << 20,  /* then, all are written */
	seams_most = 1 << 14, /* likewise */
	backs_most = 1 << 8,  /* of a stretch, which then ends */
};

/* What a thread executed last before a stretch, and what it executed last in user space before. */
static const char before, user_before;

void span_ways_fini(struct span_ways *ways)
{
	free(ways->way);
	index_slots_free(&ways->slots);
	free(ways->seam);
	free(ways->back);
	free(ways->level);
	*ways = (struct span_ways){0};
}

/* ---- Ways ------------------------------------------------------------------------------------- */

static uint32_t hash_of(uint32_t from, uint32_t to)
{
	return (uint32_t)(((uint64_t)from << 32 | to) * 0x9e3779b97f4a7c15u >> 32);
}

static int add_way(struct span_ways *ways, const struct sb_flow_way *way)
{
	if (array_reserve(&ways->way, &ways->way_capacity, ways->nways, sizeof(*ways->way)) < 0)
		return -sbe_nomem;
	ways->way[ways->nways++] = *way;
	return index_slots_add(&ways->slots, hash_of(way->from, way->to), (uint32_t)ways->nways);
}

int span_ways_count(struct span_ways *ways, uint32_t from, uint32_t to, int async, uint64_t count)
{
	const struct sb_flow_way way = {.from = from, .to = to, .async = async, .count = count};
	struct index_search search = index_search(hash_of(from, to));
	uint32_t number;

	while ((number = index_slots_next(&ways->slots, &search))) {
		struct sb_flow_way *is = &ways->way[number - 1];

		if (is->from == from && is->to == to && is->async == async) {
			is->count += count;
			return 0;
		}
	}
	return add_way(ways, &way);
}

/* ---- Stretches -------------------------------------------------------------------------------- */

static uint32_t number_of(const void *code)
{
	return (uint32_t)((uintptr_t)code - 1);
}

struct sb_way_code span_ways_code(uint32_t number, const struct pt_run_block *block)
{
	return (struct sb_way_code){.code = (const void *)((uintptr_t)number + 1),
	                            .is_kernel = (int)(block->ip >> 63),
	                            .is_far = block->iclass == ptic_far_call ||
	                                      block->iclass == ptic_far_return ||
	                                      block->iclass == ptic_far_jump};
}

static int on_way(void *context, const void *from, const void *to, int async)
{
	struct span_ways *ways = context;
	struct sb_flow_seam *seam = &ways->present.seam;

	/* The first block is in the seam anyway. */
	if (from == &before)
		return 0;
	if (from != &user_before)
		return span_ways_count(ways, number_of(from), number_of(to), async, 1);
	if (seam->has_code) {
		seam->comes_to_user = 1;
		seam->user = number_of(to);
	}
	return 0;
}

/* How many, at least, have been gone on with where one can be that was interrupted at @ip: no more than so
 * many are remembered, and only the latest of them is looked for. */
static uint32_t level_of(const struct span_ways *ways, uint64_t ip)
{
	uint32_t least = sb_way_interrupted_most;

	for (size_t i = ways->nbacks; i-- > ways->present.first_back;) {
		if (ways->level[i] < least)
			least = ways->level[i];
		if (ways->back[i].ip == ip)
			return least + 1;
	}
	return 1;
}

static int on_back(void *context, const void *to, uint64_t ip)
{
	struct span_ways *ways = context;
	const uint32_t level = level_of(ways, ip);

	if (level > sb_way_interrupted_most)
		return 0;
	if (array_reserve(&ways->back, &ways->back_capacity, ways->nbacks, sizeof(*ways->back)) < 0 ||
	    array_reserve(&ways->level, &ways->level_capacity, ways->nbacks, 1) < 0)
		return -sbe_nomem;
	ways->level[ways->nbacks] = (uint8_t)level;
	ways->back[ways->nbacks++] = (struct sb_flow_stop){number_of(to), ways->thread.deepest, ip};
	ways->thread.deepest = 0;
	return 0;
}

static void open_stretch(struct span_ways *ways, const struct sb_flow *flow)
{
	ways->is_open = 1;
	ways->present = (struct ways_seam){.seam = {.tsc_from = flow->tsc},
	                                   .first_back = ways->nbacks,
	                                   .pid = flow->pid,
	                                   .tid = flow->tid};
	ways->thread = (struct sb_way_thread){.last = {.code = &before}, .last_user = &user_before};
}

static void end_seam(const struct span_ways *ways, struct sb_flow_seam *seam)
{
	const struct sb_way_thread *thread = &ways->thread;

	seam->left_ip = thread->left_ip;
	if (!seam->has_code)
		return;
	seam->nbacks = (uint32_t)(ways->nbacks - ways->present.first_back);
	seam->last = number_of(thread->last.code);
	seam->has_last_user = !thread->last_user                  ? sb_flow_user_none
	                      : thread->last_user == &user_before ? sb_flow_user_as_before
	                                                          : sb_flow_user_known;
	if (seam->has_last_user == sb_flow_user_known)
		seam->last_user = number_of(thread->last_user);
	seam->deepest = thread->deepest;
	seam->ninterrupted = thread->ninterrupted;
	for (uint32_t i = 0; i < thread->ninterrupted; ++i)
		seam->interrupted[i] = (struct sb_flow_stop){.code = number_of(thread->interrupted[i].code),
		                                             .ip = thread->interrupted[i].ip};
}

int span_ways_close(struct span_ways *ways)
{
	if (!ways->is_open)
		return 0;
	ways->is_open = 0;
	end_seam(ways, &ways->present.seam);
	if (array_reserve(&ways->seam, &ways->seam_capacity, ways->nseams, sizeof(*ways->seam)) < 0)
		return -sbe_nomem;
	ways->seam[ways->nseams++] = ways->present;
	return 0;
}

int span_ways_begin_flow(struct span_ways *ways, const struct sb_flow *flow)
{
	const struct ways_seam *present = &ways->present;
	int status = 0;

	if (present->pid != flow->pid || present->tid != flow->tid ||
	    flow->tsc - present->tsc > sb_way_pause_most || ways->nbacks - present->first_back > backs_most)
		status = span_ways_close(ways);
	if (!ways->is_open)
		open_stretch(ways, flow);
	ways->present.tsc = flow->tsc;
	return status;
}

int span_ways_end_flow(struct span_ways *ways, const struct sb_flow *flow)
{
	if (ways->present.seam.has_code) {
		sb_way_interrupt(&ways->thread, flow->left_ip);
		return 0;
	}
	/* Interrupted where it was before: that has a seam of its own. */
	ways->thread.left_ip = flow->left_ip;
	return flow->left_ip ? span_ways_close(ways) : 0;
}

int span_ways_go(struct span_ways *ways, const struct sb_way_code *first, uint64_t ip,
                 const struct sb_way_code *last, const void *last_user)
{
	const struct sb_way_counter counter = {.context = ways, .way = on_way, .back = on_back};
	struct sb_flow_seam *seam = &ways->present.seam;
	const int status = sb_way_go(&ways->thread, first, ip, last, last_user, &counter);

	if (!seam->has_code) {
		seam->has_code = 1;
		seam->first = (struct sb_flow_stop){.code = number_of(first->code), .ip = ip};
	}
	return status;
}

/* ------------------------------------------------------------------------------------------------- */

int span_ways_are_many(const struct span_ways *ways)
{
	return ways->nways >= ways_most || ways->nseams >= seams_most || ways->nbacks >= 4 * seams_most;
}

void span_ways_clear(struct span_ways *ways)
{
	index_slots_clear(&ways->slots);
	ways->nways = ways->nseams = ways->nbacks = 0;
}
