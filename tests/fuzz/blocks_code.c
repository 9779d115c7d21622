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

static int is_mapped(const struct world *world, uint64_t ip)
{
	uint8_t byte;

	return world_read(world, 0, ip, &byte, 1) != 0;
}

uint64_t code_next(const struct world *world, uint64_t ip, enum pt_exec_mode mode,
                   const struct code_insn *insn)
{
	uint64_t next = ip + (uint64_t)insn->size,
	         wrapped = pt_wrap_ip(next, pt_mode_ip_bits(mode), ip, mode);

	if (insn->info.kind == pt_kind_jump || insn->info.kind == pt_kind_call) {
		wrapped = pt_insn_target(&insn->info, ip, mode);
		if (insn->info.ip_bits)
			next += (uint64_t)insn->info.displacement;
	}
	/* At addresses that the mode does not have, it depends on sections whether they are wrapped. */
	return is_mapped(world, wrapped) ? wrapped : next;
}
