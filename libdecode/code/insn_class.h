/* What the flow must know of an instruction: its length, its class, and where a direct branch goes.
 * The decoding is Zydis'; each static instruction is decoded once (block_graph.h). */
#ifndef PT_INSN_CLASS_H
#define PT_INSN_CLASS_H

#include <stdint.h>

#include "intel-pt.h"

/* How an instruction ends a basic block. */
enum pt_insn_kind {
	pt_kind_other,    /* does not end it */
	pt_kind_cond,     /* conditional direct branch: one TNT bit */
	pt_kind_jump,     /* unconditional direct jump */
	pt_kind_call,     /* direct call */
	pt_kind_ind_jump, /* indirect jump: a TIP */
	pt_kind_ind_call, /* indirect call: a TIP */
	pt_kind_ret,      /* near return: a taken TNT bit when compressed, else a TIP */
	pt_kind_far,      /* far call, return or jump, interrupts, system calls: a TIP or TIP.PGD */
	pt_kind_mov_cr3,  /* goes on, but a PIP binds to it */
	pt_kind_vmcs,     /* VMPTRLD: goes on, but a VMCS packet binds to it */
	pt_kind_ptwrite,  /* goes on, but a PTW packet binds to it */
	pt_kind_fall,     /* block_graph.h: the block was cut, execution goes on behind it */
	pt_kind_split     /* block_graph.h: the instruction goes on behind the section's end */
};

/* The kinds behind which only trace knows where execution goes on: a bit per kind. */
enum {
	pt_kinds_of_trace = 1 << pt_kind_cond | 1 << pt_kind_ind_jump | 1 << pt_kind_ind_call |
	                    1 << pt_kind_ret | 1 << pt_kind_far
};

static inline int pt_kind_needs_trace(uint8_t kind)
{
	return pt_kinds_of_trace >> kind & 1;
}

struct pt_insn_info {
	int64_t displacement; /* of a direct branch, relative to the next instruction */
	uint8_t length;
	uint8_t kind;    /* enum pt_insn_kind */
	uint8_t iclass;  /* enum pt_insn_class */
	uint8_t ip_bits; /* of a direct branch's target: 16, 32 or 64 by its operand size; zero: the
	                    displacement is the target's address */
};

/* Decodes the instruction at @bytes, of which @size are there, in execution mode @mode. Zero;
 * -pte_bad_insn when the bytes are no instruction; -pte_nomap when they are too few to tell. */
int pt_insn_classify(struct pt_insn_info *info, const uint8_t *bytes, uint64_t size, enum pt_exec_mode mode);

/* Instructions at @bytes of which pt_insn_classify() would say pt_kind_other: as many as are found fast, and
 * @most at most. Returns how many, with their lengths, and how many bytes they have in all. */
uint32_t pt_insn_pass_others(const uint8_t *bytes, uint64_t size, enum pt_exec_mode mode, uint8_t *length,
                             uint32_t most, uint32_t *passed);

/* How many bits the instruction pointer has in @mode. */
static inline uint8_t pt_mode_ip_bits(enum pt_exec_mode mode)
{
	return mode == ptem_16bit ? 16 : mode == ptem_32bit ? 32 : 64;
}

/* @ip, computed from @from in @mode, as an instruction pointer of @bits. A 16-bit one above 64 KiB is not
 * an offset, but the sum of one and an unknown segment base (CPUID.14H:ECX.LIP): it does not wrap. Nor does
 * a 32-bit one above 4 GiB, which no processor has: it comes from a damaged trace. */
static inline uint64_t pt_wrap_ip(uint64_t ip, uint8_t bits, uint64_t from, enum pt_exec_mode mode)
{
	if (bits == 32 && (mode != ptem_32bit || from <= 0xffffffffull))
		return ip & 0xffffffffull;
	if (bits == 16 && (mode != ptem_16bit || from <= 0xffff))
		return ip & 0xffffull;
	return ip;
}

/* The address of the branch target of an instruction at @ip. */
uint64_t pt_insn_target(const struct pt_insn_info *info, uint64_t ip, enum pt_exec_mode mode);

#endif
