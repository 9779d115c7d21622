/* test_module_code.c - code of the kernel from its files: a module put to its place, vmlinux where it was
 * patched at boot. What is not known is no code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sb/replay.h>

#include "binary/kernel_base.h"
#include "binary/kernel_state.h"
#include "binary/module_code.h"
#include "binary/module_find.h"
#include "support/temp_dir.h"

#define BASE       0xffffffffc0200000ull
#define KNOWN      0xffffffff81000100ull
#define THUNK      0xffffffff81000200ull
#define TRAMPOLINE 0xffffffff81000300ull
#define CALLED     0xffffffff81000400ull

/* Offsets in the sample, see tests/samples/module.c; .text.unlikely comes behind .text. */
enum {
	FTRACE = 0,
	TO_KNOWN = 5,
	TO_UNKNOWN = 10,
	TO_COLD = 15,
	STATIC_CALL = 21,
	JUMP_LABEL = 26,
	LOAD = 28,
	ALTERNATIVE = 34,
	RETURN = 39,
	COLD = 45, /* .altinstr_replacement is before it */
	END = 50
};

struct kernel {
	struct temp_dir dir;
	char *kallsyms;
	struct kernel_state state;
	struct kallsyms_index index;
	struct module_place place;
};

/* The kernel, in which returns go to a thunk, and the static call leads to CALLED. */
static void make_kernel(struct kernel *kernel, const char *more)
{
	static const uint8_t trampoline[] = {0xe9, 0xfb, 0x00, 0x00, 0x00};
	char text[1024];

	memset(kernel, 0, sizeof(*kernel));
	temp_dir_make(&kernel->dir);
	snprintf(
	        text, sizeof(text),
	        "%llx T known_function\n%llx T __x86_return_thunk\n%llx T __SCT__sample\n%llx t unknown_function\n"
	        "%s",
	        KNOWN, THUNK, TRAMPOLINE, CALLED, more);
	kernel->kallsyms = temp_dir_write(&kernel->dir, "kallsyms", text, strlen(text));
	assert_int_equal(kernel_code_init(&kernel->state.text, TRAMPOLINE, sizeof(trampoline)), 0);
	kernel_code_put(&kernel->state.text, TRAMPOLINE, trampoline, sizeof(trampoline));
	assert_int_equal(kallsyms_index_init(&kernel->index, kernel->kallsyms), 0);
	kernel->state.returns = returns_thunk;
	kernel->state.return_thunk = THUNK;
	kernel->place = (struct module_place){.name = "[sample]",
	                                      .begin = BASE,
	                                      .size = 0x1000,
	                                      .kallsyms = &kernel->index,
	                                      .state = &kernel->state};
}

static void forget_kernel(struct kernel *kernel)
{
	kernel_state_free(&kernel->state);
	kallsyms_index_fini(&kernel->index);
	temp_dir_remove(&kernel->dir);
	free(kernel->kallsyms);
}

static int read_sample(struct kernel_code *code, const struct kernel *kernel, char why[128])
{
	const int fd = open(SAMPLE_MODULE, O_RDONLY);
	int status;

	assert_true(fd >= 0);
	status = module_code_read(code, fd, &kernel->place, why);
	close(fd);
	return status;
}

/* The address that the branch at @offset, with an opcode of @opcode bytes, leads to. */
static uint64_t branch(const struct kernel_code *code, uint64_t offset, unsigned int opcode)
{
	int32_t displacement;

	for (unsigned int i = 0; i < opcode + 4; ++i)
		assert_false(code->unknown[offset + i]);
	memcpy(&displacement, code->bytes + offset + opcode, 4);
	return code->begin + offset + opcode + 4 + (uint64_t)(int64_t)displacement;
}

static void assert_unknown(const struct kernel_code *code, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; ++i)
		assert_true(code->unknown[i]);
}

static void modules_are_relocated_and_patched(void **state)
{
	struct kernel kernel;
	struct kernel_code code;
	char why[128];

	(void)state;
	make_kernel(&kernel, "ffffffffc0200000 t first\t[sample]\nffffffffc020002d t cold\t[sample]\n");
	assert_int_equal(read_sample(&code, &kernel, why), 0);
	assert_int_equal(code.begin, BASE);
	assert_int_equal(code.size, END);
	assert_memory_equal(code.bytes + FTRACE, "\x0f\x1f\x44\x00\x00", 5);
	assert_int_equal(branch(&code, TO_KNOWN, 1), KNOWN);
	assert_unknown(&code, TO_UNKNOWN, TO_COLD); /* of this name, only a local function is known */
	assert_int_equal(branch(&code, TO_COLD, 2), BASE + COLD);
	assert_int_equal(branch(&code, STATIC_CALL, 1), CALLED);
	assert_unknown(&code, JUMP_LABEL, LOAD);
	assert_false(code.unknown[LOAD]);
	assert_unknown(&code, ALTERNATIVE, RETURN);
	assert_int_equal(code.bytes[RETURN], 0xe9);
	assert_int_equal(branch(&code, RETURN, 1), THUNK);
	assert_int_equal(branch(&code, COLD, 1), BASE + TO_KNOWN);
	kernel_code_free(&code);
	forget_kernel(&kernel);
}

static void returns_are_what_the_kernel_made_of_them(void **state)
{
	struct kernel kernel;
	struct kernel_code code;
	char why[128];

	(void)state;
	make_kernel(&kernel, "");
	kernel.state.returns = returns_unknown;
	assert_int_equal(read_sample(&code, &kernel, why), 0);
	assert_unknown(&code, RETURN, RETURN + 5);
	kernel_code_free(&code);
	kernel.state.returns = returns_in_place;
	assert_int_equal(read_sample(&code, &kernel, why), 0);
	assert_memory_equal(code.bytes + RETURN, "\xc3\xcc\xcc\xcc\xcc", 5);
	kernel_code_free(&code);
	kernel.state.returns = returns_by_half_line; /* 39: the upper half */
	assert_int_equal(read_sample(&code, &kernel, why), 0);
	assert_memory_equal(code.bytes + RETURN, "\xc3\xcc\xcc\xcc\xcc", 5);
	kernel_code_free(&code);
	kernel.place.begin += 0x20;
	assert_int_equal(read_sample(&code, &kernel, why), 0);
	assert_int_equal(branch(&code, RETURN, 1), THUNK);
	kernel_code_free(&code);
	forget_kernel(&kernel);
}

static void without_kallsyms_calls_of_the_kernel_are_unknown(void **state)
{
	struct kernel kernel;
	struct kernel_code code;
	char why[128];

	(void)state;
	make_kernel(&kernel, "");
	kallsyms_index_fini(&kernel.index);
	assert_int_equal(read_sample(&code, &kernel, why), 0);
	assert_unknown(&code, TO_KNOWN, TO_COLD);
	assert_unknown(&code, STATIC_CALL, LOAD);
	assert_int_equal(branch(&code, TO_COLD, 2), BASE + COLD);
	kernel_code_free(&code);
	forget_kernel(&kernel);
}

static void other_files_are_refused(void **state)
{
	struct kernel kernel;
	struct kernel_code code;
	char why[128];
	int fd;

	(void)state;
	make_kernel(&kernel, "ffffffffc0200007 t first\t[sample]\n");
	assert_int_equal(read_sample(&code, &kernel, why), -sbe_format);
	assert_string_equal(why, "kallsyms has 1 of its functions elsewhere: it is another build");
	forget_kernel(&kernel);
	make_kernel(&kernel, "");
	kernel.place.size = END - 1;
	assert_int_equal(read_sample(&code, &kernel, why), -sbe_format);
	assert_string_equal(why, "its code is longer than what was loaded");
	fd = open(SAMPLE_VMLINUX, O_RDONLY);
	assert_int_equal(module_code_read(&code, fd, &kernel.place, why), -sbe_format);
	assert_string_equal(why, "it is no kernel module of x86-64");
	close(fd);
	forget_kernel(&kernel);
}

/* ---- vmlinux ---------------------------------------------------------------------------------- */

/* Whether something is known at an offset of the kernel, which stands @shift above where it was linked. */
static int is_known(const struct kernel_base *base, uint64_t shift, uint64_t offset)
{
	const uint64_t address = 0xffffffff81000000 + shift + offset;

	for (size_t i = 0; i < base->regions.count; ++i)
		if (address >= base->regions.region[i].begin && address < base->regions.region[i].end)
			return 1;
	return 0;
}

/* See tests/samples/vmlinux.c: '.' is known, '?' is not. */
static void vmlinux_has_holes_where_it_was_patched(void **state)
{
	static const char expected[] = "......" /* __fentry__, which became a nop; nop */
	                               "?????"  /* static call */
	                               "??."    /* jump label */
	                               "?????." /* alternative */
	                               "?????"  /* return */
	                               ".."
	                               "????????" /* trampoline */
	                               ".";
	const uint64_t shift = 0x200000;
	struct plain_file plain;
	struct kernel_base base;
	uint8_t bytes[6];
	int fd;

	(void)state;
	assert_int_equal(open_maybe_compressed(&plain, SAMPLE_VMLINUX, 0, NULL), 0);
	assert_int_equal(kernel_base_open_vmlinux(&base, &plain, SAMPLE_VMLINUX, shift, NULL, NULL), 0);
	for (size_t i = 0; expected[i]; ++i)
		assert_int_equal(is_known(&base, shift, i), expected[i] == '.');
	assert_false(is_known(&base, shift, sizeof(expected) - 1)); /* .altinstr_replacement, .init.text */
	assert_false(is_known(&base, 0, 0));
	fd = open(base.path, O_RDONLY);
	assert_int_equal(pread(fd, bytes, 6, (off_t)base.regions.region[0].offset), 6);
	assert_memory_equal(bytes, "\x0f\x1f\x44\x00\x00\x90", 6);
	close(fd);
	kernel_base_close(&base);
}

/* ---- Files of modules ------------------------------------------------------------------------- */

static void assert_found(const struct module_finder *finder, const char *recorded, const char *expected)
{
	const struct sb_binary *binary;
	char *path = module_find(finder, recorded, &binary);

	if (expected)
		assert_string_equal(path, expected);
	else
		assert_null(path);
	free(path);
}

static void modules_are_found_by_path_list_and_name(void **state)
{
	static const char list[] = "kernel/a/one-two.ko: kernel/b/three.ko.xz\nkernel/b/three.ko.xz:\n"
	                           "kernel/gone.ko:\n";
	static const char *const files[] = {"root/lib/modules/6.1/kernel/a/one-two.ko",
	                                    "root/lib/modules/6.1/kernel/b/three.ko.xz", "root/four_five.ko",
	                                    "root/six-seven.ko.zst"};
	struct module_finder finder;
	struct sb_resolver *resolver;
	struct temp_dir dir;
	const char *root;
	char *path, command[256];

	(void)state;
	temp_dir_make(&dir);
	snprintf(command, sizeof(command),
	         "mkdir -p %s/root/lib/modules/6.1/kernel/a %s/root/lib/modules/6.1/kernel/b", dir.path,
	         dir.path);
	assert_int_equal(system(command), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); ++i)
		free(temp_dir_write(&dir, files[i], "x", 1));
	free(temp_dir_write(&dir, "root/lib/modules/6.1/modules.dep", list, strlen(list)));
	root = path = temp_dir_path(&dir, "root");
	assert_int_equal(sb_resolver_new(&resolver, &root, 1, 1, NULL), 0);
	assert_int_equal(module_finder_init(&finder, resolver, "6.1"), 0);
	assert_found(&finder, "[one_two]", "/lib/modules/6.1/kernel/a/one-two.ko");
	assert_found(&finder, "[three]", "/lib/modules/6.1/kernel/b/three.ko.xz");
	assert_found(&finder, "/lib/modules/6.1/kernel/b/three.ko.xz",
	             "/lib/modules/6.1/kernel/b/three.ko.xz");
	assert_found(&finder, "/lib/modules/6.2/kernel/b/three.ko.xz",
	             "/lib/modules/6.1/kernel/b/three.ko.xz");
	assert_found(&finder, "[four_five]", "/four_five.ko");
	assert_found(&finder, "[six_seven]", "/six-seven.ko.zst");
	assert_found(&finder, "[gone]", NULL);
	assert_found(&finder, "[thre]", NULL);
	module_finder_fini(&finder);
	assert_int_equal(module_finder_init(&finder, resolver, "../../lib/modules/6.1"), 0);
	assert_found(&finder, "[one_two]", NULL);
	module_finder_fini(&finder);
	sb_resolver_free(resolver);
	temp_dir_remove(&dir);
	free(path);
}

static void names_of_the_kernel_are_no_modules(void **state)
{
	(void)state;
	assert_true(module_is_named("[loop]"));
	assert_true(module_is_named("/lib/modules/6.1/kernel/loop.ko.xz"));
	assert_false(module_is_named("[kernel.kallsyms]_text"));
	assert_false(module_is_named("[guest.kernel.kallsyms]_text"));
	assert_false(module_is_named("/boot/vmlinux"));
	assert_false(module_is_named(""));
}

/* ---- A real kernel ---------------------------------------------------------------------------- */

static void kcore_shows_how_a_kernel_was_patched(void **state)
{
	static const char kcore[] = CORPUS_DIR "/kernel-pti/perf.data/kcore_dir/kcore",
	                  kallsyms[] = CORPUS_DIR "/kernel-pti/perf.data/kcore_dir/kallsyms";
	struct kernel_state kernel;
	struct kernel_base base;

	(void)state;
	if (access(kcore, R_OK) != 0)
		skip();
	assert_int_equal(kernel_base_open_kcore(&base, kcore, NULL), 0);
	assert_int_equal(kernel_state_read(&kernel, &base, kallsyms), 0);
	assert_int_equal(kernel.returns, returns_by_half_line);
	assert_true(kernel.keeps_indirect);
	assert_true(kernel.text.size > 8 << 20);
	kernel_state_free(&kernel);
	assert_int_equal(kernel_state_read(&kernel, &base, NULL), 0);
	assert_int_equal(kernel.returns, returns_unknown);
	kernel_base_close(&base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(modules_are_relocated_and_patched),
	        cmocka_unit_test(returns_are_what_the_kernel_made_of_them),
	        cmocka_unit_test(without_kallsyms_calls_of_the_kernel_are_unknown),
	        cmocka_unit_test(other_files_are_refused),
	        cmocka_unit_test(vmlinux_has_holes_where_it_was_patched),
	        cmocka_unit_test(modules_are_found_by_path_list_and_name),
	        cmocka_unit_test(names_of_the_kernel_are_no_modules),
	        cmocka_unit_test(kcore_shows_how_a_kernel_was_patched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
