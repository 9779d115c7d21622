/* face.h - ways to decode an input with a library: each a pass over the whole trace. */
#ifndef BENCH_FACE_H
#define BENCH_FACE_H

#include "input.h"
#include "library.h"
#include "measure.h"

/* One library at work on one input. */
struct subject {
	const struct library *library;
	const struct input *input;
	struct pt_config config;
	struct pt_image_section_cache *cache;
	struct pt_image *image;
	union {
		struct pt_packet_decoder *packet;
		struct pt_insn_decoder *insn;
		struct pt_block_decoder *block;
	} decoder;
	/* Image swap: every so many blocks, between image and this one. */
	struct pt_image *other_image;
	unsigned swap_every;
};

/* open makes what a pass needs and a next one can use again; close frees it, in whatever state it is.
 * A pass decodes from the first PSB to the end, adds to *tally, and is -1 when not even that PSB was right.
 */
struct face {
	int (*open)(struct subject *subject);
	int (*pass)(struct subject *subject, struct tally *tally);
	void (*close)(struct subject *subject);
};

extern const struct face face_packet; /* items are packets */
extern const struct face face_insn;   /* items are instructions */
extern const struct face face_block;  /* items are blocks as pt_blk_next() cuts them */
extern const struct face face_run;    /* items are basic blocks; ours only */

/* Fills subject->config; before open. */
void subject_init(struct subject *subject, const struct library *library, const struct input *input);
/* Section cache and image with the input's sections: zero, or -1 with a message. */
int subject_open_image(struct subject *subject);
void subject_close_image(struct subject *subject);

#endif
