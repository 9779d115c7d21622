/* A configuration out of the first bytes of an input, with a trace buffer of exactly the right size, so that
 * AddressSanitizer sees a read beyond it. */
#ifndef FUZZ_CONFIG_H
#define FUZZ_CONFIG_H

#include <intel-pt.h>

#include "input.h"

enum { fuzz_config_bytes = 12 };

/* Bits of the first byte. */
enum fuzz_flag {
	fuzz_keep_tcal = 1 << 0,
	fuzz_ticks = 1 << 1,
	fuzz_iflags = 1 << 2,
	fuzz_end_on_call = 1 << 3,
	fuzz_end_on_jump = 1 << 4,
};

struct fuzz_config {
	/* The caller's struct may be larger than the library's, or end before its flags. */
	union {
		struct pt_config config;
		uint8_t bytes[sizeof(struct pt_config) + 32];
	};
	uint8_t flags;
	uint8_t answer; /* what the callback for unknown packets does */
	uint8_t *trace; /* owned */
};

/* Reads fuzz_config_bytes; begin and end are set by fuzz_config_trace(). Address filters lie around @code. */
void fuzz_config_init(struct fuzz_config *fc, struct fuzz_input *in, uint64_t code);

/* The rest of the input is the trace, so many times. */
void fuzz_config_trace(struct fuzz_config *fc, struct fuzz_input *in, unsigned times);
void fuzz_config_fini(struct fuzz_config *fc);

/* The flags of one kind of decoder. The struct is shared by all, so there are four of these. */
struct pt_config fuzz_config_for_blocks(const struct fuzz_config *fc);
struct pt_config fuzz_config_for_insns(const struct fuzz_config *fc);
struct pt_config fuzz_config_for_events(const struct fuzz_config *fc);

#endif
