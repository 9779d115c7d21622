/* syscall_number.c - see syscall_number.h. Code cannot be read backwards: what looks like a number put into
 * a register is one if the instructions behind it lead to the system call, and leave it and the way alone. */
#include "replay/syscall_number.h"

#include <Zydis/Zydis.h>
#include <string.h>

enum { INSN_SIZE = 2, NUMBER_MAX = 1024 };

/* A register, how "mov $number" to it begins, and the second byte of "xor" with itself. */
struct number_register {
	ZydisRegister name;
	uint8_t mov, clear;
};
static const struct number_register eax = {ZYDIS_REGISTER_RAX, 0xb8, 0xc0},
                                    edi = {ZYDIS_REGISTER_RDI, 0xbf, 0xff};

static int is_insn(const uint8_t *code, uint8_t first, uint8_t second)
{
	return code[0] == first && code[1] == second;
}

static int leaves_way(const ZydisDecodedInstruction *insn)
{
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_UNCOND_BR:
		return 1;
	default:
		return 0;
	}
}

static int writes(const struct number_register *to, const ZydisDecodedInstruction *insn,
                  const ZydisDecodedOperand *operand)
{
	for (int i = 0; i < insn->operand_count; ++i)
		if (operand[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    operand[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operand[i].reg.value) ==
		            to->name)
			return 1;
	return 0;
}

/* Whether execution comes from the beginning of @code to its end, and the register stays as it is. */
static int is_passed(const ZydisDecoder *decoder, const struct number_register *to, const uint8_t *code,
                     size_t size)
{
	while (size) {
		ZydisDecodedInstruction insn;
		ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];

		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder, code, size, &insn, operand)) ||
		    leaves_way(&insn) || writes(to, &insn, operand))
			return 0;
		code += insn.length;
		size -= insn.length;
	}
	return 1;
}

/* The number that an instruction at the beginning of @code puts into the register, and its size; 0: it does
 * not. */
static size_t put_number(const struct number_register *to, const uint8_t *code, size_t size, uint32_t *number)
{
	if (size >= 2 && is_insn(code, 0x31, to->clear)) {
		*number = 0;
		return 2;
	}
	if (size < 5 || code[0] != to->mov)
		return 0;
	memcpy(number, code + 1, sizeof(*number));
	return 5;
}

/* What is in the register at the end of @code. The nearest number counts; with a REX prefix, it is of another
 * register. */
static int find_number(const struct number_register *to, const uint8_t *code, size_t size, uint32_t max,
                       uint32_t *number)
{
	const uint8_t *end = code + size;
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (const uint8_t *at = end; at-- > code + 1;) {
		const size_t left = (size_t)(end - at);
		const size_t length = (at[-1] & 0xf0) != 0x40 ? put_number(to, at, left, number) : 0;

		if (length && *number <= max && is_passed(&decoder, to, at + length, left - length))
			return 1;
	}
	return 0;
}

int syscall_number(const uint8_t *code, size_t size)
{
	const uint8_t *insn = code + size - INSN_SIZE;
	uint32_t number;

	if (size < INSN_SIZE)
		return syscall_any;
	if (is_insn(insn, 0xcd, 0x80) || is_insn(insn, 0x0f, 0x34))
		return syscall_any;
	if (!is_insn(insn, 0x0f, 0x05))
		return syscall_none;
	return find_number(&eax, code, size - INSN_SIZE, NUMBER_MAX - 1, &number) ? (int)number : syscall_any;
}

int syscall_argument(const uint8_t *code, size_t size, uint32_t *argument)
{
	return size > INSN_SIZE && find_number(&edi, code, size - INSN_SIZE, UINT32_MAX, argument);
}
