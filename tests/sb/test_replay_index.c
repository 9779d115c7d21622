/* test_replay_index.c - what is looked up when records are missing, against going through everything: the
 * boxes that a point meets, all mappings of a system, the processes that have code at an address.
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

#include "replay/address_index.h"
#include "replay/box_tree.h"
#include "replay/part_index.h"
#include "system/map_walk.h"
#include "system/system.h"

static uint32_t draw(uint32_t *random, uint32_t below)
{
	*random = *random * 1664525u + 1013904223u;
	return (*random >> 8) % below;
}

/* ---- Boxes ------------------------------------------------------------------------------------ */

enum { BOXES_MAX = 3000, QUESTIONS = 500 };

static int count_box(void *context, const struct box *box)
{
	uint8_t *met = context;

	met[box->value] += 1;
	return 0;
}

static void compare_boxes(uint32_t count, uint32_t *random)
{
	static struct box box[BOXES_MAX];
	struct box_tree tree = {0};

	for (uint32_t i = 0; i < count; ++i) {
		const uint64_t begin = draw(random, 10000), from = draw(random, 10000);

		box[i] = (struct box){{begin, begin + 1 + draw(random, i % 7 ? 50 : 5000), from,
		                       i % 5 ? from + draw(random, 100) : UINT64_MAX},
		                      i};
		assert_int_equal(box_tree_add(&tree, &box[i]), 0);
	}
	assert_int_equal(box_tree_build(&tree), 0);
	for (int n = 0; n < QUESTIONS; ++n) {
		const uint64_t at = draw(random, 10100), from = draw(random, 10100);
		const uint64_t to = from + draw(random, 20);
		uint8_t met[BOXES_MAX] = {0};

		box_tree_find(&tree, at, from, to, count_box, met);
		for (uint32_t i = 0; i < count; ++i) {
			const struct box_span *span = &box[i].span;

			assert_int_equal(met[i], at >= span->begin && at < span->end && to >= span->from &&
			                                 from <= span->to);
		}
	}
	box_tree_free(&tree);
}

static void boxes_that_a_point_meets_are_found(void **state)
{
	uint32_t random = 1;

	(void)state;
	for (uint32_t count = 0; count < 40; ++count)
		compare_boxes(count, &random);
	compare_boxes(256, &random);
	compare_boxes(BOXES_MAX, &random);
}

static int stop_at_third(void *context, const struct box *box)
{
	int *seen = context;

	(void)box;
	return ++*seen == 3 ? 17 : 0;
}

static void a_search_ends_when_it_is_told_to(void **state)
{
	const struct box box = {{0, 10, 0, 10}, 0};
	struct box_tree tree = {0};
	int seen = 0;

	(void)state;
	for (int i = 0; i < 100; ++i)
		assert_int_equal(box_tree_add(&tree, &box), 0);
	assert_int_equal(box_tree_build(&tree), 0);
	assert_int_equal(box_tree_find(&tree, 5, 5, 5, stop_at_third, &seen), 17);
	assert_int_equal(seen, 3);
	box_tree_free(&tree);
}

/* ---- A system ----------------------------------------------------------------------------------- */

enum { PIDS = 40, EVENTS = 10000, PAGES = 512, FIRST_PID = 100 };

static const char *const names[] = {"/a", "/usr/b", "/c.so", "//anon"};

static void add(struct sb_system *system, const struct sb_record *record)
{
	assert_int_equal(system_record(system, record), 0);
}

/* Something that happens to @pid. */
static void happen(struct sb_system *system, uint64_t time, int32_t pid, uint32_t *random)
{
	struct sb_record record = {.sample = {.has = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
	                                      .time = time,
	                                      .pid = pid,
	                                      .tid = pid}};
	const uint32_t what = draw(random, 200);

	if (what < 6) {
		record.type = PERF_RECORD_FORK;
		record.u.task.ppid = record.u.task.ptid = pid;
		record.u.task.pid = record.u.task.tid = FIRST_PID + (int32_t)draw(random, PIDS);
		record.u.task.time = time;
	} else if (what < 8) {
		record.type = PERF_RECORD_EXIT;
		record.u.task.pid = record.u.task.tid = pid;
		record.u.task.time = time;
	} else if (what < 9) {
		record.type = PERF_RECORD_COMM;
		record.u.comm.pid = record.u.comm.tid = pid;
		record.u.comm.name = "name";
		record.u.comm.exec = 1;
	} else {
		record.type = PERF_RECORD_MMAP2;
		record.u.mmap.pid = record.u.mmap.tid = pid;
		record.u.mmap.addr = (uint64_t)draw(random, PAGES) << 16;
		record.u.mmap.len = (uint64_t)(1 + draw(random, 3)) << 16;
		record.u.mmap.filename = names[draw(random, 4)];
		record.u.mmap.prot = PROT_EXEC;
		record.u.mmap.is_mmap2 = 1;
	}
	add(system, &record);
}

static int set_up(void **state)
{
	struct sb_system *system = system_new(0);
	uint32_t random = 7;

	assert_non_null(system);
	for (uint64_t time = 1; time <= EVENTS; ++time)
		happen(system, time, FIRST_PID + (int32_t)draw(&random, PIDS), &random);
	assert_int_equal(system_seal(system, 0), 0);
	*state = system;
	return 0;
}

static int tear_down(void **state)
{
	sb_system_free(*state);
	return 0;
}

/* All mappings, as text, in one long string of lines in order. */
struct lines {
	char **line;
	size_t count, capacity;
};

static int add_line(void *context, const struct sb_map *map)
{
	struct lines *lines = context;
	char text[128];

	if (lines->count == lines->capacity) {
		lines->capacity = 2 * lines->capacity + 64;
		lines->line = reallocarray(lines->line, lines->capacity, sizeof(*lines->line));
		assert_non_null(lines->line);
	}
	snprintf(text, sizeof(text), "%jx-%jx %s+%jx %ju", (uintmax_t)map->begin, (uintmax_t)map->end,
	         map->filename, (uintmax_t)map->pgoff, (uintmax_t)map->time);
	lines->line[lines->count] = strdup(text);
	assert_non_null(lines->line[lines->count++]);
	return 0;
}

static int add_line_of_epoch(void *context, const struct sb_epoch *epoch, const struct sb_map *map)
{
	assert_ptr_equal(sb_epoch_map(epoch, map->begin), map);
	return add_line(context, map);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_lines(struct lines *lines)
{
	size_t kept = 0;

	qsort(lines->line, lines->count, sizeof(*lines->line), compare_lines);
	for (size_t i = 0; i < lines->count; ++i) {
		if (kept && strcmp(lines->line[kept - 1], lines->line[i]) == 0)
			free(lines->line[i]);
		else
			lines->line[kept++] = lines->line[i];
	}
	lines->count = kept;
}

static void free_lines(struct lines *lines)
{
	for (size_t i = 0; i < lines->count; ++i)
		free(lines->line[i]);
	free(lines->line);
}

static void assert_same_lines(struct lines *found, struct lines *expected)
{
	sort_lines(found);
	sort_lines(expected);
	assert_int_equal(found->count, expected->count);
	for (size_t i = 0; i < found->count; ++i)
		assert_string_equal(found->line[i], expected->line[i]);
	free_lines(found);
	free_lines(expected);
}

/* Those of every epoch of every space. @shown: how many there are in all. */
static void list_all(const struct sb_system *system, struct lines *lines, size_t *shown)
{
	for (size_t i = 0; i < system_nspaces(system); ++i) {
		const struct sb_space *space = system_space_at(system, i);

		for (size_t e = 0; e < space->nepochs; ++e) {
			const struct sb_epoch *epoch = &space->epoch[e];
			const struct sb_map *map = sb_epoch_map(epoch, 0);

			for (; map; map = sb_epoch_map(epoch, map->end), *shown += 1)
				add_line(lines, map);
		}
	}
}

static void a_walk_shows_all_mappings_and_few_twice(void **state)
{
	struct lines walked = {0}, expected = {0};
	size_t shown = 0;

	list_all(*state, &expected, &shown);
	assert_int_equal(map_walk(*state, add_line, &walked), 0);
	assert_true(walked.count < shown / 2);
	assert_same_lines(&walked, &expected);
}

static void spaces_show_what_their_families_have(void **state)
{
	struct lines walked = {0}, expected = {0};
	size_t shown = 0;

	list_all(*state, &expected, &shown);
	for (size_t i = 0; i < system_nspaces(*state); ++i)
		assert_int_equal(system_walk_space(*state, i, add_line_of_epoch, &walked), 0);
	assert_true(walked.count < shown / 2);
	assert_same_lines(&walked, &expected);
}

/* ---- Who has code there ------------------------------------------------------------------------- */

static int has_code(const struct sb_system *system, int32_t pid, const uint64_t *ip, uint64_t time)
{
	return space_has_code(sb_system_space(system, pid, time), ip, 2, time);
}

static void processes_with_code_at_an_address_are_found(void **state)
{
	struct address_index index;
	uint32_t random = 11;
	int nfound = 0;

	address_index_init(&index, *state);
	for (int n = 0; n < 3000; ++n) {
		const uint64_t time = 1 + draw(&random, EVENTS);
		const uint64_t page = draw(&random, PAGES), ip[] = {page << 16, (page << 16) + 4};
		int32_t pid[PIDS];
		const int count = address_index_find(&index, ip, 2, time, 0, pid, PIDS);
		int expected = 0;

		for (int32_t p = FIRST_PID; p < FIRST_PID + PIDS; ++p) {
			const struct sb_space *space = sb_system_space(*state, p, time);

			expected += space && time < space->to && has_code(*state, p, ip, time);
		}
		assert_int_equal(count, expected);
		for (int i = 0; i < count; ++i) {
			assert_true(has_code(*state, pid[i], ip, time));
			for (int k = 0; k < i; ++k)
				assert_int_not_equal(pid[k], pid[i]);
		}
		nfound += count;
		assert_int_equal(address_index_find(&index, ip, 2, time, 0, pid, 1), count > 0);
	}
	assert_true(nfound > 3000);
	address_index_fini(&index);
}

/* ---- Parts of files ----------------------------------------------------------------------------- */

/* Going through the epoch. */
static const struct sb_map *only_part(const struct sb_epoch *epoch, const struct sb_map *part)
{
	const struct sb_map *only = NULL;

	for (const struct sb_map *map = sb_epoch_map(epoch, 0); map; map = sb_epoch_map(epoch, map->end)) {
		if (!map_has_file(map) || !map_same_part(map, part))
			continue;
		if (only)
			return NULL;
		only = map;
	}
	return only;
}

static void compare_parts(const struct part_index *index, const struct sb_space *space, uint32_t *random)
{
	const struct sb_epoch *epoch = &space->epoch[draw(random, (uint32_t)space->nepochs)];
	const uint32_t family = part_index_family(index, epoch);
	const struct sb_map *map = sb_epoch_map(epoch, (uint64_t)draw(random, PAGES) << 16);
	const struct sb_map *only;
	size_t count;

	if (!map || !map_has_file(map))
		return;
	only = part_index_only(index, family, epoch, map);
	/* Where a part is in many places, it need not be found. */
	if (only)
		assert_ptr_equal(only, only_part(epoch, map));
	assert_int_equal(part_index_next(index, map, family - 1), family);
	assert_non_null(part_index_epochs(index, family, &count));
	assert_true(count > 0);
}

static void parts_of_files_are_found(void **state)
{
	const struct sb_system *system = *state;
	struct part_index index;
	uint32_t random = 13;

	part_index_init(&index, system);
	assert_int_equal(part_index_make(&index), 0);
	for (int n = 0; n < 3000; ++n) {
		const uint32_t number = draw(&random, (uint32_t)system_nspaces(system));
		const struct sb_space *space = system_space_at(system, number);

		if (space->nepochs)
			compare_parts(&index, space, &random);
	}
	part_index_fini(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(boxes_that_a_point_meets_are_found),
	        cmocka_unit_test(a_search_ends_when_it_is_told_to),
	        cmocka_unit_test(a_walk_shows_all_mappings_and_few_twice),
	        cmocka_unit_test(spaces_show_what_their_families_have),
	        cmocka_unit_test(processes_with_code_at_an_address_are_found),
	        cmocka_unit_test(parts_of_files_are_found),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
