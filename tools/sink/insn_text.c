/* insn_text.c - see insn_text.h. Decoding and formatting are Zydis'. */
#include "sink/insn_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

enum { slots = 1 << 14, modes = ptem_64bit + 1 };

struct insn_texts {
	struct sb_code *code; /* borrowed */
	enum insn_syntax syntax;
	ZydisDecoder decoder[modes]; /* by enum pt_exec_mode; the first is not used */
	ZydisFormatter formatter;
	struct insn_text slot[slots];
};

struct insn_texts *insn_texts_new(struct sb_code *code, enum insn_syntax syntax)
{
	struct insn_texts *texts = calloc(1, sizeof(*texts));

	if (!texts)
		return NULL;
	texts->code = code;
	texts->syntax = syntax;
	ZydisDecoderInit(&texts->decoder[ptem_16bit], ZYDIS_MACHINE_MODE_LEGACY_16, ZYDIS_STACK_WIDTH_16);
	ZydisDecoderInit(&texts->decoder[ptem_32bit], ZYDIS_MACHINE_MODE_LEGACY_32, ZYDIS_STACK_WIDTH_32);
	ZydisDecoderInit(&texts->decoder[ptem_64bit], ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisFormatterInit(&texts->formatter, syntax == insn_syntax_att ? ZYDIS_FORMATTER_STYLE_ATT
	                                                                : ZYDIS_FORMATTER_STYLE_INTEL);
	return texts;
}

void insn_texts_free(struct insn_texts *texts)
{
	free(texts);
}

/* What the class does not tell apart. */
static const char *far_branch(ZydisMnemonic mnemonic, uint8_t iclass)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_SYSCALL:
	case ZYDIS_MNEMONIC_SYSENTER:
		return "syscall";
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_SYSEXIT:
		return "sysret";
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
		return "iret";
	case ZYDIS_MNEMONIC_INT:
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_INTO:
		return "int";
	case ZYDIS_MNEMONIC_VMLAUNCH:
	case ZYDIS_MNEMONIC_VMRESUME:
		return "vmentry";
	default:
		return iclass == ptic_far_call ? "call" : iclass == ptic_far_return ? "return" : "jmp";
	}
}

static const char *near_branch(uint8_t iclass)
{
	switch (iclass) {
	case ptic_call:
		return "call";
	case ptic_return:
		return "return";
	case ptic_jump:
	case ptic_indirect:
		return "jmp";
	case ptic_cond_jump:
		return "jcc";
	default:
		return "";
	}
}

static bool is_far(uint8_t iclass)
{
	return iclass == ptic_far_call || iclass == ptic_far_return || iclass == ptic_far_jump;
}

static void decode(struct insn_texts *texts, struct insn_text *insn, uint8_t iclass)
{
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction decoded = {0};
	const bool far = is_far(iclass);

	insn->text[0] = '\0';
	if ((far || texts->syntax) && insn->mode && insn->mode < modes &&
	    ZYAN_SUCCESS(ZydisDecoderDecodeFull(&texts->decoder[insn->mode], insn->bytes, insn->known,
	                                        &decoded, operand)) &&
	    texts->syntax &&
	    !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&texts->formatter, &decoded, operand,
	                                                  decoded.operand_count_visible, insn->text,
	                                                  sizeof(insn->text), insn->ip, NULL)))
		insn->text[0] = '\0';
	insn->branch = far ? far_branch(decoded.mnemonic, iclass) : near_branch(iclass);
}

const struct insn_text *insn_text_at(struct insn_texts *texts, const struct sb_flow *flow, uint64_t ip,
                                     uint8_t length, uint8_t mode, uint8_t iclass)
{
	const struct sb_code_place place = {.epoch = flow->epoch, .ip = ip, .tsc = flow->tsc};
	struct insn_text *insn = &texts->slot[(ip ^ ip >> 14) % slots];
	uint8_t bytes[pt_max_insn_size];
	int known;

	if (length > sizeof(bytes))
		length = sizeof(bytes);
	known = sb_code_read(texts->code, &place, bytes, length);
	if (known < 0)
		return NULL;
	if (insn->length == length && insn->ip == ip && insn->mode == mode && insn->known == known &&
	    !memcmp(insn->bytes, bytes, (size_t)known))
		return insn;
	insn->ip = ip;
	insn->length = length;
	insn->mode = mode;
	insn->known = (uint8_t)known;
	memcpy(insn->bytes, bytes, (size_t)known);
	decode(texts, insn, iclass);
	return insn;
}
