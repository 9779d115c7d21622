/* test_replay_replaced.c - several files at one path, one after the other, while it was recorded. */
#include "replay_fixture.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <time.h>

#include <sb/binary.h>
#include <sb/bundle.h>

static const uint8_t code[] = {0x90, 0x0f, 0x05};

/* @filename at 0x1000 in process @pid from @time on: inode @ino of @device. */
static void maps_inode_at(struct fixture *fixture, uint64_t time, int32_t pid, dev_t device, uint64_t ino,
                          const char *filename)
{
	const struct sb_write_sample at = sample(0, pid, time);
	const struct sb_write_mmap2 map = {.pid = pid,
	                                   .tid = pid,
	                                   .addr = 0x1000,
	                                   .len = 0x1000,
	                                   .maj = major(device),
	                                   .min = minor(device),
	                                   .ino = ino,
	                                   .prot = PROT_READ | PROT_EXEC,
	                                   .filename = filename};

	assert_int_equal(sb_write_mmap2(fixture->writer, time ? &at : NULL, &map, NULL), 0);
}

static void maps_inode(struct fixture *fixture, int32_t pid, dev_t device, uint64_t ino, const char *filename)
{
	maps_inode_at(fixture, 0, pid, device, ino, filename);
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

/* ---- One file that is written to --------------------------------------------------------------- */

static const uint64_t s = 1000 * 1000 * 1000;

/* The recording is from 1000 s to 2000 s; @filename was written to @ago seconds before its end. */
static struct stat written_before_the_end(struct fixture *fixture, const char *filename, time_t ago)
{
	const struct timespec written = {.tv_sec = time(NULL) - ago}, times[2] = {written, written};
	char *path = temp_dir_path(&fixture->dir, filename);
	struct stat now;

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	assert_int_equal(stat(path, &now), 0);
	free(path);
	return now;
}

/* 1 has mapped /a at 1500 s and 2 at 1950 s; 3 at @third. */
static void three_map(struct fixture *fixture, time_t ago, uint64_t third)
{
	struct trace trace = {0};
	struct stat a;

	has_files(fixture);
	a = written_before_the_end(fixture, "root/a", ago);
	/* Nobody has another one's memory. */
	execs(fixture, 1000 * s, 1, "one");
	execs(fixture, 1000 * s, 2, "two");
	if (third)
		execs(fixture, 1000 * s, 3, "three");
	maps_inode_at(fixture, 1500 * s, 1, a.st_dev, a.st_ino, "/a");
	maps_inode_at(fixture, 1950 * s, 2, a.st_dev, a.st_ino, "/a");
	maps_inode_at(fixture, third, 3, a.st_dev, a.st_ino, "/a");
	for (int32_t pid = 1; pid <= 3; ++pid)
		switches(fixture, 0, 1960 * s + (uint64_t)pid * s, pid - 1, pid);
	execs(fixture, 2000 * s, 9, "end");
	trace_start(&trace, 1950 * s);
	for (uint64_t i = 1; i <= 3; ++i)
		trace_stretch(&trace, 1960 * s + i * s + 1000 * 1000, 0x1000);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
}

static void who_mapped_it_before_ran_something_else(void **state)
{
	struct fixture *fixture = *state;

	three_map(fixture, 100, 0);
	assert_string_equal(fixture->flow, "0/2/2@1962001000000: 1000 1001");
	assert_non_null(strstr(fixture->details, "a was written to since it was recorded"));
}

/* In a bundle, there is one file for both: none. */
static void a_bundle_has_no_file_that_was_written_to_meanwhile(void **state)
{
	struct fixture *fixture = *state;
	char *directory = temp_dir_path(&fixture->dir, "bundle");
	const struct sb_bundle_options bundling = {.size = sizeof(bundling), .directory = directory};
	const struct sb_resolver_options opening = {
	        .size = sizeof(opening), .no_host_root = 1, .bundle = directory};
	struct sb_resolver *resolver;

	three_map(fixture, 100, 0);
	assert_int_equal(sb_resolver_new(&resolver, fixture->options.root, 1, 1, NULL), 0);
	assert_int_equal(sb_bundle_write(fixture->perfdata, resolver, &bundling, NULL, NULL), 0);
	sb_resolver_free(resolver);
	assert_int_equal(sb_resolver_open(&resolver, &opening, NULL), 0);
	fixture->options.resolver = resolver;
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, "");
	assert_non_null(strstr(fixture->details, "a was written to since it was recorded"));
	sb_session_close(fixture->session);
	fixture->session = NULL;
	sb_resolver_free(resolver);
	free(directory);
}

static void who_mapped_it_behind_ran_what_is_there(void **state)
{
	struct fixture *fixture = *state;

	three_map(fixture, 600, 1500 * s);
	assert_string_equal(fixture->flow, "0/1/1@1961001000000: 1000 1001; 0/2/2@1962001000000: 1000 1001; "
	                                   "0/3/3@1963001000000: 1000 1001");
	assert_string_equal(fixture->gaps, "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	        TEST(which_of_several_files_is_there_is_not_known),
	        TEST(other_paths_are_not_concerned),
	        TEST(another_device_says_nothing),
	        TEST(the_file_that_is_still_there_is_found_by_its_inode),
	        TEST(who_mapped_it_before_ran_something_else),
	        TEST(who_mapped_it_behind_ran_what_is_there),
	        TEST(a_bundle_has_no_file_that_was_written_to_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
