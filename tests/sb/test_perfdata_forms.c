/* The forms that perf record gives a recording, each made on the spot: perf and we see the same records and
 * the same machine, whatever stands around them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <sb/perfdata.h>
#include <sb/replay.h>

#include "sb/record_counts.h"
#include "support/temp_dir.h"

struct form {
	const char *options;
	const char *target; /* what comes behind -o */
};

/* %s is the path. A command makes records of all kinds, on all CPUs. */
static const struct form file = {"", "%s"}, packed = {"-z", "%s"}, most_packed = {"-z22", "%s"},
                         threads = {"--threads", "%s"}, packed_threads = {"--threads -z", "%s"},
                         piped = {"", "- >%s"}, packed_pipe = {"-z", "- >%s"};

static const char workload[] = "sh -c 'for i in 1 2 3; do (ls / | wc -l) >/dev/null; done; sleep 0.1'";

struct fixture {
	struct temp_dir dir;
	char *path;
};

/* Records; skips the test where that is not possible. */
static char *record(struct fixture *f, const struct form *form)
{
	char *target, *command;
	int status;

	free(f->path);
	f->path = temp_dir_path(&f->dir, "perf.data");
	assert_true(asprintf(&target, form->target, f->path) > 0);
	assert_true(asprintf(&command,
	                     "perf record -a -e dummy:u --switch-events --namespaces --all-cgroups %s -o %s "
	                     "-- %s 2>%s/complaints",
	                     form->options, target, workload, f->dir.path) > 0);
	status = system(command);
	free(command);
	free(target);
	if (status != 0) {
		print_message("perf record does not work here\n");
		skip();
	}
	return f->path;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	temp_dir_make(&f->dir);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	temp_dir_remove(&f->dir);
	free(f->path);
	free(f);
	return 0;
}

/* What the header, or what stands for it, says about the machine. */
static void check_machine(const struct sb_perfdata *perfdata)
{
	const struct sb_perfdata_info *info = sb_perfdata_info(perfdata);

	assert_int_equal(info->ncpus, sysconf(_SC_NPROCESSORS_CONF));
	assert_false(info->interrupted);
	assert_false(info->foreign_clock);
}

static void check_form(struct fixture *f, const struct form *form)
{
	const char *path = record(f, form);
	struct sb_perfdata *perfdata = open_recording(path);

	assert_true(assert_perf_counts_the_same(perfdata, path) > 20);
	check_machine(perfdata);
	sb_perfdata_close(perfdata);
}

#define FORM_TEST(name, form)                                                                                \
	static void name(void **state)                                                                       \
	{                                                                                                    \
		check_form(*state, &(form));                                                                 \
	}

FORM_TEST(a_file, file)
FORM_TEST(packed_records, packed)
FORM_TEST(records_packed_as_well_as_possible, most_packed)
FORM_TEST(several_files, threads)
FORM_TEST(several_files_of_packed_records, packed_threads)
FORM_TEST(a_pipe_into_a_file, piped)
FORM_TEST(a_pipe_of_packed_records, packed_pipe)

/* Writes what @command prints into a new descriptor in the place of @as, and opens @path. */
static struct sb_perfdata *open_while_writing(const char *command, const char *path, int as)
{
	struct sb_perfdata *perfdata;
	const int before = dup(as);
	FILE *pipe = popen(command, "r");

	assert_non_null(pipe);
	assert_true(dup2(fileno(pipe), as) >= 0);
	perfdata = open_recording(path);
	dup2(before, as);
	close(before);
	assert_int_equal(pclose(pipe), 0);
	return perfdata;
}

static void check_stream(struct fixture *f, const char *format, const char *path)
{
	char *command;
	struct sb_perfdata *perfdata;

	assert_true(asprintf(&command, format, f->path) > 0);
	perfdata = open_while_writing(command, path, STDIN_FILENO);
	assert_string_equal(sb_perfdata_path(perfdata), path);
	assert_perf_counts_the_same(perfdata, f->path);
	check_machine(perfdata);
	sb_perfdata_close(perfdata);
	free(command);
}

/* Bytes that come one after the other, whatever form they have. */
static void standard_input(void **state)
{
	static const struct form *const forms[] = {&file, &packed, &piped, &packed_pipe};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		record(f, forms[i]);
		check_stream(f, "cat '%s'", "-");
		check_stream(f, "cat '%s'", "/dev/stdin");
		check_stream(f, "gzip -c '%s'", "-");
	}
}

static void a_file_packed_as_a_whole(void **state)
{
	static const char *const packers[][2] = {{"gzip -c", "gz"},
	                                         {"zstd -qc", "zst"},
	                                         {"zstd -qc --ultra -22", "zst"},
	                                         {"xz -c", "xz"},
	                                         {"xz -9e -c", "xz"}};
	static const struct form *const forms[] = {&file, &packed_pipe};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		record(f, forms[i]);
		for (size_t k = 0; k < sizeof(packers) / sizeof(packers[0]); k++) {
			struct sb_perfdata *perfdata;
			char *path, *command;

			assert_true(asprintf(&path, "%s.%s", f->path, packers[k][1]) > 0);
			assert_true(asprintf(&command, "%s '%s' >'%s'", packers[k][0], f->path, path) > 0);
			if (system(command) == 0) {
				perfdata = open_recording(path);
				assert_perf_counts_the_same(perfdata, f->path);
				sb_perfdata_close(perfdata);
			} else {
				print_message("no %s\n", packers[k][0]);
			}
			free(command);
			free(path);
		}
	}
}

/* "data" leads to the files beside it. */
static void the_data_file_of_a_directory(void **state)
{
	struct fixture *f = *state;
	struct sb_perfdata *perfdata;
	char *data;

	record(f, &threads);
	assert_true(asprintf(&data, "%s/data", f->path) > 0);
	perfdata = open_recording(data);
	assert_perf_counts_the_same(perfdata, f->path);
	sb_perfdata_close(perfdata);
	free(data);
}

/* The same records as perf lists them, place by place: where a record is in its file, and what it is. */
static void offsets_are_those_of_the_file(void **state)
{
	struct fixture *f = *state;
	const char *path = record(f, &packed);
	struct sb_perfdata *perfdata = open_recording(path);
	struct sb_perfdata_cursor cursor;
	struct sb_record rec;
	unsigned int plain = 0, elsewhere = 0;
	FILE *raw = fopen(path, "rb");

	assert_non_null(raw);
	sb_perfdata_begin(perfdata, &cursor);
	while (sb_perfdata_next(&cursor, &rec, NULL) > 0) {
		uint8_t bytes[8];

		assert_int_equal(fseek(raw, (long)rec.offset, SEEK_SET), 0);
		if (fread(bytes, 1, 8, raw) == 8 && !memcmp(bytes, rec.bytes, 8))
			plain++;
		else
			elsewhere++;
	}
	/* What perf made up before the start is not packed; what the kernel wrote, is. */
	assert_true(plain > 10);
	assert_true(elsewhere > 10);
	fclose(raw);
	sb_perfdata_close(perfdata);
}

/* Who ran where is told by time: no replay without times that a TSC converts to. */
static void times_of_another_clock(void **state)
{
	static const struct form monotonic = {"-k CLOCK_MONOTONIC", "%s"};
	struct fixture *f = *state;
	struct sb_perfdata *perfdata = open_recording(record(f, &monotonic));
	struct sb_session *session;
	struct sb_error err;

	assert_true(sb_perfdata_info(perfdata)->foreign_clock);
	assert_int_equal(sb_perfdata_info(perfdata)->clock.time_mult, 0);
	assert_int_equal(sb_session_open(&session, perfdata, NULL, &err), -sbe_unsupported);
	assert_non_null(strstr(err.text, "perf record -k"));
	sb_perfdata_close(perfdata);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(a_file),
	        TEST(packed_records),
	        TEST(records_packed_as_well_as_possible),
	        TEST(several_files),
	        TEST(several_files_of_packed_records),
	        TEST(a_pipe_into_a_file),
	        TEST(a_pipe_of_packed_records),
	        TEST(standard_input),
	        TEST(a_file_packed_as_a_whole),
	        TEST(the_data_file_of_a_directory),
	        TEST(offsets_are_those_of_the_file),
	        TEST(times_of_another_clock),
	};

	if (!perf_is_installed())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
