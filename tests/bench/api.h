/* api.h - the rows that compare two libraries in one process. */
#ifndef BENCH_API_H
#define BENCH_API_H

#include "face.h"
#include "input.h"
#include "library.h"
#include "measure.h"
#include "result.h"

struct api {
	struct library peer, ours;
	int has_peer;
	struct measure_options options;
	const char *only; /* pattern of --only */
	const char *dir;  /* for made-up files */
	int quick;
	struct results *results;
};

/* All: zero, or -1 with a message: a decoder failed where it must not. */

/* Packets, instructions and blocks, warm and cold, on one input. */
int api_decode_rows(struct api *api, const struct input *input);
/* Round robin through 1, 64 and 1024 sections. */
int api_section_rows(struct api *api);
/* Images swapped at a context switch. */
int api_swap_rows(struct api *api);

/* The side of a row: @seconds per pass become nanoseconds per one of @divisor. */
struct result_side api_side(const char *name, const struct samples *seconds, uint64_t divisor, size_t bytes);

#endif
