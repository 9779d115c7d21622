/* test_kernel_text.c - the kernel's code over time: pieces between what is patched, and each patch in its
 * time.
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
	assert_int_equal(
	        kernel_text_init(&text, &base, &(struct kernel_history){.poke = pokes, .npokes = 5}, NULL),
	        0);
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

/* What stands at @offset at @time, where records may be lost: "open", and what stands there as a rule. */
static const char *open_at(const struct kernel_text *text, uint64_t offset, uint64_t time)
{
	static char bytes[64];
	const struct kernel_piece *piece = kernel_text_find(text, TEXT + offset);
	const struct kernel_version *version =
	        kernel_text_version(text, piece, kernel_text_changes(text, time));
	const struct kernel_version *usual;

	if (!version->is_open)
		return text_at(text, offset, time);
	assert_int_equal(version->binary.size, 0);
	if (version->usual >= piece->ncontents)
		return "open";
	usual = kernel_text_content(text, piece, version->usual);
	snprintf(bytes, sizeof(bytes), "open: ");
	assert_int_equal(
	        pread(text->patches, bytes + strlen(bytes), usual->binary.size, (off_t)usual->binary.offset),
	        usual->binary.size);
	return bytes;
}

/* From the losses on, up to the next record, which says what was there; all that ever was is listed. */
static void where_records_were_lost_patches_are_open(void **state)
{
	struct temp_dir dir;
	struct kernel_base base;
	struct kernel_text text;
	const struct sb_text_poke pokes[] = {
	        poke(100, 0x41, "AB", "xy"), poke(200, 0x41, "xy", "AB"), /* as it is in kcore */
	        poke(210, 0x61, "no", "ab"), poke(300, 0x61, "cd", "ef"), /* neither here nor there */
	        poke(150, 0x71, "qr", "st"), poke(160, 0x2000, "", "new"),
	};
	const struct lost_time losses[] = {{110, 120}, {130, 140}, {220, 230}};
	const struct kernel_history history = {
	        .poke = pokes, .npokes = 6, .losses = {.of = losses, .count = 3}};
	char *kcore;

	(void)state;
	temp_dir_make(&dir);
	kcore = write_kcore(&dir);
	assert_int_equal(kernel_base_open_kcore(&base, kcore, NULL), 0);
	assert_int_equal(kernel_text_init(&text, &base, &history, NULL), 0);
	assert_string_equal(open_at(&text, 0x41, 0), "AB");
	assert_string_equal(open_at(&text, 0x41, 109), "xy");
	assert_string_equal(open_at(&text, 0x41, 110), "open: xy");
	assert_string_equal(open_at(&text, 0x41, 125), "open: xy");
	assert_string_equal(open_at(&text, 0x41, 141), "xy");
	assert_string_equal(open_at(&text, 0x41, 219), "AB");
	assert_string_equal(open_at(&text, 0x41, 220), "open: AB");
	assert_string_equal(open_at(&text, 0x41, 1000), "open: AB");
	assert_int_equal(kernel_text_find(&text, TEXT + 0x41)->ncontents, 2);
	assert_string_equal(open_at(&text, 0x61, 0), "open");
	assert_string_equal(open_at(&text, 0x61, 141), "no");
	assert_string_equal(open_at(&text, 0x61, 225), "open");
	assert_string_equal(open_at(&text, 0x61, 231), "cd");
	assert_string_equal(open_at(&text, 0x61, 300), "ef");
	assert_int_equal(kernel_text_find(&text, TEXT + 0x61)->ncontents, 4);
	assert_string_equal(open_at(&text, 0x71, 109), "qr");
	assert_string_equal(open_at(&text, 0x71, 110), "open: qr");
	assert_string_equal(open_at(&text, 0x71, 149), "qr");
	assert_string_equal(open_at(&text, 0x2000, 109), "nothing");
	assert_string_equal(open_at(&text, 0x2000, 110), "open");
	assert_string_equal(open_at(&text, 0x2000, 160), "new");
	assert_string_equal(open_at(&text, 0x2000, 220), "open: new");
	assert_int_equal(open_at(&text, 0x43, 225)[0], 'C'); /* is never patched */
	kernel_text_fini(&text);
	free(kcore);
	temp_dir_remove(&dir);
}

/* One that has had too many contents. */
static void too_many_contents_are_none(void **state)
{
	static char old_bytes[KERNEL_CONTENTS_MAX][2], new_bytes[KERNEL_CONTENTS_MAX][2];
	struct temp_dir dir;
	struct kernel_base base;
	struct kernel_text text;
	struct sb_text_poke pokes[KERNEL_CONTENTS_MAX];
	const struct lost_time loss = {1000, 1000};

	(void)state;
	temp_dir_make(&dir);
	for (uint32_t most = KERNEL_CONTENTS_MAX - 1; most <= KERNEL_CONTENTS_MAX; ++most) {
		const struct kernel_history history = {
		        .poke = pokes, .npokes = most, .losses = {.of = &loss, .count = 1}};
		char *kcore = write_kcore(&dir);

		for (uint32_t i = 0; i < most; ++i) {
			old_bytes[i][0] = (char)('A' + i);
			new_bytes[i][0] = (char)('B' + i);
			pokes[i] = poke(i + 1, 0x41, old_bytes[i], new_bytes[i]);
		}
		assert_int_equal(kernel_base_open_kcore(&base, kcore, NULL), 0);
		assert_int_equal(kernel_text_init(&text, &base, &history, NULL), 0);
		assert_int_equal(kernel_text_find(&text, TEXT + 0x41)->ncontents,
		                 most < KERNEL_CONTENTS_MAX ? KERNEL_CONTENTS_MAX : 0);
		assert_int_equal(strncmp(open_at(&text, 0x41, 1000), "open", 4), 0);
		kernel_text_fini(&text);
		free(kcore);
	}
	temp_dir_remove(&dir);
}

static uint64_t find_in_kallsyms(const char *path, const char *const *names)
{
	uint64_t address;

	(void)kallsyms_find(path, names, &address, NULL);
	return address;
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
	assert_int_equal(kernel_text_init(&text, &base, &(struct kernel_history){0}, &err), 0);
	assert_null(kernel_text_find(&text, TEXT));
	kernel_text_fini(&text);
	assert_int_equal(find_in_kallsyms(path, names), 0);
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
	assert_int_equal(find_in_kallsyms(path, names), 0xffffffff81000030);
	assert_int_equal(find_in_kallsyms(path, names + 1), 0xffffffff81000010);
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
	assert_int_equal(find_in_kallsyms(path, names), 0);
	free(path);
	temp_dir_remove(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(patches_are_intervals_in_time),
	        cmocka_unit_test(where_records_were_lost_patches_are_open),
	        cmocka_unit_test(too_many_contents_are_none),
	        cmocka_unit_test(other_files_are_refused),
	        cmocka_unit_test(kallsyms_has_the_first_of_the_names),
	        cmocka_unit_test(kallsyms_that_is_a_pipe_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
