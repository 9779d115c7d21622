/* span_read_internal.h - what the parts of a span's reader share.
 *
 *   span_read.c   blocks of bytes, flow, and items
 *   span_read_sums.c  what was added up
 */
#ifndef SB_SPAN_READ_INTERNAL_H
#define SB_SPAN_READ_INTERNAL_H

#include <endian.h>
#include <string.h>

#include "replay/span_read.h"

enum { SPAN_VARINT_MAX = 10, SPAN_TAKEN_MAX = 8 }; /* taken before it is looked where that is */

/* Byte by byte: near the block's end, or when it has more than eight. */
static __attribute__((noinline, unused)) uint64_t span_get_slowly(struct span_reader *reader)
{
	const uint8_t *at = reader->block + reader->at, *end = reader->block + reader->size;
	uint64_t value = 0;

	for (unsigned int shift = 0; at < end && shift < 64; shift += 7) {
		value |= (uint64_t)(*at & 0x7f) << shift;
		if (!(*at++ & 0x80)) {
			reader->at = (size_t)(at - reader->block);
			return value;
		}
	}
	reader->at = reader->size + 1;
	return 0;
}

/* The seven lower bits of each byte, one behind the other. */
static inline uint64_t span_pack(uint64_t bytes)
{
	bytes = (bytes & 0x007f007f007f007fu) | (bytes & 0x7f007f007f007f00u) >> 1;
	bytes = (bytes & 0x00003fff00003fffu) | (bytes & 0x3fff00003fff0000u) >> 2;
	return (bytes & 0x0fffffff) | (bytes & 0x0fffffff00000000u) >> 4;
}

/* What cannot be read is zero, and leaves the reader behind the block. */
static inline uint64_t span_get(struct span_reader *reader)
{
	const uint8_t *at = reader->block + reader->at;
	uint64_t bytes, ends;

	if (reader->at + sizeof(bytes) > reader->size)
		return span_get_slowly(reader);
	/* Most are small. */
	if (!(at[0] & 0x80)) {
		reader->at += 1;
		return at[0];
	}
	if (!(at[1] & 0x80)) {
		reader->at += 2;
		return (at[0] & 0x7fu) | (unsigned int)at[1] << 7;
	}
	memcpy(&bytes, at, sizeof(bytes));
	bytes = le64toh(bytes);
	ends = ~bytes & 0x8080808080808080u;
	if (!ends)
		return span_get_slowly(reader);
	/* Up to the lowest byte that is a last one. */
	reader->at += (unsigned int)__builtin_ctzll(ends) / 8 + 1;
	return span_pack(bytes & (ends ^ (ends - 1)));
}

/* One of more than eight bytes. */
static __attribute__((noinline, unused)) uint64_t span_take_slowly(const uint8_t **at)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		const uint8_t byte = *(*at)++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return value;
}

/* The same at *@at, which moves: behind a block there are so many zeros that a few numbers can be read before
 * it is looked whether they were the block's (span_has_come()). */
static inline uint64_t span_take(const uint8_t **at)
{
	const uint8_t *from = *at;
	uint64_t bytes, ends;

	if (!(from[0] & 0x80)) {
		*at += 1;
		return from[0];
	}
	if (!(from[1] & 0x80)) {
		*at += 2;
		return (from[0] & 0x7fu) | (unsigned int)from[1] << 7;
	}
	if (!(from[2] & 0x80)) {
		*at += 3;
		return (from[0] & 0x7fu) | (from[1] & 0x7fu) << 7 | (unsigned int)from[2] << 14;
	}
	memcpy(&bytes, from, sizeof(bytes));
	bytes = le64toh(bytes);
	ends = ~bytes & 0x8080808080808080u;
	if (!ends)
		return span_take_slowly(at);
	*at += (unsigned int)__builtin_ctzll(ends) / 8 + 1;
	return span_pack(bytes & (ends ^ (ends - 1)));
}

/* Zero, or -sbe_format: that is behind the block. */
static inline int span_has_come(struct span_reader *reader, const uint8_t *at)
{
	const size_t come = (size_t)(at - reader->block);

	reader->at = come <= reader->size ? come : reader->size + 1;
	return come <= reader->size ? 0 : -sbe_format;
}

/* What was taken up to @at is the block's, and it has so many more bytes. */
static inline int span_has_more(const struct span_reader *reader, const uint8_t *at, uint64_t count)
{
	const size_t come = (size_t)(at - reader->block);

	return come <= reader->size && count <= reader->size - come;
}

static inline int64_t span_get_signed(struct span_reader *reader)
{
	return span_unzigzag(span_get(reader));
}

static inline uint8_t span_get_byte(struct span_reader *reader)
{
	if (reader->at < reader->size)
		return reader->block[reader->at++];
	reader->at = reader->size + 1;
	return 0;
}

static inline int span_is_over(const struct span_reader *reader)
{
	return reader->at > reader->size;
}

/* As many bytes are left, at least; so many things can be there. */
static inline int span_has(const struct span_reader *reader, uint64_t count)
{
	return reader->at <= reader->size && count <= reader->size - reader->at;
}

static inline int span_get_int(struct span_reader *reader, int32_t *value)
{
	const int64_t wide = span_get_signed(reader);

	*value = (int32_t)wide;
	return wide == *value ? 0 : -sbe_format;
}

static inline int span_get_owner(struct span_reader *reader, int32_t *pid, int32_t *tid)
{
	return span_get_int(reader, pid) < 0 ? -sbe_format : span_get_int(reader, tid);
}

/* How often each block ran. */
int span_get_times(struct span_reader *reader, struct sb_flow *flow);
/* What was added up behind the blocks. */
int span_get_calls(struct span_reader *reader, struct sb_flow *flow);
/* Calls by themselves. */
int span_get_edges(struct span_reader *reader, struct sb_flow *flow);
/* Flow without its code: the first one. */
int span_get_turns(struct span_reader *reader, struct sb_flow *flow);
/* And the others. */
int span_get_others(struct span_reader *reader, struct sb_flow *flow);
int span_get_membership(struct span_reader *reader, const struct sb_membership **membership);
int span_get_epoch(struct span_reader *reader, const struct sb_epoch **epoch);
int span_get_ways(struct span_reader *reader, struct sb_flow *flow);
int span_get_seam(struct span_reader *reader, struct sb_flow *flow);

#endif
