/* insn_forms.c - makes the table of code/insn_forms.h; prints it as C.
 *
 * Of each form, Zydis decodes the instructions that there are: all REX prefixes, all of ModRM, with and
 * without SIB and displacement. Only where all are valid, of one kind, and as long as ModRM says plus a
 * number of bytes that is the same for all, the form gets an entry.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "code/insn_decode.h"
#include "code/insn_forms.h"

static const uint8_t mandatory[pt_form_segment] = {0, 0x66, 0xf3, 0xf2};

/* Before it, when there is one: both must be alike. */
static const uint8_t segments[] = {0x64, 0x65};

/* What stands before ModRM. */
struct head {
	uint8_t bytes[5], size;
	uint8_t map, opcode, nprefixes;
};

/* @segment, @rex: zero for none. */
static struct head make_head(unsigned prefix, uint8_t segment, uint8_t rex, uint8_t map, uint8_t opcode)
{
	struct head head = {.map = map, .opcode = opcode};

	if (segment)
		head.bytes[head.size++] = segment;
	if (mandatory[prefix % pt_form_segment])
		head.bytes[head.size++] = mandatory[prefix % pt_form_segment];
	if (rex)
		head.bytes[head.size++] = rex;
	head.nprefixes = head.size;
	if (map)
		head.bytes[head.size++] = 0x0f;
	head.bytes[head.size++] = opcode;
	return head;
}

/* Whether Zydis read the head as what it is here. */
static bool is_read_alike(const ZydisDecodedInstruction *insn, const struct head *head)
{
	return insn->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY && insn->opcode == head->opcode &&
	       insn->opcode_map == (head->map ? ZYDIS_OPCODE_MAP_0F : ZYDIS_OPCODE_MAP_DEFAULT) &&
	       insn->raw.prefix_count == head->nprefixes &&
	       (!insn->raw.modrm.offset || insn->raw.modrm.offset == head->size);
}

/* The displacement of a direct branch must be all of the tail. */
static bool is_simple_branch(const struct pt_insn_info *info, const uint8_t *tail, unsigned size)
{
	int32_t displacement;

	memcpy(&displacement, tail, sizeof(displacement));
	return info->ip_bits == 64 && (size == 1 || size == 4) &&
	       info->displacement == (size == 1 ? (int8_t)*tail : displacement);
}

/* See pt_form_modrm_bytes. */
static uint8_t modrm_bytes(uint8_t modrm)
{
	static const uint8_t displacement[] = {0, 1, 4, 0};
	const unsigned mod = modrm >> 6, rm = modrm & 7;
	const unsigned has_sib = mod != 3 && rm == 4, is_relative = mod == 0 && rm == 5;

	return (uint8_t)((1 + has_sib + displacement[mod] + 4 * is_relative) |
	                 (has_sib && mod == 0 ? pt_form_asks_sib : 0));
}

/* The entry that one instruction asks for; zero: none. */
static uint8_t entry_of(const ZydisDecoder *decoder, const struct head *head, uint8_t modrm, uint8_t sib)
{
	uint8_t bytes[2 * pt_max_insn_size] = {0};
	ZydisDecodedInstruction insn;
	struct pt_insn_info info;
	unsigned size = head->size, tail;
	uint8_t entry;

	memcpy(bytes, head->bytes, head->size);
	bytes[head->size] = modrm;
	bytes[head->size + 1] = sib;
	/* Displacements that differ from each other in every byte, and have a sign. */
	for (unsigned i = head->size + 2u; i < pt_max_insn_size; i++)
		bytes[i] = (uint8_t)(0xb0 + i);
	if (pt_insn_decode(&info, bytes, pt_max_insn_size, ptem_64bit) < 0 ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder, NULL, bytes, pt_max_insn_size, &insn)) ||
	    !is_read_alike(&insn, head) || !(pt_form_kinds >> info.kind & 1))
		return 0;
	entry = (uint8_t)((info.kind + 1) << pt_form_kind_shift);
	if (insn.raw.modrm.offset) {
		entry |= pt_form_modrm;
		size += pt_form_modrm_size_by(modrm_bytes(bytes[head->size]), bytes[head->size + 1]);
	}
	if (insn.length < size)
		return 0;
	tail = insn.length - size;
	if (info.kind == pt_kind_cond || info.kind == pt_kind_jump || info.kind == pt_kind_call) {
		if (!is_simple_branch(&info, bytes + size, tail))
			return 0;
	} else if (info.displacement || info.ip_bits) {
		return 0;
	}
	if (tail == 8)
		return entry | pt_form_tail_8;
	return tail < pt_form_tail_8 ? entry | (uint8_t)tail : 0;
}

/* Looks at all ModRM bytes behind @head. */
static void look_at(uint8_t *entry, const ZydisDecoder *decoder, const struct head *head)
{
	static const uint8_t sibs[] = {0x00, 0x25, 0xff};

	for (unsigned modrm = 0; modrm < 256; modrm++) {
		uint8_t *to = &entry[pt_form_operand((uint8_t)modrm)];
		const unsigned nsibs = modrm < 0xc0 && (modrm & 7) == 4 ? sizeof(sibs) : 1;

		for (unsigned i = 0; i < nsibs && *to; i++)
			if (entry_of(decoder, head, (uint8_t)modrm, sibs[i]) != *to)
				*to = 0;
	}
}

static void look_behind(uint8_t *entry, const ZydisDecoder *decoder, unsigned prefix, uint8_t segment,
                        unsigned wide, uint8_t map, uint8_t opcode)
{
	const uint8_t first_rex = wide ? 0x48 : 0x40;
	struct head head;

	for (uint8_t rex = first_rex; rex < first_rex + 8; rex++) {
		head = make_head(prefix, segment, rex, map, opcode);
		look_at(entry, decoder, &head);
	}
	if (wide)
		return;
	head = make_head(prefix, segment, 0, map, opcode);
	look_at(entry, decoder, &head);
}

static void make_row(uint8_t *entry, const ZydisDecoder *decoder, unsigned prefix, unsigned wide, uint8_t map,
                     uint8_t opcode)
{
	const bool has_segment = prefix >= pt_form_segment;
	const struct head head =
	        make_head(prefix, has_segment ? segments[0] : 0, wide ? 0x48 : 0x40, map, opcode);

	for (unsigned i = 0; i < pt_form_operands; i++)
		entry[i] = entry_of(decoder, &head, (uint8_t)((i & 7) << 3 | (i & 8 ? 0xc0 : 0)), 0);
	for (unsigned i = 0; i < (has_segment ? sizeof(segments) : 1); i++)
		look_behind(entry, decoder, prefix, has_segment ? segments[i] : 0, wide, map, opcode);
}

/* The rows that there are. */
struct rows {
	uint8_t entry[256][pt_form_operands];
	unsigned count;
};

/* The number of a row like @entry; negative: there are too many. */
static int take_row(struct rows *rows, const uint8_t *entry)
{
	for (unsigned i = 0; i < rows->count; i++)
		if (!memcmp(rows->entry[i], entry, pt_form_operands))
			return (int)i;
	if (rows->count == 256)
		return -1;
	memcpy(rows->entry[rows->count], entry, pt_form_operands);
	return (int)rows->count++;
}

static void print_numbers(const uint8_t *number, unsigned count)
{
	printf("{");
	for (unsigned i = 0; i < count; i++)
		printf("%u,%s", number[i], i % 16 == 15 && i + 1 < count ? "\n" : "");
	printf("},\n");
}

static int print_opcodes(struct rows *rows, const ZydisDecoder *decoder, unsigned prefix, unsigned wide,
                         uint8_t map)
{
	uint8_t number[256];

	for (unsigned opcode = 0; opcode < 256; opcode++) {
		uint8_t entry[pt_form_operands];
		int row;

		make_row(entry, decoder, prefix, wide, map, (uint8_t)opcode);
		row = take_row(rows, entry);
		if (row < 0)
			return -1;
		number[opcode] = (uint8_t)row;
	}
	print_numbers(number, 256);
	return 0;
}

int main(void)
{
	static struct rows rows;
	ZydisDecoder decoder;

	/* What operands there are is nobody's concern. */
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE)))
		return 1;
	printf("#include \"code/insn_forms.h\"\n\n"
	       "const uint8_t pt_form_row[pt_form_prefixes][2][pt_form_maps][256] = {\n");
	for (unsigned prefix = 0; prefix < pt_form_prefixes; prefix++) {
		printf("{");
		for (unsigned wide = 0; wide < 2; wide++) {
			printf("{");
			for (uint8_t map = 0; map < pt_form_maps; map++)
				if (print_opcodes(&rows, &decoder, prefix, wide, map) < 0)
					return 1;
			printf("},\n");
		}
		printf("},\n");
	}
	printf("};\n\nconst uint8_t pt_forms[][pt_form_operands] = {\n");
	for (unsigned i = 0; i < rows.count; i++)
		print_numbers(rows.entry[i], pt_form_operands);
	printf("};\n\nconst uint8_t pt_form_modrm_bytes[256] = {\n");
	for (unsigned modrm = 0; modrm < 256; modrm++)
		printf("%u,%s", modrm_bytes((uint8_t)modrm), modrm % 16 == 15 ? "\n" : "");
	printf("};\n");
	return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
