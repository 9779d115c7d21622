/* Instructions of the world's code, one by one: what the decoder says must agree with them. */
#ifndef FUZZ_BLOCKS_CODE_H
#define FUZZ_BLOCKS_CODE_H

#include "blocks_world.h"
#include "code/insn_class.h"

struct code_insn {
	int size; /* zero: there is none */
	struct pt_insn_info info;
	uint8_t raw[pt_max_insn_size];
};

void code_read(const struct world *world, unsigned image, uint64_t ip, enum pt_exec_mode mode,
               struct code_insn *insn);

/* Where execution goes on behind @insn at @ip, which is not a branch that the trace decides. */
uint64_t code_next(const struct world *world, uint64_t ip, enum pt_exec_mode mode,
                   const struct code_insn *insn);

#endif
