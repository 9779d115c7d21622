/* section_cache.c - every piece of a file once, however often and wherever it is loaded.
 *
 * Two levels. Pieces are sections, distinct by file (name, size, time stamp) and range; the sections
 * that callers name are slices of one whole-file section, so that a file is mapped once. Entries are
 * (piece, load address) pairs; their number, counted from one, is the isid that callers see. So a
 * library that is loaded at many addresses is one piece with one block graph. Both levels are found by
 * hash; nothing is removed before the cache itself is freed.
 */
#include "code/section_cache.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "code/array.h"

struct index_slot {
	uint32_t hash;
	uint32_t index; /* plus one; zero: empty */
};

/* An open-addressing table of indices into an array; at most half full, its size a power of two. */
struct index_table {
	struct index_slot *slot;
	size_t size;
	size_t count;
};

struct cache_entry {
	uint64_t vaddr;
	uint32_t piece;
};

struct pt_image_section_cache {
	char *name;
	pthread_mutex_t lock; /* guards everything below */
	struct pt_section **piece;
	size_t npieces, piece_capacity;
	struct cache_entry *entry;
	size_t nentries, entry_capacity;
	struct index_table piece_table;
	struct index_table entry_table;
};

/* ---- hashing ---------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

static uint64_t mix_string(uint64_t hash, const char *string)
{
	size_t left = strlen(string);

	while (left) {
		size_t step = left < sizeof(uint64_t) ? left : sizeof(uint64_t);
		uint64_t value = 0;

		memcpy(&value, string, step);
		hash = mix(hash, value);
		string += step;
		left -= step;
	}
	return hash;
}

/* The cache's address salts the hash: names come out of recordings, whose makers do not know it. */
static uint32_t piece_hash(const struct pt_image_section_cache *iscache, const struct pt_section *section)
{
	uint64_t hash = mix_string((uintptr_t)iscache, section->filename);

	hash = mix(hash, section->offset);
	hash = mix(hash, section->size);
	hash = mix(hash, (uint64_t)section->mtime_nsec);
	return (uint32_t)(mix(hash, section->file_size) >> 32);
}

static uint32_t entry_hash(const struct pt_image_section_cache *iscache, const struct cache_entry *entry)
{
	return (uint32_t)(mix(mix((uintptr_t)iscache, entry->piece), entry->vaddr) >> 32);
}

typedef bool same_fn(const struct pt_image_section_cache *iscache, uint32_t index, const void *key);

static bool same_piece(const struct pt_image_section_cache *iscache, uint32_t index, const void *key)
{
	const struct pt_section *a = iscache->piece[index], *b = key;

	return a->offset == b->offset && a->size == b->size && a->file_size == b->file_size &&
	       a->mtime_sec == b->mtime_sec && a->mtime_nsec == b->mtime_nsec &&
	       strcmp(a->filename, b->filename) == 0;
}

static bool same_entry(const struct pt_image_section_cache *iscache, uint32_t index, const void *key)
{
	const struct cache_entry *a = &iscache->entry[index], *b = key;

	return a->piece == b->piece && a->vaddr == b->vaddr;
}

static bool table_find(const struct index_table *table, uint32_t hash, uint32_t *index, same_fn *same,
                       const struct pt_image_section_cache *iscache, const void *key)
{
	if (!table->size)
		return false;
	for (size_t i = hash;; i++) {
		const struct index_slot *slot = &table->slot[i & (table->size - 1)];

		if (!slot->index)
			return false;
		if (slot->hash == hash && same(iscache, slot->index - 1, key)) {
			*index = slot->index - 1;
			return true;
		}
	}
}

/* There is room: see table_reserve(). */
static void table_insert(struct index_table *table, struct index_slot slot)
{
	size_t i = slot.hash & (table->size - 1);

	while (table->slot[i].index)
		i = (i + 1) & (table->size - 1);
	table->slot[i] = slot;
	table->count++;
}

/* Makes room for one more. */
static int table_reserve(struct index_table *table)
{
	struct index_table larger = {.size = table->size ? table->size * 2 : 64};

	if (table->count < table->size / 2)
		return 0;
	larger.slot = calloc(larger.size, sizeof(*larger.slot));
	if (!larger.slot)
		return -pte_nomem;
	for (size_t i = 0; i < table->size; i++)
		if (table->slot[i].index)
			table_insert(&larger, table->slot[i]);
	free(table->slot);
	*table = larger;
	return 0;
}

/* ---- the two levels; under the lock ------------------------------------------------------------ */

static int append_piece(struct pt_image_section_cache *iscache, struct pt_section *section)
{
	struct pt_section **piece = pt_array_reserve(iscache->piece, &iscache->piece_capacity,
	                                             iscache->npieces + 1, sizeof(*piece));

	if (!piece || iscache->npieces >= INT_MAX)
		return -pte_nomem;
	iscache->piece = piece;
	piece[iscache->npieces] = section;
	return (int)iscache->npieces++;
}

static int append_entry(struct pt_image_section_cache *iscache, struct cache_entry added)
{
	struct cache_entry *entry = pt_array_reserve(iscache->entry, &iscache->entry_capacity,
	                                             iscache->nentries + 1, sizeof(*entry));

	if (!entry || iscache->nentries >= INT_MAX - 1)
		return -pte_nomem;
	iscache->entry = entry;
	entry[iscache->nentries] = added;
	return (int)iscache->nentries++;
}

/* The piece that is the same as @section, which may become it. Takes over the caller's reference. */
static int take_piece(struct pt_image_section_cache *iscache, uint32_t *index, struct pt_section *section)
{
	uint32_t hash = piece_hash(iscache, section);
	int status;

	if (table_find(&iscache->piece_table, hash, index, same_piece, iscache, section)) {
		pt_section_put(section);
		return 0;
	}
	status = table_reserve(&iscache->piece_table);
	if (status == 0)
		status = append_piece(iscache, section);
	if (status < 0) {
		pt_section_put(section);
		return status;
	}
	*index = (uint32_t)status;
	table_insert(&iscache->piece_table, (struct index_slot){hash, *index + 1});
	return 0;
}

static int take_entry(struct pt_image_section_cache *iscache, struct cache_entry entry)
{
	uint32_t hash = entry_hash(iscache, &entry), index;
	int status;

	if (table_find(&iscache->entry_table, hash, &index, same_entry, iscache, &entry))
		return (int)index + 1;
	status = table_reserve(&iscache->entry_table);
	if (status == 0)
		status = append_entry(iscache, entry);
	if (status < 0)
		return status;
	table_insert(&iscache->entry_table, (struct index_slot){hash, (uint32_t)status + 1});
	return status + 1;
}

/* The isid of [offset, offset + size) of @whole at @vaddr. Takes over the reference to @whole. */
static int add_slice(struct pt_image_section_cache *iscache, struct pt_section *whole, uint64_t offset,
                     uint64_t size, uint64_t vaddr)
{
	struct cache_entry entry = {.vaddr = vaddr};
	struct pt_section *slice;
	uint32_t index;
	int status;

	status = take_piece(iscache, &index, whole);
	if (status < 0)
		return status;
	status = pt_section_slice(&slice, iscache->piece[index], offset, size);
	if (status < 0)
		return status;
	status = take_piece(iscache, &entry.piece, slice);
	if (status < 0)
		return status;
	return take_entry(iscache, entry);
}

/* ---- public ----------------------------------------------------------------------------------- */

struct pt_image_section_cache *pt_iscache_alloc(const char *name)
{
	struct pt_image_section_cache *iscache = calloc(1, sizeof(*iscache));

	if (!iscache)
		return NULL;
	if (name) {
		iscache->name = strdup(name);
		if (!iscache->name) {
			free(iscache);
			return NULL;
		}
	}
	if (pthread_mutex_init(&iscache->lock, NULL) != 0) {
		free(iscache->name);
		free(iscache);
		return NULL;
	}
	return iscache;
}

void pt_iscache_free(struct pt_image_section_cache *iscache)
{
	if (!iscache)
		return;
	for (size_t i = 0; i < iscache->npieces; i++)
		pt_section_put(iscache->piece[i]);
	pthread_mutex_destroy(&iscache->lock);
	free(iscache->piece_table.slot);
	free(iscache->entry_table.slot);
	free(iscache->piece);
	free(iscache->entry);
	free(iscache->name);
	free(iscache);
}

const char *pt_iscache_name(const struct pt_image_section_cache *iscache)
{
	return iscache ? iscache->name : NULL;
}

int pt_iscache_add_file(struct pt_image_section_cache *iscache, const char *filename, uint64_t offset,
                        uint64_t size, uint64_t vaddr)
{
	struct pt_section *whole;
	uint64_t left;
	int status;

	if (!iscache || !filename || !size)
		return -pte_invalid;
	/* The file is looked at each time: one that changed is another one. */
	status = pt_section_make(&whole, filename, 0, UINT64_MAX);
	if (status < 0)
		return status;
	if (offset >= whole->size) {
		pt_section_put(whole);
		return -pte_invalid;
	}
	left = whole->size - offset;
	size = pt_clip_to_address_space(vaddr, size < left ? size : left);

	pthread_mutex_lock(&iscache->lock);
	status = add_slice(iscache, whole, offset, size, vaddr);
	pthread_mutex_unlock(&iscache->lock);
	return status;
}

int pt_iscache_lookup(struct pt_image_section_cache *iscache, int isid, struct pt_section **section,
                      uint64_t *vaddr)
{
	int status = -pte_bad_image;

	pthread_mutex_lock(&iscache->lock);
	if (isid > 0 && (size_t)isid <= iscache->nentries) {
		const struct cache_entry *entry = &iscache->entry[isid - 1];

		*section = pt_section_get(iscache->piece[entry->piece]);
		*vaddr = entry->vaddr;
		status = 0;
	}
	pthread_mutex_unlock(&iscache->lock);
	return status;
}

int pt_iscache_read(struct pt_image_section_cache *iscache, uint8_t *buffer, uint64_t size, int isid,
                    uint64_t vaddr)
{
	struct pt_section *section;
	const uint8_t *bytes;
	uint64_t begin, offset;
	int status;

	if (!iscache || !buffer || !size)
		return -pte_invalid;
	status = pt_iscache_lookup(iscache, isid, &section, &begin);
	if (status < 0)
		return status;

	offset = vaddr - begin;
	if (vaddr < begin || offset >= section->size) {
		status = -pte_nomap;
	} else if ((bytes = pt_section_bytes(section, &status))) {
		if (size > section->size - offset)
			size = section->size - offset;
		if (size > INT_MAX)
			size = INT_MAX;
		memcpy(buffer, bytes + offset, size);
		status = (int)size;
	}
	pt_section_put(section);
	return status;
}
