/* test_spill_array.c - an array that has become large is in a file, and has the same rows; where there is no
 * file for it, it is in memory.
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
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "system/schedule.h"
#include "system/spill_array.h"
#include "system/system.h"

enum { MANY = 20 * SPILL_FROM / sizeof(uint64_t) };

struct numbers {
	struct spill_array spill;
	uint64_t *of;
	size_t count, capacity;
};

static void add(struct numbers *numbers, size_t count)
{
	for (; numbers->count < count; numbers->count++) {
		assert_int_equal(spill_array_reserve(&numbers->spill, &numbers->of, &numbers->capacity,
		                                     numbers->count, 1, sizeof(*numbers->of)),
		                 0);
		numbers->of[numbers->count] = 7 * numbers->count;
	}
}

static void seal(struct numbers *numbers)
{
	spill_array_seal(&numbers->spill, numbers->of, numbers->count * sizeof(*numbers->of));
}

static void expect_all(struct numbers *numbers)
{
	for (size_t i = 0; i < numbers->count; i++) {
		spill_array_pass(&numbers->spill, numbers->of, i * sizeof(*numbers->of));
		if (numbers->of[i] != 7 * i)
			fail_msg("number %zu is %llu", i, (unsigned long long)numbers->of[i]);
	}
}

static size_t resident_pages(const struct numbers *numbers)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char line[256];
	FILE *smaps = fopen("/proc/self/smaps", "r");
	unsigned long begin, end, kib = 0;
	int is_it = 0;

	assert_non_null(smaps);
	while (fgets(line, sizeof(line), smaps)) {
		if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
			is_it = begin <= (uintptr_t)numbers->of && (uintptr_t)numbers->of < end;
		else if (is_it && sscanf(line, "Rss: %lu kB", &kib) == 1)
			break;
	}
	fclose(smaps);
	return kib * 1024 / page;
}

/* /tmp may be memory, /var/tmp hardly is. */
static void on_disk(void)
{
	setenv("TMPDIR", "/var/tmp", 1);
}

/* Where /var/tmp is memory, too, or cannot be written to. */
static int has_no_disk(const struct numbers *numbers)
{
	return numbers->spill.is_kept;
}

static void a_large_array_is_in_a_file(void **state)
{
	struct numbers numbers = {0};

	(void)state;
	on_disk();
	add(&numbers, SPILL_FROM / sizeof(uint64_t));
	assert_int_equal(numbers.spill.mapped, 0);
	add(&numbers, MANY);
	if (has_no_disk(&numbers)) {
		spill_array_free(&numbers.spill, numbers.of);
		skip();
	}
	assert_true(numbers.spill.mapped >= numbers.capacity * sizeof(uint64_t));
	seal(&numbers);
	expect_all(&numbers);
	assert_in_range(resident_pages(&numbers), 1, 4 * SPILL_WINDOW / sysconf(_SC_PAGESIZE));
	expect_all(&numbers); /* from its beginning on again */
	assert_in_range(resident_pages(&numbers), 1, 4 * SPILL_WINDOW / sysconf(_SC_PAGESIZE));
	spill_array_release(&numbers.spill, numbers.of);
	assert_int_equal(resident_pages(&numbers), 0);
	expect_all(&numbers);
	spill_array_free(&numbers.spill, numbers.of);
}

/* Rows in the file and behind it, while it grows, and more at once than stays in memory. */
static void rows_can_be_changed(void **state)
{
	enum { STEP = 3 * SPILL_FROM / sizeof(uint64_t) / 2 };
	struct numbers numbers = {0};

	(void)state;
	on_disk();
	for (size_t wanted = STEP; wanted <= MANY; wanted += STEP) {
		const size_t before = numbers.count;

		assert_int_equal(spill_array_reserve(&numbers.spill, &numbers.of, &numbers.capacity, before,
		                                     wanted - before, sizeof(*numbers.of)),
		                 0);
		assert_true(numbers.capacity >= wanted);
		for (numbers.count = wanted; numbers.count-- > before;)
			numbers.of[numbers.count] = 0;
		numbers.count = wanted;
		for (size_t i = 0; i < wanted; i++)
			numbers.of[i] += i;
		spill_array_release(&numbers.spill, numbers.of);
	}
	seal(&numbers);
	spill_array_release(&numbers.spill, numbers.of);
	for (size_t i = 0; i < numbers.count; i++)
		if (numbers.of[i] != i * (numbers.count / STEP - i / STEP))
			fail_msg("number %zu is %llu", i, (unsigned long long)numbers.of[i]);
	spill_array_free(&numbers.spill, numbers.of);
}

/* That is what sealing means, but it is no reason to lose anything. */
static void a_sealed_array_grows_in_memory(void **state)
{
	struct numbers numbers = {0};

	(void)state;
	on_disk();
	add(&numbers, MANY);
	seal(&numbers);
	add(&numbers, 2 * MANY);
	assert_int_equal(numbers.spill.mapped, 0);
	expect_all(&numbers);
	spill_array_free(&numbers.spill, numbers.of);
}

static void without_a_file_it_is_in_memory(void **state)
{
	static const char *const nowhere[] = {"/nonexistent", "/dev/null", "/proc", "/dev/shm"};

	(void)state;
	for (size_t i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
		struct numbers numbers = {0};

		setenv("TMPDIR", nowhere[i], 1);
		add(&numbers, MANY);
		assert_int_equal(numbers.spill.mapped, 0);
		expect_all(&numbers);
		spill_array_free(&numbers.spill, numbers.of);
	}
}

/* As where a disk is full. Returns what they could grow to before. */
static struct rlimit let_files_grow_to(rlim_t size)
{
	struct rlimit before, less;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	less = before;
	less.rlim_cur = size;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
	return before;
}

/* SIGXFSZ would end the test. */
static void where_the_file_may_not_grow_it_returns_to_memory(void **state)
{
	struct numbers numbers = {0};
	struct rlimit before;

	(void)state;
	on_disk();
	before = let_files_grow_to(4 * SPILL_FROM);
	add(&numbers, 3 * SPILL_FROM / sizeof(uint64_t));
	assert_true(numbers.spill.mapped || has_no_disk(&numbers));
	add(&numbers, MANY);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(numbers.spill.mapped, 0);
	expect_all(&numbers);
	spill_array_free(&numbers.spill, numbers.of);
}

/* ---- Rows that are put away while there come more ------------------------------------------------ */

/* As add(), but all rows that can be are put away from time to time. Returns how many were. */
static size_t add_and_put(struct numbers *numbers, size_t count)
{
	enum { OFTEN = 20000 };
	size_t put = 0;

	for (size_t i = 0; i < count; i++) {
		assert_int_equal(spill_array_reserve(&numbers->spill, &numbers->of, &numbers->capacity,
		                                     numbers->count, 1, sizeof(*numbers->of)),
		                 0);
		numbers->of[numbers->count++] = 7 * i;
		if (i % OFTEN == OFTEN - 1) {
			const size_t now = spill_array_put(&numbers->spill, numbers->of,
			                                   numbers->count * sizeof(*numbers->of)) /
			                   sizeof(*numbers->of);

			memmove(numbers->of, numbers->of + now,
			        (numbers->count - now) * sizeof(*numbers->of));
			numbers->count -= now;
			put += now;
		}
	}
	return put;
}

static void gather(struct numbers *numbers, size_t put)
{
	const size_t in_memory = numbers->count;

	assert_int_equal(spill_array_gather(&numbers->spill, &numbers->of, &numbers->capacity,
	                                    &numbers->count, sizeof(*numbers->of)),
	                 0);
	assert_int_equal(numbers->count, in_memory + put);
	assert_in_range(numbers->count, 1, numbers->capacity);
}

static void rows_that_were_put_come_back(void **state)
{
	struct numbers numbers = {0};
	size_t put;

	(void)state;
	on_disk();
	put = add_and_put(&numbers, MANY);
	if (has_no_disk(&numbers)) {
		spill_array_free(&numbers.spill, numbers.of);
		skip();
	}
	assert_in_range(put, MANY / 2, MANY);
	assert_int_equal(numbers.spill.mapped, 0);
	gather(&numbers, put);
	assert_int_equal(numbers.count, MANY);
	expect_all(&numbers);
	add(&numbers, 2 * MANY); /* what is appended, or inserted, behind that */
	expect_all(&numbers);
	seal(&numbers);
	spill_array_release(&numbers.spill, numbers.of);
	assert_int_equal(resident_pages(&numbers), 0);
	expect_all(&numbers);
	spill_array_free(&numbers.spill, numbers.of);
}

static void nothing_is_put_where_there_is_no_file(void **state)
{
	struct numbers numbers = {0};

	(void)state;
	setenv("TMPDIR", "/nonexistent", 1);
	assert_int_equal(add_and_put(&numbers, MANY), 0);
	gather(&numbers, 0);
	assert_int_equal(numbers.count, MANY);
	expect_all(&numbers);
	spill_array_free(&numbers.spill, numbers.of);
}

static void what_a_full_file_does_not_take_stays_in_memory(void **state)
{
	struct numbers numbers = {0};
	struct rlimit before;
	size_t put;

	(void)state;
	on_disk();
	before = let_files_grow_to(4 * SPILL_FROM);
	put = add_and_put(&numbers, MANY);
	assert_in_range(put, 0, 4 * SPILL_FROM / sizeof(uint64_t));
	gather(&numbers, put);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(numbers.count, MANY);
	expect_all(&numbers);
	spill_array_free(&numbers.spill, numbers.of);
}

static void rows_that_were_put_are_freed(void **state)
{
	struct numbers numbers = {0};

	(void)state;
	on_disk();
	add_and_put(&numbers, MANY);
	spill_array_free(&numbers.spill, numbers.of);
	assert_int_equal(numbers.spill.filed, 0);
}

/* ---- Schedules ---------------------------------------------------------------------------------- */

enum build { as_switches, as_switches_cut_off, as_samples };

static void expect_samples(struct sb_system *system)
{
	uint8_t priv[18 * 8] = {[7 * 8] = 1};
	const struct sb_record info = {
	        .type = SB_RECORD_AUXTRACE_INFO,
	        .u.auxtrace_info = {.type = SB_AUXTRACE_INTEL_PT, .priv = priv, .npriv = 18}};

	assert_int_equal(system_record(system, &info), 0);
}

static struct sb_record switch_record(enum build build, uint32_t i)
{
	const int32_t tid = (int32_t)(100 + i % 13), next = (int32_t)(100 + (i + 1) % 13);
	struct sb_record record = {.type = PERF_RECORD_SWITCH_CPU_WIDE,
	                           .sample = {.has = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
	                                      .time = 1000 + 100 * (uint64_t)i,
	                                      .cpu = i % 8 == 0,
	                                      .pid = tid,
	                                      .tid = tid}};

	if (build == as_samples) {
		record.type = PERF_RECORD_SAMPLE;
		record.u.sample.is_sched_switch = 1;
		record.u.sample.prev_tid = tid;
		record.u.sample.next_tid = next;
	} else {
		record.u.context_switch.next_prev_pid = record.u.context_switch.next_prev_tid = next;
		record.u.context_switch.out = 1;
	}
	return record;
}

/* Every 50th switch has no record, so that there is something to find out. */
static struct sb_system *build(enum build build)
{
	enum { SWITCHES = 100000, ROUND = 1000 };
	const struct sb_record finished = {.type = SB_RECORD_FINISHED_ROUND};
	struct sb_system *system = system_new(1);

	assert_non_null(system);
	if (build == as_samples)
		expect_samples(system);
	for (uint32_t i = 0; i < SWITCHES; i++) {
		const struct sb_record record = switch_record(build, i);

		if (i % 50 == 7)
			continue;
		assert_int_equal(system_record(system, &record), 0);
		if (i % ROUND == 0)
			assert_int_equal(system_record(system, &finished), 0);
	}
	assert_int_equal(system_seal(system, build == as_switches_cut_off), 0);
	return system;
}

static void expect_same(enum build way)
{
	struct sb_system *system, *other;

	on_disk();
	system = build(way);
	setenv("TMPDIR", "/nonexistent", 1);
	other = build(way);
	assert_true(system_schedule(system)->cpu[0].spill.mapped ||
	            system_schedule(system)->cpu[0].spill.is_kept);
	assert_int_equal(system_schedule(other)->cpu[0].spill.mapped, 0);
	for (int32_t cpu = 0; cpu < 2; cpu++) {
		size_t left, right;
		const struct sb_sched *a = sb_system_schedule(system, cpu, &left);
		const struct sb_sched *b = sb_system_schedule(other, cpu, &right);

		assert_in_range(left, 1000, 200000);
		assert_int_equal(left, right);
		assert_memory_equal(a, b, left * sizeof(*a));
		system_schedule_release(system, cpu);
		assert_memory_equal(a, b, left * sizeof(*a));
		assert_int_equal(system_switch_losses(system, cpu), system_switch_losses(other, cpu));
		assert_memory_equal(&system_schedule(system)->cpu[cpu].count,
		                    &system_schedule(other)->cpu[cpu].count, sizeof(struct switch_count));
	}
	sb_system_free(system);
	sb_system_free(other);
}

static void schedules_are_the_same_in_a_file(void **state)
{
	(void)state;
	expect_same(as_switches);
}

static void so_are_those_that_are_cut_off(void **state)
{
	(void)state;
	expect_same(as_switches_cut_off);
}

static void so_are_those_of_samples(void **state)
{
	(void)state;
	expect_same(as_samples);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_large_array_is_in_a_file),
	        cmocka_unit_test(rows_can_be_changed),
	        cmocka_unit_test(a_sealed_array_grows_in_memory),
	        cmocka_unit_test(without_a_file_it_is_in_memory),
	        cmocka_unit_test(where_the_file_may_not_grow_it_returns_to_memory),
	        cmocka_unit_test(rows_that_were_put_come_back),
	        cmocka_unit_test(nothing_is_put_where_there_is_no_file),
	        cmocka_unit_test(what_a_full_file_does_not_take_stays_in_memory),
	        cmocka_unit_test(rows_that_were_put_are_freed),
	        cmocka_unit_test(schedules_are_the_same_in_a_file),
	        cmocka_unit_test(so_are_those_that_are_cut_off),
	        cmocka_unit_test(so_are_those_of_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
