/* insn_newer.c - see insn_newer.h.
 *
 * Three families. Of the legacy encodings each new instruction is a row of a table. VEX and EVEX encodings
 * all have the same form, so that any of them, known or not, has a length; none of them branches. REX2 (APX)
 * stands for REX with an opcode map, and is translated to it; JMPABS is its only new instruction.
 */
#include "code/insn_newer.h"

#include <stdbool.h>
#include <string.h>

#include "code/insn_decode.h"

/* An instruction as far as it was read. */
struct reader {
	const uint8_t *bytes;
	uint64_t size, pos;
	enum pt_exec_mode mode;
	uint8_t prefix;     /* the mandatory one: 0, 0x66, 0xf2 or 0xf3; the latter two count more */
	bool operand16;     /* 66 was there */
	bool other_address; /* 67 was there */
	bool lock;
};

/* Whether @count more bytes are there. */
static bool more(const struct reader *r, uint64_t count)
{
	return r->size - r->pos >= count;
}

static void read_prefixes(struct reader *r)
{
	for (; more(r, 1); r->pos++) {
		switch (r->bytes[r->pos]) {
		case 0x66:
			r->operand16 = true;
			if (!r->prefix)
				r->prefix = 0x66;
			break;
		case 0xf2:
		case 0xf3:
			r->prefix = r->bytes[r->pos];
			break;
		case 0x67:
			r->other_address = true;
			break;
		case 0xf0:
			r->lock = true;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64:
		case 0x65:
			break;
		default:
			return;
		}
	}
}

/* The bytes that ModRM, SIB and displacement take; zero when they cannot be told. */
static uint64_t modrm_size(const struct reader *r)
{
	const bool address16 =
	        r->mode == ptem_16bit ? !r->other_address : r->mode == ptem_32bit && r->other_address;
	uint8_t modrm, mod, rm;
	uint64_t size = 1;

	if (!more(r, 1))
		return 0;
	modrm = r->bytes[r->pos];
	mod = modrm >> 6;
	rm = modrm & 7;
	if (mod == 3)
		return 1;
	if (address16)
		return size + (mod == 1 ? 1 : mod == 2 || rm == 6 ? 2 : 0);
	if (rm == 4) {
		if (!more(r, 2))
			return 0;
		size++;
		rm = r->bytes[r->pos + 1] & 7; /* base 5 without mod has a displacement, as rm 5 has */
	}
	return size + (mod == 1 ? 1 : mod == 2 || rm == 5 ? 4 : 0);
}

/* Ends the instruction with ModRM and @immediate bytes. */
static int finish(struct pt_insn_info *info, const struct reader *r, uint64_t immediate)
{
	const uint64_t modrm = modrm_size(r), length = r->pos + modrm + immediate;

	if (!modrm || length > r->size)
		return -pte_nomap;
	info->length = (uint8_t)length;
	return 0;
}

static int finish_other(struct pt_insn_info *info, const struct reader *r, uint64_t immediate)
{
	info->kind = pt_kind_other;
	info->iclass = ptic_other;
	return finish(info, r, immediate);
}

/* ---- legacy encodings --------------------------------------------------------------------------- */

enum { any_prefix = 1 };

enum map { map_0f, map_0f38 };

struct row {
	uint8_t map, opcode;
	uint8_t prefix;      /* 0, 0x66, 0xf2, 0xf3 or any_prefix */
	uint8_t mask, modrm; /* the ModRM byte, masked; 0: names memory */
	uint8_t only64;
	uint8_t kind, iclass;
};

static const struct row newer[] = {
        {map_0f, 0x01, 0xf3, 0xff, 0xca, 1, pt_kind_far, ptic_far_return}, /* ERETU */
        {map_0f, 0x01, 0xf2, 0xff, 0xca, 1, pt_kind_far, ptic_far_return}, /* ERETS */
        {map_0f, 0x00, 0xf2, 0x38, 0x30, 1, pt_kind_other, ptic_other},    /* LKGS */
        {map_0f, 0x01, 0, 0xff, 0xc6, 0, pt_kind_other, ptic_other},       /* WRMSRNS */
        {map_0f, 0x01, 0xf2, 0xff, 0xc6, 1, pt_kind_other, ptic_other},    /* RDMSRLIST */
        {map_0f, 0x01, 0xf3, 0xff, 0xc6, 1, pt_kind_other, ptic_other},    /* WRMSRLIST */
        {map_0f, 0x01, 0, 0xff, 0xc7, 1, pt_kind_other, ptic_other},       /* PBNDKB */
        {map_0f38, 0xfc, any_prefix, 0, 0, 0, pt_kind_other, ptic_other},  /* AADD, AAND, AOR, AXOR */
        {map_0f38, 0xf8, 0xf2, 0xc0, 0xc0, 1, pt_kind_other, ptic_other},  /* URDMSR */
        {map_0f38, 0xf8, 0xf3, 0xc0, 0xc0, 1, pt_kind_other, ptic_other},  /* UWRMSR */
        {map_0f38, 0x8a, any_prefix, 0, 0, 1, pt_kind_other, ptic_other},  /* MOVRS, 8 bits */
        {map_0f38, 0x8b, any_prefix, 0, 0, 1, pt_kind_other, ptic_other},  /* MOVRS */
};

/* The opcode was read; ModRM is next. */
static int classify_row(struct pt_insn_info *info, const struct reader *r, enum map map, uint8_t opcode)
{
	uint8_t modrm;

	if (!more(r, 1))
		return -pte_nomap;
	modrm = r->bytes[r->pos];
	for (size_t i = 0; i < sizeof(newer) / sizeof(newer[0]); i++) {
		const struct row *row = &newer[i];

		if (row->map != map || row->opcode != opcode || (row->only64 && r->mode != ptem_64bit) ||
		    (row->prefix != any_prefix && row->prefix != r->prefix) ||
		    (row->mask ? (modrm & row->mask) != row->modrm : modrm >= 0xc0))
			continue;
		info->kind = row->kind;
		info->iclass = row->iclass;
		return finish(info, r, 0);
	}
	return -pte_bad_insn;
}

static int classify_legacy(struct pt_insn_info *info, struct reader *r)
{
	enum map map = map_0f;
	uint8_t opcode;

	if (r->lock)
		return -pte_bad_insn;
	if (r->mode == ptem_64bit && (r->bytes[r->pos] & 0xf0) == 0x40)
		r->pos++;
	if (r->bytes[r->pos++] != 0x0f)
		return -pte_bad_insn;
	opcode = r->bytes[r->pos++];
	if (opcode == 0x38) {
		if (!more(r, 1))
			return -pte_nomap;
		map = map_0f38;
		opcode = r->bytes[r->pos++];
	}
	return classify_row(info, r, map, opcode);
}

/* ---- VEX and EVEX ------------------------------------------------------------------------------- */

/* The immediate of a promoted legacy instruction: EVEX map 4 (APX). ModRM is next. */
static uint64_t promoted_immediate(const struct reader *r, uint8_t opcode, bool word)
{
	switch (opcode) {
	case 0x24: /* SHLD, SHRD */
	case 0x2c:
	case 0x6b: /* IMUL */
	case 0x80: /* ADD and so on */
	case 0x83:
	case 0xc0: /* rotates and shifts */
	case 0xc1:
		return 1;
	case 0x69:
	case 0x81:
		return word ? 2 : 4;
	case 0xf6: /* TEST */
		return more(r, 1) && !(r->bytes[r->pos] & 0x30);
	case 0xf7:
		return more(r, 1) && !(r->bytes[r->pos] & 0x30) ? (word ? 2 : 4) : 0;
	default:
		return 0;
	}
}

static uint64_t vector_immediate(const struct reader *r, uint8_t map, uint8_t opcode, bool word)
{
	switch (map) {
	case 1: /* EVEX only */
		return (opcode & 0xfc) == 0x70 || opcode == 0xc2 || (opcode >= 0xc4 && opcode <= 0xc6);
	case 3:
		return 1;
	case 4:
		return promoted_immediate(r, opcode, word);
	case 7:
		return 4;
	default:
		return 0;
	}
}

/* The opcode maps that are in use and may get new instructions: a bit per map. */
enum { vex_maps = 1 << 2 | 1 << 3 | 1 << 5 | 1 << 7, evex_maps = 0xfe };

/* @payload bytes follow the first one; the opcode comes behind them. */
static int classify_vector(struct pt_insn_info *info, struct reader *r, uint64_t payload, uint32_t maps,
                           uint8_t map, bool word)
{
	uint8_t opcode;

	/* A prefix that the payload replaces may not be there as well. */
	if (r->prefix || r->lock || !(maps >> map & 1))
		return -pte_bad_insn;
	r->pos += 1 + payload;
	if (!more(r, 1))
		return -pte_nomap;
	opcode = r->bytes[r->pos++];
	return finish_other(info, r, vector_immediate(r, map, opcode, word));
}

/* ---- REX2 --------------------------------------------------------------------------------------- */

static int classify_jmpabs(struct pt_insn_info *info, const struct reader *r)
{
	uint64_t target = 0;

	if (!more(r, 3 + sizeof(target)))
		return -pte_nomap;
	memcpy(&target, r->bytes + r->pos + 3, sizeof(target));
	info->displacement = (int64_t)target;
	info->ip_bits = 0;
	info->length = (uint8_t)(r->pos + 3 + sizeof(target));
	info->kind = pt_kind_jump;
	info->iclass = ptic_jump;
	return 0;
}

/* Opcodes that REX2 cannot stand before: other prefixes and maps, what takes immediate addresses, and near
 * branches with a displacement. */
static bool rex2_allows(bool map1, uint8_t opcode)
{
	const uint8_t row = opcode >> 4;

	return map1 ? row != 0x3 && row != 0x8 : row != 0x4 && row != 0x7 && row != 0xa && row != 0xe;
}

/* D5, payload, opcode: the same as REX, perhaps 0F, and the opcode. */
static int classify_rex2(struct pt_insn_info *info, const struct reader *r)
{
	uint8_t bytes[pt_max_insn_size], payload;
	uint64_t size = r->pos, rest;
	bool map1;
	int status;

	if (!more(r, 3))
		return -pte_nomap;
	payload = r->bytes[r->pos + 1];
	map1 = payload >> 7;
	if (!map1 && r->bytes[r->pos + 2] == 0xa1)
		return r->prefix || r->lock || payload & 8 ? -pte_bad_insn : classify_jmpabs(info, r);
	if (!rex2_allows(map1, r->bytes[r->pos + 2]))
		return -pte_bad_insn;
	memcpy(bytes, r->bytes, size);
	bytes[size++] = 0x40 | (payload & 0x0f);
	if (map1)
		bytes[size++] = 0x0f;
	rest = r->size - r->pos - 2;
	memcpy(bytes + size, r->bytes + r->pos + 2, rest);
	status = pt_insn_decode(info, bytes, size + rest, r->mode);
	info->length = (uint8_t)(info->length + (map1 ? 0 : 1));
	return status;
}

/* Whether any newer instruction begins with @byte behind its prefixes. */
static bool begins_newer(uint8_t byte, enum pt_exec_mode mode)
{
	return byte == 0x0f || byte == 0x62 || byte == 0xc4 ||
	       (mode == ptem_64bit && (byte == 0xd5 || (byte & 0xf0) == 0x40));
}

int pt_insn_classify_newer(struct pt_insn_info *info, const uint8_t *bytes, uint64_t size,
                           enum pt_exec_mode mode)
{
	struct reader r = {.bytes = bytes, .size = size, .mode = mode};
	const uint8_t *at;

	read_prefixes(&r);
	if (more(&r, 1) && !begins_newer(bytes[r.pos], mode))
		return -pte_bad_insn;
	if (!more(&r, 3))
		return -pte_nomap;
	at = bytes + r.pos;
	/* Outside of 64-bit mode these are BOUND, LDS and LES, unless they name no memory. */
	if (mode == ptem_64bit || at[1] >= 0xc0) {
		if (at[0] == 0x62)
			return classify_vector(info, &r, 3, evex_maps, at[1] & 7, (at[2] & 0x83) == 1);
		if (at[0] == 0xc4)
			return classify_vector(info, &r, 2, vex_maps, at[1] & 0x1f, false);
	}
	if (mode == ptem_64bit && at[0] == 0xd5)
		return classify_rex2(info, &r);
	return classify_legacy(info, &r);
}
