/* Every reason for a gap has something that would have avoided it, fit for a line of text and a column. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "sink/gap_advice.h"

static void each_reason_has_its_own(void **state)
{
	(void)state;
	for (unsigned int i = sb_gap_none + 1; i < sb_gap_reasons; i++) {
		const char *advice = gap_advice((enum sb_gap_reason)i, NULL);

		assert_true(strlen(advice) > 10 && strlen(advice) < 100);
		assert_null(strpbrk(advice, "\t\n"));
		for (unsigned int k = sb_gap_none + 1; k < i; k++)
			assert_string_not_equal(advice, gap_advice((enum sb_gap_reason)k, NULL));
	}
	assert_string_equal(gap_advice(sb_gap_none, NULL), "-");
	assert_string_equal(gap_advice(sb_gap_reasons, NULL), "-");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(each_reason_has_its_own)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
