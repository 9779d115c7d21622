/* span_read_internal.h - what the parts of a span's reader share.
 *
 *   span_read.c   blocks of bytes, flow, and items
 *   span_read_sums.c  what was added up
 */
#ifndef SB_SPAN_READ_INTERNAL_H
#define SB_SPAN_READ_INTERNAL_H

#include "replay/span_read.h"

/* What cannot be read is zero, and leaves the reader behind the block. */
static inline uint64_t span_get(struct span_reader *reader)
{
	const uint8_t *at = reader->block + reader->at, *end = reader->block + reader->size;
	uint64_t value = 0;

	/* Most are small. */
	if (at < end && !(*at & 0x80)) {
		reader->at += 1;
		return *at;
	}

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
int span_get_epoch(struct span_reader *reader, const struct sb_epoch **epoch);
int span_get_ways(struct span_reader *reader, struct sb_flow *flow);
int span_get_seam(struct span_reader *reader, struct sb_flow *flow);

#endif
