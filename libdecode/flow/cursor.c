/* cursor.c - see cursor.h. */
#include "flow/cursor.h"

#include <stdlib.h>

#include "event/event_packets.h"
#include "flow/cursor_next.h"
#include "packet/bytes.h"
#include "packet/packet_form.h"

/* How many items there may be for each path, and how many at least: much code is part of many paths. */
enum { items_per_path = 32, least_items = pt_cursor_max_items };

void pt_cursor_init(struct pt_cursor *cursor, struct pt_flow *flow, const struct pt_cursor_face *face,
                    void *context)
{
	*cursor = (struct pt_cursor){.flow = flow, .face = face, .context = context};
	cursor->off = pt_run_cache_wanted() == 0;
	pt_item_pool_init(&cursor->pool, face->item_size,
	                  items_per_path * pt_run_cache_wanted() + least_items);
}

void pt_cursor_fini(struct pt_cursor *cursor)
{
	if (cursor->cache)
		pt_run_cache_fini(cursor->cache);
	free(cursor->cache);
	free(cursor->record);
	pt_item_pool_fini(&cursor->pool);
}

static int make_cache(struct pt_cursor *cursor)
{
	struct pt_run_cache *cache = malloc(sizeof(*cache));
	struct pt_cursor_record *record = malloc(sizeof(*record));

	if (!cache || !record || pt_run_cache_init(cache, pt_run_cache_wanted()) < 0) {
		free(cache);
		free(record);
		cursor->off = 1;
		return 0;
	}
	cursor->cache = cache;
	cursor->record = record;
	return 1;
}

/* A TNT that is not a packet's, or of more bits than a TNT-8's, is gone along in parts of up to six bits.
 * What they lead to is the same as for a TNT-8 of these bits: it is looked up as such. *bits: how many. */
static uint64_t bits_window(const struct pt_flow *flow, uint8_t *bits)
{
	const uint32_t left = flow->evd.tnt_count,
	               count = left < pt_cursor_most_bits ? left : pt_cursor_most_bits;
	const uint64_t outcomes = flow->evd.tnt >> (left - count) & ((1u << count) - 1);

	*bits = (uint8_t)count;
	return (outcomes | 1u << count) << 1;
}

/* ---- Recording ---------------------------------------------------------------------------------- */

int pt_cursor_put(struct pt_cursor *cursor, const void *item)
{
	struct pt_cursor_record *record = cursor->record;

	if (record->nitems == pt_cursor_max_items)
		return 0;
	if (!pt_item_put(&cursor->pool, item, &record->item[record->nitems])) {
		cursor->cache->full = 1;
		return 0;
	}
	record->nitems += 1;
	return 1;
}

static int same_effect(const struct pt_stack_effect *a, const struct pt_stack_effect *b)
{
	return a->npop == b->npop && a->npush == b->npush && a->rise == b->rise &&
	       !memcmp(a->push, b->push, a->npush * sizeof(a->push[0]));
}

/* The state behind the step that was just walked. Zero: it cannot be kept. */
static int note_state(struct pt_cursor_record *record, const struct pt_flow *flow)
{
	const struct pt_recorder *recorder = &record->recorder;
	const uint8_t *const begin = recorder->until - recorder->record.entry.size;
	struct pt_stack_effect effect;

	if (record->nstates == pt_cursor_max_steps || !pt_recorder_effect(recorder, &flow->returns, &effect))
		return 0;
	if (!record->neffects || !same_effect(&record->effect[record->neffects - 1], &effect)) {
		if (record->neffects == pt_cursor_max_effects)
			return 0;
		record->effect[record->neffects++] = effect;
	}
	/* A TIP that was fetched is not used yet: it can be read again. */
	record->state[record->nstates++] = (struct pt_cursor_state){
	        .ip = flow->ip,
	        .last = flow->evd.last,
	        .nitems = (uint16_t)record->nitems,
	        .pos = (uint8_t)((flow->unit == pt_unit_tip ? flow->evd.packet : flow->evd.pos) - begin),
	        .left = (uint8_t)flow->evd.tnt_count,
	        .effect = (uint8_t)(record->neffects - 1)};
	return 1;
}

/* The window is that of an event, which is due. Zero: none that can be kept. */
static int take_event(struct pt_cursor_record *record, struct pt_flow *flow)
{
	if (flow->evd.queue_count != 1 || pt_evd_event(&flow->evd)->type != ptev_disabled)
		return 0;
	record->event = *pt_evd_event(&flow->evd);
	record->recorder.record.event = &record->event;
	return pt_flow_take_event(flow, &(struct pt_event){0}) == 0;
}

/* Walks to the window's end. Zero: the way is none that can be kept. */
static int walk_window(struct pt_cursor *cursor)
{
	struct pt_cursor_record *record = cursor->record;
	struct pt_flow *flow = cursor->flow;
	const uint8_t *const deferred = pt_recorder_deferred(&record->recorder, flow->evd.config.end);

	for (;;) {
		struct pt_flow_sink sink = {.no_fetch = 1, .in_window = 1, .until = deferred};

		if (flow->unit == pt_flow_no_unit) {
			if (flow->evd.pos >= record->recorder.until)
				return 1;
			pt_flow_advance(flow);
		}
		if (flow->unit < 0 || flow->due)
			return 0;
		pt_flow_begin_sink(flow, &sink);
		if (cursor->face->walk(cursor->context, &sink) < 0 || !sink.count || !sink.section ||
		    !pt_recorder_pass(&record->recorder, flow, cursor->cache, sink.block, sink.count) ||
		    !cursor->face->append(cursor->context, &sink) || !note_state(record, flow))
			return 0;
		if (flow->due)
			return take_event(record, flow);
	}
}

static const struct pt_run_entry *keep(struct pt_cursor *cursor)
{
	struct pt_cursor_record *from = cursor->record;
	struct pt_run_record *record = &from->recorder.record;

	record->entry.path.nblocks = from->nstates;
	record->entry.path.ninsn = from->nitems;
	record->part[pt_cursor_items].bytes = from->item;
	record->part[pt_cursor_items].size = from->nitems * sizeof(from->item[0]);
	record->part[pt_cursor_states].bytes = from->state;
	record->part[pt_cursor_states].size = from->nstates * sizeof(from->state[0]);
	record->part[pt_cursor_effects].bytes = from->effect;
	record->part[pt_cursor_effects].size = from->neffects * sizeof(from->effect[0]);
	return pt_run_cache_add(cursor->cache, record, &from->recorder.before);
}

/* What the walk along a window changes of the flow. */
struct before_window {
	const uint8_t *pos, *packet;
	struct pt_last_ip last;
	uint64_t tnt;
	uint32_t tnt_count;
	int unit;
	enum pt_decode_state state;
	uint8_t have_resume_ip;
	uint64_t resume_ip;
	struct pt_run_place place;
};

static struct before_window save(const struct pt_cursor *cursor, uint32_t place)
{
	const struct pt_flow *flow = cursor->flow;

	return (struct before_window){.pos = flow->evd.pos,
	                              .packet = flow->evd.packet,
	                              .last = flow->evd.last,
	                              .tnt = flow->evd.tnt,
	                              .tnt_count = flow->evd.tnt_count,
	                              .unit = flow->unit,
	                              .state = flow->observers.state,
	                              .have_resume_ip = flow->have_resume_ip,
	                              .resume_ip = flow->resume_ip,
	                              .place = cursor->cache->place[place]};
}

static void restore(struct pt_cursor *cursor, const struct before_window *before)
{
	struct pt_flow *flow = cursor->flow;

	flow->evd.pos = before->pos;
	flow->evd.packet = before->packet;
	flow->evd.last = before->last;
	flow->evd.tnt = before->tnt;
	flow->evd.tnt_count = before->tnt_count;
	flow->evd.queue_count = 0;
	flow->returns = cursor->record->recorder.before;
	flow->due = 0;
	flow->unit = before->unit;
	flow->observers.state = before->state;
	flow->have_resume_ip = before->have_resume_ip & 1;
	flow->resume_ip = before->resume_ip;
	pt_flow_stand_at(flow, &before->place);
}

/* The flow stands before the window: walks it, so that the cache knows it, and goes back to @before. Returns
 * its path's entry; NULL: it is not to be kept. */
static const struct pt_run_entry *record_window(struct pt_cursor *cursor, uint32_t place, uint64_t window,
                                                const struct before_window *before)
{
	struct pt_recorder *recorder = &cursor->record->recorder;
	const uint32_t size = recorder->record.entry.size;
	int kept;

	cursor->record->nitems = cursor->record->nstates = cursor->record->neffects = 0;
	kept = walk_window(cursor) && pt_recorder_end(recorder, cursor->flow, cursor->cache) && keep(cursor);
	restore(cursor, before);
	if (!kept)
		pt_run_cache_refuse(cursor->cache, place, window);
	return kept ? pt_cursor_look_up(cursor, place, window, size, recorder->until) : NULL;
}

/* The same for a window of @size bytes, if it was met often enough. A unit that is ahead is given back then.
 */
static const struct pt_run_entry *record_packets(struct pt_cursor *cursor, uint32_t place, const uint8_t *pos,
                                                 uint32_t size)
{
	struct pt_recorder *recorder = &cursor->record->recorder;
	const uint64_t window = pt_window_bytes(pt_get64(pos), size);
	struct before_window before;

	if (cursor->cache->full ||
	    !pt_recorder_begin(recorder, cursor->flow, cursor->cache, place, window, size))
		return NULL;
	pt_flow_give_unit_back(cursor->flow);
	before = save(cursor, place);
	recorder->until = pos + size;
	return record_window(cursor, place, window, &before);
}

/* The same for the unit's next cursor->bits. */
static const struct pt_run_entry *record_bits(struct pt_cursor *cursor, uint32_t place, uint64_t window)
{
	struct pt_recorder *recorder = &cursor->record->recorder;
	struct pt_evd *evd = &cursor->flow->evd;
	struct before_window before;

	if (cursor->cache->full ||
	    !pt_recorder_begin(recorder, cursor->flow, cursor->cache, place, window, 1))
		return NULL;
	before = save(cursor, place);
	recorder->until = evd->pos;
	evd->tnt = window >> 1 & ((1u << cursor->bits) - 1);
	evd->tnt_count = cursor->bits;
	return record_window(cursor, place, window, &before);
}

/* ---- From path to path -------------------------------------------------------------------------- */

static int may_enter(const struct pt_cursor *cursor)
{
	const struct pt_flow *flow = cursor->flow;

	if (cursor->off || flow->crossing.callback || flow->status < 0 || !flow->enabled || flow->due ||
	    flow->tick_is_due)
		return 0;
	/* In a way without trace, which must not become a circle. */
	if (flow->free_steps || flow->circle_limit)
		return 0;
	return (flow->unit == pt_unit_tnt || flow->unit == pt_unit_tip || flow->unit == pt_flow_no_unit) &&
	       pt_flow_is_plain(flow);
}

/* The unit again that was given back, which time passed before. */
static void fetch_ahead(struct pt_flow *flow)
{
	if (flow->unit == pt_flow_no_unit)
		pt_flow_advance(flow);
	flow->evd.ahead = 1;
}

static int64_t present_place(struct pt_cursor *cursor)
{
	pt_flow_look_at_image(cursor->flow);
	if (cursor->cache->full) {
		pt_run_cache_clear(cursor->cache);
		pt_item_pool_clear(&cursor->pool);
		cursor->list.count = cursor->list.npaths = 0;
	}
	return pt_flow_place(cursor->flow, cursor->cache);
}

static const struct pt_run_entry *enter_bits(struct pt_cursor *cursor)
{
	const int64_t place = present_place(cursor);
	const uint64_t window = bits_window(cursor->flow, &cursor->bits);
	const struct pt_run_entry *entry =
	        place < 0 ? NULL
	                  : pt_cursor_look_up(cursor, (uint32_t)place, window, 1, cursor->flow->evd.pos);

	cursor->ahead = 0;
	if (!entry && place >= 0)
		entry = record_bits(cursor, (uint32_t)place, window);
	if (!entry) {
		cursor->missed_pos = cursor->flow->evd.pos;
		cursor->missed_count = cursor->flow->evd.tnt_count;
	}
	return entry;
}

static const struct pt_run_entry *enter_packets(struct pt_cursor *cursor)
{
	struct pt_flow *flow = cursor->flow;
	const uint8_t *const pos = flow->unit == pt_flow_no_unit ? flow->evd.pos : flow->evd.packet;
	const uint8_t ahead = flow->evd.ahead && flow->unit != pt_flow_no_unit;
	const uint32_t size = pt_cursor_window_at(flow, pos);
	const int64_t place = size ? present_place(cursor) : -1;
	const struct pt_run_entry *entry;

	if (place < 0)
		return NULL;
	entry = pt_cursor_look_up(cursor, (uint32_t)place, pt_window_bytes(pt_get64(pos), size), size,
	                          pos + size);
	if (!entry) {
		entry = record_packets(cursor, (uint32_t)place, pos, size);
		if (!entry) {
			if (ahead && flow->unit == pt_flow_no_unit)
				fetch_ahead(flow);
			return NULL;
		}
	}
	pt_flow_give_unit_back(flow);
	cursor->bits = 0;
	cursor->ahead = ahead;
	return entry;
}

/* The flow comes to stand before cursor->entry. */
static void begin_again(struct pt_cursor *cursor)
{
	struct pt_flow *flow = cursor->flow;

	flow->at_start = 0;
	flow->at_mov_cr3 = 0;
	flow->reached = flow->evd.sync;
}

int pt_cursor_enter(struct pt_cursor *cursor)
{
	struct pt_flow *flow = cursor->flow;

	if (!may_enter(cursor) || (!cursor->cache && !make_cache(cursor)))
		return 0;
	/* It was left in between. */
	pt_cursor_end_list(cursor);
	if (flow->unit != pt_unit_tnt || flow->evd.tnt_count == flow->fresh_tnt)
		cursor->entry = enter_packets(cursor);
	if (!cursor->entry && flow->unit == pt_unit_tnt && pt_cursor_may_enter_bits(cursor))
		cursor->entry = enter_bits(cursor);
	if (!cursor->entry)
		return 0;
	begin_again(cursor);
	return 1;
}

int pt_cursor_enter_known(struct pt_cursor *cursor)
{
	uint32_t size;
	int64_t place;

	if (!cursor->cache || !may_enter(cursor))
		return 0;
	pt_cursor_end_list(cursor);
	place = present_place(cursor);
	/* A guess needs a path that came before. */
	if (place < 0 || !cursor->cache->npaths)
		return 0;
	cursor->entry = pt_cursor_find_path(cursor, (uint32_t)place, cursor->flow->evd.pos, &size);
	if (!cursor->entry)
		return 0;
	cursor->bits = 0;
	cursor->ahead = 0;
	cursor->flow->evd.ahead = 0;
	begin_again(cursor);
	return 1;
}

/* Leaves the path; the flow stands at @place. */
static void stand_at(struct pt_cursor *cursor, uint32_t place)
{
	pt_cursor_count_owed(cursor);
	cursor->entry = NULL;
	pt_flow_stand_at(cursor->flow, &cursor->cache->place[place]);
}

__attribute__((noinline)) void pt_cursor_stand_at_event(struct pt_cursor *cursor)
{
	const struct pt_run_entry *const entry = cursor->entry;
	const struct pt_cursor_state *states = entry->extra->part[pt_cursor_states];
	const struct pt_run_place *after = &cursor->cache->place[entry->place_after];
	struct pt_flow *flow = cursor->flow;
	struct pt_event *event;

	pt_cursor_count_owed(cursor);
	pt_cursor_pass_path(flow, entry);
	cursor->entry = NULL;
	pt_flow_set_ip(flow, states[entry->path.nblocks - 1].ip);
	flow->have_resume_ip = (after->kind == pt_place_off_known) & 1;
	flow->resume_ip = after->ip;
	flow->evd.packet = flow->evd.pos;
	flow->evd.pos += entry->size;
	flow->evd.enabled = 0;
	event = pt_evd_push_copy(&flow->evd, &entry->extra->event);
	pt_evd_set_event_time(&flow->evd, event);
	flow->fresh_tnt = 0;
	flow->unit = pt_unit_event;
	flow->due = 1;
}

__attribute__((noinline)) void pt_cursor_pass_time(struct pt_cursor *cursor)
{
	struct pt_evd *evd = &cursor->flow->evd;

	pt_evd_count_owed(evd, 0);
	pt_evd_pass_timing(evd);
	cursor->ahead = evd->ahead;
	evd->ahead = 0;
}

/* The same is read again from @begin on: on foot, it comes with whatever is fetched next. */
static void take_time_back(struct pt_flow *flow, const uint8_t *begin)
{
	flow->evd.pos = begin;
	flow->evd.time = flow->evd.before;
}

__attribute__((noinline)) int pt_cursor_next_bits(struct pt_cursor *cursor, uint32_t place)
{
	struct pt_flow *flow = cursor->flow;
	const uint8_t used = cursor->bits;

	flow->evd.tnt_count -= used;
	if (!flow->evd.tnt_count) {
		cursor->bits = 0;
		flow->unit = pt_flow_no_unit;
		return -1;
	}
	cursor->entry = pt_cursor_look_up(cursor, place, bits_window(flow, &cursor->bits), 1, flow->evd.pos);
	if (!cursor->entry)
		stand_at(cursor, place);
	return cursor->entry != NULL;
}

__attribute__((noinline)) int pt_cursor_find_nothing(struct pt_cursor *cursor, uint32_t place, uint32_t size,
                                                     const uint8_t *begin)
{
	struct pt_flow *flow = cursor->flow;

	pt_cursor_end_list(cursor);
	stand_at(cursor, place);
	if (size) {
		cursor->entry = record_packets(cursor, place, flow->evd.packet, size);
		if (cursor->entry)
			return 1;
	}
	if (cursor->ahead)
		take_time_back(flow, begin);
	pt_flow_advance(flow);
	return 0;
}

/* The outcomes of the TNT at @pos with their stop bit. */
static uint64_t tnt_outcomes(const uint8_t *pos)
{
	return *pos == pt_packet_extended ? pt_packet_tnt_64_bits(pos) : *pos >> 1;
}

static uint32_t tnt_bits(const uint8_t *pos)
{
	return 63 - (uint32_t)__builtin_clzll(tnt_outcomes(pos));
}

/* Some bits of the TNT at @pos are left. */
static void stand_in_tnt(struct pt_flow *flow, const uint8_t *pos, uint32_t left)
{
	flow->evd.packet = pos;
	flow->evd.tnt_count = left;
	flow->evd.tnt = tnt_outcomes(pos) & ((1ull << left) - 1);
	flow->fresh_tnt = tnt_bits(pos);
	flow->unit = pt_unit_tnt;
}

/* The size of a TNT that begins so. */
static uint32_t tnt_size(uint8_t opcode)
{
	return opcode == pt_packet_extended ? pt_window_max : 1;
}

static const struct pt_cursor_state *state_behind(const struct pt_run_entry *entry, uint32_t count)
{
	return (const struct pt_cursor_state *)entry->extra->part[pt_cursor_states] + (count - 1);
}

uint32_t pt_cursor_steps(const struct pt_cursor *cursor)
{
	const struct pt_cursor_state *state = cursor->entry->extra->part[pt_cursor_states];
	const uint32_t nitems = (uint32_t)(cursor->at - cursor->begin);
	uint32_t steps = 0;

	while (steps < cursor->entry->path.nblocks && (steps ? state[steps - 1].nitems : 0) < nitems)
		++steps;
	return steps;
}

/* Whether nothing of the window was used by the first @count steps. */
static int nothing_is_used(const struct pt_cursor *cursor, uint32_t count)
{
	const struct pt_cursor_state *state = count ? state_behind(cursor->entry, count) : NULL;

	if (cursor->bits)
		return !state || state->left == cursor->bits;
	/* Nothing but a TNT is of such a size. */
	return !state || state->pos == 0 ||
	       (state->left && state->pos == tnt_size(cursor->flow->evd.pos[0]) &&
	        state->left == tnt_bits(cursor->flow->evd.pos));
}

int pt_cursor_is_in_last_step(const struct pt_cursor *cursor)
{
	const struct pt_run_chain *chain = cursor->chain;
	const struct pt_run_path *last = chain ? chain->path[chain->npaths - 1] : &cursor->entry->path;
	const struct pt_cursor_state *state = cursor->cache->entry[last->id].extra->part[pt_cursor_states];
	const uint32_t before = last->nblocks > 1 ? state[last->nblocks - 2].nitems : 0;

	return cursor->end - cursor->at < (int64_t)last->ninsn - before;
}

const struct pt_time *pt_cursor_time(const struct pt_cursor *cursor, uint32_t count)
{
	pt_cursor_count_owed(cursor);
	if (cursor->entry && cursor->bits && !nothing_is_used(cursor, count))
		return &cursor->flow->evd.time;
	if (cursor->entry && cursor->ahead && nothing_is_used(cursor, count))
		return &cursor->flow->evd.before;
	return pt_flow_time(cursor->flow);
}

/* Whether the first @size bytes of the window, with what it deferred, hold an address. */
static int has_address(const uint8_t *window, uint32_t size)
{
	if (window[0] == pt_packet_extended)
		return size > pt_window_max;
	for (uint32_t at = 0; at < size; at += pt_window_packet[window[at]] & pt_window_size)
		if (window[at] & 1) /* no TNT */
			return 1;
	return 0;
}

/* The last of the TIPs that begin at @begin and end at @end. */
static const uint8_t *last_tip(const uint8_t *begin, const uint8_t *end)
{
	const uint8_t *tip = begin;

	for (const uint8_t *pos = begin; pos < end; pos += pt_window_packet[*pos] & pt_window_size)
		tip = pos;
	return tip;
}

static void stand_in_window(struct pt_flow *flow, const struct pt_cursor_state *state)
{
	const uint8_t *const begin = flow->evd.pos;
	const uint32_t tnt = tnt_size(begin[0]);

	/* Before that, the last IP may be another one than when the path was recorded. */
	if (has_address(begin, state->pos))
		flow->evd.last = state->last;
	flow->evd.pos += state->pos;
	flow->evd.packet = flow->evd.pos;
	if (state->left)
		stand_in_tnt(flow, tnt > 1 ? begin : flow->evd.pos - 1, state->left);
	if (state->left && state->pos > pt_window_max) {
		flow->evd.packet = last_tip(begin + pt_window_max, flow->evd.pos);
		flow->fresh_tnt = 0; /* as take_deferred_tip() has it */
	}
}

/* The flow, which stands where the path begins, comes to stand behind the first @count steps. @bits: as in
 * struct pt_cursor. */
static void stand_behind(struct pt_flow *flow, const struct pt_run_entry *entry, uint32_t count, uint8_t bits)
{
	const struct pt_cursor_state *state = state_behind(entry, count);
	const struct pt_stack_effect *effects = entry->extra->part[pt_cursor_effects];

	pt_stack_effect_apply(&effects[state->effect], &flow->returns);
	pt_flow_set_ip(flow, state->ip);
	if (bits)
		flow->evd.tnt_count -= (uint32_t)bits - state->left;
	else if (!(entry->flags & pt_entry_event))
		stand_in_window(flow, state);
}

void pt_cursor_leave(struct pt_cursor *cursor, uint32_t count)
{
	const struct pt_run_entry *entry = cursor->entry;
	const int ahead = cursor->ahead && nothing_is_used(cursor, count);
	struct pt_flow *flow = cursor->flow;

	cursor->chain = NULL;
	stand_at(cursor, entry->place);
	if (count)
		stand_behind(flow, entry, count, cursor->bits);
	if (ahead)
		fetch_ahead(flow);
	else if (entry->flags &
	         pt_entry_event) /* its packet is read before the flow moves towards its place */
		pt_flow_advance(flow);
}
