/* span_shapes.c - see span_shapes.h. */
#include "replay/span_shapes.h"

#include <stdlib.h>
#include <string.h>

#include "system/arena.h"

void span_shapes_fini(struct span_shapes *shapes)
{
	free(shapes->sum);
	free(shapes->shape);
	index_slots_free(&shapes->slots);
	*shapes = (struct span_shapes){0};
}

void span_shapes_clear(struct span_shapes *shapes)
{
	shapes->nsums = shapes->nshapes = 0;
	index_slots_clear(&shapes->slots);
}

struct sb_flow_call_sum *span_shapes_room(struct span_shapes *shapes, uint32_t count)
{
	if (span_shape_can_be(count) && shapes->nsums + count > SPAN_SHAPES_SUMS)
		span_shapes_clear(shapes);
	/* What will be needed is not copied meanwhile; what is not, is only addresses. */
	if (array_reserve_more(&shapes->sum, &shapes->sum_capacity, shapes->nsums,
	                       shapes->sum_capacity ? count : SPAN_SHAPES_SUMS + count,
	                       sizeof(*shapes->sum)) < 0)
		return NULL;
	return shapes->sum + shapes->nsums;
}

int span_shapes_keep(struct span_shapes *shapes, uint32_t count)
{
	if (!span_shape_can_be(count))
		return 0;
	if (array_reserve(&shapes->shape, &shapes->shape_capacity, shapes->nshapes, sizeof(*shapes->shape)) <
	    0)
		return -sbe_nomem;
	shapes->shape[shapes->nshapes++] = (struct span_shape){(uint32_t)shapes->nsums, count};
	shapes->nsums += count;
	return 0;
}

/* ---- For who writes ---------------------------------------------------------------------------- */

static uint32_t flags_of(const struct sb_flow_call_sum *sum)
{
	return (uint32_t)sum->is_called | (uint32_t)sum->jumps << 1 | (uint32_t)sum->is_learned << 2 |
	       (uint32_t)sum->is_kernel << 3;
}

static uint32_t hash_of(const struct sb_flow_call_sum *sum, uint32_t count)
{
	uint64_t hash = count;

	for (uint32_t i = 1; i < count; ++i)
		hash = (hash ^ hash >> 32 ^ sum[i].function ^ (uint64_t)sum[i].below << 32 ^
		        (uint64_t)flags_of(&sum[i]) << 28) *
		       0x9e3779b97f4a7c15u;
	return (uint32_t)(hash >> 32);
}

static int is_like(const struct sb_flow_call_sum *a, const struct sb_flow_call_sum *b)
{
	return a->function == b->function && a->below == b->below && flags_of(a) == flags_of(b);
}

static int is_shape(const struct sb_flow_call_sum *a, const struct sb_flow_call_sum *b, uint32_t count)
{
	uint32_t i = 1;

	while (i < count && is_like(&a[i], &b[i]))
		++i;
	return i == count;
}

int64_t span_shapes_find(const struct span_shapes *shapes, const struct sb_flow_call_sum *sum, uint32_t count,
                         uint32_t *hash)
{
	struct index_search search;
	uint32_t number;

	*hash = 0;
	if (!span_shape_can_be(count))
		return -1;
	*hash = hash_of(sum, count);
	search = index_search(*hash);
	while ((number = index_slots_next(&shapes->slots, &search))) {
		const struct span_shape *shape = &shapes->shape[number - 1];

		if (shape->count == count && is_shape(shapes->sum + shape->first, sum, count))
			return number - 1;
	}
	return -1;
}

int span_shapes_add(struct span_shapes *shapes, const struct sb_flow_call_sum *sum, uint32_t count,
                    uint32_t hash)
{
	struct sb_flow_call_sum *room;

	if (!span_shape_can_be(count))
		return 0;
	room = span_shapes_room(shapes, count);
	if (!room)
		return -sbe_nomem;
	memcpy(room, sum, count * sizeof(*sum));
	if (span_shapes_keep(shapes, count) < 0)
		return -sbe_nomem;
	return index_slots_add(&shapes->slots, hash, (uint32_t)shapes->nshapes);
}
