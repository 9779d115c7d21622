/* Images: which section is mapped where, in which address space.
 *
 * Changing an image while a decoder uses it is allowed only from the decoder's own thread (between calls or
 * in an observer's callback); shared read-only use by many threads is fine.
 */
#ifndef PT_IMAGE_H
#define PT_IMAGE_H

#include "intel-pt.h"
#include <stdbool.h>

#include "code/mappings.h"
#include "intel-pt-filler.h"

/* Private to image.c, but for the generation. */
struct pt_image {
	char *name;
	struct pt_mappings mappings;
	read_memory_callback_t *callback;
	void *context;
	pt_image_filler_t *filler;
	void *filler_context;
	bool filling; /* the filler is being asked */
	uint64_t generation;
};

/* The mapping that holds @vaddr in address space @asid, or NULL; the image's filler is asked, too. With
 * several matching address spaces (an unknown cr3 or vmcs on either side matches any), an exact match wins.
 * Valid until the image changes. */
const struct pt_mapping *pt_image_lookup(struct pt_image *image, const struct pt_asid *asid, uint64_t vaddr);

/* The same without asking the filler. */
const struct pt_mapping *pt_image_find(const struct pt_image *image, const struct pt_asid *asid,
                                       uint64_t vaddr);

/* Whether no address can mean two things in @asid: that of spaces which it does not know apart, at most one
 * has mappings. Then what holds one address of a mapping's holds all of them. */
bool pt_image_is_sure(const struct pt_image *image, const struct pt_asid *asid);

/* Reads up to @size bytes at @vaddr, across mappings, then through the image's callback where no
 * section is mapped. Returns the number of bytes read (> 0), the isid of the first byte in *isid
 * (0 for the callback); -pte_nomap when there is none; when the first byte's section cannot be mapped,
 * the reason, as pt_section_bytes() gives it; when the callback fails, its error. */
int pt_image_read(struct pt_image *image, int *isid, uint8_t *buffer, uint16_t size,
                  const struct pt_asid *asid, uint64_t vaddr);

/* Never the same for two states of one image, nor for two images of the process: what a decoder
 * remembers about an image is valid as long as this number stays - but not that nothing is mapped somewhere,
 * as a filler may change that. Never zero. */
static inline uint64_t pt_image_generation(const struct pt_image *image)
{
	return image->generation;
}

#endif
