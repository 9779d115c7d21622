/* Items: what pt_blk_next() and pt_insn_next() hand out, as it stands in the caller's struct, each kept once.
 *
 * Paths of the run cache share most of their blocks and instructions: a path lists where its items are, in
 * four bytes each. So handing out the next one is a copy, whatever block it begins; and what is copied
 * follows the code that ran, not the ways through it. An item is found by its bytes, so it depends on nothing
 * else.
 */
#ifndef PT_ITEM_POOL_H
#define PT_ITEM_POOL_H

#include <stddef.h>
#include <stdint.h>

enum { pt_item_word = 8 };

struct pt_item_pool {
	uint8_t *bytes; /* owned: all items, one behind the other. They move when there are more */
	uint32_t *slot; /* owned; open addressing: numbers of items, plus one; half of them free */
	size_t size;    /* of an item: a multiple of pt_item_word */
	uint32_t count, capacity, limit;
};

/* Up to @limit items of @size bytes. Takes no memory yet. */
void pt_item_pool_init(struct pt_item_pool *pool, size_t size, uint32_t limit);
void pt_item_pool_fini(struct pt_item_pool *pool);

/* Forgets all items. */
void pt_item_pool_clear(struct pt_item_pool *pool);

/* *at: where @item is, made when it is not there yet. Zero: there is no room. */
int pt_item_put(struct pt_item_pool *pool, const void *item, uint32_t *at);

static inline const void *pt_item_at(const struct pt_item_pool *pool, uint32_t at)
{
	return pool->bytes + (size_t)at * pt_item_word;
}

#endif
