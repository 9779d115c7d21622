/* test_system.c - what the model concludes from records that are made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "system/system.h"

/* ---- Records ---------------------------------------------------------------------------------- */

static struct sb_record record_at(uint32_t type, uint64_t time, uint32_t cpu, int32_t pid, int32_t tid)
{
	struct sb_record record = {.type = type};

	record.sample.has = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	record.sample.time = time;
	record.sample.cpu = cpu;
	record.sample.pid = pid;
	record.sample.tid = tid;
	return record;
}

static void add(struct sb_system *system, struct sb_record record)
{
	assert_int_equal(system_record(system, &record), 0);
}

static void comm(struct sb_system *system, uint64_t time, int32_t pid, int32_t tid, const char *name,
                 int exec)
{
	struct sb_record record = record_at(PERF_RECORD_COMM, time, 0, pid, tid);

	record.u.comm.pid = pid;
	record.u.comm.tid = tid;
	record.u.comm.name = name;
	record.u.comm.exec = exec;
	add(system, record);
}

static void map_as(struct sb_system *system, uint64_t time, int32_t pid, uint64_t addr, uint64_t len,
                   uint64_t pgoff, const char *filename, uint32_t prot)
{
	struct sb_record record = record_at(PERF_RECORD_MMAP2, time, 0, pid, pid);

	record.u.mmap.pid = pid;
	record.u.mmap.tid = pid;
	record.u.mmap.addr = addr;
	record.u.mmap.len = len;
	record.u.mmap.pgoff = pgoff;
	record.u.mmap.filename = filename;
	record.u.mmap.prot = prot;
	record.u.mmap.is_mmap2 = 1;
	add(system, record);
}

static void map(struct sb_system *system, uint64_t time, int32_t pid, uint64_t addr, uint64_t len,
                uint64_t pgoff, const char *filename)
{
	map_as(system, time, pid, addr, len, pgoff, filename, PROT_READ | PROT_EXEC);
}

static void map_writable(struct sb_system *system, uint64_t time, uint64_t addr, uint64_t len, uint64_t pgoff,
                         const char *filename)
{
	map_as(system, time, 5, addr, len, pgoff, filename, PROT_READ | PROT_WRITE | PROT_EXEC);
}

static void task(struct sb_system *system, uint32_t type, uint64_t time, int32_t pid, int32_t ppid,
                 int32_t tid, int32_t ptid)
{
	struct sb_record record = record_at(type, time, 0, ppid, ptid);

	record.u.task.pid = pid;
	record.u.task.ppid = ppid;
	record.u.task.tid = tid;
	record.u.task.ptid = ptid;
	record.u.task.time = time;
	add(system, record);
}

static void switch_wide(struct sb_system *system, uint64_t time, uint32_t cpu, int32_t tid, int out,
                        int32_t other)
{
	struct sb_record record = record_at(PERF_RECORD_SWITCH_CPU_WIDE, time, cpu, tid, tid);

	record.u.context_switch.out = out;
	record.u.context_switch.next_prev_pid = other;
	record.u.context_switch.next_prev_tid = other;
	add(system, record);
}

/* ---- What is expected, as text ---------------------------------------------------------------- */

/* "1000-3000 libc.so+1000, ...", with a ! behind what the process could write to */
static void assert_maps(const struct sb_epoch *epoch, const char *expected)
{
	char text[1024] = "";

	for (const struct sb_map *m = sb_epoch_map(epoch, 0); m; m = sb_epoch_map(epoch, m->end))
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%jx-%jx %s+%jx%s",
		         text[0] ? ", " : "", (uintmax_t)m->begin, (uintmax_t)m->end, m->filename,
		         (uintmax_t)m->pgoff, m->origin == sb_map_written ? "!" : "");
	assert_string_equal(text, expected);
}

static void assert_maps_at(struct sb_system *system, int32_t pid, uint64_t time, const char *expected)
{
	const struct sb_space *space = sb_system_space(system, pid, time);
	const struct sb_epoch *epoch;

	assert_non_null(space);
	epoch = sb_space_epoch(space, time);
	assert_non_null(epoch);
	assert_true(epoch->from <= time && time < epoch->to);
	assert_maps(epoch, expected);
}

/* "time:pid/tid ..." */
static void assert_schedule(struct sb_system *system, int32_t cpu, const char *expected)
{
	char text[1024] = "";
	size_t count;
	const struct sb_sched *sched = sb_system_schedule(system, cpu, &count);

	for (size_t i = 0; i < count; ++i)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%ju:%d/%d", i ? " " : "",
		         (uintmax_t)sched[i].time, sched[i].pid, sched[i].tid);
	assert_string_equal(text, expected);
}

static int setup(void **state)
{
	*state = system_new(0);
	return *state ? 0 : -1;
}

/* All that @pid has mapped is known. */
static void begins(struct sb_system *system, int32_t pid)
{
	comm(system, 0, pid, pid, "a", 0);
}

static int teardown(void **state)
{
	sb_system_free(*state);
	return 0;
}

/* ---- Address spaces --------------------------------------------------------------------------- */

static void one_epoch_serves_mappings_that_do_not_conflict(void **state)
{
	struct sb_system *system = *state;

	comm(system, 10, 5, 5, "a", 1);
	map(system, 11, 5, 0x1000, 0x1000, 0, "a");
	map(system, 50, 5, 0x8000, 0x2000, 0x1000, "b.so");
	system_seal(system, 0);
	assert_int_equal(sb_system_space(system, 5, 20)->nepochs, 1);
	assert_maps_at(system, 5, 20, "1000-2000 a+0, 8000-a000 b.so+1000");
	assert_null(sb_system_space(system, 5, 9));
	assert_null(sb_system_space(system, 6, 20));
}

static void mapping_the_same_again_is_no_conflict(void **state)
{
	struct sb_system *system = *state;

	begins(system, 5);
	map(system, 10, 5, 0x1000, 0x3000, 0x1000, "a");
	map(system, 20, 5, 0x2000, 0x1000, 0x2000, "a");
	map(system, 30, 5, 0x3000, 0x2000, 0x3000, "a");
	system_seal(system, 0);
	assert_int_equal(sb_system_nepochs(system), 1);
	assert_maps_at(system, 5, 20, "1000-5000 a+1000");
}

static void a_conflict_begins_an_epoch(void **state)
{
	struct sb_system *system = *state;

	begins(system, 5);
	map(system, 10, 5, 0x1000, 0x4000, 0, "a");
	map(system, 20, 5, 0x2000, 0x1000, 0, "b");
	map(system, 30, 5, 0x2000, 0x1000, 0x1000, "b");
	system_seal(system, 0);
	assert_int_equal(sb_system_space(system, 5, 20)->nepochs, 3);
	assert_maps_at(system, 5, 0, "1000-5000 a+0");
	assert_maps_at(system, 5, 19, "1000-5000 a+0");
	assert_maps_at(system, 5, 20, "1000-2000 a+0, 2000-3000 b+0, 3000-5000 a+2000");
	assert_maps_at(system, 5, 99, "1000-2000 a+0, 2000-3000 b+1000, 3000-5000 a+2000");
}

/* What it has may be what nobody knows its parent had, and what it maps comes in the place of that. */
static void what_a_stranger_maps_was_not_there_before(void **state)
{
	struct sb_system *system = *state;
	const struct sb_space *space;

	map(system, 5, 5, 0x1000, 0x1000, 0, "//anon");
	map(system, 10, 5, 0x2000, 0x1000, 0, "a");
	map(system, 20, 5, 0x4000, 0x1000, 0, "b");
	map(system, 30, 5, 0x4000, 0x1000, 0, "b");
	map(system, 40, 5, 0x6000, 0x1000, 0, "//anon");
	system_seal(system, 0);
	space = sb_system_space(system, 5, 0);
	assert_int_equal(space->nepochs, 3);
	assert_maps_at(system, 5, 9, "1000-2000 //anon+0");
	assert_maps_at(system, 5, 19, "1000-2000 //anon+0, 2000-3000 a+0");
	assert_maps_at(system, 5, 20, "1000-2000 //anon+0, 2000-3000 a+0, 4000-5000 b+0, 6000-7000 //anon+0");
}

/* Nothing, where it was not seen with any memory at all. */
static void a_stranger_has_nothing_at_first(void **state)
{
	struct sb_system *system = *state;

	map(system, 10, 5, 0x2000, 0x1000, 0, "a");
	system_seal(system, 0);
	assert_null(sb_space_epoch(sb_system_space(system, 5, 0), 9));
	assert_maps_at(system, 5, 10, "2000-3000 a+0");
}

static void a_conflict_can_hide_many_mappings(void **state)
{
	struct sb_system *system = *state;

	for (uint64_t i = 1; i <= 8; ++i)
		map(system, 10, 5, i * 0x1000, 0x1000, 0, i % 2 ? "a" : "b");
	map(system, 20, 5, 0x1800, 0x7000, 0, "c");
	system_seal(system, 0);
	assert_maps_at(system, 5, 20, "1000-1800 a+0, 1800-8800 c+0, 8800-9000 b+800");
}

/* By how they begin, whatever comes behind it. */
static void names_of_anonymous_memory_are_known(void **state)
{
	static const char *const are[] = {"",
	                                  "//anon",
	                                  "[heap]",
	                                  "[stack]",
	                                  "[stack:12]",
	                                  "[anon:arena]",
	                                  "/memfd:code (deleted)",
	                                  "memfd:code",
	                                  "/dev/zero (deleted)",
	                                  "/SYSV00000000 (deleted)",
	                                  "/anon_hugepage (deleted)",
	                                  "/i915 (deleted)",
	                                  "anon_inode:[perf_event]",
	                                  "/[aio] (deleted)"};
	static const char *const are_not[] = {"/",        "[",      "a",     "/usr/bin/sh", "/memfd",
	                                      "/dev/zer", "[vdso]", "//ano", "/anon",       "/tmp/[heap]"};

	(void)state;
	for (size_t i = 0; i < sizeof(are) / sizeof(are[0]); ++i)
		assert_true(sb_map_is_anonymous(are[i]));
	for (size_t i = 0; i < sizeof(are_not) / sizeof(are_not[0]); ++i)
		assert_false(sb_map_is_anonymous(are_not[i]));
}

static void anonymous_mappings_never_conflict_with_each_other(void **state)
{
	struct sb_system *system = *state;

	map(system, 10, 5, 0x1000, 0x1000, 0x77, "//anon");
	map(system, 20, 5, 0x1000, 0x2000, 0, "//anon");
	system_seal(system, 0);
	assert_int_equal(sb_system_nepochs(system), 1);
	assert_maps_at(system, 5, 0, "1000-3000 //anon+0");
}

static void what_could_be_written_stays_so_until_another_file_comes(void **state)
{
	struct sb_system *system = *state;

	map(system, 10, 5, 0x1000, 0x4000, 0, "/a");
	map_writable(system, 20, 0x2000, 0x1000, 0x1000, "/a");
	map(system, 30, 5, 0x2000, 0x1000, 0x1000, "/a");
	map(system, 40, 5, 0x2000, 0x1000, 0, "/b");
	map_writable(system, 50, 0x3000, 0x2000, 0x2000, "/a");
	map(system, 60, 5, 0x1000, 0x4000, 0, "/a");
	map_writable(system, 70, 0x8000, 0x1000, 0, "//anon");
	system_seal(system, 0);
	assert_maps_at(system, 5, 19, "1000-5000 /a+0");
	assert_maps_at(system, 5, 39, "1000-2000 /a+0, 2000-3000 /a+1000!, 3000-5000 /a+2000");
	assert_maps_at(system, 5, 49, "1000-2000 /a+0, 2000-3000 /b+0, 3000-5000 /a+2000");
	assert_maps_at(system, 5, 59, "1000-2000 /a+0, 2000-3000 /b+0, 3000-5000 /a+2000!");
	/* Nobody knows which of it: all. */
	assert_maps_at(system, 5, 60, "1000-5000 /a+0!, 8000-9000 //anon+0");
}

static void a_piece_that_is_made_executable_again_may_have_been_written(void **state)
{
	struct sb_system *system = *state;

	map(system, 0, 5, 0x1000, 0x4000, 0, "/a");
	map(system, 0, 5, 0x2000, 0x1000, 0x1000, "/a"); /* not made at a time */
	map(system, 10, 5, 0x1000, 0x4000, 0, "/a");
	map(system, 20, 5, 0x2000, 0x1000, 0x1000, "/a");
	map(system, 30, 5, 0x9000, 0x4000, 0, "//anon");
	map(system, 40, 5, 0x9000, 0x1000, 0, "//anon");
	map(system, 50, 5, 0x2000, 0x1000, 0, "/b");
	map(system, 60, 5, 0x4000, 0x2000, 0x3000, "/a"); /* grows */
	system_seal(system, 0);
	assert_maps_at(system, 5, 19, "1000-5000 /a+0");
	assert_maps_at(system, 5, 29,
	               "1000-2000 /a+0, 2000-3000 /a+1000!, 3000-5000 /a+2000, 9000-d000 //anon+0");
	assert_maps_at(system, 5, 60,
	               "1000-2000 /a+0, 2000-3000 /b+0, 3000-6000 /a+2000, 9000-d000 //anon+0");
}

static void only_code_of_user_space_counts(void **state)
{
	struct sb_system *system = *state;
	struct sb_record record = record_at(PERF_RECORD_MMAP2, 1, 0, 5, 5);

	record.u.mmap.pid = 5;
	record.u.mmap.tid = 5;
	record.u.mmap.addr = 0x1000;
	record.u.mmap.len = 0x1000;
	record.u.mmap.filename = "x";
	record.u.mmap.is_mmap2 = 1;
	record.u.mmap.prot = PROT_READ | PROT_WRITE;
	add(system, record);
	record.u.mmap.prot = PROT_EXEC;
	record.u.mmap.is_kernel = 1;
	add(system, record);
	record.u.mmap.is_kernel = 0;
	record.u.mmap.is_data = 1;
	add(system, record);
	record.u.mmap.is_data = 0;
	record.u.mmap.len = 0;
	add(system, record);
	system_seal(system, 0);
	assert_int_equal(sb_system_nepochs(system), 0);
}

static void exec_begins_an_empty_space(void **state)
{
	struct sb_system *system = *state;

	map(system, 0, 5, 0x1000, 0x1000, 0, "sh");
	comm(system, 20, 5, 5, "ls", 1);
	map(system, 21, 5, 0x1000, 0x1000, 0, "ls");
	system_seal(system, 0);
	assert_maps_at(system, 5, 19, "1000-2000 sh+0");
	assert_maps_at(system, 5, 20, "1000-2000 ls+0");
	assert_int_equal(sb_system_space(system, 5, 19)->to, 20);
	assert_int_equal(sb_system_nepochs(system), 2);
}

static void a_new_name_alone_is_no_exec(void **state)
{
	struct sb_system *system = *state;

	map(system, 0, 5, 0x1000, 0x1000, 0, "sh");
	comm(system, 20, 5, 5, "renamed", 0);
	system_seal(system, 0);
	assert_maps_at(system, 5, 30, "1000-2000 sh+0");
}

static void a_fork_that_changes_nothing_shares_the_parents_epoch(void **state)
{
	struct sb_system *system = *state;

	map(system, 0, 5, 0x1000, 0x1000, 0, "sh");
	task(system, PERF_RECORD_FORK, 10, 6, 5, 6, 5);
	map(system, 20, 5, 0x8000, 0x1000, 0, "parents.so");
	system_seal(system, 0);
	assert_int_equal(sb_system_nepochs(system), 1);
	assert_int_equal(sb_space_epoch(sb_system_space(system, 6, 10), 10)->id,
	                 sb_space_epoch(sb_system_space(system, 5, 10), 10)->id);
	assert_null(sb_system_space(system, 6, 9));
}

static void parent_and_child_go_their_own_ways(void **state)
{
	struct sb_system *system = *state;

	map(system, 0, 5, 0x1000, 0x1000, 0, "sh");
	task(system, PERF_RECORD_FORK, 10, 6, 5, 6, 5);
	map(system, 20, 6, 0x8000, 0x1000, 0, "childs.so");
	map(system, 21, 5, 0x8000, 0x1000, 0, "parents.so");
	map(system, 22, 5, 0x1000, 0x1000, 0, "other");
	task(system, PERF_RECORD_FORK, 30, 7, 6, 7, 6);
	system_seal(system, 0);
	assert_maps_at(system, 6, 40, "1000-2000 sh+0, 8000-9000 childs.so+0");
	assert_maps_at(system, 7, 40, "1000-2000 sh+0, 8000-9000 childs.so+0");
	assert_maps_at(system, 5, 21, "1000-2000 sh+0, 8000-9000 parents.so+0");
	assert_maps_at(system, 5, 40, "1000-2000 other+0, 8000-9000 parents.so+0");
}

static void a_conflict_at_the_time_of_the_fork_does_not_reach_the_child(void **state)
{
	struct sb_system *system = *state;

	map(system, 10, 5, 0x1000, 0x1000, 0, "old");
	map(system, 20, 5, 0x1000, 0x1000, 0, "sh");
	task(system, PERF_RECORD_FORK, 20, 6, 5, 6, 5);
	map(system, 20, 5, 0x1000, 0x1000, 0, "new");
	system_seal(system, 0);
	assert_maps_at(system, 5, 20, "1000-2000 new+0");
	assert_maps_at(system, 6, 20, "1000-2000 sh+0");
}

static void records_count_in_the_order_of_their_times(void **state)
{
	struct sb_system *system = *state;

	map(system, 21, 6, 0x8000, 0x1000, 0, "childs.so");
	task(system, PERF_RECORD_FORK, 10, 6, 5, 6, 5);
	map(system, 0, 5, 0x1000, 0x1000, 0, "sh");
	map(system, 12, 5, 0x9000, 0x1000, 0, "late.so");
	system_seal(system, 0);
	assert_maps_at(system, 6, 40, "1000-2000 sh+0, 8000-9000 childs.so+0");
	assert_maps_at(system, 5, 40, "1000-2000 sh+0, 9000-a000 late.so+0");
}

static void an_exited_process_is_kept_until_its_pid_is_used_again(void **state)
{
	struct sb_system *system = *state;

	begins(system, 5);
	task(system, PERF_RECORD_FORK, 10, 6, 5, 6, 5);
	map(system, 11, 6, 0x1000, 0x1000, 0, "first");
	task(system, PERF_RECORD_FORK, 12, 6, 6, 60, 6);
	task(system, PERF_RECORD_EXIT, 20, 6, 6, 6, 6);
	task(system, PERF_RECORD_EXIT, 30, 6, 6, 60, 6);
	task(system, PERF_RECORD_FORK, 50, 6, 5, 6, 5);
	map(system, 51, 6, 0x1000, 0x1000, 0, "second");
	system_seal(system, 0);
	assert_int_equal(sb_system_space(system, 6, 10)->to, 30);
	assert_maps_at(system, 6, 49, "1000-2000 first+0");
	assert_maps_at(system, 6, 50, "1000-2000 second+0");
}

/* A list of mappings against the tree: what a search from the end of the list finds. */
static void the_tree_holds_what_a_list_would_hold(void **state)
{
	enum { NMAPS = 400, PAGES = 64 };
	static const char *const names[] = {"a", "b", "c", "d"};
	struct sb_system *system = *state;
	const char *page[PAGES] = {0};
	const struct sb_epoch *epoch;
	uint32_t random = 1;

	for (uint64_t i = 0; i < NMAPS; ++i) {
		uint64_t first, count;

		random = random * 1664525u + 1013904223u;
		first = (random >> 8) % PAGES;
		count = 1 + (random >> 16) % 5;
		map(system, i, 5, first << 12, count << 12, 0, names[(random >> 24) % 4]);
		for (uint64_t k = first; k < first + count && k < PAGES; ++k)
			page[k] = names[(random >> 24) % 4];
	}
	system_seal(system, 0);
	epoch = sb_space_epoch(sb_system_space(system, 5, NMAPS), NMAPS);
	for (uint64_t k = 0; k < PAGES; ++k) {
		const struct sb_map *found = sb_epoch_map(epoch, k << 12);

		if (found && found->begin > k << 12)
			found = NULL;
		assert_string_equal(found ? found->filename : "", page[k] ? page[k] : "");
	}
}

/* ---- Names ------------------------------------------------------------------------------------ */

static void names_follow_time_and_are_inherited(void **state)
{
	struct sb_system *system = *state;

	comm(system, 0, 5, 5, "sh", 0);
	task(system, PERF_RECORD_FORK, 10, 6, 5, 6, 5);
	comm(system, 20, 6, 6, "ls", 1);
	task(system, PERF_RECORD_FORK, 30, 6, 6, 61, 6);
	system_seal(system, 0);
	assert_string_equal(sb_system_comm(system, 5, 5, 0), "sh");
	assert_string_equal(sb_system_comm(system, 6, 6, 15), "sh");
	assert_string_equal(sb_system_comm(system, 6, 6, 20), "ls");
	assert_string_equal(sb_system_comm(system, 6, 61, UINT64_MAX), "ls");
	assert_string_equal(sb_system_comm(system, 6, 6, 9), "");
	assert_string_equal(sb_system_comm(system, 9, 9, 9), "");
	assert_string_equal(sb_system_comm(system, 0, 0, 9), "swapper");
	assert_int_equal(sb_system_thread_pid(system, 61), 6);
	assert_int_equal(sb_system_thread_pid(system, 62), -1);
}

/* ---- The schedule ----------------------------------------------------------------------------- */

static void switches_say_who_runs(void **state)
{
	struct sb_system *system = *state;
	struct sb_record start = record_at(PERF_RECORD_ITRACE_START, 5, 1, 0, 0);

	add(system, start);
	switch_wide(system, 10, 1, 0, 1, 7);
	switch_wide(system, 11, 1, 7, 0, 0);
	switch_wide(system, 20, 1, 7, 1, 8);
	switch_wide(system, 21, 1, 8, 0, 7);
	system_seal(system, 0);
	assert_schedule(system, 1, "5:0/0 10:7/7 20:8/8");
	assert_schedule(system, 0, "");
	assert_schedule(system, -1, "");
	assert_schedule(system, 1000, "");
}

static void the_first_switch_says_who_ran_before_it(void **state)
{
	struct sb_system *system = *state;

	switch_wide(system, 10, 0, 7, 1, 8);
	switch_wide(system, 30, 1, 9, 0, 4);
	system_seal(system, 0);
	assert_schedule(system, 0, "0:7/7 10:8/8");
	assert_schedule(system, 1, "0:4/4 30:9/9");
}

static void a_plain_switch_out_leaves_the_next_one_unknown(void **state)
{
	struct sb_system *system = *state;
	struct sb_record record = record_at(PERF_RECORD_SWITCH, 10, 0, 7, 7);

	record.u.context_switch.next_prev_pid = -1;
	record.u.context_switch.next_prev_tid = -1;
	add(system, record);
	record.sample.time = 20;
	record.u.context_switch.out = 1;
	add(system, record);
	system_seal(system, 0);
	assert_schedule(system, 0, "0:-1/-1 10:7/7 20:-1/-1");
}

static void exec_in_a_thread_takes_over_the_leaders_tid(void **state)
{
	struct sb_system *system = *state;
	struct sb_record start = record_at(PERF_RECORD_ITRACE_START, 5, 0, 7, 71);

	start.u.itrace_start.pid = 7;
	start.u.itrace_start.tid = 71;
	add(system, start);
	comm(system, 10, 7, 7, "new", 1);
	comm(system, 20, 8, 8, "elsewhere", 1);
	system_seal(system, 0);
	assert_schedule(system, 0, "5:7/71 10:7/7 20:8/8"); /* who made that record runs there */
}

/* 9 made a record between two switches, and so the one to it was lost. */
static void whoever_makes_a_record_runs_there(void **state)
{
	struct sb_system *system = *state;

	switch_wide(system, 10, 0, 7, 1, 8);
	switch_wide(system, 11, 0, 8, 0, 7);
	task(system, PERF_RECORD_FORK, 15, 10, 9, 10, 9);
	switch_wide(system, 20, 0, 9, 1, 7);
	switch_wide(system, 21, 0, 7, 0, 9);
	system_seal(system, 0);
	assert_schedule(system, 0, "0:7/7 10:8/8 15:9/9 20:7/7");
	assert_int_equal(system_switch_losses(system, 0), switch_losses_many);
}

/* 8 was on CPU 1 when it should have been on CPU 0 for long; who ran there instead, nobody knows. */
static void nobody_runs_on_two_cpus(void **state)
{
	struct sb_system *system = *state;

	switch_wide(system, 10000, 0, 7, 1, 8);
	switch_wide(system, 20000, 1, 5, 1, 8);
	switch_wide(system, 30000, 1, 8, 1, 5);
	switch_wide(system, 40000, 0, 9, 1, 7);
	system_seal(system, 0);
	assert_schedule(system, 0, "0:7/7 10000:8/8 20000:-1/-1 40000:7/7");
	assert_schedule(system, 1, "0:5/5 20000:8/8 30000:5/5");
}

/* Where switches are lost, the one behind an end may be one of them. */
static void whoever_ended_does_not_run(void **state)
{
	struct sb_system *system = *state;

	switch_wide(system, 10, 0, 7, 1, 8);
	task(system, PERF_RECORD_EXIT, 15, 8, 8, 8, 8);
	switch_wide(system, 20, 0, 9, 1, 7);
	switch_wide(system, 30, 1, 7, 1, 8);
	task(system, PERF_RECORD_EXIT, 35, 8, 8, 8, 8);
	system_seal(system, 0);
	assert_schedule(system, 0, "0:7/7 10:8/8 15:-1/-1 20:7/7 35:8/8 35:-1/-1");
	assert_int_equal(system_switch_losses(system, 1), switch_losses_none);
}

static void after_lost_records_nobody_knows_who_runs(void **state)
{
	struct sb_system *system = *state;
	struct sb_record lost = record_at(PERF_RECORD_LOST, 50, 0, 8, 8);
	size_t count;

	switch_wide(system, 10, 0, 7, 1, 8);
	lost.u.lost.lost = 3;
	add(system, lost);
	switch_wide(system, 60, 0, 9, 0, 8);
	system_seal(system, 0);
	assert_schedule(system, 0, "0:7/7 10:8/8 11:-1/-1 50:8/8 60:9/9");
	assert_int_equal(sb_system_lost(system, &count)->time, 50);
	assert_int_equal(count, 1);
}

static void lost_records_at_the_start_leave_the_start_unknown(void **state)
{
	struct sb_system *system = *state;
	struct sb_record lost = record_at(PERF_RECORD_LOST, 50, 0, 8, 8);

	add(system, lost);
	switch_wide(system, 60, 0, 9, 1, 8);
	system_seal(system, 0);
	assert_schedule(system, 0, "0:-1/-1 50:8/8 60:8/8");
}

static void a_cut_recording_knows_nothing_after_its_first_missing_record(void **state)
{
	struct sb_system *system = *state;

	switch_wide(system, 10, 0, 7, 1, 8);
	switch_wide(system, 90, 0, 8, 1, 7);
	switch_wide(system, 40, 1, 3, 1, 4);
	system_seal(system, 1);
	assert_schedule(system, 0, "0:7/7 10:8/8 41:-1/-1");
	assert_schedule(system, 1, "0:3/3 40:4/4 41:-1/-1");
}

static void finished_rounds_say_up_to_when_all_records_are_there(void **state)
{
	struct sb_system *system = *state;
	struct sb_record finished = {.type = SB_RECORD_FINISHED_ROUND};

	switch_wide(system, 5, 1, 3, 1, 4);
	switch_wide(system, 10, 0, 7, 1, 8);
	add(system, finished);
	switch_wide(system, 90, 0, 8, 1, 7);
	add(system, finished);
	switch_wide(system, 95, 0, 7, 1, 8);
	system_seal(system, 1);
	assert_schedule(system, 0, "0:7/7 10:8/8 11:-1/-1");
	assert_schedule(system, 1, "0:3/3 5:4/4 11:-1/-1");
}

static void flagged_aux_data_are_kept(void **state)
{
	struct sb_system *system = *state;
	struct sb_record aux = record_at(PERF_RECORD_AUX, 10, 0, 5, 5);
	const struct sb_aux_flag *flag;
	size_t count;

	aux.u.aux.size = 0x100;
	add(system, aux);
	aux.u.aux.offset = 0x100;
	aux.u.aux.flags = PERF_AUX_FLAG_TRUNCATED;
	add(system, aux);
	system_seal(system, 0);
	flag = sb_system_aux_flags(system, 0, &count);
	assert_int_equal(count, 1);
	assert_int_equal(flag->aux_offset, 0x100);
	assert_int_equal(flag->aux_size, 0x100);
}

/* A thread's buffer goes with it from CPU to CPU. */
static void flagged_aux_data_of_threads_are_kept(void **state)
{
	static const struct sb_aux_stream stream = {.cpu = -1, .tid = 5}, other = {.cpu = -1, .tid = 6};
	struct sb_system *system = *state;
	const struct sb_aux_flag *flag;
	size_t count;

	for (uint64_t i = 0; i < 6; i++) {
		struct sb_record aux = record_at(PERF_RECORD_AUX, 60 - 10 * i, i % 2, 5, i < 3 ? 5 : 7);

		aux.u.aux.offset = 0x100 * i;
		aux.u.aux.flags = PERF_AUX_FLAG_TRUNCATED;
		add(system, aux);
	}
	system_seal(system, 0);
	flag = sb_system_stream_flags(system, &stream, &count);
	assert_int_equal(count, 3);
	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(flag[i].tid, 5);
		assert_int_equal(flag[i].aux_offset, 0x100 * (2 - i));
	}
	assert_null(sb_system_stream_flags(system, &other, &count));
	assert_int_equal(count, 0);
	sb_system_stream_flags(system, &(struct sb_aux_stream){.cpu = 1, .tid = -1}, &count);
	assert_int_equal(count, 3);
}

/* What perf inject --guest-data does: events of the machine's own, whose numbers are those of the host, too.
 */
static void records_of_virtual_machines_say_nothing_of_the_host(void **state)
{
	struct sb_system *system = *state;
	struct sb_record index = {.type = SB_RECORD_ID_INDEX};
	struct sb_record record;
	const uint64_t entries[] = {7, 0, 0, UINT64_MAX, 8, 0, 0, UINT64_MAX},
	               guests[] = {0, UINT64_MAX, 4242, 0};
	uint64_t skipped;

	index.u.id_index.nr = 2;
	index.u.id_index.entries = (const uint8_t *)entries;
	index.u.id_index.guests = (const uint8_t *)guests;
	add(system, index);
	comm(system, 10, 5, 5, "host", 1);
	map(system, 11, 5, 0x1000, 0x1000, 0, "/host");
	record = record_at(PERF_RECORD_COMM, 20, 0, 5, 5);
	record.sample.has |= PERF_SAMPLE_ID;
	record.sample.id = 8;
	record.u.comm.pid = record.u.comm.tid = 5;
	record.u.comm.name = "guest";
	record.u.comm.exec = 1;
	add(system, record);
	record = record_at(PERF_RECORD_FORK, 21, 0, 1, 1);
	record.misc = 5; /* PERF_RECORD_MISC_GUEST_USER */
	record.u.task.pid = record.u.task.tid = 5;
	add(system, record);
	record = record_at(PERF_RECORD_COMM, 22, 0, 5, 5);
	record.sample.has |= PERF_SAMPLE_ID;
	record.sample.id = 7;
	record.u.comm.pid = record.u.comm.tid = 5;
	record.u.comm.name = "renamed";
	add(system, record);
	system_seal(system, 0);
	assert_maps_at(system, 5, 99, "1000-2000 /host+0");
	assert_string_equal(sb_system_comm(system, 5, 5, 21), "host");
	assert_string_equal(sb_system_comm(system, 5, 5, 99), "renamed");
	sb_system_nrecords(system, &skipped);
	assert_int_equal(skipped, 2);
}

static void records_that_are_not_used_are_counted(void **state)
{
	struct sb_system *system = *state;
	struct sb_record unknown = {.type = 4711};
	uint64_t skipped;

	comm(system, 0, 1, 1, "init", 0);
	add(system, unknown);
	system_seal(system, 0);
	assert_int_equal(sb_system_nrecords(system, &skipped), 2);
	assert_int_equal(skipped, 1);
}

/* Thousands of processes with hundreds of mappings each: more than a second would be quadratic. */
static void large_systems_are_built_quickly(void **state)
{
	enum { PROCESSES = 2000, MAPS = 200 };
	struct sb_system *system = *state;
	uint64_t time = 1;

	for (uint64_t i = 0; i < MAPS; ++i)
		map(system, time++, 1, 0x10000 * (MAPS - i), 0x1000, 0, "lib");
	for (int32_t pid = 2; pid < PROCESSES; ++pid) {
		task(system, PERF_RECORD_FORK, time++, pid, pid - 1, pid, pid - 1);
		for (uint64_t i = 0; i < MAPS; ++i)
			map(system, time++, pid, 0x10000 * (MAPS - i), 0x1000, (uint64_t)pid << 12,
			    i % 2 ? "lib" : "other");
	}
	system_seal(system, 0);
	for (int32_t pid = 2; pid < PROCESSES; ++pid) {
		const struct sb_space *space = sb_system_space(system, pid, time);
		const struct sb_map *found = sb_epoch_map(sb_space_epoch(space, time), 0x20000);

		assert_string_equal(found->filename, "other");
		assert_int_equal(found->pgoff, (uint64_t)pid << 12);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	        TEST(one_epoch_serves_mappings_that_do_not_conflict),
	        TEST(mapping_the_same_again_is_no_conflict),
	        TEST(a_conflict_begins_an_epoch),
	        TEST(what_a_stranger_maps_was_not_there_before),
	        TEST(a_stranger_has_nothing_at_first),
	        TEST(a_conflict_can_hide_many_mappings),
	        TEST(names_of_anonymous_memory_are_known),
	        TEST(anonymous_mappings_never_conflict_with_each_other),
	        TEST(what_could_be_written_stays_so_until_another_file_comes),
	        TEST(a_piece_that_is_made_executable_again_may_have_been_written),
	        TEST(only_code_of_user_space_counts),
	        TEST(exec_begins_an_empty_space),
	        TEST(a_new_name_alone_is_no_exec),
	        TEST(a_fork_that_changes_nothing_shares_the_parents_epoch),
	        TEST(parent_and_child_go_their_own_ways),
	        TEST(a_conflict_at_the_time_of_the_fork_does_not_reach_the_child),
	        TEST(records_count_in_the_order_of_their_times),
	        TEST(an_exited_process_is_kept_until_its_pid_is_used_again),
	        TEST(the_tree_holds_what_a_list_would_hold),
	        TEST(names_follow_time_and_are_inherited),
	        TEST(switches_say_who_runs),
	        TEST(the_first_switch_says_who_ran_before_it),
	        TEST(a_plain_switch_out_leaves_the_next_one_unknown),
	        TEST(exec_in_a_thread_takes_over_the_leaders_tid),
	        TEST(whoever_makes_a_record_runs_there),
	        TEST(nobody_runs_on_two_cpus),
	        TEST(whoever_ended_does_not_run),
	        TEST(after_lost_records_nobody_knows_who_runs),
	        TEST(lost_records_at_the_start_leave_the_start_unknown),
	        TEST(a_cut_recording_knows_nothing_after_its_first_missing_record),
	        TEST(finished_rounds_say_up_to_when_all_records_are_there),
	        TEST(flagged_aux_data_are_kept),
	        TEST(flagged_aux_data_of_threads_are_kept),
	        TEST(records_of_virtual_machines_say_nothing_of_the_host),
	        TEST(records_that_are_not_used_are_counted),
	        TEST(large_systems_are_built_quickly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
