/* section_cache.c - every piece of a file once, however often and wherever it is loaded.
 *
 * Three levels. Files, distinct by name, size and time stamp, so that each is mapped once. Pieces are
 * sections, distinct by file and range. Entries are (piece, load address) pairs; their number, counted from
 * one, is the isid that callers see. So a library that is loaded at many addresses is one piece with one
 * block graph. All levels are found by hash; nothing is removed before the cache itself is freed, but the
 * bytes and graphs of pieces that nobody uses come and go (section_keeper.h).
 */
#include "code/section_cache.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "code/array.h"
#include "code/index_table.h"
#include "code/section_keeper.h"

struct cache_entry {
	uint64_t vaddr;
	uint32_t piece;
};

struct pt_image_section_cache {
	char *name;
	struct pt_keeper *keeper;
	pthread_mutex_t lock; /* guards everything below */
	struct pt_file **file;
	size_t nfiles, file_capacity;
	struct pt_section **piece;
	size_t npieces, piece_capacity;
	struct cache_entry *entry;
	size_t nentries, entry_capacity;
	struct pt_index_table file_table;
	struct pt_index_table piece_table;
	struct pt_index_table entry_table;
};

/* ---- what is equal; the cache's address salts the hash: names come out of recordings ------------- */

static uint32_t file_hash(const struct pt_image_section_cache *iscache, const struct pt_file *file)
{
	uint64_t hash = pt_hash_string((uintptr_t)iscache, file->name);

	hash = pt_hash_mix(hash, file->size);
	return (uint32_t)(pt_hash_mix(hash, (uint64_t)file->mtime_nsec) >> 32);
}

static bool same_file(const void *owner, uint32_t index, const void *key)
{
	const struct pt_image_section_cache *iscache = owner;

	return pt_file_same(iscache->file[index], key);
}

/* A piece of one of the cache's files. */
struct piece_key {
	struct pt_file *file;
	uint64_t offset, size;
};

static uint32_t piece_hash(const struct pt_image_section_cache *iscache, const struct piece_key *key)
{
	uint64_t hash = pt_hash_mix((uintptr_t)iscache, (uintptr_t)key->file);

	hash = pt_hash_mix(hash, key->offset);
	return (uint32_t)(pt_hash_mix(hash, key->size) >> 32);
}

static bool same_piece(const void *owner, uint32_t index, const void *key)
{
	const struct pt_image_section_cache *iscache = owner;
	const struct pt_section *a = iscache->piece[index];
	const struct piece_key *b = key;

	return a->file == b->file && a->offset == b->offset && a->size == b->size;
}

static uint32_t entry_hash(const struct pt_image_section_cache *iscache, const struct cache_entry *entry)
{
	return (uint32_t)(pt_hash_mix(pt_hash_mix((uintptr_t)iscache, entry->piece), entry->vaddr) >> 32);
}

static bool same_entry(const void *owner, uint32_t index, const void *key)
{
	const struct pt_image_section_cache *iscache = owner;
	const struct cache_entry *a = &iscache->entry[index], *b = key;

	return a->piece == b->piece && a->vaddr == b->vaddr;
}

/* ---- the three levels; under the lock ---------------------------------------------------------- */

/* Room for one more in an array of at most INT_MAX elements and in its table. */
static void *reserve(void *array, size_t *capacity, size_t count, size_t element,
                     struct pt_index_table *table)
{
	if (count >= INT_MAX - 1 || pt_index_reserve(table) < 0)
		return NULL;
	return pt_array_reserve(array, capacity, count + 1, element);
}

/* The file that is the same as @file, which may become it. Takes over the caller's reference. */
static int take_file(struct pt_image_section_cache *iscache, uint32_t *index, struct pt_file *file)
{
	const uint32_t hash = file_hash(iscache, file);
	struct pt_file **files;

	if (pt_index_find(&iscache->file_table, hash, index, same_file, iscache, file)) {
		pt_file_put(file);
		return 0;
	}
	files = reserve(iscache->file, &iscache->file_capacity, iscache->nfiles, sizeof(struct pt_file *),
	                &iscache->file_table);
	if (!files) {
		pt_file_put(file);
		return -pte_nomem;
	}
	iscache->file = files;
	*index = (uint32_t)iscache->nfiles++;
	files[*index] = file;
	pt_index_insert(&iscache->file_table, hash, *index);
	return 0;
}

static int take_piece(struct pt_image_section_cache *iscache, uint32_t *index, const struct piece_key *key)
{
	const uint32_t hash = piece_hash(iscache, key);
	struct pt_section **piece, *made;

	if (pt_index_find(&iscache->piece_table, hash, index, same_piece, iscache, key))
		return 0;
	piece = reserve(iscache->piece, &iscache->piece_capacity, iscache->npieces,
	                sizeof(struct pt_section *), &iscache->piece_table);
	if (!piece)
		return -pte_nomem;
	iscache->piece = piece;
	if (pt_section_of_file(&made, key->file, key->offset, key->size) < 0)
		return -pte_nomem;
	pt_keeper_adopt(iscache->keeper, made);
	*index = (uint32_t)iscache->npieces++;
	piece[*index] = made;
	pt_index_insert(&iscache->piece_table, hash, *index);
	return 0;
}

static int take_entry(struct pt_image_section_cache *iscache, struct cache_entry key)
{
	const uint32_t hash = entry_hash(iscache, &key);
	struct cache_entry *entry;
	uint32_t index;

	if (pt_index_find(&iscache->entry_table, hash, &index, same_entry, iscache, &key))
		return (int)index + 1;
	entry = reserve(iscache->entry, &iscache->entry_capacity, iscache->nentries, sizeof(*entry),
	                &iscache->entry_table);
	if (!entry)
		return -pte_nomem;
	iscache->entry = entry;
	index = (uint32_t)iscache->nentries++;
	entry[index] = key;
	pt_index_insert(&iscache->entry_table, hash, index);
	return (int)index + 1;
}

/* The isid of [offset, offset + size) of @file at @vaddr. Takes over the reference to @file. */
static int add_piece(struct pt_image_section_cache *iscache, struct pt_file *file, uint64_t offset,
                     uint64_t size, uint64_t vaddr)
{
	struct piece_key key = {.offset = offset, .size = size};
	struct cache_entry entry = {.vaddr = vaddr};
	uint32_t index;
	int status;

	status = take_file(iscache, &index, file);
	if (status < 0)
		return status;
	key.file = iscache->file[index];
	status = take_piece(iscache, &entry.piece, &key);
	return status < 0 ? status : take_entry(iscache, entry);
}

/* ---- public ------------------------------------------------------------------------------------ */

struct pt_image_section_cache *pt_iscache_alloc(const char *name)
{
	struct pt_image_section_cache *iscache = calloc(1, sizeof(*iscache));

	if (!iscache)
		return NULL;
	iscache->keeper = pt_keeper_make();
	iscache->name = name ? strdup(name) : NULL;
	if (!iscache->keeper || (name && !iscache->name) || pthread_mutex_init(&iscache->lock, NULL) != 0) {
		if (iscache->keeper)
			pt_keeper_close(iscache->keeper);
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
	pt_keeper_close(iscache->keeper);
	for (size_t i = 0; i < iscache->npieces; i++)
		pt_section_put(iscache->piece[i]);
	for (size_t i = 0; i < iscache->nfiles; i++)
		pt_file_put(iscache->file[i]);
	pthread_mutex_destroy(&iscache->lock);
	pt_index_free(&iscache->file_table);
	pt_index_free(&iscache->piece_table);
	pt_index_free(&iscache->entry_table);
	free(iscache->file);
	free(iscache->piece);
	free(iscache->entry);
	free(iscache->name);
	free(iscache);
}

int pt_iscache_set_limit(struct pt_image_section_cache *iscache, uint64_t limit)
{
	if (!iscache)
		return -pte_invalid;
	pt_keeper_set_limit(iscache->keeper, limit);
	return 0;
}

const char *pt_iscache_name(const struct pt_image_section_cache *iscache)
{
	return iscache ? iscache->name : NULL;
}

int pt_iscache_add_file(struct pt_image_section_cache *iscache, const char *filename, uint64_t offset,
                        uint64_t size, uint64_t vaddr)
{
	struct pt_file *file;
	uint64_t left;
	int status;

	if (!iscache)
		return -pte_invalid;
	/* The file is looked at each time: one that changed is another one. */
	status = pt_file_make(&file, filename);
	if (status < 0)
		return status;
	if (offset >= file->size) {
		pt_file_put(file);
		return -pte_invalid;
	}
	left = file->size - offset;
	size = pt_clip_to_address_space(vaddr, size < left ? size : left);

	pthread_mutex_lock(&iscache->lock);
	status = add_piece(iscache, file, offset, size, vaddr);
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

		*section = pt_keeper_get(iscache->keeper, iscache->piece[entry->piece]);
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
