/* cyc_row.c - see cyc_row.h. */
#include "flow/cyc_row.h"

#define inlined static inline __attribute__((always_inline))

/* A CYC of one or two bytes and the TNT behind it, if that is what stands there. */
struct cyc_pair {
	uint32_t bytes; /* from the CYC's first one on */
	uint32_t more;  /* zero or one, as the CYC goes on in a second byte */
	uint32_t rest;  /* from the CYC's last byte on */
};

enum { cyc_pair_room = 4 };

inlined struct cyc_pair pair_at(const uint8_t *pos)
{
	const uint32_t bytes = pt_get32(pos), more = bytes >> 2 & 1;

	return (struct cyc_pair){bytes, more, bytes >> 8 * more};
}

/* A CYC that goes on in a third byte is left to others, as is an OVF in place of the second one (erratum
 * SKD007): what is behind it is odd, and so no TNT.
 */
inlined int is_pair(const struct cyc_pair *pair)
{
	/* Of the last byte of a CYC, bit 0 is the opcode's, or tells that there is no other; a TNT is even.
	 */
	enum { last = 0x001, tnt_odd = 0x100, tnt_size = 0xfc00 };
	const uint32_t last_bits = (pair->rest & (last | tnt_odd)) ^ pair->more;

	/* Both in one: a CYC's two bits of opcode, and no other of the last bits than that of the opcode. */
	return (pair->bytes & 3) + 4 * last_bits == 3 + 4 * last && pair->rest & tnt_size;
}

/* CYCs, added up: the low bits of their cycles, and of those of two bytes the high ones. */
struct cyc_sum {
	uint64_t low, high;
};

inlined void add(struct cyc_sum *sum, const struct cyc_pair *pair)
{
	sum->low += pair->bytes & 0xf8;
	sum->high += pair->bytes & 0xfe00 & -pair->more;
}

inlined uint64_t cycles_of(const struct cyc_sum *sum)
{
	return (sum->low >> 3) + (sum->high >> 4);
}

inlined uint64_t cycles_at(const uint8_t *pos)
{
	const struct cyc_pair pair = pair_at(pos);
	struct cyc_sum sum = {0};

	add(&sum, &pair);
	return cycles_of(&sum);
}

/* Whether such a packet, if there is no CYC before it, is in one window with the one before it. */
inlined int is_window_rest(uint32_t opcode)
{
	const uint32_t packet = pt_window_packet[opcode];

	return packet & pt_window_size && !(packet & (pt_window_none | pt_window_alone));
}

/* What was found of a row. */
struct found {
	struct cyc_sum sum;
	const uint8_t *pos, *before; /* behind it, and before its last pair */
	uint64_t bytes;
};

/* Its pair number @i. Returns whether there is one. */
inlined int find(struct found *found, const uint8_t *last, uint32_t i)
{
	struct cyc_pair pair;

	if (found->pos > last)
		return 0;
	pair = pair_at(found->pos);
	if (!is_pair(&pair))
		return 0;
	add(&found->sum, &pair);
	found->bytes |= (uint64_t)(pair.rest >> 8 & 0xff) << 8 * i;
	found->before = found->pos;
	found->pos += 2 + pair.more;
	return 1;
}

/* The row without its last TNT, which is at @last with its CYC. */
static struct pt_cyc_row less_one(const struct pt_cyc_row *row, const uint8_t *last)
{
	return (struct pt_cyc_row){.end = last,
	                           .bytes = row->bytes & ((UINT64_C(1) << 8 * (row->count - 1)) - 1),
	                           .cycles = row->cycles - cycles_at(last),
	                           .count = row->count - 1};
}

struct pt_cyc_row pt_cyc_row_at(const uint8_t *pos, const uint8_t *end)
{
	const uint8_t *const last = end - cyc_pair_room;
	struct found found = {.pos = pos};
	struct pt_cyc_row row;
	uint32_t count = 0;

	/* Each step by itself: most of a trace with CYC goes through here. */
#define STEP(i) find(&found, last, i) && (count = (i) + 1)
	(void)(STEP(0) && STEP(1) && STEP(2) && STEP(3) && STEP(4) && STEP(5) && STEP(6) && STEP(7));
#undef STEP
	row = (struct pt_cyc_row){found.pos, found.bytes, cycles_of(&found.sum), count};
	return count && found.pos < end && !pt_is_cyc(*found.pos) && is_window_rest(*found.pos)
	               ? less_one(&row, found.before)
	               : row;
}

struct pt_cyc_row pt_cyc_row_first(const uint8_t *pos, uint32_t count)
{
	struct pt_cyc_row row = {.end = pos, .count = count};

	for (uint32_t i = 0; i < count; ++i) {
		const struct cyc_pair pair = pair_at(row.end);

		row.bytes |= (uint64_t)(pair.rest >> 8 & 0xff) << 8 * i;
		row.cycles += cycles_at(row.end);
		row.end += 2 + pair.more;
	}
	return row;
}
