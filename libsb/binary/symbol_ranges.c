/* symbol_ranges.c - see symbol_ranges.h. */
#include "binary/symbol_ranges.h"

#include <stdlib.h>
#include <string.h>

#include <sb/error.h>

#include "bisect.h"
#include "system/arena.h"

/* Items are counted in 32 bits: each entry is in at most 2 * 32 nodes. */
enum { ENTRIES_MAX = 1 << 25 };

int symbol_ranges_add(struct symbol_ranges *ranges, const struct range_entry *entry)
{
	if (entry->begin >= entry->end || entry->from >= entry->to || ranges->nentries >= ENTRIES_MAX)
		return 0;
	if (array_reserve(&ranges->entry, &ranges->capacity, ranges->nentries, sizeof(*entry)) < 0)
		return -sbe_nomem;
	ranges->entry[ranges->nentries++] = *entry;
	ranges->built = 0;
	return 0;
}

static void forget_tree(struct symbol_ranges *ranges)
{
	free(ranges->border);
	free(ranges->first);
	free(ranges->item);
	ranges->border = NULL;
	ranges->first = ranges->item = NULL;
	ranges->nleaves = 0;
	ranges->built = 0;
}

void symbol_ranges_fini(struct symbol_ranges *ranges)
{
	forget_tree(ranges);
	free(ranges->entry);
	memset(ranges, 0, sizeof(*ranges));
}

/* ---- Building --------------------------------------------------------------------------------- */

static int compare_borders(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static int make_borders(struct symbol_ranges *ranges)
{
	size_t count = 0;

	ranges->border = reallocarray(NULL, 2 * ranges->nentries, sizeof(*ranges->border));
	if (!ranges->border)
		return -sbe_nomem;
	for (size_t i = 0; i < ranges->nentries; ++i) {
		ranges->border[2 * i] = ranges->entry[i].begin;
		ranges->border[2 * i + 1] = ranges->entry[i].end;
	}
	qsort(ranges->border, 2 * ranges->nentries, sizeof(*ranges->border), compare_borders);
	for (size_t i = 0; i < 2 * ranges->nentries; ++i)
		if (!count || ranges->border[i] != ranges->border[count - 1])
			ranges->border[count++] = ranges->border[i];
	ranges->nleaves = count - 1;
	return 0;
}

/* How many borders are not above @address: its leaf and one. */
static size_t borders_until(const struct symbol_ranges *ranges, uint64_t address)
{
	struct bisect at = {.high = ranges->nleaves + 1};

	while (bisect_more(&at))
		bisect_go(&at, ranges->border[at.middle] <= address);
	return at.low;
}

/* The nodes that make up @entry: each is counted in @count, and given @index at its place in items unless
 * that is NULL. Leaf i is node nleaves + i, the parent of node n is n / 2. */
static void visit_nodes(const struct symbol_ranges *ranges, const struct range_entry *entry, uint32_t *count,
                        uint32_t *item, uint32_t index)
{
	size_t left = borders_until(ranges, entry->begin) - 1 + ranges->nleaves;
	size_t right = borders_until(ranges, entry->end) - 1 + ranges->nleaves;

	for (; left < right; left /= 2, right /= 2) {
		if (left & 1) {
			if (item)
				item[count[left]] = index;
			count[left++] += 1;
		}
		if (right & 1) {
			--right;
			if (item)
				item[count[right]] = index;
			count[right] += 1;
		}
	}
}

static int make_nodes(struct symbol_ranges *ranges)
{
	const size_t nnodes = 2 * ranges->nleaves;
	uint32_t total = 0;

	ranges->first = calloc(nnodes + 1, sizeof(*ranges->first));
	if (!ranges->first)
		return -sbe_nomem;
	for (size_t i = 0; i < ranges->nentries; ++i)
		visit_nodes(ranges, &ranges->entry[i], ranges->first, NULL, 0);
	for (size_t n = 0; n <= nnodes; ++n) {
		const uint32_t count = ranges->first[n];

		ranges->first[n] = total;
		total += count;
	}
	ranges->item = reallocarray(NULL, total ? total : 1, sizeof(*ranges->item));
	if (!ranges->item)
		return -sbe_nomem;
	for (size_t i = 0; i < ranges->nentries; ++i)
		visit_nodes(ranges, &ranges->entry[i], ranges->first, ranges->item, (uint32_t)i);
	/* Each first has become its end. */
	memmove(ranges->first + 1, ranges->first, nnodes * sizeof(*ranges->first));
	ranges->first[0] = 0;
	return 0;
}

static int build(struct symbol_ranges *ranges)
{
	int status;

	forget_tree(ranges);
	status = array_sort(ranges->entry, ranges->nentries, sizeof(*ranges->entry));
	if (status == 0)
		status = make_borders(ranges);
	if (status == 0)
		status = make_nodes(ranges);
	if (status < 0)
		forget_tree(ranges);
	else
		ranges->built = 1;
	return status;
}

/* ---- Finding ---------------------------------------------------------------------------------- */

/* The last of a node's items that does not begin after @time goes to *best if it is later; when the next one
 * begins, to *next. */
static void look_at_node(const struct symbol_ranges *ranges, size_t node, uint64_t time, int64_t *best,
                         uint64_t *next)
{
	const size_t begin = ranges->first[node], end = ranges->first[node + 1];
	struct bisect at = {.low = begin, .high = end};

	while (bisect_more(&at))
		bisect_go(&at, ranges->entry[ranges->item[at.middle]].from <= time);
	if (at.low > begin && (int64_t)ranges->item[at.low - 1] > *best)
		*best = ranges->item[at.low - 1];
	if (at.low < end && ranges->entry[ranges->item[at.low]].from < *next)
		*next = ranges->entry[ranges->item[at.low]].from;
}

int symbol_ranges_find(struct symbol_ranges *ranges, uint64_t address, uint64_t time,
                       struct range_entry **found, struct symbol_bounds *bounds)
{
	struct range_entry *entry = NULL;
	uint64_t next = UINT64_MAX;
	int64_t best = -1;
	size_t leaf;
	int status = 0;

	*found = NULL;
	if (!ranges->nentries)
		return 0;
	if (!ranges->built)
		status = build(ranges);
	if (status < 0)
		return status;
	leaf = borders_until(ranges, address);
	symbol_bounds_narrow(bounds, leaf ? ranges->border[leaf - 1] : 0,
	                     leaf <= ranges->nleaves ? ranges->border[leaf] : UINT64_MAX);
	if (!leaf || leaf > ranges->nleaves)
		return 0;
	for (size_t node = leaf - 1 + ranges->nleaves; node; node /= 2)
		look_at_node(ranges, node, time, &best, &next);
	if (best >= 0)
		entry = &ranges->entry[best];
	if (!entry || entry->to <= time) {
		symbol_bounds_narrow_time(bounds, entry ? entry->to : 0, next);
		return 0;
	}
	symbol_bounds_narrow_time(bounds, entry->from, entry->to < next ? entry->to : next);
	if (entry->name.raw)
		*found = entry;
	return 0;
}
