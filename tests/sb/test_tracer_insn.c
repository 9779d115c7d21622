/* What the software tracer knows of instructions: their class, and where branches go. The outcomes
 * of conditional branches are those of this machine's processor (SETcc). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/exec_maps.h"
#include "capture/tracee.h"

struct insn_case {
	const char *name;
	uint8_t bytes[15];
	uint8_t length, kind, rule;
	uint64_t target; /* at 0x1000 */
};

static const struct insn_case insn_cases[] = {
        {"nop", {0x90}, 1, ik_other, br_none, 0},
        {"ud2", {0x0f, 0x0b}, 2, ik_other, br_none, 0},
        {"rep movsb", {0xf3, 0xa4}, 2, ik_other, br_none, 0},
        {"je +0", {0x74, 0x00}, 2, ik_cond, br_flags, 0x1002},
        {"jne -2", {0x75, 0xfe}, 2, ik_cond, br_flags, 0x1000},
        {"jg rel32", {0x0f, 0x8f, 0x00, 0x01, 0x00, 0x00}, 6, ik_cond, br_flags, 0x1106},
        {"jrcxz", {0xe3, 0x10}, 2, ik_cond, br_rcx_zero, 0x1012},
        {"jecxz", {0x67, 0xe3, 0x10}, 3, ik_cond, br_step, 0x1013},
        {"loop", {0xe2, 0xfe}, 2, ik_cond, br_step, 0x1000},
        {"jmp rel8", {0xeb, 0x10}, 2, ik_jump, br_none, 0x1012},
        {"jmp rel32", {0xe9, 0x00, 0xf0, 0xff, 0xff}, 5, ik_jump, br_none, 0x5},
        {"bnd jmp", {0xf2, 0xeb, 0x10}, 3, ik_jump, br_none, 0x1013},
        {"jmp rax", {0xff, 0xe0}, 2, ik_jump_indirect, br_indirect, 0},
        {"notrack jmp [rax*8]", {0x3e, 0xff, 0x24, 0xc5, 0, 0, 0, 0}, 8, ik_jump_indirect, br_indirect, 0},
        {"jmp [eax]", {0x67, 0xff, 0x20}, 3, ik_jump_indirect, br_step, 0},
        {"call rel32", {0xe8, 0x10, 0x00, 0x00, 0x00}, 5, ik_call, br_none, 0x1015},
        {"call [rip+8]", {0xff, 0x15, 0x08, 0x00, 0x00, 0x00}, 6, ik_call_indirect, br_indirect, 0},
        {"call fs:[0x10]", {0x64, 0xff, 0x14, 0x25, 0x10, 0, 0, 0}, 8, ik_call_indirect, br_indirect, 0},
        {"ret", {0xc3}, 1, ik_ret, br_ret, 0},
        {"ret 16", {0xc2, 0x10, 0x00}, 3, ik_ret, br_ret, 0},
        {"repz ret", {0xf3, 0xc3}, 2, ik_ret, br_ret, 0},
        {"far ret", {0xcb}, 1, ik_far, br_step, 0},
        {"far jmp [rax]", {0xff, 0x28}, 2, ik_far, br_step, 0},
        {"far call [rax]", {0xff, 0x18}, 2, ik_far, br_step, 0},
        {"iretq", {0x48, 0xcf}, 2, ik_far, br_step, 0},
        {"syscall", {0x0f, 0x05}, 2, ik_far, br_syscall, 0},
        {"sysenter", {0x0f, 0x34}, 2, ik_far, br_step, 0},
        {"int 0x80", {0xcd, 0x80}, 2, ik_far, br_syscall, 0},
        {"int 0x42", {0xcd, 0x42}, 2, ik_far, br_step, 0},
        {"int3", {0xcc}, 1, ik_far, br_step, 0},
        {"xbegin", {0xc7, 0xf8, 0, 0, 0, 0}, 6, ik_other, br_step, 0x1006},
        {"rdtsc", {0x0f, 0x31}, 2, ik_other, br_counter, 0},
        {"rdtscp", {0x0f, 0x01, 0xf9}, 3, ik_other, br_counter, 0},
        {"pushf", {0x9c}, 1, ik_other, br_pushf, 0},
        {"pushfw", {0x66, 0x9c}, 2, ik_other, br_pushf, 0},
        {"endbr64", {0xf3, 0x0f, 0x1e, 0xfa}, 4, ik_other, br_none, 0},
};

static void test_classes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(insn_cases) / sizeof(*insn_cases); i++) {
		const struct insn_case *c = &insn_cases[i];
		struct branch_info branch;
		struct traced_insn insn;

		if (traced_insn_decode(&insn, &branch, 0x1000, c->bytes, sizeof(c->bytes)) ||
		    insn.length != c->length || insn.kind != c->kind || branch.rule != c->rule ||
		    (c->target && branch.target != c->target))
			fail_msg("%s: length %u kind %u rule %u target %llx", c->name, insn.length, insn.kind,
			         branch.rule, (unsigned long long)branch.target);
	}
}

static void test_what_is_no_instruction(void **state)
{
	static const uint8_t push_es[] = {0x06}, cut[] = {0xe8, 0x00};
	struct traced_insn insn;

	(void)state;
	assert_int_equal(traced_insn_decode(&insn, NULL, 0, push_es, sizeof(push_es)), -1);
	assert_int_equal(insn.length, 0);
	assert_int_equal(traced_insn_decode(&insn, NULL, 0, cut, sizeof(cut)), -1);
	assert_int_equal(traced_insn_decode(&insn, NULL, 0, cut, 0), -1);
}

#define SETCC(number, name)                                                                                  \
	case number:                                                                                         \
		__asm__("pushq %1; popfq; set" name " %0" : "=r"(holds) : "r"(flags) : "cc", "memory");      \
		break

/* Not inlined into anything that uses the red zone below the stack. */
static int __attribute__((noinline)) ask_processor(uint8_t condition, uint64_t flags)
{
	uint8_t holds = 0;

	switch (condition) {
		SETCC(0x0, "o");
		SETCC(0x1, "no");
		SETCC(0x2, "b");
		SETCC(0x3, "ae");
		SETCC(0x4, "e");
		SETCC(0x5, "ne");
		SETCC(0x6, "be");
		SETCC(0x7, "a");
		SETCC(0x8, "s");
		SETCC(0x9, "ns");
		SETCC(0xa, "p");
		SETCC(0xb, "np");
		SETCC(0xc, "l");
		SETCC(0xd, "ge");
		SETCC(0xe, "le");
		SETCC(0xf, "g");
	default:
		break;
	}
	return holds;
}

/* All flags that conditions look at, for all conditions. */
static void test_conditions_are_those_of_the_processor(void **state)
{
	static const uint8_t bit[] = {0, 2, 6, 7, 11};

	(void)state;
	for (uint8_t condition = 0; condition < 16; condition++) {
		for (unsigned mask = 0; mask < 32; mask++) {
			struct branch_info branch = {
			        .rule = br_flags, .condition = condition, .target = 0x2000};
			struct traced_insn insn = {.ip = 0x1000, .length = 2, .kind = ik_cond};
			struct tracee t = {.tid = 0};
			uint64_t flags = 0x202;

			for (int i = 0; i < 5; i++)
				flags |= (uint64_t)(mask >> i & 1) << bit[i];
			t.regs.eflags = flags;
			assert_int_equal(branch_outcome(&t, &insn, &branch), 0);
			assert_int_equal(t.regs.rip, ask_processor(condition, flags) ? 0x2000 : 0x1002);
		}
	}
}

static void test_jump_through_a_register(void **state)
{
	static const uint8_t jmp_r11[] = {0x41, 0xff, 0xe3};
	struct branch_info branch;
	struct traced_insn insn;
	struct tracee t = {.tid = 0};

	(void)state;
	assert_int_equal(traced_insn_decode(&insn, &branch, 0x1000, jmp_r11, sizeof(jmp_r11)), 0);
	t.regs.r11 = 0x7fff12345678;
	assert_int_equal(branch_outcome(&t, &insn, &branch), 0);
	assert_int_equal(t.regs.rip, 0x7fff12345678);
	/* That would fault; the processor shall do it. */
	t.regs.r11 = 0x8000000000000000;
	assert_int_equal(branch_outcome(&t, &insn, &branch), -1);
}

static void test_maps_hold_what_is_executable(void **state)
{
	struct exec_maps maps = {NULL, 0}, copy = {NULL, 0};
	void *page = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct exec_map *map;

	(void)state;
	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(exec_maps_read(&maps, getpid(), NULL), 0);
	map = exec_maps_find(&maps, (uint64_t)(uintptr_t)page);
	assert_non_null(map);
	assert_string_equal(map->name, "//anon");
	assert_int_equal(map->prot, PROT_READ | PROT_EXEC);
	assert_false(exec_map_volatile(map));
	map = exec_maps_find(&maps, (uint64_t)(uintptr_t)test_maps_hold_what_is_executable);
	assert_non_null(map);
	assert_int_equal(map->name[0], '/');
	assert_null(exec_maps_find(&maps, (uint64_t)(uintptr_t)&maps));
	assert_true(exec_maps_touch(&maps, map->begin, map->begin + 1));
	assert_false(exec_maps_touch(&maps, (uint64_t)(uintptr_t)&maps, (uint64_t)(uintptr_t)(&maps + 1)));

	assert_int_equal(exec_maps_copy(&copy, &maps, NULL), 0);
	assert_true(exec_maps_has(&copy, map));
	munmap(page, 8192);
	exec_maps_fini(&copy);
	assert_int_equal(exec_maps_read(&copy, getpid(), NULL), 0);
	assert_null(exec_maps_find(&copy, (uint64_t)(uintptr_t)page));
	exec_maps_fini(&copy);
	exec_maps_fini(&maps);
}

static void test_maps_of_nobody_are_empty(void **state)
{
	struct exec_maps maps = {NULL, 0};

	(void)state;
	assert_int_equal(exec_maps_read(&maps, 0x7fffffff, NULL), 0);
	assert_int_equal(maps.nmaps, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_classes),
	        cmocka_unit_test(test_what_is_no_instruction),
	        cmocka_unit_test(test_conditions_are_those_of_the_processor),
	        cmocka_unit_test(test_jump_through_a_register),
	        cmocka_unit_test(test_maps_hold_what_is_executable),
	        cmocka_unit_test(test_maps_of_nobody_are_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
