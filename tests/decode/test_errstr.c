/* test_errstr.c - error texts are libipt's, to the letter: programs print them and compare them.
 *
 * A few are written down here; all of them, and what is said about numbers that are no error codes, are
 * compared with Debian's libipt.so.2 (package libipt2) where that is installed.
 */
#include <setjmp.h>
#include <stdarg.h>

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <intel-pt.h>

static void texts_that_programs_look_for(void **state)
{
	static const struct {
		enum pt_error_code code;
		const char *text;
	} expected[] = {
	        {pte_ok, "OK"},
	        {pte_eos, "reached end of trace stream"},
	        {pte_nosync, "decoder out of sync"},
	        {pte_bad_query, "trace stream does not match query"},
	        {pte_nomap, "no memory mapped at this address"},
	        {pte_bad_cpu, "unknown cpu"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		assert_string_equal(pt_errstr(expected[i].code), expected[i].text);
}

static void every_text_is_that_of_the_other_library(void **state)
{
	static const int beyond[] = {INT_MIN, -28, -1, 255, 256, INT_MAX};
	void *library = *state, *symbol = dlsym(library, "pt_errstr");
	const char *(*theirs)(enum pt_error_code code);

	assert_non_null(symbol);
	memcpy(&theirs, &symbol, sizeof(symbol));
	for (int code = pte_ok; code <= 40; code++)
		assert_string_equal(pt_errstr((enum pt_error_code)code), theirs((enum pt_error_code)code));
	for (size_t i = 0; i < sizeof(beyond) / sizeof(*beyond); i++)
		assert_string_equal(pt_errstr((enum pt_error_code)beyond[i]),
		                    theirs((enum pt_error_code)beyond[i]));
}

int main(void)
{
	void *library = dlmopen(LM_ID_NEWLM, "/usr/lib/x86_64-linux-gnu/libipt.so.2", RTLD_NOW);
	const struct CMUnitTest alone[] = {cmocka_unit_test(texts_that_programs_look_for)};
	const struct CMUnitTest both[] = {
	        cmocka_unit_test_prestate(every_text_is_that_of_the_other_library, library)};
	int failed = cmocka_run_group_tests(alone, NULL, NULL);

	if (library) {
		failed += cmocka_run_group_tests(both, NULL, NULL);
		dlclose(library);
		return failed;
	}
	printf("skipped: no libipt2 here\n");
	return failed ? failed : 77;
}
