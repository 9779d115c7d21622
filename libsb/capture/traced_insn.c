/* traced_insn.c - classes of instructions, by Zydis' mnemonics; see the SDM, vol. 3, "Intel
 * Processor Trace", the table of change of flow instructions. */
#include "traced_insn.h"

#include <string.h>

#include <Zydis/Zydis.h>

struct mnemonic_row {
	uint16_t mnemonic;
	uint8_t kind, rule, condition;
};

static const struct mnemonic_row mnemonic_table[] = {
        {ZYDIS_MNEMONIC_JO, ik_cond, br_flags, 0x0},
        {ZYDIS_MNEMONIC_JNO, ik_cond, br_flags, 0x1},
        {ZYDIS_MNEMONIC_JB, ik_cond, br_flags, 0x2},
        {ZYDIS_MNEMONIC_JNB, ik_cond, br_flags, 0x3},
        {ZYDIS_MNEMONIC_JZ, ik_cond, br_flags, 0x4},
        {ZYDIS_MNEMONIC_JNZ, ik_cond, br_flags, 0x5},
        {ZYDIS_MNEMONIC_JBE, ik_cond, br_flags, 0x6},
        {ZYDIS_MNEMONIC_JNBE, ik_cond, br_flags, 0x7},
        {ZYDIS_MNEMONIC_JS, ik_cond, br_flags, 0x8},
        {ZYDIS_MNEMONIC_JNS, ik_cond, br_flags, 0x9},
        {ZYDIS_MNEMONIC_JP, ik_cond, br_flags, 0xa},
        {ZYDIS_MNEMONIC_JNP, ik_cond, br_flags, 0xb},
        {ZYDIS_MNEMONIC_JL, ik_cond, br_flags, 0xc},
        {ZYDIS_MNEMONIC_JNL, ik_cond, br_flags, 0xd},
        {ZYDIS_MNEMONIC_JLE, ik_cond, br_flags, 0xe},
        {ZYDIS_MNEMONIC_JNLE, ik_cond, br_flags, 0xf},
        {ZYDIS_MNEMONIC_JRCXZ, ik_cond, br_rcx_zero, 0},
        {ZYDIS_MNEMONIC_JECXZ, ik_cond, br_step, 0},
        {ZYDIS_MNEMONIC_LOOP, ik_cond, br_step, 0},
        {ZYDIS_MNEMONIC_LOOPE, ik_cond, br_step, 0},
        {ZYDIS_MNEMONIC_LOOPNE, ik_cond, br_step, 0},
        {ZYDIS_MNEMONIC_SYSCALL, ik_far, br_syscall, 0},
        {ZYDIS_MNEMONIC_SYSENTER, ik_far, br_step, 0},
        {ZYDIS_MNEMONIC_SYSRET, ik_far, br_step, 0},
        {ZYDIS_MNEMONIC_SYSEXIT, ik_far, br_step, 0},
        {ZYDIS_MNEMONIC_INT1, ik_far, br_step, 0},
        {ZYDIS_MNEMONIC_INT3, ik_far, br_step, 0},
        {ZYDIS_MNEMONIC_IRET, ik_far, br_step, 0},
        {ZYDIS_MNEMONIC_IRETD, ik_far, br_step, 0},
        {ZYDIS_MNEMONIC_IRETQ, ik_far, br_step, 0},
        {ZYDIS_MNEMONIC_RDTSC, ik_other, br_counter, 0},
        {ZYDIS_MNEMONIC_RDTSCP, ik_other, br_counter, 0},
        {ZYDIS_MNEMONIC_PUSHF, ik_other, br_pushf, 0},
        {ZYDIS_MNEMONIC_PUSHFQ, ik_other, br_pushf, 0},
        /* Aborts at once when it is stepped, which looks like an interrupt with another way back. */
        {ZYDIS_MNEMONIC_XBEGIN, ik_other, br_step, 0},
};

static uint8_t general_register(ZydisRegister reg)
{
	if (reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15)
		return (uint8_t)(reg - ZYDIS_REGISTER_RAX);
	return reg == ZYDIS_REGISTER_RIP ? RIP_REGISTER : NO_REGISTER;
}

/* The operand of an indirect JMP or CALL; what is not plain 64-bit addressing is left to the processor. */
static void indirect_operand(struct branch_info *branch, const ZydisDecodedInstruction *raw,
                             const ZydisDecodedOperand *operand)
{
	branch->rule = br_step;
	if (raw->address_width != 64 || operand->size != 64)
		return;
	if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER) {
		branch->base = general_register(operand->reg.value);
		if (branch->base < RIP_REGISTER)
			branch->rule = br_indirect;
		return;
	}
	if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY)
		return;
	branch->in_memory = 1;
	branch->base = general_register(operand->mem.base);
	branch->index = general_register(operand->mem.index);
	branch->scale = operand->mem.scale;
	branch->displacement = operand->mem.disp.has_displacement ? operand->mem.disp.value : 0;
	if (operand->mem.segment == ZYDIS_REGISTER_FS)
		branch->segment = 'f';
	else if (operand->mem.segment == ZYDIS_REGISTER_GS)
		branch->segment = 'g';
	branch->rule = br_indirect;
}

/* JMP, CALL and RET: near or far, direct or not. */
static void classify_transfer(struct traced_insn *insn, struct branch_info *branch,
                              const ZydisDecodedInstruction *raw, const ZydisDecodedOperand *operand)
{
	int call = raw->mnemonic == ZYDIS_MNEMONIC_CALL;

	if (raw->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) {
		insn->kind = ik_far;
		branch->rule = br_step;
	} else if (raw->mnemonic == ZYDIS_MNEMONIC_RET) {
		insn->kind = ik_ret;
		branch->rule = br_ret;
		if (raw->operand_count_visible && operand[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			branch->pop = (uint16_t)operand[0].imm.value.u;
	} else if (operand[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		insn->kind = call ? ik_call : ik_jump;
		branch->rule = br_none;
	} else {
		insn->kind = call ? ik_call_indirect : ik_jump_indirect;
		indirect_operand(branch, raw, &operand[0]);
	}
}

static void classify(struct traced_insn *insn, struct branch_info *branch, const ZydisDecodedInstruction *raw,
                     const ZydisDecodedOperand *operand)
{
	switch (raw->mnemonic) {
	case ZYDIS_MNEMONIC_JMP:
	case ZYDIS_MNEMONIC_CALL:
	case ZYDIS_MNEMONIC_RET:
		classify_transfer(insn, branch, raw, operand);
		return;
	case ZYDIS_MNEMONIC_INT:
		insn->kind = ik_far;
		branch->rule = br_step;
		if (operand[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operand[0].imm.value.u == 0x80)
			branch->rule = br_syscall;
		return;
	default:
		break;
	}
	for (size_t i = 0; i < sizeof(mnemonic_table) / sizeof(*mnemonic_table); i++) {
		if (mnemonic_table[i].mnemonic != raw->mnemonic)
			continue;
		insn->kind = mnemonic_table[i].kind;
		branch->rule = mnemonic_table[i].rule;
		branch->condition = mnemonic_table[i].condition;
		return;
	}
}

int traced_insn_decode(struct traced_insn *insn, struct branch_info *branch, uint64_t ip,
                       const uint8_t *bytes, size_t size)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction raw;
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
	struct branch_info unused;

	if (!branch)
		branch = &unused;
	memset(branch, 0, sizeof(*branch));
	branch->base = branch->index = NO_REGISTER;
	insn->ip = ip;
	insn->length = 0;
	insn->kind = ik_other;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, size, &raw, operand)))
		return -1;
	insn->length = raw.length;
	classify(insn, branch, &raw, operand);
	if (raw.operand_count_visible && operand[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
	    operand[0].imm.is_relative)
		branch->target = ip + raw.length + operand[0].imm.value.u;
	return 0;
}
