/* test_schedule_pairs.c - the two records of a switch are one entry as soon as both have come, and switches
 * are read straight from their bytes: the schedule is the same as when each record is parsed and is an entry
 * until it is settled.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sb/perfdata_write.h>

#include "record/bytes.h"
#include "support/draw.h"
#include "system/schedule.h"

enum { CPUS = 2, THREADS = 5, STREAMS = 1500, STEPS = 600, SPAN = 40 };

static int32_t draw_thread(void)
{
	return 100 + (int32_t)draw(THREADS) - (draw(40) ? 0 : 101);
}

/* ---- Random switches ---------------------------------------------------------------------------- */

/* What happens on one CPU. */
struct stream {
	struct schedule *left, *right;
	uint32_t disorder; /* one record of so many comes too late; 0: none */
	uint64_t now;
	int late;
};

static void feed(struct stream *stream, struct sb_record *record, uint32_t cpu, uint64_t time)
{
	int status;

	record->sample.has = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	record->sample.cpu = cpu;
	record->sample.time = time;
	if (!stream->late) {
		status = schedule_record(stream->left, record, time);
		assert_true(status >= 0);
		stream->late = status;
	}
	assert_int_equal(schedule_record(stream->right, record, time), 0);
	for (size_t i = 0; i < stream->right->ncpus; ++i)
		stream->right->cpu[i].takes_records = 1;
}

static uint64_t draw_time(struct stream *stream)
{
	stream->now += draw(3);
	if (stream->disorder && !draw(stream->disorder))
		return stream->now - draw(SPAN);
	return stream->now;
}

static void feed_switch(struct stream *stream, uint32_t cpu, int32_t *runs)
{
	struct sb_record record = {.type = draw(60) ? PERF_RECORD_SWITCH_CPU_WIDE : PERF_RECORD_SWITCH};
	const int32_t from = draw(50) ? *runs : draw_thread(), to = draw_thread();

	record.sample.pid = record.sample.tid = from;
	record.u.context_switch.next_prev_pid = record.u.context_switch.next_prev_tid = to;
	record.u.context_switch.out = 1;
	if (draw(30))
		feed(stream, &record, cpu, draw_time(stream));
	record.sample.pid = record.sample.tid = to;
	record.u.context_switch.next_prev_pid = record.u.context_switch.next_prev_tid = from;
	record.u.context_switch.out = 0;
	if (draw(30))
		feed(stream, &record, cpu, draw_time(stream));
	*runs = to;
}

static void feed_other(struct stream *stream, uint32_t cpu, int32_t runs)
{
	static const uint32_t types[] = {PERF_RECORD_ITRACE_START, PERF_RECORD_COMM, PERF_RECORD_LOST};
	struct sb_record record = {.type = types[draw(3)]};

	record.sample.pid = record.sample.tid = runs;
	if (record.type == PERF_RECORD_ITRACE_START)
		record.u.itrace_start.pid = record.u.itrace_start.tid = runs;
	if (record.type == PERF_RECORD_COMM) {
		record.u.comm.pid = runs;
		record.u.comm.tid = draw(2) ? runs : draw_thread();
		record.u.comm.exec = 1;
		record.u.comm.name = "";
	}
	feed(stream, &record, cpu, draw_time(stream));
}

static void assert_same(const struct schedule *left, const struct schedule *right)
{
	for (size_t i = 0; i < CPUS; ++i) {
		const struct cpu_schedule *a = &left->cpu[i], *b = &right->cpu[i];

		assert_int_equal(a->nscheds, b->nscheds);
		for (size_t j = 0; j < a->nscheds; ++j)
			assert_memory_equal(&a->sched[j], &b->sched[j], sizeof(a->sched[j]));
		assert_int_equal(a->is_whole, b->is_whole);
		assert_int_equal(a->losses, b->losses);
		assert_int_equal(a->last_time, b->last_time);
	}
}

/* Whether no record came too late for a thrifty one. */
static int check_stream(uint64_t seed)
{
	const int thrifty = seed % 2 == 0, damaged = seed % 5 == 0, is_plain = seed % 3 == 0;
	struct schedule left = {.thrifty = thrifty}, right = {0};
	struct stream stream = {&left, &right, seed % 4 ? 0 : 2 + (uint32_t)seed % 200, 1000, 0};
	int32_t runs[CPUS] = {100, 101};
	const struct sb_record finished = {.type = SB_RECORD_FINISHED_ROUND};

	random_state = seed;
	for (unsigned i = 0; i < STEPS; ++i) {
		const uint32_t cpu = draw(CPUS);

		if (is_plain || draw(20))
			feed_switch(&stream, cpu, &runs[cpu]);
		else
			feed_other(&stream, cpu, runs[cpu]);
		if (i % 50 == 49) {
			stream.now += SPAN;
			schedule_record(&left, &finished, 0);
			schedule_record(&right, &finished, 0);
		}
	}
	assert_int_equal(schedule_seal(&right, damaged), 0);
	if (!stream.late) {
		assert_int_equal(schedule_seal(&left, damaged), 0);
		assert_same(&left, &right);
	}
	schedule_free(&left);
	schedule_free(&right);
	return !stream.late;
}

static void pairs_are_what_their_records_say(void **state)
{
	unsigned count = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= STREAMS; ++seed)
		count += (unsigned)check_stream(seed);
	assert_in_range(count, STREAMS / 2, STREAMS);
}

/* ---- From bytes --------------------------------------------------------------------------------- */

static void write_recording(const char *path)
{
	struct sb_perfdata_write_config config = {
	        .size = sizeof(config), .ncpus = CPUS, .pt_pmu_type = 8, .cmdline = "test"};
	struct sb_perfdata_writer *writer;

	assert_int_equal(sb_perfdata_writer_open(&writer, path, &config, NULL), 0);
	random_state = 1;
	for (unsigned i = 0; i < 20000; ++i) {
		const int32_t from = draw_thread(), to = draw_thread();
		const struct sb_write_sample sample = {from, from, 1000 + 10 * (uint64_t)i, i / 2 % CPUS};

		assert_int_equal(sb_write_switch(writer, &sample, i % 2 == 0, (int)draw(2), to, to, NULL), 0);
		if (i % 100 == 99)
			assert_int_equal(sb_write_comm(writer, &sample, from, from, "name", 1, NULL), 0);
		if (i % 1000 == 999)
			assert_int_equal(sb_write_finished_round(writer, NULL), 0);
	}
	assert_int_equal(sb_perfdata_writer_finish(writer, NULL), 0);
}

/* Records that are not plain: a guest's, one of no time, one of no CPU there can be, one that is longer, one
 * of a kind that is not known. */
static void spoil(const struct sb_record *record, FILE *file)
{
	uint8_t bytes[256];
	const size_t size = record->size;

	assert_in_range(size, 8 + 8 + 24, sizeof(bytes));
	memcpy(bytes, record->bytes, size);
	switch (draw(5)) {
	case 0:
		store_u16(bytes + 4, (uint16_t)(record->misc | PERF_RECORD_MISC_GUEST_KERNEL));
		break;
	case 1:
		store_u64(bytes + 24, 0);
		break;
	case 2:
		/* identifiers are last, and may be anything here */
		for (size_t at = 32; at < size; at += 8)
			store_u64(bytes + at, SB_CPU_MAX + 1);
		break;
	case 3:
		store_u16(bytes + 4, (uint16_t)(record->misc | 1 << 9));
		break;
	default:
		store_u32(bytes, PERF_RECORD_SWITCH);
		break;
	}
	assert_int_equal(fseek(file, (long)record->offset, SEEK_SET), 0);
	assert_int_equal(fwrite(bytes, size, 1, file), 1);
}

static void spoil_some(const char *path)
{
	struct sb_perfdata *perfdata;
	struct sb_perfdata_cursor cursor;
	struct sb_record record;
	FILE *file = fopen(path, "r+b");

	assert_non_null(file);
	assert_int_equal(sb_perfdata_open(&perfdata, path, NULL), 0);
	sb_perfdata_begin(perfdata, &cursor);
	while (sb_perfdata_next(&cursor, &record, NULL) > 0)
		if (record.type == PERF_RECORD_SWITCH_CPU_WIDE && !draw(40))
			spoil(&record, file);
	sb_perfdata_close(perfdata);
	assert_int_equal(fclose(file), 0);
}

/* Each record parsed. */
static struct sb_system *read_records(const struct sb_perfdata *perfdata)
{
	struct sb_system *system = system_new(1);
	struct sb_perfdata_cursor cursor;
	struct sb_record record;

	assert_non_null(system);
	sb_perfdata_begin(perfdata, &cursor);
	while (sb_perfdata_next(&cursor, &record, NULL) > 0)
		assert_int_equal(system_record(system, &record), 0);
	assert_int_equal(system_seal(system, 0), 0);
	return system;
}

static void check_file(const char *path)
{
	struct sb_perfdata *perfdata;
	struct sb_system *built, *read;
	uint64_t left, right;

	assert_int_equal(sb_perfdata_open(&perfdata, path, NULL), 0);
	assert_true(switch_layout(perfdata).size);
	assert_int_equal(sb_system_build(&built, perfdata, NULL), 0);
	read = read_records(perfdata);
	assert_same(system_schedule(built), system_schedule(read));
	assert_int_equal(sb_system_nrecords(built, &left), sb_system_nrecords(read, &right));
	assert_int_equal(left, right);
	sb_system_free(built);
	sb_system_free(read);
	sb_perfdata_close(perfdata);
}

static void bytes_say_what_records_say(void **state)
{
	char path[] = "/tmp/test_schedule_pairs.XXXXXX";
	const int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	write_recording(path);
	check_file(path);
	spoil_some(path);
	check_file(path);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(pairs_are_what_their_records_say),
	                                   cmocka_unit_test(bytes_say_what_records_say)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
