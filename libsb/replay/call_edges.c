/* call_edges.c - see call_edges.h. */
#include "replay/call_edges.h"

#include <stdlib.h>

#include "system/arena.h"

void call_edges_fini(struct call_edges *edges)
{
	free(edges->edge);
	free(edges->written);
	index_slots_free(&edges->slots);
	*edges = (struct call_edges){0};
}

void call_edges_clear(struct call_edges *edges)
{
	edges->count = 0;
	index_slots_clear(&edges->slots);
}

static uint32_t hash_of(const struct call_edge *edge)
{
	uint64_t key = (uintptr_t)edge->caller >> 3 ^ (uint64_t)(uintptr_t)edge->callee << 17;

	key = (key ^ edge->is.ip) * 0x9e3779b97f4a7c15u;
	key = (key ^ key >> 32 ^ edge->is.from_ip ^ (uint64_t)(uintptr_t)edge->space.epoch << 20) *
	      0x9e3779b97f4a7c15u;
	return (uint32_t)(key >> 32);
}

static int is_same_space(const struct call_edge_space *a, const struct call_edge_space *b)
{
	return a->pid == b->pid && a->epoch == b->epoch;
}

static int is_same(const struct call_edge *a, const struct call_edge *b)
{
	return a->is.ip == b->is.ip && a->is.from_ip == b->is.from_ip && a->caller == b->caller &&
	       a->callee == b->callee && is_same_space(&a->space, &b->space);
}

int call_edges_add(struct call_edges *edges, const struct call_edge *edge)
{
	const uint32_t hash = hash_of(edge);
	struct index_search search = index_search(hash);
	uint32_t number;

	while ((number = index_slots_next(&edges->slots, &search))) {
		struct call_edge *found = &edges->edge[number - 1];

		if (!is_same(found, edge))
			continue;
		found->is.calls += edge->is.calls;
		found->is.ninsn += edge->is.ninsn;
		return 0;
	}
	if (array_reserve(&edges->edge, &edges->capacity, edges->count, sizeof(*edges->edge)) < 0)
		return -sbe_nomem;
	edges->edge[edges->count++] = *edge;
	return index_slots_add(&edges->slots, hash, (uint32_t)edges->count);
}

int64_t call_edges_tell(struct call_edges *edges, size_t first, const struct call_number *number,
                        struct sb_flow_calls *told)
{
	const struct call_edge *from = edges->edge + first;
	size_t count = 0;

	if (array_reserve_more(&edges->written, &edges->written_capacity, 0, edges->count - first,
	                       sizeof(*edges->written)) < 0)
		return -sbe_nomem;
	for (; first + count < edges->count && is_same_space(&from->space, &from[count].space); ++count) {
		const struct call_edge *edge = &from[count];
		struct sb_flow_call_edge *written = &edges->written[count];

		*written = edge->is;
		written->callee = number[edge->callee->public.index].number - 1;
		written->caller =
		        edge->caller ? number[edge->caller->public.index].number - 1 : sb_flow_call_base;
	}
	told->edge = edges->written;
	told->nedges = count;
	return (int64_t)count;
}
