/* array_sort(): by the number at the beginning, and what is equal keeps its order, whatever comes in which
 * order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "system/arena.h"

enum { longest = 3000 };

/* The number that element @i of @count has. */
typedef uint64_t pattern(uint64_t i, uint64_t count);

static uint64_t ascending(uint64_t i, uint64_t count)
{
	(void)count;
	return i;
}

static uint64_t descending(uint64_t i, uint64_t count)
{
	return count - i;
}

static uint64_t all_equal(uint64_t i, uint64_t count)
{
	(void)i;
	(void)count;
	return UINT64_MAX;
}

static uint64_t mixed(uint64_t i, uint64_t count)
{
	(void)count;
	return (i + 1) * 0x9e3779b97f4a7c15u >> 40;
}

static uint64_t few_numbers(uint64_t i, uint64_t count)
{
	return mixed(i, count) % 7;
}

/* Rounds in which CPUs are read one after the other, the later ones up to a little later. */
static uint64_t rounds_of_cpus(uint64_t i, uint64_t count)
{
	const uint64_t round = i / 30, cpu = i / 10 % 3, at = i % 10;

	(void)count;
	return 100 * round + 10 * at + 12 * cpu;
}

/* Two that are read one after the other, as a whole. */
static uint64_t two_halves(uint64_t i, uint64_t count)
{
	return i < count / 2 ? 2 * i : 2 * (i - count / 2) + 1;
}

static uint64_t last_is_first(uint64_t i, uint64_t count)
{
	return i + 1 == count ? 0 : i + 1;
}

/* The first half needs hardly anything moved, the second is in no order. */
static uint64_t ends_badly(uint64_t i, uint64_t count)
{
	return i < count / 2 ? rounds_of_cpus(i, count) : mixed(i, count);
}

static void check(pattern *number, size_t count, size_t size)
{
	uint8_t *array = calloc(count + 1, size);

	assert_non_null(array);
	for (uint64_t i = 0; i < count; ++i) {
		const uint64_t key = number(i, count);

		memcpy(array + i * size, &key, sizeof(key));
		memcpy(array + i * size + size - sizeof(i), &i, sizeof(i));
	}
	assert_int_equal(array_sort(array, count, size), 0);
	for (size_t k = 0; k < count; ++k) {
		uint64_t key, i, key_before = 0, i_before = 0;

		memcpy(&key, array + k * size, sizeof(key));
		memcpy(&i, array + k * size + size - sizeof(i), sizeof(i));
		assert_true(i < count && key == number(i, count));
		if (!k)
			continue;
		memcpy(&key_before, array + (k - 1) * size, sizeof(key));
		memcpy(&i_before, array + k * size - sizeof(i), sizeof(i));
		assert_true(key_before < key || (key_before == key && i_before < i));
	}
	free(array);
}

static void any_order_becomes_the_right_one(void **state)
{
	static pattern *const all[] = {ascending,      descending, all_equal,     mixed,     few_numbers,
	                               rounds_of_cpus, two_halves, last_is_first, ends_badly};
	static const size_t sizes[] = {16, 24, 32, 40, 17};
	static const size_t counts[] = {0, 1, 2, 3, 4, 5, 31, 100, 1001, longest};

	(void)state;
	for (size_t p = 0; p < sizeof(all) / sizeof(all[0]); ++p)
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); ++s)
			for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); ++c)
				check(all[p], counts[c], sizes[s]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(any_order_becomes_the_right_one)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
