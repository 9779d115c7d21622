/* Leaps: some windows at once, found by the next bytes of trace.
 *
 * Chains (run_chain.h) are the faster the longer they are, and help where what follows a path is mostly one
 * of a few things. Where a filter limits tracing to some functions, the trace consists of many short visits
 * to them, from TIP.PGE to TIP.PGD, in any order; yet how a visit goes on is told by its first bytes. So a
 * leap is looked up by a hash of so many bytes and ends soon behind them, or with the visit.
 *
 * The TNTs of a row (cyc_row.h) are looked up by all their bytes, which are the leap's.
 *
 * What must hold for a leap is what must hold for a chain of the same paths, and what is handed out, too.
 */
#ifndef PT_RUN_LEAP_H
#define PT_RUN_LEAP_H

#include "flow/cyc_row.h"
#include "flow/run_chain.h"

enum {
	pt_leap_key = 32,  /* bytes that are hashed */
	pt_leap_most = 48, /* bytes of a leap */
	pt_leap_parts = 8,
	pt_leap_events = 4,
	pt_leap_grounds = 3,
	pt_leap_ways = 4
};

/* Two cache lines: what is compared and passed; where that leads. Most of a trace that nothing helps with but
 * leaps is followed at the speed at which they come into the cache. */
struct pt_run_leap {
	/* Of which size count. Of a row's leap, those of its TNTs, and behind room for all of them its form.
	 */
	uint8_t byte[pt_leap_most];
	uint32_t place, place_after;
	uint32_t nblocks;
	uint8_t size, npaths, nevents, ngrounds;

	/* As in struct pt_run_chain. */
	uint64_t first_last, mask, last, stood;
	uint32_t ninsn;
	uint32_t rest; /* where it begins: see struct pt_leap_rest; zero: there is none */
	uint16_t ground[pt_leap_grounds];
	uint16_t flags;
	uint16_t path[pt_leap_parts]; /* their numbers */
};

/* What many leaps do without; in one cache line, if it fits. */
struct pt_leap_rest {
	uint8_t npop, npush, rise;     /* as in struct pt_stack_effect, whose addresses come first */
	uint8_t paths[pt_leap_events]; /* as in struct pt_chain_event */
	uint8_t reserved;
	union pt_leap_word {
		uint64_t ip;
		const struct pt_event *event;
	} word[]; /* of pop, then of push, then the events */
};

enum { pt_leap_line = 64, pt_leap_rest_most = 8 + 8 * (2 * pt_effect_max + pt_leap_events) };

/* Of those with the same hash, the last ones first: a part of the hash that is not zero, above a leap's
 * number. Zero: free. */
struct pt_leap_set {
	uint32_t way[pt_leap_ways];
};

enum { pt_leap_set_bits = 12, pt_leap_tag_shift = 16 };

struct pt_run_leaps {
	struct pt_leap_set set[1 << pt_leap_set_bits];
	/* What was met once, the last ones first: as pt_chain_tag() tells. */
	uint16_t met[1 << pt_leap_set_bits][pt_leap_ways];
	struct pt_run_leap *leap; /* owned */
	uint8_t *rest;            /* owned: theirs */
	uint32_t rest_end;        /* of what is used of it */
	/* Of rows: which one came behind that of such a number last, or zero; owned. And the last one. */
	uint16_t *row_next, row_here;
	uint32_t count, limit;
};

/* Room for @limit leaps; NULL: no memory. */
struct pt_run_leaps *pt_leaps_new(uint32_t limit);
void pt_leaps_free(struct pt_run_leaps *leaps);  /* NULL is fine */
void pt_leaps_clear(struct pt_run_leaps *leaps); /* likewise */

/* @entry was found at @pos, behind what is in the list. Returns whether more can come behind it; else the
 * list is empty then, and what was met before has become a leap. */
uint8_t pt_leap_note(struct pt_run_cache *cache, struct pt_chain_list *list, const struct pt_run_entry *entry,
                     const uint8_t *pos, const uint8_t *end);

/* Behind pt_leap_key bytes: where tracing is disabled, the place says little, see pt_leap_is_from(). */
static inline uint64_t pt_leap_hash(const struct pt_run_place *place, uint32_t number, const uint8_t *pos)
{
	const uint64_t salt = place->kind == pt_place_at ? number : 0;

	return pt_get64(pos) * 0x9e3779b97f4a7c15u + pt_get64(pos + 8) * 0xd6e8feb86659fd93u +
	       pt_get64(pos + 16) * 0xc2b2ae3d27d4eb4fu + pt_get64(pos + 24) * 0xff51afd7ed558ccdu +
	       salt * 0x9fb21c651e98df25u;
}

static inline struct pt_leap_set *pt_leap_set_of(struct pt_run_leaps *leaps, uint64_t hash)
{
	return &leaps->set[hash >> (64 - pt_leap_set_bits)];
}

static inline uint32_t pt_leap_tag(uint64_t hash)
{
	return ((uint32_t)(hash >> 16) | 1 << pt_leap_tag_shift) & UINT32_MAX << pt_leap_tag_shift;
}

/* Whether @leap begins at @place. Where tracing is disabled, all that counts of it is whether execution was
 * to go on where it is enabled: at the last IP behind the first packet, TIP.PGE. */
static inline int pt_leap_is_from(const struct pt_run_cache *cache, const struct pt_run_leap *leap,
                                  uint32_t place)
{
	const struct pt_run_place *from, *other;

	if (__builtin_expect(leap->place == place, 1))
		return 1;
	from = &cache->place[place];
	other = &cache->place[leap->place];
	return from->kind != pt_place_at && other->kind != pt_place_at && from->mode == other->mode &&
	       from->ip != leap->first_last && other->ip != leap->first_last;
}

typedef uint64_t pt_leap_half __attribute__((vector_size(16)));

static inline pt_leap_half pt_leap_load(const uint8_t *byte)
{
	pt_leap_half half;

	memcpy(&half, byte, sizeof(half));
	return half;
}

/* What was found along all of @row, as single paths, is in the list: if it was met before, it becomes a leap.
 * The list is empty then. */
void pt_leap_note_row(struct pt_run_cache *cache, struct pt_chain_list *list, const struct pt_cyc_row *row);

/* So many ones, and as many zeros. */
extern const uint8_t pt_leap_mask[2 * pt_leap_most];

/* There are pt_leap_most bytes at @pos. */
static inline int pt_leap_is_there(const struct pt_run_leap *leap, const uint8_t *pos)
{
	const uint8_t *const mask = pt_leap_mask + pt_leap_most - leap->size;
	const pt_leap_half differ =
	        ((pt_leap_load(leap->byte) ^ pt_leap_load(pos)) & pt_leap_load(mask)) |
	        ((pt_leap_load(leap->byte + 16) ^ pt_leap_load(pos + 16)) & pt_leap_load(mask + 16)) |
	        ((pt_leap_load(leap->byte + 32) ^ pt_leap_load(pos + 32)) & pt_leap_load(mask + 32));

	return !(differ[0] | differ[1]);
}

/* Whether @leap is that of @row, from @place. */
static inline int pt_leap_is_of_row(const struct pt_run_leap *leap, uint32_t place,
                                    const struct pt_cyc_row *row)
{
	return pt_get64(leap->byte) == row->bytes && leap->size == row->count && leap->place == place;
}

static inline const struct pt_leap_rest *pt_leap_rest_of(const struct pt_run_leaps *leaps,
                                                         const struct pt_run_leap *leap)
{
	return (const struct pt_leap_rest *)(leaps->rest + leap->rest);
}

static inline int pt_leap_fits(const struct pt_run_leaps *leaps, const struct pt_run_leap *leap,
                               const struct pt_return_stack *stack)
{
	const struct pt_leap_rest *const rest = pt_leap_rest_of(leaps, leap);

	return !leap->rest || pt_return_stack_is(stack, &rest->word->ip, rest->npop);
}

static inline int pt_leap_stands(const struct pt_run_cache *cache, struct pt_run_leap *leap)
{
	if (__builtin_expect(leap->stood == cache->grounds.turn, 1))
		return 1;
	for (uint32_t i = 0; i < leap->ngrounds; ++i)
		if (!pt_ground_stands_here(&cache->grounds, leap->ground[i]))
			return 0;
	leap->stood = cache->grounds.turn;
	return 1;
}

/* The leap from @place with that hash, if all that is left to be compared is the same: along @row, or if that
 * is NULL, along what is at @pos. NULL: none is known. */
static inline __attribute__((always_inline)) const struct pt_run_leap *pt_leap_find_by(
        const struct pt_run_cache *cache, uint64_t hash, uint32_t place, const struct pt_cyc_row *row,
        const uint8_t *pos, uint64_t last, const struct pt_return_stack *stack)
{
	struct pt_run_leaps *const leaps = cache->leaps;
	const struct pt_leap_set *const set = pt_leap_set_of(leaps, hash);
	const uint32_t tag = pt_leap_tag(hash);

	for (uint32_t i = 0; i < pt_leap_ways; ++i) {
		const uint32_t way = set->way[i];
		struct pt_run_leap *leap;

		if ((way ^ tag) >> pt_leap_tag_shift)
			continue;
		leap = &leaps->leap[way & ((1 << pt_leap_tag_shift) - 1)];
		if ((row ? pt_leap_is_of_row(leap, place, row)
		         : pt_leap_is_there(leap, pos) && pt_leap_is_from(cache, leap, place) &&
		                     !((leap->first_last ^ last) & leap->mask)) &&
		    pt_leap_fits(leaps, leap, stack) && pt_leap_stands(cache, leap))
			return leap;
	}
	return NULL;
}

/* The leap from @place along what is at @pos, where there are pt_leap_most bytes; NULL: none is known. */
static inline __attribute__((always_inline)) const struct pt_run_leap *pt_leap_find(
        const struct pt_run_cache *cache, uint32_t place, const uint8_t *pos, uint64_t last,
        const struct pt_return_stack *stack)
{
	return pt_leap_find_by(cache, pt_leap_hash(&cache->place[place], place, pos), place, NULL, pos, last,
	                       stack);
}

/* The leap from @place along @row; NULL: none is known. */
static inline __attribute__((always_inline)) const struct pt_run_leap *pt_leap_find_row(
        const struct pt_run_cache *cache, uint32_t place, const struct pt_cyc_row *row,
        const struct pt_return_stack *stack)
{
	const struct pt_run_leap *const leap =
	        pt_leap_find_by(cache, pt_run_hash(row->bytes, place), place, row, NULL, 0, stack);
	struct pt_run_leaps *const leaps = cache->leaps;

	if (leap) {
		const uint16_t number = (uint16_t)(leap - leaps->leap);

		leaps->row_next[leaps->row_here] = number;
		leaps->row_here = number;
	}
	return leap;
}

/* The leap that is likely to come next, if it does, along the row at @pos, which is then *@row but for its
 * bytes; NULL: something else. */
static inline __attribute__((always_inline)) const struct pt_run_leap *pt_leap_guess_row(
        const struct pt_run_cache *cache, uint32_t place, const uint8_t *pos, const uint8_t *end,
        const struct pt_return_stack *stack, struct pt_cyc_row *row)
{
	struct pt_run_leaps *const leaps = cache->leaps;
	const uint16_t number = leaps->row_next[leaps->row_here];
	struct pt_run_leap *const leap = &leaps->leap[number];

	if (!number || leap->place != place ||
	    !pt_cyc_row_is(leap->byte + pt_cyc_row_most, leap->size, pos, end, row) ||
	    !pt_leap_fits(leaps, leap, stack) || !pt_leap_stands(cache, leap))
		return NULL;
	leaps->row_here = number;
	return leap;
}

#endif
