/* What the test itself knows of x86: enough to expand blocks. From Zydis, not from the code under test. */
#ifndef DIFF_CODE_H
#define DIFF_CODE_H

#include "case.h"

struct code_insn {
	uint8_t size;
	uint8_t raw[15];
	uint64_t next; /* where execution goes on if no trace is needed to tell; else behind it */
	uint8_t cond;  /* a conditional branch; target counts */
	uint8_t stops; /* an indirect or far branch: trace tells where it goes */
	uint64_t target;
};

/* The instruction at @ip; @mode is 16, 32 or 64 bits as 1, 2, 3. Zero, or -1 if none is there. */
int code_decode(const struct diff_case *c, uint64_t ip, int mode, struct code_insn *insn);

#endif
