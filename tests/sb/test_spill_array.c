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

/* As where a disk is full; SIGXFSZ would end the test. */
static void where_the_file_may_not_grow_it_returns_to_memory(void **state)
{
	struct rlimit before, less;
	struct numbers numbers = {0};

	(void)state;
	on_disk();
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	less = before;
	less.rlim_cur = 4 * SPILL_FROM;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
	add(&numbers, 3 * SPILL_FROM / sizeof(uint64_t));
	assert_true(numbers.spill.mapped || has_no_disk(&numbers));
	add(&numbers, MANY);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(numbers.spill.mapped, 0);
	expect_all(&numbers);
	spill_array_free(&numbers.spill, numbers.of);
}

/* ---- Schedules ---------------------------------------------------------------------------------- */

/* Every 50th switch has no record, so that there is something to find out. */
static struct sb_system *build(void)
{
	enum { SWITCHES = 100000, ROUND = 1000 };
	const struct sb_record finished = {.type = SB_RECORD_FINISHED_ROUND};
	struct sb_system *system = system_new(1);
	struct sb_record record = {.type = PERF_RECORD_SWITCH_CPU_WIDE,
	                           .sample = {.has = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU}};

	assert_non_null(system);
	for (uint32_t i = 0; i < SWITCHES; i++) {
		if (i % 50 == 7)
			continue;
		record.sample.time = 1000 + 100 * (uint64_t)i;
		record.sample.cpu = i % 8 == 0;
		record.sample.pid = record.sample.tid = (int32_t)(100 + i % 13);
		record.u.context_switch.next_prev_pid = record.u.context_switch.next_prev_tid =
		        (int32_t)(100 + (i + 1) % 13);
		record.u.context_switch.out = 1;
		assert_int_equal(system_record(system, &record), 0);
		if (i % ROUND == 0)
			assert_int_equal(system_record(system, &finished), 0);
	}
	assert_int_equal(system_seal(system, 0), 0);
	return system;
}

static void schedules_are_the_same_in_a_file(void **state)
{
	struct sb_system *system, *other;

	(void)state;
	on_disk();
	system = build();
	setenv("TMPDIR", "/nonexistent", 1);
	other = build();
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
	}
	sb_system_free(system);
	sb_system_free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_large_array_is_in_a_file),
	        cmocka_unit_test(rows_can_be_changed),
	        cmocka_unit_test(a_sealed_array_grows_in_memory),
	        cmocka_unit_test(without_a_file_it_is_in_memory),
	        cmocka_unit_test(where_the_file_may_not_grow_it_returns_to_memory),
	        cmocka_unit_test(schedules_are_the_same_in_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
