/* test_perfdata_index.c - the index only checks most records: it must meet the same damage as who reads them
 * all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sb/perfdata.h>
#include <sb/perfdata_write.h>

#include "support/temp_dir.h"

enum { BYTES_MAX = 1 << 16, MUTANTS = 1000, ROUNDS = 30, RECORDS_FROM = 1024 };

static uint64_t random_state = 1;

static uint32_t draw(uint32_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((random_state >> 33) % below);
}

static void write_round(struct sb_perfdata_writer *writer, uint64_t time)
{
	const struct sb_write_sample sample = {.pid = 5, .tid = 5, .time = time};
	const struct sb_write_mmap2 map = {
	        .pid = 5, .tid = 5, .addr = 0x1000, .len = 0x1000, .prot = 5, .filename = "/usr/bin/file"};

	assert_int_equal(sb_write_fork(writer, &sample, 6, 5, 6, 5, NULL), 0);
	assert_int_equal(sb_write_comm(writer, &sample, 6, 6, "name", 1, NULL), 0);
	assert_int_equal(sb_write_mmap2(writer, &sample, &map, NULL), 0);
	for (int i = 0; i < 5; ++i)
		assert_int_equal(sb_write_switch(writer, &sample, i % 2, 0, 7, 7, NULL), 0);
	assert_int_equal(sb_write_itrace_start(writer, &sample, 5, 5, NULL), 0);
	assert_int_equal(sb_write_exit(writer, &sample, 6, 5, 6, 5, NULL), 0);
	assert_int_equal(sb_write_aux(writer, &sample, 0, 16, 0, NULL), 0);
	assert_int_equal(sb_write_auxtrace(writer, 0, time, "0123456789abcdef", 16, NULL), 0);
	assert_int_equal(sb_write_finished_round(writer, NULL), 0);
}

static size_t make_recording(const char *path, uint8_t bytes[BYTES_MAX])
{
	const struct sb_perfdata_write_config config = {.size = sizeof(config), .ncpus = 1, .pt_pmu_type = 8};
	struct sb_perfdata_writer *writer;
	size_t size;
	FILE *file;

	assert_int_equal(sb_perfdata_writer_open(&writer, path, &config, NULL), 0);
	for (uint64_t round = 1; round <= ROUNDS; ++round)
		write_round(writer, round);
	assert_int_equal(sb_perfdata_writer_finish(writer, NULL), 0);
	file = fopen(path, "rb");
	assert_non_null(file);
	size = fread(bytes, 1, BYTES_MAX, file);
	fclose(file);
	assert_in_range(size, RECORDS_FROM, BYTES_MAX - 1);
	return size;
}

/* Where reading all records ends. */
static struct sb_error read_all(const struct sb_perfdata *perfdata)
{
	struct sb_perfdata_cursor cursor;
	struct sb_record record;
	struct sb_error err = {0};

	sb_perfdata_begin(perfdata, &cursor);
	while (sb_perfdata_next(&cursor, &record, &err) > 0)
		;
	return err;
}

/* Whether it was damaged. */
static int check_mutant(const struct temp_dir *dir, const uint8_t *bytes, size_t size)
{
	char *path = temp_dir_write(dir, "mutant", bytes, size);
	struct sb_perfdata *perfdata;
	int damaged = 0;

	if (sb_perfdata_open(&perfdata, path, NULL) == 0) {
		const struct sb_error *damage = sb_perfdata_damage(perfdata);
		const struct sb_error err = read_all(perfdata);

		damaged = err.code != 0;
		if (damaged) {
			assert_non_null(damage);
			assert_int_equal(damage->code, err.code);
			assert_int_equal(damage->offset, err.offset);
			assert_string_equal(damage->text, err.text);
		}
		sb_perfdata_close(perfdata);
	}
	free(path);
	return damaged;
}

static void the_index_meets_the_damage_that_a_reader_meets(void **state)
{
	static uint8_t bytes[BYTES_MAX], mutant[BYTES_MAX];
	struct temp_dir dir;
	unsigned ndamaged = 0;
	size_t size;
	char *path;

	(void)state;
	temp_dir_make(&dir);
	path = temp_dir_path(&dir, "perf.data");
	size = make_recording(path, bytes);
	assert_int_equal(check_mutant(&dir, bytes, size), 0);
	for (unsigned i = 0; i < MUTANTS; ++i) {
		memcpy(mutant, bytes, size);
		mutant[RECORDS_FROM + draw((uint32_t)size - RECORDS_FROM)] ^= (uint8_t)(1 << draw(8));
		ndamaged += (unsigned)check_mutant(&dir, mutant, size - (draw(10) ? 0 : draw(2000)));
	}
	assert_in_range(ndamaged, MUTANTS / 50, MUTANTS);
	free(path);
	temp_dir_remove(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(the_index_meets_the_damage_that_a_reader_meets)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
