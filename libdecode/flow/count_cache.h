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

enum { pt_count_pushes = 2, pt_count_sections = 64 };

/* Half a cache line: the tables of a short replay take as long to be paged in as to be used. */
struct pt_count_way {
	uint64_t key;             /* pt_count_key(); zero: none */
	const struct pt_node *to; /* NULL: to where the last block returns */
	uint32_t end;             /* where the last block's last instruction starts, in the section */
	uint16_t ninsn;
	uint8_t nblocks;
	uint8_t effect;                 /* enum pt_count_effect */
	uint32_t push[pt_count_pushes]; /* the calls that have not returned: to where they will, in the
	                                   section */
};

/* What a way takes, and what it does to the return stack. */
enum pt_count_effect {
	pt_count_used = 7,           /* how many bits are used up */
	pt_count_pops = 1 << 3,      /* an address that was there before, last of all */
	pt_count_npush_shift = 4,    /* how many are pushed and stay: two bits */
	pt_count_rise_shift = 6,     /* how many are pushed at one time: two bits */
	pt_count_never = 3 << 6,     /* none can be so many: there is no such way */
	pt_count_on_stack = 0xff ^ 7 /* zero: it leaves the stack alone */
};
_Static_assert(pt_count_pushes < pt_count_never >> pt_count_rise_shift, "no rise stands for all ways");

struct pt_count_cache {
	struct pt_count_way *way; /* owned; NULL: the cache is off */
	uint32_t shift;           /* 64 less the bits of its size */
	uint32_t least_shift;     /* the same for the size up to which it may grow */
	uint32_t nlearnt;         /* since it has this size */
	uint32_t nsections;
	struct pt_section *section[pt_count_sections]; /* references: of all nodes in ways */
};

/* @limit: how many ways may be kept; the cache takes a power of two, and not too many. Zero: it is off.
 * Zero or -pte_nomem. */
int pt_count_cache_init(struct pt_count_cache *cache, uint32_t limit);
void pt_count_cache_fini(struct pt_count_cache *cache);

/* Bits that are left of a TNT, up to six: the next one is the highest, and a one stands behind the last. */
static const uint64_t pt_count_no_bits = 1ull << 63;

/* Looks for the way on its own, and keeps it. */
const struct pt_count_way *pt_count_cache_learn(struct pt_count_cache *cache, struct pt_section *section,
                                                const struct pt_node *from, uint64_t bits);

/* Addresses of nodes leave the bits free where @bits stand. */
static inline uint64_t pt_count_key(const struct pt_node *from, uint64_t bits)
{
	return (uint64_t)(uintptr_t)from ^ bits;
}

/* Where the way would stand. */
static inline struct pt_count_way *pt_count_cache_way(const struct pt_count_cache *cache, uint64_t key)
{
	return &cache->way[key * 0x9e3779b97f4a7c15u >> cache->shift];
}

#endif
