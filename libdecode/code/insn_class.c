/* insn_class.c - see insn_class.h. Most instructions are of a form that says it all (insn_forms.h). */
#include "code/insn_class.h"

#include <stdbool.h>
#include <string.h>

#include "code/insn_decode.h"
#include "code/insn_forms.h"

/* The instruction in 64-bit mode at @bytes, of which there are enough for any. False: ask Zydis. */
static bool classify_form(struct pt_insn_info *info, const uint8_t *bytes)
{
	static const uint8_t iclass_of[] = {
	        [pt_kind_other] = ptic_other, [pt_kind_cond] = ptic_cond_jump, [pt_kind_jump] = ptic_jump,
	        [pt_kind_call] = ptic_call,   [pt_kind_ind_jump] = ptic_jump,  [pt_kind_ind_call] = ptic_call,
	        [pt_kind_ret] = ptic_return,
	};
	const uint8_t *p = bytes;
	unsigned prefix = 0, rex, map, tail, modrm;
	uint8_t form, wide;

	if (*p == 0x66 || *p == 0xf3 || *p == 0xf2)
		prefix = *p == 0x66 ? 1 : *p == 0xf3 ? 2 : 3, p++;
	/* REX and 0F are as likely to be there as not. */
	rex = *p >> 4 == 4;
	wide = rex ? *p >> 3 & 1 : 0;
	p += rex;
	map = *p == 0x0f;
	p += map;
	form = pt_forms[pt_form_row[prefix][wide][map][p[0]]][pt_form_operand(p[1])];
	if (!form)
		return false;
	p++;
	modrm = pt_form_modrm_size(p);
	p += form & pt_form_modrm ? modrm : 0;
	tail = form & pt_form_tail;
	tail += tail == pt_form_tail_8;
	info->length = (uint8_t)(p + tail - bytes);
	info->kind = (uint8_t)((form >> pt_form_kind_shift) - 1);
	info->iclass = iclass_of[info->kind];
	info->ip_bits = 0;
	info->displacement = 0;
	if (1 << info->kind & (1 << pt_kind_cond | 1 << pt_kind_jump | 1 << pt_kind_call)) {
		int32_t near;

		memcpy(&near, p, sizeof(near));
		info->displacement = tail == 1 ? (int8_t)*p : near;
		info->ip_bits = 64;
	}
	return true;
}

int pt_insn_classify(struct pt_insn_info *info, const uint8_t *bytes, uint64_t size, enum pt_exec_mode mode)
{
	if (mode == ptem_64bit && size >= pt_max_insn_size && classify_form(info, bytes))
		return 0;
	return pt_insn_decode(info, bytes, size, mode);
}

uint64_t pt_insn_target(const struct pt_insn_info *info, uint64_t ip, enum pt_exec_mode mode)
{
	if (!info->ip_bits)
		return (uint64_t)info->displacement;
	return pt_wrap_ip(ip + info->length + (uint64_t)info->displacement, info->ip_bits, ip, mode);
}
