/* count_cache.c - see count_cache.h. */
#include "flow/count_cache.h"

#include <stdlib.h>
#include <string.h>

#include "flow/flow.h"

/* Most short recordings get along with the first size. */
enum { first_bits = 12, most_bits = 14, address_bits = 57 };

static uint32_t size_of(const struct pt_count_cache *cache)
{
	return 1u << (64 - cache->shift);
}

int pt_count_cache_init(struct pt_count_cache *cache, uint32_t limit)
{
	uint32_t bits = 1;

	memset(cache, 0, sizeof(*cache));
	if (!limit)
		return 0;
	while (bits < most_bits && 2u << bits <= limit)
		bits += 1;
	cache->least_shift = 64 - bits;
	cache->shift = 64 - (bits < first_bits ? bits : first_bits);
	cache->way = calloc(size_of(cache), sizeof(*cache->way));
	return cache->way ? 0 : -pte_nomem;
}

/* Of ways that push each other out, more are kept; without memory, it goes on as it is. */
static void grow(struct pt_count_cache *cache)
{
	struct pt_count_cache larger = *cache;

	cache->nlearnt = 0;
	larger.shift -= larger.shift - larger.least_shift < 2 ? 1 : 2;
	larger.way = calloc(size_of(&larger), sizeof(*larger.way));
	if (!larger.way)
		return;
	for (uint32_t i = 0; i < size_of(cache); ++i)
		if (cache->way[i].key)
			*pt_count_cache_way(&larger, cache->way[i].key) = cache->way[i];
	free(cache->way);
	cache->way = larger.way;
	cache->shift = larger.shift;
}

static void release_sections(struct pt_count_cache *cache)
{
	for (uint32_t i = 0; i < cache->nsections; ++i)
		pt_section_put(cache->section[i]);
	cache->nsections = 0;
}

void pt_count_cache_fini(struct pt_count_cache *cache)
{
	release_sections(cache);
	free(cache->way);
	cache->way = NULL;
}

/* What is kept of @section stays right. The one that was used last comes first. */
static void keep_section(struct pt_count_cache *cache, struct pt_section *section)
{
	uint32_t i = 0;

	while (i < cache->nsections && cache->section[i] != section)
		i += 1;
	if (i == pt_count_sections) {
		memset(cache->way, 0, size_of(cache) * sizeof(*cache->way));
		release_sections(cache);
		i = 0;
	}
	if (i == cache->nsections)
		cache->section[cache->nsections++] = pt_section_get(section);
	cache->section[i] = cache->section[0];
	cache->section[0] = section;
}

/* The way so far. */
struct search {
	struct pt_section *section;
	const struct pt_node *node; /* where it stands; NULL: nobody knows */
	const struct pt_node *last; /* the last block */
	const struct pt_node *push[pt_count_pushes];
	uint32_t npush, rise, nblocks, ninsn, nused, free_steps;
	uint32_t pops; /* it ended behind a return to a caller from before it */
};

/* Where execution goes on behind @node, in the section. */
static inline uint64_t offset_behind(const struct pt_node *node)
{
	return node->offset + node->size;
}

/* Through a block that needs no trace. Zero: the way cannot go on, or leaves the section. */
static inline int go_free(struct search *search)
{
	const struct pt_node *const node = search->node;

	if (search->free_steps >= pt_flow_short_free_steps)
		return 0;
	if (node->kind == pt_kind_call) {
		/* One to the next instruction is not pushed, and rare; and so are addresses that wrap. */
		if (search->npush == pt_count_pushes || node->target == (int64_t)node->size ||
		    node->mode != ptem_64bit || offset_behind(node) > UINT32_MAX)
			return 0;
		search->push[search->npush++] = node;
		if (search->npush > search->rise)
			search->rise = search->npush;
	} else if (node->kind != pt_kind_jump && node->kind != pt_kind_fall) {
		return 0;
	}
	search->free_steps += 1;
	search->nblocks += 1;
	search->ninsn += node->ninsn;
	search->last = node;
	search->node = pt_graph_link(search->section, node, node->kind != pt_kind_fall);
	return search->node != NULL;
}

/* Through a block that needs a bit. */
static inline int use_bit(struct search *search, int taken)
{
	const struct pt_node *const node = search->node;

	if (node->kind == pt_kind_cond) {
		search->node = pt_graph_link(search->section, node, taken);
	} else if (node->kind != pt_kind_ret || !taken) {
		return 0;
	} else if (search->npush) {
		search->node = pt_graph_link(search->section, search->push[--search->npush], 0);
	} else {
		search->node = NULL;
		search->pops = pt_count_pops;
	}
	search->free_steps = 0;
	search->nused += 1;
	search->nblocks += 1;
	search->ninsn += node->ninsn;
	search->last = node;
	return search->node || search->pops;
}

/* Along @most of the bits, or fewer. Returns how many there are in the end: zero if the way cannot go so far,
 * and in *possible how many it can. */
static inline uint32_t go_along(struct search *search, uint64_t bits, uint32_t most, uint32_t *possible)
{
	*possible = 0;
	for (;;) {
		while (!pt_kind_needs_trace(search->node->kind))
			if (!go_free(search))
				return 0;
		if (!use_bit(search, (int64_t)bits < 0))
			return 0;
		bits <<= 1;
		*possible = search->nused;
		if (search->nused == most || !search->node)
			return search->nused;
	}
}

/* Zero: it is too long to be noted. */
static int note(struct pt_count_way *way, const struct search *search)
{
	const uint64_t end = search->last->offset + search->last->last;

	if (search->ninsn > UINT16_MAX || search->nblocks > UINT8_MAX || end > UINT32_MAX)
		return 0;
	way->to = search->node;
	way->end = (uint32_t)end;
	way->ninsn = (uint16_t)search->ninsn;
	way->nblocks = (uint8_t)search->nblocks;
	way->effect = (uint8_t)(search->nused | search->pops | search->npush << pt_count_npush_shift |
	                        search->rise << pt_count_rise_shift);
	for (uint32_t i = 0; i < search->npush; ++i)
		way->push[i] = (uint32_t)offset_behind(search->push[i]);
	return 1;
}

/* Most ways go through to the end; another one is gone as far as it can. */
static void find_way(struct pt_count_way *way, struct pt_section *section, const struct pt_node *from,
                     uint64_t bits)
{
	uint32_t most = 63 - (uint32_t)__builtin_ctzll(bits), possible;

	while (most) {
		struct search search = {.section = section, .node = from};

		if (go_along(&search, bits, most, &possible) && note(way, &search))
			return;
		most = possible < most ? possible : most - 1;
	}
}

/* To the block that needs some trace. */
static void find_free_way(struct pt_count_way *way, struct pt_section *section, const struct pt_node *from)
{
	struct search search = {.section = section, .node = from};

	while (!pt_kind_needs_trace(search.node->kind) && go_free(&search) && note(way, &search))
		;
}

const struct pt_count_way *pt_count_cache_learn(struct pt_count_cache *cache, struct pt_section *section,
                                                const struct pt_node *from, uint64_t bits)
{
	static const struct pt_count_way never = {.effect = pt_count_never};
	const uint64_t key = pt_count_key(from, bits);
	struct pt_count_way *way;

	if ((uint64_t)(uintptr_t)from >> address_bits)
		return &never;
	if (!cache->nsections || cache->section[0] != section)
		keep_section(cache, section);
	if (++cache->nlearnt > size_of(cache) && cache->shift > cache->least_shift)
		grow(cache);
	way = pt_count_cache_way(cache, key);
	*way = never;
	way->key = key;
	if (bits == pt_count_no_bits)
		find_free_way(way, section, from);
	else
		find_way(way, section, from, bits);
	return way;
}
