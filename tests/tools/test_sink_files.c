/* What sinks write to: files that appear when they are complete, devices, pipes whose readers go away, full
 * disks. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/sink_fixture.h"

/* A limit holds for all files together, and what goes over it does not appear. */
static void a_limit_of_disk_space_is_kept(void **state)
{
	struct output_limit limit = {100};
	struct sink_request requests[] = {{.type = &sink_insn}, {.type = &sink_block}};
	struct temp_dir dir;
	struct sink_set *set;
	struct sb_error err;
	char *insn, *block;

	(void)state;
	temp_dir_make(&dir);
	requests[0].file = insn = temp_dir_path(&dir, "insn");
	requests[1].file = block = temp_dir_path(&dir, "block");
	assert_int_equal(sink_set_new(&set, requests, 2, &without_symbols, &err), 0);
	sink_set_limit(set, &limit);
	assert_int_equal(sink_set_flow(set, &flow), 0);
	assert_int_equal(sink_set_finish(set, &empty_account, NULL, &err), -sbe_io);
	assert_string_equal(err.text, "write failed: the job's limit of disk space is reached");
	sink_set_free(set);
	assert_int_equal(access(insn, F_OK), -1);
	assert_int_equal(access(block, F_OK), 0);
	free(insn);
	free(block);
	temp_dir_remove(&dir);
}

/* A second writer is kept out; what a dead one left is taken over, or cleaned up. */
static void one_at_a_time_writes_a_file(void **state)
{
	struct temp_dir dir;
	struct output *first, *second;
	struct sb_error err;
	char *path, *temporary, *text;

	(void)state;
	temp_dir_make(&dir);
	path = temp_dir_path(&dir, "out");
	temporary = temp_dir_path(&dir, "out.tmp");
	free(temp_dir_write(&dir, "out.tmp", "left behind, and long", 21));
	assert_int_equal(output_open(&first, path, &err), 0);
	assert_int_equal(output_open(&second, path, &err), -sbe_io);
	assert_string_equal(err.text, "is being written by another run");
	output_clean(path);
	assert_int_equal(access(temporary, F_OK), 0);
	output_printf(first, "whole\n");
	assert_int_equal(output_commit(first, &err), 0);
	output_close(first);
	text = slurp(path);
	assert_string_equal(text, "whole\n");
	free(text);
	free(temp_dir_write(&dir, "out.tmp", "left", 4));
	output_clean(path);
	assert_int_equal(access(temporary, F_OK), -1);
	assert_int_equal(access(path, F_OK), 0);
	free(temporary);
	free(path);
	temp_dir_remove(&dir);
}

static void several_sinks_get_the_same_flow(void **state)
{
	struct temp_dir dir;
	struct sink_set *set;
	struct sb_error err;
	char *insn, *block, *text;

	(void)state;
	temp_dir_make(&dir);
	insn = temp_dir_path(&dir, "insn");
	block = temp_dir_path(&dir, "block");
	{
		const struct sink_request requests[] = {{.type = &sink_insn, .file = insn},
		                                        {.type = &sink_block, .file = block}};

		assert_int_equal(sink_set_new(&set, requests, 2, &without_symbols, &err), 0);
	}
	assert_int_equal(sink_set_flow(set, &flow), 0);
	assert_int_equal(sink_set_finish(set, &empty_account, NULL, &err), 0);
	sink_set_free(set);
	text = slurp(insn);
	assert_non_null(text);
	assert_non_null(strstr(text, "\t402004\n"));
	free(text);
	text = slurp(block);
	assert_non_null(text);
	assert_non_null(strstr(text, "\t401ffc\t402005\t4\n"));
	free(text);
	free(insn);
	free(block);
	temp_dir_remove(&dir);
}

static void two_sinks_cannot_share_a_file(void **state)
{
	static const struct sink_request requests[] = {{.type = &sink_insn, .file = "/dev/null"},
	                                               {.type = &sink_block, .file = "/dev/null"}};
	struct sink_set *set;
	struct sb_error err;

	(void)state;
	assert_int_equal(sink_set_new(&set, requests, 2, &without_symbols, &err), -sbe_invalid);
}

static void a_file_appears_when_it_is_complete(void **state)
{
	struct temp_dir dir;
	struct sink_set *set;
	struct sb_error err;
	char *path, *temporary, *text;

	(void)state;
	temp_dir_make(&dir);
	path = temp_dir_write(&dir, "out", "old\n", 4);
	temporary = temp_dir_path(&dir, "out.tmp");

	set = open_one(&sink_insn, path, &without_symbols);
	assert_int_equal(sink_set_flow(set, &flow), 0);
	assert_int_equal(access(temporary, F_OK), 0);
	sink_set_free(set); /* never finished */
	assert_int_equal(access(temporary, F_OK), -1);
	text = slurp(path);
	assert_string_equal(text, "old\n");
	free(text);

	set = open_one(&sink_block, path, &without_symbols);
	assert_int_equal(sink_set_finish(set, &empty_account, NULL, &err), 0);
	sink_set_free(set);
	assert_int_equal(access(temporary, F_OK), -1);
	text = slurp(path);
	assert_string_equal(text, "");
	free(text);
	free(path);
	free(temporary);
	temp_dir_remove(&dir);
}

/* A device must not be replaced by a file, nor a link by what it points to. */
static void what_is_no_regular_file_is_written_in_place(void **state)
{
	struct temp_dir dir;
	struct sink_set *set;
	struct sb_error err;
	struct stat st;
	char *path, *link_path, *text;

	(void)state;
	temp_dir_make(&dir);
	path = temp_dir_write(&dir, "out", "old\n", 4);
	link_path = temp_dir_path(&dir, "link");
	assert_int_equal(symlink("out", link_path), 0);
	set = open_one(&sink_block, link_path, &without_symbols);
	assert_int_equal(sink_set_flow(set, &flow), 0);
	assert_int_equal(sink_set_finish(set, &empty_account, NULL, &err), 0);
	sink_set_free(set);
	assert_int_equal(lstat(link_path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	text = slurp(path);
	assert_non_null(strstr(text, "\t401ffc\t"));
	free(text);
	free(path);
	free(link_path);
	temp_dir_remove(&dir);
}

static void a_full_disk_is_an_error(void **state)
{
	struct sink_set *set = open_one(&sink_insn, "/dev/full", &without_symbols);
	struct sb_error err;

	(void)state;
	assert_int_equal(sink_set_flow(set, &flow), 0); /* still in the buffer */
	assert_int_equal(sink_set_finish(set, &empty_account, NULL, &err), -sbe_io);
	assert_string_equal(err.file, "/dev/full");
	assert_non_null(strstr(err.text, strerror(ENOSPC)));
	sink_set_free(set);
}

/* A pipe whose reader goes away: that sink is done, the other one goes on; the last one ends it all. */
static void a_reader_who_goes_away_ends_his_sink_only(void **state)
{
	struct temp_dir dir;
	struct sink_set *set;
	struct sb_error err;
	char *fifo, *file, *text;
	int reader, code = 0;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	temp_dir_make(&dir);
	fifo = temp_dir_path(&dir, "fifo");
	file = temp_dir_path(&dir, "file");
	assert_int_equal(mkfifo(fifo, 0600), 0);
	for (int with_file = 1; with_file >= 0; with_file--) {
		const struct sink_request requests[] = {{.type = &sink_insn, .file = fifo},
		                                        {.type = &sink_block, .file = file}};

		reader = open(fifo, O_RDONLY | O_NONBLOCK);
		assert_true(reader >= 0);
		assert_int_equal(sink_set_new(&set, requests, 1 + (size_t)with_file, &without_symbols, &err),
		                 0);
		close(reader);
		for (int i = 0; i < 10000 && !code; i++)
			code = sink_set_flow(set, &flow);
		assert_int_equal(code, with_file ? 0 : -sbe_stop);
		assert_int_equal(sink_set_all_gone(set), !with_file);
		assert_int_equal(sink_set_error(set, &err), 0);
		assert_int_equal(sink_set_finish(set, &empty_account, NULL, &err), 0);
		sink_set_free(set);
	}
	text = slurp(file);
	assert_non_null(text);
	assert_int_equal(strlen(text),
	                 10000 * strlen("2\t1234\t1235\t98765432101234\t401ffc\t402005\t4\n"
	                                "2\t1234\t1235\t98765432101234\t7f12deadbeef\t7f12deadbeef\t1\n"));
	free(text);
	free(fifo);
	free(file);
	temp_dir_remove(&dir);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_limit_of_disk_space_is_kept),
	        cmocka_unit_test(one_at_a_time_writes_a_file),
	        cmocka_unit_test(several_sinks_get_the_same_flow),
	        cmocka_unit_test(two_sinks_cannot_share_a_file),
	        cmocka_unit_test(a_file_appears_when_it_is_complete),
	        cmocka_unit_test(what_is_no_regular_file_is_written_in_place),
	        cmocka_unit_test(a_full_disk_is_an_error),
	        cmocka_unit_test(a_reader_who_goes_away_ends_his_sink_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
