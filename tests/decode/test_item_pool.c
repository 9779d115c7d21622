/* test_item_pool.c - items are kept once, stay what they were while more come, and no more than the limit. */
#include "flow/item_pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { limit = 1000 };

struct item {
	uint64_t number, other;
	uint64_t last;
};

static struct item item_of(uint32_t i)
{
	return (struct item){.number = i % 2 ? i : 0, .last = i};
}

static void each_is_kept_once(void **state)
{
	struct pt_item_pool pool;
	uint32_t at[limit], again;

	(void)state;
	pt_item_pool_init(&pool, sizeof(struct item), limit);
	for (uint32_t i = 0; i < limit; ++i) {
		const struct item item = item_of(i);

		assert_true(pt_item_put(&pool, &item, &at[i]));
	}
	assert_int_equal(pool.count, limit);
	for (uint32_t i = 0; i < limit; ++i) {
		const struct item item = item_of(i);

		assert_memory_equal(pt_item_at(&pool, at[i]), &item, sizeof(item));
	}
	pt_item_pool_fini(&pool);

	pt_item_pool_init(&pool, sizeof(struct item), limit);
	for (uint32_t i = 0; i < 3 * limit; ++i) {
		const struct item item = item_of(i % (limit / 2));

		assert_true(pt_item_put(&pool, &item, &again));
		assert_memory_equal(pt_item_at(&pool, again), &item, sizeof(item));
	}
	assert_int_equal(pool.count, limit / 2);
	pt_item_pool_fini(&pool);
}

static void no_more_than_the_limit(void **state)
{
	struct pt_item_pool pool;
	uint32_t at;

	(void)state;
	pt_item_pool_init(&pool, sizeof(struct item), limit);
	for (int turn = 0; turn < 2; ++turn) {
		struct item item;

		for (uint32_t i = 0; i < limit; ++i) {
			item = item_of(i + 7);
			assert_true(pt_item_put(&pool, &item, &at));
		}
		item = item_of(0);
		assert_false(pt_item_put(&pool, &item, &at));
		pt_item_pool_clear(&pool);
		assert_int_equal(pool.count, 0);
	}
	pt_item_pool_fini(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(each_is_kept_once),
	        cmocka_unit_test(no_more_than_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
