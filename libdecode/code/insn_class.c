/* insn_class.c - see insn_class.h. Most instructions are of a form that says it all (insn_forms.h). */
#include "code/insn_class.h"

#include <stdbool.h>
#include <string.h>

#include "code/insn_decode.h"
#include "code/insn_forms.h"

/* Where an instruction's opcode ends, and what form it has. */
struct form {
	const uint8_t *end;
	uint8_t form; /* zero: ask Zydis */
};

static inline struct form find_form(const uint8_t *p)
{
	unsigned prefix = 0, rex, map;
	uint8_t wide, form;

	if ((*p | 1) == 0x65)
		prefix = pt_form_segment, p++;
	if (*p == 0x66 || (*p | 1) == 0xf3)
		prefix += *p == 0x66 ? 1 : 0xf5u - *p, p++;
	/* REX and 0F are as likely to be there as not. */
	rex = *p >> 4 == 4;
	wide = rex ? *p >> 3 & 1 : 0;
	p += rex;
	map = *p == 0x0f;
	p += map;
	form = pt_forms[pt_form_row[prefix][wide][map][p[0]]][pt_form_operand(p[1])];
	return (struct form){p + 1, form};
}

/* What comes last begins behind ModRM. */
static inline const uint8_t *tail_of(struct form form)
{
	const unsigned modrm = pt_form_modrm_size(form.end);

	return form.end + (form.form & pt_form_modrm ? modrm : 0);
}

static inline unsigned tail_size(struct form form)
{
	const unsigned tail = form.form & pt_form_tail;

	return tail + (tail == pt_form_tail_8);
}

static inline enum pt_insn_kind kind_of(struct form form)
{
	return (enum pt_insn_kind)((form.form >> pt_form_kind_shift) - 1);
}

/* The instruction in 64-bit mode at @bytes, of which there are enough for any. False: ask Zydis. */
static bool classify_form(struct pt_insn_info *info, const uint8_t *bytes)
{
	static const uint8_t iclass_of[] = {
	        [pt_kind_other] = ptic_other, [pt_kind_cond] = ptic_cond_jump, [pt_kind_jump] = ptic_jump,
	        [pt_kind_call] = ptic_call,   [pt_kind_ind_jump] = ptic_jump,  [pt_kind_ind_call] = ptic_call,
	        [pt_kind_ret] = ptic_return,
	};
	const struct form form = find_form(bytes);
	const uint8_t *tail;

	if (!form.form)
		return false;
	tail = tail_of(form);
	info->length = (uint8_t)(tail + tail_size(form) - bytes);
	info->kind = (uint8_t)kind_of(form);
	info->iclass = iclass_of[info->kind];
	info->ip_bits = 0;
	info->displacement = 0;
	if (1 << info->kind & (1 << pt_kind_cond | 1 << pt_kind_jump | 1 << pt_kind_call)) {
		int32_t near;

		memcpy(&near, tail, sizeof(near));
		info->displacement = tail_size(form) == 1 ? (int8_t)*tail : near;
		info->ip_bits = 64;
	}
	return true;
}

uint32_t pt_insn_pass_others(const uint8_t *bytes, uint64_t size, enum pt_exec_mode mode, uint8_t *length,
                             uint32_t most, uint32_t *passed)
{
	const uint8_t *at = bytes, *const until = bytes + size;
	uint32_t n = 0;

	*passed = 0;
	if (mode != ptem_64bit)
		return 0;
	while (n < most && until - at >= pt_max_insn_size) {
		const struct form form = find_form(at);
		const uint8_t *next;

		if (form.form >> pt_form_kind_shift != pt_kind_other + 1)
			break;
		next = tail_of(form) + tail_size(form);
		length[n++] = (uint8_t)(next - at);
		at = next;
	}
	*passed = (uint32_t)(at - bytes);
	return n;
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
