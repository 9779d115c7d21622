/* traced_insn.h - what Intel PT and the tracer need to know of one x86-64 instruction.
 *
 * The classes are those of the SDM's chapter on Intel PT ("change of flow instructions"). They are
 * found here with Zydis again, and not by asking libdecode, so that a recording is a witness
 * against the decoder and not its echo.
 */
#ifndef SB_CAPTURE_TRACED_INSN_H
#define SB_CAPTURE_TRACED_INSN_H

#include <stddef.h>
#include <stdint.h>

enum insn_kind {
	ik_other,
	ik_cond,
	ik_jump,
	ik_jump_indirect,
	ik_call,
	ik_call_indirect,
	ik_ret,
	ik_far /* syscall, int n, far branches: leave the context that is traced */
};

struct traced_insn {
	uint64_t ip;
	uint8_t length; /* 0: not an instruction */
	uint8_t kind;   /* enum insn_kind */
};

/* How the outcome of a branch can be computed from the registers before it. */
enum branch_rule {
	br_none,     /* not a branch, or one whose target is known */
	br_flags,    /* a condition code over RFLAGS */
	br_rcx_zero, /* JRCXZ */
	br_ret,
	br_indirect, /* from a register or a memory operand */
	br_syscall,  /* stops the tracee by itself */
	br_counter,  /* no branch: reads the time stamp counter */
	br_pushf,    /* no branch: writes RFLAGS to memory, with what steps it */
	br_step      /* too rare for a rule of its own: let the processor do it */
};

struct branch_info {
	uint8_t rule;        /* enum branch_rule */
	uint8_t condition;   /* br_flags: the low four bits of the opcode */
	uint8_t in_memory;   /* br_indirect: through memory */
	uint8_t segment;     /* 0, or 'f', 'g' */
	uint8_t base, index; /* general registers in encoding order, or NO_REGISTER, RIP_REGISTER */
	uint8_t scale;
	int64_t displacement;
	uint64_t target; /* of direct branches */
	uint16_t pop;    /* br_ret: bytes taken off the stack in addition */
};

enum { RIP_REGISTER = 16, NO_REGISTER = 255 };

/* Decodes the instruction at @ip. Returns 0, or -1 when the bytes are no instruction (or not a
 * whole one); @insn->length is 0 then. @branch may be NULL. */
int traced_insn_decode(struct traced_insn *insn, struct branch_info *branch, uint64_t ip,
                       const uint8_t *bytes, size_t size);

#endif
