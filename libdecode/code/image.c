/* image.c - which section lies where, in which address space.
 *
 * An image is an ordered tree of address spaces, each an ordered tree of mappings. The invariant that
 * all look-ups rest on: where two spaces match (an unknown cr3 or vmcs matches any), their mappings
 * do not overlap, because adding a mapping first carves its range out of every matching space. So
 * for a fully known asid at most one mapping can hold an address, whichever space is asked first.
 * A third kind of tree finds the mappings that came from a file.
 */
#include "code/image.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "code/section_cache.h"

/* An asid of the present size. */
struct space_key {
	uint64_t cr3, vmcs;
};

struct space {
	struct pt_tree_node node; /* in the image; unknown comes last; each key once */
	struct space_key key;
	struct pt_tree_node *mappings; /* never empty; each holds a reference to its section */
};

/* The mappings from files of one name. */
struct named_file {
	struct pt_tree_node node; /* in the image */
	struct pt_file *file;     /* a reference to one of them, which may be used again */
	struct pt_mapping *first; /* never NULL */
};

enum { page_size = 4096 };

struct pt_image {
	char *name;
	struct pt_tree_node *spaces;
	struct pt_tree_node *files;
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

static struct space *space_of(const struct pt_tree_node *node)
{
	return PT_TREE_ENTRY(node, struct space, node);
}

static bool space_less(const struct pt_tree_node *a, const struct pt_tree_node *b)
{
	return key_less(&space_of(a)->key, &space_of(b)->key);
}

/* The first space that is not less than @key; NULL: there is none. */
static struct space *space_bound(const struct pt_image *image, const struct space_key *key)
{
	const struct pt_tree_node *node = image->spaces;
	struct space *bound = NULL;

	while (node) {
		struct space *space = space_of(node);

		if (key_less(&space->key, key)) {
			node = node->right;
		} else {
			bound = space;
			node = node->left;
		}
	}
	return bound;
}

/* The next value of a field that matches @wanted, when @have does not: itself, or unknown. */
static uint64_t next_field(uint64_t have, uint64_t wanted, uint64_t unknown)
{
	return have < wanted ? wanted : unknown;
}

static bool field_matches(uint64_t a, uint64_t b, uint64_t unknown)
{
	return a == b || a == unknown || b == unknown;
}

/* The first space from @from on that matches @key. What cannot match is skipped, not searched. */
static struct space *next_match(const struct pt_image *image, const struct space_key *key,
                                struct space_key from)
{
	for (;;) {
		struct space *space = space_bound(image, &from);

		if (!space)
			return NULL;
		from = space->key;
		if (!field_matches(from.cr3, key->cr3, pt_asid_no_cr3)) {
			from.cr3 = next_field(from.cr3, key->cr3, pt_asid_no_cr3);
			from.vmcs = 0;
		} else if (!field_matches(from.vmcs, key->vmcs, pt_asid_no_vmcs)) {
			from.vmcs = next_field(from.vmcs, key->vmcs, pt_asid_no_vmcs);
		} else {
			return space;
		}
	}
}

static struct space *first_match(const struct pt_image *image, const struct space_key *key)
{
	return next_match(image, key, (struct space_key){0, 0});
}

/* The first one behind @last that matches @key. */
static struct space *match_behind(const struct pt_image *image, const struct space_key *key,
                                  struct space_key last)
{
	last.vmcs += 1;
	if (!last.vmcs && !++last.cr3)
		return NULL;
	return next_match(image, key, last);
}

/* The space of exactly @key, made if need be; NULL when memory is short. */
static struct space *space_take(struct pt_image *image, const struct space_key *key)
{
	struct space *space = space_bound(image, key);

	if (space && !key_less(key, &space->key))
		return space;
	space = calloc(1, sizeof(*space));
	if (!space)
		return NULL;
	space->key = *key;
	pt_tree_insert(&image->spaces, &space->node, space_less);
	return space;
}

/* ---- mappings by file ------------------------------------------------------------------------- */

static struct named_file *named_of(const struct pt_tree_node *node)
{
	return PT_TREE_ENTRY(node, struct named_file, node);
}

static bool named_less(const struct pt_tree_node *a, const struct pt_tree_node *b)
{
	return strcmp(named_of(a)->file->name, named_of(b)->file->name) < 0;
}

static struct named_file *named_find(const struct pt_image *image, const char *name)
{
	const struct pt_tree_node *node = image->files;

	while (node) {
		int order = strcmp(name, named_of(node)->file->name);

		if (!order)
			return named_of(node);
		node = order < 0 ? node->left : node->right;
	}
	return NULL;
}

/* The list for @file's name, made if need be; NULL when memory is short. */
static struct named_file *named_take(struct pt_image *image, struct pt_file *file)
{
	struct named_file *named = named_find(image, file->name);

	if (named)
		return named;
	named = calloc(1, sizeof(*named));
	if (!named)
		return NULL;
	named->file = pt_file_get(file);
	pt_tree_insert(&image->files, &named->node, named_less);
	return named;
}

static void named_drop(struct pt_image *image, struct named_file *named)
{
	if (named->first)
		return;
	pt_tree_remove(&image->files, &named->node, named_less);
	pt_file_put(named->file);
	free(named);
}

/* ---- mappings of one space -------------------------------------------------------------------- */

static struct pt_mapping *mapping_of(const struct pt_tree_node *node)
{
	return PT_TREE_ENTRY(node, struct pt_mapping, node);
}

static bool mapping_less(const struct pt_tree_node *a, const struct pt_tree_node *b)
{
	return mapping_of(a)->begin < mapping_of(b)->begin;
}

static uint64_t last_of(const struct pt_mapping *mapping)
{
	return mapping->end - 1; /* end is zero at 2^64 */
}

/* The first mapping that ends behind @vaddr: the one that holds it, or the next one; NULL: none. */
static struct pt_mapping *mapping_bound(const struct space *space, uint64_t vaddr)
{
	const struct pt_tree_node *node = space->mappings;
	struct pt_mapping *bound = NULL;

	while (node) {
		struct pt_mapping *mapping = mapping_of(node);

		if (last_of(mapping) < vaddr) {
			node = node->right;
		} else {
			bound = mapping;
			node = node->left;
		}
	}
	return bound;
}

static struct pt_mapping *mapping_at(const struct space *space, uint64_t vaddr)
{
	struct pt_mapping *mapping = mapping_bound(space, vaddr);

	return mapping && mapping->begin <= vaddr ? mapping : NULL;
}

/* A mapping of @section, not yet in the image. Takes over the caller's reference, whatever comes. */
static struct pt_mapping *mapping_make(struct pt_image *image, struct pt_section *section, uint64_t begin,
                                       int isid)
{
	struct pt_mapping *mapping = calloc(1, sizeof(*mapping));
	struct named_file *named = mapping ? named_take(image, section->file) : NULL;

	if (!named) {
		free(mapping);
		pt_section_put(section);
		return NULL;
	}
	mapping->begin = begin;
	mapping->end = begin + section->size;
	mapping->section = section;
	mapping->isid = isid;
	mapping->file = named;
	mapping->next = named->first;
	mapping->link = &named->first;
	if (named->first)
		named->first->link = &mapping->next;
	named->first = mapping;
	return mapping;
}

/* @mapping is not in a space. */
static void mapping_free(struct pt_image *image, struct pt_mapping *mapping)
{
	if (!mapping)
		return;
	*mapping->link = mapping->next;
	if (mapping->next)
		mapping->next->link = mapping->link;
	named_drop(image, mapping->file);
	pt_section_put(mapping->section);
	free(mapping);
}

static void space_add(struct space *space, struct pt_mapping *mapping)
{
	mapping->space = space;
	pt_tree_insert(&space->mappings, &mapping->node, mapping_less);
}

static void mapping_remove(struct pt_image *image, struct pt_mapping *mapping)
{
	pt_tree_remove(&mapping->space->mappings, &mapping->node, mapping_less);
	mapping_free(image, mapping);
}

/* An empty space goes. */
static void space_drop(struct pt_image *image, struct space *space)
{
	if (space->mappings)
		return;
	pt_tree_remove(&image->spaces, &space->node, space_less);
	free(space);
}

/* The part [begin, last] of @mapping as a mapping of its own. */
static int mapping_part(struct pt_image *image, struct pt_mapping **part, const struct pt_mapping *mapping,
                        uint64_t begin, uint64_t last)
{
	struct pt_section *slice;
	int status;

	status = pt_section_slice(&slice, mapping->section, begin - mapping->begin, last - begin + 1);
	if (status < 0)
		return status;
	*part = mapping_make(image, slice, begin, mapping->isid);
	return *part ? 0 : -pte_nomem;
}

static struct pt_mapping *overlapping(const struct space *space, uint64_t begin, uint64_t last)
{
	struct pt_mapping *mapping = mapping_bound(space, begin);

	return mapping && mapping->begin <= last ? mapping : NULL;
}

/* Unmaps [begin, last]; what stands out of it on either side stays. On an error, nothing changed. The
 * space may be gone afterwards. */
static int space_carve(struct pt_image *image, struct space *space, uint64_t begin, uint64_t last)
{
	struct pt_mapping *left = NULL, *right = NULL, *first = overlapping(space, begin, last), *old;
	int status = 0;

	if (!first)
		return 0;
	if (first->begin < begin)
		status = mapping_part(image, &left, first, first->begin, begin - 1);
	old = mapping_at(space, last);
	if (status == 0 && old && last_of(old) > last)
		status = mapping_part(image, &right, old, last + 1, last_of(old));
	if (status < 0) {
		mapping_free(image, left);
		return status;
	}
	while ((old = overlapping(space, begin, last)))
		mapping_remove(image, old);
	if (left)
		space_add(space, left);
	if (right)
		space_add(space, right);
	space_drop(image, space);
	return 0;
}

/* ---- changing an image ------------------------------------------------------------------------ */

/* Maps @section at @vaddr, where it fits below 2^64. Takes over the caller's reference. On an error,
 * the new mapping is missing, and what it was to replace may be. */
static int image_add(struct pt_image *image, const struct space_key *key, struct pt_section *section,
                     uint64_t vaddr, int isid)
{
	struct pt_mapping *mapping = mapping_make(image, section, vaddr, isid);
	struct space_key at = {0, 0};
	struct space *space;
	int status = mapping ? 0 : -pte_nomem;

	image->generation = next_generation();
	for (space = first_match(image, key); status == 0 && space; space = match_behind(image, key, at)) {
		at = space->key;
		status = space_carve(image, space, vaddr, last_of(mapping));
	}
	space = status == 0 ? space_take(image, key) : NULL;
	if (!space) {
		mapping_free(image, mapping);
		return -pte_nomem;
	}
	space_add(space, mapping);
	return 0;
}

/* Unmaps all that matches. */
static int remove_everything(struct pt_image *image, const struct space_key *key)
{
	struct space_key at;
	struct space *space;
	int removed = 0;

	for (space = first_match(image, key); space; space = match_behind(image, key, at)) {
		struct pt_tree_node *node;

		at = space->key;
		while ((node = pt_tree_pop(&space->mappings))) {
			mapping_free(image, mapping_of(node));
			removed++;
		}
		space_drop(image, space);
	}
	return removed;
}

/* Unmaps all that matches and came from @named, which may be gone afterwards. */
static int remove_named(struct pt_image *image, const struct space_key *key, struct named_file *named)
{
	struct pt_mapping *mapping, *next;
	int removed = 0;

	for (mapping = named->first; mapping; mapping = next) {
		struct space *space = mapping->space;

		next = mapping->next;
		if (!field_matches(space->key.cr3, key->cr3, pt_asid_no_cr3) ||
		    !field_matches(space->key.vmcs, key->vmcs, pt_asid_no_vmcs))
			continue;
		mapping_remove(image, mapping);
		space_drop(image, space);
		removed++;
	}
	return removed;
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
	const struct space_key any = {pt_asid_no_cr3, pt_asid_no_vmcs};

	if (!image)
		return;
	remove_everything(image, &any);
	free(image->name);
	free(image);
}

const char *pt_image_name(const struct pt_image *image)
{
	return image ? image->name : NULL;
}

/* Looks at a file. One that is mapped already is not made anew: its sections then share the file's bytes. */
static int known_file(struct pt_image *image, struct pt_file **file, const char *filename)
{
	struct named_file *named;
	int status = pt_file_make(file, filename);

	named = status < 0 ? NULL : named_find(image, filename);
	if (!named)
		return status;
	if (pt_file_same(named->file, *file)) {
		pt_file_put(*file);
		*file = pt_file_get(named->file);
	} else {
		pt_file_put(named->file);
		named->file = pt_file_get(*file);
	}
	return 0;
}

int pt_image_add_file(struct pt_image *image, const char *filename, uint64_t offset, uint64_t size,
                      const struct pt_asid *asid, uint64_t vaddr)
{
	struct space_key key = space_key(asid);
	struct pt_section *section;
	struct pt_file *file;
	int status;

	if (!image || !filename)
		return -pte_invalid;
	status = known_file(image, &file, filename);
	if (status < 0)
		return status;
	if (offset >= file->size) {
		pt_file_put(file);
		return -pte_invalid;
	}
	size = pt_clip_to_address_space(vaddr, size < file->size - offset ? size : file->size - offset);
	/* An empty segment of a program is valid and maps nothing. */
	status = size ? pt_section_of_file(&section, file, offset, size) : 0;
	pt_file_put(file);
	if (status < 0 || !size)
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
	if (!section->size) {
		pt_section_put(section);
		return 0;
	}
	return image_add(image, &key, section, vaddr, isid);
}

/* The mappings of @space in the order of their addresses, each a search: @image is another one. */
static int copy_space(struct pt_image *image, const struct space *space)
{
	const struct pt_mapping *mapping = mapping_bound(space, 0);
	int ignored = 0;

	while (mapping) {
		ignored += image_add(image, &space->key, pt_section_get(mapping->section), mapping->begin,
		                     mapping->isid) < 0;
		mapping = mapping->end ? mapping_bound(space, mapping->end) : NULL;
	}
	return ignored;
}

int pt_image_copy(struct pt_image *image, const struct pt_image *src)
{
	const struct space_key any = {pt_asid_no_cr3, pt_asid_no_vmcs};
	const struct space *space;
	int ignored = 0;

	if (!image || !src)
		return -pte_invalid;
	if (image == src)
		return 0;
	for (space = first_match(src, &any); space; space = match_behind(src, &any, space->key))
		ignored += copy_space(image, space);
	return ignored;
}

int pt_image_remove_by_filename(struct pt_image *image, const char *filename, const struct pt_asid *asid)
{
	struct space_key key = space_key(asid);
	struct named_file *named;
	int removed;

	if (!image || !filename)
		return -pte_invalid;
	named = named_find(image, filename);
	removed = named ? remove_named(image, &key, named) : 0;
	if (removed)
		image->generation = next_generation();
	return removed;
}

int pt_image_remove_by_asid(struct pt_image *image, const struct pt_asid *asid)
{
	struct space_key key = space_key(asid);
	int removed;

	if (!image)
		return -pte_invalid;
	removed = remove_everything(image, &key);
	if (removed)
		image->generation = next_generation();
	return removed;
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
	const struct space *space = space_bound(image, key);
	const struct pt_mapping *mapping = NULL;

	if (space && !key_less(key, &space->key))
		mapping = mapping_at(space, vaddr);
	for (space = mapping ? NULL : first_match(image, key); !mapping && space;
	     space = match_behind(image, key, space->key))
		mapping = mapping_at(space, vaddr);
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
	const struct space *space;

	for (space = first_match(image, key); space; space = match_behind(image, key, space->key)) {
		const struct pt_mapping *next = mapping_bound(space, vaddr);

		if (next && next->begin - vaddr < size)
			size = next->begin - vaddr;
	}
	return size;
}

/* How much to ask for when @size was too much: up to the end of the page, where memory is most likely to end.
 */
static uint64_t less_than(uint64_t size, uint64_t vaddr)
{
	const uint64_t left = page_size - vaddr % page_size;

	return size > left ? left : size / 2;
}

/* Some callbacks give all or nothing: where memory ends within @size, they are asked for less. */
static int read_callback(const struct pt_image *image, const struct space_key *key, uint8_t *buffer,
                         uint64_t size, uint64_t vaddr)
{
	struct pt_asid asid = {.size = sizeof(asid), .cr3 = key->cr3, .vmcs = key->vmcs};
	int status;

	if (!image->callback)
		return -pte_nomap;
	size = gap_at(image, key, vaddr, size);
	do {
		status = image->callback(buffer, size, &asid, vaddr, image->context);
		if (status > 0 && (uint64_t)status > size) /* nobody knows what it wrote */
			return -pte_internal;
	} while (status < 0 && (size = less_than(size, vaddr)));
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
