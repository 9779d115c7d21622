/* Copies of /proc/PID/maps beside raw pairs: the records made of them are those that perf makes up of the
 * same process; lines that are none are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <sb/perfdata.h>

#include "support/perf_tool.h"
#include "support/temp_dir.h"

struct fixture {
	struct temp_dir dir;
	struct sb_error err;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	temp_dir_make(&f->dir);
	free(temp_dir_write(&f->dir, "cpu0.pt", "trace", 5));
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	temp_dir_remove(&f->dir);
	free(f);
	return 0;
}

static void write_text(struct fixture *f, const char *name, const char *text)
{
	free(temp_dir_write(&f->dir, name, text, strlen(text)));
}

static struct sb_perfdata *open_pairs(struct fixture *f)
{
	struct sb_perfdata *perfdata;

	if (sb_perfdata_open(&perfdata, f->dir.path, &f->err) < 0)
		fail_msg("%s: %s", f->err.file, f->err.text);
	return perfdata;
}

static void next_is(struct sb_perfdata_cursor *cursor, struct sb_record *record, uint32_t type, int32_t pid)
{
	assert_int_equal(sb_perfdata_next(cursor, record, NULL), 1);
	assert_int_equal(record->type, type);
	assert_int_equal(record->sample.time, 0);
	assert_int_equal(type == PERF_RECORD_COMM ? record->u.comm.pid : record->u.mmap.pid, pid);
	assert_int_equal(type == PERF_RECORD_COMM ? record->u.comm.tid : record->u.mmap.tid, pid);
}

static const char text[] = "00400000-00401000 r--p 00000000 fe:01 77        /usr/bin/a-rather-long-name\n"
                           "00401000-00403000 r-xp 00001000 fe:01 77        /usr/bin/a-rather-long-name\n"
                           "7f0000000000-7f0000001000 rwxs 00000000 00:05 9 /a \\012b (deleted)\n"
                           "7f0000002000-7f0000003000 rwxp 00000000 00:00 0 \n"
                           "7ffff7fc9000-7ffff7fcb000 r-xp 00000000 00:00 0                          [vdso]";

static void each_mapping_of_code_is_a_record(void **state)
{
	struct fixture *f = *state;
	struct sb_perfdata_cursor cursor;
	struct sb_perfdata *perfdata;
	struct sb_record record;

	write_text(f, "4711.maps", text);
	perfdata = open_pairs(f);
	sb_perfdata_begin(perfdata, &cursor);
	next_is(&cursor, &record, PERF_RECORD_COMM, 4711);
	assert_string_equal(record.u.comm.name, "a-rather-long-n");
	assert_false(record.u.comm.exec);
	next_is(&cursor, &record, PERF_RECORD_MMAP2, 4711);
	assert_int_equal(record.u.mmap.addr, 0x401000);
	assert_int_equal(record.u.mmap.len, 0x2000);
	assert_int_equal(record.u.mmap.pgoff, 0x1000);
	assert_int_equal(record.u.mmap.maj, 0xfe);
	assert_int_equal(record.u.mmap.min, 1);
	assert_int_equal(record.u.mmap.ino, 77);
	assert_int_equal(record.u.mmap.prot, PROT_READ | PROT_EXEC);
	assert_int_equal(record.u.mmap.flags, MAP_PRIVATE);
	assert_string_equal(record.u.mmap.filename, "/usr/bin/a-rather-long-name");
	next_is(&cursor, &record, PERF_RECORD_MMAP2, 4711);
	assert_int_equal(record.u.mmap.flags, MAP_SHARED);
	assert_string_equal(record.u.mmap.filename, "/a \nb (deleted)");
	next_is(&cursor, &record, PERF_RECORD_MMAP2, 4711);
	assert_string_equal(record.u.mmap.filename, "//anon");
	next_is(&cursor, &record, PERF_RECORD_MMAP2, 4711);
	assert_string_equal(record.u.mmap.filename, "[vdso]");
	assert_int_equal(sb_perfdata_next(&cursor, &record, NULL), 0);
	sb_perfdata_close(perfdata);
}

/* Whatever the trailer holds; several processes in the order of their numbers. */
static void recording_info_tells_whose_maps(void **state)
{
	struct fixture *f = *state;
	struct sb_perfdata_cursor cursor;
	struct sb_perfdata *perfdata;
	struct sb_record record;

	write_text(f, "maps", "00401000-00403000 r-xp 00001000 fe:01 77 /one\n");
	write_text(f, "9.maps", "00401000-00403000 r-xp 00001000 fe:01 77 /two\n");
	assert_int_equal(sb_perfdata_open(&perfdata, f->dir.path, &f->err), -sbe_format);
	assert_non_null(strstr(f->err.text, "pid=N"));
	write_text(f, "recording.info", "pid=12\nsample_type=4\n");
	perfdata = open_pairs(f);
	sb_perfdata_begin(perfdata, &cursor);
	for (int32_t pid = 9; pid <= 12; pid += 3) {
		next_is(&cursor, &record, PERF_RECORD_COMM, pid);
		assert_string_equal(record.u.comm.name, pid == 9 ? "two" : "one");
		next_is(&cursor, &record, PERF_RECORD_MMAP2, pid);
		assert_int_equal(record.sample.has, PERF_SAMPLE_TIME);
	}
	assert_int_equal(sb_perfdata_next(&cursor, &record, NULL), 0);
	sb_perfdata_close(perfdata);
}

static void lines_that_are_none_are_refused(void **state)
{
	static const char *const wrong[] = {
	        "hello\n",
	        "00401000-00401000 r-xp 00001000 fe:01 77 /x\n",
	        "00401000-00400000 r-xp 00001000 fe:01 77 /x\n",
	        "00401000-00403000 r-x 00001000 fe:01 77 /x\n",
	        "00401000-00403000 r-xp 00001000 fe:01 /x\n",
	        "00401000-00403000 r-xp 00001000 fe:01 77/x\n",
	        "00401000-00403000 r-xp 00001000 fe:01\n",
	};
	struct fixture *f = *state;
	struct sb_perfdata *perfdata;
	char *path = temp_dir_path(&f->dir, "5.maps"), *longest = malloc(10000);

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char lines[200];

		snprintf(lines, sizeof(lines), "00401000-00403000 r-xp 00001000 fe:01 77 /x\n%s", wrong[i]);
		write_text(f, "5.maps", lines);
		assert_int_equal(sb_perfdata_open(&perfdata, f->dir.path, &f->err), -sbe_format);
		assert_string_equal(f->err.file, path);
		assert_int_equal(f->err.offset, 44);
	}
	memset(longest, 'x', 10000);
	memcpy(longest, wrong[1], strlen(wrong[1]) - 1);
	longest[4] = '0';
	longest[9999] = '\0';
	write_text(f, "5.maps", longest);
	assert_int_equal(sb_perfdata_open(&perfdata, f->dir.path, &f->err), -sbe_format);
	free(longest);
	free(path);
}

/* The next record of the process that perf made up, of the types that we make; and not of the same kind of
 * mapping twice: perf splits nothing. */
static int next_made_up(struct sb_perfdata_cursor *cursor, int32_t pid, struct sb_record *record)
{
	int status;

	while ((status = sb_perfdata_next(cursor, record, NULL)) > 0) {
		if (record->type == PERF_RECORD_MMAP2 && record->u.mmap.pid == pid && !record->sample.time)
			break;
		if (record->type == PERF_RECORD_COMM && record->u.comm.pid == pid && !record->sample.time)
			break;
	}
	return status;
}

static void same_mapping(const struct sb_record *a, const struct sb_record *b)
{
	assert_int_equal(a->u.mmap.addr, b->u.mmap.addr);
	assert_int_equal(a->u.mmap.len, b->u.mmap.len);
	assert_int_equal(a->u.mmap.pgoff, b->u.mmap.pgoff);
	assert_int_equal(a->u.mmap.ino, b->u.mmap.ino);
	assert_int_equal(a->u.mmap.maj, b->u.mmap.maj);
	assert_int_equal(a->u.mmap.min, b->u.mmap.min);
	assert_int_equal(a->u.mmap.prot, b->u.mmap.prot);
	assert_int_equal(a->u.mmap.flags, b->u.mmap.flags);
	assert_string_equal(a->u.mmap.filename, b->u.mmap.filename);
}

static void compare(const struct sb_perfdata *ours, const struct sb_perfdata *theirs, int32_t pid)
{
	struct sb_perfdata_cursor left, right;
	struct sb_record a, b;
	unsigned int count = 0;

	sb_perfdata_begin(ours, &left);
	sb_perfdata_begin(theirs, &right);
	while (next_made_up(&right, pid, &b) > 0) {
		assert_int_equal(next_made_up(&left, pid, &a), 1);
		assert_int_equal(a.type, b.type);
		assert_int_equal(a.misc, b.misc);
		if (a.type == PERF_RECORD_COMM)
			assert_string_equal(a.u.comm.name, b.u.comm.name);
		else
			same_mapping(&a, &b);
		count++;
	}
	assert_int_equal(next_made_up(&left, pid, &a), 0);
	assert_true(count >= 4);
}

static void perf_makes_the_same_records(void **state)
{
	struct fixture *f = *state;
	struct sb_perfdata *ours, *theirs;
	char *command, *path;
	const pid_t pid = fork();
	int status;

	if (!pid) {
		execlp("sleep", "sleep", "60", (char *)NULL);
		_exit(1);
	}
	assert_true(pid > 0);
	usleep(300000);
	path = temp_dir_path(&f->dir, "perf.data");
	assert_true(asprintf(&command,
	                     "cat /proc/%d/maps >%s/%d.maps && perf record -e dummy:u -p %d -o %s -- sleep "
	                     "0.1 >/dev/null 2>&1",
	                     pid, f->dir.path, pid, pid, path) > 0);
	status = perf_is_installed() ? system(command) : -1;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	free(command);
	if (status == 0) {
		ours = open_pairs(f);
		assert_int_equal(sb_perfdata_open(&theirs, path, &f->err), 0);
		compare(ours, theirs, pid);
		sb_perfdata_close(ours);
		sb_perfdata_close(theirs);
	}
	free(path);
	if (status)
		skip();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(each_mapping_of_code_is_a_record),
	        TEST(recording_info_tells_whose_maps),
	        TEST(lines_that_are_none_are_refused),
	        TEST(perf_makes_the_same_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
