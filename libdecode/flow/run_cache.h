/* The run cache: from a place and the next bytes of trace to the path that they lead along, and to the place
 * behind it, in one look-up.
 *
 * What is looked up is a window: up to eight bytes with one or two whole packets, TNT-8 or TIP, up to four if
 * there is a TIP among the first ones, and the PADs behind them; or a lone TIP.PGE, TIP.PGD or TNT-64. Which
 * packets belong to the window is told by the trace's bytes alone; but for the TIPs behind a TNT-64 that are
 * deferred, which come with it: these are compared when it was found. A path goes from the place where the
 * first packet comes into sight to the place where the last one is used up, so that whatever stands behind
 * the window may still hold at the first instruction there.
 *
 * Besides place and bytes, the outcome may depend on the last IP, as far as the first TIP does not replace
 * it, and on the return stack, as far as returns go to callers from before the path: both are compared. And
 * it depends on the code that the path went through: see run_ground.h. What is mapped elsewhere does not
 * matter, so that nothing must be thrown away when that changes.
 */
#ifndef PT_RUN_CACHE_H
#define PT_RUN_CACHE_H

#include <string.h>

#include "intel-pt-run.h"
#include "flow/return_stack.h"
#include "flow/run_ground.h"
#include "packet/bytes.h"
#include "packet/last_ip.h"

enum { pt_window_max = 8, pt_window_rest_max = 24, pt_effect_max = 8, pt_effect_max_rise = 32 };

/* Where execution stands, or would go on. */
enum pt_place_kind {
	pt_place_at,       /* tracing is enabled: at ip */
	pt_place_off,      /* tracing is disabled */
	pt_place_off_known /* the same, and execution was to go on at ip */
};

struct pt_run_place {
	uint64_t ip;
	uint32_t mode; /* enum pt_exec_mode: no path changes it */
	uint32_t kind; /* enum pt_place_kind */
};

/* What a path does to the return stack: @npop addresses go, which must be these, in this order; then @npush
 * come. In between, the stack is up to @rise addresses higher than before. */
struct pt_stack_effect {
	uint8_t npop, npush, rise;
	uint64_t pop[pt_effect_max], push[pt_effect_max];
};

enum { pt_run_parts = 3, pt_trail_size = 1 << 14 };

/* What most paths do without. */
struct pt_run_extra {
	const void *part[pt_run_parts];   /* see struct pt_run_record */
	struct pt_event event;            /* behind the path; its time is not set */
	uint8_t rest[pt_window_rest_max]; /* of the trace, behind the window's eight bytes */
	struct pt_stack_effect effect;
};

/* Memory that lives until the cache is emptied. */
struct pt_cache_chunk;
struct pt_run_chain;
struct pt_run_leaps;

/* A cache line. Those in use stand one after the other, and stay where they are. */
struct pt_run_entry {
	/* What is handed out; in place of blocks, there may be parts, which nblocks then counts: see
	 * pt_run_first_part(). */
	struct pt_run_path path;
	uint64_t window; /* the bytes of trace */
	/* With an address in the window: the last IP behind it. The bits that the address did not replace,
	 * those of pt_entry_last_mask(), were the same before. */
	uint64_t last;
	const struct pt_run_extra *extra; /* or NULL */
	uint32_t place, place_after;
	uint8_t flags; /* enum pt_run_entry_flag */
	uint8_t size;  /* of the window with its rest */
	uint16_t ground;
	/* See run_chain.h: the first chain that begins with it, or zero; and what followed it last. */
	uint16_t chain, tag;
};

/* The path's first part, which stands in place of blocks: whoever goes along it needs nothing of extra. */
static inline const void *pt_run_first_part(const struct pt_run_path *path)
{
	return path->block;
}

enum pt_run_entry_flag {
	pt_entry_address = 3 << 0,   /* of the first address: enum pt_window_flag's, shifted */
	pt_entry_by_return = 1 << 2, /* window is one of pt_window_by_return() */
	pt_entry_effect = 1 << 3,    /* it has an effect on the return stack */
	pt_entry_event = 1 << 4,     /* it ends in an event */
	/* Behind it, execution may be in another half of the address space than before. */
	pt_entry_crosses = 1 << 5,
	pt_entry_rest = 1 << 6 /* the window has more than eight bytes */
};

static inline uint64_t pt_entry_last_mask(uint32_t flags)
{
	static const uint64_t mask[] = {0, UINT64_MAX << 16, UINT64_MAX << 32, 0};

	return mask[flags & pt_entry_address];
}

struct pt_run_cache {
	struct pt_run_entry *entry; /* owned; by their paths' numbers */
	/* Owned; open addressing: a part of the hash, which is not zero, above an entry's number. Zero: free.
	 */
	uint32_t *slot;
	uint64_t mask;          /* the number of slots less one */
	uint32_t shift;         /* 64 less its bits */
	uint32_t npaths, limit; /* how many paths there are, and may be. Limit 0: off */

	struct pt_run_place *place; /* owned; by number */
	uint32_t *place_slot;       /* owned; open addressing: numbers, plus one */
	uint32_t nplaces, place_mask;
	uint32_t place_here; /* where somebody stood last: likely to be asked for next */

	struct pt_run_grounds grounds;

	/* The paths that were found last, in order, as a ring; and where in it each one stands last: what
	 * came behind a path then is likely to come again. */
	uint16_t *trail, *trail_at; /* owned; the latter by number of path */
	uint32_t trail_end, trail_here;

	struct pt_run_chain **chains; /* owned, but not what they point to; by number, from one on */
	uint32_t nchains, max_chains;
	struct pt_run_leaps *leaps; /* owned; made at first use */

	struct pt_cache_chunk *chunk; /* owned */
	size_t nbytes;                /* of all chunks */
	uint32_t *seen;               /* owned: tags of windows that were met, and whether twice */
	uint32_t seen_again;          /* how many were met for the second time or later */
	uint32_t seen_turn;           /* which tag of a set is replaced next */
	uint8_t full;                 /* to be emptied */
};

/* What a recorded path is made of. */
struct pt_run_record {
	struct pt_run_entry entry; /* but for path.block, extra, ground */
	struct pt_run_ground ground;
	struct pt_stack_effect effect;
	const struct pt_event *event; /* or NULL */
	const uint8_t *rest;          /* of the window, if it is longer than eight bytes */
	/* entry.path.nblocks blocks with entry.path.ninsn instructions; or NULL, and then whatever else is
	 * kept of the way; each part is aligned for any type. */
	const struct pt_run_block *block;
	struct {
		const void *bytes;
		size_t size;
	} part[pt_run_parts];
};

/* How many paths a cache should hold; the environment says so for tests and comparisons. */
uint32_t pt_run_cache_wanted(void);

/* @limit: how many paths may be kept. Zero or -pte_nomem. */
int pt_run_cache_init(struct pt_run_cache *cache, uint32_t limit);
void pt_run_cache_fini(struct pt_run_cache *cache);

/* Forgets everything. */
void pt_run_cache_clear(struct pt_run_cache *cache);

/* The place's number; made at first use. Negative: there is no room: the cache is full. */
int64_t pt_run_cache_place(struct pt_run_cache *cache, const struct pt_run_place *place);

/* Whether a path from @place along @window was asked for twice before: most are asked for once or twice, and
 * not worth keeping. This time counts. */
int pt_run_cache_seen(struct pt_run_cache *cache, uint32_t place, uint64_t window);

/* No path along it can be kept: that is not tried again soon. */
void pt_run_cache_refuse(struct pt_run_cache *cache, uint32_t place, uint64_t window);

/* Memory that stays until the cache is cleared; NULL: there is none, or the cache is full. */
void *pt_run_cache_take(struct pt_run_cache *cache, size_t size);

/* Keeps a path, and returns its entry. @before: the return stack where the path begins. NULL: there is no
 * room, or no memory. */
const struct pt_run_entry *pt_run_cache_add(struct pt_run_cache *cache, const struct pt_run_record *record,
                                            const struct pt_return_stack *before);

/* ---- Windows ---------------------------------------------------------------------------------- */

/* By a packet's first byte: its size, if it may be part of a window; whether it is all of it; and how much
 * its address replaces of the last IP: two bytes, four, or all of it. */
enum pt_window_flag {
	pt_window_size = 0x07,
	pt_window_none =
	        0x08, /* a PAD, which may stand behind a window's packets; most packets that are about time */
	pt_window_address = 0x30,
	pt_window_event = 0x40,
	pt_window_alone = 0x80
};
extern const uint8_t pt_window_packet[256];

/* A TNT-64 with at least one outcome. */
static inline int pt_window_is_tnt_64(uint64_t word)
{
	return (word & 0xffff) == 0xa302 && word >> 17;
}

/* The size of the window that begins with the bytes of @word, without PADs; zero: there is none. @events:
 * with TIP.PGE and TIP.PGD. No address in a window replaces more than the first. */
static inline uint32_t pt_window_of(uint64_t word, uint32_t events)
{
	enum { most_packets = 4, most_tnts = 2 };
	const uint32_t first = pt_window_packet[word & 0xff];
	uint32_t size = first & pt_window_size, address = first & pt_window_address;

	if (first & (pt_window_alone | pt_window_none))
		return first & pt_window_none || (first & pt_window_event && !events) ? 0 : size;
	if (!size)
		return pt_window_is_tnt_64(word) ? pt_window_max : 0;
	for (uint32_t count = 1; size < pt_window_max && count < (address ? most_packets : most_tnts);
	     ++count) {
		const uint32_t next = pt_window_packet[word >> (8 * size) & 0xff];

		if ((next & (pt_window_alone | pt_window_none)) || !(next & pt_window_size) ||
		    (address && (next & pt_window_address) > address) ||
		    size + (next & pt_window_size) > pt_window_max)
			break;
		if (!address)
			address = next & pt_window_address;
		size += next & pt_window_size;
	}
	return size;
}

/* How many PADs follow a window of @size bytes in @word. */
static inline uint32_t pt_window_pads(uint64_t word, uint32_t size)
{
	const uint64_t behind = size < pt_window_max ? word >> 8 * size : 1;

	return behind ? (uint32_t)__builtin_ctzll(behind) / 8 : pt_window_max - size;
}

/* Most packets that are about time: MTC, CYC, TSC. */
static inline int pt_may_be_timing(uint8_t opcode)
{
	return pt_window_packet[opcode] == pt_window_none;
}

static inline uint64_t pt_window_bytes(uint64_t word, uint32_t size)
{
	return word & UINT64_MAX >> (64 - 8 * size);
}

static inline uint64_t pt_run_hash(uint64_t window, uint32_t place)
{
	return (window * 0x9e3779b97f4a7c15u ^ place) * 0xd6e8feb86659fd93u;
}

/* Where ways part because functions return to more than one caller, all but the first are looked up by window
 * and the address on top of the return stack. */
static inline uint64_t pt_window_by_return(uint64_t window, const struct pt_return_stack *stack)
{
	return window ^ pt_return_stack_peek(stack) * 0x9e3779b97f4a7c15u;
}

/* Whether the addresses on top of @stack are those of @pop. */
static inline int pt_return_stack_is(const struct pt_return_stack *stack, const uint64_t *pop, uint32_t npop)
{
	if (stack->depth < npop)
		return 0;
	for (uint32_t i = 0; i < npop; ++i)
		if (stack->ip[(stack->top - 1 - i) % pt_return_stack_size] != pop[i])
			return 0;
	return 1;
}

/* @npop addresses go, and those of @push come; in between, there are up to @rise more. */
static inline void pt_return_stack_change(struct pt_return_stack *stack, uint32_t npop, const uint64_t *push,
                                          uint32_t npush, uint32_t rise)
{
	const uint32_t highest = stack->depth + rise;
	uint32_t top = stack->top - npop;

	for (uint32_t i = 0; i < npush; ++i)
		stack->ip[top++ % pt_return_stack_size] = push[i];
	stack->top = top % pt_return_stack_size;
	stack->depth += npush - npop;
	/* What was pushed beyond the stack's size made it forget as many of its oldest addresses. */
	if (highest > pt_return_stack_size)
		stack->depth -= highest - pt_return_stack_size;
}

/* Whether a path with that effect can begin with @stack as it is. */
static inline int pt_stack_effect_fits(const struct pt_stack_effect *effect,
                                       const struct pt_return_stack *stack)
{
	return pt_return_stack_is(stack, effect->pop, effect->npop);
}

/* Does to @stack what the path does. */
static inline void pt_stack_effect_apply(const struct pt_stack_effect *effect, struct pt_return_stack *stack)
{
	pt_return_stack_change(stack, effect->npop, effect->push, effect->npush, effect->rise);
}

static inline uint32_t pt_run_tag(uint64_t hash)
{
	return (uint32_t)hash | 0x10000;
}

static inline int pt_entry_is(const struct pt_run_entry *entry, uint32_t place, uint64_t window,
                              uint64_t last, uint32_t by_return)
{
	return entry->window == window && entry->place == place &&
	       (entry->flags & pt_entry_by_return) == by_return &&
	       !((entry->last ^ last) & pt_entry_last_mask(entry->flags));
}

/* Whether what stands behind the window's eight bytes, at @behind, is the entry's, too. */
static inline int pt_entry_rest_is(const struct pt_run_entry *entry, const uint8_t *behind,
                                   const uint8_t *end)
{
	const uint32_t size = entry->size - (uint32_t)pt_window_max;

	return end - behind >= size && !memcmp(entry->extra->rest, behind, size);
}

/* Whether the window at @pos, where @word is, is that of @entry, which is one by return, or has a rest. */
int pt_entry_is_window(const struct pt_run_entry *entry, uint64_t word, const uint8_t *pos,
                       const struct pt_return_stack *stack, const uint8_t *end);

/* Whether @entry is what pt_run_cache_find() would give where @word is at @pos, or what leads along a part of
 * that window. */
static inline __attribute__((always_inline)) int pt_run_cache_leads(
        const struct pt_run_cache *cache, const struct pt_run_entry *entry, uint32_t place, uint64_t word,
        const uint8_t *pos, uint64_t last, const struct pt_return_stack *stack, const uint8_t *end)
{
	const uint32_t flags = entry->flags;
	const uint64_t differ = word ^ entry->window;

	if (entry->place != place || ((entry->last ^ last) & pt_entry_last_mask(flags)))
		return 0;
	/* A shift by 64 is none: such a window has eight bytes. */
	if (__builtin_expect(!(flags & (pt_entry_by_return | pt_entry_rest)), 1)) {
		if (differ << (-8u * entry->size % 64))
			return 0;
	} else if (!pt_entry_is_window(entry, word, pos, stack, end)) {
		return 0;
	}
	return pt_ground_stands_here(&cache->grounds, entry->ground) &&
	       (!(flags & pt_entry_effect) || pt_stack_effect_fits(&entry->extra->effect, stack));
}

/* The one that came last behind the path found last; there must have been one. */
static inline const struct pt_run_entry *pt_run_cache_guess(const struct pt_run_cache *cache)
{
	return &cache->entry[cache->trail[(cache->trail_here + 1) % pt_trail_size]];
}

/* @entry was found; @guessed: as it was guessed. */
static inline void pt_run_cache_note(struct pt_run_cache *cache, const struct pt_run_entry *entry,
                                     int guessed)
{
	uint16_t *at = &cache->trail_at[entry->path.id];

	cache->trail_here = guessed ? (cache->trail_here + 1) % pt_trail_size : *at;
	*at = (uint16_t)cache->trail_end;
	cache->trail[cache->trail_end] = (uint16_t)entry->path.id;
	cache->trail_end = (cache->trail_end + 1) % pt_trail_size;
}

/* The way from @place along @window, in the present view; NULL: none is known. The window has up to @room
 * bytes with PADs, which one of several that differ by them does not matter; @behind stands behind its
 * packets. */
static inline __attribute__((always_inline)) const struct pt_run_entry *pt_run_cache_look_up(
        const struct pt_run_cache *cache, uint32_t place, uint64_t window, uint32_t room, uint64_t last,
        const struct pt_return_stack *stack, const uint8_t *behind, const uint8_t *end)
{
	uint64_t hash = pt_run_hash(window, place);
	uint32_t by_return = 0;

	for (uint64_t i = hash >> cache->shift;; ++i) {
		const uint32_t slot = cache->slot[i & cache->mask];
		const struct pt_run_entry *entry = &cache->entry[slot & 0xffff];

		if (!slot)
			return NULL;
		if ((slot ^ pt_run_tag(hash)) >> 16 || !pt_entry_is(entry, place, window, last, by_return) ||
		    !pt_ground_stands_here(&cache->grounds, entry->ground))
			continue;
		if (entry->size > room &&
		    (entry->size <= pt_window_max || !pt_entry_rest_is(entry, behind, end)))
			continue;
		if (!(entry->flags & pt_entry_effect) || pt_stack_effect_fits(&entry->extra->effect, stack))
			return entry;
		if (by_return)
			continue;
		by_return = pt_entry_by_return;
		window = pt_window_by_return(window, stack);
		hash = pt_run_hash(window, place);
		i = (hash >> cache->shift) - 1;
	}
}

/* The same for the window of @size bytes without PADs at @pos. */
static inline __attribute__((always_inline)) const struct pt_run_entry *pt_run_cache_find(
        const struct pt_run_cache *cache, uint32_t place, const uint8_t *pos, uint32_t size, uint64_t last,
        const struct pt_return_stack *stack, const uint8_t *end)
{
	return pt_run_cache_look_up(cache, place, pt_window_bytes(pt_get64(pos), size),
	                            size + pt_window_pads(pt_get64(pos), size), last, stack, pos + size, end);
}

#endif
