/* kernel_state.h - how a kernel patched itself when it booted, as far as a copy of its memory shows it.
 *
 * Linux builds returns as jumps to __x86_return_thunk and indirect branches as calls of a thunk for each
 * register, and replaces them at boot by what the processor needs (Documentation/admin-guide/hw-vuln). In
 * kcore the result can be counted: which thunks does the code jump to, thousands of times?
 */
#ifndef SB_KERNEL_STATE_H
#define SB_KERNEL_STATE_H

#include <stdint.h>

#include <sb/error.h>

#include "binary/kernel_base.h"
#include "binary/kernel_code.h"

/* What a return became. */
enum kernel_returns {
	returns_unknown,
	returns_in_place,    /* ret */
	returns_thunk,       /* a jump to .return_thunk */
	returns_by_half_line /* Indirect Target Selection: the jump in the lower half of a cache line, else
	                        ret */
};

struct kernel_state {
	enum kernel_returns returns;
	uint64_t return_thunk;
	int keeps_indirect;      /* indirect branches still call their thunks */
	int may_trace;           /* functions may have been traced */
	uint64_t static_return0; /* what a static call of a function that returns zero leads to; 0: not known
	                          */
	struct kernel_code text; /* kcore's copy of the kernel itself; size 0: there is none */
};

/* Zeroed, nothing is known. What cannot be read is not known. */
int kernel_state_read(struct kernel_state *state, const struct kernel_base *kcore, const char *kallsyms);
void kernel_state_free(struct kernel_state *state);

#endif
