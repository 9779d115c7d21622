/* Instruction classes: for each branch of the Intel SDM what it is, how long it is, and where it goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "code/insn_class.h"

enum { m16 = 1 << ptem_16bit, m32 = 1 << ptem_32bit, m64 = 1 << ptem_64bit, all = m16 | m32 | m64 };

/* Where a direct branch at @ip_of_branch goes; -1: no direct branch. */
struct row {
	const char *text;
	const char *hex;
	int modes; /* in which this row counts */
	int size;  /* or -pte_bad_insn */
	enum pt_insn_class iclass;
	enum pt_insn_kind kind;
	int64_t target;
};

enum { branch_ip = 0x8000, none = -1 };

#define OTHER(text, hex, modes, size)                                                                        \
	{                                                                                                    \
		text, hex, modes, size, ptic_other, pt_kind_other, none                                      \
	}
#define COND(text, hex, modes, size, target)                                                                 \
	{                                                                                                    \
		text, hex, modes, size, ptic_cond_jump, pt_kind_cond, target                                 \
	}
#define JUMP(text, hex, modes, size, target)                                                                 \
	{                                                                                                    \
		text, hex, modes, size, ptic_jump, pt_kind_jump, target                                      \
	}
#define CALL(text, hex, modes, size, target)                                                                 \
	{                                                                                                    \
		text, hex, modes, size, ptic_call, pt_kind_call, target                                      \
	}
#define IJUMP(text, hex, modes, size)                                                                        \
	{                                                                                                    \
		text, hex, modes, size, ptic_jump, pt_kind_ind_jump, none                                    \
	}
#define ICALL(text, hex, modes, size)                                                                        \
	{                                                                                                    \
		text, hex, modes, size, ptic_call, pt_kind_ind_call, none                                    \
	}
#define RET(text, hex, modes, size)                                                                          \
	{                                                                                                    \
		text, hex, modes, size, ptic_return, pt_kind_ret, none                                       \
	}
#define FAR_CALL(text, hex, modes, size)                                                                     \
	{                                                                                                    \
		text, hex, modes, size, ptic_far_call, pt_kind_far, none                                     \
	}
#define FAR_RET(text, hex, modes, size)                                                                      \
	{                                                                                                    \
		text, hex, modes, size, ptic_far_return, pt_kind_far, none                                   \
	}
#define FAR_JUMP(text, hex, modes, size)                                                                     \
	{                                                                                                    \
		text, hex, modes, size, ptic_far_jump, pt_kind_far, none                                     \
	}
#define KIND(text, hex, modes, size, ic, kind)                                                               \
	{                                                                                                    \
		text, hex, modes, size, ic, kind, none                                                       \
	}
#define NOTHING(text, hex, modes)                                                                            \
	{                                                                                                    \
		text, hex, modes, -pte_bad_insn, ptic_unknown, pt_kind_other, none                           \
	}

static const struct row near_branches[] = {
        JUMP("jmp rel8", "eb10", all, 2, 0x8012),
        JUMP("jmp rel8 backwards", "ebfe", all, 2, 0x8000),
        JUMP("jmp rel32", "e900000100", m32 | m64, 5, 0x18005),
        JUMP("jmp rel16", "e90010", m16, 3, 0x9003),
        JUMP("jmp rel16 by prefix", "66e90010", m32, 4, 0x9004),
        JUMP("jmp rel32 by prefix", "66e900000100", m16, 6, 0x18006),
        /* Intel ignores the operand size of near branches in 64-bit mode; AMD does not. */
        JUMP("jmp rel32, prefix ignored", "66e900000100", m64, 6, 0x18006),
        JUMP("jmp rel8, prefix ignored", "66eb10", m64, 3, 0x8013),
        JUMP("jmp rel8 backwards by a word", "66eb80", m32, 3, 0x7f83),
        /* A 16-bit branch goes to a 16-bit address. */
        JUMP("jmp rel16 wraps", "e90080", m16, 3, 0x0003),
        JUMP("jmp rel16 by prefix wraps", "66e90080", m32, 4, 0x0004),
        JUMP("jmp rel32 wraps", "e900000080", m32, 5, 0x80008005),
        JUMP("jmp with REX", "48e900000100", m64, 6, 0x18006),
        CALL("call rel32", "e800000100", m32 | m64, 5, 0x18005),
        CALL("call rel16", "e80010", m16, 3, 0x9003),
        CALL("call rel16 by prefix", "66e80010", m32, 4, 0x9004),
        CALL("call rel32, prefix ignored", "66e800000100", m64, 6, 0x18006),
        CALL("bnd call", "f2e800000100", m64, 6, 0x18006),
        COND("jz rel8", "7410", all, 2, 0x8012),
        COND("jo rel8", "7010", all, 2, 0x8012),
        COND("jg rel8", "7f10", all, 2, 0x8012),
        COND("jz rel8 by a word", "6674f0", m32, 3, 0x7ff3),
        COND("jz rel32", "0f8400000100", m32 | m64, 6, 0x18006),
        COND("jz rel16", "0f840010", m16, 4, 0x9004),
        COND("jz rel16 by prefix", "660f840010", m32, 5, 0x9005),
        COND("jz rel32, prefix ignored", "660f8400000100", m64, 7, 0x18007),
        COND("jz rel32 by prefix", "660f8400000100", m16, 7, 0x18007),
        COND("jz predicted", "2e7410", all, 3, 0x8013),
        COND("jcxz", "e310", m16, 2, 0x8012),
        COND("jecxz", "e310", m32, 2, 0x8012),
        COND("jrcxz", "e310", m64, 2, 0x8012),
        COND("jcxz by prefix", "67e310", all, 3, 0x8013),
        COND("loop", "e2fe", all, 2, 0x8000),
        COND("loope", "e1fe", all, 2, 0x8000),
        COND("loopne", "e0fe", all, 2, 0x8000),
        COND("loop, other counter", "67e2fd", all, 3, 0x8000),
        IJUMP("jmp r", "ffe0", all, 2),
        IJUMP("jmp [m]", "ff20", all, 2),
        IJUMP("jmp [rip+d]", "ff2500000000", m64, 6),
        IJUMP("jmp r8", "41ffe0", m64, 3),
        IJUMP("notrack jmp r", "3effe0", all, 3),
        IJUMP("jmp r by a word", "66ffe0", m32, 3),
        ICALL("call r", "ffd0", all, 2),
        ICALL("call [m]", "ff10", all, 2),
        ICALL("call [m + disp8]", "ff5010", all, 3),
        RET("ret", "c3", all, 1),
        RET("ret imm16", "c21000", all, 3),
        RET("bnd ret", "f2c3", all, 2),
        RET("rep ret", "f3c3", all, 2),
        RET("ret by a word", "66c3", all, 2),
};

static const struct row far_branches[] = {
        FAR_JUMP("jmp ptr16:32", "ea000001003000", m32, 7),
        FAR_JUMP("jmp ptr16:16", "ea00103000", m16, 5),
        FAR_JUMP("jmp ptr16:16 by prefix", "66ea00103000", m32, 6),
        FAR_JUMP("jmp ptr16:32 by prefix", "66ea000001003000", m16, 8),
        NOTHING("jmp ptr16:32", "ea000001003000", m64),
        FAR_JUMP("jmp [m16:x]", "ff28", all, 2),
        FAR_JUMP("jmp [m16:64]", "48ff28", m64, 3),
        NOTHING("far jmp r", "ffe8", all),
        FAR_CALL("call ptr16:32", "9a000001003000", m32, 7),
        FAR_CALL("call ptr16:16", "9a00103000", m16, 5),
        NOTHING("call ptr16:32", "9a000001003000", m64),
        FAR_CALL("call [m16:x]", "ff18", all, 2),
        NOTHING("far call r", "ffd8", all),
        FAR_RET("retf", "cb", all, 1),
        FAR_RET("retf imm16", "ca1000", all, 3),
        FAR_RET("iret", "cf", all, 1),
        FAR_RET("iretq", "48cf", m64, 2),
        FAR_RET("iretw", "66cf", m32 | m64, 2),
        FAR_CALL("int n", "cd80", all, 2),
        FAR_CALL("int3", "cc", all, 1),
        FAR_CALL("int1", "f1", all, 1),
        FAR_CALL("into", "ce", m16 | m32, 1),
        NOTHING("into", "ce", m64),
        FAR_CALL("syscall", "0f05", all, 2),
        FAR_CALL("sysenter", "0f34", all, 2),
        FAR_RET("sysret", "0f07", all, 2),
        FAR_RET("sysretq", "480f07", m64, 3),
        FAR_RET("sysexit", "0f35", all, 2),
        FAR_RET("rsm", "0faa", all, 2),
        FAR_CALL("vmcall", "0f01c1", all, 3),
        FAR_RET("vmlaunch", "0f01c2", all, 3),
        FAR_RET("vmresume", "0f01c3", all, 3),
        FAR_RET("uiret", "f30f01ec", m64, 4),
        NOTHING("uiret", "f30f01ec", m16 | m32),
        FAR_RET("eretu", "f30f01ca", m64, 4),
        FAR_RET("erets", "f20f01ca", m64, 4),
        FAR_RET("erets with prefixes", "2ef2480f01ca", m64, 6),
        NOTHING("eretu", "f30f01ca", m16 | m32),
        NOTHING("lock eretu", "f0f30f01ca", m64),
};

static const struct row others[] = {
        OTHER("nop", "90", all, 1),
        OTHER("mov r, imm32", "b800000000", m32 | m64, 5),
        OTHER("clac", "0f01ca", all, 3),
        OTHER("bound", "6200", m16 | m32, 2),
        OTHER("hlt", "f4", all, 1),
        OTHER("ud0", "0fff00", all, 3),
        OTHER("ud1", "0fb900", all, 3),
        OTHER("ud2", "0f0b", all, 2),
        OTHER("xbegin rel32", "c7f800000000", m32 | m64, 6),
        OTHER("xbegin rel16", "c7f80000", m16, 4),
        OTHER("xbegin rel16 by prefix", "66c7f80000", m32 | m64, 5),
        OTHER("xabort", "c6f801", all, 3),
        OTHER("xend", "0f01d5", all, 3),
        OTHER("vmfunc", "0f01d4", all, 3),
        OTHER("vmxoff", "0f01c4", all, 3),
        OTHER("vmclear", "660fc730", all, 4),
        OTHER("vmxon", "f30fc730", all, 4),
        OTHER("vmptrst", "0fc738", all, 3),
        OTHER("mov cr0, r", "0f22c0", all, 3),
        OTHER("mov cr8, r", "440f22c0", m64, 4),
        OTHER("mov r, cr3", "0f20d8", all, 3),
        KIND("mov cr3, r", "0f22d8", all, 3, ptic_other, pt_kind_mov_cr3),
        KIND("mov cr3, r8", "410f22d8", m64, 4, ptic_other, pt_kind_mov_cr3),
        NOTHING("mov cr11, r", "440f22d8", m64),
        KIND("vmptrld", "0fc730", all, 3, ptic_other, pt_kind_vmcs),
        KIND("ptwrite r", "f30faee0", all, 4, ptic_ptwrite, pt_kind_ptwrite),
        KIND("ptwrite r64", "f3480faee0", m64, 5, ptic_ptwrite, pt_kind_ptwrite),
        KIND("ptwrite [m]", "f30fae20", all, 4, ptic_ptwrite, pt_kind_ptwrite),
        OTHER("vzeroupper", "c5f877", all, 3),
        OTHER("vpaddd zmm", "62f17d48fec0", all, 6),
        NOTHING("jknzd", "c5f88510000000", m64),
        NOTHING("salc", "d6", m64),
        NOTHING("lock jmp", "f0eb00", all),
        NOTHING("fifteen prefixes", "666666666666666666666666666666", all),
        NOTHING("sixteen bytes", "2e2e2e2e2e2e2e2e2e2e2eb800000000", m32),
};

/* Newer than Zydis 4.0. */
static const struct row newer[] = {
        JUMP("jmpabs", "d500a18877665544332211", m64, 11, 0x1122334455667788),
        JUMP("jmpabs with a prefix", "2ed500a18877665544332211", m64, 12, 0x1122334455667788),
        NOTHING("jmpabs with W", "d508a18877665544332211", m64),
        NOTHING("rep jmpabs", "f3d500a18877665544332211", m64),
        IJUMP("jmp r16", "d510ffe0", m64, 4),
        ICALL("call [r16]", "d510ff10", m64, 4),
        OTHER("add r16, r17", "d55801c8", m64, 4),
        OTHER("add r16, imm32", "d51881c000000000", m64, 8),
        OTHER("movzx r16d, cl: map 1", "d5c0b6c1", m64, 4),
        OTHER("imul r16, [r17 + disp32]: map 1", "d5d8af8010000000", m64, 8),
        KIND("mov cr3, r16: map 1", "d59022d8", m64, 4, ptic_other, pt_kind_mov_cr3),
        NOTHING("jz behind REX2", "d5007410", m64),
        NOTHING("jz rel32 behind REX2", "d5808400000000", m64),
        NOTHING("jmp rel8 behind REX2", "d500eb10", m64),
        NOTHING("REX2 twice", "d500d500a1", m64),
        OTHER("aad", "d50a", m16 | m32, 2),
        OTHER("add r16, r17, r18 (EVEX map 4)", "62ec6c1001c8", m64, 6),
        OTHER("add r, [m], imm8 (EVEX map 4)", "62f46c1883400801", m64, 8),
        OTHER("add r, r, imm32 (EVEX map 4)", "62f46c1881c001000000", m64, 10),
        OTHER("add r16, r16, imm16 (EVEX map 4)", "62f46d1881c00100", m64, 8),
        OTHER("ctest r, imm32 (EVEX map 4)", "62f4840af7c001000000", m64, 10),
        OTHER("ctest r, imm8 (EVEX map 4)", "62f4840af6c001", m64, 7),
        OTHER("not r (EVEX map 4)", "62f48418f7d0", m64, 6),
        OTHER("shld r, r, r, imm8 (EVEX map 4)", "62f4841824c001", m64, 7),
        OTHER("imul r, r, imm32 (EVEX map 4)", "62f47c0869c001000000", m64, 10),
        OTHER("imul r, r, imm8 (EVEX map 4)", "62f47c086bc001", m64, 7),
        OTHER("lkgs r", "f20f00f0", m64, 4),
        OTHER("lkgs [rsp + disp32]", "f20f00b42410000000", m64, 9),
        OTHER("wrmsrns", "0f01c6", all, 3),
        OTHER("rdmsrlist", "f20f01c6", m64, 4),
        OTHER("wrmsrlist", "f30f01c6", m64, 4),
        OTHER("aadd [r], r", "0f38fc08", all, 4),
        OTHER("axor [bx + disp8]", "f30f38fc4f10", all, 6),
        OTHER("aand [disp16]", "660f38fc0e1000", m16, 7),
        OTHER("aand [r + disp16]", "670f38fc8f1000", m32, 7),
        OTHER("aor [rip + disp32]", "f20f38fc0d10000000", m32 | m64, 9),
        OTHER("aadd [sib, no base]", "0f38fc0c2510000000", m32 | m64, 9),
        NOTHING("aadd r", "0f38fcc8", all),
        OTHER("urdmsr r, r", "f20f38f8c8", m64, 5),
        OTHER("urdmsr r, imm32", "c4e77bf8c010000000", m64, 9),
        OTHER("cmpoxadd", "c4e271e000", m64, 5),
        OTHER("vsha512rnds2", "c4e277cbc1", m64, 5),
        OTHER("vsm3rnds2 imm8", "c4e371dec105", m64, 6),
        OTHER("vaddbf16 (EVEX map 5)", "62f57d4858c1", m64, 6),
        OTHER("vminmaxps imm8 (EVEX map 3)", "62f37d4852c105", m64, 7),
        OTHER("vpcmpd-like imm8 (EVEX map 1)", "62f1fd4870c105", m64, 7),
        NOTHING("VEX of sixteen bytes", "2e2e2e2e2e2e2e2e2e2e2ec4e271e000", m64),
        NOTHING("REX2 of sixteen bytes", "2e2e2e2e2e2e2e2e2ed51881c000000000", m64),
        NOTHING("jmpabs of sixteen bytes", "2e2e2e2e2ed500a18877665544332211", m64),
        NOTHING("newer in sixteen bytes", "2e2e2e2e2e2e2e2e2ef20f00b42410000000", m64),
        NOTHING("prefix before VEX", "66c4e271e000", m64),
        NOTHING("VEX map 0", "c4e071e000", m64),
        NOTHING("undefined in 0F", "0f0400", all),
        NOTHING("undefined in 0F 38", "0f383f00", all),
};

static size_t bytes_of(uint8_t bytes[pt_max_insn_size], const char *hex)
{
	size_t n = 0;

	for (; hex[0] && n < pt_max_insn_size; hex += 2, n++) {
		const char digits[] = {hex[0], hex[1], '\0'};

		bytes[n] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return n;
}

/* Cut before its end, an instruction is not there; what cannot become one may be refused at once. */
static void expect_cut(const struct row *row, const uint8_t *bytes, enum pt_exec_mode mode)
{
	struct pt_insn_info info;

	for (int size = 0; size < row->size; size++)
		assert_int_equal(pt_insn_classify(&info, bytes, (uint64_t)size, mode), -pte_nomap);
}

static void expect_row(const struct row *row, enum pt_exec_mode mode)
{
	uint8_t bytes[pt_max_insn_size] = {0};
	struct pt_insn_info info;
	int status;

	bytes_of(bytes, row->hex);
	status = pt_insn_classify(&info, bytes, sizeof(bytes), mode);
	if ((status < 0 ? status : info.length) != row->size ||
	    (status == 0 && (info.iclass != row->iclass || info.kind != row->kind)))
		fail_msg("%s (%s), mode %d: status %d, size %d, class %d, kind %d", row->text, row->hex,
		         (int)mode, status, info.length, info.iclass, info.kind);
	if (row->target != none)
		assert_int_equal(pt_insn_target(&info, branch_ip, mode), row->target);
	expect_cut(row, bytes, mode);
}

static void expect_rows(const struct row *row, size_t count)
{
	static const enum pt_exec_mode mode[] = {ptem_16bit, ptem_32bit, ptem_64bit};

	for (size_t i = 0; i < count; i++)
		for (size_t m = 0; m < 3; m++)
			if (row[i].modes >> mode[m] & 1)
				expect_row(&row[i], mode[m]);
}

#define EXPECT_ROWS(rows) expect_rows(rows, sizeof(rows) / sizeof((rows)[0]))

static void near_branches_are_told_apart(void **state)
{
	(void)state;
	EXPECT_ROWS(near_branches);
}

static void far_branches_are_told_apart(void **state)
{
	(void)state;
	EXPECT_ROWS(far_branches);
}

static void what_does_not_branch_goes_on(void **state)
{
	(void)state;
	EXPECT_ROWS(others);
}

static void newer_instructions_are_known(void **state)
{
	(void)state;
	EXPECT_ROWS(newer);
}

static void without_a_mode_there_is_no_instruction(void **state)
{
	struct pt_insn_info info;
	const uint8_t nop = 0x90;

	(void)state;
	assert_int_equal(pt_insn_classify(&info, &nop, 1, ptem_unknown), -pte_bad_insn);
}

/* 16-bit code at linear addresses above 64 KiB has a segment base, which is part of the address. */
static void a_branch_above_64_kib_in_16_bit_mode_stays_there(void **state)
{
	struct pt_insn_info info;

	(void)state;
	assert_int_equal(pt_insn_classify(&info, (const uint8_t *)"\xe9\x00\x10", 3, ptem_16bit), 0);
	assert_int_equal(pt_insn_target(&info, 0xf1000, ptem_16bit), 0xf2003);
	assert_int_equal(pt_insn_target(&info, 0xf000, ptem_16bit), 0x0003);
}

static void a_branch_wraps_where_its_addresses_end(void **state)
{
	struct pt_insn_info info;

	(void)state;
	assert_int_equal(pt_insn_classify(&info, (const uint8_t *)"\xeb\x7f", 2, ptem_32bit), 0);
	assert_int_equal(pt_insn_target(&info, 0xfffffff0, ptem_32bit), 0x71);
	assert_int_equal(pt_insn_classify(&info, (const uint8_t *)"\xeb\x80", 2, ptem_32bit), 0);
	assert_int_equal(pt_insn_target(&info, 0x10, ptem_32bit), 0xffffff92);
	assert_int_equal(pt_insn_classify(&info, (const uint8_t *)"\xeb\x7f", 2, ptem_64bit), 0);
	assert_int_equal(pt_insn_target(&info, 0xfffffff0, ptem_64bit), 0x100000071);
	assert_int_equal(pt_insn_target(&info, -0x10ull, ptem_64bit), 0x71);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(near_branches_are_told_apart),
	        cmocka_unit_test(far_branches_are_told_apart),
	        cmocka_unit_test(what_does_not_branch_goes_on),
	        cmocka_unit_test(newer_instructions_are_known),
	        cmocka_unit_test(without_a_mode_there_is_no_instruction),
	        cmocka_unit_test(a_branch_above_64_kib_in_16_bit_mode_stays_there),
	        cmocka_unit_test(a_branch_wraps_where_its_addresses_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
