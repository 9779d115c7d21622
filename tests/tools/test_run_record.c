/* What a run record says of a recording and its account: all that there is, by its name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "job/account_value.h"
#include "job/run_record.h"
#include "support/temp_dir.h"

static void every_kind_of_switch_is_counted(void **state)
{
	static const struct sb_account account = {.nswitches = 21,
	                                          .switches = {[sb_switch_by_time] = 1,
	                                                       [sb_switch_seen] = 2,
	                                                       [sb_switch_by_address] = 3,
	                                                       [sb_switch_uncertain] = 4,
	                                                       [sb_switch_by_paging] = 5,
	                                                       [sb_switch_repaired] = 6}};
	json_t *value = account_value(&account), *switches = json_object_get(value, "switches");

	(void)state;
	assert_int_equal(json_object_size(switches), sb_switch_evidences);
	assert_int_equal(json_integer_value(json_object_get(switches, "by_time")), 1);
	assert_int_equal(json_integer_value(json_object_get(switches, "seen")), 2);
	assert_int_equal(json_integer_value(json_object_get(switches, "by_address")), 3);
	assert_int_equal(json_integer_value(json_object_get(switches, "uncertain")), 4);
	assert_int_equal(json_integer_value(json_object_get(switches, "by_paging")), 5);
	assert_int_equal(json_integer_value(json_object_get(switches, "repaired")), 6);
	json_decref(value);
}

static json_t *input_of(const char *path)
{
	struct sb_error err;
	json_t *input = run_record_input(&(struct job){0}, path, &err);

	assert_non_null(input);
	return input;
}

/* Files are named as they are in the recording's directory, however that is written. */
static void a_slash_behind_a_directory_changes_no_names(void **state)
{
	struct temp_dir dir;
	char slash[sizeof(dir.path) + 2];
	json_t *with, *without;

	(void)state;
	temp_dir_make(&dir);
	free(temp_dir_write(&dir, "data", "a", 1));
	free(temp_dir_write(&dir, "data.0", "b", 1));
	snprintf(slash, sizeof(slash), "%s//", dir.path);
	without = input_of(dir.path);
	with = input_of(slash);
	assert_int_equal(json_object_size(without), 2);
	assert_non_null(json_object_get(without, "data"));
	assert_non_null(json_object_get(without, "data.0"));
	assert_true(json_equal(with, without));
	json_decref(with);
	json_decref(without);
	temp_dir_remove(&dir);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	        cmocka_unit_test(every_kind_of_switch_is_counted),
	        cmocka_unit_test(a_slash_behind_a_directory_changes_no_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
