/* The count cache: what one short TNT comes to from a block on, for who only counts blocks.
 *
 * From (node, the bits that are left of a TNT-8) to (blocks, instructions, calls that wait to return, the
 * node behind), in one look-up. A way goes along links of one section, which stay as they are as long as the
 * section does: so it is right in every image and at every address. It ends where its bits are used up, or
 * behind a return to a caller from before it: where that leads, only the return stack knows; the bits that
 * are left then are looked up from there. Without bits, it leads to the block that needs some trace. What was
 * found last in a place of the table replaces what stood there.
 *
 * Private to one flow. Nodes are known by their addresses: the sections that they belong to are kept.
 */
#ifndef PT_COUNT_CACHE_H
#define PT_COUNT_CACHE_H

#include "code/block_graph.h"

enum { pt_count_pushes = 3, pt_count_sections = 64 };

/* A cache line. */
struct pt_count_way {
	const struct pt_node *from; /* NULL: none */
	const struct pt_node *to;   /* NULL: to where the last block returns */
	const struct pt_node *last; /* that was passed */
	uint32_t ninsn;
	uint16_t nblocks;
	uint8_t bits; /* that it was looked up by: pt_count_bits() */
	uint8_t used; /* how many of them */
	/* How many addresses the return stack must hold at least, and how many more it may, so that it does
	 * not forget any. @least can be more than there ever are: the way cannot be gone at once. */
	uint8_t least, more;
	uint8_t npush;
	const struct pt_node *push[pt_count_pushes]; /* the calls that have not returned */
};

struct pt_count_cache {
	struct pt_count_way *way; /* owned; NULL: the cache is off */
	uint32_t shift;           /* 64 less the bits of its size */
	uint32_t nsections;
	struct pt_section *section[pt_count_sections]; /* references: of all nodes in ways */
};

/* @limit: how many ways may be kept; the cache takes a power of two, and not too many. Zero: it is off.
 * Zero or -pte_nomem. */
int pt_count_cache_init(struct pt_count_cache *cache, uint32_t limit);
void pt_count_cache_fini(struct pt_count_cache *cache);

/* Looks for the way on its own, and keeps it in @way, which is where it belongs. @bits: as in
 * pt_count_bits(). */
void pt_count_cache_learn(struct pt_count_cache *cache, struct pt_count_way *way, struct pt_section *section,
                          const struct pt_node *from, uint64_t bits);

/* Bits that are left of a TNT, up to six: the next one is the highest, and a one stands behind the last. */
static const uint64_t pt_count_no_bits = 1ull << 63;

static inline uint8_t pt_count_bits(uint64_t bits)
{
	return (uint8_t)(bits >> 57);
}

/* Where the way would stand. */
static inline struct pt_count_way *pt_count_cache_way(const struct pt_count_cache *cache,
                                                      const struct pt_node *from, uint64_t bits)
{
	const uint64_t key = (uint64_t)(uintptr_t)from ^ bits;

	return &cache->way[key * 0x9e3779b97f4a7c15u >> cache->shift];
}

/* Whether that is what stands there. */
static inline int pt_count_way_is(const struct pt_count_way *way, const struct pt_node *from, uint64_t bits)
{
	return way->from == from && way->bits == pt_count_bits(bits);
}

/* Whether it can be gone at once with a return stack of that depth. */
static inline int pt_count_way_fits(const struct pt_count_way *way, uint32_t depth)
{
	return depth - way->least <= way->more;
}

#endif
