/* Images: which section is mapped where, in which address space.
 *
 * Per distinct asid (cr3, vmcs) an ordered tree of non-overlapping mappings; adding, finding and removing
 * one costs the logarithm of their number. Changing an image while a decoder uses it is allowed only from
 * the decoder's own thread (between calls or in an observer's callback); shared read-only use by many
 * threads is fine.
 */
#ifndef PT_IMAGE_H
#define PT_IMAGE_H

#include "intel-pt.h"
#include "code/ordered_tree.h"
#include "code/section.h"

struct space;
struct named_file;

/* One mapping: section bytes [0, end - begin) stand at [begin, end). Its size is the section's
 * size: a mapping that is cut by a later one gets sections of its own (pt_section_slice). */
struct pt_mapping {
	uint64_t begin, end; /* end is exclusive; 0 stands for 2^64 */
	struct pt_section *section;
	int isid;
	/* The image's own: */
	struct pt_tree_node node; /* in its space */
	struct space *space;
	struct named_file *file; /* the list of those from files of the same name */
	struct pt_mapping *next, **link;
};

/* The mapping that holds @vaddr in address space @asid, or NULL. With several matching address
 * spaces (an unknown cr3 or vmcs on either side matches any), an exact match wins. Valid until the
 * image changes. */
const struct pt_mapping *pt_image_lookup(const struct pt_image *image, const struct pt_asid *asid,
                                         uint64_t vaddr);

/* Reads up to @size bytes at @vaddr, across mappings, then through the image's callback where no
 * section is mapped. Returns the number of bytes read (> 0), the isid of the first byte in *isid
 * (0 for the callback); -pte_nomap when there is none; when the first byte's section cannot be mapped,
 * the reason, as pt_section_bytes() gives it; when the callback fails, its error. */
int pt_image_read(struct pt_image *image, int *isid, uint8_t *buffer, uint16_t size,
                  const struct pt_asid *asid, uint64_t vaddr);

/* Never the same for two states of one image, nor for two images of the process: what a decoder
 * remembers about an image is valid as long as this number stays. Never zero. */
uint64_t pt_image_generation(const struct pt_image *image);

#endif
