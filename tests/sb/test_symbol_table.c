/* test_symbol_table.c - which symbol an address belongs to: by tables, and by ranges that were announced in
 * the course of time. What must come out is worked out from the rules, address by address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binary/symbol_ranges.h"
#include "binary/symbol_table.h"

/* ---- Tables ----------------------------------------------------------------------------------- */

static void add(struct symbol_table *table, uint64_t begin, uint64_t end, const char *name,
                enum symbol_binding binding, int is_label)
{
	const struct table_symbol symbol = {.begin = begin,
	                                    .end = end,
	                                    .limit = 0x1000,
	                                    .name.raw = name,
	                                    .binding = (uint8_t)binding,
	                                    .is_label = (uint8_t)is_label};

	assert_int_equal(symbol_table_add(table, &symbol), 0);
}

static const char *name_at(const struct symbol_table *table, uint64_t address)
{
	uint64_t low, high;
	const struct table_symbol *symbol = symbol_table_find(table, address, &low, &high);

	assert_true(low <= address && address < high);
	return symbol ? symbol->name.raw : "-";
}

static void of_aliases_the_best_is_taken(void **state)
{
	struct symbol_table table = {0};

	(void)state;
	add(&table, 0x10, 0x20, "a_local", symbol_local, 0);
	add(&table, 0x10, 0x20, "b_weak", symbol_weak, 0);
	add(&table, 0x10, 0x20, "d_long_global", symbol_global, 0);
	add(&table, 0x10, 0x20, "d_global", symbol_global, 0);
	add(&table, 0x10, 0x20, "c_global", symbol_global, 0);
	add(&table, 0x10, 0x20, "label", symbol_global, 1);
	add(&table, 0x10, 0x10, "open", symbol_global, 0);
	add(&table, 0x20, 0x30, "b_only_weak", symbol_weak, 0);
	add(&table, 0x20, 0x30, "a", symbol_local, 0);
	assert_int_equal(symbol_table_seal(&table), 0);
	assert_string_equal(name_at(&table, 0xf), "-");
	assert_string_equal(name_at(&table, 0x10), "c_global");
	assert_string_equal(name_at(&table, 0x1f), "c_global");
	assert_string_equal(name_at(&table, 0x20), "b_only_weak");
	assert_string_equal(name_at(&table, 0x30), "-");
	symbol_table_fini(&table);
}

static void the_inner_symbol_is_taken_and_the_outer_one_behind_it(void **state)
{
	struct symbol_table table = {0};

	(void)state;
	add(&table, 0x10, 0x80, "outer", symbol_global, 0);
	add(&table, 0x20, 0x40, "inner", symbol_local, 0);
	add(&table, 0x30, 0x50, "late", symbol_local, 0);
	add(&table, 0x60, 0x60, "label in it", symbol_global, 1);
	assert_int_equal(symbol_table_seal(&table), 0);
	assert_string_equal(name_at(&table, 0x1f), "outer");
	assert_string_equal(name_at(&table, 0x2f), "inner");
	assert_string_equal(name_at(&table, 0x30), "late");
	assert_string_equal(name_at(&table, 0x4f), "late");
	assert_string_equal(name_at(&table, 0x50), "outer");
	assert_string_equal(name_at(&table, 0x60), "outer");
	assert_string_equal(name_at(&table, 0x7f), "outer");
	assert_string_equal(name_at(&table, 0x80), "-");
	symbol_table_fini(&table);
}

static void without_a_size_it_reaches_to_the_next_or_the_limit(void **state)
{
	struct symbol_table table = {0};

	(void)state;
	add(&table, 0x10, 0x10, "first", symbol_global, 1);
	add(&table, 0x40, 0x50, "sized", symbol_global, 0);
	add(&table, 0x60, 0x60, "last", symbol_global, 1);
	assert_int_equal(symbol_table_seal(&table), 0);
	assert_string_equal(name_at(&table, 0x3f), "first");
	assert_string_equal(name_at(&table, 0x40), "sized");
	assert_string_equal(name_at(&table, 0x50), "-");
	assert_string_equal(name_at(&table, 0x60), "last");
	assert_string_equal(name_at(&table, 0xfff), "last");
	assert_string_equal(name_at(&table, 0x1000), "-");
	symbol_table_fini(&table);
}

static void an_empty_table_knows_nothing(void **state)
{
	struct symbol_table table = {0};

	(void)state;
	assert_int_equal(symbol_table_seal(&table), 0);
	assert_string_equal(name_at(&table, 0), "-");
	assert_string_equal(name_at(&table, UINT64_MAX - 1), "-");
	symbol_table_fini(&table);
}

/* Of those that are open at @address, the one that begins last. */
static const char *expected_name(const uint64_t (*range)[2], const char *const *name, size_t count,
                                 uint64_t address)
{
	const char *best = "-";
	uint64_t begin = 0;

	for (size_t i = 0; i < count; ++i)
		if (range[i][0] <= address && address < range[i][1] && range[i][0] >= begin) {
			begin = range[i][0];
			best = name[i];
		}
	return best;
}

static void any_overlap_is_sorted_out(void **state)
{
	enum { most = 12, span = 40 };
	static const char *const names[most] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};

	(void)state;
	srand(1);
	for (int round = 0; round < 5000; ++round) {
		struct symbol_table table = {0};
		uint64_t range[most][2];
		size_t count = 0;

		while (count < most) {
			const uint64_t begin = (uint64_t)rand() % span;
			int taken = 0;

			/* Aliases are another test. */
			for (size_t i = 0; i < count; ++i)
				taken |= range[i][0] == begin;
			if (taken)
				continue;
			range[count][0] = begin;
			range[count][1] = begin + 1 + (uint64_t)rand() % 20;
			add(&table, begin, range[count][1], names[count], symbol_global, 0);
			++count;
		}
		assert_int_equal(symbol_table_seal(&table), 0);
		for (uint64_t address = 0; address < span + 25; ++address)
			assert_string_equal(name_at(&table, address),
			                    expected_name(range, names, count, address));
		symbol_table_fini(&table);
	}
}

/* ---- Ranges ------------------------------------------------------------------------------------- */

/* What was announced last and covers the address, when it has not ended. */
static const struct range_entry *expected_range(const struct range_entry *entry, size_t count,
                                                uint64_t address, uint64_t time)
{
	const struct range_entry *last = NULL;

	for (size_t i = 0; i < count; ++i)
		if (entry[i].begin <= address && address < entry[i].end && entry[i].from <= time &&
		    (!last || entry[i].from >= last->from))
			last = &entry[i];
	return last && last->to > time && last->name.raw ? last : NULL;
}

static const char *range_name(const struct range_entry *entry)
{
	return entry ? entry->name.raw : "-";
}

static void check_bounds(const struct range_entry *entry, size_t count, const struct symbol_bounds *bounds,
                         const char *name, uint64_t span)
{
	for (uint64_t address = bounds->low; address < bounds->high && address < span; ++address)
		for (uint64_t time = bounds->from; time < bounds->to && time < span; ++time)
			assert_string_equal(range_name(expected_range(entry, count, address, time)), name);
}

static void the_range_announced_last_holds(void **state)
{
	enum { most = 10, span = 24 };
	static const char *const names[most] = {"a", "b", NULL, "d", "e", "f", NULL, "h", "i", "j"};

	(void)state;
	srand(2);
	for (int round = 0; round < 300; ++round) {
		struct symbol_ranges ranges = {0};
		struct range_entry entry[most];

		for (size_t i = 0; i < most; ++i) {
			const uint64_t begin = (uint64_t)rand() % span, from = (uint64_t)rand() % span;

			entry[i] = (struct range_entry){.from = from,
			                                .to = rand() % 2 ? UINT64_MAX
			                                                 : from + 1 + (uint64_t)rand() % 9,
			                                .begin = begin,
			                                .end = begin + 1 + (uint64_t)rand() % 12,
			                                .name.raw = names[i]};
			assert_int_equal(symbol_ranges_add(&ranges, &entry[i]), 0);
		}
		for (uint64_t address = 0; address < span + 14; ++address)
			for (uint64_t time = 0; time < span + 10; ++time) {
				struct symbol_bounds bounds = {.high = UINT64_MAX, .to = UINT64_MAX};
				struct range_entry *found;

				assert_int_equal(symbol_ranges_find(&ranges, address, time, &found, &bounds),
				                 0);
				assert_string_equal(range_name(found),
				                    range_name(expected_range(entry, most, address, time)));
				assert_true(bounds.low <= address && address < bounds.high);
				assert_true(bounds.from <= time && time < bounds.to);
				if (round < 20)
					check_bounds(entry, most, &bounds, range_name(found), span);
			}
		symbol_ranges_fini(&ranges);
	}
}

static void ranges_may_come_later(void **state)
{
	struct symbol_ranges ranges = {0};
	struct range_entry entry = {.to = UINT64_MAX, .begin = 10, .end = 20, .name.raw = "first"}, *found;
	struct symbol_bounds bounds = {.high = UINT64_MAX, .to = UINT64_MAX};

	(void)state;
	assert_int_equal(symbol_ranges_find(&ranges, 10, 0, &found, &bounds), 0);
	assert_null(found);
	assert_int_equal(symbol_ranges_add(&ranges, &entry), 0);
	assert_int_equal(symbol_ranges_find(&ranges, 10, 0, &found, &bounds), 0);
	assert_string_equal(found->name.raw, "first");
	entry.name.raw = "second";
	entry.begin = 0;
	assert_int_equal(symbol_ranges_add(&ranges, &entry), 0);
	assert_int_equal(symbol_ranges_find(&ranges, 10, 0, &found, &bounds), 0);
	assert_string_equal(found->name.raw, "second");
	symbol_ranges_fini(&ranges);
}

/* All of them over each other: neither memory nor time may grow with the square. */
static void many_ranges_over_each_other(void **state)
{
	enum { count = 200000 };
	struct symbol_ranges ranges = {0};

	(void)state;
	for (uint64_t i = 0; i < count; ++i) {
		const struct range_entry entry = {.from = i,
		                                  .to = UINT64_MAX,
		                                  .begin = i,
		                                  .end = 3 * (uint64_t)count - i,
		                                  .name.raw = "x"};

		assert_int_equal(symbol_ranges_add(&ranges, &entry), 0);
	}
	for (uint64_t i = 0; i < count; ++i) {
		struct symbol_bounds bounds = {.high = UINT64_MAX, .to = UINT64_MAX};
		struct range_entry *found;

		assert_int_equal(symbol_ranges_find(&ranges, i, i / 2, &found, &bounds), 0);
		assert_int_equal(found->from, i / 2);
	}
	symbol_ranges_fini(&ranges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(of_aliases_the_best_is_taken),
	        cmocka_unit_test(the_inner_symbol_is_taken_and_the_outer_one_behind_it),
	        cmocka_unit_test(without_a_size_it_reaches_to_the_next_or_the_limit),
	        cmocka_unit_test(an_empty_table_knows_nothing),
	        cmocka_unit_test(any_overlap_is_sorted_out),
	        cmocka_unit_test(the_range_announced_last_holds),
	        cmocka_unit_test(ranges_may_come_later),
	        cmocka_unit_test(many_ranges_over_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
