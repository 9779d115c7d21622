/* test_abi_layout.c - our header and that of Debian's libipt-dev (2.0.5) say the same: sizes, offsets, bits,
 * numbers, types of functions, results of inline functions. What libipt 2.1 to 2.3 changed is listed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/abi_facts.h"

enum { max_facts = 2000 };

static struct abi_fact ours[max_facts], theirs[max_facts];

/* The version, and events of 72 bytes instead of 64: those that are new need more room behind the same head.
 */
static const struct {
	const char *name;
	uint64_t theirs, ours;
} changed[] = {
        {"LIBIPT_VERSION_MINOR", 0, 3}, {"LIBIPT_VERSION_PATCH", 5, 0},      {"LIBIPT_VERSION", 0x200, 0x203},
        {"sizeof pt_event", 64, 72},    {"sizeof pt_event.variant", 24, 32},
};

static int may_differ(const struct abi_fact *our, const struct abi_fact *their)
{
	for (size_t i = 0; i < sizeof(changed) / sizeof(*changed); i++) {
		if (!strcmp(our->name, changed[i].name))
			return our->value == changed[i].ours && their->value == changed[i].theirs;
	}
	return 0;
}

static void both_headers_say_the_same_but_for_what_is_listed(void **state)
{
	const size_t count = abi_facts_ours(ours, max_facts);
	size_t differences = 0;

	(void)state;
	assert_in_range(count, 1, max_facts);
	assert_int_equal(abi_facts_debian(theirs, max_facts), count);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(ours[i].name, theirs[i].name);
		if (ours[i].value == theirs[i].value)
			continue;
		differences++;
		if (!may_differ(&ours[i], &theirs[i]))
			fail_msg("%s: %#llx, in Debian's header %#llx", ours[i].name,
			         (unsigned long long)ours[i].value, (unsigned long long)theirs[i].value);
	}
	assert_int_equal(differences, sizeof(changed) / sizeof(*changed));
	print_message("%zu facts, %zu of them changed since 2.0.5\n", count, differences);
}

/* A type that does not fit would differ in both headers alike if the row were wrong. */
static void the_rows_name_the_types_of_functions(void **state)
{
	const size_t count = abi_facts_ours(ours, max_facts);
	size_t types = 0;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		if (strncmp(ours[i].name, "type of ", 8))
			continue;
		if (!ours[i].value)
			fail_msg("%s is another one", ours[i].name);
		types++;
	}
	assert_int_equal(types, 76 + 1); /* libipt 2.0.5's functions, and a callback */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(both_headers_say_the_same_but_for_what_is_listed),
	        cmocka_unit_test(the_rows_name_the_types_of_functions),
	};

	if (!abi_facts_debian(theirs, max_facts)) {
		printf("skipped: no libipt-dev 2.0 here\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
