/* image_build.h - the code of each epoch as an image, made when it is first asked for.
 *
 * All images draw their sections from one section cache, so that a library is decoded once, whoever maps
 * it wherever. The number of images that are kept is bounded; the one asked for last always is.
 * An image also says where the decoder found nothing: see missing_ip.
 */
#ifndef SB_IMAGE_BUILD_H
#define SB_IMAGE_BUILD_H

#include <intel-pt.h>
#include <sb/binary.h>
#include <sb/system.h>

struct built_image;

struct image_builder {
	struct sb_resolver *resolver;            /* borrowed */
	struct pt_image_section_cache *sections; /* owned */
	struct pt_image *empty;                  /* owned: for who nothing is known of */
	struct built_image **by_epoch;           /* owned; NULL: not built */
	size_t nepochs;
	struct built_image *newest, *oldest; /* by use */
	size_t count, limit;
	/* The last address at which no code was found; the decoder's error code does not say it. */
	uint64_t missing_ip;
	int has_missing_ip;
};

/* @limit: how many images are kept, at least 2. */
int image_builder_init(struct image_builder *builder, struct sb_resolver *resolver, size_t nepochs,
                       size_t limit, struct sb_error *err);
void image_builder_fini(struct image_builder *builder);

/* The image of @epoch (NULL: the empty image), or NULL when there is no memory. It lasts until the next call
 * but one. */
struct pt_image *image_builder_get(struct image_builder *builder, const struct sb_epoch *epoch);

#endif
