/* image.c - which section lies where, in which address space.
 *
 * An image is a sorted array of address spaces, each a sorted array of mappings. The invariant that
 * all look-ups rest on: where two spaces match (an unknown cr3 or vmcs matches any), their mappings
 * do not overlap, because adding a mapping first carves its range out of every matching space. So
 * for a fully known asid at most one mapping can hold an address, whichever space is asked first.
 */
#include "code/image.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "code/array.h"
#include "code/section_cache.h"

/* An asid of the present size. */
struct space_key {
	uint64_t cr3, vmcs;
};

struct space {
	struct space_key key;
	struct pt_mapping *map; /* sorted, disjoint; holds a reference to each section */
	size_t count, capacity;
};

struct pt_image {
	char *name;
	struct space *space; /* sorted by key, so that unknown comes last; each key once */
	size_t nspaces, capacity;
	read_memory_callback_t *callback;
	void *context;
	uint64_t generation;
};

/* Images must differ from each other, and from images that stood at the same address before. */
static uint64_t next_generation(void)
{
	static _Atomic uint64_t counter;

	return atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed) + 1;
}

/* ---- address spaces --------------------------------------------------------------------------- */

#define ASID_HAS(asid, field) ((asid)->size >= offsetof(struct pt_asid, field) + sizeof((asid)->field))

/* Takes the fields that the caller's version of the struct has. */
static struct space_key space_key(const struct pt_asid *asid)
{
	struct space_key key = {.cr3 = pt_asid_no_cr3, .vmcs = pt_asid_no_vmcs};

	if (asid && ASID_HAS(asid, cr3))
		key.cr3 = asid->cr3;
	if (asid && ASID_HAS(asid, vmcs))
		key.vmcs = asid->vmcs;
	return key;
}

static bool key_less(const struct space_key *a, const struct space_key *b)
{
	return a->cr3 != b->cr3 ? a->cr3 < b->cr3 : a->vmcs < b->vmcs;
}

static bool field_matches(uint64_t a, uint64_t b, uint64_t unknown)
{
	return a == b || a == unknown || b == unknown;
}

/* The first space that is not less than @key. */
static size_t space_bound(const struct pt_image *image, const struct space_key *key)
{
	size_t low = 0, high = image->nspaces;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (key_less(&image->space[mid].key, key))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The first space from @i on that matches @key; image->nspaces if there is none. With a known cr3 the
 * candidates are two stretches: that cr3, and the unknown one at the end. */
static size_t next_match(const struct pt_image *image, const struct space_key *key, size_t i)
{
	while (i < image->nspaces) {
		const struct space_key *have = &image->space[i].key;

		if (!field_matches(have->cr3, key->cr3, pt_asid_no_cr3)) {
			struct space_key skip = {.cr3 = have->cr3 < key->cr3 ? key->cr3 : pt_asid_no_cr3};

			i = space_bound(image, &skip);
			continue;
		}
		if (field_matches(have->vmcs, key->vmcs, pt_asid_no_vmcs))
			return i;
		i++;
	}
	return i;
}

/* The space of exactly @key, made if need be; NULL when memory is short. */
static struct space *space_take(struct pt_image *image, const struct space_key *key)
{
	size_t i = space_bound(image, key);
	struct space *space;

	if (i < image->nspaces && !key_less(key, &image->space[i].key))
		return &image->space[i];
	space = pt_array_reserve(image->space, &image->capacity, image->nspaces + 1, sizeof(*space));
	if (!space)
		return NULL;
	image->space = space;
	memmove(&space[i + 1], &space[i], (image->nspaces - i) * sizeof(*space));
	image->nspaces++;
	space[i] = (struct space){.key = *key};
	return &space[i];
}

static void drop_empty_spaces(struct pt_image *image)
{
	size_t kept = 0;

	for (size_t i = 0; i < image->nspaces; i++) {
		if (image->space[i].count)
			image->space[kept++] = image->space[i];
		else
			free(image->space[i].map);
	}
	image->nspaces = kept;
}

/* ---- mappings of one space -------------------------------------------------------------------- */

static uint64_t last_of(const struct pt_mapping *mapping)
{
	return mapping->end - 1; /* end is zero at 2^64 */
}

/* The first mapping that ends behind @vaddr: the one that holds it, or the next one. */
static size_t mapping_bound(const struct space *space, uint64_t vaddr)
{
	size_t low = 0, high = space->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (last_of(&space->map[mid]) < vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static const struct pt_mapping *mapping_at(const struct space *space, uint64_t vaddr)
{
	size_t i = mapping_bound(space, vaddr);

	return i < space->count && space->map[i].begin <= vaddr ? &space->map[i] : NULL;
}

static int space_reserve(struct space *space, size_t more)
{
	struct pt_mapping *map =
	        pt_array_reserve(space->map, &space->capacity, space->count + more, sizeof(*map));

	if (!map)
		return -pte_nomem;
	space->map = map;
	return 0;
}

/* Replaces the @count mappings from @i on by the @nnew ones at @new; there is room. */
static void space_splice(struct space *space, size_t i, size_t count, const struct pt_mapping *new,
                         size_t nnew)
{
	struct pt_mapping *map = space->map;

	for (size_t k = i; k < i + count; k++)
		pt_section_put(map[k].section);
	memmove(&map[i + nnew], &map[i + count], (space->count - i - count) * sizeof(*map));
	memcpy(&map[i], new, nnew * sizeof(*map));
	space->count = space->count - count + nnew;
}

/* The part [begin, last] of @mapping as a mapping of its own. */
static int mapping_part(struct pt_mapping *part, const struct pt_mapping *mapping, uint64_t begin,
                        uint64_t last)
{
	*part = (struct pt_mapping){.begin = begin, .end = last + 1, .isid = mapping->isid};
	return pt_section_slice(&part->section, mapping->section, begin - mapping->begin, last - begin + 1);
}

/* Unmaps [begin, last]; what stands out of it on either side stays. On an error, nothing changed. */
static int space_carve(struct space *space, uint64_t begin, uint64_t last)
{
	size_t first = mapping_bound(space, begin), behind = first, nrest = 0;
	const struct pt_mapping *map = space->map;
	struct pt_mapping rest[2];
	int status;

	while (behind < space->count && map[behind].begin <= last)
		behind++;
	if (first == behind)
		return 0;
	status = space_reserve(space, 1);
	map = space->map;
	if (status == 0 && map[first].begin < begin) {
		status = mapping_part(&rest[0], &map[first], map[first].begin, begin - 1);
		nrest += status == 0;
	}
	if (status == 0 && last_of(&map[behind - 1]) > last) {
		status = mapping_part(&rest[nrest], &map[behind - 1], last + 1, last_of(&map[behind - 1]));
		nrest += status == 0;
	}
	if (status < 0) {
		while (nrest)
			pt_section_put(rest[--nrest].section);
		return status;
	}
	space_splice(space, first, behind - first, rest, nrest);
	return 0;
}

/* ---- changing an image ------------------------------------------------------------------------ */

/* Maps @section at @vaddr, where it fits below 2^64. Takes over the caller's reference. On an error,
 * the new mapping is missing, and what it was to replace may be. */
static int image_add(struct pt_image *image, const struct space_key *key, struct pt_section *section,
                     uint64_t vaddr, int isid)
{
	struct pt_mapping mapping = {
	        .begin = vaddr, .end = vaddr + section->size, .section = section, .isid = isid};
	struct space *space = space_take(image, key);
	/* One for the mapping itself, one for splitting another. */
	int status = space ? space_reserve(space, 2) : -pte_nomem;

	image->generation = next_generation();
	for (size_t i = next_match(image, key, 0); status == 0 && i < image->nspaces;
	     i = next_match(image, key, i + 1))
		status = space_carve(&image->space[i], vaddr, last_of(&mapping));
	if (status < 0) {
		pt_section_put(section);
		return status;
	}
	space_splice(space, mapping_bound(space, vaddr), 0, &mapping, 1);
	return 0;
}

/* Unmaps what came from @filename (NULL: from anywhere) in all spaces that match. */
static int image_remove(struct pt_image *image, const struct space_key *key, const char *filename)
{
	size_t removed = 0;

	for (size_t i = next_match(image, key, 0); i < image->nspaces; i = next_match(image, key, i + 1)) {
		struct space *space = &image->space[i];
		size_t kept = 0;

		for (size_t k = 0; k < space->count; k++) {
			struct pt_section *section = space->map[k].section;

			if (filename && strcmp(section->filename, filename) != 0)
				space->map[kept++] = space->map[k];
			else
				pt_section_put(section);
		}
		removed += space->count - kept;
		space->count = kept;
	}
	if (removed) {
		drop_empty_spaces(image);
		image->generation = next_generation();
	}
	return removed < INT_MAX ? (int)removed : INT_MAX;
}

struct pt_image *pt_image_alloc(const char *name)
{
	struct pt_image *image = calloc(1, sizeof(*image));

	if (!image)
		return NULL;
	if (name) {
		image->name = strdup(name);
		if (!image->name) {
			free(image);
			return NULL;
		}
	}
	image->generation = next_generation();
	return image;
}

void pt_image_free(struct pt_image *image)
{
	if (!image)
		return;
	for (size_t i = 0; i < image->nspaces; i++) {
		for (size_t k = 0; k < image->space[i].count; k++)
			pt_section_put(image->space[i].map[k].section);
		free(image->space[i].map);
	}
	free(image->space);
	free(image->name);
	free(image);
}

const char *pt_image_name(const struct pt_image *image)
{
	return image ? image->name : NULL;
}

int pt_image_add_file(struct pt_image *image, const char *filename, uint64_t offset, uint64_t size,
                      const struct pt_asid *asid, uint64_t vaddr)
{
	struct space_key key = space_key(asid);
	struct pt_section *section;
	int status;

	if (!image || !filename)
		return -pte_invalid;
	if (!size) /* an empty segment of a program: valid, and maps nothing */
		return 0;
	status = pt_section_make(&section, filename, offset, pt_clip_to_address_space(vaddr, size));
	if (status < 0)
		return status;
	return image_add(image, &key, section, vaddr, 0);
}

int pt_image_add_cached(struct pt_image *image, struct pt_image_section_cache *iscache, int isid,
                        const struct pt_asid *asid)
{
	struct space_key key = space_key(asid);
	struct pt_section *section;
	uint64_t vaddr;
	int status;

	if (!image || !iscache)
		return -pte_invalid;
	status = pt_iscache_lookup(iscache, isid, &section, &vaddr);
	if (status < 0)
		return status;
	return image_add(image, &key, section, vaddr, isid);
}

int pt_image_copy(struct pt_image *image, const struct pt_image *src)
{
	int ignored = 0;

	if (!image || !src)
		return -pte_invalid;
	if (image == src)
		return 0;
	for (size_t i = 0; i < src->nspaces; i++) {
		const struct space *space = &src->space[i];

		for (size_t k = 0; k < space->count; k++) {
			const struct pt_mapping *mapping = &space->map[k];

			if (image_add(image, &space->key, pt_section_get(mapping->section), mapping->begin,
			              mapping->isid) < 0 &&
			    ignored < INT_MAX)
				ignored++;
		}
	}
	return ignored;
}

int pt_image_remove_by_filename(struct pt_image *image, const char *filename, const struct pt_asid *asid)
{
	struct space_key key = space_key(asid);

	return image && filename ? image_remove(image, &key, filename) : -pte_invalid;
}

int pt_image_remove_by_asid(struct pt_image *image, const struct pt_asid *asid)
{
	struct space_key key = space_key(asid);

	return image ? image_remove(image, &key, NULL) : -pte_invalid;
}

int pt_image_set_callback(struct pt_image *image, read_memory_callback_t *callback, void *context)
{
	if (!image)
		return -pte_invalid;
	image->callback = callback;
	image->context = context;
	image->generation = next_generation();
	return 0;
}

/* ---- asking an image -------------------------------------------------------------------------- */

uint64_t pt_image_generation(const struct pt_image *image)
{
	return image->generation;
}

static const struct pt_mapping *lookup(const struct pt_image *image, const struct space_key *key,
                                       uint64_t vaddr)
{
	const struct pt_mapping *mapping = NULL;
	size_t exact = space_bound(image, key);

	if (exact < image->nspaces && !key_less(key, &image->space[exact].key))
		mapping = mapping_at(&image->space[exact], vaddr);
	for (size_t i = next_match(image, key, 0); !mapping && i < image->nspaces;
	     i = next_match(image, key, i + 1))
		mapping = mapping_at(&image->space[i], vaddr);
	return mapping;
}

const struct pt_mapping *pt_image_lookup(const struct pt_image *image, const struct pt_asid *asid,
                                         uint64_t vaddr)
{
	struct space_key key = space_key(asid);

	return lookup(image, &key, vaddr);
}

/* How many of the @size bytes at @vaddr, which is not mapped, lie before the next mapping. */
static uint64_t gap_at(const struct pt_image *image, const struct space_key *key, uint64_t vaddr,
                       uint64_t size)
{
	for (size_t i = next_match(image, key, 0); i < image->nspaces; i = next_match(image, key, i + 1)) {
		const struct space *space = &image->space[i];
		size_t next = mapping_bound(space, vaddr);

		if (next < space->count && space->map[next].begin - vaddr < size)
			size = space->map[next].begin - vaddr;
	}
	return size;
}

static int read_callback(const struct pt_image *image, const struct space_key *key, uint8_t *buffer,
                         uint64_t size, uint64_t vaddr)
{
	struct pt_asid asid = {.size = sizeof(asid), .cr3 = key->cr3, .vmcs = key->vmcs};
	int status;

	if (!image->callback)
		return -pte_nomap;
	size = gap_at(image, key, vaddr, size);
	status = image->callback(buffer, size, &asid, vaddr, image->context);
	if (status > 0 && (uint64_t)status > size) /* nobody knows what it wrote */
		return -pte_internal;
	return status ? status : -pte_nomap;
}

static int read_mapping(const struct pt_mapping *mapping, uint8_t *buffer, uint64_t size, uint64_t vaddr)
{
	uint64_t left = mapping->end - vaddr;
	const uint8_t *bytes;
	int errcode;

	bytes = pt_section_bytes(mapping->section, &errcode);
	if (!bytes)
		return errcode;
	if (size > left)
		size = left;
	memcpy(buffer, bytes + (vaddr - mapping->begin), size);
	return (int)size;
}

int pt_image_read(struct pt_image *image, int *isid, uint8_t *buffer, uint16_t size,
                  const struct pt_asid *asid, uint64_t vaddr)
{
	struct space_key key = space_key(asid);
	uint64_t wanted = pt_clip_to_address_space(vaddr, size), done = 0;
	int status = -pte_nomap;

	while (done < wanted) {
		const struct pt_mapping *mapping = lookup(image, &key, vaddr + done);

		status = mapping ? read_mapping(mapping, buffer + done, wanted - done, vaddr + done)
		                 : read_callback(image, &key, buffer + done, wanted - done, vaddr + done);
		if (status <= 0)
			break;
		if (!done)
			*isid = mapping ? mapping->isid : 0;
		done += (uint64_t)status;
	}
	return done ? (int)done : status;
}
