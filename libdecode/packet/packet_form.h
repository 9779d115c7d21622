/* Packets that their first byte tells all about: most of a trace.
 *
 * A row of the table gives a packet's three words: its head, and what its payload's two words hold, either
 * known from the first byte or taken from the bytes behind it. So packets of all these types are read in one
 * way, without a branch for each. The others are left to packet_read.c.
 */
#ifndef PT_PACKET_FORM_H
#define PT_PACKET_FORM_H

#include "intel-pt.h"
#include "packet/bytes.h"

/* It begins as a struct pt_packet does. */
struct pt_packet_form {
	uint32_t type;    /* enum pt_packet_type; ppt_invalid: no such opcode, or a second byte tells */
	uint8_t size;     /* in the trace; zero when the packet is not read so */
	uint64_t word[2]; /* of the payload: what the first byte tells */
	uint64_t mask[2]; /* and which of the eight bytes behind it belong there */
};

/* By first byte. */
extern const struct pt_packet_form pt_packet_forms[256];

/* As many bytes are read at a packet, whatever its size. */
enum { pt_packet_form_room = 9 };

/* Small fields are the lowest byte of a word that is zero else, as it was written. */
_Static_assert(offsetof(struct pt_packet, type) == 0 && offsetof(struct pt_packet, size) == 4 &&
                       offsetof(struct pt_packet, payload) == 8 && sizeof(struct pt_packet) == 24,
               "a packet is three words");
_Static_assert(offsetof(struct pt_packet_form, type) == 0 && offsetof(struct pt_packet_form, size) == 4 &&
                       offsetof(struct pt_packet_form, word) == 8,
               "and so is what a row tells of it");
_Static_assert(offsetof(struct pt_packet_tnt, payload) == 8 && offsetof(struct pt_packet_ip, ip) == 8,
               "the second word is a number");
_Static_assert(pt_mol_exec == 0 && pt_mol_tsx == 0x20 && offsetof(struct pt_packet_mode, bits) == 4,
               "a mode's leaf and bits are halves of a word");

/* Writes all of @packet, the bytes between its fields too. */
static inline void pt_packet_set_words(struct pt_packet *packet, uint64_t head, uint64_t first,
                                       uint64_t second)
{
	uint8_t *const bytes = (uint8_t *)packet;

	pt_put(bytes, head, sizeof(head));
	pt_put(bytes + 8, first, sizeof(first));
	pt_put(bytes + 16, second, sizeof(second));
}

static inline uint64_t pt_packet_head(enum pt_packet_type type, uint8_t size)
{
	return (uint64_t)type | (uint64_t)size << 32;
}

/* @behind: the eight bytes behind the first one. */
static inline void pt_packet_fill(struct pt_packet *packet, const struct pt_packet_form *form,
                                  uint64_t behind)
{
	uint64_t head;

	memcpy(&head, form, sizeof(head));
	pt_packet_set_words(packet, le64toh(head), form->word[0] | (behind & form->mask[0]),
	                    form->word[1] | (behind & form->mask[1]));
}

/* The end of the row of PADs at @pos, which may be empty. */
static inline const uint8_t *pt_packet_skip_pads(const uint8_t *pos, const uint8_t *end)
{
	while (end - pos >= 8) {
		const uint64_t word = pt_get64(pos);

		if (word)
			return pos + (uint32_t)__builtin_ctzll(word) / 8;
		pos += 8;
	}
	while (pos < end && !*pos)
		pos++;
	return pos;
}

/* An OVF's two bytes, and a TMA's; an MTC's opcode; a byte that another byte of opcode follows. */
enum { pt_packet_ovf = 0xf302, pt_packet_tma = 0x7302, pt_packet_mtc = 0x59, pt_packet_extended = 0x02 };

/* CYC of two bytes, of which four can be read. An OVF may stand in place of the second one (erratum SKD007).
 */
static inline int pt_packet_is_cyc_2(const uint8_t *pos)
{
	const uint32_t bytes = pt_get32(pos);

	return (bytes & 0x107) == 7 && (bytes >> 8 & 0xffff) != pt_packet_ovf;
}

static inline uint64_t pt_packet_cyc_2(const uint8_t *pos)
{
	return pos[0] >> 3 | (uint64_t)pos[1] << 4;
}

/* Whether a TMA's bytes are as they should be. */
static inline int pt_packet_is_plain_tma(const uint8_t *pos)
{
	enum { most_fast = 0x1ff };

	return pt_get16(pos) == pt_packet_tma && !pos[4] && pt_get16(pos + 5) <= most_fast;
}

/* The outcomes of a long TNT with their stop bit. */
static inline uint64_t pt_packet_tnt_64_bits(const uint8_t *pos)
{
	return pt_get64(pos) >> 16;
}

/* One with at least one outcome. */
static inline int pt_packet_is_tnt_64(const uint8_t *pos)
{
	return pos[0] == 0x02 && pos[1] == 0xa3 && pt_packet_tnt_64_bits(pos) > 1;
}

static inline int pt_packet_fill_tnt_64(struct pt_packet *packet, const uint8_t *pos)
{
	const uint64_t bits = pt_packet_tnt_64_bits(pos);
	const int size = 63 - __builtin_clzll(bits);

	pt_packet_set_words(packet, pt_packet_head(ppt_tnt_64, 8), (uint64_t)size, bits ^ 1ull << size);
	return 8;
}

/* One that has no payload. */
static inline int pt_packet_fill_bare(struct pt_packet *packet, enum pt_packet_type type, uint8_t size)
{
	pt_packet_set_words(packet, pt_packet_head(type, size), 0, 0);
	return size;
}

/* MODE.Exec or MODE.TSX: the leaf, which is the byte's high bits as they stand there, and the leaf's bits. */
static inline int pt_packet_is_mode(const uint8_t *pos)
{
	return pos[1] <= (pt_mol_tsx | 0x1f);
}

static inline int pt_packet_fill_mode(struct pt_packet *packet, const uint8_t *pos)
{
	const uint8_t leaf = pos[1] & 0xe0, bits = leaf == pt_mol_exec ? 7 : 3;

	pt_packet_set_words(packet, pt_packet_head(ppt_mode, 2), leaf | (uint64_t)(pos[1] & bits) << 32, 0);
	return 2;
}

static inline int pt_packet_fill_cbr(struct pt_packet *packet, const uint8_t *pos)
{
	pt_packet_set_words(packet, pt_packet_head(ppt_cbr, 4), pos[2], 0);
	return 4;
}

static inline int pt_packet_fill_pip(struct pt_packet *packet, const uint8_t *pos)
{
	const uint64_t payload = pt_get64(pos) >> 16;

	pt_packet_set_words(packet, pt_packet_head(ppt_pip, 8), payload >> 1 << 5, payload & 1);
	return 8;
}

static inline int pt_packet_fill_vmcs(struct pt_packet *packet, const uint8_t *pos)
{
	pt_packet_set_words(packet, pt_packet_head(ppt_vmcs, 7), pt_get40(pos + 2) << 12, 0);
	return 7;
}

#endif
