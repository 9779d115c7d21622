/* The classic interfaces on the run cache: what pt_blk_next() and pt_insn_next() hand out, one item per call,
 * along ways that the flow has been before.
 *
 * The cursor stands in a cached path while the flow still stands where the path begins: only at its end does
 * the flow move, to where the path ends. Nobody can tell, but for the few functions that ask for what is
 * different on the way (the offset, time, another image): these call pt_cursor_leave(), or pt_cursor_time().
 */
#ifndef PT_CURSOR_H
#define PT_CURSOR_H

#include "event/event_fetch.h"
#include "flow/item_pool.h"
#include "flow/recorder.h"
#include "flow/run_chain.h"

/* What is kept of a path: parts of its struct pt_run_record. Its path.nblocks counts steps, path.ninsn items.
 */
enum { pt_cursor_items, pt_cursor_states, pt_cursor_effects };

/* How an interface makes items of the flow, a few at each step. */
struct pt_cursor_face {
	size_t item_size;
	/* Takes a step: fills *sink in where the interface has a say, for pt_flow_walk(). */
	int (*walk)(void *context, struct pt_flow_sink *sink);
	/* Hands the items of the step that was just taken, and is in @sink, to pt_cursor_put(). Zero: they
	 * cannot be kept. */
	int (*append)(void *context, const struct pt_flow_sink *sink);
};

/* Where the flow stands behind a step; behind the last one of a path only if an event comes there. */
struct pt_cursor_state {
	uint64_t ip;
	struct pt_last_ip last;
	uint16_t nitems; /* of the path up to here */
	uint8_t pos;     /* in the window, or behind it: among the TIPs that its TNT deferred */
	uint8_t left;    /* bits of the TNT packet before pos; zero: the packet at pos is next */
	uint8_t effect;  /* on the return stack: its number */
};

enum { pt_cursor_max_steps = 128, pt_cursor_max_items = 2048, pt_cursor_max_effects = 16 };

/* What is collected for a path. */
struct pt_cursor_record {
	struct pt_recorder recorder;
	uint32_t item[pt_cursor_max_items];
	struct pt_cursor_state state[pt_cursor_max_steps];
	struct pt_stack_effect effect[pt_cursor_max_effects];
	uint32_t nitems, nstates, neffects;
	struct pt_event event; /* behind the last item, if the window is its packet */
};

struct pt_cursor {
	/* Items: the next one; up to where they can be handed out with no further thought; and where those
	 * end that the cursor holds. */
	const uint32_t *at, *until, *end;
	const uint32_t *begin; /* of them */
	struct pt_item_pool pool;

	const struct pt_run_entry
	        *entry; /* the path before which the flow stands; NULL: it stands anywhere */
	const struct pt_run_chain *chain; /* the chain that is gone along, and begins with it; or NULL */
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

	int32_t trust;             /* in guesses; zero and less: none is made for so many paths */
	struct pt_chain_list list; /* what was found last, one behind the other */
	/* How often chains are still tried before they are judged, and how many paths they were since; for
	 * how many paths they are not tried, now and the next time. */
	uint32_t chain_tries, chained, chainless, next_chainless;
};

void pt_cursor_init(struct pt_cursor *cursor, struct pt_flow *flow, const struct pt_cursor_face *face,
                    void *context);
void pt_cursor_fini(struct pt_cursor *cursor);

/* Nothing is owed behind that but where the cursor stands in a path: who asks for time must call it. */
static inline void pt_cursor_count_owed(const struct pt_cursor *cursor)
{
	pt_evd_count_owed(&cursor->flow->evd, cursor->ahead);
}

/* Forgets where it is. */
static inline void pt_cursor_reset(struct pt_cursor *cursor)
{
	pt_cursor_count_owed(cursor);
	cursor->entry = NULL;
	cursor->chain = NULL;
	cursor->at = cursor->until = cursor->end = NULL;
}

/* An item of the step that is being recorded. Zero: there is no room. */
int pt_cursor_put(struct pt_cursor *cursor, const void *item);

/* A TNT that was fetched is gone along in parts of so many bits. */
enum { pt_cursor_most_bits = 6 };

/* Whether such a part may begin where the flow stands. Not behind each of the bits that are gone along on
 * foot: most of the parts that begin there will not come again. */
static inline int pt_cursor_may_enter_bits(const struct pt_cursor *cursor)
{
	const struct pt_evd *evd = &cursor->flow->evd;

	return evd->tnt_count > pt_cursor_most_bits &&
	       (cursor->missed_pos != evd->pos ||
	        cursor->missed_count >= evd->tnt_count + pt_cursor_most_bits);
}

/* Whether the flow stands in the middle of a TNT, and pt_cursor_enter() would find nothing there. */
static inline int pt_cursor_is_on_foot(const struct pt_cursor *cursor)
{
	const struct pt_flow *flow = cursor->flow;

	return !cursor->entry && flow->unit == pt_unit_tnt && flow->evd.tnt_count != flow->fresh_tnt &&
	       !pt_cursor_may_enter_bits(cursor);
}

/* The flow stands between steps: it comes to stand before a path, if the cursor knows it. Returns whether it
 * does. */
int pt_cursor_enter(struct pt_cursor *cursor);

/* The same where there is no unit, and no PAD comes next; only if the path is known already. */
int pt_cursor_enter_known(struct pt_cursor *cursor);

/* Whether the event that is due is alone, turns tracing off or on, and nobody but the flow takes note. */
int pt_cursor_may_turn(const struct pt_cursor *cursor);

/* pt_flow_event() for that one: the cursor may know the path that comes then. */
int pt_cursor_turn(struct pt_cursor *cursor, struct pt_event *event);

/* Holds the items of the path, or chain, before which the flow stands; the last @tail of them need thought.
 */
static inline void pt_cursor_hold(struct pt_cursor *cursor, uint32_t tail)
{
	const struct pt_run_chain *chain = cursor->chain;

	_Static_assert(pt_cursor_items == 0, "items are the first part");
	cursor->at = chain ? chain->items : pt_run_first_part(&cursor->entry->path);
	cursor->begin = cursor->at;
	cursor->end = cursor->at + (chain ? (uint32_t)chain->ninsn : cursor->entry->path.ninsn);
	cursor->until = cursor->end - tail;
}

/* Where the items of the path's first @count steps end; they are held. */
static inline const uint32_t *pt_cursor_behind(const struct pt_cursor *cursor, uint32_t count)
{
	const struct pt_cursor_state *state = cursor->entry->extra->part[pt_cursor_states];

	return cursor->begin + (count ? state[count - 1].nitems : 0);
}

/* Whether an item was handed out of the last step of what the cursor holds. */
int pt_cursor_is_in_last_step(const struct pt_cursor *cursor);

/* The next item, which is one of those that the cursor holds. */
static inline const void *pt_cursor_take(struct pt_cursor *cursor)
{
	return pt_item_at(&cursor->pool, *cursor->at++);
}

/* How many steps the items that were handed out of the path that the cursor holds belong to, the last of them
 * perhaps in part; all, if it is behind the first path of a chain. */
uint32_t pt_cursor_steps(const struct pt_cursor *cursor);

/* Leaves the path behind its first @count steps, which are not all: the flow comes to stand there. */
void pt_cursor_leave(struct pt_cursor *cursor, uint32_t count);

/* The time behind the first @count steps of the path, or where the flow stands. */
const struct pt_time *pt_cursor_time(const struct pt_cursor *cursor, uint32_t count);

/* Whether the image is the one that the path was entered with. */
static inline int pt_cursor_is_right(const struct pt_cursor *cursor)
{
	return pt_flow_image_is_same(cursor->flow);
}

#endif
