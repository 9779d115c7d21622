/* run_leap.c - see run_leap.h. */
#include "flow/run_leap.h"

#include <stdlib.h>

#define ONES_8  0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff
#define ONES_16 ONES_8, ONES_8

const uint8_t pt_leap_mask[2 * pt_leap_most] = {ONES_16, ONES_16, ONES_16};

/* In bytes, what a rest may take: whole lines. */
enum { rest_room = (pt_leap_rest_most + pt_leap_line - 1) / pt_leap_line * pt_leap_line };

struct pt_run_leaps *pt_leaps_new(uint32_t limit)
{
	struct pt_run_leaps *leaps = calloc(1, sizeof(*leaps));

	_Static_assert(sizeof(struct pt_run_leap) == 2 * pt_leap_line, "a leap is two cache lines");
	if (!leaps)
		return NULL;
	/* The first one is none. Only what is used of them becomes memory. */
	leaps->limit = limit;
	leaps->leap = aligned_alloc(pt_leap_line, (limit + 1) * sizeof(*leaps->leap));
	leaps->rest = aligned_alloc(pt_leap_line, (limit + 1) * (size_t)rest_room);
	leaps->row_next = malloc((limit + 1) * sizeof(*leaps->row_next));
	if (leaps->leap && leaps->rest && leaps->row_next) {
		memset(leaps->leap, 0, sizeof(*leaps->leap));
		leaps->row_next[0] = 0;
		leaps->rest_end = pt_leap_line; /* zero: none */
		return leaps;
	}
	pt_leaps_free(leaps);
	return NULL;
}

void pt_leaps_free(struct pt_run_leaps *leaps)
{
	if (!leaps)
		return;
	free(leaps->leap);
	free(leaps->rest);
	free(leaps->row_next);
	free(leaps);
}

void pt_leaps_clear(struct pt_run_leaps *leaps)
{
	if (!leaps)
		return;
	memset(leaps->set, 0, sizeof(leaps->set));
	memset(leaps->met, 0, sizeof(leaps->met));
	leaps->count = 0;
	leaps->row_next[0] = leaps->row_here = 0;
	leaps->rest_end = pt_leap_line;
}

/* Where the PADs end that begin at @pos, up to the longest leap's end. */
static const uint8_t *skip_pads(const struct pt_chain_list *list, const uint8_t *pos, const uint8_t *end)
{
	while (pos < end && pos - list->begin < pt_leap_most && !*pos)
		++pos;
	return pos;
}

/* Keeps the draft's rest, if it has one. Returns where, or zero. */
static uint32_t keep_rest(struct pt_run_leaps *leaps, const struct pt_chain_draft *draft)
{
	const struct pt_run_chain *chain = &draft->chain;
	const struct pt_stack_effect *effect = &draft->effect;
	const uint32_t nwords = (uint32_t)effect->npop + effect->npush + chain->nevents;
	const uint32_t size = (uint32_t)sizeof(struct pt_leap_rest) + 8 * nwords;
	uint32_t begin = leaps->rest_end;
	struct pt_leap_rest *rest;
	union pt_leap_word *word;

	if (pt_effect_is_none(effect) && !chain->nevents)
		return 0;
	if (begin % pt_leap_line + size > pt_leap_line)
		begin += -begin % pt_leap_line;
	rest = (struct pt_leap_rest *)(leaps->rest + begin);
	*rest = (struct pt_leap_rest){.npop = effect->npop, .npush = effect->npush, .rise = effect->rise};
	word = rest->word;
	for (uint32_t i = 0; i < effect->npop; ++i)
		word++->ip = effect->pop[i];
	for (uint32_t i = 0; i < effect->npush; ++i)
		word++->ip = effect->push[i];
	for (uint32_t i = 0; i < chain->nevents; ++i) {
		rest->paths[i] = (uint8_t)draft->event[i].paths;
		word++->event = draft->event[i].event;
	}
	leaps->rest_end = begin + size;
	return begin;
}

/* A leap from @place, of @size bytes at @byte. Zero: the draft is too much for one. Numbers begin with one.
 */
static uint32_t make_leap(struct pt_run_leaps *leaps, const struct pt_chain_draft *draft, uint32_t place,
                          const uint8_t *byte, uint32_t size)
{
	const struct pt_run_chain *chain = &draft->chain;
	struct pt_run_leap *leap;

	if (chain->npaths > pt_leap_parts || chain->nevents > pt_leap_events ||
	    chain->ngrounds > pt_leap_grounds || size > pt_leap_most || chain->ninsn > UINT32_MAX)
		return 0;
	leap = &leaps->leap[++leaps->count];
	*leap = (struct pt_run_leap){.place = place,
	                             .place_after = chain->place_after,
	                             .nblocks = chain->nblocks,
	                             .size = (uint8_t)size,
	                             .npaths = chain->npaths,
	                             .nevents = chain->nevents,
	                             .ngrounds = chain->ngrounds,
	                             .first_last = chain->first_last,
	                             .mask = chain->mask,
	                             .last = chain->last,
	                             .ninsn = (uint32_t)chain->ninsn,
	                             .rest = keep_rest(leaps, draft),
	                             .flags = chain->flags};
	memcpy(leap->byte, byte, size);
	memcpy(leap->ground, chain->ground, chain->ngrounds * sizeof(leap->ground[0]));
	for (uint32_t i = 0; i < chain->npaths; ++i)
		leap->path[i] = (uint16_t)draft->path[i]->id;
	leaps->row_next[leaps->count] = 0;
	return leaps->count;
}

static int was_met(const uint16_t *met, uint16_t tag)
{
	for (uint32_t i = 0; i < pt_leap_ways; ++i)
		if (met[i] == tag)
			return 1;
	return 0;
}

/* Whether a leap may begin so: where tracing is disabled, with TIP.PGE. */
static int can_begin(const struct pt_run_cache *cache, const struct pt_run_entry *entry)
{
	return cache->place[entry->place].kind == pt_place_at ||
	       ((entry->flags & pt_entry_event) && entry->extra->event.type == ptev_enabled);
}

/* What is kept where its bytes have that hash. */
struct leap_slot {
	struct pt_leap_set *set;
	uint16_t *met;
	uint32_t tag;
};

static struct leap_slot slot_of(struct pt_run_leaps *leaps, uint64_t hash)
{
	struct pt_leap_set *set = pt_leap_set_of(leaps, hash);

	return (struct leap_slot){set, leaps->met[set - leaps->set], pt_leap_tag(hash)};
}

/* It was met, as @tag tells: for the first time, unless it became the leap @number. */
static void keep(const struct leap_slot *slot, uint16_t tag, uint32_t number)
{
	if (number) {
		memmove(&slot->set->way[1], &slot->set->way[0],
		        sizeof(slot->set->way) - sizeof(slot->set->way[0]));
		slot->set->way[0] = slot->tag | number;
	} else {
		memmove(&slot->met[1], &slot->met[0], (pt_leap_ways - 1) * sizeof(slot->met[0]));
		slot->met[0] = tag;
	}
}

/* What is met for the second time becomes a leap. */
static void end_list(struct pt_run_cache *cache, const struct pt_chain_list *list, const uint8_t *end)
{
	const uint32_t place = list->item[0].entry->place;
	const struct leap_slot slot =
	        slot_of(cache->leaps, pt_leap_hash(&cache->place[place], place, list->begin));
	struct pt_run_leaps *leaps = cache->leaps;
	const uint16_t tag = pt_chain_tag(list) | 1; /* zero: none */
	struct pt_chain_draft draft;
	const uint8_t *behind;
	uint32_t number = 0;

	if (leaps->count == leaps->limit) {
		pt_leaps_clear(leaps);
		return;
	}
	if (was_met(slot.met, tag) && pt_chain_draw(&draft, list)) {
		/* PADs behind it are part of it. */
		behind = skip_pads(list, list->begin + draft.chain.size, end);
		number = make_leap(leaps, &draft, place, list->begin, (uint32_t)(behind - list->begin));
	}
	keep(&slot, tag, number);
}

void pt_leap_note_row(struct pt_run_cache *cache, struct pt_chain_list *list, const struct pt_cyc_row *row)
{
	const uint32_t place = list->item[0].entry->place, count = list->count;
	const uint64_t hash = pt_run_hash(row->bytes, place);
	const struct leap_slot slot = slot_of(cache->leaps, hash);
	const uint16_t tag = (uint16_t)(hash >> 32 | 3), refused = tag & (uint16_t)~1u;
	struct pt_run_leaps *leaps = cache->leaps;
	struct pt_chain_draft draft;
	uint32_t number = 0;
	uint8_t byte[pt_cyc_row_most + pt_cyc_row_form_size];

	_Static_assert(sizeof(byte) <= pt_leap_most, "a row and its form have room");
	if (leaps->count == leaps->limit) {
		pt_leaps_clear(leaps);
	} else if (count > 1 && count == row->count && !was_met(slot.met, refused)) {
		const int again = was_met(slot.met, tag);

		pt_put(byte, row->bytes, pt_cyc_row_most);
		pt_cyc_row_form(byte + pt_cyc_row_most, row->bytes);
		if (again && pt_chain_draw(&draft, list) && draft.chain.npaths == count) {
			number = make_leap(leaps, &draft, place, byte, sizeof(byte));
			leaps->leap[number].size = (uint8_t)count;
		}
		keep(&slot, again ? refused : tag, number);
	}
	list->count = list->npaths = 0;
}

/* Whether the list ends with its last path: where its bytes and the PADs behind them are those of the hash,
 * but not right before TIP.PGD: what comes behind that would be in the next one's hash. */
static int is_whole(const struct pt_chain_list *list, const uint8_t *end)
{
	const uint8_t *const behind = skip_pads(list, list->item[list->count - 1].end, end);
	const size_t size = (size_t)(behind - list->begin);

	return list->count == pt_leap_parts ||
	       (size >= pt_leap_key &&
	        !(behind < end && (*behind & 0x1f) == 0x01 && size + 7 <= pt_leap_most));
}

uint8_t pt_leap_note(struct pt_run_cache *cache, struct pt_chain_list *list, const struct pt_run_entry *entry,
                     const uint8_t *pos, const uint8_t *end)
{
	if (!list->count || pos + entry->size - list->begin <= pt_leap_most) {
		pt_chain_append(list, entry, NULL, pos, pos + entry->size);
		if (!is_whole(list, end))
			return 1;
	}
	if (list->count > 1 && end - list->begin >= pt_leap_key && can_begin(cache, list->item[0].entry))
		end_list(cache, list, end);
	list->count = 0;
	return 0;
}
