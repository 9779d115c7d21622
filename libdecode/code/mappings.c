/* mappings.c - see mappings.h.
 *
 * An ordered tree of address spaces, each an ordered tree of mappings. The invariant that all look-ups rest
 * on: where two spaces match (an unknown cr3 or vmcs matches any), their mappings do not overlap, because
 * adding a mapping first carves its range out of every matching space. So for a fully known asid at most one
 * mapping can hold an address, whichever space is asked first. A third kind of tree finds the mappings that
 * came from a file.
 */
#include "code/mappings.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct space {
	struct pt_tree_node node; /* unknown comes last; each key once */
	struct pt_space_key key;
	struct pt_tree_node *mappings; /* never empty; each holds a reference to its section */
};

/* The mappings from files of one name. */
struct named_file {
	struct pt_tree_node node;
	struct pt_file *file;     /* a reference to one of them, which may be used again */
	struct pt_mapping *first; /* never NULL */
};

/* ---- address spaces --------------------------------------------------------------------------- */

#define ASID_HAS(asid, field) ((asid)->size >= offsetof(struct pt_asid, field) + sizeof((asid)->field))

struct pt_space_key pt_space_key(const struct pt_asid *asid)
{
	struct pt_space_key key = {.cr3 = pt_asid_no_cr3, .vmcs = pt_asid_no_vmcs};

	if (asid && ASID_HAS(asid, cr3))
		key.cr3 = asid->cr3;
	if (asid && ASID_HAS(asid, vmcs))
		key.vmcs = asid->vmcs;
	return key;
}

static bool key_less(const struct pt_space_key *a, const struct pt_space_key *b)
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
static struct space *space_bound(const struct pt_mappings *all, const struct pt_space_key *key)
{
	const struct pt_tree_node *node = all->spaces;
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
static struct space *next_match(const struct pt_mappings *all, const struct pt_space_key *key,
                                struct pt_space_key from)
{
	for (;;) {
		struct space *space = space_bound(all, &from);

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

static struct space *first_match(const struct pt_mappings *all, const struct pt_space_key *key)
{
	return next_match(all, key, (struct pt_space_key){0, 0});
}

/* The first one behind @last that matches @key. */
static struct space *match_behind(const struct pt_mappings *all, const struct pt_space_key *key,
                                  struct pt_space_key last)
{
	last.vmcs += 1;
	if (!last.vmcs && !++last.cr3)
		return NULL;
	return next_match(all, key, last);
}

/* The space of exactly @key, made if need be; NULL when memory is short. */
static struct space *space_take(struct pt_mappings *all, const struct pt_space_key *key)
{
	struct space *space = space_bound(all, key);

	if (space && !key_less(key, &space->key))
		return space;
	space = calloc(1, sizeof(*space));
	if (!space)
		return NULL;
	space->key = *key;
	pt_tree_insert(&all->spaces, &space->node, space_less);
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

static struct named_file *named_find(const struct pt_mappings *all, const char *name)
{
	const struct pt_tree_node *node = all->files;

	while (node) {
		int order = strcmp(name, named_of(node)->file->name);

		if (!order)
			return named_of(node);
		node = order < 0 ? node->left : node->right;
	}
	return NULL;
}

/* The list for @file's name, made if need be; NULL when memory is short. */
static struct named_file *named_take(struct pt_mappings *all, struct pt_file *file)
{
	struct named_file *named = named_find(all, file->name);

	if (named)
		return named;
	named = calloc(1, sizeof(*named));
	if (!named)
		return NULL;
	named->file = pt_file_get(file);
	pt_tree_insert(&all->files, &named->node, named_less);
	return named;
}

static void named_drop(struct pt_mappings *all, struct named_file *named)
{
	if (named->first)
		return;
	pt_tree_remove(&all->files, &named->node, named_less);
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

/* A mapping of @section, not yet in a space. Takes over the caller's reference, whatever comes. */
static struct pt_mapping *mapping_make(struct pt_mappings *all, struct pt_section *section, uint64_t begin,
                                       int isid)
{
	struct pt_mapping *mapping = calloc(1, sizeof(*mapping));
	struct named_file *named = mapping ? named_take(all, section->file) : NULL;

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
static void mapping_free(struct pt_mappings *all, struct pt_mapping *mapping)
{
	if (!mapping)
		return;
	*mapping->link = mapping->next;
	if (mapping->next)
		mapping->next->link = mapping->link;
	named_drop(all, mapping->file);
	pt_section_put(mapping->section);
	free(mapping);
}

static void space_add(struct space *space, struct pt_mapping *mapping)
{
	mapping->space = space;
	pt_tree_insert(&space->mappings, &mapping->node, mapping_less);
}

static void mapping_remove(struct pt_mappings *all, struct pt_mapping *mapping)
{
	pt_tree_remove(&mapping->space->mappings, &mapping->node, mapping_less);
	mapping_free(all, mapping);
}

/* An empty space goes. */
static void space_drop(struct pt_mappings *all, struct space *space)
{
	if (space->mappings)
		return;
	pt_tree_remove(&all->spaces, &space->node, space_less);
	free(space);
}

/* The part [begin, last] of @mapping as a mapping of its own. */
static int mapping_part(struct pt_mappings *all, struct pt_mapping **part, const struct pt_mapping *mapping,
                        uint64_t begin, uint64_t last)
{
	struct pt_section *slice;
	int status;

	status = pt_section_slice(&slice, mapping->section, begin - mapping->begin, last - begin + 1);
	if (status < 0)
		return status;
	*part = mapping_make(all, slice, begin, mapping->isid);
	return *part ? 0 : -pte_nomem;
}

static struct pt_mapping *overlapping(const struct space *space, uint64_t begin, uint64_t last)
{
	struct pt_mapping *mapping = mapping_bound(space, begin);

	return mapping && mapping->begin <= last ? mapping : NULL;
}

/* Unmaps [begin, last]; what stands out of it on either side stays. On an error, nothing changed. The
 * space may be gone afterwards. */
static int space_carve(struct pt_mappings *all, struct space *space, uint64_t begin, uint64_t last)
{
	struct pt_mapping *left = NULL, *right = NULL, *first = overlapping(space, begin, last), *old;
	int status = 0;

	if (!first)
		return 0;
	if (first->begin < begin)
		status = mapping_part(all, &left, first, first->begin, begin - 1);
	old = mapping_at(space, last);
	if (status == 0 && old && last_of(old) > last)
		status = mapping_part(all, &right, old, last + 1, last_of(old));
	if (status < 0) {
		mapping_free(all, left);
		return status;
	}
	while ((old = overlapping(space, begin, last)))
		mapping_remove(all, old);
	if (left)
		space_add(space, left);
	if (right)
		space_add(space, right);
	space_drop(all, space);
	return 0;
}

/* ---- changing --------------------------------------------------------------------------------- */

int pt_mappings_add(struct pt_mappings *all, const struct pt_space_key *key, struct pt_section *section,
                    uint64_t vaddr, int isid)
{
	struct pt_mapping *mapping = mapping_make(all, section, vaddr, isid);
	struct pt_space_key at = {0, 0};
	struct space *space;
	int status = mapping ? 0 : -pte_nomem;

	for (space = first_match(all, key); status == 0 && space; space = match_behind(all, key, at)) {
		at = space->key;
		status = space_carve(all, space, vaddr, last_of(mapping));
	}
	space = status == 0 ? space_take(all, key) : NULL;
	if (!space) {
		mapping_free(all, mapping);
		return -pte_nomem;
	}
	space_add(space, mapping);
	return 0;
}

/* Unmaps all that matches. */
static int remove_everything(struct pt_mappings *all, const struct pt_space_key *key)
{
	struct pt_space_key at;
	struct space *space;
	int removed = 0;

	for (space = first_match(all, key); space; space = match_behind(all, key, at)) {
		struct pt_tree_node *node;

		at = space->key;
		while ((node = pt_tree_pop(&space->mappings))) {
			mapping_free(all, mapping_of(node));
			removed++;
		}
		space_drop(all, space);
	}
	return removed;
}

/* Unmaps all that matches and came from @named, which may be gone afterwards. */
static int remove_named(struct pt_mappings *all, const struct pt_space_key *key, struct named_file *named)
{
	struct pt_mapping *mapping, *next;
	int removed = 0;

	for (mapping = named->first; mapping; mapping = next) {
		struct space *space = mapping->space;

		next = mapping->next;
		if (!field_matches(space->key.cr3, key->cr3, pt_asid_no_cr3) ||
		    !field_matches(space->key.vmcs, key->vmcs, pt_asid_no_vmcs))
			continue;
		mapping_remove(all, mapping);
		space_drop(all, space);
		removed++;
	}
	return removed;
}

/* ---- finding and copying ---------------------------------------------------------------------- */

const struct pt_mapping *pt_mappings_find(const struct pt_mappings *all, const struct pt_space_key *key,
                                          uint64_t vaddr)
{
	const struct space *space = space_bound(all, key);
	const struct pt_mapping *mapping = NULL;

	if (space && !key_less(key, &space->key))
		mapping = mapping_at(space, vaddr);
	for (space = mapping ? NULL : first_match(all, key); !mapping && space;
	     space = match_behind(all, key, space->key))
		mapping = mapping_at(space, vaddr);
	return mapping;
}

bool pt_mappings_are_sure(const struct pt_mappings *all, const struct pt_space_key *key)
{
	struct pt_space_key known = *key;
	const struct space *space;

	for (space = first_match(all, key); space; space = match_behind(all, key, space->key)) {
		if (!field_matches(space->key.cr3, known.cr3, pt_asid_no_cr3) ||
		    !field_matches(space->key.vmcs, known.vmcs, pt_asid_no_vmcs))
			return false;
		if (known.cr3 == pt_asid_no_cr3)
			known.cr3 = space->key.cr3;
		if (known.vmcs == pt_asid_no_vmcs)
			known.vmcs = space->key.vmcs;
	}
	return true;
}

bool pt_mappings_are_free(const struct pt_mappings *all, const struct pt_space_key *key, uint64_t vaddr,
                          uint64_t size)
{
	const struct space *space;

	for (space = first_match(all, key); space; space = match_behind(all, key, space->key))
		if (overlapping(space, vaddr, vaddr + size - 1))
			return false;
	return true;
}

uint64_t pt_mappings_gap(const struct pt_mappings *all, const struct pt_space_key *key, uint64_t vaddr,
                         uint64_t size)
{
	const struct space *space;

	for (space = first_match(all, key); space; space = match_behind(all, key, space->key)) {
		const struct pt_mapping *next = mapping_bound(space, vaddr);

		if (next && next->begin - vaddr < size)
			size = next->begin - vaddr;
	}
	return size;
}

/* The mappings of @space in the order of their addresses, each a search. */
static int copy_space(struct pt_mappings *all, const struct space *space)
{
	const struct pt_mapping *mapping = mapping_bound(space, 0);
	int ignored = 0;

	while (mapping) {
		ignored += pt_mappings_add(all, &space->key, pt_section_get(mapping->section), mapping->begin,
		                           mapping->isid) < 0;
		mapping = mapping->end ? mapping_bound(space, mapping->end) : NULL;
	}
	return ignored;
}

int pt_mappings_file(struct pt_mappings *all, struct pt_file **file, const char *filename)
{
	struct named_file *named;
	int status = pt_file_make(file, filename);

	named = status < 0 ? NULL : named_find(all, filename);
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

int pt_mappings_copy(struct pt_mappings *all, const struct pt_mappings *from)
{
	const struct pt_space_key any = {pt_asid_no_cr3, pt_asid_no_vmcs};
	const struct space *space;
	int ignored = 0;

	for (space = first_match(from, &any); space; space = match_behind(from, &any, space->key))
		ignored += copy_space(all, space);
	return ignored;
}

int pt_mappings_remove(struct pt_mappings *all, const struct pt_space_key *key, const char *filename)
{
	struct named_file *named;

	if (!filename)
		return remove_everything(all, key);
	named = named_find(all, filename);
	return named ? remove_named(all, key, named) : 0;
}
