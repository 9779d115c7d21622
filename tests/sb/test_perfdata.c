/* Reading recordings: files put together byte by byte as perf.data-file-format.txt lays them out, whole,
 * cut, damaged and hostile; directories. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <sb/perfdata.h>

#include "sb/perfdata_fixture.h"

/* A small recording of two CPUs. */
static void usual_file(struct bytes *b)
{
	memset(b, 0, sizeof(*b));
	begin_file(b, usual_attrs, 2, 128);
	put_auxtrace_info(b, 18);
	put_comm(b, 10, 100, 0, 201);
	put_auxtrace(b, 1, -1, 0, 16, 0xb0);
	put_auxtrace(b, 0, -1, 0, 8, 0xa0);
	put_comm(b, 11, 101, 1, 202);
	put_auxtrace(b, 1, -1, 16, 24, 0xb1);
	put_comm(b, 12, 102, 1, 202);
	end_records(b);
	put_usual_features(b);
}

static int try_open(struct fixture *f, struct sb_perfdata **perfdata)
{
	char *path = temp_dir_write(&f->dir, "perf.data", f->file.data, f->file.size);
	int code;

	memset(&f->err, 0, sizeof(f->err));
	*perfdata = NULL;
	code = sb_perfdata_open(perfdata, path, &f->err);
	if (code < 0) {
		assert_null(*perfdata);
		assert_int_equal(f->err.code, code);
		assert_string_equal(f->err.file, path);
	}
	free(path);
	return code;
}

static struct sb_perfdata *open_file(struct fixture *f)
{
	struct sb_perfdata *perfdata;

	if (try_open(f, &perfdata) < 0)
		fail_msg("%s", f->err.text);
	return perfdata;
}

static void expect_refused(struct fixture *f, int code)
{
	struct sb_perfdata *perfdata;

	assert_int_equal(try_open(f, &perfdata), code);
}

static void records_come_in_file_order(void **state)
{
	static const uint32_t types[] = {SB_RECORD_AUXTRACE_INFO, PERF_RECORD_COMM, SB_RECORD_AUXTRACE,
	                                 SB_RECORD_AUXTRACE,      PERF_RECORD_COMM, SB_RECORD_AUXTRACE,
	                                 PERF_RECORD_COMM};
	struct fixture *f = *state;
	struct sb_perfdata_cursor cursor;
	struct sb_perfdata *perfdata;
	struct sb_record record;
	uint64_t last = 0;

	usual_file(&f->file);
	perfdata = open_file(f);
	sb_perfdata_begin(perfdata, &cursor);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		assert_int_equal(sb_perfdata_next(&cursor, &record, NULL), 1);
		assert_int_equal(record.type, types[i]);
		assert_true(record.offset > last);
		assert_memory_equal(record.bytes, f->file.data + record.offset, record.size);
		last = record.offset;
	}
	assert_int_equal(record.sample.tid, 12);
	assert_int_equal(record.sample.time, 102);
	assert_int_equal(record.sample.cpu, 1);
	assert_int_equal(record.sample.id, 202);
	assert_int_equal(sb_perfdata_next(&cursor, &record, NULL), 0);
	assert_int_equal(sb_perfdata_next(&cursor, &record, NULL), 0);
	assert_null(sb_perfdata_damage(perfdata));
	sb_perfdata_close(perfdata);
}

static void aux_data_of_a_buffer_are_joined_in_order(void **state)
{
	struct fixture *f = *state;
	const struct sb_aux_stream *stream;
	struct sb_perfdata *perfdata;
	size_t count;

	memset(&f->file, 0, sizeof(f->file));
	begin_file(&f->file, usual_attrs, 2, 128);
	put_auxtrace(&f->file, 1, -1, 0, 16, 0xb0);
	put_auxtrace(&f->file, -1, 7, 0, 8, 0xd0);
	put_auxtrace(&f->file, 0, -1, 0, 8, 0xa0);
	put_auxtrace(&f->file, 1, -1, 16, 24, 0xb1);
	put_auxtrace(&f->file, -1, 5, 0, 32, 0xc0);
	end_records(&f->file);
	perfdata = open_file(f);
	stream = sb_perfdata_streams(perfdata, &count);
	assert_int_equal(count, 4);
	assert_int_equal(stream[0].cpu, -1);
	assert_int_equal(stream[0].tid, 5);
	assert_int_equal(stream[1].tid, 7);
	assert_int_equal(stream[2].cpu, 0);
	assert_int_equal(stream[2].size, 8);
	assert_int_equal(stream[3].cpu, 1);
	assert_int_equal(stream[3].tid, -1);
	assert_int_equal(stream[3].idx, 1);
	assert_int_equal(stream[3].nchunks, 2);
	assert_int_equal(stream[3].size, 40);
	assert_int_equal(stream[3].chunk[0].size, 16);
	assert_int_equal(stream[3].chunk[0].bytes[15], 0xb0);
	assert_int_equal(stream[3].chunk[1].aux_offset, 16);
	assert_int_equal(stream[3].chunk[1].reference, 1016);
	assert_int_equal(stream[3].chunk[1].bytes[23], 0xb1);
	assert_int_equal(stream[3].chunk[1].missing, 0);
	assert_int_equal(f->file.data[stream[3].chunk[1].file_offset], 0xb1);
	sb_perfdata_close(perfdata);
}

static void what_the_recording_says_about_the_machine(void **state)
{
	struct fixture *f = *state;
	const struct sb_perfdata_info *info;
	struct sb_perfdata *perfdata;

	usual_file(&f->file);
	perfdata = open_file(f);
	info = sb_perfdata_info(perfdata);
	assert_true(info->vendor_intel);
	assert_int_equal(info->family, 6);
	assert_int_equal(info->model, 85);
	assert_int_equal(info->stepping, 4);
	assert_int_equal(info->ncpus, 4);
	assert_int_equal(info->clock.time_shift, 31);
	assert_int_equal(info->clock.time_mult, 1022611261);
	assert_int_equal(info->clock.time_zero, 7000000000);
	assert_true(info->has_pt);
	assert_int_equal(info->pt_pmu_type, PT);
	assert_int_equal(info->pt_config, 0x300e601);
	assert_true(info->pt_tsc);
	assert_true(info->pt_mtc);
	assert_int_equal(info->pt_mtc_freq, 3);
	assert_false(info->pt_cyc);
	assert_false(info->pt_noretcomp);
	assert_int_equal(info->tsc_ctc_num, 168);
	assert_int_equal(info->tsc_ctc_den, 2);
	assert_int_equal(info->max_nonturbo_ratio, 21);
	assert_true(info->user_only);
	assert_int_equal(info->have_sched_switch, 3);
	assert_false(info->snapshot);
	assert_false(info->interrupted);
	sb_perfdata_close(perfdata);
}

/* The masks are the recording's, not ours. */
static void config_bits_mean_what_auxtrace_info_says(void **state)
{
	static const struct attr attrs[] = {{PT, 0x5000002, USUAL, SAMPLE_ID_ALL, {0}, 0}};
	struct fixture *f = *state;
	const struct sb_perfdata_info *info;
	struct sb_perfdata *perfdata;
	size_t priv;

	begin_file(&f->file, attrs, 1, 128);
	priv = f->file.size + 16;
	put_auxtrace_info(&f->file, 18);
	patch(&f->file, priv + 8 * 5, 2, 8);          /* TSC */
	patch(&f->file, priv + 8 * 6, 0x4000000, 8);  /* no return compression */
	patch(&f->file, priv + 8 * 10, 0x1000000, 8); /* MTC */
	patch(&f->file, priv + 8 * 11, 0xf000000, 8); /* MTC period */
	patch(&f->file, priv + 8 * 14, 0x400, 8);     /* CYC */
	end_records(&f->file);
	perfdata = open_file(f);
	info = sb_perfdata_info(perfdata);
	assert_true(info->pt_tsc);
	assert_true(info->pt_noretcomp);
	assert_true(info->pt_mtc);
	assert_int_equal(info->pt_mtc_freq, 5);
	assert_false(info->pt_cyc);
	assert_false(info->user_only);
	sb_perfdata_close(perfdata);
}

static void a_short_auxtrace_info_leaves_the_rest_zero(void **state)
{
	struct fixture *f = *state;
	struct sb_perfdata *perfdata;

	begin_file(&f->file, usual_attrs, 2, 128);
	put_auxtrace_info(&f->file, 10);
	end_records(&f->file);
	perfdata = open_file(f);
	assert_true(sb_perfdata_info(perfdata)->pt_tsc);
	assert_false(sb_perfdata_info(perfdata)->pt_mtc);
	assert_int_equal(sb_perfdata_info(perfdata)->pt_mtc_freq, 0);
	assert_int_equal(sb_perfdata_info(perfdata)->tsc_ctc_num, 0);
	sb_perfdata_close(perfdata);
}

static void times_of_another_clock_convert_to_nothing(void **state)
{
	static const struct attr attrs[] = {{PT, 0x400, USUAL, SAMPLE_ID_ALL | USE_CLOCKID, {0}, 0}};
	struct fixture *f = *state;
	struct sb_perfdata *perfdata;

	begin_file(&f->file, attrs, 1, 128);
	put_auxtrace_info(&f->file, 18);
	end_records(&f->file);
	perfdata = open_file(f);
	assert_true(sb_perfdata_info(perfdata)->foreign_clock);
	assert_int_equal(sb_perfdata_info(perfdata)->clock.time_mult, 0);
	sb_perfdata_close(perfdata);
}

static void attributes_of_any_size(void **state)
{
	static const uint32_t sizes[] = {64, 72, 80, 96, 104, 112, 120, 128, 136, 256};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct sb_perfdata *perfdata;
		struct sb_error err;
		int last;

		memset(&f->file, 0, sizeof(f->file));
		begin_file(&f->file, usual_attrs, 2, sizes[i]);
		memset(f->file.data + 104 + 64, 0xff, sizes[i] - 64); /* fields that are of no interest */
		put_auxtrace_info(&f->file, 18);
		put_comm(&f->file, 10, 100, 0, 201);
		end_records(&f->file);
		perfdata = open_file(f);
		assert_int_equal(walk(perfdata, &last, &err), 2);
		assert_int_equal(last, 0);
		assert_int_equal(sb_perfdata_info(perfdata)->pt_config, 0x300e601);
		sb_perfdata_close(perfdata);
	}
}

/* Two events whose trailers differ: which one, says the identifier at the record's end. */
static void the_identifier_chooses_the_trailer(void **state)
{
	static const struct attr attrs[] = {
	        {1, 9, PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER, SAMPLE_ID_ALL, {301}, 1},
	        {1, 9, USUAL, SAMPLE_ID_ALL, {201, 202}, 2},
	};
	struct fixture *f = *state;
	struct sb_perfdata_cursor cursor;
	struct sb_perfdata *perfdata;
	struct sb_record record;
	size_t at;

	begin_file(&f->file, attrs, 2, 128);
	put_comm(&f->file, 10, 100, 3, 202);
	at = begin_record(&f->file, PERF_RECORD_SWITCH, 0);
	put64(&f->file, 200);
	put64(&f->file, 301);
	end_record(&f->file, at);
	/* Made up by perf: identifier 0 and the trailer of the first event. */
	at = begin_record(&f->file, PERF_RECORD_SWITCH, 0);
	put64(&f->file, 0);
	put64(&f->file, 0);
	end_record(&f->file, at);
	end_records(&f->file);
	perfdata = open_file(f);
	sb_perfdata_begin(perfdata, &cursor);
	assert_int_equal(sb_perfdata_next(&cursor, &record, NULL), 1);
	assert_int_equal(record.sample.cpu, 3);
	assert_int_equal(record.sample.tid, 10);
	assert_int_equal(sb_perfdata_next(&cursor, &record, NULL), 1);
	assert_int_equal(record.sample.has, PERF_SAMPLE_TIME | PERF_SAMPLE_ID);
	assert_int_equal(record.sample.time, 200);
	assert_int_equal(sb_perfdata_next(&cursor, &record, NULL), 1);
	assert_int_equal(record.sample.time, 0);
	assert_int_equal(sb_perfdata_next(&cursor, &record, NULL), 0);
	sb_perfdata_close(perfdata);
}

/* Before Linux 3.12 there was no IDENTIFIER: an ID at the same distance from the end does as well. */
static void an_id_chooses_the_trailer(void **state)
{
	enum { BEHIND = PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID };
	static const struct attr attrs[] = {
	        {1, 9, PERF_SAMPLE_TIME | BEHIND, SAMPLE_ID_ALL, {301}, 1},
	        {1, 9, PERF_SAMPLE_TID | PERF_SAMPLE_TIME | BEHIND, SAMPLE_ID_ALL, {201}, 1},
	};
	struct fixture *f = *state;
	struct sb_perfdata_cursor cursor;
	struct sb_perfdata *perfdata;
	struct sb_record record;
	size_t at;

	begin_file(&f->file, attrs, 2, 128);
	for (uint64_t id = 201; id <= 301; id += 100) {
		at = begin_record(&f->file, PERF_RECORD_SWITCH, 0);
		if (id == 201)
			put64(&f->file, (uint64_t)12 << 32 | 11);
		put64(&f->file, id + 1);
		put64(&f->file, id);
		put64(&f->file, 77);
		end_record(&f->file, at);
	}
	end_records(&f->file);
	perfdata = open_file(f);
	sb_perfdata_begin(perfdata, &cursor);
	assert_int_equal(sb_perfdata_next(&cursor, &record, NULL), 1);
	assert_int_equal(record.sample.pid, 11);
	assert_int_equal(record.sample.tid, 12);
	assert_int_equal(record.sample.time, 202);
	assert_int_equal(sb_perfdata_next(&cursor, &record, NULL), 1);
	assert_false(record.sample.has & PERF_SAMPLE_TID);
	assert_int_equal(record.sample.time, 302);
	assert_int_equal(record.sample.stream_id, 77);
	assert_int_equal(sb_perfdata_next(&cursor, &record, NULL), 0);
	sb_perfdata_close(perfdata);
}

static void an_identifier_of_no_event_is_damage(void **state)
{
	static const struct attr attrs[] = {
	        {1, 9, PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER, SAMPLE_ID_ALL, {301}, 1},
	        {1, 9, USUAL, SAMPLE_ID_ALL, {201, 202}, 2},
	};
	struct fixture *f = *state;
	struct sb_perfdata *perfdata;
	struct sb_error err;
	uint64_t offset;
	int last;

	begin_file(&f->file, attrs, 2, 128);
	put_comm(&f->file, 10, 100, 3, 202);
	offset = f->file.size;
	put_comm(&f->file, 10, 100, 3, 203);
	end_records(&f->file);
	perfdata = open_file(f);
	assert_int_equal(walk(perfdata, &last, &err), 1);
	assert_int_equal(last, -sbe_format);
	assert_int_equal(err.offset, offset);
	assert_int_equal(sb_perfdata_damage(perfdata)->offset, offset);
	sb_perfdata_close(perfdata);
}

static void events_that_cannot_be_told_apart_are_refused(void **state)
{
	static const struct attr attrs[] = {
	        {1, 9, PERF_SAMPLE_TIME, SAMPLE_ID_ALL, {301}, 1},
	        {1, 9, USUAL, SAMPLE_ID_ALL, {201}, 1},
	};
	struct fixture *f = *state;

	begin_file(&f->file, attrs, 2, 128);
	end_records(&f->file);
	expect_refused(f, -sbe_unsupported);
}

static void an_interrupted_recording_is_read_to_the_end(void **state)
{
	struct fixture *f = *state;
	struct sb_perfdata *perfdata;
	struct sb_error err;
	int last;

	begin_file(&f->file, usual_attrs, 2, 128);
	put_auxtrace_info(&f->file, 18);
	put_comm(&f->file, 10, 100, 0, 201);
	f->file.data[FEATURES + 1] = 0xff; /* perf sets the bits first, and writes the features last */
	perfdata = open_file(f);
	assert_int_equal(walk(perfdata, &last, &err), 2);
	assert_int_equal(last, 0);
	assert_true(sb_perfdata_info(perfdata)->interrupted);
	assert_null(sb_perfdata_damage(perfdata));
	sb_perfdata_close(perfdata);
	f->file.size -= 8;
	perfdata = open_file(f);
	assert_int_equal(walk(perfdata, &last, &err), 1);
	assert_int_equal(last, -sbe_truncated);
	sb_perfdata_close(perfdata);
}

/* Cut anywhere: what is whole before the cut comes out, then the cut is reported. */
static void cut_after_every_byte(void **state)
{
	struct fixture *f = *state;
	const size_t ids_end = 104 + 2 * 144 + 4 * 8;
	size_t full, records_end = ids_end + 16 + 8 * 18 + 3 * (8 + 8 + 8 + 32) + 3 * 48 + 48;
	unsigned int seen = 0;

	usual_file(&f->file);
	full = f->file.size;
	for (size_t size = 0; size < full; size++) {
		struct sb_perfdata *perfdata;
		struct sb_error err;
		unsigned int count;
		int last;

		f->file.size = size;
		if (size < ids_end) {
			expect_refused(f, -sbe_truncated);
			continue;
		}
		perfdata = open_file(f);
		assert_non_null(sb_perfdata_damage(perfdata));
		assert_int_equal(sb_perfdata_damage(perfdata)->code, -sbe_truncated);
		count = walk(perfdata, &last, &err);
		assert_true(count >= seen);
		seen = count;
		if (size < records_end) {
			assert_int_equal(last, -sbe_truncated);
			assert_int_equal(err.offset, sb_perfdata_damage(perfdata)->offset);
			assert_string_equal(err.text, sb_perfdata_damage(perfdata)->text);
		} else {
			assert_int_equal(last, 0);
			assert_int_equal(count, 7);
		}
		sb_perfdata_close(perfdata);
	}
}

static void a_cut_payload_counts_what_is_missing(void **state)
{
	struct fixture *f = *state;
	const struct sb_aux_stream *stream;
	struct sb_perfdata *perfdata;
	struct sb_error err;
	size_t count;
	int last;

	begin_file(&f->file, usual_attrs, 2, 128);
	put_auxtrace(&f->file, 0, -1, 0, 64, 0xa0);
	end_records(&f->file);
	f->file.size -= 24;
	perfdata = open_file(f);
	stream = sb_perfdata_streams(perfdata, &count);
	assert_int_equal(count, 1);
	assert_int_equal(stream->size, 40);
	assert_int_equal(stream->chunk->size, 40);
	assert_int_equal(stream->chunk->missing, 24);
	assert_int_equal(walk(perfdata, &last, &err), 1);
	assert_int_equal(last, -sbe_truncated);
	assert_int_equal(err.offset, f->file.size);
	sb_perfdata_close(perfdata);
}

/* The payload may not reach into the features either, whatever its size makes of the offset. */
static void a_payload_ends_with_the_records(void **state)
{
	static const uint64_t sizes[] = {65, 100, UINT64_MAX, UINT64_MAX - 0x200, (uint64_t)1 << 63};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const struct sb_aux_stream *stream;
		struct sb_perfdata *perfdata;
		struct sb_error err;
		size_t count, at;
		int last;

		memset(&f->file, 0, sizeof(f->file));
		begin_file(&f->file, usual_attrs, 2, 128);
		at = f->file.size;
		put_auxtrace(&f->file, 0, -1, 0, 64, 0xa0);
		patch(&f->file, at + 8, sizes[i], 8);
		end_records(&f->file);
		put_usual_features(&f->file);
		perfdata = open_file(f);
		stream = sb_perfdata_streams(perfdata, &count);
		assert_int_equal(stream->chunk->size, 64);
		assert_int_equal(stream->chunk->missing, sizes[i] - 64);
		assert_int_equal(walk(perfdata, &last, &err), 1);
		assert_int_equal(last, -sbe_truncated);
		assert_int_equal(sb_perfdata_info(perfdata)->model, 85);
		sb_perfdata_close(perfdata);
	}
}

static void damage_ends_the_walk_where_it_is(void **state)
{
	struct fixture *f = *state;
	struct sb_perfdata *perfdata;
	struct sb_error err;
	uint64_t offset;
	int last;

	begin_file(&f->file, usual_attrs, 2, 128);
	put_comm(&f->file, 10, 100, 0, 201);
	offset = f->file.size;
	put_comm(&f->file, 11, 100, 0, 201);
	put_auxtrace(&f->file, 0, -1, 0, 8, 0xa0);
	patch(&f->file, offset + 6, 7, 2);
	end_records(&f->file);
	put_usual_features(&f->file);
	perfdata = open_file(f);
	assert_int_equal(walk(perfdata, &last, &err), 1);
	assert_int_equal(last, -sbe_format);
	assert_int_equal(err.offset, offset);
	assert_non_null(strstr(err.file, "perf.data"));
	assert_int_equal(sb_perfdata_damage(perfdata)->offset, offset);
	sb_perfdata_close(perfdata);
}

static void damaged_features_leave_the_records_alone(void **state)
{
	struct fixture *f = *state;
	struct sb_perfdata *perfdata;
	struct feature feature = {.bit = 9};
	struct sb_error err;
	int last;

	begin_file(&f->file, usual_attrs, 2, 128);
	put_comm(&f->file, 10, 100, 0, 201);
	end_records(&f->file);
	put32(&feature.content, 64); /* of a string that is not that long */
	put_text(&feature.content, "GenuineIntel,6,85,4", 8);
	put_features(&f->file, &feature, 1);
	perfdata = open_file(f);
	assert_int_equal(sb_perfdata_damage(perfdata)->code, -sbe_format);
	assert_false(sb_perfdata_info(perfdata)->vendor_intel);
	assert_int_equal(walk(perfdata, &last, &err), 1);
	assert_int_equal(last, 0);
	sb_perfdata_close(perfdata);
}

static void other_cpus_are_not_intel_s(void **state)
{
	static const char *const others[] = {"AuthenticAMD,25,33,0", "GenuineIntel", "GenuineIntel,6,85",
	                                     "GenuineIntel,6,400,4", ""};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct feature feature = {.bit = 9};
		struct sb_perfdata *perfdata;

		memset(&f->file, 0, sizeof(f->file));
		begin_file(&f->file, usual_attrs, 2, 128);
		put_comm(&f->file, 10, 100, 0, 201);
		end_records(&f->file);
		put32(&feature.content, 64);
		put_text(&feature.content, others[i], 64);
		put_features(&f->file, &feature, 1);
		perfdata = open_file(f);
		assert_false(sb_perfdata_info(perfdata)->vendor_intel);
		assert_int_equal(sb_perfdata_info(perfdata)->model, 0);
		sb_perfdata_close(perfdata);
	}
}

static void forms_that_are_not_read_are_refused_by_name(void **state)
{
	struct fixture *f = *state;
	struct feature threads = {.bit = 24};
	uint64_t version;

	usual_file(&f->file);
	memcpy(f->file.data, "2ELIFREP", 8);
	expect_refused(f, -sbe_unsupported);
	assert_non_null(strstr(f->err.text, "byte order"));

	usual_file(&f->file);
	memcpy(f->file.data, "PERFFILE", 8);
	expect_refused(f, -sbe_unsupported);
	assert_non_null(strstr(f->err.text, "version 1"));

	for (version = 1; version <= 2; version++) {
		memset(&f->file, 0, sizeof(f->file));
		begin_file(&f->file, usual_attrs, 2, 128);
		put_comm(&f->file, 10, 100, 0, 201);
		end_records(&f->file);
		threads.content.size = 0;
		put64(&threads.content, version);
		put_features(&f->file, &threads, 1);
		expect_refused(f, -sbe_unsupported);
		assert_non_null(strstr(f->err.text, version == 1 ? "several files" : "version 2"));
	}
}

static void what_is_no_recording_is_refused(void **state)
{
	struct fixture *f = *state;
	struct sb_perfdata *perfdata;
	char *path;

	f->file.size = 0;
	expect_refused(f, -sbe_truncated);
	put_text(&f->file, "#!/bin/sh\necho this is not a recording\n", 1);
	expect_refused(f, -sbe_format);
	path = temp_dir_path(&f->dir, "nothing");
	assert_int_equal(sb_perfdata_open(&perfdata, path, &f->err), -sbe_not_found);
	free(path);
	/* A pipe without a writer must not block, where nobody named it. */
	path = temp_dir_path(&f->dir, "data");
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(sb_perfdata_open(&perfdata, f->dir.path, &f->err), -sbe_unsupported);
	assert_int_equal(unlink(path), 0);
	free(path);
	assert_int_equal(sb_perfdata_open(&perfdata, f->dir.path, &f->err), -sbe_not_found);
	/* The directory around a recording is none. */
	assert_non_null(strstr(f->err.text, "name its file perf.data"));
	path = temp_dir_path(&f->dir, "perf.data");
	assert_int_equal(unlink(path), 0);
	free(path);
	assert_int_equal(sb_perfdata_open(&perfdata, f->dir.path, &f->err), -sbe_not_found);
	assert_null(strstr(f->err.text, "name its file"));
	assert_int_equal(sb_perfdata_open(&perfdata, NULL, &f->err), -sbe_invalid);
	sb_perfdata_close(NULL);
}

/* Each a value of the header that no writer writes. */
static void hostile_headers_are_refused(void **state)
{
	static const struct {
		size_t at;
		uint64_t value;
		int code;
	} cases[] = {
	        {8, 103, -sbe_format},                /* header size */
	        {16, 79, -sbe_format},                /* attribute size: too small */
	        {16, 100000, -sbe_format},            /* too large */
	        {16, 0, -sbe_format},                 /* none */
	        {16, 143, -sbe_format},               /* not what the section is a multiple of */
	        {24, UINT64_MAX, -sbe_truncated},     /* attributes' offset */
	        {32, UINT64_MAX - 3, -sbe_truncated}, /* and size */
	        {32, 0, -sbe_format},                 /* no attributes */
	        {40, 8, -sbe_format},                 /* records in the header */
	        {48, UINT64_MAX, -sbe_format},        /* records that wrap around */
	        {104 + 128, 1 << 20, -sbe_truncated}, /* ids' offset */
	        {104 + 136, 12, -sbe_format},         /* ids' size */
	        {104 + 136, (uint64_t)1 << 40, -sbe_truncated},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		usual_file(&f->file);
		patch(&f->file, cases[i].at, cases[i].value, 8);
		expect_refused(f, cases[i].code);
	}
}

/* Many attributes that all claim the whole file as their ids: memory must follow the file, not the product.
 */
static void ids_that_are_claimed_twice_do_not_multiply(void **state)
{
	struct attr attrs[50];
	struct fixture *f = *state;

	memset(attrs, 0, sizeof(attrs));
	begin_file(&f->file, attrs, 50, 64);
	end_records(&f->file);
	for (size_t i = 0; i < 50; i++) {
		patch(&f->file, 104 + 80 * i + 64, 0, 8);
		patch(&f->file, 104 + 80 * i + 72, f->file.size & ~(size_t)7, 8);
	}
	expect_refused(f, -sbe_format);
}

static void random_bytes_do_no_harm(void **state)
{
	struct fixture *f = *state;
	uint64_t seed = 4711;

	for (int i = 0; i < 3000; i++) {
		struct sb_perfdata *perfdata;
		struct sb_error err;
		int last;

		usual_file(&f->file);
		for (int flips = 0; flips < 4; flips++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			f->file.data[(seed >> 33) % f->file.size] = (uint8_t)(seed >> 25);
		}
		if (try_open(f, &perfdata) < 0)
			continue;
		walk(perfdata, &last, &err);
		assert_true(last == 0 || sb_perfdata_damage(perfdata));
		sb_perfdata_close(perfdata);
	}
}

static void a_directory_holds_the_file(void **state)
{
	struct fixture *f = *state;
	struct sb_perfdata *perfdata;
	struct sb_error err;
	int last;

	usual_file(&f->file);
	free(temp_dir_write(&f->dir, "data", f->file.data, f->file.size));
	assert_int_equal(sb_perfdata_open(&perfdata, f->dir.path, &f->err), 0);
	assert_string_equal(sb_perfdata_path(perfdata), f->dir.path);
	assert_int_equal(walk(perfdata, &last, &err), 7);
	sb_perfdata_close(perfdata);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(records_come_in_file_order),
	        TEST(aux_data_of_a_buffer_are_joined_in_order),
	        TEST(what_the_recording_says_about_the_machine),
	        TEST(config_bits_mean_what_auxtrace_info_says),
	        TEST(a_short_auxtrace_info_leaves_the_rest_zero),
	        TEST(times_of_another_clock_convert_to_nothing),
	        TEST(attributes_of_any_size),
	        TEST(the_identifier_chooses_the_trailer),
	        TEST(an_id_chooses_the_trailer),
	        TEST(an_identifier_of_no_event_is_damage),
	        TEST(events_that_cannot_be_told_apart_are_refused),
	        TEST(an_interrupted_recording_is_read_to_the_end),
	        TEST(cut_after_every_byte),
	        TEST(a_cut_payload_counts_what_is_missing),
	        TEST(a_payload_ends_with_the_records),
	        TEST(damage_ends_the_walk_where_it_is),
	        TEST(damaged_features_leave_the_records_alone),
	        TEST(other_cpus_are_not_intel_s),
	        TEST(forms_that_are_not_read_are_refused_by_name),
	        TEST(what_is_no_recording_is_refused),
	        TEST(hostile_headers_are_refused),
	        TEST(ids_that_are_claimed_twice_do_not_multiply),
	        TEST(random_bytes_do_no_harm),
	        TEST(a_directory_holds_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
