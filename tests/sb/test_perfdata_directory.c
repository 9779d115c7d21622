/* Recordings in directories: records in data.0, data.1, ..., whole, cut, missing; kcore_dir. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <sb/perfdata.h>

#include "sb/perfdata_file.h"
#include "support/temp_dir.h"

struct fixture {
	struct temp_dir dir;
	struct bytes file;
	struct sb_perfdata *perfdata;
	struct sb_error err;
};

/* "data" with one record, and two of CPU 0 and 1 beside it. */
static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct feature format = {.bit = 24};
	struct bytes part = {0};

	temp_dir_make(&f->dir);
	begin_file(&f->file, usual_attrs, 2, 128);
	put_comm(&f->file, 1, 0, 0, 0);
	end_records(&f->file);
	put64(&format.content, 1);
	put_features(&f->file, &format, 1);
	free(temp_dir_write(&f->dir, "data", f->file.data, f->file.size));
	put_comm(&part, 2, 100, 0, 201);
	put_auxtrace(&part, 0, -1, 0, 16, 0xa0);
	put_comm(&part, 3, 101, 0, 201);
	free(temp_dir_write(&f->dir, "data.0", part.data, part.size));
	part.size = 0;
	put_auxtrace(&part, 1, -1, 0, 8, 0xb0);
	put_comm(&part, 4, 90, 1, 202);
	free(temp_dir_write(&f->dir, "data.1", part.data, part.size));
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	sb_perfdata_close(f->perfdata);
	temp_dir_remove(&f->dir);
	free(f);
	return 0;
}

static void open_it(struct fixture *f, const char *name)
{
	char *path = temp_dir_path(&f->dir, name);

	if (sb_perfdata_open(&f->perfdata, path, &f->err) < 0)
		fail_msg("%s", f->err.text);
	free(path);
}

/* The pids of the COMM records are the digits of @pids; the walk's last answer. */
static int walk(struct fixture *f, const char *pids)
{
	struct sb_perfdata_cursor cursor;
	struct sb_record record;
	char seen[16] = "";
	size_t n = 0;
	int status;

	sb_perfdata_begin(f->perfdata, &cursor);
	while ((status = sb_perfdata_next(&cursor, &record, &f->err)) > 0) {
		if (record.type == PERF_RECORD_COMM && n < sizeof(seen) - 1)
			seen[n++] = (char)('0' + record.u.comm.pid);
	}
	assert_string_equal(seen, pids);
	assert_int_equal(sb_perfdata_next(&cursor, &record, &f->err), status);
	return status;
}

static void cut(struct fixture *f, const char *name, long size)
{
	char *path = temp_dir_path(&f->dir, name);

	assert_int_equal(truncate(path, size), 0);
	free(path);
}

static void drop(struct fixture *f, const char *name)
{
	char *path = temp_dir_path(&f->dir, name);

	assert_int_equal(unlink(path), 0);
	free(path);
}

static void records_of_all_files(void **state)
{
	struct fixture *f = *state;
	const struct sb_aux_stream *stream;
	size_t count;

	open_it(f, "");
	assert_null(sb_perfdata_damage(f->perfdata));
	assert_int_equal(walk(f, "1234"), 0);
	stream = sb_perfdata_streams(f->perfdata, &count);
	assert_int_equal(count, 2);
	assert_int_equal(stream[0].chunk->file, 1);
	assert_int_equal(stream[0].chunk->bytes[0], 0xa0);
	assert_int_equal(stream[1].chunk->file, 2);
	assert_int_equal(stream[1].chunk->file_offset, 48);
	assert_int_equal(stream[1].chunk->bytes[7], 0xb0);
	assert_null(sb_perfdata_kcore_dir(f->perfdata));
}

/* "data" is as good as its directory. */
static void the_data_file_leads_to_the_others(void **state)
{
	struct fixture *f = *state;

	open_it(f, "data");
	assert_int_equal(walk(f, "1234"), 0);
}

/* One file's damage is not the other's, but is told in the end. */
static void damage_in_one_file(void **state)
{
	struct fixture *f = *state;
	char *path = temp_dir_path(&f->dir, "/data.0"); /* as the directory was named */

	cut(f, "data.0", 30);
	open_it(f, "");
	assert_int_equal(walk(f, "14"), -sbe_truncated);
	assert_string_equal(f->err.file, path);
	assert_int_equal(f->err.offset, 0);
	assert_int_equal(sb_perfdata_damage(f->perfdata)->offset, 0);
	free(path);
}

/* The first one is told. */
static void damage_in_several_files(void **state)
{
	struct fixture *f = *state;
	char *path = temp_dir_path(&f->dir, "/data.0"); /* as the directory was named */

	cut(f, "data.0", 56 + 48 + 8);
	cut(f, "data.1", 60);
	open_it(f, "");
	assert_int_equal(walk(f, "12"), -sbe_truncated);
	assert_string_equal(f->err.file, path);
	assert_int_equal(f->err.offset, 56 + 48 + 8);
	free(path);
}

static void missing_files_are_damage(void **state)
{
	struct fixture *f = *state;

	drop(f, "data.0");
	open_it(f, "");
	assert_int_equal(walk(f, "14"), 0);
	assert_non_null(strstr(sb_perfdata_damage(f->perfdata)->text, "data.0"));
	sb_perfdata_close(f->perfdata);
	drop(f, "data.1");
	open_it(f, "");
	assert_int_equal(walk(f, "1"), 0);
	assert_non_null(sb_perfdata_damage(f->perfdata));
}

/* Without --threads, files of such names are somebody else's. */
static void other_directories_have_no_parts(void **state)
{
	struct fixture *f = *state;

	memset(f->file.data + FEATURES, 0, 32);
	free(temp_dir_write(&f->dir, "data", f->file.data, f->file.size));
	open_it(f, "");
	assert_int_equal(walk(f, "1"), 0);
	assert_null(sb_perfdata_damage(f->perfdata));
}

/* Nobody came to write features: what is there belongs to it. */
static void an_interrupted_recording_has_all_that_is_there(void **state)
{
	struct fixture *f = *state;
	uint64_t begin;

	memcpy(&begin, f->file.data + DATA_SECTION, 8);
	patch(&f->file, DATA_SECTION + 8, 0, 8);
	f->file.size = begin;
	put_comm(&f->file, 1, 0, 0, 0);
	free(temp_dir_write(&f->dir, "data", f->file.data, f->file.size));
	open_it(f, "");
	assert_true(sb_perfdata_info(f->perfdata)->interrupted);
	assert_int_equal(walk(f, "1234"), 0);
}

static void kcore_lies_beside_it(void **state)
{
	static const char *const names[] = {"", "data"};
	struct fixture *f = *state;
	char *path = temp_dir_path(&f->dir, "kcore_dir");

	assert_int_equal(mkdir(path, 0700), 0);
	for (size_t i = 0; i < 2; i++) {
		struct stat ours, theirs;

		open_it(f, names[i]);
		assert_non_null(sb_perfdata_kcore_dir(f->perfdata));
		assert_int_equal(stat(sb_perfdata_kcore_dir(f->perfdata), &ours), 0);
		assert_int_equal(stat(path, &theirs), 0);
		assert_int_equal(ours.st_ino, theirs.st_ino);
		sb_perfdata_close(f->perfdata);
		f->perfdata = NULL;
	}
	free(path);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(records_of_all_files),
	        TEST(the_data_file_leads_to_the_others),
	        TEST(damage_in_one_file),
	        TEST(damage_in_several_files),
	        TEST(missing_files_are_damage),
	        TEST(other_directories_have_no_parts),
	        TEST(an_interrupted_recording_has_all_that_is_there),
	        TEST(kcore_lies_beside_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
