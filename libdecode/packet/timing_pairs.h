/* A CYC of two bytes and an MTC, again and again: while a processor sleeps, or runs what is not traced, its
 * trace holds little else. Eight such pairs are looked at at once. */
#ifndef PT_TIMING_PAIRS_H
#define PT_TIMING_PAIRS_H

#include "packet/bytes.h"

enum { pt_timing_pair_size = 4, pt_timing_pairs_count = 8, pt_timing_pairs_size = 32 };

/* Half of them; in each, the CYC's first byte is the lowest one. The OVF that may take the place of its
 * second byte (erratum SKD007) is not followed by an MTC's opcode, and so is told from it. */
typedef uint32_t pt_timing_half __attribute__((vector_size(pt_timing_pairs_size / 2)));

enum { pt_timing_pair_mask = 0x00ff0107, pt_timing_pair_bits = 0x00590007 };

static inline pt_timing_half pt_timing_half_at(const uint8_t *pos)
{
	pt_timing_half half;

	memcpy(&half, pos, sizeof(half));
	for (int i = 0; htole16(1) != 1 && i < pt_timing_pairs_count / 2; ++i)
		half[i] = le32toh(half[i]);
	return half;
}

static inline int pt_timing_are_zero(pt_timing_half half)
{
	uint64_t word[2];

	memcpy(word, &half, sizeof(half));
	return !(word[0] | word[1]);
}

/* How many elements come before the first one that is zero; the others are all ones. */
static inline uint32_t pt_timing_count(pt_timing_half first, pt_timing_half second)
{
	const pt_timing_half low = {1 << 0, 1 << 1, 1 << 2, 1 << 3}, high = low << 4;
	const pt_timing_half bits = (first & low) | (second & high);
	uint64_t word[2];

	memcpy(word, &bits, sizeof(bits));
	word[0] |= word[1];
	return (uint32_t)__builtin_ctz(~(uint32_t)(word[0] | word[0] >> 32));
}

static inline pt_timing_half pt_timing_are_pairs(pt_timing_half half)
{
	return (pt_timing_half)((half & pt_timing_pair_mask) == pt_timing_pair_bits);
}

/* Behind as many of them as stand at @pos. */
static inline const uint8_t *pt_timing_pairs_skip(const uint8_t *pos, const uint8_t *end)
{
	uint32_t count = pt_timing_pairs_count;

	while (count == pt_timing_pairs_count && end - pos >= pt_timing_pairs_size) {
		count = pt_timing_count(
		        pt_timing_are_pairs(pt_timing_half_at(pos)),
		        pt_timing_are_pairs(pt_timing_half_at(pos + pt_timing_pairs_size / 2)));
		pos += count * pt_timing_pair_size;
	}
	return pos;
}

#endif
