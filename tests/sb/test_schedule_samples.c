/* test_schedule_samples.c - context switches from samples of sched:sched_switch: by hand, and on a recording
 * that perf makes here with both kinds of records, of which each must tell the same schedule. */
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

#include <sb/perfdata.h>

#include "support/bytes.h"
#include "system/system.h"

/* ---- By hand ---------------------------------------------------------------------------------- */

static void add(struct sb_system *system, struct sb_record record)
{
	assert_int_equal(system_record(system, &record), 0);
}

static struct sb_record record_at(uint32_t type, uint64_t time, int32_t pid, int32_t tid)
{
	struct sb_record record = {.type = type};

	record.sample.has = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	record.sample.time = time;
	record.sample.pid = pid;
	record.sample.tid = tid;
	return record;
}

/* Intel PT was recorded, and switches come from @source: 1 tracepoint, 3 SWITCH_CPU_WIDE. */
static void auxtrace_info(struct sb_system *system, uint64_t source)
{
	struct sb_record record = {.type = SB_RECORD_AUXTRACE_INFO};
	struct bytes priv = {0};

	for (unsigned int i = 0; i < 7; i++)
		put64(&priv, 1);
	put64(&priv, source);
	record.u.auxtrace_info.type = SB_AUXTRACE_INTEL_PT;
	record.u.auxtrace_info.priv = priv.data;
	record.u.auxtrace_info.npriv = 8;
	add(system, record);
}

/* On CPU 0, by the thread @pid/@tid, whose number in the tracepoint is @prev. */
static void sample(struct sb_system *system, uint64_t time, int32_t pid, int32_t tid, int32_t prev,
                   int32_t next)
{
	struct sb_record record = record_at(PERF_RECORD_SAMPLE, time, pid, tid);

	record.u.sample.is_sched_switch = 1;
	record.u.sample.prev_tid = prev;
	record.u.sample.next_tid = next;
	add(system, record);
}

static void thread(struct sb_system *system, int32_t pid, int32_t tid, int exec, uint64_t time)
{
	struct sb_record record = record_at(PERF_RECORD_COMM, time, pid, tid);

	record.u.comm.pid = pid;
	record.u.comm.tid = tid;
	record.u.comm.name = "name";
	record.u.comm.exec = exec;
	add(system, record);
}

static void lost(struct sb_system *system, uint32_t type, uint64_t time, uint64_t count)
{
	struct sb_record record = record_at(type, time, 7, 7);

	record.u.lost.lost = count;
	add(system, record);
}

/* "TIME:PID/TID<PREV", space-separated; what was before is left out where nobody says so. */
static void assert_schedule(struct sb_system *system, const char *expected)
{
	const struct sb_sched *sched;
	char text[512] = "";
	size_t count;

	assert_int_equal(system_seal(system, 0), 0);
	sched = sb_system_schedule(system, 0, &count);
	for (size_t i = 0; i < count; i++) {
		const size_t at = strlen(text);

		snprintf(text + at, sizeof(text) - at, "%s%ju:%d/%d", at ? " " : "", (uintmax_t)sched[i].time,
		         sched[i].pid, sched[i].tid);
		if (sched[i].prev_tid >= 0)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "<%d/%d",
			         sched[i].prev_pid, sched[i].prev_tid);
	}
	assert_string_equal(text, expected);
}

static int setup(void **state)
{
	*state = system_new(0);
	auxtrace_info(*state, 1);
	return 0;
}

static int setup_thrifty(void **state)
{
	*state = system_new(1);
	auxtrace_info(*state, 1);
	return 0;
}

static int teardown(void **state)
{
	sb_system_free(*state);
	return 0;
}

static void the_process_is_that_of_the_next_sample(void **state)
{
	struct sb_system *system = *state;

	sample(system, 10, 7, 7, 7, 81);
	sample(system, 20, 8, 81, 81, 0);
	sample(system, 30, 0, 0, 0, 7);
	sample(system, 40, 7, 7, 7, 81);
	thread(system, 8, 81, 0, 50);
	assert_schedule(system, "0:7/7 10:8/81<7/7 20:0/0<8/81 30:7/7<0/0 40:8/81<7/7");
}

static void a_thread_that_ends_says_nothing_of_itself(void **state)
{
	struct sb_system *system = *state;

	thread(system, 8, 82, 0, 1);
	sample(system, 10, 7, 7, 7, 82);
	sample(system, 20, -1, -1, 82, 7);
	sample(system, 30, 7, 7, 7, 99);
	assert_schedule(system, "0:7/7 10:8/82<7/7 20:7/7<8/82 30:-1/-1<7/7");
}

static void exec_tells_the_process_too(void **state)
{
	struct sb_system *system = *state;

	sample(system, 10, 7, 7, 7, 81);
	thread(system, 8, 8, 1, 15);
	sample(system, 20, 8, 8, 8, 7);
	sample(system, 30, 7, 7, 7, 0);
	assert_schedule(system, "0:7/7 10:8/81<7/7 15:8/8 20:7/7<8/8 30:0/0<7/7");
}

/* perf ran in a container: its samples name threads as the container does, the tracepoint as the host does.
 */
static void numbers_of_another_name_space(void **state)
{
	struct sb_system *system = *state;

	thread(system, 1007, 1007, 0, 1);
	sample(system, 10, 7, 7, 1007, 1081);
	sample(system, 20, 8, 81, 1081, 0);
	sample(system, 30, 0, 0, 0, 1007);
	assert_schedule(system, "0:7/7 10:8/81<7/7 20:0/0<8/81 30:-1/-1<0/0");
}

static void a_switch_without_a_sample(void **state)
{
	struct sb_system *system = *state;

	thread(system, 8, 81, 0, 1);
	sample(system, 10, 7, 7, 7, 81);
	sample(system, 30, 9, 9, 9, 7);
	sample(system, 40, 7, 7, 7, 0);
	assert_schedule(system, "0:7/7 1:8/81 10:8/81<7/7 30:7/7<9/9 40:0/0<7/7"); /* 8/81 made a record */
}

static void switch_records_are_better(void **state)
{
	struct sb_system *system = *state;
	struct sb_record out = record_at(PERF_RECORD_SWITCH_CPU_WIDE, 10, 7, 7);

	out.u.context_switch.out = 1;
	out.u.context_switch.next_prev_pid = 8;
	out.u.context_switch.next_prev_tid = 81;
	add(system, out);
	sample(system, 20, 8, 81, 81, 99);
	assert_schedule(system, "0:7/7 10:8/81<7/7");
}

static void where_perf_asked_for_switch_records_samples_do_not_count(void **state)
{
	struct sb_system *system = *state;

	auxtrace_info(system, 3);
	sample(system, 20, 8, 81, 81, 99);
	assert_schedule(system, "");
}

static void assert_lost(struct sb_system *system, const char *expected)
{
	const struct sb_lost *at;
	char text[256] = "";
	size_t count;

	at = sb_system_lost(system, &count);
	for (size_t i = 0; i < count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s:%ju:%ju:%d", i ? " " : "",
		         sb_record_name(at[i].type), (uintmax_t)at[i].time, (uintmax_t)at[i].nrecords,
		         at[i].cpu);
	assert_string_equal(text, expected);
}

static void a_throttled_event_may_be_the_one_that_tells(void **state)
{
	struct sb_system *system = *state;
	struct sb_record throttle = record_at(PERF_RECORD_THROTTLE, 15, 8, 8);

	sample(system, 10, 7, 7, 7, 8);
	add(system, throttle);
	throttle.type = PERF_RECORD_UNTHROTTLE;
	throttle.sample.time = 18;
	add(system, throttle);
	sample(system, 20, 9, 9, 9, 7);
	thread(system, 7, 7, 0, 21);
	thread(system, 8, 8, 0, 22);
	assert_lost(system, "THROTTLE:15:0:0");
	assert_schedule(system, "0:7/7 10:8/8<7/7 15:-1/-1 20:7/7<9/9");
}

static void lost_samples_may_be_switches(void **state)
{
	struct sb_system *system = *state;

	sample(system, 10, 7, 7, 7, 8);
	lost(system, PERF_RECORD_LOST_SAMPLES, 15, 3);
	sample(system, 20, 9, 9, 9, 7);
	thread(system, 7, 7, 0, 21);
	thread(system, 8, 8, 0, 22);
	assert_lost(system, "LOST_SAMPLES:15:3:0");
	assert_schedule(system, "0:7/7 10:8/8<7/7 11:-1/-1 20:7/7<9/9");
}

/* perf counts at the end; what no LOST record told of came behind the last record. */
static void lost_behind_the_last_record(void **state)
{
	struct sb_system *system = *state;

	thread(system, 8, 8, 0, 1);
	lost(system, PERF_RECORD_LOST, 5, 4);
	sample(system, 10, 7, 7, 7, 8);
	lost(system, PERF_RECORD_LOST_SAMPLES, 0, 5);
	assert_lost(system, "LOST:5:4:0 LOST_SAMPLES:0:5:-1");
	assert_schedule(system, "2:-1/-1 5:7/7 10:8/8<7/7 11:-1/-1");
}

static void all_that_was_lost_was_told(void **state)
{
	struct sb_system *system = *state;

	thread(system, 8, 8, 0, 1);
	lost(system, PERF_RECORD_LOST, 5, 4);
	sample(system, 10, 7, 7, 7, 8);
	lost(system, PERF_RECORD_LOST_SAMPLES, 0, 4);
	assert_schedule(system, "2:-1/-1 5:7/7 10:8/8<7/7");
}

/* ---- As it really is -------------------------------------------------------------------------- */

static int record_here(char *path)
{
	char command[512];
	const int file = mkstemp(path);

	assert_true(file >= 0);
	close(file);
	snprintf(command, sizeof(command),
	         "perf record -a -m 4M -e sched:sched_switch --switch-events -o %s -- "
	         "sh -c 'for i in 1 2 3 4; do ls / | sort | gzip | wc -c; sleep 0.05; done' >/dev/null 2>&1",
	         path);
	return system(command);
}

/* All records, but those of @left_out. */
static struct sb_system *model(const struct sb_perfdata *perfdata, uint32_t left_out)
{
	struct sb_system *system = system_new(0);
	struct sb_perfdata_cursor cursor;
	struct sb_record record;
	struct sb_error err;

	assert_non_null(system);
	auxtrace_info(system, 1);
	sb_perfdata_begin(perfdata, &cursor);
	while (sb_perfdata_next(&cursor, &record, &err) > 0)
		if (record.type != left_out)
			add(system, record);
	assert_int_equal(system_seal(system, 0), 0);
	return system;
}

static const struct sb_sched *who_at(const struct sb_sched *sched, size_t count, uint64_t time)
{
	const struct sb_sched *found = NULL;

	for (size_t i = 0; i < count && sched[i].time <= time; i++)
		found = &sched[i];
	return found;
}

/* The two events begin and end at different times: what is between a CPU's first and last sample counts. */
struct watched {
	uint64_t from, to;
};

enum { CPUS_MAX = 64 };

static void times_of_samples(const struct sb_perfdata *perfdata, struct watched watched[CPUS_MAX])
{
	struct sb_perfdata_cursor cursor;
	struct sb_record record;
	struct sb_error err;

	for (size_t cpu = 0; cpu < CPUS_MAX; cpu++)
		watched[cpu] = (struct watched){UINT64_MAX, 0};
	sb_perfdata_begin(perfdata, &cursor);
	while (sb_perfdata_next(&cursor, &record, &err) > 0) {
		const uint64_t time = record.sample.time;
		struct watched *one;

		if (record.type != PERF_RECORD_SAMPLE || record.sample.cpu >= CPUS_MAX)
			continue;
		one = &watched[record.sample.cpu];
		one->from = time < one->from ? time : one->from;
		one->to = time > one->to ? time : one->to;
	}
}

struct answers {
	size_t same, unknown;
};

/* When a SWITCH record is written, shortly behind the sample, both name the same thread. Not all threads may
 * be watched, and one that ends may have lost its number: where the next sample is of another thread than the
 * last one announced, samples do not know who ran. */
static void compare_cpu(const struct sb_system *by_switches, const struct sb_system *by_samples, int32_t cpu,
                        struct watched watched, struct answers *answers)
{
	size_t nswitches, nsamples;
	const struct sb_sched *switches = sb_system_schedule(by_switches, cpu, &nswitches);
	const struct sb_sched *samples = sb_system_schedule(by_samples, cpu, &nsamples);

	for (size_t i = 1; i < nswitches; i++) {
		const struct sb_sched *entry = who_at(samples, nsamples, switches[i].time);

		if (switches[i].time <= watched.from || switches[i].time >= watched.to ||
		    switches[i].tid < 0 || !entry || entry == &samples[nsamples - 1] ||
		    entry[1].prev_tid != entry->tid)
			continue;
		if (entry->tid < 0 || entry->pid < 0) {
			answers->unknown += 1;
			continue;
		}
		if (entry->pid != switches[i].pid || entry->tid != switches[i].tid)
			fail_msg("CPU %d, time %ju: %d/%d by SWITCH, %d/%d by samples", cpu,
			         (uintmax_t)switches[i].time, switches[i].pid, switches[i].tid, entry->pid,
			         entry->tid);
		answers->same += 1;
	}
}

static void both_kinds_tell_the_same(void **state)
{
	char path[] = "/tmp/sbtrace-samples-XXXXXX";
	struct sb_system *by_switches, *by_samples;
	struct sb_perfdata *perfdata;
	struct sb_error err;
	struct answers answers = {0};
	struct watched watched[CPUS_MAX];
	size_t nlost;

	(void)state;
	if (record_here(path)) {
		unlink(path);
		print_message("perf is not here, or may not record sched:sched_switch\n");
		skip();
	}
	if (sb_perfdata_open(&perfdata, path, &err) < 0)
		fail_msg("%s", err.text);
	unlink(path);
	by_switches = model(perfdata, PERF_RECORD_SAMPLE);
	by_samples = model(perfdata, PERF_RECORD_SWITCH_CPU_WIDE);
	times_of_samples(perfdata, watched);
	sb_system_lost(by_switches, &nlost);
	for (int32_t cpu = 0; cpu < CPUS_MAX && !nlost; cpu++)
		compare_cpu(by_switches, by_samples, cpu, watched[cpu], &answers);
	print_message("%zu switches, %zu unknown to samples, %zu losses\n", answers.same, answers.unknown,
	              nlost);
	assert_true(answers.same > 20 || nlost);
	sb_system_free(by_switches);
	sb_system_free(by_samples);
	sb_perfdata_close(perfdata);
}

#define BOTH(test)                                                                                           \
	cmocka_unit_test_setup_teardown(test, setup, teardown),                                              \
	        cmocka_unit_test_setup_teardown(test, setup_thrifty, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        BOTH(the_process_is_that_of_the_next_sample),
	        BOTH(a_thread_that_ends_says_nothing_of_itself),
	        BOTH(exec_tells_the_process_too),
	        BOTH(numbers_of_another_name_space),
	        BOTH(a_switch_without_a_sample),
	        BOTH(switch_records_are_better),
	        BOTH(where_perf_asked_for_switch_records_samples_do_not_count),
	        BOTH(a_throttled_event_may_be_the_one_that_tells),
	        BOTH(lost_samples_may_be_switches),
	        BOTH(lost_behind_the_last_record),
	        BOTH(all_that_was_lost_was_told),
	        cmocka_unit_test(both_kinds_tell_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
