/* recorder.c - see recorder.h. */
#include "flow/recorder.h"

#include "packet/bytes.h"

void pt_flow_give_unit_back(struct pt_flow *flow)
{
	const int tnt = flow->unit == pt_unit_tnt && flow->evd.tnt_count == flow->fresh_tnt;

	if ((!tnt && flow->unit != pt_unit_tip) || flow->evd.queue_count || flow->in_branch)
		return;
	flow->evd.pos = flow->evd.packet;
	flow->evd.tnt_count = 0;
	flow->evd.ahead = 0;
	flow->unit = pt_flow_no_unit;
}

int pt_flow_is_plain(const struct pt_flow *flow)
{
	const struct pt_evd *evd = &flow->evd;

	/* Resynchronised in the middle, the flow may know that tracing is enabled before the trace says so.
	 */
	return evd->enabled == flow->enabled && !flow->ticks && !flow->speculative && !flow->in_branch &&
	       !evd->no_tnt && !evd->refused && !evd->queue_count && !evd->fup_bound.count &&
	       !evd->tip_bound.count && !evd->fup_bound.branch && !evd->tip_bound.branch;
}

int64_t pt_flow_place(const struct pt_flow *flow, struct pt_run_cache *cache)
{
	struct pt_run_place place = {.mode = flow->mode};

	if (!pt_grounds_view(&cache->grounds, flow->image, &flow->asid))
		return -1;
	if (flow->enabled) {
		place.kind = pt_place_at;
		place.ip = flow->ip;
	} else if (flow->have_resume_ip) {
		place.kind = pt_place_off_known;
		place.ip = flow->resume_ip;
	} else {
		place.kind = pt_place_off;
	}
	return pt_run_cache_place(cache, &place);
}

void pt_flow_stand_at(struct pt_flow *flow, const struct pt_run_place *place)
{
	pt_flow_set_ip(flow, place->ip);
	flow->enabled = (place->kind == pt_place_at) & 1;
	if (!flow->enabled) {
		flow->have_resume_ip = (place->kind == pt_place_off_known) & 1;
		flow->resume_ip = place->ip;
	}
	flow->evd.enabled = flow->enabled;
}

/* How much of the last IP the first address in a window replaces. */
static uint8_t first_address(uint64_t window, uint32_t size)
{
	if (pt_window_is_tnt_64(window))
		return 0;
	for (uint32_t at = 0; at < size;) {
		const uint32_t packet = pt_window_packet[window >> (8 * at) & 0xff];

		if (packet & pt_window_address)
			return (uint8_t)((packet & pt_window_address) >> 4);
		at += packet & pt_window_size;
	}
	return 0;
}

int pt_recorder_begin(struct pt_recorder *recorder, struct pt_flow *flow, struct pt_run_cache *cache,
                      uint32_t place, uint64_t window, uint32_t size)
{
	const uint8_t address = first_address(window, size);

	if (!pt_run_cache_seen(cache, place, window))
		return 0;
	memset(&recorder->record, 0, sizeof(recorder->record));
	recorder->pads = 0;
	recorder->mapping = NULL;
	recorder->before = flow->returns;
	recorder->generation = pt_image_generation(flow->image);
	recorder->record.entry = (struct pt_run_entry){
	        .window = window, .place = place, .size = (uint8_t)size, .flags = address};
	pt_return_stack_mark(&flow->returns);
	return 1;
}

int pt_recorder_effect(const struct pt_recorder *recorder, const struct pt_return_stack *after,
                       struct pt_stack_effect *effect)
{
	const struct pt_return_stack *before = &recorder->before;
	const int32_t npop = -after->low, npush = after->moved - after->low;

	if (npop > pt_effect_max || npush > pt_effect_max || after->high > pt_effect_max_rise)
		return 0;
	/* Addresses that it does not have are not cleared: it is made for each step. */
	effect->npop = (uint8_t)npop;
	effect->npush = (uint8_t)npush;
	effect->rise = (uint8_t)after->high;
	for (int32_t i = 0; i < npop; ++i)
		effect->pop[i] = before->ip[(before->top - 1 - (uint32_t)i) % pt_return_stack_size];
	for (int32_t i = 0; i < npush; ++i)
		effect->push[i] = after->ip[(after->top - (uint32_t)(npush - i)) % pt_return_stack_size];
	return 1;
}

int pt_recorder_pass(struct pt_recorder *recorder, const struct pt_flow *flow, struct pt_run_cache *cache,
                     const struct pt_run_block *block, uint32_t count)
{
	const struct pt_mapping *mapping = recorder->mapping;

	if (pt_image_generation(flow->image) != recorder->generation)
		return 0;
	for (uint32_t i = 0; i < count; ++i) {
		if (mapping && block[i].ip >= mapping->begin && block[i].ip <= mapping->end - 1)
			continue;
		mapping = pt_ground_take(&recorder->record.ground, &cache->grounds, block[i].ip);
		if (!mapping)
			return 0;
	}
	recorder->mapping = mapping;
	return 1;
}

static int was_enabled(const struct pt_run_cache *cache, uint32_t place)
{
	return cache->place[place].kind == pt_place_at;
}

/* Whether a TIP with an address begins so. */
static int is_tip(uint8_t opcode)
{
	return (opcode & 0x1f) == 0x0d && (pt_window_packet[opcode] & pt_window_address);
}

const uint8_t *pt_recorder_deferred(const struct pt_recorder *recorder, const uint8_t *end)
{
	const uint8_t *pos = recorder->until, *const last = pos + pt_window_rest_max;

	if (!pt_window_is_tnt_64(recorder->record.entry.window))
		return NULL;
	while (pos < end && is_tip(*pos) && (pt_window_packet[*pos] & pt_window_size) <= end - pos &&
	       pos + (pt_window_packet[*pos] & pt_window_size) <= last)
		pos += pt_window_packet[*pos] & pt_window_size;
	return pos;
}

/* The flow has come to where the window ends, or, if that is a TNT-64, behind TIPs that were deferred. Zero:
 * it has not. */
static int take_rest(struct pt_recorder *recorder, const uint8_t *pos)
{
	struct pt_run_entry *entry = &recorder->record.entry;
	const uint8_t *const until = recorder->until;

	if (pos == until)
		return 1;
	if (!pt_window_is_tnt_64(entry->window) || pos < until || pos - until > pt_window_rest_max)
		return 0;
	for (const uint8_t *at = until; at < pos; at += pt_window_packet[*at] & pt_window_size)
		if (!is_tip(*at))
			return 0;
	entry->flags |= (uint8_t)((pt_window_packet[*until] & pt_window_address) >> 4);
	entry->size = (uint8_t)(entry->size + (pos - until));
	recorder->record.rest = until;
	return 1;
}

int pt_recorder_end(struct pt_recorder *recorder, struct pt_flow *flow, struct pt_run_cache *cache)
{
	struct pt_run_entry *entry = &recorder->record.entry;
	int64_t place;

	if (flow->unit != pt_flow_no_unit || !take_rest(recorder, flow->evd.pos) || flow->evd.tnt_count ||
	    !pt_flow_is_plain(flow) ||
	    !pt_recorder_effect(recorder, &flow->returns, &recorder->record.effect))
		return 0;
	place = pt_flow_place(flow, cache);
	if (place < 0)
		return 0;
	entry->place_after = (uint32_t)place;
	if (flow->crossing.callback && flow->enabled &&
	    (!was_enabled(cache, entry->place) || flow->ip >> 63 != cache->place[entry->place].ip >> 63))
		entry->flags |= pt_entry_crosses;
	entry->last = flow->evd.last.ip;
	entry->size = (uint8_t)(entry->size + recorder->pads);
	flow->evd.pos += recorder->pads;
	return 1;
}
