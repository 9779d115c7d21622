/* run_cache.c - see run_cache.h. */
#include "flow/run_cache.h"

#include <stdlib.h>

#include "flow/run_leap.h"

enum { first_slot_bits = 10, first_places = 1 << 10, seen_bits = 14, seen_ways = 4, chunk_size = 64 * 1024 };

/* How many places there may be for each path, and how many at least. */
enum { places_per_path = 4, least_places = 64 };

/* How many bytes there may be for each path, and how many at least: most paths need a tenth, but those of
 * long straight code may need 150 KB. */
enum { bytes_per_path = 4096, least_bytes = 1 << 20 };

/* How many paths may have place, window and the first return in common; and how many that do not stand in the
 * present view are passed by before a new one takes the place of the last of them. */
enum { max_alike = 8, max_strangers = 4 };

struct pt_cache_chunk {
	struct pt_cache_chunk *next;
	size_t used, size;
	_Alignas(16) uint8_t byte[];
};

/* A FUP's or TIP's opcode with the values of IPBytes that give an address. */
#define IP_PACKETS(opcode, what)                                                                             \
	[(opcode) | 0x20] = (what) | 0x10 | 3, [(opcode) | 0x40] = (what) | 0x20 | 5,                        \
	            [(opcode) | 0x60] = (what) | 0x30 | 7

#define ALONE_EVENT (pt_window_alone | pt_window_event)
#define CYC_16(byte)                                                                                         \
	[(byte) + 3] = pt_window_none, [(byte) + 7] = pt_window_none, [(byte) + 11] = pt_window_none,        \
	          [(byte) + 15] = pt_window_none
#define CYC_64(byte) CYC_16(byte), CYC_16((byte) + 16), CYC_16((byte) + 32), CYC_16((byte) + 48)
#define TNT_2(byte)  [byte] = 1, [(byte) + 2] = 1
#define TNT_4(byte)  TNT_2(byte), TNT_2((byte) + 4)
#define TNT_8(byte)  TNT_4(byte), TNT_4((byte) + 8)
#define TNT_16(byte) TNT_8(byte), TNT_8((byte) + 16)

const uint8_t pt_window_packet[256] = {
        [0] = pt_window_none | 1, /* PAD */
        [0x19] = pt_window_none,  /* TSC */
        [0x59] = pt_window_none,  /* MTC */
        CYC_64(0),
        CYC_64(64),
        CYC_64(128),
        CYC_64(192),
        TNT_2(4),
        TNT_4(8),
        TNT_8(16),
        TNT_16(32),
        TNT_16(64),
        TNT_16(96),
        TNT_16(128),
        TNT_16(160),
        TNT_16(192),
        TNT_16(224),
        IP_PACKETS(0x0d, 0),           /* TIP */
        IP_PACKETS(0x11, ALONE_EVENT), /* TIP.PGE */
        IP_PACKETS(0x01, ALONE_EVENT), /* TIP.PGD */
        [0x01] = ALONE_EVENT | 1,      /* TIP.PGD without an address */
};

/* What is used again and again is mostly used soon. More paths than stay in the processor's caches are slower
 * than walking anew what comes back late: of 65536, replays take up to half as long again, and 40 MB. */
enum { default_paths = 8192 };

/* How many paths there are for each chain. */
enum { paths_per_chain = 2 };

uint32_t pt_run_cache_wanted(void)
{
	const char *text = secure_getenv("SBTRACE_RUN_CACHE");
	char *end;
	unsigned long limit;

	if (!text || !*text)
		return default_paths;
	limit = strtoul(text, &end, 10);
	return *end || limit > ptr_max_paths ? default_paths : (uint32_t)limit;
}

int pt_run_cache_init(struct pt_run_cache *cache, uint32_t limit)
{
	memset(cache, 0, sizeof(*cache));
	cache->limit = limit < ptr_max_paths ? limit : ptr_max_paths;
	cache->mask = (1 << first_slot_bits) - 1;
	cache->shift = 64 - first_slot_bits;
	cache->slot = calloc(1 << first_slot_bits, sizeof(*cache->slot));
	/* Only what is used of it becomes memory. */
	cache->entry = aligned_alloc(sizeof(*cache->entry), (cache->limit + 1) * sizeof(*cache->entry));
	cache->place = calloc(first_places, sizeof(*cache->place));
	cache->place_slot = calloc(2 * first_places, sizeof(*cache->place_slot));
	cache->place_mask = 2 * first_places - 1;
	cache->seen = calloc(1u << seen_bits, sizeof(*cache->seen));
	cache->trail = calloc(pt_trail_size, sizeof(*cache->trail));
	cache->trail_at = calloc(cache->limit + 1, sizeof(*cache->trail_at));
	cache->max_chains = cache->limit / paths_per_chain;
	cache->chains = calloc(cache->max_chains + 1, sizeof(*cache->chains));
	if (pt_grounds_init(&cache->grounds) == 0 && cache->entry && cache->slot && cache->place &&
	    cache->place_slot && cache->seen && cache->chains && cache->trail && cache->trail_at)
		return 0;
	pt_run_cache_fini(cache);
	return -pte_nomem;
}

static void free_chunks(struct pt_run_cache *cache)
{
	while (cache->chunk) {
		struct pt_cache_chunk *next = cache->chunk->next;

		free(cache->chunk);
		cache->chunk = next;
	}
	cache->nbytes = 0;
}

void pt_run_cache_fini(struct pt_run_cache *cache)
{
	free_chunks(cache);
	free(cache->entry);
	free(cache->slot);
	free(cache->place);
	free(cache->place_slot);
	free(cache->seen);
	free(cache->chains);
	pt_leaps_free(cache->leaps);
	free(cache->trail);
	free(cache->trail_at);
	pt_grounds_fini(&cache->grounds);
	memset(cache, 0, sizeof(*cache));
}

void pt_run_cache_clear(struct pt_run_cache *cache)
{
	free_chunks(cache);
	memset(cache->slot, 0, (cache->mask + 1) * sizeof(*cache->slot));
	memset(cache->place_slot, 0, (cache->place_mask + 1) * sizeof(*cache->place_slot));
	memset(cache->seen, 0, sizeof(*cache->seen) << seen_bits);
	cache->npaths = 0;
	cache->nplaces = 0;
	cache->nchains = 0;
	pt_leaps_clear(cache->leaps);
	memset(cache->trail, 0, pt_trail_size * sizeof(*cache->trail));
	pt_grounds_clear(&cache->grounds);
	cache->full = 0;
}

static int same_place(const struct pt_run_place *a, const struct pt_run_place *b)
{
	return a->ip == b->ip && a->mode == b->mode && a->kind == b->kind;
}

static uint32_t *place_slot(const struct pt_run_cache *cache, const struct pt_run_place *place)
{
	uint64_t i = pt_run_hash(place->ip, place->mode << 2 | place->kind) >> 32;

	for (;; ++i) {
		uint32_t *slot = &cache->place_slot[i & cache->place_mask];
		const struct pt_run_place *found = &cache->place[*slot ? *slot - 1 : 0];

		if (!*slot || same_place(found, place))
			return slot;
	}
}

/* Twice as many places; they are half as many as slots. */
static int grow_places(struct pt_run_cache *cache)
{
	const uint32_t capacity = cache->place_mask + 1;
	struct pt_run_place *place = realloc(cache->place, capacity * sizeof(*place));
	uint32_t *slot;

	if (!place)
		return -1;
	cache->place = place;
	slot = calloc(2 * (size_t)capacity, sizeof(*slot));
	if (!slot)
		return -1;
	free(cache->place_slot);
	cache->place_slot = slot;
	cache->place_mask = 2 * capacity - 1;
	for (uint32_t i = 0; i < cache->nplaces; ++i)
		*place_slot(cache, &cache->place[i]) = i + 1;
	return 0;
}

int64_t pt_run_cache_place(struct pt_run_cache *cache, const struct pt_run_place *place)
{
	uint32_t *slot;

	if (cache->place_here < cache->nplaces && same_place(&cache->place[cache->place_here], place))
		return cache->place_here;
	slot = place_slot(cache, place);
	if (*slot)
		return cache->place_here = *slot - 1;
	if (cache->nplaces >= places_per_path * cache->limit + least_places ||
	    (cache->nplaces == (cache->place_mask + 1) / 2 && grow_places(cache) < 0)) {
		cache->full = 1;
		return -1;
	}
	slot = place_slot(cache, place);
	cache->place[cache->nplaces] = *place;
	*slot = ++cache->nplaces;
	return cache->place_here = *slot - 1;
}

/* The lowest bits of a tag. */
enum { seen_once, seen_twice, seen_refused, seen_states = 3, seen_state_bits = 2 };

/* Windows that share a set of tags take turns: else, two that share a tag would make each other forgotten for
 * good. */
int pt_run_cache_seen(struct pt_run_cache *cache, uint32_t place, uint64_t window)
{
	const uint64_t hash = pt_run_hash(window, place);
	const uint32_t wanted = (uint32_t)hash << seen_state_bits;
	uint32_t *set = &cache->seen[hash >> (64 - seen_bits) & ~(uint64_t)(seen_ways - 1)];

	for (uint32_t i = 0; i < seen_ways; ++i) {
		if ((set[i] & ~(uint32_t)seen_states) == wanted) {
			const uint32_t state = set[i] & seen_states;

			cache->seen_again += state != seen_refused;
			if (state == seen_once)
				set[i] = wanted | seen_twice;
			return state == seen_twice;
		}
	}
	set[cache->seen_turn++ % seen_ways] = wanted;
	return 0;
}

void pt_run_cache_refuse(struct pt_run_cache *cache, uint32_t place, uint64_t window)
{
	const uint64_t hash = pt_run_hash(window, place);
	const uint32_t wanted = (uint32_t)hash << seen_state_bits;
	uint32_t *set = &cache->seen[hash >> (64 - seen_bits) & ~(uint64_t)(seen_ways - 1)];

	for (uint32_t i = 0; i < seen_ways; ++i)
		if ((set[i] & ~(uint32_t)seen_states) == wanted)
			set[i] = wanted | seen_refused;
}

static uint32_t make_slot(uint64_t hash, uint32_t number)
{
	return (pt_run_tag(hash) & 0xffff0000) | number;
}

static void insert(struct pt_run_cache *cache, uint32_t number)
{
	const uint64_t hash = pt_run_hash(cache->entry[number].window, cache->entry[number].place);
	uint64_t i = hash >> cache->shift;

	while (cache->slot[i & cache->mask])
		++i;
	cache->slot[i & cache->mask] = make_slot(hash, number);
}

static int grow_slots(struct pt_run_cache *cache)
{
	const uint64_t count = cache->mask + 1;
	uint32_t *const old = cache->slot, *slot = calloc(2 * count, sizeof(*slot));

	if (!slot)
		return -1;
	cache->slot = slot;
	cache->mask = 2 * count - 1;
	cache->shift -= 1;
	/* Some paths are in none. */
	for (uint64_t i = 0; i < count; ++i)
		if (old[i])
			insert(cache, old[i] & 0xffff);
	free(old);
	return 0;
}

static size_t aligned(size_t size)
{
	return (size + 15) & ~(size_t)15;
}

/* NULL: no memory, or the cache is full. */
static struct pt_cache_chunk *make_chunk(struct pt_run_cache *cache, size_t bytes)
{
	struct pt_cache_chunk *chunk;

	if (cache->nbytes + bytes > (size_t)bytes_per_path * cache->limit + least_bytes) {
		cache->full = 1;
		return NULL;
	}
	chunk = malloc(sizeof(*chunk) + bytes);
	if (!chunk)
		return NULL;
	*chunk = (struct pt_cache_chunk){.next = cache->chunk, .size = bytes};
	cache->chunk = chunk;
	cache->nbytes += bytes;
	return chunk;
}

void *pt_run_cache_take(struct pt_run_cache *cache, size_t size)
{
	struct pt_cache_chunk *chunk = cache->chunk;
	void *memory;

	size = aligned(size);
	if (!chunk || chunk->size - chunk->used < size)
		chunk = make_chunk(cache, size > chunk_size ? size : chunk_size);
	if (!chunk)
		return NULL;
	memory = chunk->byte + chunk->used;
	chunk->used += size;
	return memory;
}

static size_t size_of(const struct pt_run_record *record)
{
	size_t size = 0;

	if (record->block)
		return record->entry.path.nblocks * sizeof(*record->block) + record->entry.path.ninsn;
	for (int i = 0; i < pt_run_parts; ++i)
		size += aligned(record->part[i].size);
	return size;
}

/* Blocks, and behind them the lengths of their instructions. */
static void keep_blocks(struct pt_run_path *path, uint8_t *to, const struct pt_run_record *record)
{
	struct pt_run_block *block = (struct pt_run_block *)to;
	uint8_t *length = (uint8_t *)(block + path->nblocks);

	path->block = block;
	for (uint32_t i = 0; i < path->nblocks; ++i) {
		block[i] = record->block[i];
		block[i].length = memcpy(length, record->block[i].length, block[i].ninsn);
		length += block[i].ninsn;
	}
}

static void keep_parts(struct pt_run_entry *entry, struct pt_run_extra *extra, uint8_t *to,
                       const struct pt_run_record *record)
{
	for (int i = 0; i < pt_run_parts; ++i) {
		if (!record->part[i].size)
			continue;
		extra->part[i] = memcpy(to, record->part[i].bytes, record->part[i].size);
		to += aligned(record->part[i].size);
	}
	entry->path.block = extra->part[0];
}

static void keep_extra(struct pt_run_entry *entry, struct pt_run_extra *extra,
                       const struct pt_run_record *record)
{
	const struct pt_stack_effect *effect = &record->effect;

	memset(extra, 0, sizeof(*extra));
	extra->effect = *effect;
	if (record->rest) {
		entry->flags |= pt_entry_rest;
		memcpy(extra->rest, record->rest, entry->size - (size_t)pt_window_max);
	}
	if (effect->npop || effect->npush || effect->rise)
		entry->flags |= pt_entry_effect;
	if (record->event) {
		extra->event = *record->event;
		entry->flags |= pt_entry_event;
	}
	entry->extra = extra;
}

/* Keeps what @entry points to. */
static int keep(struct pt_run_cache *cache, struct pt_run_entry *entry, const struct pt_run_record *record)
{
	const struct pt_stack_effect *effect = &record->effect;
	const int plain = record->block && !record->event && !record->rest && !effect->npop &&
	                  !effect->npush && !effect->rise;
	const size_t extra_size = plain ? 0 : aligned(sizeof(struct pt_run_extra));
	uint8_t *memory = pt_run_cache_take(cache, extra_size + size_of(record));

	if (!memory)
		return -1;
	if (!plain)
		keep_extra(entry, (struct pt_run_extra *)memory, record);
	if (record->block)
		keep_blocks(&entry->path, memory + extra_size, record);
	else
		keep_parts(entry, (struct pt_run_extra *)memory, memory + extra_size, record);
	return 0;
}

static int same_rest(const struct pt_run_entry *found, const struct pt_run_entry *entry, const uint8_t *rest)
{
	return found->size == entry->size &&
	       (!rest || !memcmp(found->extra->rest, rest, entry->size - (size_t)pt_window_max));
}

int pt_entry_is_window(const struct pt_run_entry *entry, uint64_t word, const uint8_t *pos,
                       const struct pt_return_stack *stack, const uint8_t *end)
{
	uint64_t window = pt_window_bytes(word, entry->size < pt_window_max ? entry->size : pt_window_max);

	if (entry->flags & pt_entry_by_return)
		window = pt_window_by_return(window, stack);
	return entry->window == window &&
	       (!(entry->flags & pt_entry_rest) || pt_entry_rest_is(entry, pos + pt_window_max, end));
}

/* The slot for @entry, which is not there yet; NULL: too many come before it that can be told from it only by
 * more than one return. One of another view's may be in it: that path is not found any more, but stays valid.
 */
static uint32_t *free_slot(const struct pt_run_cache *cache, struct pt_run_entry *entry, const uint8_t *rest,
                           const struct pt_return_stack *before)
{
	uint64_t i = pt_run_hash(entry->window, entry->place) >> cache->shift;
	uint32_t alike = 0, strangers = 0;

	for (;; ++i) {
		uint32_t *slot = &cache->slot[i & cache->mask];
		const struct pt_run_entry *found = &cache->entry[*slot & 0xffff];

		if (!*slot)
			return slot;
		if (!pt_entry_is(found, entry->place, entry->window, entry->last,
		                 entry->flags & pt_entry_by_return) ||
		    !same_rest(found, entry, rest))
			continue;
		if (!pt_ground_stands_here(&cache->grounds, found->ground)) {
			if (++strangers == max_strangers)
				return slot;
		} else if (!(entry->flags & pt_entry_by_return)) {
			strangers = 0;
			entry->flags |= pt_entry_by_return;
			entry->window = pt_window_by_return(entry->window, before);
			i = (pt_run_hash(entry->window, entry->place) >> cache->shift) - 1;
		} else if (++alike == max_alike) {
			return NULL;
		}
	}
}

const struct pt_run_entry *pt_run_cache_add(struct pt_run_cache *cache, const struct pt_run_record *record,
                                            const struct pt_return_stack *before)
{
	struct pt_run_entry entry = record->entry;
	uint32_t *slot;
	int ground;

	_Static_assert(sizeof(entry) == 64, "an entry is a cache line");
	if (cache->npaths >= cache->limit ||
	    (2 * (uint64_t)cache->npaths > cache->mask && grow_slots(cache) < 0)) {
		cache->full = 1;
		return NULL;
	}
	ground = pt_grounds_number(&cache->grounds, &record->ground);
	if (ground < 0) {
		cache->full = 1;
		return NULL;
	}
	entry.ground = (uint16_t)ground;
	slot = free_slot(cache, &entry, record->rest, before);
	if (!slot || keep(cache, &entry, record) < 0)
		return NULL;
	entry.path.id = cache->npaths++;
	cache->entry[entry.path.id] = entry;
	*slot = make_slot(pt_run_hash(entry.window, entry.place), entry.path.id);
	return &cache->entry[entry.path.id];
}
