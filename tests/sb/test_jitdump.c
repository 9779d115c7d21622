/* test_jitdump.c - reading jitdumps: which code stood where when; what is refused; and the same as perf
 * inject. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "binary/jitdump.h"
#include "support/jitdump_bytes.h"
#include "support/perf_tool.h"
#include "support/temp_dir.h"

static void assert_read(const struct dump_bytes *bytes, struct jitdump *dump)
{
	struct sb_error err = {0};
	const int status = jitdump_read(dump, bytes->byte, bytes->size, "a.dump", &err);

	if (status)
		fail_msg("%s", err.text);
}

/* "begin-end from-to name" per piece, separated by "; ". */
static void assert_history(const struct jitdump *dump, const char *expected)
{
	char text[2048] = "";
	size_t used = 0;

	for (size_t i = 0; i < dump->ncodes; ++i) {
		const struct jitdump_code *code = &dump->code[i];
		const char *separator = i ? "; " : "";

		used += (size_t)snprintf(text + used, sizeof(text) - used,
		                         "%s%" PRIx64 "-%" PRIx64 " %" PRIu64 "-", separator, code->begin,
		                         code->end, code->from);
		if (code->to != UINT64_MAX)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%" PRIu64, code->to);
		used += (size_t)snprintf(text + used, sizeof(text) - used, " %s",
		                         code->offset == JITDUMP_NO_BYTES ? "?" : code->name);
		assert_true(used < sizeof(text));
	}
	assert_string_equal(text, expected);
}

/* ---- Code in time ------------------------------------------------------------------------------ */

static void loads_and_their_bytes(void **state)
{
	struct dump_bytes bytes;
	struct jitdump dump;

	(void)state;
	dump_begin(&bytes, 7, JITDUMP_ARCH_TIMESTAMP);
	dump_load(&bytes, 10, 7, 0x1000, "a", "\x90\xc3", 2, 1);
	dump_other(&bytes, jitdump_debug_info, 11, 24);
	dump_other(&bytes, 99, 11, 16);
	dump_load(&bytes, 12, 7, 0x2000, "bb", "\x91\x92\xc3", 3, 2);
	dump_load(&bytes, 13, 7, 0x3000, "nothing", "", 0, 3);
	assert_read(&bytes, &dump);
	assert_history(&dump, "1000-1002 10- a; 2000-2003 12- bb");
	assert_int_equal(dump.pid, 7);
	assert_int_equal(dump.flags, JITDUMP_ARCH_TIMESTAMP);
	assert_int_equal(dump.closed + (int)dump.truncated_at, 0);
	assert_memory_equal(bytes.byte + dump.code[0].offset, "\x90\xc3", 2);
	assert_memory_equal(bytes.byte + dump.code[1].offset, "\x91\x92\xc3", 3);
	assert_int_equal(dump.code[1].code_index, 2);
	jitdump_free(&dump);
	dump_end(&bytes);
}

static void new_code_ends_what_it_touches(void **state)
{
	struct dump_bytes bytes;
	struct jitdump dump;

	(void)state;
	dump_begin(&bytes, 7, 0);
	dump_load(&bytes, 10, 7, 0x1000, "a", "12345678", 8, 1);
	dump_load(&bytes, 11, 7, 0x1008, "b", "12345678", 8, 2);
	dump_load(&bytes, 12, 7, 0x1010, "c", "12345678", 8, 3);
	dump_load(&bytes, 13, 7, 0x1007, "end of a, begin of b", "12", 2, 4);
	dump_load(&bytes, 14, 8, 0x1000, "another process", "12345678", 8, 5);
	dump_load(&bytes, 15, 7, 0x1012, "in c", "12", 2, 6);
	dump_load(&bytes, 16, 7, 0xfff, "one before", "1", 1, 7);
	dump_load(&bytes, 17, 7, 0xffe, "over all", "12345678901234567890123456789012", 32, 8);
	assert_read(&bytes, &dump);
	assert_history(&dump, "1000-1008 10-13 a; 1008-1010 11-13 b; 1010-1018 12-15 c; "
	                      "1007-1009 13-17 end of a, begin of b; 1000-1008 14- another process; "
	                      "1012-1014 15-17 in c; fff-1000 16-17 one before; ffe-101e 17- over all");
	jitdump_free(&dump);
	dump_end(&bytes);
}

static void what_is_moved_takes_its_bytes_along(void **state)
{
	struct dump_bytes bytes;
	struct jitdump dump;

	(void)state;
	dump_begin(&bytes, 7, 0);
	dump_load(&bytes, 10, 7, 0x1000, "a", "1234", 4, 1);
	dump_move(&bytes, 11, 7, 0x1000, 0x2000, 4, 1);
	dump_move(&bytes, 12, 7, 0x2000, 0x2002, 4, 1); /* overlapping itself */
	dump_load(&bytes, 13, 7, 0x1000, "b", "5678", 4, 2);
	dump_move(&bytes, 14, 7, 0x1000, 0x3000, 4, 1); /* another index */
	dump_move(&bytes, 15, 7, 0x1000, 0x4000, 3, 2); /* another size */
	dump_move(&bytes, 16, 7, 0x1001, 0x5000, 4, 2); /* another place */
	dump_move(&bytes, 17, 8, 0x1000, 0x6000, 4, 2); /* another process */
	dump_move(&bytes, 18, 7, 0x2000, 0x7000, 4, 1); /* it is not there any more */
	assert_read(&bytes, &dump);
	assert_history(&dump, "1000-1004 10-11 a; 2000-2004 11-12 a; 2002-2006 12- a; 1000-1004 13- b; "
	                      "3000-3004 14- ?; 4000-4003 15- ?; 5000-5004 16- ?; 6000-6004 17- ?; "
	                      "7000-7004 18- ?");
	assert_int_equal(dump.code[2].offset, dump.code[0].offset);
	jitdump_free(&dump);
	dump_end(&bytes);
}

/* Threads write records a little out of order. */
static void times_order_not_places_in_the_file(void **state)
{
	struct dump_bytes bytes;
	struct jitdump dump;

	(void)state;
	dump_begin(&bytes, 7, 0);
	dump_load(&bytes, 20, 7, 0x1000, "late", "12", 2, 2);
	dump_load(&bytes, 10, 7, 0x1000, "early", "12", 2, 1);
	dump_load(&bytes, 20, 7, 0x1000, "later", "12", 2, 3);
	assert_read(&bytes, &dump);
	assert_history(&dump, "1000-1002 10-20 early; 1000-1002 20-20 late; 1000-1002 20- later");
	jitdump_free(&dump);
	dump_end(&bytes);
}

static void nothing_behind_a_close_is_read(void **state)
{
	struct dump_bytes bytes;
	struct jitdump dump;

	(void)state;
	dump_begin(&bytes, 7, 0);
	dump_load(&bytes, 10, 7, 0x1000, "a", "12", 2, 1);
	dump_other(&bytes, jitdump_close, 11, 16);
	dump_load(&bytes, 12, 7, 0x2000, "b", "12", 2, 1);
	assert_read(&bytes, &dump);
	assert_history(&dump, "1000-1002 10- a");
	assert_true(dump.closed);
	jitdump_free(&dump);
	dump_end(&bytes);
}

static void the_last_record_may_be_cut_off(void **state)
{
	struct dump_bytes bytes;
	struct jitdump dump;
	uint64_t whole;

	(void)state;
	dump_begin(&bytes, 7, 0);
	dump_load(&bytes, 10, 7, 0x1000, "a", "12", 2, 1);
	whole = bytes.size;
	dump_load(&bytes, 13, 7, 0x2000, "b", "12", 2, 1);
	for (const uint64_t end = bytes.size; bytes.size > whole + 1;) {
		bytes.size -= 1;
		assert_read(&bytes, &dump);
		assert_history(&dump, "1000-1002 10- a");
		assert_int_equal(dump.truncated_at, whole);
		assert_int_equal(dump.known_to, bytes.size >= whole + 16 ? 13 : 10);
		assert_true(end > bytes.size);
		jitdump_free(&dump);
	}
	dump_end(&bytes);
}

/* ---- What is refused --------------------------------------------------------------------------- */

static void assert_refused(const struct dump_bytes *bytes, int code, uint64_t offset, const char *text)
{
	struct sb_error err = {0};
	struct jitdump dump;

	assert_int_equal(jitdump_read(&dump, bytes->byte, bytes->size, "a.dump", &err), code);
	assert_int_equal(err.offset, offset);
	assert_string_equal(err.file, "a.dump");
	if (!strstr(err.text, text))
		fail_msg("'%s' does not say '%s'", err.text, text);
}

static void bad_headers(void **state)
{
	static const struct {
		uint64_t at;
		uint32_t value;
		int code;
		const char *text;
	} rows[] = {
	        {0, 0x4454694a, -sbe_unsupported, "other byte order"},
	        {0, 0x46494c45, -sbe_format, "found 0x46494c45"},
	        {4, 2, -sbe_unsupported, "expected version 1 of jitdump, found 2"},
	        {8, 39, -sbe_format, "found 39"},
	        {8, 41, -sbe_format, "found 41"},
	        {12, 183, -sbe_unsupported, "found machine 183"},
	        {32, 2, -sbe_unsupported, "found 0x2"},
	};
	struct dump_bytes bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
		dump_begin(&bytes, 7, 0);
		memcpy(bytes.byte + rows[i].at, &rows[i].value, 4);
		assert_refused(&bytes, rows[i].code, rows[i].at, rows[i].text);
		dump_end(&bytes);
	}
	dump_begin(&bytes, 7, 0);
	for (bytes.size = 0; bytes.size < 40; ++bytes.size)
		assert_refused(&bytes, -sbe_truncated, bytes.size, "expected a jitdump header of 40 bytes");
	dump_end(&bytes);
}

static void bad_records(void **state)
{
	static const struct {
		uint64_t at;
		uint64_t value;
		size_t size;
		uint64_t offset;
		const char *text;
	} rows[] = {
	        {4, 15, 4, 4, "LOAD, type 0) of at least 57 bytes, found 15"},
	        {4, 56, 4, 4, "found 56"},
	        {0, 1 | UINT64_C(60) << 32, 8, 4, "MOVE, type 1) of at least 64 bytes, found 60"},
	        {0, 9, 8, 4, "not used, type 9) of at least 16 bytes, found 0"},
	        {40, 5, 8, 40, "expected at most 4 bytes of code"},
	        {40, UINT64_MAX, 8, 40, "expected at most 4 bytes of code"},
	        {32, UINT64_MAX - 2, 8, 32, "expected code in the address space"},
	        {56, 0x6161616161616161, 8, 56, "a name that ends"},
	};
	struct dump_bytes bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
		dump_begin(&bytes, 7, 0);
		dump_load(&bytes, 10, 7, 0x1000, "aaa", "1234", 4, 1);
		memcpy(bytes.byte + 40 + rows[i].at, &rows[i].value, rows[i].size);
		assert_refused(&bytes, -sbe_format, 40 + rows[i].offset, rows[i].text);
		dump_end(&bytes);
	}
}

/* ---- Size --------------------------------------------------------------------------------------- */

/* All in one place, and all in different ones: both at once what a long run of a runtime looks like. */
static void many_pieces_take_little_time(void **state)
{
	enum { PIECES = 200000 };
	struct dump_bytes bytes;
	struct jitdump dump;
	clock_t began;

	(void)state;
	dump_begin(&bytes, 7, 0);
	for (uint64_t i = 0; i < PIECES; ++i) {
		const uint64_t at = i % 3 ? 0x1000 + 7 * (i * 7919 % 30011) : 0x1000000 + 8 * i;

		dump_load(&bytes, i, 7, at, "p", "12345678", 8, i);
	}
	began = clock();
	assert_read(&bytes, &dump);
	assert_true(clock() - began < 5 * CLOCKS_PER_SEC);
	assert_int_equal(dump.ncodes, PIECES);
	/* Whoever stands at the end overlaps nobody who came later. */
	for (size_t i = PIECES - 1000; i < PIECES; ++i) {
		uint64_t to = UINT64_MAX;

		for (size_t k = PIECES - 1; k > i; --k)
			if (dump.code[k].begin < dump.code[i].end && dump.code[k].end > dump.code[i].begin)
				to = dump.code[k].from;
		assert_int_equal(dump.code[i].to, to);
	}
	jitdump_free(&dump);
	dump_end(&bytes);
}

/* ---- perf ---------------------------------------------------------------------------------------- */

static char *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "re");
	char *bytes = malloc(1 << 20);

	assert_non_null(bytes);
	if (!file) {
		free(bytes);
		return NULL;
	}
	*size = fread(bytes, 1, 1 << 20, file);
	fclose(file);
	return bytes;
}

/* The one dump below @dir; there are two, the parent's is larger. */
static char *find_dump(const struct temp_dir *dir, char path[512])
{
	char command[512];
	FILE *list;

	snprintf(command, sizeof(command), "ls -S %s/jit-*.dump", dir->path);
	list = popen(command, "re");
	assert_non_null(list);
	assert_non_null(fgets(path, 512, list));
	path[strcspn(path, "\n")] = '\0';
	pclose(list);
	return path;
}

/* One line of perf for each piece, loaded or moved: "[0xBEGIN(0xSIZE) @ 0x80 ...]: --xs
 * DIR/jitted-PID-INDEX.so". */
static size_t compare_with_perf(const struct jitdump *dump, const char *dump_bytes, const char *text,
                                const char *dir)
{
	size_t i = 0;
	char mark[64];

	snprintf(mark, sizeof(mark), " %" PRId32 "/%" PRId32 ": [0x", dump->pid, dump->pid);
	for (const char *line = text; (line = strstr(line, mark)); line += 1) {
		const size_t length = strcspn(line, "\n");
		uint64_t begin, size, offset, index;
		const char *name = strstr(line, "/jitted-");
		char path[512], *file;
		size_t file_size;

		if (!name || name > line + length)
			continue;
		assert_int_equal(sscanf(line + strlen(mark), "%" SCNx64 "(0x%" SCNx64 ") @ 0x%" SCNx64,
		                        &begin, &size, &offset),
		                 3);
		assert_int_equal(sscanf(name, "/jitted-%*d-%" SCNu64 ".so", &index), 1);
		assert_true(i < dump->ncodes);
		assert_int_equal(dump->code[i].begin, begin);
		assert_int_equal(dump->code[i].end - dump->code[i].begin, size);
		assert_int_equal(dump->code[i].code_index, index);
		snprintf(path, sizeof(path), "%s/jitted-%" PRId32 "-%" PRIu64 ".so", dir, dump->pid, index);
		file = read_file(path, &file_size);
		assert_non_null(file);
		assert_true(offset + size <= file_size);
		assert_memory_equal(file + offset, dump_bytes + dump->code[i].offset, size);
		free(file);
		i += 1;
	}
	return i;
}

static void perf_inject_agrees(void **state)
{
	struct temp_dir dir;
	struct jitdump dump;
	char command[2048], path[512], *bytes, *text;
	size_t size;

	(void)state;
	if (!perf_is_installed())
		skip();
	temp_dir_make(&dir);
	snprintf(command, sizeof(command),
	         "cd %s && perf record -q -k mono -e cpu-clock -o p.data %s %s clock >log 2>&1 && "
	         "perf inject --jit -i p.data -o q.data >log 2>&1",
	         dir.path, JIT_WORKLOAD, dir.path);
	if (system(command) != 0) {
		print_message("perf cannot record here\n");
		temp_dir_remove(&dir);
		skip();
	}
	bytes = read_file(find_dump(&dir, path), &size);
	assert_non_null(bytes);
	assert_int_equal(jitdump_read(&dump, (const uint8_t *)bytes, size, path, NULL), 0);
	snprintf(path, sizeof(path), "%s/q.data", dir.path);
	text = perf_run("script --show-mmap-events", path, NULL, NULL);
	assert_true(dump.ncodes > 100);
	assert_int_equal(compare_with_perf(&dump, bytes, text, dir.path), dump.ncodes);
	print_message("%zu pieces as perf has them\n", dump.ncodes);
	free(text);
	free(bytes);
	jitdump_free(&dump);
	temp_dir_remove(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(loads_and_their_bytes),
	        cmocka_unit_test(new_code_ends_what_it_touches),
	        cmocka_unit_test(what_is_moved_takes_its_bytes_along),
	        cmocka_unit_test(times_order_not_places_in_the_file),
	        cmocka_unit_test(nothing_behind_a_close_is_read),
	        cmocka_unit_test(the_last_record_may_be_cut_off),
	        cmocka_unit_test(bad_headers),
	        cmocka_unit_test(bad_records),
	        cmocka_unit_test(many_pieces_take_little_time),
	        cmocka_unit_test(perf_inject_agrees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
