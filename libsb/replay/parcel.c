/* parcel.c - see parcel.h. */
#include "replay/parcel.h"

#include <stdlib.h>
#include <string.h>

#include "system/arena.h"

struct parcel_item {
	enum held_kind kind;
	int timeless; /* gap */
	size_t first; /* flow: of the parcel's paths */
	union {
		struct sb_flow flow;
		struct sb_gap *gap; /* owned */
		struct sb_flow_event event;
	};
};

struct parcel_path {
	const struct pt_run_path *copy;
	uint32_t stamp;
};

/* ---- The index -------------------------------------------------------------------------------- */

int parcel_index_init(struct parcel_index *index)
{
	*index = (struct parcel_index){.stamp = 1};
	index->path = calloc(ptr_max_paths, sizeof(*index->path));
	return index->path ? 0 : -sbe_nomem;
}

void parcel_index_fini(struct parcel_index *index)
{
	free(index->path);
	index->path = NULL;
}

void parcel_index_clear(struct parcel_index *index)
{
	index->stamp += 1;
	if (index->stamp)
		return;
	memset(index->path, 0, ptr_max_paths * sizeof(*index->path));
	index->stamp = 1;
}

/* ---- Filling ---------------------------------------------------------------------------------- */

struct parcel *parcel_new(void)
{
	return calloc(1, sizeof(struct parcel));
}

void parcel_clear(struct parcel *parcel)
{
	for (size_t i = 0; i < parcel->nitems; ++i)
		if (parcel->item[i].kind == held_gap)
			free(parcel->item[i].gap);
	path_store_clear(&parcel->store);
	parcel->nitems = parcel->npaths = 0;
	parcel->bytes = 0;
}

void parcel_free(struct parcel *parcel)
{
	if (!parcel)
		return;
	parcel_clear(parcel);
	path_store_fini(&parcel->store);
	free(parcel->item);
	free(parcel->path);
	free(parcel);
}

static struct parcel_item *add_item(struct parcel *parcel)
{
	if (array_reserve(&parcel->item, &parcel->item_capacity, parcel->nitems, sizeof(*parcel->item)) < 0)
		return NULL;
	return &parcel->item[parcel->nitems++];
}

static int reserve_paths(struct parcel *parcel, size_t more)
{
	return array_reserve_more(&parcel->path, &parcel->path_capacity, parcel->npaths, more,
	                          sizeof(*parcel->path));
}

/* The parcel's copy of @path. */
static const struct pt_run_path *copy_path(struct parcel *parcel, struct parcel_index *index,
                                           const struct pt_run_path *path)
{
	struct parcel_path *known;

	if (path->id == ptr_no_id)
		return path_store_copy(&parcel->store, path, ptr_no_id);
	known = &index->path[path->id];
	if (known->stamp != index->stamp) {
		known->copy = path_store_copy(&parcel->store, path, path->id);
		known->stamp = known->copy ? index->stamp : 0;
	}
	return known->copy;
}

int parcel_add_flow(struct parcel *parcel, struct parcel_index *index, const struct sb_flow *flow)
{
	struct parcel_item *item;

	if (flow->numbering != index->numbering)
		parcel_index_clear(index);
	index->numbering = flow->numbering;
	if (reserve_paths(parcel, flow->npaths) < 0)
		return -sbe_nomem;
	item = add_item(parcel);
	if (!item)
		return -sbe_nomem;
	*item = (struct parcel_item){.flow = *flow, .first = parcel->npaths};
	for (uint32_t i = 0; i < flow->npaths; ++i) {
		const struct pt_run_path *copy = copy_path(parcel, index, flow->path[i]);

		if (!copy)
			return -sbe_nomem;
		parcel->path[parcel->npaths++] = copy;
	}
	return 0;
}

int parcel_add_gap(struct parcel *parcel, const struct sb_gap *gap, int timeless)
{
	struct sb_gap *copy = malloc(sizeof(*copy));
	struct parcel_item *item = copy ? add_item(parcel) : NULL;

	if (!item) {
		free(copy);
		return -sbe_nomem;
	}
	*copy = *gap;
	*item = (struct parcel_item){.kind = held_gap, .gap = copy, .timeless = timeless};
	return 0;
}

int parcel_add_event(struct parcel *parcel, const struct sb_flow_event *event)
{
	struct parcel_item *item = add_item(parcel);

	if (!item)
		return -sbe_nomem;
	*item = (struct parcel_item){.kind = held_event, .event = *event};
	return 0;
}

size_t parcel_size(const struct parcel *parcel)
{
	return parcel->npaths * sizeof(*parcel->path) + parcel->nitems * sizeof(*parcel->item) +
	       parcel->store.used;
}

/* ---- Handing out ------------------------------------------------------------------------------ */

int parcel_target_flow(const struct parcel_target *target, struct sb_flow *flow)
{
	const struct sb_sink *sink = target->ledger->sink;

	if (flow->tsc < target->last_tsc)
		flow->tsc = target->last_tsc;
	return target->uncounted ? ledger_flow(target->ledger, flow) : sink->flow(sink->context, flow);
}

int parcel_target_gap(const struct parcel_target *target, struct sb_gap *gap, int timeless)
{
	const struct sb_sink *sink = target->ledger->sink;

	if (!timeless && gap->tsc_from < target->last_tsc)
		gap->tsc_from = target->last_tsc;
	/* An overflow has no end. */
	if (!timeless && gap->reason != sb_gap_overflow && gap->tsc_to < target->last_tsc)
		gap->tsc_to = target->last_tsc;
	return sink->gap(sink->context, gap);
}

int parcel_target_event(const struct parcel_target *target, struct sb_flow_event *event)
{
	const struct sb_sink *sink = target->ledger->sink;

	if (event->tsc < target->last_tsc)
		event->tsc = target->last_tsc;
	return target->uncounted ? ledger_event(target->ledger, event) : sink->event(sink->context, event);
}

static int deliver_flow(const struct parcel *parcel, const struct parcel_item *item,
                        const struct parcel_target *target)
{
	struct sb_flow flow = item->flow;

	flow.path = parcel->path + item->first;
	return parcel_target_flow(target, &flow);
}

static int deliver_gap(const struct parcel_item *item, const struct parcel_target *target)
{
	struct sb_gap gap = *item->gap;

	return parcel_target_gap(target, &gap, item->timeless);
}

static int deliver_event(const struct parcel_item *item, const struct parcel_target *target)
{
	struct sb_flow_event event = item->event;

	return parcel_target_event(target, &event);
}

static int deliver(const struct parcel *parcel, const struct parcel_item *item,
                   const struct parcel_target *target)
{
	switch (item->kind) {
	case held_gap:
		return deliver_gap(item, target);
	case held_event:
		return deliver_event(item, target);
	default:
		return deliver_flow(parcel, item, target);
	}
}

int parcel_deliver_item(const struct parcel *parcel, size_t index, const struct parcel_target *target)
{
	const int status = deliver(parcel, &parcel->item[index], target);

	return status < 0 ? status : 0;
}

int parcel_deliver(const struct parcel *parcel, const struct parcel_target *target)
{
	int status = 0;

	for (size_t i = 0; i < parcel->nitems && status == 0; ++i)
		status = parcel_deliver_item(parcel, i, target);
	return status;
}

uint64_t parcel_item_tsc(const struct parcel *parcel, size_t index)
{
	const struct parcel_item *item = &parcel->item[index];

	return item->kind == held_gap ? 0 : item->kind == held_event ? item->event.tsc : item->flow.tsc;
}
