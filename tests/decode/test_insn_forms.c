/* test_insn_forms.c - the short cut for common instructions says of each what Zydis says: all prefixes,
 * opcodes and ModRM bytes that it knows, with other bytes behind them at random; and it is taken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "code/insn_decode.h"
#include "code/insn_forms.h"

enum { room = 2 * pt_max_insn_size };

static uint64_t random_state = 1;

static void fill(uint8_t *bytes)
{
	for (unsigned i = 0; i < room; i++) {
		random_state = random_state * 6364136223846793005u + 1442695040888963407u;
		bytes[i] = (uint8_t)(random_state >> 56);
	}
}

static void assert_alike(const uint8_t *bytes)
{
	struct pt_insn_info form, decoded;
	const int status = pt_insn_classify(&form, bytes, room, ptem_64bit);

	assert_int_equal(status, pt_insn_decode(&decoded, bytes, room, ptem_64bit));
	if (status < 0)
		return;
	assert_int_equal(form.length, decoded.length);
	assert_int_equal(form.kind, decoded.kind);
	assert_int_equal(form.iclass, decoded.iclass);
	assert_int_equal(form.displacement, decoded.displacement);
	assert_int_equal(form.ip_bits, decoded.ip_bits);
}

/* Behind @size bytes of prefixes, each opcode with each ModRM. */
static void check_opcodes(uint8_t *bytes, unsigned size)
{
	for (unsigned map = 0; map < pt_form_maps; map++)
		for (unsigned opcode = 0; opcode < 256; opcode++)
			for (unsigned modrm = 0; modrm < 256; modrm++) {
				uint8_t *p = bytes + size;

				fill(p);
				if (map)
					*p++ = 0x0f;
				*p++ = (uint8_t)opcode;
				*p = (uint8_t)modrm;
				assert_alike(bytes);
			}
}

static void each_form_is_what_zydis_says(void **state)
{
	static const uint8_t segments[] = {0, 0x64, 0x65}, prefixes[] = {0, 0x66, 0xf3, 0xf2};
	uint8_t bytes[room + 8];

	(void)state;
	for (unsigned i = 0; i < sizeof(segments) * sizeof(prefixes); i++)
		for (unsigned rex = 0x3f; rex < 0x50; rex++) {
			const uint8_t segment = segments[i / sizeof(prefixes)],
			              prefix = prefixes[i % sizeof(prefixes)];
			unsigned size = 0;

			if (segment)
				bytes[size++] = segment;
			if (prefix)
				bytes[size++] = prefix;
			if (rex != 0x3f) /* stands for none */
				bytes[size++] = (uint8_t)rex;
			check_opcodes(bytes, size);
		}
}

/* What else may come: more prefixes, other maps. */
static void random_bytes_are_what_zydis_says(void **state)
{
	uint8_t bytes[room];

	(void)state;
	for (unsigned i = 0; i < 400000; i++) {
		fill(bytes);
		assert_alike(bytes);
	}
}

static uint8_t form_of(unsigned prefix, unsigned wide, unsigned map, uint8_t opcode, uint8_t modrm)
{
	return pt_forms[pt_form_row[prefix][wide][map][opcode]][pt_form_operand(modrm)];
}

static unsigned kind_of(uint8_t form)
{
	return (unsigned)(form >> pt_form_kind_shift) - 1;
}

static void common_instructions_have_a_form(void **state)
{
	(void)state;
	assert_int_equal(kind_of(form_of(0, 1, 0, 0x89, 0xc0)), pt_kind_other); /* mov %rax, %rax */
	assert_int_equal(kind_of(form_of(0, 1, 0, 0x8b, 0x44)), pt_kind_other); /* mov 8(%rsp), %rax */
	assert_int_equal(kind_of(form_of(pt_form_segment, 1, 0, 0x8b, 0x04)),
	                 pt_kind_other);                                           /* mov %fs:40, %rax */
	assert_int_equal(kind_of(form_of(0, 0, 1, 0xb6, 0xc0)), pt_kind_other);    /* movzbl %al, %eax */
	assert_int_equal(kind_of(form_of(2, 0, 1, 0x1e, 0xfa)), pt_kind_other);    /* endbr64 */
	assert_int_equal(kind_of(form_of(0, 0, 0, 0x74, 0)), pt_kind_cond);        /* je */
	assert_int_equal(kind_of(form_of(0, 0, 1, 0x84, 0)), pt_kind_cond);        /* je, far away */
	assert_int_equal(kind_of(form_of(0, 0, 0, 0xe9, 0)), pt_kind_jump);        /* jmp */
	assert_int_equal(kind_of(form_of(0, 0, 0, 0xe8, 0)), pt_kind_call);        /* call */
	assert_int_equal(kind_of(form_of(0, 0, 0, 0xc3, 0)), pt_kind_ret);         /* ret */
	assert_int_equal(kind_of(form_of(0, 0, 0, 0xff, 0xe0)), pt_kind_ind_jump); /* jmp *%rax */
	assert_int_equal(kind_of(form_of(0, 0, 0, 0xff, 0x10)), pt_kind_ind_call); /* call *(%rax) */
}

/* What trace binds to, and what leaves for the kernel, is told apart by Zydis alone. */
static void special_instructions_have_none(void **state)
{
	(void)state;
	assert_int_equal(form_of(0, 0, 1, 0x05, 0), 0);                         /* syscall */
	assert_int_equal(form_of(0, 0, 1, 0x22, 0xd8), 0);                      /* mov %rax, %cr3 */
	assert_int_equal(form_of(0, 0, 0, 0xff, 0x18), 0);                      /* lcall *(%rax) */
	assert_int_equal(form_of(2, 0, 1, 0xae, 0xe0), 0);                      /* ptwrite */
	assert_int_equal(form_of(0, 0, 1, 0xc7, 0x30), 0);                      /* vmptrld */
	assert_int_equal(form_of(1, 0, 0, 0xe9, 0), form_of(0, 0, 0, 0xe9, 0)); /* Intel ignores the prefix */
	assert_int_equal(form_of(0, 0, 1, 0x38, 0), 0);                         /* another map */
	assert_int_equal(form_of(0, 0, 0, 0xc5, 0xf8), 0);                      /* VEX */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(each_form_is_what_zydis_says),
	        cmocka_unit_test(random_bytes_are_what_zydis_says),
	        cmocka_unit_test(common_instructions_have_a_form),
	        cmocka_unit_test(special_instructions_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
