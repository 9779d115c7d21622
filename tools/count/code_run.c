/* code_run.c - see code_run.h. */
#include "count/code_run.h"

#include <intel-pt.h>

static bool is_branch(const struct code_insn *insn)
{
	return insn->iclass != ptic_other && insn->iclass != ptic_ptwrite;
}

size_t code_part_run(const struct code_part *part, size_t index, struct code_run *run)
{
	const struct code_insn *insn = &part->insn[index];
	const struct code_insn *end = part->insn + part->ninsns;

	*run = (struct code_run){.first = insn->offset, .count = insn->count};
	while (!is_branch(insn) && insn + 1 < end && insn[1].offset == insn->offset + insn->length &&
	       insn[1].count == run->count)
		insn++;
	run->last = insn->offset;
	run->next = insn->offset + insn->length;
	if (!is_branch(insn) && insn + 1 < end && insn[1].offset == run->next)
		run->onward = insn[1].count < run->count ? insn[1].count : run->count;
	return (size_t)(insn - part->insn) + 1;
}
