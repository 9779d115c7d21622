/* From one cached path to the next, which is where the classic interfaces spend most of their time: all of it
 * is inlined in them. What is rare is left to functions of cursor.c.
 */
#ifndef PT_CURSOR_NEXT_H
#define PT_CURSOR_NEXT_H

#include "event/event_fetch.h"
#include "flow/cursor_chain.h"

/* The path ends in an event, which is due now. */
void pt_cursor_stand_at_event(struct pt_cursor *cursor);

/* What is about time, and no lone CYC, stands before the next window. */
void pt_cursor_pass_time(struct pt_cursor *cursor);

/* A part of a TNT was gone along, to @place. Returns whether the next part of it begins; negative: there is
 * none. */
int pt_cursor_next_bits(struct pt_cursor *cursor, uint32_t place);

/* No path is known from @place, which the flow came to behind the one before, at evd.packet; time stood there
 * from @begin on. @size: of the window there. Returns whether a path is known now. */
int pt_cursor_find_nothing(struct pt_cursor *cursor, uint32_t place, uint32_t size, const uint8_t *begin);

/* The size of the window that begins with @word; zero: there is none. */
static inline uint32_t pt_cursor_window_of(const struct pt_flow *flow, uint64_t word)
{
	enum { tip_pgd_opcode = 0x01 };

	/* A TIP.PGD leads to the event, which the flow then has to apply; observers see the difference. */
	return pt_window_of(word, (word & 0x1f) == tip_pgd_opcode && !flow->observers.count);
}

static inline uint32_t pt_cursor_window_at(const struct pt_flow *flow, const uint8_t *pos)
{
	return flow->evd.config.end - pos < pt_window_max ? 0 : pt_cursor_window_of(flow, pt_get64(pos));
}

/* @window: of @size bytes, none of them PADs; @behind: where it ends. */
static inline __attribute__((always_inline)) const struct pt_run_entry *pt_cursor_look_up(
        const struct pt_cursor *cursor, uint32_t place, uint64_t window, uint32_t size, const uint8_t *behind)
{
	const struct pt_flow *flow = cursor->flow;

	return pt_run_cache_look_up(cursor->cache, place, window, size, flow->evd.last.ip, &flow->returns,
	                            behind, flow->evd.config.end);
}

/* Does what the path does before which the flow stands, but for moving in trace. */
static inline void pt_cursor_pass_path(struct pt_flow *flow, const struct pt_run_entry *entry)
{
	if (entry->flags & pt_entry_effect)
		pt_stack_effect_apply(&entry->extra->effect, &flow->returns);
	if (entry->flags & pt_entry_address)
		flow->evd.last = (struct pt_last_ip){.ip = entry->last, .valid = 1};
}

static inline void pt_cursor_pass_chain(struct pt_flow *flow, const struct pt_run_chain *chain)
{
	if (chain->effect)
		pt_stack_effect_apply(chain->effect, &flow->returns);
	if (chain->flags & pt_entry_address)
		flow->evd.last = (struct pt_last_ip){.ip = chain->last, .valid = 1};
}

/* Unless somebody listens, time is read before the next window. */
static inline void pt_cursor_read_time(struct pt_cursor *cursor)
{
	if (cursor->flow->observers.count)
		return;
	pt_cursor_end_list(cursor);
	cursor->flow->evd.ahead = 0;
	if (pt_evd_owe_cyc(&cursor->flow->evd))
		cursor->ahead = 1;
	else
		pt_cursor_pass_time(cursor);
}

/* Three guesses of four must be right, or none is made for a while. */
enum { pt_trust_first = 64, pt_trust_most = 256, pt_trust_lost = 3, pt_trust_pause = 1 << 12 };

static inline int pt_cursor_may_guess(struct pt_cursor *cursor)
{
	if (__builtin_expect(cursor->trust > 0, 1))
		return 1;
	if (++cursor->trust > 0)
		cursor->trust = pt_trust_first;
	return 0;
}

/* What came last behind the same path, if it leads on from @place at @pos, where @word is; NULL: something
 * else. */
static inline __attribute__((always_inline)) const struct pt_run_entry *pt_cursor_guess(
        struct pt_cursor *cursor, uint32_t place, const uint8_t *pos, uint64_t word)
{
	const struct pt_run_entry *entry = pt_run_cache_guess(cursor->cache);
	const struct pt_flow *flow = cursor->flow;

	if (entry->place != place || (entry->flags & pt_entry_event) ||
	    !pt_run_cache_leads(cursor->cache, entry, place, word, pos, flow->evd.last.ip, &flow->returns,
	                        flow->evd.config.end))
		return NULL;
	cursor->trust += cursor->trust < pt_trust_most;
	pt_run_cache_note(cursor->cache, entry, 1);
	return entry;
}

/* @entry was not guessed. */
static inline void pt_cursor_note_found(struct pt_cursor *cursor, const struct pt_run_entry *entry)
{
	if (cursor->trust <= 0)
		return;
	cursor->trust -= pt_trust_lost;
	if (cursor->trust <= 0)
		cursor->trust = -pt_trust_pause;
	pt_run_cache_note(cursor->cache, entry, 0);
}

/* The path from @place along the window of @size bytes at @pos, where @word is. NULL: none is known. */
static inline __attribute__((always_inline)) const struct pt_run_entry *pt_cursor_find(
        struct pt_cursor *cursor, uint32_t place, const uint8_t *pos, uint64_t word, uint32_t size)
{
	const struct pt_run_entry *entry;

	/* An event is read before the flow comes to its place, and its time counts. */
	if (pt_window_packet[word & 0xff] & pt_window_event)
		cursor->ahead = 0;
	entry = pt_cursor_look_up(cursor, place, pt_window_bytes(word, size), size, pos + size);
	if (entry)
		pt_cursor_note_found(cursor, entry);
	return entry;
}

/* The path from @place at @pos. NULL: none is known, from there along a window of *size bytes; zero: there is
 * no window. */
static inline __attribute__((always_inline)) const struct pt_run_entry *pt_cursor_find_path(
        struct pt_cursor *cursor, uint32_t place, const uint8_t *pos, uint32_t *size)
{
	const struct pt_flow *flow = cursor->flow;
	const uint64_t word = flow->evd.config.end - pos < pt_window_max ? 0 : pt_get64(pos);
	const struct pt_run_entry *entry =
	        word && pt_cursor_may_guess(cursor) ? pt_cursor_guess(cursor, place, pos, word) : NULL;

	*size = 0;
	if (entry)
		return entry;
	*size = pt_cursor_window_of(flow, word);
	return *size ? pt_cursor_find(cursor, place, pos, word, *size) : NULL;
}

/* The same as the path before which the flow comes to stand; zero: none is known. */
static inline __attribute__((always_inline)) int pt_cursor_stand_before(struct pt_cursor *cursor,
                                                                        uint32_t place, const uint8_t *begin)
{
	const uint8_t *const pos = cursor->flow->evd.packet;
	uint32_t size;
	const struct pt_run_entry *entry = pt_cursor_find_path(cursor, place, pos, &size);

	cursor->entry = entry;
	if (!entry)
		return pt_cursor_find_nothing(cursor, place, size, begin);
	pt_cursor_try_chain(cursor, pos);
	return 1;
}

/* The flow moves to the path's end, and stands before the next one, if the cursor knows it; else the next
 * unit is fetched. Returns whether it does. Items that are left stay. */
static inline __attribute__((always_inline)) int pt_cursor_next(struct pt_cursor *cursor)
{
	const struct pt_run_entry *const entry = cursor->entry;
	const struct pt_run_chain *const chain = cursor->chain;
	struct pt_flow *flow = cursor->flow;
	const uint8_t *pos = flow->evd.pos;
	uint32_t place = entry->place_after;

	cursor->ahead = 0;
	if (chain) {
		pt_cursor_pass_chain(flow, chain);
		cursor->chain = NULL;
		place = chain->place_after;
		pos += chain->size;
	} else if (entry->flags & pt_entry_event) {
		pt_cursor_stand_at_event(cursor);
		return 0;
	} else {
		pt_cursor_pass_path(flow, entry);
		pos += cursor->bits ? 0 : entry->size;
	}
	if (cursor->bits) {
		const int begun = pt_cursor_next_bits(cursor, place);

		if (begun >= 0)
			return begun;
	}
	pos = pt_packet_skip_pads(pos, flow->evd.config.end);
	flow->evd.pos = pos;
	if (pos < flow->evd.config.end && pt_may_be_timing(*pos))
		pt_cursor_read_time(cursor);
	flow->evd.packet = flow->evd.pos;
	return pt_cursor_stand_before(cursor, place, pos);
}

#endif
