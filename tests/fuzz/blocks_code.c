/* blocks_code.c - see blocks_code.h. What the bytes of an instruction mean has tests of its own. */
#include "blocks_code.h"

#include <string.h>

void code_read(const struct world *world, unsigned image, uint64_t ip, enum pt_exec_mode mode,
               struct code_insn *insn)
{
	size_t size;

	memset(insn, 0, sizeof(*insn));
	size = world_read(world, image, ip, insn->raw, sizeof(insn->raw));
	if (size && pt_insn_classify(&insn->info, insn->raw, size, mode) == 0)
		insn->size = insn->info.length;
}

uint64_t code_next(const struct world *world, uint64_t ip, enum pt_exec_mode mode,
                   const struct code_insn *insn)
{
	const uint64_t next = ip + (uint64_t)insn->size;
	uint8_t byte;

	if (insn->info.kind == pt_kind_jump || insn->info.kind == pt_kind_call)
		return pt_insn_target(&insn->info, ip, mode);
	/* Addresses that the mode does not have are the trace's fault: whichever is there. */
	if (world_read(world, 0, next, &byte, 1))
		return next;
	return pt_wrap_ip(next, pt_mode_ip_bits(mode), ip, mode);
}
