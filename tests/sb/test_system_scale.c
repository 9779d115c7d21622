/* test_system_scale.c - the model of large systems: what it says, and that memory follows the model, not the
 * number of records.
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

#include <sb/perfdata_write.h>

#include "support/temp_dir.h"
#include "system/address_space.h"
#include "system/schedule.h"
#include "system/string_table.h"
#include "system/system.h"

enum {
	PROCESSES = 10000,
	EVENTS = 100000,
	CPUS = 4,
	PAGES = 12,
	EVENTS_PER_ROUND = 500,
	FIRST_PID = 100,
	FIRST_PAGE = 0x10
};

/* ---- A made-up system ------------------------------------------------------------------------- */

enum kind { kind_map, kind_exec, kind_switch, kind_name, kinds };

/* What happens, in the order of times; a recording has it CPU by CPU in each round. */
struct event {
	uint64_t time;
	enum kind kind;
	uint32_t cpu;
	int32_t pid;
	uint32_t page, name;
};

static const char *const names[] = {"a", "libb.so", "/usr/lib/c.so", "/usr/lib/d.so"};

static uint32_t draw(uint32_t *random, uint32_t below)
{
	*random = *random * 1664525u + 1013904223u;
	return (*random >> 8) % below;
}

static struct event *make_events(void)
{
	struct event *event = calloc(EVENTS, sizeof(*event));
	uint32_t random = 1;

	assert_non_null(event);
	for (size_t i = 0; i < EVENTS; ++i)
		event[i] = (struct event){.time = 1000 + i,
		                          .kind = (enum kind)draw(&random, kinds),
		                          .cpu = draw(&random, CPUS),
		                          .pid = FIRST_PID + (int32_t)draw(&random, PROCESSES),
		                          .page = FIRST_PAGE + draw(&random, PAGES),
		                          .name = draw(&random, 4)};
	/* Whose beginning is not known may have another one's memory. */
	for (int32_t i = 0; i < PROCESSES; ++i)
		event[i] = (struct event){1000 + (uint64_t)i, kind_exec, 0, FIRST_PID + i, 0, 0};
	return event;
}

static struct sb_record record_of(const struct event *event)
{
	struct sb_record record = {.sample = {.has = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
	                                      .time = event->time,
	                                      .cpu = event->cpu,
	                                      .pid = event->pid,
	                                      .tid = event->pid}};

	switch (event->kind) {
	case kind_map:
		record.type = PERF_RECORD_MMAP2;
		record.u.mmap.pid = record.u.mmap.tid = event->pid;
		record.u.mmap.addr = (uint64_t)event->page << 12;
		record.u.mmap.len = 0x1000;
		record.u.mmap.filename = names[event->name];
		record.u.mmap.prot = PROT_EXEC;
		record.u.mmap.is_mmap2 = 1;
		break;
	case kind_switch:
		record.type = PERF_RECORD_SWITCH_CPU_WIDE;
		record.u.context_switch.next_prev_pid = record.u.context_switch.next_prev_tid = -1;
		break;
	default:
		record.type = PERF_RECORD_COMM;
		record.u.comm.pid = record.u.comm.tid = event->pid;
		record.u.comm.name = names[event->name];
		record.u.comm.exec = event->kind == kind_exec;
		break;
	}
	return record;
}

static int add(struct sb_system *system, const struct event *event)
{
	const struct sb_record record = record_of(event);

	return system_record(system, &record);
}

/* A CPU's buffer is read out a while after another one's: which round event @i gets into. */
static size_t round_of(const struct event *event, size_t i)
{
	return (i + 100 * (size_t)event[i].cpu) / EVENTS_PER_ROUND;
}

static struct sb_system *build(const struct event *event, int thrifty)
{
	const struct sb_record finished = {.type = SB_RECORD_FINISHED_ROUND};
	struct sb_system *system = system_new(thrifty);

	assert_non_null(system);
	for (size_t round = 0; round <= EVENTS / EVENTS_PER_ROUND; ++round) {
		const size_t begin = round ? (round - 1) * EVENTS_PER_ROUND : 0;

		for (uint32_t cpu = 0; cpu < CPUS; ++cpu)
			for (size_t i = begin; i < EVENTS && i < begin + 2 * EVENTS_PER_ROUND; ++i)
				if (event[i].cpu == cpu && round_of(event, i) == round)
					assert_int_equal(add(system, &event[i]), 0);
		assert_int_equal(system_record(system, &finished), 0);
	}
	assert_int_equal(system_seal(system, 0), 0);
	return system;
}

/* ---- What the model says ---------------------------------------------------------------------- */

/* At @time, by going through all that happened to @pid. */
struct state {
	const char *page[PAGES], *name;
};

static struct state naive_state(const struct event *event, int32_t pid, uint64_t time)
{
	struct state state = {.name = ""};

	for (size_t i = 0; i < EVENTS && event[i].time <= time; ++i) {
		if (event[i].pid != pid)
			continue;
		if (event[i].kind == kind_exec)
			state = (struct state){0};
		if (event[i].kind == kind_exec || event[i].kind == kind_name)
			state.name = names[event[i].name];
		if (event[i].kind == kind_map)
			state.page[event[i].page - FIRST_PAGE] = names[event[i].name];
	}
	return state;
}

static void check_state(const struct sb_system *system, const struct event *event, int32_t pid, uint64_t time)
{
	const struct state state = naive_state(event, pid, time);
	const struct sb_space *space = sb_system_space(system, pid, time);
	const struct sb_epoch *epoch = space ? sb_space_epoch(space, time) : NULL;

	assert_string_equal(sb_system_comm(system, pid, pid, time), state.name);
	for (uint64_t i = 0; i < PAGES; ++i) {
		const uint64_t addr = (FIRST_PAGE + i) << 12;
		const struct sb_map *map = epoch ? sb_epoch_map(epoch, addr) : NULL;

		if (!state.page[i]) /* may be mapped already, as nothing conflicts with it */
			continue;
		assert_non_null(map);
		assert_true(map->begin <= addr);
		assert_string_equal(map->filename, state.page[i]);
	}
}

static void check_schedule(const struct sb_system *system, const struct event *event)
{
	for (uint32_t cpu = 0; cpu < CPUS; ++cpu) {
		size_t count, k = 0;
		const struct sb_sched *sched = sb_system_schedule(system, (int32_t)cpu, &count);
		int32_t pid = -1;

		for (size_t i = 0; i < EVENTS; ++i) {
			if (event[i].cpu != cpu || event[i].kind != kind_switch)
				continue;
			if (event[i].pid == pid)
				continue;
			pid = event[i].pid;
			while (k < count && sched[k].time == 0) /* who ran before the first switch */
				++k;
			assert_true(k < count);
			assert_int_equal(sched[k].pid, pid);
			assert_int_equal(sched[k++].time, event[i].time);
		}
		assert_int_equal(k, count);
	}
}

static void a_large_system_is_what_happened(void **state)
{
	struct event *event = make_events();
	uint32_t random = 2;

	(void)state;
	for (int thrifty = 0; thrifty < 2; ++thrifty) {
		struct sb_system *system = build(event, thrifty);

		check_schedule(system, event);
		for (size_t i = 0; i < 1000; ++i)
			check_state(system, event, FIRST_PID + (int32_t)draw(&random, PROCESSES),
			            990 + draw(&random, EVENTS + 20));
		sb_system_free(system);
	}
	free(event);
}

/* ---- Thrift ----------------------------------------------------------------------------------- */

static void thrift_notices_a_record_that_comes_too_late(void **state)
{
	const struct sb_record finished = {.type = SB_RECORD_FINISHED_ROUND};
	const struct event first = {.time = 100, .kind = kind_map, .pid = 5, .page = 0x10};
	const struct event second = {.time = 200, .kind = kind_map, .pid = 5, .page = 0x11};
	struct event late = {.time = 100, .kind = kind_map, .cpu = 1, .pid = 6, .page = 0x12};
	struct sb_system *system = system_new(1);

	(void)state;
	assert_int_equal(add(system, &first), 0);
	assert_int_equal(system_record(system, &finished), 0);
	assert_int_equal(add(system, &second), 0);
	assert_int_equal(system_record(system, &finished), 0);
	assert_int_equal(add(system, &late), 0); /* as old as what was told: the order is right */
	late.time = 99;
	assert_true(add(system, &late) > 0);
	sb_system_free(system);
}

/* Switches settle when there are many. */
static void thrift_notices_a_switch_that_comes_too_late(void **state)
{
	const struct sb_record finished = {.type = SB_RECORD_FINISHED_ROUND};
	struct event event = {.kind = kind_switch};
	const struct event late = {.time = 99, .kind = kind_switch, .pid = 6};
	struct sb_system *system = system_new(1);

	(void)state;
	for (event.time = 100; event.time < 2000; ++event.time) {
		event.pid = (int32_t)event.time % 2;
		assert_int_equal(add(system, &event), 0);
		assert_int_equal(system_record(system, &finished), 0);
	}
	assert_true(add(system, &late) > 0);
	sb_system_free(system);
}

static void write_map(struct sb_perfdata_writer *writer, uint64_t time, const char *filename)
{
	const struct sb_write_sample sample = {.pid = 5, .tid = 5, .time = time};
	const struct sb_write_mmap2 map = {
	        .pid = 5, .tid = 5, .addr = 0x1000, .len = 0x1000, .prot = PROT_EXEC, .filename = filename};

	assert_int_equal(sb_write_mmap2(writer, &sample, &map, NULL), 0);
	assert_int_equal(sb_write_finished_round(writer, NULL), 0);
}

/* The model is that of the times, in whatever order the records come. */
static void a_recording_with_late_records_is_read_patiently(void **state)
{
	const struct sb_perfdata_write_config config = {.size = sizeof(config), .ncpus = 1, .pt_pmu_type = 8};
	struct temp_dir dir;
	struct sb_perfdata_writer *writer;
	struct sb_perfdata *perfdata;
	struct sb_system *system;
	const struct sb_space *space;
	char *path;

	(void)state;
	temp_dir_make(&dir);
	path = temp_dir_path(&dir, "perf.data");
	assert_int_equal(sb_perfdata_writer_open(&writer, path, &config, NULL), 0);
	for (uint64_t time = 100; time < 110; ++time)
		write_map(writer, time, time % 2 ? "odd" : "even");
	write_map(writer, 50, "late");
	assert_int_equal(sb_perfdata_writer_finish(writer, NULL), 0);

	assert_int_equal(sb_perfdata_open(&perfdata, path, NULL), 0);
	assert_int_equal(sb_system_build(&system, perfdata, NULL), 0);
	space = sb_system_space(system, 5, 60);
	assert_int_equal(space->nepochs, 11);
	assert_string_equal(sb_epoch_map(sb_space_epoch(space, 60), 0x1000)->filename, "late");
	assert_string_equal(sb_epoch_map(sb_space_epoch(space, 109), 0x1000)->filename, "odd");
	sb_system_free(system);
	sb_perfdata_close(perfdata);
	free(path);
	temp_dir_remove(&dir);
}

/* A CPU has two buffers: what the second one holds comes behind what the first one holds of the round. */
static void two_buffers_of_a_cpu_are_put_in_order(void **state)
{
	enum { ROUNDS = 3000 };
	const struct sb_record finished = {.type = SB_RECORD_FINISHED_ROUND};
	struct sb_system *system = system_new(1);
	const struct sb_sched *sched;
	size_t count;

	(void)state;
	for (uint64_t round = 1; round <= ROUNDS; ++round) {
		const uint64_t time = 10 * round;
		const struct event event[] = {
		        {.time = time + 1, .kind = kind_switch, .pid = 5},
		        {.time = time + 7, .kind = kind_switch, .pid = 5},
		        {.time = time + 3, .kind = kind_switch, .pid = 6},
		        {.time = time + 9, .kind = kind_switch, .pid = 5},
		};

		for (size_t i = 0; i < sizeof(event) / sizeof(event[0]); ++i)
			assert_int_equal(add(system, &event[i]), 0);
		assert_int_equal(system_record(system, &finished), 0);
	}
	assert_int_equal(system_seal(system, 0), 0);
	sched = sb_system_schedule(system, 0, &count);
	assert_int_equal(count, 2 + 2 * ROUNDS); /* who ran first; 5 from the start; 6 and 5 in each round */
	for (size_t i = 2; i < count; ++i) {
		assert_int_equal(sched[i].pid, i % 2 ? 5 : 6);
		assert_int_equal(sched[i].time, 10 * (i / 2) + (i % 2 ? 7 : 3));
	}
	sb_system_free(system);
}

static void switches_that_change_nothing_take_no_memory(void **state)
{
	const struct sb_record finished = {.type = SB_RECORD_FINISHED_ROUND};
	struct schedule schedule = {.thrifty = 1};
	struct event event = {.kind = kind_switch, .pid = 5};

	(void)state;
	for (event.time = 1; event.time < 100000; ++event.time) {
		const struct sb_record record = record_of(&event);

		assert_int_equal(schedule_record(&schedule, &record, event.time), 0);
		if (event.time % 100 == 0)
			assert_int_equal(schedule_record(&schedule, &finished, 0), 0);
	}
	assert_true(schedule.cpu[0].sched_capacity <= 1024);
	assert_int_equal(schedule_seal(&schedule, 0), 0);
	assert_int_equal(schedule.cpu[0].nscheds, 2); /* with who ran before */
	schedule_free(&schedule);
}

/* The node of a mapping that is known already is used again. */
static void mappings_that_change_nothing_take_no_memory(void **state)
{
	struct space_pool pool;
	struct space *space;
	struct sb_map_node *last = NULL;

	(void)state;
	space_pool_init(&pool);
	space = space_new(&pool, 5, 0, NULL);
	for (uint64_t time = 0; time < 1000; ++time) {
		struct sb_map_node *node = space_node(&pool);

		assert_non_null(node);
		if (time > 1)
			assert_ptr_equal(node, last);
		last = node;
		node->map = (struct sb_map){.begin = 0x1000, .end = 0x2000, .filename = "a", .time = time};
		assert_int_equal(space_map(&pool, space, node), 0);
	}
	assert_int_equal(space->nepochs, 1);
	space_pool_free(&pool);
}

static void equal_names_are_one(void **state)
{
	struct string_table table;
	const char *kept[2000];
	char name[32];

	(void)state;
	string_table_init(&table, 4711);
	for (int i = 0; i < 4000; ++i) {
		const char *string;

		snprintf(name, sizeof(name), "%0*d", i % 2000 % 17, i % 2000);
		string = string_table_keep(&table, name);
		assert_string_equal(string, name);
		if (i < 2000)
			kept[i] = string;
		else
			assert_ptr_equal(string, kept[i - 2000]);
	}
	assert_string_equal(string_table_keep(&table, ""), "");
	string_table_free(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_large_system_is_what_happened),
	        cmocka_unit_test(thrift_notices_a_record_that_comes_too_late),
	        cmocka_unit_test(thrift_notices_a_switch_that_comes_too_late),
	        cmocka_unit_test(a_recording_with_late_records_is_read_patiently),
	        cmocka_unit_test(two_buffers_of_a_cpu_are_put_in_order),
	        cmocka_unit_test(switches_that_change_nothing_take_no_memory),
	        cmocka_unit_test(mappings_that_change_nothing_take_no_memory),
	        cmocka_unit_test(equal_names_are_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
