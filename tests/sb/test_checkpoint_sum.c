/* The sum of bytes is the same however they are cut, also where a part has none, and is nowhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "perfdata/checkpoint_sum.h"

static void parts_are_one(void **state)
{
	const uint8_t bytes[100] = {1, 2, 3, [50] = 4, [99] = 5};
	const uint64_t whole = checkpoint_sum_of(bytes, sizeof(bytes));

	(void)state;
	for (size_t cut = 0; cut <= sizeof(bytes); cut++) {
		struct checkpoint_sum sum = checkpoint_sum_begin();

		checkpoint_sum_add(&sum, bytes, cut);
		checkpoint_sum_add(&sum, NULL, 0);
		checkpoint_sum_add(&sum, bytes + cut, sizeof(bytes) - cut);
		assert_int_equal(checkpoint_sum_end(&sum), whole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(parts_are_one)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
