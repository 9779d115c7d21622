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

/* Two CYCs of two bytes and their TNTs, as most are, in one word: with half the work for each. */
enum { two_room = 8, two_size = 2 * pt_cyc_row_pair };
static const uint64_t two = UINT64_C(1) << 8 * pt_cyc_row_pair | 1;

/* Their cycles are added up in 24 bits each. */
inlined void add_two(struct cyc_sum *sum, uint64_t word)
{
	sum->low += word & two * 0xf8;
	sum->high += word & two * 0xfe00;
}

inlined uint64_t both_of(uint64_t sum)
{
	return (sum & ((UINT64_C(1) << 8 * pt_cyc_row_pair) - 1)) + (sum >> 8 * pt_cyc_row_pair);
}

/* What was found of a row: CYCs one by one, and by twos. */
struct sums {
	struct cyc_sum one, two;
};

inlined uint64_t cycles_in(const struct sums *sums)
{
	const struct cyc_sum sum = {sums->one.low + both_of(sums->two.low),
	                            sums->one.high + both_of(sums->two.high)};

	return cycles_of(&sum);
}

struct found {
	struct sums sums;
	const uint8_t *pos, *before; /* behind it, and before its last pair */
	uint64_t bytes;              /* the last one's in the highest byte */
	uint32_t count;
};

/* Its next pair. Returns whether there is one. */
inlined int find_one(struct found *found, const uint8_t *last)
{
	struct cyc_pair pair;

	if (found->pos > last)
		return 0;
	pair = pair_at(found->pos);
	if (!is_pair(&pair))
		return 0;
	add(&found->sums.one, &pair);
	found->bytes = found->bytes >> 8 | (uint64_t)(pair.rest >> 8) << 56;
	found->before = found->pos;
	found->pos += 2 + pair.more;
	found->count += 1;
	return 1;
}

/* Its next two, if both CYCs have two bytes. */
inlined int find_two(struct found *found, const uint8_t *last)
{
	uint64_t word;
	uint32_t tnts;

	if (found->pos > last - (two_room - cyc_pair_room))
		return 0;
	word = pt_get64(found->pos);
	tnts = (uint32_t)((word >> 16 & 0xff) | (word >> 32 & 0xff00));
	if ((word & two * 0x010107) != two * 7 || !(tnts & 0xfc) || !(tnts & 0xfc00))
		return 0;
	add_two(&found->sums.two, word);
	found->bytes = found->bytes >> 16 | (uint64_t)tnts << 48;
	found->pos += two_size;
	found->before = found->pos - pt_cyc_row_pair;
	found->count += 2;
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

/* Whether the last TNT before @pos is in one window with what is there. */
inlined int is_followed(const uint8_t *pos, const uint8_t *end)
{
	return pos < end && !pt_is_cyc(*pos) && is_window_rest(*pos);
}

struct pt_cyc_row pt_cyc_row_at(const uint8_t *pos, const uint8_t *end)
{
	const uint8_t *const last = end - cyc_pair_room;
	struct found found = {.pos = pos};
	struct pt_cyc_row row;

	/* Most of a trace with CYC goes through here. */
	while (found.count < pt_cyc_row_most &&
	       ((found.count < pt_cyc_row_most - 1 && find_two(&found, last)) || find_one(&found, last)))
		continue;
	if (!found.count)
		return (struct pt_cyc_row){.end = pos};
	row = (struct pt_cyc_row){found.pos, found.bytes >> 8 * (pt_cyc_row_most - found.count),
	                          cycles_in(&found.sums), found.count};
	return is_followed(found.pos, end) ? less_one(&row, found.before) : row;
}

enum { form_cyc = 7, form_mask = 0xff0107 };

void pt_cyc_row_form(uint8_t *form, uint64_t bytes)
{
	memset(form, 0, pt_cyc_row_form_size);
	for (uint32_t i = 0; i < pt_cyc_row_most; ++i) {
		form[i * pt_cyc_row_pair] = form_cyc;
		form[i * pt_cyc_row_pair + 2] = (uint8_t)(bytes >> 8 * i);
	}
}

/* The size of the pair that @bytes begins with, if it is that of @form; or zero. */
inlined uint32_t size_of_one(uint32_t form, uint32_t bytes)
{
	enum { short_mask = 0xff07, short_cyc = 3 };

	if (!((form ^ bytes) & form_mask))
		return pt_cyc_row_pair;
	return (bytes & short_mask) == ((form >> 8 & 0xff00) | short_cyc) ? pt_cyc_row_pair - 1 : 0;
}

int pt_cyc_row_is(const uint8_t *form, uint32_t count, const uint8_t *pos, const uint8_t *end,
                  struct pt_cyc_row *row)
{
	struct sums sums = {{0}, {0}};
	const uint8_t *at = pos;

	if (end - pos < pt_cyc_row_most * pt_cyc_row_pair + two_room)
		return 0;
	for (uint32_t left = count; left;) {
		const uint64_t word = pt_get64(at);
		const struct cyc_pair pair = {(uint32_t)word, (uint32_t)word >> 2 & 1, 0};
		uint32_t size;

		if (left > 1 && !((word ^ pt_get64(form)) & two * form_mask)) {
			add_two(&sums.two, word);
			form += two_size;
			at += two_size;
			left -= 2;
			continue;
		}
		size = size_of_one(pt_get32(form), (uint32_t)word);
		if (!size)
			return 0;
		add(&sums.one, &pair);
		form += pt_cyc_row_pair;
		at += size;
		left -= 1;
	}
	if (is_followed(at, end))
		return 0;
	if (count < pt_cyc_row_most) {
		const struct cyc_pair pair = pair_at(at);

		if (is_pair(&pair))
			return 0;
	}
	*row = (struct pt_cyc_row){.end = at, .cycles = cycles_in(&sums), .count = count};
	return 1;
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
