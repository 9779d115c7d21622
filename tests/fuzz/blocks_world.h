/* What fuzz_blocks.c decodes: a configuration, two images with code of a few hundred bytes at one address,
 * and observers that swap and change them. All out of the input, and the same for every decoder that is made.
 */
#ifndef FUZZ_BLOCKS_WORLD_H
#define FUZZ_BLOCKS_WORLD_H

#include <intel-pt.h>

#include "support/config.h"

enum { world_header = fuzz_config_bytes + 8, max_code = 1024, max_ops = 32, max_ticks = 4096 };

/* Bits of the layout byte; the lowest four say at which address the code lies. */
enum world_layout {
	layout_split = 1 << 4,    /* two sections; instructions may cross */
	layout_callback = 1 << 5, /* the second part comes from the image's callback */
	layout_cached = 1 << 6,   /* the first part comes from a section cache */
	layout_asid = 1 << 7,     /* the second part is there for one CR3 only */
};

/* Bits of the observer byte. */
enum world_observer {
	observe_time = 1 << 0,
	observe_state = 1 << 1,
	tick_swaps = 1 << 2,
	state_swaps = 1 << 3,
	tick_moves_limit = 1 << 4,
	tick_detaches = 1 << 5,
	observer_fails = 1 << 6,
	tick_changes_image = 1 << 7,
};

/* Bits of the client byte. */
enum world_client {
	client_resyncs = 1 << 0,   /* after an error, instead of going to the next PSB */
	client_goes_back = 1 << 1, /* before it begins */
	client_is_mad = 1 << 2,    /* calls in any order, on top */
	/* two bits: the trace comes once more so many times, so that ways are found in the run cache */
	client_repeats = 1 << 3,
};

/* The code that fails in an observer's callback: no decoder has it for reasons of its own. */
enum { observer_error = -pte_bad_lock };

/* What an observer was told. */
struct told {
	uint64_t tsc;
	uint32_t lost_mtc, lost_cyc;
	int state; /* negative: a tick */
};

struct world {
	struct fuzz_config fc;
	uint8_t layout, observers, client;
	uint64_t base;
	size_t code_size, split; /* of the first part */
	uint8_t code[2][max_code];
	const uint8_t *op;
	size_t ops;

	/* Of the decoder at hand: */
	struct pt_image_section_cache *cache;
	struct pt_image *image[2];
	unsigned now; /* the image in use */
	struct pt_observer tick, state;
	unsigned calls;
	int (*set_image)(void *decoder, struct pt_image *image);
	int (*move)(void *decoder); /* which is refused in a callback */
	void *decoder;
	struct told told[max_ticks];
	unsigned ntold;
	uint64_t ticked; /* the moment of the last tick since synchronising; zero: there was none */
};

void world_init(struct world *world, const uint8_t *data, size_t size);
void world_fini(struct world *world);

/* Images and observers as at the beginning; and what must be freed after the decoder. */
void world_begin(struct world *world);
void world_end(struct world *world);

/* The address of the code, and where the code and the trace begin in the input. */
uint64_t world_base(const uint8_t *data, size_t size);
size_t world_code_begin(const uint8_t *data, size_t size);
size_t world_code_size(const uint8_t *data, size_t size);
size_t world_trace_begin(const uint8_t *data, size_t size);

/* Up to @size bytes of image @i at @ip: how many there are. */
size_t world_read(const struct world *world, unsigned i, uint64_t ip, uint8_t *bytes, size_t size);

/* Maps what of image @i comes from files, once more. */
void world_map(struct world *world, unsigned i);

#endif
