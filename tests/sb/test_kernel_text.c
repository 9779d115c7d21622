/* test_kernel_text.c - the kernel's code over time: pieces between what is patched, and each patch in its
 * time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "binary/kallsyms.h"
#include "binary/kernel_text.h"
#include "support/kcore_file.h"
#include "support/temp_dir.h"

#define TEXT 0xffffffff81000000ull

enum { SIZE = 0x100 };

/* A kcore with SIZE bytes at TEXT: 00 01 02 ... */
static char *write_kcore(const struct temp_dir *dir)
{
	uint8_t code[SIZE];

	for (int i = 0; i < SIZE; ++i)
		code[i] = (uint8_t)i;
	return kcore_file(dir, TEXT, code, sizeof(code));
}

static struct sb_text_poke poke(uint64_t time, uint64_t offset, const char *old_bytes, const char *new_bytes)
{
	return (struct sb_text_poke){.time = time,
	                             .addr = TEXT + offset,
	                             .old_len = (uint16_t)strlen(old_bytes),
	                             .new_len = (uint16_t)strlen(new_bytes),
	                             .old_bytes = (const uint8_t *)old_bytes,
	                             .new_bytes = (const uint8_t *)new_bytes};
}

/* What stands at @offset at @time, as much of it as is in one piece, as text. */
static const char *text_at(const struct kernel_text *text, uint64_t offset, uint64_t time)
{
	static char bytes[64];
	const struct kernel_piece *piece = kernel_text_find(text, TEXT + offset);
	const struct kernel_version *version;
	size_t size, skipped;
	int fd;

	if (!piece)
		return "nowhere";
	version = kernel_text_version(text, piece, kernel_text_changes(text, time));
	if (!version->binary.size)
		return "nothing";
	skipped = TEXT + offset - piece->begin;
	size = version->binary.size - skipped;
	size = size < sizeof(bytes) ? size : sizeof(bytes) - 1;
	memset(bytes, 0, sizeof(bytes));
	fd = open(version->binary.path, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, bytes, size, (off_t)(version->binary.offset + skipped)), size);
	close(fd);
	return bytes;
}

static void patches_are_intervals_in_time(void **state)
{
	struct temp_dir dir;
	struct kernel_base base;
	struct kernel_text text;
	const struct sb_text_poke pokes[] = {
	        poke(100, 0x41, "AB", "xy"),                               /* 'A' is 0x41: what was there */
	        poke(200, 0x41, "xy", "AB"),  poke(250, 0x42, "BC", "zz"), /* overlaps: the same piece */
	        poke(300, 0x2000, "", "new"),                              /* code that comes ... */
	        poke(400, 0x2000, "new", ""),                              /* ... and goes */
	};
	char *kcore;

	(void)state;
	temp_dir_make(&dir);
	kcore = write_kcore(&dir);
	assert_int_equal(kernel_base_open_kcore(&base, kcore, NULL), 0);
	assert_int_equal(kernel_text_init(&text, &base, NULL, 0, pokes, 5, NULL), 0);
	assert_int_equal(text.npieces, 4); /* before, patched, behind, the new one */
	assert_int_equal(text.nchanges, 5);
	assert_string_equal(text_at(&text, 0x41, 0), "ABC");
	assert_string_equal(text_at(&text, 0x41, 99), "ABC");
	assert_string_equal(text_at(&text, 0x41, 100), "xyC");
	assert_string_equal(text_at(&text, 0x41, 249), "ABC");
	assert_string_equal(text_at(&text, 0x41, 1000), "Azz");
	assert_int_equal(text_at(&text, 0x44, 0)[0], 'D');
	assert_int_equal(text_at(&text, 0x40, 0)[0], '@');
	assert_string_equal(text_at(&text, 0x2000, 299), "nothing");
	assert_string_equal(text_at(&text, 0x2000, 300), "new");
	assert_string_equal(text_at(&text, 0x2000, 400), "nothing");
	assert_string_equal(text_at(&text, SIZE, 0), "nowhere");
	kernel_text_fini(&text);
	free(kcore);
	temp_dir_remove(&dir);
}

static void other_files_are_refused(void **state)
{
	static const char *const names[] = {"a", NULL};
	struct temp_dir dir;
	struct kernel_base base;
	struct kernel_text text;
	struct sb_error err = {0};
	char *path;

	(void)state;
	temp_dir_make(&dir);
	path = temp_dir_write(&dir, "kcore", (const uint8_t *)"no ELF", 6);
	assert_true(kernel_base_open_kcore(&base, path, &err) < 0);
	assert_string_equal(err.file, path);
	assert_int_equal(kernel_text_init(&text, &base, NULL, 0, NULL, 0, &err), 0);
	assert_null(kernel_text_find(&text, TEXT));
	kernel_text_fini(&text);
	assert_int_equal(kallsyms_find(path, names), 0);
	free(path);
	temp_dir_remove(&dir);
}

static void kallsyms_has_the_first_of_the_names(void **state)
{
	static const char lines[] = "ffffffff81000010 T __switch_to\nffffffff81000020 t other [module]\n"
	                            "ffffffff81000030 T __switch_to_asm\n";
	static const char *const names[] = {"__switch_to_asm", "__switch_to", NULL};
	struct temp_dir dir;
	char *path;

	(void)state;
	temp_dir_make(&dir);
	path = temp_dir_write(&dir, "kallsyms", (const uint8_t *)lines, sizeof(lines) - 1);
	assert_int_equal(kallsyms_find(path, names), 0xffffffff81000030);
	assert_int_equal(kallsyms_find(path, names + 1), 0xffffffff81000010);
	free(path);
	temp_dir_remove(&dir);
}

/* Whoever opens it waits for a writer for ever. */
static void kallsyms_that_is_a_pipe_is_none(void **state)
{
	static const char *const names[] = {"a", NULL};
	struct temp_dir dir;
	char *path;

	(void)state;
	temp_dir_make(&dir);
	path = temp_dir_path(&dir, "kallsyms");
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(kallsyms_find(path, names), 0);
	free(path);
	temp_dir_remove(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(patches_are_intervals_in_time),
	        cmocka_unit_test(other_files_are_refused),
	        cmocka_unit_test(kallsyms_has_the_first_of_the_names),
	        cmocka_unit_test(kallsyms_that_is_a_pipe_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
