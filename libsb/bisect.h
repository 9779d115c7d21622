/* bisect.h - searching what is sorted: the first index that is not before what is looked for.
 *
 *	struct bisect at = {.high = count};
 *
 *	while (bisect_more(&at))
 *		bisect_go(&at, number[at.middle] < wanted);
 *	return at.low;
 */
#ifndef SB_BISECT_H
#define SB_BISECT_H

#include <stddef.h>

struct bisect {
	size_t low, high; /* what is left to be searched; in the end, both are the index */
	size_t middle;    /* to be looked at */
};

/* Whether there is something to be looked at. */
static inline int bisect_more(struct bisect *at)
{
	at->middle = at->low + (at->high - at->low) / 2;
	return at->low < at->high;
}

/* What is in the middle is before what is looked for, or it is not. */
static inline void bisect_go(struct bisect *at, int is_before)
{
	if (is_before)
		at->low = at->middle + 1;
	else
		at->high = at->middle;
}

#endif
