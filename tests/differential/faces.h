/* What decodes a case with one of our decoder's faces, and tells a log of it. For pt_faces. */
#ifndef DIFF_FACES_H
#define DIFF_FACES_H

#include <stddef.h>
#include <stdint.h>

#include <intel-pt-run.h>
#include <intel-pt.h>

#include "case.h"
#include "faces_log.h"
#include "random.h"

enum plan_flag {
	plan_buffers = 1 << 0, /* a buffer for each copy */
	plan_observes = 1 << 1,
	plan_resyncs = 1 << 2,   /* after an error, instead of going to the next PSB */
	plan_asks = 1 << 4,      /* for position, time and the like, behind each instruction */
	plan_asks_some = 1 << 6, /* for some of it, behind some of them */
	plan_fills = 1 << 7,     /* images while they are used, where the cache is as it is */
	plan_shares = 1 << 8,    /* sections: those that are alike are the same in both images */
	plan_changes = 1 << 9,   /* the image that is in use, where another would be used */
	/* Only faces of one kind agree then: */
	plan_swaps = 1 << 3, /* images in the middle */
	plan_moves = 1 << 5, /* synchronises in the middle, and observes from there on */
	plan_of_kind = plan_swaps | plan_moves
};

struct plan {
	struct diff_case c[2]; /* the same trace, other code */
	uint8_t *trace;        /* owned: all copies */
	unsigned flags;        /* enum plan_flag */
};

enum kind { insns, blocks, runs };

/* How to decode. */
struct way {
	const char *name;
	enum kind kind;
	const char *limit; /* of the run cache; NULL: as it is */
	const char *by;    /* what helps beside it, likewise */
	int events_inside;
	int mixed; /* with pt_blk_next(), and events in runs or not */
	int counts;
	int last_time; /* of the changes of time inside of runs, only the last one is told */
};

/* What a filler adds to an image. */
struct filling {
	const struct client *client;
	size_t which; /* of the plan's codes */
};

struct client {
	const struct way *way;
	const struct plan *plan;
	struct pt_image_section_cache *cache; /* NULL: sections are not shared */
	int isid[2][case_max_sections];
	struct filling filling[2]; /* for each image */
	const struct diff_case *code;
	struct log *log;
	struct pt_insn_decoder *insn;
	struct pt_block_decoder *block;
	struct random random;
	uint64_t seed;
	struct pt_observer tick, state;
	int status;
	struct pt_image *image[2];
	int asks, asks_some, observes;
	uint64_t passed; /* the PSB, before a run */
	unsigned given;  /* instructions or blocks */
	uint64_t known;  /* paths with a number that came: how well the cache is used */
	int bad;
};

/* Something that must not be, said in a sentence. */
void face_complain(struct client *client, const char *text);

/* A number below @n that depends on where the client is, and not on the way. */
unsigned face_choose(const struct client *client, uint64_t salt, unsigned n);

/* Begins to observe. */
void face_attach(struct client *client);

/* The next instruction, block or run; the next event; the next PSB. All of it into the log. */
void face_next(struct client *client);
void face_next_run(struct client *client);
void face_fetch_event(struct client *client);
void face_synchronise(struct client *client, int resync);

/* The images of the plan's two codes, from files or by numbers out of a cache. */
void face_make_cache(struct client *client);
void face_make_images(struct client *client);
int face_sections_overlap(const struct diff_case *c);

/* Decodes with the plan's code @which from here on. */
void face_use_code(struct client *client, size_t which);

/* Other code every now and then, if that is planned. */
void face_swap(struct client *client);

#endif
