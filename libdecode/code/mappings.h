/* What lies where, in any number of address spaces: an image's inside.
 *
 * Adding, finding and removing a mapping costs the logarithm of their number; what concerns several address
 * spaces, because a cr3 or vmcs is unknown, costs it for each. Finding changes nothing, so that any number of
 * threads may do it at once.
 */
#ifndef PT_MAPPINGS_H
#define PT_MAPPINGS_H

#include "code/ordered_tree.h"
#include "code/section.h"
#include "intel-pt.h"

struct space;
struct named_file;

/* One mapping: section bytes [0, end - begin) stand at [begin, end). Its size is the section's
 * size: a mapping that is cut by a later one gets sections of its own (pt_section_slice). */
struct pt_mapping {
	uint64_t begin, end; /* end is exclusive; 0 stands for 2^64 */
	struct pt_section *section;
	int isid;
	/* The inside of mappings.c: */
	struct pt_tree_node node; /* in its space */
	struct space *space;
	struct named_file *file; /* the list of those from files of the same name */
	struct pt_mapping *next, **link;
};

/* All zero is none. Freed by removing all. */
struct pt_mappings {
	struct pt_tree_node *spaces;
	struct pt_tree_node *files;
};

/* An asid of the present size. */
struct pt_space_key {
	uint64_t cr3, vmcs;
};

/* Takes the fields that the caller's version of the struct has; NULL has none. */
struct pt_space_key pt_space_key(const struct pt_asid *asid);

/* Maps @section, which is not empty, at @vaddr, where it fits below 2^64. What was mapped there before, in
 * all spaces that match, is cut or split. Takes over the caller's reference. Zero, or -pte_nomem: the new
 * mapping is missing, and what it was to replace may be. */
int pt_mappings_add(struct pt_mappings *all, const struct pt_space_key *key, struct pt_section *section,
                    uint64_t vaddr, int isid);

/* Unmaps what came from @filename (NULL: from anywhere) in all spaces that match. Returns how many. */
int pt_mappings_remove(struct pt_mappings *all, const struct pt_space_key *key, const char *filename);

/* Maps what is mapped in @from, which is not @all. Returns how many could not be. */
int pt_mappings_copy(struct pt_mappings *all, const struct pt_mappings *from);

/* The mapping that holds @vaddr; NULL: none. Where several may, one of exactly that space. */
const struct pt_mapping *pt_mappings_find(const struct pt_mappings *all, const struct pt_space_key *key,
                                          uint64_t vaddr);

/* Whether all spaces that match @key match each other, too, so that no two mappings of theirs overlap. */
bool pt_mappings_are_sure(const struct pt_mappings *all, const struct pt_space_key *key);

/* Whether nothing is mapped at the @size bytes at @vaddr in any space that matches. */
bool pt_mappings_are_free(const struct pt_mappings *all, const struct pt_space_key *key, uint64_t vaddr,
                          uint64_t size);

/* How many of the @size bytes at @vaddr, which is not mapped, lie before the next mapping. */
uint64_t pt_mappings_gap(const struct pt_mappings *all, const struct pt_space_key *key, uint64_t vaddr,
                         uint64_t size);

/* Looks at a file, as pt_file_make(). One that is mapped already is not made anew: its sections then share
 * the file's bytes. */
int pt_mappings_file(struct pt_mappings *all, struct pt_file **file, const char *filename);

#endif
