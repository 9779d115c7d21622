/* The classic interfaces on the run cache: what pt_blk_next() and pt_insn_next() hand out, one item per call,
 * along ways that the flow has been before.
 *
 * The cursor stands in a cached path while the flow still stands where the path begins: only at its end does
 * the flow move, to where the path ends. Nobody can tell, but for the few functions that ask for what is
 * different on the way (the offset, time, another image): these call pt_cursor_leave(), or pt_cursor_time().
 */
#ifndef PT_CURSOR_H
#define PT_CURSOR_H

#include "flow/recorder.h"

/* What an interface keeps of a path's items: parts of its struct pt_run_record; the cursor has the others. */
enum { pt_cursor_parts = 3, pt_cursor_states = 3, pt_cursor_effects = 4 };

/* How an interface makes items of the flow. */
struct pt_cursor_face {
	/* Walks to the end of the next item: fills *sink in where the interface has a say, for
	 * pt_flow_walk(). */
	int (*walk)(void *context, struct pt_flow_sink *sink);
	/* Items are collected: none yet; one more, which was just walked and is in @sink, zero: no room; and
	 * all. */
	void (*begin)(void *context);
	int (*append)(void *context, const struct pt_flow_sink *sink);
	void (*end)(void *context, struct pt_run_record *record);
};

/* Where the flow stands behind an item; behind the last one of a path only if an event comes there. */
struct pt_cursor_state {
	uint64_t ip;
	struct pt_last_ip last;
	uint8_t pos;    /* in the window */
	uint8_t left;   /* bits of the TNT packet before pos; zero: the packet at pos is next */
	uint8_t effect; /* on the return stack: its number */
};

enum { pt_cursor_max_items = 64, pt_cursor_max_effects = 16 };

/* What is collected for a path. */
struct pt_cursor_record {
	struct pt_recorder recorder;
	struct pt_cursor_state state[pt_cursor_max_items];
	struct pt_stack_effect effect[pt_cursor_max_effects];
	uint32_t nstates, neffects;
	struct pt_event event; /* behind the last item, if the window is its packet */
};

struct pt_cursor {
	const struct pt_run_entry *entry; /* the present path's; NULL: the cursor stands nowhere */
	struct pt_flow *flow;
	struct pt_run_cache *cache;      /* owned; NULL: not needed yet */
	struct pt_cursor_record *record; /* owned, with the cache */
	const struct pt_cursor_face *face;
	void *context;
	const uint8_t
	        *missed_pos; /* where a part of a TNT was not known: behind the packet, and the bits left */
	uint32_t missed_count;
	uint8_t bits;  /* of a window that is part of a TNT: see bits_window(); zero: it is made of packets */
	uint8_t off;   /* there is no memory, or it is not wanted */
	uint8_t ahead; /* time passed right before the path: it has not for who has not used trace since */
};

void pt_cursor_init(struct pt_cursor *cursor, struct pt_flow *flow, const struct pt_cursor_face *face,
                    void *context);
void pt_cursor_fini(struct pt_cursor *cursor);

/* The flow stands between items: the next path begins, if the cursor knows it. Returns whether it does. */
int pt_cursor_enter(struct pt_cursor *cursor);

/* All items were handed out: the flow moves to the path's end, and the next path begins, if the cursor knows
 * it; else the next unit is fetched. Returns whether it does. */
int pt_cursor_next(struct pt_cursor *cursor);

/* Leaves the path behind its first @count items, which are not all: the flow comes to stand there. */
void pt_cursor_leave(struct pt_cursor *cursor, uint32_t count);

/* The time behind the first @count items of the path, or where the flow stands. */
const struct pt_time *pt_cursor_time(const struct pt_cursor *cursor, uint32_t count);

/* Whether the image is the one that the path was entered with. */
static inline int pt_cursor_is_right(const struct pt_cursor *cursor)
{
	return pt_image_generation(cursor->flow->image) == cursor->flow->generation;
}

#endif
