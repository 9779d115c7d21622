/* test_replay_replaced.c - several files at one path, one after the other, while it was recorded. */
#include "replay_fixture.h"

#include <sys/sysmacros.h>

static const uint8_t code[] = {0x90, 0x0f, 0x05};

/* @filename at 0x1000 in process @pid: inode @ino of @device. */
static void maps_inode(struct fixture *fixture, int32_t pid, dev_t device, uint64_t ino, const char *filename)
{
	const struct sb_write_mmap2 map = {.pid = pid,
	                                   .tid = pid,
	                                   .addr = 0x1000,
	                                   .len = 0x1000,
	                                   .maj = major(device),
	                                   .min = minor(device),
	                                   .ino = ino,
	                                   .prot = PROT_READ | PROT_EXEC,
	                                   .filename = filename};

	assert_int_equal(sb_write_mmap2(fixture->writer, NULL, &map, NULL), 0);
}

static void has_files(struct fixture *fixture)
{
	has_file(fixture, "/a", code, sizeof(code));
	has_file(fixture, "/b", code, sizeof(code));
}

/* 1 runs at 200, 2 at 300. */
static void both_run(struct fixture *fixture)
{
	struct trace trace = {0};

	has_files(fixture);
	switches(fixture, 0, 150, 0, 1);
	switches(fixture, 0, 250, 1, 2);
	trace_start(&trace, 100);
	trace_stretch(&trace, 200, 0x1000);
	trace_stretch(&trace, 300, 0x1000);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
}

/* The file that is there now is one of them at most. */
static void which_of_several_files_is_there_is_not_known(void **state)
{
	struct fixture *fixture = *state;

	maps_inode(fixture, 1, 1, 5, "/a");
	maps_inode(fixture, 2, 1, 6, "/a");
	both_run(fixture);
	assert_string_equal(fixture->flow, "");
	assert_non_null(strstr(fixture->details, "/a: another file was there, too"));
}

static void other_paths_are_not_concerned(void **state)
{
	struct fixture *fixture = *state;

	maps_inode(fixture, 1, 1, 5, "/a");
	maps_inode(fixture, 2, 1, 6, "/b");
	maps_inode(fixture, 3, 1, 7, "/b");
	both_run(fixture);
	assert_string_equal(fixture->flow, "0/1/1@200: 1000 1001");
}

/* The same file's device may look different by how it was asked for. */
static void another_device_says_nothing(void **state)
{
	struct fixture *fixture = *state;

	maps_inode(fixture, 1, 1, 5, "/a");
	maps_inode(fixture, 2, 2, 6, "/a");
	both_run(fixture);
	assert_string_equal(fixture->flow, "0/1/1@200: 1000 1001; 0/2/2@300: 1000 1001");
}

/* Its inode says which one it is. */
static void the_file_that_is_still_there_is_found_by_its_inode(void **state)
{
	struct fixture *fixture = *state;
	char *path;
	struct stat now;

	has_files(fixture);
	path = temp_dir_path(&fixture->dir, "root/a");
	assert_int_equal(stat(path, &now), 0);
	free(path);
	maps_inode(fixture, 1, now.st_dev, now.st_ino, "/a");
	maps_inode(fixture, 2, now.st_dev, now.st_ino + 1, "/a");
	both_run(fixture);
	assert_string_equal(fixture->flow, "0/1/1@200: 1000 1001");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	        TEST(which_of_several_files_is_there_is_not_known),
	        TEST(other_paths_are_not_concerned),
	        TEST(another_device_says_nothing),
	        TEST(the_file_that_is_still_there_is_found_by_its_inode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
