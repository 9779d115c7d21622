/* Rows: TNTs, each behind a CYC of one or two bytes, as far as there are such.
 *
 * With CYC packets on, one stands before each TNT, and their cycles are never the same: neither windows nor
 * chains (run_chain.h) go on over them. If nobody asks for the time in between, the CYCs of a row can be
 * summed up, and the TNTs looked up at once.
 */
#ifndef PT_CYC_ROW_H
#define PT_CYC_ROW_H

#include "flow/run_cache.h"

enum { pt_cyc_row_most = 8 };

struct pt_cyc_row {
	const uint8_t *end; /* in the trace */
	uint64_t bytes;     /* of the TNTs, the first one's in the lowest byte */
	uint64_t cycles;    /* of the CYCs */
	uint32_t count;
};

static inline int pt_is_cyc(uint32_t bytes)
{
	return (bytes & 3) == 3;
}

/* Whether such a packet, if there is no CYC before it, is in one window with the one before it. */
static inline int pt_is_window_rest(uint32_t opcode)
{
	const uint32_t packet = pt_window_packet[opcode];

	return packet & pt_window_size && !(packet & (pt_window_none | pt_window_alone));
}

/* CYCs, added up: the low bits of their cycles, and of those of two bytes the high ones. */
struct pt_cyc_sum {
	uint64_t low, high;
};

/* @more: zero or one, as the CYC that begins with @bytes goes on in a second byte. */
static inline void pt_cyc_add(struct pt_cyc_sum *sum, uint32_t bytes, uint32_t more)
{
	sum->low += bytes & 0xf8;
	sum->high += bytes & 0xfe00 & -more;
}

static inline uint64_t pt_cyc_cycles_of(const struct pt_cyc_sum *sum)
{
	return (sum->low >> 3) + (sum->high >> 4);
}

static inline uint32_t pt_cyc_more(uint32_t bytes)
{
	return bytes >> 2 & 1;
}

/* The row of at most @most that begins at @pos. A TNT that is in one window with the packet behind it does
 * not belong to it. */
static inline __attribute__((always_inline)) struct pt_cyc_row pt_cyc_row_at(const uint8_t *pos,
                                                                             const uint8_t *end,
                                                                             uint32_t most)
{
	enum { room = 4 };
	const uint8_t *const last = end - room, *before = pos;
	struct pt_cyc_sum sum = {0}, less = {0};
	uint64_t bytes = 0;
	uint32_t bits = 0;

	while (pos <= last && bits < 8 * most) {
		const uint32_t cyc = pt_get32(pos), more = pt_cyc_more(cyc), opcode = pos[1 + more];

		/* One that goes on in a third byte is left to others, as is an OVF in place of the second one
		 * (erratum SKD007), which is no TNT. */
		if ((~cyc & 3) | (cyc & cyc >> 6 & 4) | (opcode & 1) || opcode <= 2)
			break;
		pt_cyc_add(&sum, cyc, more);
		bytes |= (uint64_t)opcode << bits;
		bits += 8;
		before = pos;
		pos += 2 + more;
	}
	if (bits && pos < end && !pt_is_cyc(*pos) && pt_is_window_rest(*pos)) {
		const uint32_t cyc = pt_get32(before);

		pt_cyc_add(&less, cyc, pt_cyc_more(cyc));
		bits -= 8;
		bytes &= (UINT64_C(1) << bits) - 1;
		pos = before;
	}
	return (struct pt_cyc_row){.end = pos,
	                           .bytes = bytes,
	                           .cycles = pt_cyc_cycles_of(&sum) - pt_cyc_cycles_of(&less),
	                           .count = bits / 8};
}

#endif
