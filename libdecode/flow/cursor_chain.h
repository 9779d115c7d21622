/* The cursor along chains: paths that follow each other again and again are gone along as if they were one.
 *
 * The flow stands where the chain begins; what is handed out is what all its paths hold, one behind the
 * other. Who has to know where on the way that is makes it the one path again that is under way.
 */
#ifndef PT_CURSOR_CHAIN_H
#define PT_CURSOR_CHAIN_H

#include "flow/cursor.h"

/* The items of all paths of @chain; NULL: there is no room. */
const uint32_t *pt_cursor_chain_items(struct pt_cursor *cursor, struct pt_run_chain *chain);

/* Looks whether chains are worth it: whether it goes on with them, or without. */
void pt_cursor_judge_chains(struct pt_cursor *cursor);

/* What was found so far is not followed by what comes next. */
static inline void pt_cursor_end_list(struct pt_cursor *cursor)
{
	if (cursor->list.count > 1)
		pt_chain_close(cursor->cache, &cursor->list);
	cursor->list.count = cursor->list.npaths = 0;
}

/* The flow stands at @pos before cursor->entry, which was just found there: goes along a chain, if one begins
 * with it. */
static inline void pt_cursor_try_chain(struct pt_cursor *cursor, const uint8_t *pos)
{
	const struct pt_run_entry *entry = cursor->entry;
	const struct pt_flow *flow = cursor->flow;
	const struct pt_run_chain *chain = NULL;

	if (cursor->chainless || !cursor->chain_tries) {
		pt_cursor_judge_chains(cursor);
		return;
	}
	cursor->chain_tries -= 1;
	if (flow->observers.count || (entry->flags & pt_entry_event)) {
		pt_cursor_end_list(cursor);
		return;
	}
	if (entry->chain) {
		chain = pt_chain_find(cursor->cache, entry, pos, (size_t)(flow->evd.config.end - pos),
		                      flow->evd.last.ip, &flow->returns);
		if (chain && !chain->items &&
		    !pt_cursor_chain_items(cursor, (struct pt_run_chain *)(uintptr_t)chain))
			chain = NULL;
	}
	pt_chain_note(cursor->cache, &cursor->list, entry, chain, pos);
	cursor->chain = chain;
	cursor->chained += chain ? chain->npaths : 0;
}

/* Before the chain there is only the path that is under way. */
void pt_cursor_unchain(struct pt_cursor *cursor);

#endif
