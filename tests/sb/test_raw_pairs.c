/* Raw pairs: the trace and the sideband of each CPU in files of their own, beside what is known of the
 * machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event.h>
#include <unistd.h>
#include <cmocka.h>

#include <sb/perfdata.h>

#include "sb/perfdata_fixture.h"

/* cpu0 and cpu12, and what was known before. */
static void write_pairs(struct fixture *f)
{
	struct bytes b = {0};

	put_comm(&b, 1, 0, 0, 0);
	free(temp_dir_write(&f->dir, "sideband.pevent", b.data, b.size));
	b.size = 0;
	put_comm(&b, 12, 50, 12, 1);
	free(temp_dir_write(&f->dir, "cpu12.pevent", b.data, b.size));
	b.size = 0;
	put_comm(&b, 2, 60, 0, 1);
	put_comm(&b, 3, 61, 0, 1);
	free(temp_dir_write(&f->dir, "cpu0.pevent", b.data, b.size));
	free(temp_dir_write(&f->dir, "cpu12.pt", "twelve", 6));
	free(temp_dir_write(&f->dir, "cpu0.pt", "zero", 4));
	free(temp_dir_write(&f->dir, "cpu3.pt", "", 0));
	free(temp_dir_write(&f->dir, "cpu03.pt", "not a name of ours", 18));
	free(temp_dir_write(&f->dir, "cpu99999.pt", "no such CPU", 11));
}

static void raw_pairs_are_one_recording(void **state)
{
	static const int32_t tids[] = {1, 2, 3, 12};
	struct fixture *f = *state;
	const struct sb_aux_stream *stream;
	struct sb_perfdata_cursor cursor;
	struct sb_perfdata *perfdata;
	struct sb_record record;
	size_t count;

	write_pairs(f);
	assert_int_equal(sb_perfdata_open(&perfdata, f->dir.path, &f->err), 0);
	sb_perfdata_begin(perfdata, &cursor);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(sb_perfdata_next(&cursor, &record, NULL), 1);
		assert_int_equal(record.sample.tid, tids[i]);
	}
	assert_int_equal(record.sample.cpu, 12);
	assert_int_equal(sb_perfdata_next(&cursor, &record, NULL), 0);
	stream = sb_perfdata_streams(perfdata, &count);
	assert_int_equal(count, 2);
	assert_int_equal(stream[0].cpu, 0);
	assert_int_equal(stream[0].tid, -1);
	assert_int_equal(stream[0].size, 4);
	assert_memory_equal(stream[0].chunk->bytes, "zero", 4);
	assert_int_equal(stream[1].cpu, 12);
	assert_memory_equal(stream[1].chunk->bytes, "twelve", 6);
	assert_int_equal(sb_perfdata_info(perfdata)->ncpus, 13);
	assert_true(sb_perfdata_info(perfdata)->has_pt);
	assert_true(sb_perfdata_info(perfdata)->pt_tsc);
	assert_false(sb_perfdata_info(perfdata)->pt_mtc);
	assert_int_equal(sb_perfdata_info(perfdata)->clock.time_mult, 0);
	assert_null(sb_perfdata_damage(perfdata));
	sb_perfdata_close(perfdata);
}

static void recording_info_says_what_pairs_cannot(void **state)
{
	static const char text[] = "# as recorded\n"
	                           "cpu = 6/85/4\n"
	                           "time_shift=31\n time_mult=0x3cf3cf3d # 2.1 GHz\n"
	                           "time_zero=18444502336406842448\n\n"
	                           "tsc_ctc_num=168\ntsc_ctc_den=2\nmax_nonturbo_ratio=21\n"
	                           "pt_config=0xc02\nmtc_freq=3\nuser_only=1\nncpus=64";
	struct fixture *f = *state;
	const struct sb_perfdata_info *info;
	struct sb_perfdata *perfdata;

	write_pairs(f);
	free(temp_dir_write(&f->dir, "recording.info", text, strlen(text)));
	assert_int_equal(sb_perfdata_open(&perfdata, f->dir.path, &f->err), 0);
	info = sb_perfdata_info(perfdata);
	assert_true(info->vendor_intel);
	assert_int_equal(info->family, 6);
	assert_int_equal(info->model, 85);
	assert_int_equal(info->stepping, 4);
	assert_int_equal(info->clock.time_shift, 31);
	assert_int_equal(info->clock.time_mult, 1022611261);
	assert_int_equal(info->clock.time_zero, 18444502336406842448u);
	assert_int_equal(info->tsc_ctc_num, 168);
	assert_int_equal(info->tsc_ctc_den, 2);
	assert_int_equal(info->max_nonturbo_ratio, 21);
	assert_true(info->pt_mtc);
	assert_int_equal(info->pt_mtc_freq, 3);
	assert_true(info->pt_cyc);
	assert_true(info->pt_noretcomp);
	assert_true(info->user_only);
	assert_int_equal(info->ncpus, 64);
	sb_perfdata_close(perfdata);
}

static void a_clock_in_the_sideband_takes_precedence(void **state)
{
	struct fixture *f = *state;
	struct sb_perfdata *perfdata;
	struct bytes b = {0};
	size_t at;

	write_pairs(f);
	at = begin_record(&b, SB_RECORD_TIME_CONV, 0);
	put64(&b, 30);
	put64(&b, 77);
	put64(&b, 5);
	end_record(&b, at);
	free(temp_dir_write(&f->dir, "sideband.pevent", b.data, b.size));
	free(temp_dir_write(&f->dir, "recording.info", "time_mult=1\n", 12));
	assert_int_equal(sb_perfdata_open(&perfdata, f->dir.path, &f->err), 0);
	assert_int_equal(sb_perfdata_info(perfdata)->clock.time_mult, 77);
	assert_int_equal(sb_perfdata_info(perfdata)->clock.time_shift, 30);
	sb_perfdata_close(perfdata);
}

static void recording_info_that_is_wrong_is_refused(void **state)
{
	static const char *const wrong[] = {"time_shift=64\n", "time_mult=4294967296\n",
	                                    "mtc_freq=16\n",   "cpu=6/85\n",
	                                    "cpu=6/85/400\n",  "colour=red\n",
	                                    "time_zero\n",     "time_zero=-1\n",
	                                    "time_zero=12x\n", "time_zero=99999999999999999999\n"};
	struct fixture *f = *state;
	struct sb_perfdata *perfdata;

	write_pairs(f);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		free(temp_dir_write(&f->dir, "recording.info", wrong[i], strlen(wrong[i])));
		assert_int_equal(sb_perfdata_open(&perfdata, f->dir.path, &f->err), -sbe_format);
	}
}

static void without_cpu_in_the_trailer_the_file_s_name_counts(void **state)
{
	static const char text[] = "sample_type=0x4\n"; /* TIME */
	struct fixture *f = *state;
	struct sb_perfdata_cursor cursor;
	struct sb_perfdata *perfdata;
	struct sb_record record;
	struct bytes b = {0};
	size_t at = begin_record(&b, PERF_RECORD_SWITCH, 0);

	put64(&b, 1234);
	end_record(&b, at);
	free(temp_dir_write(&f->dir, "cpu7.pevent", b.data, b.size));
	free(temp_dir_write(&f->dir, "cpu7.pt", "seven", 5));
	free(temp_dir_write(&f->dir, "recording.info", text, strlen(text)));
	assert_int_equal(sb_perfdata_open(&perfdata, f->dir.path, &f->err), 0);
	sb_perfdata_begin(perfdata, &cursor);
	assert_int_equal(sb_perfdata_next(&cursor, &record, NULL), 1);
	assert_int_equal(record.sample.has, PERF_SAMPLE_TIME | PERF_SAMPLE_CPU);
	assert_int_equal(record.sample.time, 1234);
	assert_int_equal(record.sample.cpu, 7);
	sb_perfdata_close(perfdata);
}

static void a_cut_pevent_is_named(void **state)
{
	struct fixture *f = *state;
	struct sb_perfdata *perfdata;
	struct sb_error err;
	char *path;
	int last;

	write_pairs(f);
	path = temp_dir_path(&f->dir, "cpu0.pevent");
	assert_int_equal(truncate(path, 56 + 20), 0);
	assert_int_equal(sb_perfdata_open(&perfdata, f->dir.path, &f->err), 0);
	/* The other CPU's are read all the same. */
	assert_int_equal(walk(perfdata, &last, &err), 3);
	assert_int_equal(last, -sbe_truncated);
	assert_string_equal(err.file, path);
	assert_int_equal(err.offset, 56);
	free(path);
	sb_perfdata_close(perfdata);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(raw_pairs_are_one_recording),
	        TEST(recording_info_says_what_pairs_cannot),
	        TEST(a_clock_in_the_sideband_takes_precedence),
	        TEST(recording_info_that_is_wrong_is_refused),
	        TEST(without_cpu_in_the_trailer_the_file_s_name_counts),
	        TEST(a_cut_pevent_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
