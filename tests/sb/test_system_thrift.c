/* test_system_thrift.c - a thrifty system is the one that gathers everything first, or says that it cannot
 * be: random records, in good order and in bad, and all that both can be asked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "support/draw.h"
#include "system/system.h"

enum { CPUS = 3, PIDS = 6, PAGES = 6, RECORDS = 3000, STREAMS = 600 };

/* ---- Records ---------------------------------------------------------------------------------- */

static int32_t draw_pid(void)
{
	return (int32_t)draw(PIDS) - (draw(50) == 0);
}

static void draw_task(struct sb_record *record)
{
	record->type = draw(2) ? PERF_RECORD_FORK : PERF_RECORD_EXIT;
	record->u.task.pid = draw_pid();
	record->u.task.tid = draw(3) ? record->u.task.pid : draw_pid();
	record->u.task.ppid = draw(3) ? draw_pid() : record->u.task.pid;
	record->u.task.ptid = draw_pid();
}

static void draw_comm(struct sb_record *record)
{
	static const char *const names[] = {"", "a", "bb"};

	record->type = PERF_RECORD_COMM;
	record->u.comm.pid = draw_pid();
	record->u.comm.tid = draw(3) ? record->u.comm.pid : draw_pid();
	record->u.comm.name = names[draw(3)];
	record->u.comm.exec = draw(4) == 0;
}

static void draw_map(struct sb_record *record)
{
	static const char *const names[] = {"/a", "/b", "//anon"};

	record->type = PERF_RECORD_MMAP2;
	record->u.mmap.pid = record->u.mmap.tid = draw_pid();
	record->u.mmap.addr = 0x1000 * (1 + draw(PAGES));
	record->u.mmap.len = 0x1000 * (1 + draw(2));
	record->u.mmap.pgoff = draw(4) ? record->u.mmap.addr : 0;
	record->u.mmap.filename = names[draw(3)];
	record->u.mmap.prot = PROT_EXEC;
	record->u.mmap.is_mmap2 = 1;
}

static void draw_switch(struct sb_record *record)
{
	record->type = draw(20) ? PERF_RECORD_SWITCH_CPU_WIDE : PERF_RECORD_SWITCH;
	record->u.context_switch.out = (int)draw(2);
	record->u.context_switch.next_prev_pid = record->u.context_switch.next_prev_tid = draw_pid();
}

/* @disorder, @switch_disorder: how far back times may go. */
static struct sb_record draw_record(uint64_t now, uint32_t disorder, uint32_t switch_disorder)
{
	struct sb_record record = {.sample = {.has = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU}};

	record.sample.cpu = draw(CPUS);
	record.sample.time = now - draw(disorder);
	record.sample.pid = record.sample.tid = draw_pid();
	switch (draw(12)) {
	case 0:
		draw_task(&record);
		break;
	case 1:
		draw_comm(&record);
		break;
	case 2:
	case 3:
		draw_map(&record);
		break;
	case 4:
		record.type = SB_RECORD_FINISHED_ROUND;
		record.sample = (struct sb_sample_id){0};
		break;
	case 5:
		record.type = draw(20) ? PERF_RECORD_ITRACE_START : PERF_RECORD_LOST;
		break;
	default:
		draw_switch(&record);
		record.sample.time = now - draw(switch_disorder);
		break;
	}
	return record;
}

/* ---- Comparing -------------------------------------------------------------------------------- */

static void assert_same_epoch(const struct sb_epoch *a, const struct sb_epoch *b)
{
	const struct sb_map *left, *right;

	assert_int_equal(!a, !b);
	if (!a)
		return;
	assert_int_equal(a->id, b->id);
	assert_int_equal(a->from, b->from);
	assert_int_equal(a->to, b->to);
	left = sb_epoch_map(a, 0);
	right = sb_epoch_map(b, 0);
	for (; left && right; left = sb_epoch_map(a, left->end), right = sb_epoch_map(b, right->end)) {
		assert_int_equal(left->begin, right->begin);
		assert_int_equal(left->end, right->end);
		assert_int_equal(left->pgoff, right->pgoff);
		assert_int_equal(left->time, right->time);
		assert_int_equal(left->recorded_size, right->recorded_size);
		assert_string_equal(left->filename, right->filename);
	}
	assert_true(!left && !right);
}

static void assert_same_process(const struct sb_system *a, const struct sb_system *b, int32_t pid,
                                uint64_t time)
{
	const struct sb_space *left = sb_system_space(a, pid, time), *right = sb_system_space(b, pid, time);

	for (int32_t tid = 0; tid < PIDS; ++tid)
		assert_string_equal(sb_system_comm(a, pid, tid, time), sb_system_comm(b, pid, tid, time));
	assert_int_equal(!left, !right);
	if (!left)
		return;
	assert_int_equal(left->from, right->from);
	assert_int_equal(left->to, right->to);
	assert_int_equal(left->nepochs, right->nepochs);
	assert_same_epoch(sb_space_epoch(left, time), sb_space_epoch(right, time));
}

static void assert_same(const struct sb_system *a, const struct sb_system *b, uint64_t end)
{
	for (int32_t cpu = 0; cpu < CPUS; ++cpu) {
		size_t left, right;
		const struct sb_sched *of_a = sb_system_schedule(a, cpu, &left);
		const struct sb_sched *of_b = sb_system_schedule(b, cpu, &right);

		assert_int_equal(left, right);
		for (size_t i = 0; i < left; ++i)
			assert_memory_equal(&of_a[i], &of_b[i], sizeof(of_a[i]));
	}
	assert_int_equal(sb_system_nepochs(a), sb_system_nepochs(b));
	for (int32_t pid = 0; pid < PIDS; ++pid)
		for (unsigned i = 0; i < 10; ++i)
			assert_same_process(a, b, pid, draw((uint32_t)end + 20));
}

/* Whether thrift worked out. */
static int check_stream(uint64_t seed)
{
	struct sb_system *thrifty = system_new(1), *patient = system_new(0);
	const uint32_t step = 1 + (uint32_t)seed % 7, most = 1 + (uint32_t)(seed / 7) % 200;
	const uint32_t disorder = seed % 2 ? most : 1, switch_disorder = seed % 4 == 1 ? 1 : most;
	const int damaged = seed % 3 == 0;
	uint64_t now = 1000;
	int late = 0;

	random_state = seed;
	for (unsigned i = 0; i < RECORDS; ++i, now += draw(step)) {
		const struct sb_record record = draw_record(now, disorder, switch_disorder);

		assert_int_equal(system_record(patient, &record), 0);
		if (!late)
			late = system_record(thrifty, &record);
		assert_true(late >= 0);
	}
	assert_int_equal(system_seal(patient, damaged), 0);
	if (!late) {
		assert_int_equal(system_seal(thrifty, damaged), 0);
		assert_same(thrifty, patient, now);
	}
	sb_system_free(thrifty);
	sb_system_free(patient);
	return !late;
}

static void thrift_changes_nothing(void **state)
{
	unsigned thrifty = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= STREAMS; ++seed)
		thrifty += (unsigned)check_stream(seed);
	assert_in_range(thrifty, STREAMS / 20, STREAMS - STREAMS / 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(thrift_changes_nothing)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
