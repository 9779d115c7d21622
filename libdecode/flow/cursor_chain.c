/* cursor_chain.c - see cursor_chain.h. */
#include "flow/cursor_next.h"

#include <stddef.h>

#include "packet/packet_form.h"

/* How many items a chain may have to be gone along. */
enum { max_items = 2048 };

/* Of so many tries, most must have been chains; else there are none for so many steps from path to path, and
 * each time that is so for four times as many. */
enum { chain_tries = 1 << 12, least_chainless = 1 << 14, most_chainless = 1 << 26 };

/* The items of all paths of @chain; NULL: there is no room. */
static const uint32_t *chain_items(struct pt_cursor *cursor, struct pt_run_chain *chain)
{
	uint32_t *items, *to;

	if (chain->ninsn > max_items)
		return NULL;
	items = to = pt_run_cache_take(cursor->cache, chain->ninsn * sizeof(*items));
	for (uint32_t i = 0; items && i < chain->npaths; ++i) {
		const struct pt_run_path *path = chain->path[i];

		memcpy(to, pt_run_first_part(path), path->ninsn * sizeof(*to));
		to += path->ninsn;
	}
	return chain->items = items;
}

/* Looks whether chains are worth it: whether it goes on with them, or without. The path that was just found
 * is not noted, so that nothing follows what was found before. */
static void judge_chains(struct pt_cursor *cursor)
{
	pt_cursor_end_list(cursor);
	if (cursor->chained >= chain_tries) {
		cursor->next_chainless = least_chainless;
	} else if (cursor->next_chainless) {
		cursor->chainless = cursor->next_chainless;
		if (cursor->next_chainless < most_chainless)
			cursor->next_chainless *= 4;
	} else {
		cursor->next_chainless = least_chainless;
	}
	cursor->chain_tries = chain_tries;
	cursor->chained = 0;
}

void pt_cursor_find_chain(struct pt_cursor *cursor, const uint8_t *pos)
{
	const struct pt_run_entry *entry = cursor->entry;
	const struct pt_flow *flow = cursor->flow;
	const struct pt_run_chain *chain = NULL;

	if (!cursor->chain_tries) {
		judge_chains(cursor);
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
		if (chain && !chain->items && !chain_items(cursor, (struct pt_run_chain *)(uintptr_t)chain))
			chain = NULL;
	}
	pt_chain_note(cursor->cache, &cursor->list, entry, chain, pos);
	cursor->chain = chain;
	cursor->chained += chain ? chain->npaths : 0;
}

/* The flow goes along cursor->entry. */
static void pass(struct pt_cursor *cursor)
{
	const struct pt_run_entry *entry = cursor->entry;
	struct pt_evd *evd = &cursor->flow->evd;

	pt_cursor_pass_path(cursor->flow, entry);
	evd->pos = pt_packet_skip_pads(evd->pos + entry->size, evd->config.end);
	evd->packet = evd->pos;
	cursor->ahead = 0;
}

void pt_cursor_unchain(struct pt_cursor *cursor)
{
	const struct pt_run_chain *chain = cursor->chain;
	uint32_t nitems = (uint32_t)(cursor->at - cursor->begin);

	if (!chain)
		return;
	/* It was noted as a whole: what is found next may begin before its end. */
	pt_cursor_end_list(cursor);
	cursor->chain = NULL;
	for (uint32_t i = 0;; ++i) {
		cursor->entry = &cursor->cache->entry[chain->path[i]->id];
		if (nitems < chain->path[i]->ninsn || i + 1u == chain->npaths)
			break;
		nitems -= chain->path[i]->ninsn;
		pass(cursor);
	}
	pt_cursor_hold(cursor, 0);
	cursor->at += nitems;
	cursor->until = cursor->at;
}
