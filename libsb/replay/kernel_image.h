/* kernel_image.h - the kernel's code as an image: filled as it is reached, and patched as time goes on.
 *
 * Where nobody knows which of a piece's contents is there, it is empty, unless one has been chosen: see
 * patch_trial.h.
 *
 * One image serves all processes: while the kernel runs, it does not matter on whose behalf. Belongs to one
 * thread; what it is made from is shared.
 */
#ifndef SB_KERNEL_IMAGE_H
#define SB_KERNEL_IMAGE_H

#include <intel-pt.h>

#include "binary/kernel_text.h"

struct kernel_image {
	const struct kernel_text *text;          /* borrowed; NULL: the kernel's code is not known */
	struct pt_image_section_cache *sections; /* borrowed */
	struct pt_image *image;                  /* owned */
	size_t nchanges;                         /* so many patches are in force */
	int *isid;                               /* owned; by version; 0: none yet */
	uint8_t *filled;                         /* owned; by piece: it is in the image */
	uint8_t *choice; /* owned; by version that is open: one more than the content that it is taken for;
	                    0: none; NULL: no version ever is open */
	size_t nchosen;
	int no_memory; /* for filling */
	/* The last address at which no code was found. */
	uint64_t missing_ip;
	int has_missing_ip;
};

/* Zero or -sbe_nomem. */
int kernel_image_init(struct kernel_image *kernel, const struct kernel_text *text,
                      struct pt_image_section_cache *sections);
void kernel_image_fini(struct kernel_image *kernel);

/* Patches the image to what it was at @time, perf clock; to any time, in any order. Zero or a negative
 * pt_error_code. */
int kernel_image_go_to(struct kernel_image *kernel, uint64_t time);

/* When the code changes next; UINT64_MAX: not any more. */
uint64_t kernel_image_until(const struct kernel_image *kernel);

/* A version that is open, and for which nothing is chosen, is in force at @ip: its number in text->version;
 * negative: none is. */
int64_t kernel_image_open_at(const struct kernel_image *kernel, uint64_t ip);

/* Takes such a @version for @content of its piece, until choices are forgotten. */
void kernel_image_choose(struct kernel_image *kernel, size_t version, uint32_t content);
void kernel_image_forget_choices(struct kernel_image *kernel);

/* Becomes as @from, of the same text: with its patches and choices. */
void kernel_image_take(struct kernel_image *kernel, const struct kernel_image *from);

/* The number in the section cache of the code that stood at @ip at @time; zero: there is none; or a negative
 * pt_error_code. The image stays as it is. */
int kernel_image_section(struct kernel_image *kernel, uint64_t ip, uint64_t time);

#endif
