/* code_function.c - see code_function.h. */
#include "count/code_function.h"

int code_part_function(const struct code_part *part, size_t index, struct sb_symbols *symbols,
                       struct code_function *function)
{
	const struct code_insn *insn = &part->insn[index];
	const struct sb_symbols_place place = code_insn_place(insn);
	struct sb_symbol *symbol = &function->symbol;
	uint64_t end, begin;

	*function = (struct code_function){.end = index};
	if (sb_symbols_find(symbols, &place, symbol, NULL) < 0)
		return -1;
	/* What holds around the address holds around the offset. */
	begin = insn->offset - (place.ip - symbol->begin);
	end = symbol->high - place.ip < UINT64_MAX - insn->offset ? insn->offset + (symbol->high - place.ip)
	                                                          : UINT64_MAX;
	for (; function->end < part->ninsns && part->insn[function->end].offset < end; function->end++) {
		insn = &part->insn[function->end];
		function->ninsn += insn->count;
		if (symbol->name && insn->offset == begin)
			function->entries += insn->count;
	}
	return 0;
}
