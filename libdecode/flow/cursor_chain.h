/* The cursor along chains: paths that follow each other again and again are gone along as if they were one.
 *
 * The flow stands where the chain begins; what is handed out is what all its paths hold, one behind the
 * other. Who has to know where on the way that is makes it the one path again that is under way.
 */
#ifndef PT_CURSOR_CHAIN_H
#define PT_CURSOR_CHAIN_H

#include "flow/cursor.h"

/* What was found so far is not followed by what comes next. */
static inline void pt_cursor_end_list(struct pt_cursor *cursor)
{
	if (cursor->list.count > 1)
		pt_chain_close(cursor->cache, &cursor->list);
	cursor->list.count = cursor->list.npaths = 0;
}

/* The flow stands at @pos before cursor->entry, which was just found there: goes along a chain, if one begins
 * with it. */
void pt_cursor_find_chain(struct pt_cursor *cursor, const uint8_t *pos);

static inline void pt_cursor_try_chain(struct pt_cursor *cursor, const uint8_t *pos)
{
	if (cursor->chainless)
		cursor->chainless -= 1;
	else
		pt_cursor_find_chain(cursor, pos);
}

/* Before the chain there is only the path that is under way. */
void pt_cursor_unchain(struct pt_cursor *cursor);

#endif
