/* Snapshots and samples of the trace repeat what those before them held: put together, each byte comes once,
 * in the right place, and what does not follow is not joined. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <sb/perfdata.h>
#include <sb/trace.h>

#include "sb/perfdata_file.h"
#include "support/temp_dir.h"

enum {
	SAMPLED = 1 << 20, /* PERF_SAMPLE_AUX */
	SNAPSHOT_AT = 8,   /* AUXTRACE_INFO's values, by number */
	PER_CPU_AT = 9,
	TRACE_SIZE = 4000,
	PERIOD = 100 /* of PSBs */
};

struct fixture {
	struct temp_dir dir;
	struct bytes file;
	struct sb_perfdata *perfdata;
	uint8_t trace[TRACE_SIZE];
	int without_tsc, per_thread;
	size_t info; /* where AUXTRACE_INFO is */
};

static void make_trace(struct fixture *f)
{
	uint64_t seed = 99;

	for (size_t i = 0; i < TRACE_SIZE; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		f->trace[i] = (uint8_t)((seed >> 33 & 0x7e) | 0x80); /* a TNT */
	}
	for (size_t at = 30; at + 32 < TRACE_SIZE; at += PERIOD) {
		const uint64_t tsc = at * 1000;

		for (size_t i = 0; i < 16; i += 2) {
			f->trace[at + i] = 0x02;
			f->trace[at + i + 1] = 0x82;
		}
		f->trace[at + 16] = f->without_tsc ? 0 : 0x19;
		for (size_t i = 0; i < 7; i++)
			f->trace[at + 17 + i] = f->without_tsc ? 0 : (uint8_t)(tsc >> (8 * i));
		f->trace[at + 24] = 0x02;
		f->trace[at + 25] = 0x23;
	}
}

static void begin(struct fixture *f, int snapshot)
{
	struct attr attrs[2];

	memcpy(attrs, usual_attrs, sizeof(attrs));
	attrs[1].sample_type |= SAMPLED;
	make_trace(f);
	memset(&f->file, 0, sizeof(f->file));
	begin_file(&f->file, attrs, 2, 128);
	f->info = f->file.size;
	put_auxtrace_info(&f->file, 18);
	patch(&f->file, f->info + 16 + 8 * SNAPSHOT_AT, (uint64_t)snapshot, 8);
	patch(&f->file, f->info + 16 + 8 * PER_CPU_AT, !f->per_thread, 8);
}

static void put_bytes(struct bytes *b, const uint8_t *bytes, size_t size)
{
	memcpy(b->data + b->size, bytes, size);
	b->size += size;
}

/* A sample of thread 7 on CPU 1 that holds [@from, @to) of the trace. */
static void put_sample(struct fixture *f, size_t from, size_t to)
{
	struct bytes *b = &f->file;
	const size_t at = begin_record(b, PERF_RECORD_SAMPLE, 0);

	put64(b, 201);
	put64(b, 0x401000);
	put32(b, 7);
	put32(b, 7);
	put64(b, 1000 + to);
	put32(b, 1);
	put32(b, 0);
	put64(b, to - from);
	put_bytes(b, f->trace + from, to - from);
	end_record(b, at);
}

/* A snapshot, filled up as perf does. Its offset is that in a buffer that wraps around: it says nothing. */
static void put_snapshot(struct fixture *f, size_t from, size_t to)
{
	const size_t padding = (8 - (to - from) % 8) % 8;

	put_auxtrace(&f->file, 1, -1, from % 64, to - from + padding, 0);
	memcpy(f->file.data + f->file.size - (to - from + padding), f->trace + from, to - from);
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

	sb_perfdata_close(f->perfdata);
	temp_dir_remove(&f->dir);
	free(f);
	return 0;
}

static const struct sb_aux_stream *open_stream(struct fixture *f)
{
	const struct sb_aux_stream *stream;
	struct sb_error err;
	size_t count;
	char *path;

	end_records(&f->file);
	path = temp_dir_write(&f->dir, "perf.data", f->file.data, f->file.size);
	sb_perfdata_close(f->perfdata);
	if (sb_perfdata_open(&f->perfdata, path, &err) < 0)
		fail_msg("%s", err.text);
	free(path);
	stream = sb_perfdata_streams(f->perfdata, &count);
	assert_int_equal(count, 1);
	return stream;
}

struct stretch {
	size_t from, to; /* of the trace */
};

/* The stream is made of these stretches of the trace, each on its own; @twice bytes are left out. */
static void expect(struct fixture *f, const struct stretch *stretch, size_t n, uint64_t twice)
{
	const struct sb_aux_stream *stream = open_stream(f);
	struct sb_trace *trace;
	struct sb_segment segment;
	size_t at = 0, done = 0, i = 0;
	uint64_t bytes = 0;

	assert_int_equal(sb_trace_open(&trace, stream, NULL, 0), 0);
	while (sb_trace_next(trace, &segment) > 0) {
		if (segment.fresh && (i || done)) {
			assert_int_equal(done, stretch[i].to - stretch[i].from);
			i++;
			done = 0;
		}
		assert_true(i < n);
		at = stretch[i].from + done;
		assert_true(at + segment.stop <= stretch[i].to);
		assert_memory_equal(segment.begin, f->trace + at, segment.stop);
		done += segment.stop;
		bytes += segment.stop;
	}
	assert_int_equal(i, n - 1);
	assert_int_equal(done, stretch[i].to - stretch[i].from);
	assert_int_equal(sb_trace_duplicate(trace), twice);
	assert_int_equal(bytes + twice, stream->size);
	sb_trace_close(trace);
}

static void samples_that_overlap_are_one_stretch(void **state)
{
	static const struct stretch whole = {8, 3600};
	struct fixture *f = *state;

	begin(f, 0);
	put_sample(f, 8, 800);
	put_sample(f, 600, 1400);
	put_sample(f, 1208, 2008); /* a PSB and its TSC are the first in it */
	put_sample(f, 1208, 2016); /* next to nothing is new */
	put_sample(f, 1216, 2016); /* nothing is */
	put_sample(f, 1700, 2500);
	put_sample(f, 2400, 3600);
	expect(f, &whole, 1, 200 + 192 + 800 + 800 + 316 + 100);
	assert_int_equal(sb_perfdata_streams(f->perfdata, &(size_t){0})->cpu, 1);
	assert_int_equal(sb_perfdata_streams(f->perfdata, &(size_t){0})->tid, -1);
}

/* As samples of several events may. */
static void samples_that_go_back_further(void **state)
{
	static const struct stretch whole = {8, 2400};
	struct fixture *f = *state;

	begin(f, 0);
	put_sample(f, 8, 800);
	put_sample(f, 600, 1400);
	put_sample(f, 1200, 1600);
	put_sample(f, 400, 2000);
	put_sample(f, 8, 2400);
	expect(f, &whole, 1, 200 + 200 + 1200 + 1992);
}

static void samples_of_threads(void **state)
{
	static const struct stretch whole = {8, 1400};
	struct fixture *f = *state;

	f->per_thread = 1;
	begin(f, 0);
	put_sample(f, 8, 800);
	put_sample(f, 600, 1400);
	expect(f, &whole, 1, 200);
	assert_int_equal(sb_perfdata_streams(f->perfdata, &(size_t){0})->cpu, -1);
	assert_int_equal(sb_perfdata_streams(f->perfdata, &(size_t){0})->tid, 7);
}

static void what_does_not_overlap_begins_anew(void **state)
{
	static const struct stretch parts[] = {{0, 400}, {400, 800}, {1200, 1600}, {1592, 1992}};
	struct fixture *f = *state;

	begin(f, 0);
	put_sample(f, 0, 400);
	put_sample(f, 400, 800);
	put_sample(f, 1200, 1600);
	/* Eight bytes that they have in common, with no PSB in them. */
	put_sample(f, 1592, 1992);
	expect(f, parts, 4, 0);
}

/* The same PSB, but not the same bytes behind it: somebody is wrong. */
static void different_bytes_are_not_common(void **state)
{
	static const struct stretch parts[] = {{0, 800}, {600, 1400}};
	struct fixture *f = *state;

	begin(f, 0);
	put_sample(f, 0, 800);
	f->trace[790] ^= 4;
	put_sample(f, 600, 1400);
	f->trace[790] ^= 4;
	{
		const struct sb_aux_stream *stream = open_stream(f);

		assert_true(stream->chunk[1].aux_offset > stream->chunk[0].aux_offset + 800);
		assert_int_equal(stream->size, parts[0].to + parts[1].to - parts[1].from);
	}
}

static void without_tsc_all_bytes_have_to_agree(void **state)
{
	static const struct stretch parts[] = {{0, 1400}, {2000, 2600}};
	struct fixture *f = *state;

	f->without_tsc = 1;
	begin(f, 0);
	put_sample(f, 0, 800);
	put_sample(f, 600, 1400);
	put_sample(f, 2000, 2600);
	expect(f, parts, 2, 200);
}

/* Offsets of snapshots count in the buffer, round and round. */
static void snapshots_that_overlap_are_one_stretch(void **state)
{
	static const struct stretch parts[] = {{0, 1604}, {2000, 2800}};
	struct fixture *f = *state;

	begin(f, 1);
	put_snapshot(f, 0, 803); /* five zeros are behind it, which are no trace */
	put_snapshot(f, 400, 1203);
	put_snapshot(f, 804, 1604);
	put_snapshot(f, 2000, 2800);
	assert_true(sb_perfdata_info(f->perfdata ? f->perfdata : (open_stream(f), f->perfdata))->snapshot);
	expect(f, parts, 2, 403 + 399);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(samples_that_overlap_are_one_stretch),
	        TEST(samples_that_go_back_further),
	        TEST(samples_of_threads),
	        TEST(what_does_not_overlap_begins_anew),
	        TEST(different_bytes_are_not_common),
	        TEST(without_tsc_all_bytes_have_to_agree),
	        TEST(snapshots_that_overlap_are_one_stretch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
