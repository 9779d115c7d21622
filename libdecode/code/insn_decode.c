/* insn_decode.c - see insn_decode.h. */
#include "code/insn_decode.h"

#include <string.h>

#include <Zydis/Zydis.h>

#include "code/insn_newer.h"

static int init_decoder(ZydisDecoder *decoder, enum pt_exec_mode mode)
{
	ZyanStatus status;

	switch (mode) {
	case ptem_64bit:
		status = ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
		break;
	case ptem_32bit:
		status = ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LEGACY_32, ZYDIS_STACK_WIDTH_32);
		break;
	case ptem_16bit:
		status = ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LEGACY_16, ZYDIS_STACK_WIDTH_16);
		break;
	default:
		return -pte_bad_insn;
	}
	/* Operands, flags and attributes are nobody's concern. */
	if (ZYAN_SUCCESS(status))
		status = ZydisDecoderEnableMode(decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
	return ZYAN_SUCCESS(status) ? 0 : -pte_internal;
}

struct class_row {
	uint8_t kind, iclass;
};

/* Instructions whose mnemonic alone tells. Zero means: look at the category. */
static struct class_row class_of_mnemonic(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_SYSCALL:
	case ZYDIS_MNEMONIC_SYSENTER:
	case ZYDIS_MNEMONIC_INT:
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_INTO:
	case ZYDIS_MNEMONIC_VMCALL:
		return (struct class_row){pt_kind_far, ptic_far_call};
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_SYSEXIT:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_UIRET:
	case ZYDIS_MNEMONIC_RSM:
	case ZYDIS_MNEMONIC_VMLAUNCH:
	case ZYDIS_MNEMONIC_VMRESUME:
		return (struct class_row){pt_kind_far, ptic_far_return};
	case ZYDIS_MNEMONIC_PTWRITE:
		return (struct class_row){pt_kind_ptwrite, ptic_ptwrite};
	case ZYDIS_MNEMONIC_VMPTRLD:
		return (struct class_row){pt_kind_vmcs, ptic_other};
	/* Branches in name only: an abort comes as an asynchronous branch. */
	case ZYDIS_MNEMONIC_XBEGIN:
	case ZYDIS_MNEMONIC_XABORT:
	case ZYDIS_MNEMONIC_XEND:
		return (struct class_row){pt_kind_other, ptic_other};
	default:
		return (struct class_row){0, 0};
	}
}

static struct class_row class_of_branch(const ZydisDecodedInstruction *insn, struct class_row direct,
                                        struct class_row indirect, struct class_row far_row)
{
	if (insn->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return far_row;
	return insn->raw.imm[0].is_relative ? direct : indirect;
}

static struct class_row classify(const ZydisDecodedInstruction *insn)
{
	struct class_row row = class_of_mnemonic(insn->mnemonic);

	if (row.iclass)
		return row;
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return (struct class_row){pt_kind_cond, ptic_cond_jump};
	case ZYDIS_CATEGORY_UNCOND_BR:
		return class_of_branch(insn, (struct class_row){pt_kind_jump, ptic_jump},
		                       (struct class_row){pt_kind_ind_jump, ptic_jump},
		                       (struct class_row){pt_kind_far, ptic_far_jump});
	case ZYDIS_CATEGORY_CALL:
		return class_of_branch(insn, (struct class_row){pt_kind_call, ptic_call},
		                       (struct class_row){pt_kind_ind_call, ptic_call},
		                       (struct class_row){pt_kind_far, ptic_far_call});
	case ZYDIS_CATEGORY_RET:
		if (insn->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
			return (struct class_row){pt_kind_far, ptic_far_return};
		return (struct class_row){pt_kind_ret, ptic_return};
	default:
		break;
	}
	/* MOV CR3, r: 0F 22 /3. */
	if (insn->mnemonic == ZYDIS_MNEMONIC_MOV && insn->opcode_map == ZYDIS_OPCODE_MAP_0F &&
	    insn->opcode == 0x22 && insn->raw.modrm.reg == 3)
		return (struct class_row){pt_kind_mov_cr3, ptic_other};
	return (struct class_row){pt_kind_other, ptic_other};
}

/* As pt_insn_decode(), but -pte_nomap also where no more bytes can help. */
static int decode(struct pt_insn_info *info, const uint8_t *bytes, uint64_t size, enum pt_exec_mode mode)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;
	struct class_row row;
	ZyanStatus zstatus;
	int status;

	status = init_decoder(&decoder, mode);
	if (status < 0)
		return status;
	zstatus = ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, (ZyanUSize)size, &insn);
	if (zstatus == ZYDIS_STATUS_NO_MORE_DATA)
		return -pte_nomap;
	if (zstatus == ZYDIS_STATUS_DECODING_ERROR || zstatus == ZYDIS_STATUS_INVALID_MAP ||
	    zstatus == ZYDIS_STATUS_MALFORMED_EVEX)
		return pt_insn_classify_newer(info, bytes, size, mode);
	/* VEX branches (JKZD, JKNZD) were Xeon Phi's first generation's, before there was PT. */
	if (!ZYAN_SUCCESS(zstatus) ||
	    (insn.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX && insn.raw.imm[0].is_relative))
		return -pte_bad_insn;
	row = classify(&insn);
	info->kind = row.kind;
	info->iclass = row.iclass;
	info->length = insn.length;
	if (insn.raw.imm[0].is_relative) {
		info->displacement = insn.raw.imm[0].value.s;
		info->ip_bits = (uint8_t)insn.operand_width;
	}
	return 0;
}

int pt_insn_decode(struct pt_insn_info *info, const uint8_t *bytes, uint64_t size, enum pt_exec_mode mode)
{
	const uint64_t used = size < pt_max_insn_size ? size : pt_max_insn_size;
	int status;

	memset(info, 0, sizeof(*info));
	status = decode(info, bytes, used, mode);
	return status == -pte_nomap && used == pt_max_insn_size ? -pte_bad_insn : status;
}
