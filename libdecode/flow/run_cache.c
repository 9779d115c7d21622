/* run_cache.c - see run_cache.h. */
#include "flow/run_cache.h"

#include <stdlib.h>

enum { first_entries = 1 << 10, first_places = 1 << 10, seen_bits = 12, chunk_size = 64 * 1024 };

/* How many places there may be for each path, and how many at least. */
enum { places_per_path = 4, least_places = 64 };

/* How many paths may have place, window and the first return in common. */
enum { max_alike = 8 };

struct pt_cache_chunk {
	struct pt_cache_chunk *next;
	size_t used, size;
	_Alignas(16) uint8_t byte[];
};

/* A FUP's or TIP's opcode with the values of IPBytes that give an address. */
#define IP_PACKETS(opcode, what)                                                                             \
	[(opcode) | 0x20] = (what) | 3, [(opcode) | 0x40] = (what) | 5, [(opcode) | 0x60] = (what) | 7,      \
	            [(opcode) | 0x80] = (what) | 7

#define ALONE_EVENT  (pt_window_alone | pt_window_event)
#define TNT_2(byte)  [byte] = 1, [(byte) + 2] = 1
#define TNT_4(byte)  TNT_2(byte), TNT_2((byte) + 4)
#define TNT_8(byte)  TNT_4(byte), TNT_4((byte) + 8)
#define TNT_16(byte) TNT_8(byte), TNT_8((byte) + 16)

const uint8_t pt_window_packet[256] = {
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

/* Free entries, each in a cache line of its own. */
static struct pt_run_entry *make_entries(uint64_t count)
{
	struct pt_run_entry *entry = aligned_alloc(sizeof(*entry), count * sizeof(*entry));

	_Static_assert(sizeof(*entry) == 64, "an entry is a cache line");
	return entry ? memset(entry, 0, count * sizeof(*entry)) : NULL;
}

uint32_t pt_run_cache_wanted(void)
{
	const char *text = secure_getenv("SBTRACE_RUN_CACHE");
	char *end;
	unsigned long limit;

	if (!text || !*text)
		return ptr_max_paths;
	limit = strtoul(text, &end, 10);
	return *end || limit > ptr_max_paths ? ptr_max_paths : (uint32_t)limit;
}

int pt_run_cache_init(struct pt_run_cache *cache, uint32_t limit)
{
	memset(cache, 0, sizeof(*cache));
	cache->limit = limit < ptr_max_paths ? limit : ptr_max_paths;
	cache->mask = first_entries - 1;
	cache->shift = 64 - 10;
	cache->entry = make_entries(first_entries);
	cache->place = calloc(first_places, sizeof(*cache->place));
	cache->place_slot = calloc(2 * first_places, sizeof(*cache->place_slot));
	cache->place_mask = 2 * first_places - 1;
	cache->seen = calloc(1u << seen_bits, sizeof(*cache->seen));
	if (cache->entry && cache->place && cache->place_slot && cache->seen)
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
}

void pt_run_cache_fini(struct pt_run_cache *cache)
{
	free_chunks(cache);
	free(cache->entry);
	free(cache->place);
	free(cache->place_slot);
	free(cache->seen);
	memset(cache, 0, sizeof(*cache));
}

void pt_run_cache_clear(struct pt_run_cache *cache)
{
	free_chunks(cache);
	memset(cache->entry, 0, (cache->mask + 1) * sizeof(*cache->entry));
	memset(cache->place_slot, 0, (cache->place_mask + 1) * sizeof(*cache->place_slot));
	memset(cache->seen, 0, sizeof(*cache->seen) << seen_bits);
	cache->npaths = 0;
	cache->nplaces = 0;
	cache->nviews = 0;
	cache->full = 0;
}

static int same_view(const struct pt_run_view *a, const struct pt_run_view *b)
{
	return a->generation == b->generation && a->cr3 == b->cr3 && a->vmcs == b->vmcs && a->mode == b->mode;
}

int pt_run_cache_view(struct pt_run_cache *cache, const struct pt_run_view *view)
{
	if (cache->last_view < cache->nviews && same_view(&cache->view[cache->last_view], view))
		return (int)cache->last_view;
	for (uint32_t i = 0; i < cache->nviews; ++i) {
		if (!same_view(&cache->view[i], view))
			continue;
		cache->last_view = i;
		return (int)i;
	}
	if (cache->nviews == sizeof(cache->view) / sizeof(cache->view[0])) {
		cache->full = 1;
		return -1;
	}
	cache->last_view = cache->nviews++;
	cache->view[cache->last_view] = *view;
	return (int)cache->last_view;
}

static uint32_t *place_slot(const struct pt_run_cache *cache, const struct pt_run_place *place)
{
	uint64_t i = pt_run_hash(place->ip, place->view << 2 | place->kind) >> 32;

	for (;; ++i) {
		uint32_t *slot = &cache->place_slot[i & cache->place_mask];
		const struct pt_run_place *found = &cache->place[*slot ? *slot - 1 : 0];

		if (!*slot ||
		    (found->ip == place->ip && found->view == place->view && found->kind == place->kind))
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
	uint32_t *slot = place_slot(cache, place);

	if (*slot)
		return *slot - 1;
	if (cache->nplaces >= places_per_path * cache->limit + least_places ||
	    (cache->nplaces == (cache->place_mask + 1) / 2 && grow_places(cache) < 0)) {
		cache->full = 1;
		return -1;
	}
	slot = place_slot(cache, place);
	cache->place[cache->nplaces] = *place;
	*slot = ++cache->nplaces;
	return *slot - 1;
}

int pt_run_cache_seen(struct pt_run_cache *cache, uint32_t place, uint64_t window)
{
	const uint64_t hash = pt_run_hash(window, place);
	uint32_t *tag = &cache->seen[hash >> (64 - seen_bits)];
	const int seen = *tag == (uint32_t)hash;

	*tag = (uint32_t)hash;
	return seen;
}

static int grow_entries(struct pt_run_cache *cache)
{
	const uint64_t count = cache->mask + 1;
	struct pt_run_entry *old = cache->entry, *entry = make_entries(2 * count);

	if (!entry)
		return -1;
	cache->mask = 2 * count - 1;
	cache->shift -= 1;
	cache->entry = entry;
	for (uint64_t i = 0; i < count; ++i) {
		uint64_t to = pt_run_hash(old[i].window, old[i].place) >> cache->shift;

		if (!old[i].path)
			continue;
		while (entry[to & cache->mask].path)
			++to;
		entry[to & cache->mask] = old[i];
	}
	free(old);
	return 0;
}

static size_t aligned(size_t size)
{
	return (size + 15) & ~(size_t)15;
}

static void *take_memory(struct pt_run_cache *cache, size_t size)
{
	struct pt_cache_chunk *chunk = cache->chunk;
	void *memory;

	size = aligned(size);
	if (!chunk || chunk->size - chunk->used < size) {
		const size_t bytes = size > chunk_size ? size : chunk_size;

		chunk = malloc(sizeof(*chunk) + bytes);
		if (!chunk)
			return NULL;
		*chunk = (struct pt_cache_chunk){.next = cache->chunk, .size = bytes};
		cache->chunk = chunk;
	}
	memory = chunk->byte + chunk->used;
	chunk->used += size;
	return memory;
}

static size_t size_of(const struct pt_run_record *record)
{
	size_t size = aligned(sizeof(struct pt_cached_path)) +
	              (record->event ? aligned(sizeof(*record->event)) : 0);

	if (record->block)
		return size + record->entry.nblocks * sizeof(*record->block) + record->entry.ninsn;
	for (int i = 0; i < pt_run_parts; ++i)
		size += aligned(record->part[i].size);
	return size;
}

/* Blocks, and behind them the lengths of their instructions. */
static void keep_blocks(struct pt_run_path *path, uint8_t *to, const struct pt_run_record *record)
{
	struct pt_run_block *block = (struct pt_run_block *)to;
	uint8_t *length = (uint8_t *)(block + record->entry.nblocks);

	path->block = block;
	path->nblocks = record->entry.nblocks;
	path->ninsn = record->entry.ninsn;
	for (uint32_t i = 0; i < record->entry.nblocks; ++i) {
		block[i] = record->block[i];
		block[i].length = memcpy(length, record->block[i].length, block[i].ninsn);
		length += block[i].ninsn;
	}
}

static void keep_parts(struct pt_cached_path *path, uint8_t *to, const struct pt_run_record *record)
{
	for (int i = 0; i < pt_run_parts; ++i) {
		if (!record->part[i].size)
			continue;
		path->part[i] = memcpy(to, record->part[i].bytes, record->part[i].size);
		to += aligned(record->part[i].size);
	}
}

/* All that belongs to a path stands side by side. */
static struct pt_cached_path *keep_path(struct pt_run_cache *cache, const struct pt_run_record *record)
{
	struct pt_cached_path *path = take_memory(cache, size_of(record));
	uint8_t *to = (uint8_t *)path + aligned(sizeof(*path));

	if (!path)
		return NULL;
	memset(path, 0, sizeof(*path));
	if (record->event) {
		path->event = memcpy(to, record->event, sizeof(*record->event));
		to += aligned(sizeof(*record->event));
	}
	if (record->block)
		keep_blocks(&path->path, to, record);
	else
		keep_parts(path, to, record);
	return path;
}

/* Where @entry, which is not there yet, belongs; NULL: too many come before it that can be told from it only
 * by more than one return. */
static struct pt_run_entry *free_entry(const struct pt_run_cache *cache, struct pt_run_entry *entry,
                                       const struct pt_return_stack *before)
{
	uint64_t i = pt_run_hash(entry->window, entry->place) >> cache->shift;
	uint32_t alike = 0;

	for (;; ++i) {
		struct pt_run_entry *found = &cache->entry[i & cache->mask];

		if (!found->path)
			return found;
		if (found->window != entry->window || found->place != entry->place ||
		    ((found->flags ^ entry->flags) & pt_entry_by_return) ||
		    ((found->last ^ entry->last) & found->last_mask))
			continue;
		if (!(entry->flags & pt_entry_by_return)) {
			entry->flags |= pt_entry_by_return;
			entry->window = pt_window_by_return(entry->window, before);
			i = (pt_run_hash(entry->window, entry->place) >> cache->shift) - 1;
		} else if (++alike == max_alike) {
			return NULL;
		}
	}
}

const struct pt_cached_path *pt_run_cache_add(struct pt_run_cache *cache, const struct pt_run_record *record,
                                              const struct pt_return_stack *before)
{
	struct pt_run_entry entry = record->entry, *to;
	struct pt_cached_path *path;

	if (cache->npaths >= cache->limit ||
	    (2 * (uint64_t)cache->npaths > cache->mask && grow_entries(cache) < 0)) {
		cache->full = 1;
		return NULL;
	}
	to = free_entry(cache, &entry, before);
	path = to ? keep_path(cache, record) : NULL;
	if (!path)
		return NULL;
	if (record->effect.npop || record->effect.npush || record->effect.rise) {
		struct pt_stack_effect *effect = take_memory(cache, sizeof(*effect));

		if (!effect)
			return NULL;
		*effect = record->effect;
		entry.effect = effect;
	}
	path->path.id = cache->npaths++;
	entry.path = path;
	*to = entry;
	return path;
}
