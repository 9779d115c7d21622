/* Chains: windows that follow each other again and again, looked up at once.
 *
 * A chain begins at a path of the run cache, its anchor, and is a list of paths one behind the other, the
 * anchor first, with all bytes of trace that they take: windows, and PADs between them. Whoever stands at the
 * anchor, and finds the same bytes, goes along all its paths. What is handed out is what the single look-ups
 * would have given; so nothing depends on which chains there are.
 *
 * What must hold where a chain begins is what must hold for its paths, one after the other, put together:
 * code, last IP and return stack.
 */
#ifndef PT_RUN_CHAIN_H
#define PT_RUN_CHAIN_H

#include "flow/run_cache.h"

enum { pt_chain_max_size = 192, pt_chain_max_parts = 32, pt_chain_max_events = 8, pt_chain_max_grounds = 32 };

/* Behind the first @paths paths, this event comes; its time is not set. */
struct pt_chain_event {
	const struct pt_event *event;
	uint32_t paths;
};

struct pt_run_chain {
	const struct pt_run_path *const *path; /* those that have blocks */
	const struct pt_chain_event *event;
	const uint8_t *byte;
	const struct pt_stack_effect *effect; /* NULL: none */
	uint64_t ninsn;
	/* The last IP behind the first address in it, of which the bits in @mask were the same before. */
	uint64_t first_last, mask;
	uint64_t last; /* behind the last address, if there is one */
	uint32_t nblocks, place_after;
	uint16_t ground[pt_chain_max_grounds];
	uint16_t next;  /* another one with the same anchor, or zero */
	uint64_t stood; /* pt_run_grounds.turn when all of ground[] stood last; zero: not yet */
	uint8_t size;   /* in bytes */
	uint8_t npaths, nevents, ngrounds;
	uint8_t flags;         /* enum pt_run_entry_flag of all its paths */
	const uint32_t *items; /* of cursor_chain.h: those of all its paths; NULL: not put together yet */
};

/* Paths and chains that were found one behind the other. */
struct pt_chain_list {
	struct {
		const struct pt_run_entry *entry;
		const struct pt_run_chain *chain; /* NULL: the path alone */
		const uint8_t *end;
	} item[pt_chain_max_parts];
	const uint8_t *begin;
	uint32_t count, npaths;
};

/* What a chain is made of. */
struct pt_chain_draft {
	struct pt_run_chain chain;
	struct pt_stack_effect effect;
	const struct pt_run_path *path[pt_chain_max_parts];
	struct pt_chain_event event[pt_chain_max_events];
};

/* Puts together as much of the list as one chain can be made of. Zero: none can. */
int pt_chain_draw(struct pt_chain_draft *draft, const struct pt_chain_list *list);

static inline int pt_effect_is_none(const struct pt_stack_effect *effect)
{
	return !(effect->npop | effect->npush | effect->rise);
}

/* What was found one behind the other is told by how much it is, and by how it ends; the lowest bit is left
 * free. */
uint16_t pt_chain_tag(const struct pt_chain_list *list);

/* The list ends, and is empty then. What was met before becomes a chain, if it has more than one item. */
void pt_chain_close(struct pt_run_cache *cache, struct pt_chain_list *list);

/* Adds what begins at @pos and ends at @end: there is room for it. */
static inline void pt_chain_append(struct pt_chain_list *list, const struct pt_run_entry *entry,
                                   const struct pt_run_chain *chain, const uint8_t *pos, const uint8_t *end)
{
	const uint32_t count = list->count;

	if (!count)
		list->begin = pos;
	list->item[count].entry = entry;
	list->item[count].chain = chain;
	list->item[count].end = end;
	list->count = count + 1;
}

/* @entry, or @chain that begins with it, was found at @pos. */
static inline void pt_chain_note(struct pt_run_cache *cache, struct pt_chain_list *list,
                                 const struct pt_run_entry *entry, const struct pt_run_chain *chain,
                                 const uint8_t *pos)
{
	const uint32_t npaths = chain ? chain->npaths : 1, size = chain ? chain->size : entry->size;

	if (list->npaths + npaths > pt_chain_max_parts ||
	    (list->count && pos + size - list->begin > pt_chain_max_size))
		pt_chain_close(cache, list);
	pt_chain_append(list, entry, chain, pos, pos + size);
	list->npaths += npaths;
}

/* @size is not zero. Most have at least eight bytes: the last eight overlap those before. */
static inline int pt_chain_same_bytes(const uint8_t *a, const uint8_t *b, uint32_t size)
{
	if (__builtin_expect(size < 8, 0))
		return !memcmp(a, b, size);
	for (uint32_t i = 0; i < size - 8; i += 8)
		if (pt_get64(a + i) != pt_get64(b + i))
			return 0;
	return pt_get64(a + size - 8) == pt_get64(b + size - 8);
}

static inline int pt_chain_stands(const struct pt_run_cache *cache, struct pt_run_chain *chain)
{
	if (__builtin_expect(chain->stood == cache->grounds.turn, 1))
		return 1;
	for (uint32_t i = 0; i < chain->ngrounds; ++i)
		if (!pt_ground_stands_here(&cache->grounds, chain->ground[i]))
			return 0;
	chain->stood = cache->grounds.turn;
	return 1;
}

/* The chain with the anchor @entry that goes on from @pos, where @room bytes are left; NULL: there is none.
 */
static inline const struct pt_run_chain *pt_chain_find(const struct pt_run_cache *cache,
                                                       const struct pt_run_entry *entry, const uint8_t *pos,
                                                       size_t room, uint64_t last,
                                                       const struct pt_return_stack *stack)
{
	for (uint32_t number = entry->chain; number;) {
		struct pt_run_chain *chain = cache->chains[number];

		if (chain->size <= room && pt_chain_same_bytes(chain->byte, pos, chain->size) &&
		    !((chain->first_last ^ last) & chain->mask) &&
		    (!chain->effect || pt_stack_effect_fits(chain->effect, stack)) &&
		    pt_chain_stands(cache, chain))
			return chain;
		number = chain->next;
	}
	return NULL;
}

#endif
