/* test_unfinished.c - what somebody who was killed has left is removed by who comes next; what somebody is
 * writing, and what is not ours, stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/temp_dir.h"
#include "unfinished.h"

static const char magic[] = "MAGIC";

static struct temp_dir dir;
static char *path;

static int make(void **state)
{
	(void)state;
	temp_dir_make(&dir);
	path = temp_dir_path(&dir, "name");
	return 0;
}

static int unmake(void **state)
{
	(void)state;
	free(path);
	temp_dir_remove(&dir);
	return 0;
}

static void put(int at, const char *name, const char *text)
{
	const int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void count(void *context, const char *name)
{
	assert_int_equal(strncmp(name, "name.tmp.", 9), 0);
	++*(int *)context;
}

static int clear(void)
{
	int removed = 0;

	unfinished_clear(path, magic, count, &removed);
	return removed;
}

static int is_there(const char *name)
{
	struct stat info;

	return lstat(name, &info) == 0;
}

/* A file and a directory with files, written by a process that is killed meanwhile. */
static pid_t start_writer(void)
{
	int ready[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		char *file, *directory;
		const int a = unfinished_file(path, &file), b = unfinished_directory(path, &directory);

		if (a < 0 || b < 0 || write(a, magic, 5) != 5 || mkdirat(b, "below", 0700) < 0)
			_exit(1);
		put(b, "data", "bytes");
		put(b, "below/data", "bytes");
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void who_was_killed_leaves_nothing_for_long(void **state)
{
	pid_t writer;

	(void)state;
	writer = start_writer();
	assert_int_equal(clear(), 0);
	kill(writer, SIGKILL);
	assert_int_equal(waitpid(writer, NULL, 0), writer);
	assert_int_equal(clear(), 2);
	assert_int_equal(clear(), 0);
	/* Also by two at a time. */
	for (int i = 0; i < 10; ++i) {
		pid_t other;

		writer = start_writer();
		kill(writer, SIGKILL);
		assert_int_equal(waitpid(writer, NULL, 0), writer);
		other = fork();
		assert_true(other >= 0);
		if (!other) {
			unfinished_clear(path, magic, NULL, NULL);
			_exit(0);
		}
		unfinished_clear(path, magic, NULL, NULL);
		assert_int_equal(waitpid(other, NULL, 0), other);
		clear();
		assert_int_equal(rmdir(dir.path), 0); /* it is empty */
		assert_int_equal(mkdir(dir.path, 0700), 0);
	}
}

/* One who begins while another one clears gets what stays. */
static void who_begins_meanwhile_is_not_disturbed(void **state)
{
	const pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (!pid)
		for (;;)
			unfinished_clear(path, magic, NULL, NULL);
	for (int i = 0; i < 500; ++i) {
		char *file, *directory;
		const int a = unfinished_file(path, &file), b = unfinished_directory(path, &directory);

		assert_true(a >= 0 && b >= 0);
		put(b, "data", "bytes");
		assert_true(is_there(file));
		assert_true(is_there(directory));
		assert_int_equal(unlink(file), 0);
		unfinished_remove_directory(b, directory);
		assert_false(is_there(directory));
		close(a);
		close(b);
		free(file);
		free(directory);
	}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void what_is_whole_has_its_name(void **state)
{
	char *temporary;
	int fd = unfinished_directory(path, &temporary);

	(void)state;
	assert_true(fd >= 0);
	put(fd, "data", "bytes");
	assert_int_equal(unfinished_rename_directory(fd, temporary, path), 0);
	assert_false(is_there(temporary));
	assert_int_equal(unlinkat(fd, "data", 0), 0);
	assert_int_equal(rmdir(path), 0); /* nothing else is in it */
	close(fd);
	free(temporary);
	/* A file that had no name at first is locked, too. */
	fd = open(dir.path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		skip();
	assert_int_equal(unfinished_give_name(fd, path, &temporary), 0);
	assert_int_equal(clear(), 0);
	assert_int_equal(rename(temporary, path), 0);
	close(fd);
	free(temporary);
	assert_int_equal(clear(), 0);
	assert_int_equal(unlink(path), 0);
}

/* Only the names that are given out, only what looks as if we had written it, and nothing elsewhere. */
static void what_is_not_ours_stays(void **state)
{
	static const char *const names[] = {"name.tmp.backup", "name.tmp.abcde",      "name.tmp.abcdefg",
	                                    "name.tmp.a-cdef", "another.tmp.abcdef",  "name.tmp.abcdeg",
	                                    "name.tmp.abcdeh", "name.tmp.abcdei/data"};
	const int at = open(dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_true(at >= 0);
	put(at, "name.tmp.backup", "a text of somebody's");
	put(at, "name.tmp.abcde", magic);
	put(at, "name.tmp.abcdefg", magic);
	put(at, "name.tmp.a-cdef", magic);
	put(at, "another.tmp.abcdef", magic);
	assert_int_equal(symlinkat("another.tmp.abcdef", at, "name.tmp.abcdeg"), 0);
	assert_int_equal(mkfifoat(at, "name.tmp.abcdeh", 0600), 0);
	assert_int_equal(mkdirat(at, "name.tmp.abcdei", 0700), 0);
	put(at, "name.tmp.abcdei/data", "not marked");
	assert_int_equal(clear(), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i)
		assert_int_equal(unlinkat(at, names[i], 0), 0);
	/* Empty ones may be ours, killed at once; without a magic, directories alone. */
	put(at, "name.tmp.abcdef", "");
	unfinished_clear(path, NULL, NULL, NULL);
	assert_int_equal(unlinkat(at, "name.tmp.abcdei", AT_REMOVEDIR), -1);
	assert_int_equal(clear(), 1);
	if (getuid() == 0) {
		put(at, "name.tmp.abcdef", magic);
		/* A container may have no such user. */
		if (fchownat(at, "name.tmp.abcdef", 65534, 65534, 0) == 0)
			assert_int_equal(clear(), 0);
	}
	close(at);
}

static void a_link_out_of_it_is_not_followed(void **state)
{
	const int at = open(dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char *temporary;
	int fd;

	(void)state;
	assert_int_equal(mkdirat(at, "precious", 0700), 0);
	put(at, "precious/data", "bytes");
	fd = unfinished_directory(path, &temporary);
	assert_true(fd >= 0);
	assert_int_equal(symlinkat("../precious", fd, "below"), 0);
	close(fd);
	assert_int_equal(clear(), 1);
	assert_false(is_there(temporary));
	free(temporary);
	assert_int_equal(unlinkat(at, "precious/data", 0), 0);
	close(at);
}

static void no_such_directory(void **state)
{
	char *temporary;

	(void)state;
	assert_true(unfinished_file("/nonexistent/name", &temporary) < 0);
	assert_null(temporary);
	assert_true(unfinished_directory("/nonexistent/name", &temporary) < 0);
	assert_null(temporary);
	unfinished_clear("/nonexistent/name", magic, count, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(who_was_killed_leaves_nothing_for_long, make, unmake),
	        cmocka_unit_test_setup_teardown(who_begins_meanwhile_is_not_disturbed, make, unmake),
	        cmocka_unit_test_setup_teardown(what_is_whole_has_its_name, make, unmake),
	        cmocka_unit_test_setup_teardown(what_is_not_ours_stays, make, unmake),
	        cmocka_unit_test_setup_teardown(a_link_out_of_it_is_not_followed, make, unmake),
	        cmocka_unit_test(no_such_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
