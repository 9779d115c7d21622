/* test_trace_config.c - the decoder's configuration from what a recording says about itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <sb/perfdata.h>
#include <sb/trace.h>

static struct pt_config config_of(int intel, uint16_t family, uint8_t model)
{
	struct sb_perfdata_info info;
	struct pt_config config;

	memset(&info, 0, sizeof(info));
	info.vendor_intel = intel != 0;
	info.family = family;
	info.model = model;
	info.stepping = 3;
	sb_trace_config(&config, &info);
	return config;
}

static void errata_are_those_of_the_processor(void **state)
{
	const struct pt_config goldmont = config_of(1, 6, 92), skylake = config_of(1, 6, 94);

	(void)state;
	assert_int_equal(goldmont.cpu.model, 92);
	assert_int_equal(goldmont.errata.apl12, 1);
	assert_int_equal(goldmont.errata.bdm70, 0);
	assert_int_equal(skylake.errata.skd010, 1);
	assert_int_equal(skylake.errata.bdm70, 1);
	assert_int_equal(skylake.errata.apl12, 0);
}

/* Where nobody knows, only what is harmless on any processor is worked around. */
static void an_unknown_processor_is_taken_to_have_bdm70(void **state)
{
	const struct pt_config unknown[] = {config_of(1, 6, 1), config_of(0, 6, 94)};

	(void)state;
	for (size_t i = 0; i < 2; ++i) {
		assert_int_equal(unknown[i].errata.bdm70, 1);
		assert_int_equal(unknown[i].errata.skd010, 0);
		assert_int_equal(unknown[i].errata.apl11, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(errata_are_those_of_the_processor),
	        cmocka_unit_test(an_unknown_processor_is_taken_to_have_bdm70),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
