/* symbol_ranges.h - code that was announced while it ran: names of address ranges, each from a moment on.
 *
 * What is announced takes the place of whatever was announced before for the same bytes, as code that is
 * written over other code does. A segment tree over the addresses, whose nodes are lists by time: an address
 * and a time find their range in O(log^2 n), however many overlap.
 */
#ifndef SB_SYMBOL_RANGES_H
#define SB_SYMBOL_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "binary/symbol_table.h"

struct range_entry {
	uint64_t from; /* first: what is sorted by */
	uint64_t to;
	uint64_t begin, end;
	struct lazy_name name; /* raw NULL: nothing is there */
	const char *dso;       /* NULL: what is mapped there; not owned */
};

struct symbol_ranges {
	struct range_entry *entry; /* owned; sorted by from when built */
	size_t nentries, capacity;
	int built;
	uint64_t *border; /* owned; sorted: where ranges begin or end. Leaf i is [border[i], border[i + 1]) */
	size_t nleaves;
	uint32_t *first; /* owned; of node n, items [first[n], first[n + 1]) */
	uint32_t *item;  /* owned; indices of entries, by time */
};

/* In which addresses and times an answer holds, ends exclusive. */
struct symbol_bounds {
	uint64_t low, high;
	uint64_t from, to;
};

/* Zero or -sbe_nomem. */
int symbol_ranges_add(struct symbol_ranges *ranges, const struct range_entry *entry);
/* *found: the range at @address and @time, or NULL; *bounds are narrowed to where that is the answer. Zero or
 * -sbe_nomem. */
int symbol_ranges_find(struct symbol_ranges *ranges, uint64_t address, uint64_t time,
                       struct range_entry **found, struct symbol_bounds *bounds);
void symbol_ranges_fini(struct symbol_ranges *ranges);

static inline void symbol_bounds_narrow(struct symbol_bounds *bounds, uint64_t low, uint64_t high)
{
	if (low > bounds->low)
		bounds->low = low;
	if (high < bounds->high)
		bounds->high = high;
}

static inline void symbol_bounds_narrow_time(struct symbol_bounds *bounds, uint64_t from, uint64_t to)
{
	if (from > bounds->from)
		bounds->from = from;
	if (to < bounds->to)
		bounds->to = to;
}

#endif
