/* code.c - see code.h. */
#include "code.h"

#include <string.h>

#include <Zydis/Zydis.h>

static int set_up(ZydisDecoder *decoder, int mode)
{
	switch (mode) {
	case 1:
		return ZYAN_SUCCESS(
		        ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LEGACY_16, ZYDIS_STACK_WIDTH_16));
	case 2:
		return ZYAN_SUCCESS(
		        ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LEGACY_32, ZYDIS_STACK_WIDTH_32));
	case 3:
		return ZYAN_SUCCESS(
		        ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
	default:
		return 0;
	}
}

static int is_direct(const ZydisDecodedInstruction *insn)
{
	if (insn->mnemonic == ZYDIS_MNEMONIC_XBEGIN || !insn->raw.imm[0].is_relative)
		return 0;
	return insn->meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
	       insn->meta.category == ZYDIS_CATEGORY_CALL || insn->meta.category == ZYDIS_CATEGORY_COND_BR;
}

int code_decode(const struct diff_case *c, uint64_t ip, int mode, struct code_insn *insn)
{
	static const uint64_t masks[] = {0, 0xffff, 0xffffffff, ~0ull};
	ZydisDecodedInstruction decoded;
	ZydisDecoder decoder;
	size_t got;

	memset(insn, 0, sizeof(*insn));
	got = case_read(c, ip, insn->raw, sizeof(insn->raw));
	if (!set_up(&decoder, mode) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, insn->raw, got, &decoded)))
		return -1;
	insn->size = decoded.length;
	memset(insn->raw + decoded.length, 0, sizeof(insn->raw) - decoded.length);
	insn->next = insn->target = ip + decoded.length;
	insn->stops = decoded.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE && !is_direct(&decoded) &&
	              decoded.mnemonic != ZYDIS_MNEMONIC_XBEGIN;
	insn->stops |= decoded.meta.category == ZYDIS_CATEGORY_SYSCALL ||
	               decoded.meta.category == ZYDIS_CATEGORY_SYSRET ||
	               decoded.meta.category == ZYDIS_CATEGORY_INTERRUPT ||
	               decoded.meta.category == ZYDIS_CATEGORY_RET;
	if (is_direct(&decoded)) {
		insn->target = (insn->next + (uint64_t)decoded.raw.imm[0].value.s) & masks[mode];
		insn->cond = decoded.meta.category == ZYDIS_CATEGORY_COND_BR;
		if (!insn->cond)
			insn->next = insn->target;
	}
	return 0;
}
