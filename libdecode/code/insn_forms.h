/* Forms of instructions in 64-bit mode of which Zydis says the same whatever their operands are.
 *
 * A form is what selects an instruction in the opcode maps "one byte" and "0F": a segment (FS or GS, which
 * the kernel and threads have their own in), a mandatory prefix, REX.W, the opcode, and of ModRM the middle
 * field and whether it names a register. Its byte in the table, which generate/insn_forms.c makes at build
 * time by asking Zydis about all instructions of the form, says what kind it is, whether there is ModRM, and
 * how many bytes come last. Zero stands for "ask Zydis".
 */
#ifndef PT_INSN_FORMS_H
#define PT_INSN_FORMS_H

#include <stdint.h>

#include "code/insn_class.h"

enum {
	pt_form_kind_shift = 4, /* enum pt_insn_kind, plus one, of pt_form_kinds */
	pt_form_modrm = 1 << 3,
	pt_form_tail = 7 /* bytes behind ModRM, SIB and displacement; pt_form_tail_8: eight */
};

enum { pt_form_tail_8 = 7 };

/* The kinds that are found without Zydis: a bit per enum pt_insn_kind. */
enum {
	pt_form_kinds = 1 << pt_kind_other | 1 << pt_kind_cond | 1 << pt_kind_jump | 1 << pt_kind_call |
	                1 << pt_kind_ind_jump | 1 << pt_kind_ind_call | 1 << pt_kind_ret
};

enum {
	pt_form_segment = 4, /* FS or GS before the mandatory prefix: none, 66, F3, F2 */
	pt_form_prefixes = 8,
	pt_form_maps = 2,
	pt_form_operands = 16
};

/* Most opcodes are alike: for each, by prefixes, REX.W and map, the number of a row, which holds the forms by
 * operands. */
extern const uint8_t pt_form_row[pt_form_prefixes][2][pt_form_maps][256];
extern const uint8_t pt_forms[][pt_form_operands];

/* Which of a form's operands: ModRM's middle field, and whether it names a register. */
static inline unsigned pt_form_operand(uint8_t modrm)
{
	return (modrm >> 3 & 7) | (modrm >= 0xc0 ? 8 : 0);
}

/* By ModRM: how many bytes it, SIB and displacement have, and whether there are four more when SIB names no
 * base. */
enum { pt_form_asks_sib = 1 << 7 };
extern const uint8_t pt_form_modrm_bytes[256];

/* The bytes of ModRM, SIB and displacement, addresses being 64 bits wide. Without branches: what comes next
 * in code is hard to foresee. */
static inline unsigned pt_form_modrm_size_by(unsigned bytes, uint8_t sib)
{
	return (bytes & 15) + (bytes >> 7 & (unsigned)((sib & 7) == 5)) * 4;
}

static inline unsigned pt_form_modrm_size(const uint8_t *modrm)
{
	return pt_form_modrm_size_by(pt_form_modrm_bytes[*modrm], modrm[1]);
}

#endif
