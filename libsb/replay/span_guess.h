/* span_guess.h - functions of sums (span_format.h) come as they came before: behind a function's sum, the one
 * is guessed that was behind it last. Who writes guesses the same as who reads. */
#ifndef SB_SPAN_GUESS_H
#define SB_SPAN_GUESS_H

#include <endian.h>
#include <stddef.h>
#include <string.h>

#include <sb/replay.h>

struct span_guess {
	uint32_t function;
	uint32_t above;  /* how far the one below is before the one before it */
	uint8_t flag[4]; /* is_called and what is behind it */
	uint32_t reserved;
};

static inline struct span_guess span_guess_none(void)
{
	return (struct span_guess){.above = UINT32_MAX};
}

/* The four lower bits, a byte for each, the lowest one first. */
static inline void span_guess_set_flags(struct span_guess *guess, uint64_t bits)
{
	const uint32_t bytes = htole32(((uint32_t)bits & 0xf) * 0x00204081u & 0x01010101u);

	memcpy(guess->flag, &bytes, sizeof(bytes));
}

static inline void span_guess_put_flags(const struct span_guess *guess, struct sb_flow_call_sum *sum)
{
	_Static_assert(offsetof(struct sb_flow_call_sum, is_kernel) ==
	                       offsetof(struct sb_flow_call_sum, is_called) + 3,
	               "one behind the other");
	memcpy(&sum->is_called, guess->flag, sizeof(guess->flag));
}

static inline int span_guess_is(const struct span_guess *a, const struct span_guess *b)
{
	return a->function == b->function && a->above == b->above &&
	       !memcmp(a->flag, b->flag, sizeof(a->flag));
}

#endif
