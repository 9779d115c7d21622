/* span_write_internal.h - what the parts of a span's writer share.
 *
 *   span_write.c        blocks of bytes, flow, and items
 *   span_write_calls.c  calls that were added up
 */
#ifndef SB_SPAN_WRITE_INTERNAL_H
#define SB_SPAN_WRITE_INTERNAL_H

#include "replay/span_write.h"

enum { VARINT_MAX = 10, ITEM_MAX = 24 * VARINT_MAX };

/* Room for @more bytes; NULL: there is none, and never will be. */
uint8_t *span_write_room(struct span_writer *writer, size_t more);

/* What was added up behind the blocks; @paths: these are told. Zero or a negative code. */
int span_put_calls(struct span_writer *writer, const struct sb_flow *flow, int paths);
/* @last: the address that was told of last. */
uint8_t *span_put_edges(uint8_t *at, const struct sb_flow_calls *calls, uint64_t *last);

static inline uint8_t *put(uint8_t *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (uint8_t)(value | 0x80);
	*at++ = (uint8_t)value;
	return at;
}

static inline uint8_t *put_signed(uint8_t *at, int64_t value)
{
	return put(at, span_zigzag(value));
}

static inline uint8_t *put_ip(uint8_t *at, uint64_t ip, uint64_t *last)
{
	at = put_signed(at, (int64_t)(ip - *last));
	*last = ip;
	return at;
}

#endif
