/* test_build_ids.c - the build-ids that perf writes at the end of a recording: as perf buildid-list(1) has
 * them, and in bytes that are not as they should be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sb/perfdata.h>
#include <sb/system.h>

#include "perfdata/build_ids.h"
#include "support/bytes.h"
#include "support/perf_tool.h"
#include "support/temp_dir.h"
#include "system/map_walk.h"

enum { USER = 2, GUEST_USER = 5, WITH_SIZE = 1 << 15, ROOM = 24 };

/* Appends a record whose build-id is @size times @value. */
static void put_record(struct bytes *b, unsigned int misc, uint8_t value, unsigned int size,
                       const char *filename)
{
	const unsigned int name = (unsigned int)(strlen(filename) + 8) & ~7u;

	put32(b, 67);
	put16(b, (uint16_t)misc);
	put16(b, (uint16_t)(8 + 4 + ROOM + name));
	put32(b, UINT32_MAX);
	for (unsigned int i = 0; i < ROOM; i++)
		put8(b, i < size && i < 20 ? value : i == 20 && (misc & WITH_SIZE) ? (uint8_t)size : 0);
	put_text(b, filename, name);
}

static int find(const struct build_id_table *table, const char *filename, uint8_t value)
{
	uint8_t id[20];
	const int size = build_ids_find(table, filename, id);

	for (int i = 0; i < 20 && size; i++)
		assert_int_equal(id[i], i < size ? value : 0);
	return size;
}

static void records_are_read(void **state)
{
	struct build_id_table table = {0};
	struct bytes b = {0};

	(void)state;
	put_record(&b, USER | WITH_SIZE, 0x11, 20, "/usr/bin/b");
	put_record(&b, USER | WITH_SIZE, 0x22, 16, "/usr/bin/a");
	put_record(&b, USER, 0x33, 20, "/old");
	put_record(&b, USER, 0x44, 16, "/old-md5");
	put_record(&b, GUEST_USER | WITH_SIZE, 0x55, 20, "/of-a-guest");
	put_record(&b, USER | WITH_SIZE, 0x66, 20, "/twice");
	put_record(&b, USER | WITH_SIZE, 0x66, 20, "/twice");
	put_record(&b, USER | WITH_SIZE, 0x77, 20, "/two");
	put_record(&b, USER | WITH_SIZE, 0x78, 20, "/two");
	put_record(&b, USER | WITH_SIZE, 0x77, 20, "/two");
	assert_null(build_ids_read(&table, b.data, b.size));
	build_ids_seal(&table);
	assert_int_equal(find(&table, "/usr/bin/a", 0x22), 16);
	assert_int_equal(find(&table, "/usr/bin/b", 0x11), 20);
	assert_int_equal(find(&table, "/old", 0x33), 20);
	assert_int_equal(find(&table, "/old-md5", 0x44), 16);
	assert_int_equal(find(&table, "/of-a-guest", 0), 0);
	assert_int_equal(find(&table, "/twice", 0x66), 20);
	assert_int_equal(find(&table, "/two", 0), 0);
	assert_int_equal(find(&table, "/usr/bin", 0), 0);
	assert_int_equal(find(&table, "", 0), 0);
	build_ids_free(&table);
	build_ids_seal(&table);
	assert_int_equal(find(&table, "/usr/bin/a", 0), 0);
}

static void what_is_cut_or_wrong_is_told(void **state)
{
	struct build_id_table table = {0};
	struct bytes b = {0};

	(void)state;
	put_record(&b, USER | WITH_SIZE, 0x11, 20, "/first");
	put_record(&b, USER | WITH_SIZE, 0x22, 20, "/second");
	for (size_t size = 0; size <= b.size; size++) {
		const char *wrong = build_ids_read(&table, b.data, size);

		assert_true(!wrong == (size == 0 || size == b.size / 2 || size == b.size));
		build_ids_seal(&table);
		assert_int_equal(find(&table, "/second", 0x22), size == b.size ? 20 : 0);
		build_ids_free(&table);
	}
	/* a name without an end, a build-id of 21 bytes, a record that does not go on */
	memset(b.data + 36, 'x', 8);
	assert_non_null(build_ids_read(&table, b.data, 44));
	b.size = 0;
	put_record(&b, USER | WITH_SIZE, 0x11, 21, "/long");
	assert_non_null(build_ids_read(&table, b.data, b.size));
	memset(b.data, 0, b.size);
	assert_non_null(build_ids_read(&table, b.data, b.size));
	build_ids_free(&table);
}

struct expectation {
	const struct sb_perfdata *perfdata;
	int found;
};

static int check_map(void *context, const struct sb_map *map)
{
	struct expectation *expected = context;
	uint8_t id[20];
	const int size = sb_perfdata_build_id(expected->perfdata, map->filename, id);

	assert_int_equal(map->build_id_size, size);
	if (size)
		assert_memory_equal(map->build_id, id, 20);
	expected->found += size > 0 && map->filename[0] == '/';
	return 0;
}

/* Of a recording that perf makes on the spot. */
static void perf_agrees(void **state)
{
	struct expectation expected = {0};
	struct sb_perfdata *perfdata;
	struct sb_system *model;
	struct temp_dir dir;
	char command[256], *path, *list, *complaints, *rest;
	int status, count = 0;
	struct sb_error err;

	(void)state;
	temp_dir_make(&dir);
	path = temp_dir_path(&dir, "perf.data");
	snprintf(command, sizeof(command),
	         "HOME=%s perf record -e cpu-clock --buildid-all -N -o %s -- /bin/ls / >/dev/null 2>&1",
	         dir.path, path);
	if (!perf_is_installed() || system(command) != 0) {
		temp_dir_remove(&dir);
		free(path);
		print_message("skipped: no perf record here\n");
		skip();
	}
	list = perf_run("buildid-list", path, &complaints, &status);
	assert_int_equal(status, 0);
	assert_int_equal(sb_perfdata_open(&perfdata, path, &err), 0);
	assert_int_equal(sb_system_build(&model, perfdata, &err), 0);
	rest = list;
	for (char *line; (line = strsep(&rest, "\n"));) {
		char hex[41] = "", text[41] = "", name[4096];
		uint8_t id[20];

		if (sscanf(line, "%40s %4095s", hex, name) != 2)
			continue;
		status = sb_perfdata_build_id(perfdata, name, id);
		for (int i = 0; i < status; i++)
			sprintf(text + 2 * i, "%02x", id[i]);
		assert_string_equal(text, hex);
		count++;
	}
	assert_true(count > 3);
	/* The mappings have them. */
	expected.perfdata = perfdata;
	assert_int_equal(map_walk(model, check_map, &expected), 0);
	assert_true(expected.found > 2);
	sb_system_free(model);
	sb_perfdata_close(perfdata);
	temp_dir_remove(&dir);
	free(list);
	free(complaints);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(records_are_read),
	        cmocka_unit_test(what_is_cut_or_wrong_is_told),
	        cmocka_unit_test(perf_agrees),
	};

	return cmocka_run_group_tests_name("build_ids", tests, NULL, NULL);
}
