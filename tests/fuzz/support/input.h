/* Reading an input from its beginning; behind its end there are zeros. */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

struct fuzz_input {
	const uint8_t *pos, *end;
};

static inline uint8_t fuzz_u8(struct fuzz_input *in)
{
	return in->pos < in->end ? *in->pos++ : 0;
}

static inline uint64_t fuzz_u64(struct fuzz_input *in)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value |= (uint64_t)fuzz_u8(in) << (8 * i);
	return value;
}

/* A number below @n. */
static inline uint32_t fuzz_below(struct fuzz_input *in, uint32_t n)
{
	return fuzz_u8(in) % n;
}

/* Up to @size bytes; returns where they are, and how many in *got. */
static inline const uint8_t *fuzz_bytes(struct fuzz_input *in, size_t size, size_t *got)
{
	const uint8_t *bytes = in->pos;
	const size_t left = (size_t)(in->end - in->pos);

	*got = size < left ? size : left;
	in->pos += *got;
	return bytes;
}

#endif
