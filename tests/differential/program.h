/* A random program: units of code of one mode each, functions in them, made from a table of instructions. */
#ifndef DIFF_PROGRAM_H
#define DIFF_PROGRAM_H

#include "case.h"
#include "random.h"

/* What an instruction means to those who follow the flow. */
enum what {
	what_other,
	what_jcc,
	what_jmp,
	what_call,
	what_jmp_indirect,
	what_call_indirect,
	what_ret,
	what_far,     /* far call, jump, interrupt, system call: somewhere else */
	what_far_ret, /* IRET and the like: to where an interrupt came from */
	what_mov_cr3,
	what_vmptrld,
	what_ptwrite,
	what_xbegin,
	what_xend,
	what_mwait
};

enum { program_max_insns = 2048, program_max_functions = 24, program_max_units = 4 };

struct program_insn {
	uint8_t bytes[15];
	uint8_t size, what, mode, unit;
	uint8_t rel; /* bytes of a relative target, at the end; zero: none */
	int target;  /* index of the instruction it leads to */
	uint64_t ip;
};

struct program_function {
	int first, unit;
};

struct program_unit {
	uint64_t base;
	uint8_t mode;   /* 1, 2, 3: 16, 32, 64 bit */
	int first, end; /* instructions */
};

struct program {
	struct program_insn insn[program_max_insns];
	int ninsns;
	struct program_function function[program_max_functions];
	int nfunctions;
	struct program_unit unit[program_max_units];
	int nunits;
};

void program_make(struct program *program, struct random *random);

/* Adds its code to the case, cut into sections at random, also in the middle of instructions. */
void program_add(const struct program *program, struct diff_case *c, struct random *random);

#endif
