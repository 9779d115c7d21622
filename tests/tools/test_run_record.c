/* What a run record says of a recording and its account: all that there is, by its name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "job/account_value.h"

static void every_kind_of_switch_is_counted(void **state)
{
	static const struct sb_account account = {.nswitches = 15,
	                                          .switches = {[sb_switch_by_time] = 1,
	                                                       [sb_switch_seen] = 2,
	                                                       [sb_switch_by_address] = 3,
	                                                       [sb_switch_uncertain] = 4,
	                                                       [sb_switch_by_paging] = 5}};
	json_t *value = account_value(&account), *switches = json_object_get(value, "switches");

	(void)state;
	assert_int_equal(json_object_size(switches), sb_switch_evidences);
	assert_int_equal(json_integer_value(json_object_get(switches, "by_time")), 1);
	assert_int_equal(json_integer_value(json_object_get(switches, "seen")), 2);
	assert_int_equal(json_integer_value(json_object_get(switches, "by_address")), 3);
	assert_int_equal(json_integer_value(json_object_get(switches, "uncertain")), 4);
	assert_int_equal(json_integer_value(json_object_get(switches, "by_paging")), 5);
	json_decref(value);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	        cmocka_unit_test(every_kind_of_switch_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
