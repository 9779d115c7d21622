/* image_build.h - the code of each epoch as an image, filled as its code is reached.
 *
 * An image begins empty, however much is mapped; a mapping gets into it when code in it is first looked for.
 * So neither a new process nor a new mapping in a large one costs more than what is executed. All images draw
 * their sections from one section cache, so that a library is decoded once, whoever maps it wherever.
 * What images take together is bounded, and epochs that have ended lose theirs by and by; the last two asked
 * for are always kept. An image also says where the decoder found nothing: see missing_ip.
 *
 * A builder and its images belong to one thread; the section cache and the resolver are shared.
 */
#ifndef SB_IMAGE_BUILD_H
#define SB_IMAGE_BUILD_H

#include <intel-pt.h>
#include <sb/binary.h>
#include <sb/system.h>

#include "replay/code_window.h"
#include "replay/lost_map.h"

struct built_image;
struct isid_slot;

struct image_builder {
	struct sb_resolver *resolver;            /* borrowed */
	const struct sb_system *system;          /* borrowed; NULL: nobody is in a container */
	struct pt_image_section_cache *sections; /* borrowed */
	struct lost_maps *lost;                  /* borrowed; NULL: what no record says is not looked for */
	struct pt_image *empty;                  /* owned: for who nothing is known of */
	struct built_image **by_epoch;           /* owned; NULL: not built */
	size_t nepochs;
	struct built_image *newest, *previous; /* asked for last, and before that */
	struct built_image **built;            /* all of them, in no order; owned */
	size_t count, capacity;
	struct built_image *certain[2]; /* owned; of spans of time; the one asked for last, and before that */
	size_t hand;                    /* where in the list to look for one that was not asked for lately */
	size_t parts, limit;            /* images, and mappings in them */
	struct isid_slot *isid; /* what is in the section cache; open addressing, at most half full; owned */
	size_t nisids, isid_slots;
	int no_memory; /* for filling an image */
	/* The last address at which no code was found; the decoder's error code does not say it. */
	uint64_t missing_ip;
	int has_missing_ip;
	int is_uncertain; /* because there were several, one after the other, and nobody knows which one when
	                   */
};

/* @limit: how many images, and mappings in them, are kept. */
int image_builder_init(struct image_builder *builder, struct sb_resolver *resolver,
                       struct pt_image_section_cache *sections, size_t nepochs, size_t limit,
                       struct sb_error *err);
void image_builder_fini(struct image_builder *builder);

/* What stands behind @map; see sb_resolver_find(). */
int image_builder_find(const struct image_builder *builder, const struct sb_map *map,
                       const struct sb_binary **binary);

/* The number in the section cache of the code at @ip of @epoch; zero: there is none; or -pt_error_code. */
int image_builder_section(struct image_builder *builder, const struct sb_epoch *epoch, uint64_t ip);

/* The image of @epoch (NULL: the empty image), or NULL when there is no memory. It lasts until the next call
 * but one. */
struct pt_image *image_builder_get(struct image_builder *builder, const struct sb_epoch *epoch);

/* The same for what is certain in @window, from @first to @last. */
struct pt_image *image_builder_certain(struct image_builder *builder, const struct code_window *window,
                                       const struct code_window_ends *ends);

#endif
