/* count_cache.c - see count_cache.h. */
#include "flow/count_cache.h"

#include <stdlib.h>
#include <string.h>

#include "flow/flow.h"

enum { most_bits = 12 };

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
	cache->shift = 64 - bits;
	cache->way = calloc(size_of(cache), sizeof(*cache->way));
	return cache->way ? 0 : -pte_nomem;
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

/* The way so far, of which pt_count_way holds what is behind the last bit that was used. */
struct search {
	struct pt_section *section;
	const struct pt_node *node; /* where it stands; NULL: nobody knows */
	const struct pt_node *push[pt_count_pushes];
	uint32_t npush, rise, nblocks, ninsn, nused, free_steps;
};

/* Through a block that needs no trace. Zero: the way cannot go on. */
static int go_free(struct search *search)
{
	const struct pt_node *const node = search->node;

	if (search->free_steps >= pt_flow_short_free_steps)
		return 0;
	if (node->kind == pt_kind_call) {
		/* One to the next instruction is not pushed, and rare. */
		if (search->npush == pt_count_pushes || node->target == (int64_t)node->size)
			return 0;
		search->push[search->npush++] = node;
		if (search->npush > search->rise)
			search->rise = search->npush;
	} else if (node->kind != pt_kind_jump && node->kind != pt_kind_fall) {
		return 0;
	}
	search->free_steps += 1;
	search->node = pt_graph_link(search->section, node, node->kind != pt_kind_fall);
	return 1;
}

/* Through a block that needs a bit. */
static int use_bit(struct search *search, int taken)
{
	const struct pt_node *const node = search->node;

	if (node->kind == pt_kind_cond)
		search->node = pt_graph_link(search->section, node, taken);
	else if (node->kind != pt_kind_ret || !taken)
		return 0;
	else if (search->npush)
		search->node = pt_graph_link(search->section, search->push[--search->npush], 0);
	else
		search->node = NULL;
	search->free_steps = 0;
	search->nused += 1;
	return 1;
}

static void note(struct pt_count_way *way, const struct search *search, const struct pt_node *last)
{
	way->to = search->node;
	way->last = last;
	way->ninsn = search->ninsn;
	way->nblocks = (uint16_t)search->nblocks;
	way->used = (uint8_t)search->nused;
	way->least = !search->node;
	way->more = (uint8_t)(pt_return_stack_size - search->rise - way->least);
	way->npush = (uint8_t)search->npush;
	memcpy(way->push, search->push, sizeof(way->push));
}

void pt_count_cache_learn(struct pt_count_cache *cache, struct pt_count_way *way, struct pt_section *section,
                          const struct pt_node *from, uint64_t bits)
{
	struct search search = {.section = section, .node = from};

	if (!cache->nsections || cache->section[0] != section)
		keep_section(cache, section);
	*way = (struct pt_count_way){
	        .from = from, .bits = pt_count_bits(bits), .least = pt_return_stack_size + 1};
	while (search.node) {
		const struct pt_node *const node = search.node;
		const uint32_t npush = search.npush;
		const int is_free = !pt_kind_needs_trace(node->kind);

		if (bits == pt_count_no_bits && (!is_free || search.nused))
			return;
		search.nblocks += 1;
		search.ninsn += node->ninsn;
		if (is_free ? !go_free(&search) : !use_bit(&search, (int64_t)bits < 0))
			return;
		if (!is_free)
			bits <<= 1;
		/* A way that leaves the section has to end before. */
		if ((!is_free || bits == pt_count_no_bits) &&
		    (search.node || (node->kind == pt_kind_ret && !npush)))
			note(way, &search, node);
	}
}
