/* test_compressed_file.c - files as gzip(1), zstd(1) and xz(1) write them are read as what they were made of.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "binary/compressed_file.h"
#include "support/temp_dir.h"

enum { PLAIN_SIZE = 700001 };

static const char *const tools[] = {"gzip", "zstd", "xz"};
enum { NTOOLS = sizeof(tools) / sizeof(tools[0]) };

struct fixture {
	struct temp_dir dir;
	uint8_t *plain; /* in the file "plain", too */
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	uint32_t random = 1;

	temp_dir_make(&fixture->dir);
	fixture->plain = malloc(PLAIN_SIZE);
	/* Neither noise nor all alike, so that there is a window to look back into. */
	for (size_t i = 0; i < PLAIN_SIZE; i++) {
		random = random * 1664525u + 1013904223u;
		fixture->plain[i] = (uint8_t)((random >> 24) % (1 + i / 3000));
	}
	free(temp_dir_write(&fixture->dir, "plain", fixture->plain, PLAIN_SIZE));
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	temp_dir_remove(&fixture->dir);
	free(fixture->plain);
	free(fixture);
	return 0;
}

/* Runs a command in the directory; "$1" in it is the tool. */
static void run(const struct fixture *fixture, const char *tool, const char *command)
{
	char *line = NULL;

	assert_true(asprintf(&line, "cd %s && set -- %s && { %s; } 2>/dev/null", fixture->dir.path, tool,
	                     command) > 0);
	assert_int_equal(system(line), 0);
	free(line);
}

static int has_tool(const char *tool)
{
	char line[64];

	snprintf(line, sizeof(line), "command -v %s >/dev/null", tool);
	if (system(line) == 0)
		return 1;
	print_message("skipped: no %s here\n", tool);
	return 0;
}

static int open_file(const struct fixture *fixture, struct plain_file *plain, const char *name,
                     uint64_t limit, struct sb_error *err)
{
	char *path = temp_dir_path(&fixture->dir, name);
	int status;

	*err = (struct sb_error){0};
	status = open_maybe_compressed(plain, path, limit, err);
	if (status < 0) {
		assert_int_equal(err->code, status);
		assert_string_equal(err->file, path);
		assert_true(plain->fd == -1 && !plain->path);
	}
	free(path);
	return status;
}

/* The bytes are those of "plain", @times over: by descriptor and by path. */
static void assert_plain(const struct fixture *fixture, const struct plain_file *plain, int times)
{
	uint8_t *bytes = malloc(PLAIN_SIZE);
	FILE *file = fopen(plain->path, "rb");

	assert_non_null(file);
	assert_int_equal(plain->size, (uint64_t)PLAIN_SIZE * (unsigned int)times);
	for (int i = 0; i < times; i++) {
		assert_int_equal(fread(bytes, 1, PLAIN_SIZE, file), PLAIN_SIZE);
		assert_memory_equal(bytes, fixture->plain, PLAIN_SIZE);
	}
	assert_int_equal(fgetc(file), EOF);
	fclose(file);
	assert_int_equal(read(plain->fd, bytes, PLAIN_SIZE), PLAIN_SIZE);
	assert_memory_equal(bytes, fixture->plain, PLAIN_SIZE);
	free(bytes);
}

static void each_tools_output_is_unpacked(void **state)
{
	static const char *const commands[] = {"$1 -c plain >packed", "$1 -9 -c plain >packed",
	                                       "$1 -1 -c plain >packed"};
	struct fixture *fixture = *state;
	struct plain_file plain;
	struct sb_error err;

	for (size_t t = 0; t < NTOOLS; t++) {
		for (size_t c = 0; c < 3 && has_tool(tools[t]); c++) {
			run(fixture, tools[t], commands[c]);
			assert_int_equal(open_file(fixture, &plain, "packed", 0, &err), 0);
			assert_true(plain.unpacked);
			assert_plain(fixture, &plain, 1);
			plain_file_close(&plain);
			assert_int_equal(plain.fd, -1);
		}
	}
}

static void several_members_are_one_file(void **state)
{
	struct fixture *fixture = *state;
	struct plain_file plain;
	struct sb_error err;

	for (size_t t = 0; t < NTOOLS; t++) {
		if (!has_tool(tools[t]))
			continue;
		run(fixture, tools[t],
		    "$1 -c plain >packed; $1 -c plain >>packed; $1 -c </dev/null >>packed;"
		    "$1 -c plain >>packed; head -c 4096 /dev/zero >>packed");
		assert_int_equal(open_file(fixture, &plain, "packed", 0, &err), 0);
		assert_plain(fixture, &plain, 3);
		plain_file_close(&plain);
	}
}

static void other_files_are_taken_as_they_are(void **state)
{
	struct fixture *fixture = *state;
	char *path = temp_dir_path(&fixture->dir, "plain");
	struct plain_file plain;
	struct sb_error err;

	assert_int_equal(open_file(fixture, &plain, "plain", 10, &err), 0);
	assert_false(plain.unpacked);
	assert_string_equal(plain.path, path);
	assert_plain(fixture, &plain, 1);
	plain_file_close(&plain);
	free(temp_dir_write(&fixture->dir, "empty", "", 0));
	assert_int_equal(open_file(fixture, &plain, "empty", 0, &err), 0);
	assert_int_equal(plain.size, 0);
	plain_file_close(&plain);
	/* a magic number alone, cut */
	free(temp_dir_write(&fixture->dir, "short", "\x1f\x8b", 2));
	assert_int_equal(open_file(fixture, &plain, "short", 0, &err), 0);
	assert_int_equal(plain.size, 2);
	plain_file_close(&plain);
	free(path);
}

static void what_is_no_regular_file_is_refused(void **state)
{
	struct fixture *fixture = *state;
	char *fifo = temp_dir_path(&fixture->dir, "fifo");
	struct plain_file plain;
	struct sb_error err;

	assert_int_equal(mkfifo(fifo, 0666), 0);
	assert_int_equal(open_file(fixture, &plain, "fifo", 0, &err), -sbe_io);
	assert_int_equal(open_file(fixture, &plain, ".", 0, &err), -sbe_io);
	assert_int_equal(open_file(fixture, &plain, "nothing", 0, &err), -sbe_not_found);
	free(fifo);
}

static uint8_t *read_file(const struct fixture *fixture, const char *name, size_t *size)
{
	char *path = temp_dir_path(&fixture->dir, name);
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = malloc(2 * PLAIN_SIZE);

	assert_non_null(file);
	*size = fread(bytes, 1, 2 * PLAIN_SIZE, file);
	fclose(file);
	free(path);
	return bytes;
}

static void a_cut_file_is_truncated(void **state)
{
	struct fixture *fixture = *state;
	struct plain_file plain;
	struct sb_error err;

	for (size_t t = 0; t < NTOOLS; t++) {
		uint8_t *bytes;
		size_t size;

		if (!has_tool(tools[t]))
			continue;
		run(fixture, tools[t], "$1 -c plain >packed");
		bytes = read_file(fixture, "packed", &size);
		for (size_t cut = 7; cut < size; cut += cut < 40 || cut + 40 > size ? 1 : 9973) {
			free(temp_dir_write(&fixture->dir, "cut", bytes, cut));
			assert_int_equal(open_file(fixture, &plain, "cut", 0, &err), -sbe_truncated);
			assert_non_null(strstr(err.text, tools[t]));
		}
		free(bytes);
	}
}

/* Any damage gives an error, or did no harm. */
static void a_damaged_file_is_an_error(void **state)
{
	struct fixture *fixture = *state;
	struct plain_file plain;
	struct sb_error err;
	int refused = 0;

	for (size_t t = 0; t < NTOOLS; t++) {
		uint8_t *bytes;
		size_t size;

		if (!has_tool(tools[t]))
			continue;
		run(fixture, tools[t], "$1 -c plain >packed");
		bytes = read_file(fixture, "packed", &size);
		for (size_t at = 6; at < size; at += at < 40 ? 1 : size / 37) {
			bytes[at] ^= 0x41;
			free(temp_dir_write(&fixture->dir, "bad", bytes, size));
			bytes[at] ^= 0x41;
			if (open_file(fixture, &plain, "bad", 4 * PLAIN_SIZE, &err) < 0) {
				refused++;
				continue;
			}
			assert_plain(fixture, &plain, 1);
			plain_file_close(&plain);
		}
		/* what follows the last member is no member */
		bytes[size] = 'x';
		free(temp_dir_write(&fixture->dir, "bad", bytes, size + 1));
		assert_true(open_file(fixture, &plain, "bad", 0, &err) < 0);
		free(bytes);
	}
	assert_true(refused > 30 || !has_tool(tools[0]));
}

static void what_unpacks_to_too_much_is_refused(void **state)
{
	struct fixture *fixture = *state;
	struct plain_file plain;
	struct sb_error err;

	for (size_t t = 0; t < NTOOLS; t++) {
		if (!has_tool(tools[t]))
			continue;
		run(fixture, tools[t], "$1 -c plain >packed");
		assert_int_equal(open_file(fixture, &plain, "packed", PLAIN_SIZE - 1, &err),
		                 -sbe_unsupported);
		assert_int_equal(open_file(fixture, &plain, "packed", PLAIN_SIZE, &err), 0);
		plain_file_close(&plain);
		run(fixture, tools[t], "head -c 100000000 /dev/zero | $1 -1 -c >packed");
		assert_int_equal(open_file(fixture, &plain, "packed", 1 << 20, &err), -sbe_unsupported);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(each_tools_output_is_unpacked, setup, teardown),
	        cmocka_unit_test_setup_teardown(several_members_are_one_file, setup, teardown),
	        cmocka_unit_test_setup_teardown(other_files_are_taken_as_they_are, setup, teardown),
	        cmocka_unit_test_setup_teardown(what_is_no_regular_file_is_refused, setup, teardown),
	        cmocka_unit_test_setup_teardown(a_cut_file_is_truncated, setup, teardown),
	        cmocka_unit_test_setup_teardown(a_damaged_file_is_an_error, setup, teardown),
	        cmocka_unit_test_setup_teardown(what_unpacks_to_too_much_is_refused, setup, teardown),
	};

	return cmocka_run_group_tests_name("compressed_file", tests, NULL, NULL);
}
