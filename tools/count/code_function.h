/* tools/count/code_function.h - which function the code that ran is of. */
#ifndef TOOLS_COUNT_CODE_FUNCTION_H
#define TOOLS_COUNT_CODE_FUNCTION_H

#include "count/code_view.h"

/* Instructions of one function that stand together. */
struct code_function {
	struct sb_symbol symbol; /* at the first one; addresses are those of where it ran */
	uint64_t entries; /* how often the function's first instruction ran, if it is among them; else 0 */
	uint64_t ninsn;   /* the sum of all counts */
	size_t end;       /* the index behind the last one */
};

/* Those from instruction @index of @part on, which there is. Zero, or negative: out of memory. */
int code_part_function(const struct code_part *part, size_t index, struct sb_symbols *symbols,
                       struct code_function *function);

/* Where an instruction was executed, or one of those places. */
static inline struct sb_symbols_place code_insn_place(const struct code_insn *insn)
{
	struct sb_symbols_place place = insn->block->place;

	place.ip += insn->offset - insn->block->offset;
	return place;
}

#endif
