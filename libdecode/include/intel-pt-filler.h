/* intel-pt-filler.h - images that are filled while they are used.
 *
 * An addition to libipt's interface: an image of a process with thousands of mappings need not be complete
 * before decoding begins. A filler is asked where the image has no section, and adds what is mapped there; so
 * making an image costs what of it is executed. What a decoder knows of the image stays valid.
 */
#ifndef INTEL_PT_FILLER_H
#define INTEL_PT_FILLER_H

#include <intel-pt.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Adds the section that holds @ip in @asid to @image, with pt_image_add_cached() or pt_image_add_file().
 * While it runs, these refuse (-pte_invalid) what overlaps anything that is mapped already. Returns a
 * positive number when it added something; else nothing is there, and the image's callback is asked.
 *
 * Runs in the thread of the decoder that needs code; it must do nothing else with the image or the decoder.
 */
typedef int(pt_image_filler_t)(struct pt_image *image, const struct pt_asid *asid, uint64_t ip,
                               void *context);

/* Sets the filler of @image; NULL: it has none. An image with a filler serves one thread at a time. Zero, or
 * -pte_invalid: @image is NULL. */
extern pt_export int pt_image_set_filler(struct pt_image *image, pt_image_filler_t *filler, void *context);

#ifdef __cplusplus
}
#endif

#endif /* INTEL_PT_FILLER_H */
