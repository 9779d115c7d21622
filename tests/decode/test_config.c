/* test_config.c - the configuration in all its versions, errata by processor, version and error texts,
 * and the small helpers of the public header.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "packet/config.h"

static uint8_t buffer[16];

static struct pt_config full_config(void)
{
	struct pt_config config;

	memset(&config, 0x5a, sizeof(config));
	config.size = sizeof(config);
	config.begin = buffer;
	config.end = buffer + sizeof(buffer);
	return config;
}

static void init_zeroes_and_sets_the_size(void **state)
{
	struct pt_config config, expected;

	(void)state;
	memset(&config, 0x5a, sizeof(config));
	memset(&expected, 0, sizeof(expected));
	expected.size = sizeof(struct pt_config);
	pt_config_init(&config);
	assert_memory_equal(&config, &expected, sizeof(config));
}

/* Whatever version of the struct a program was built with: what it has is taken, the rest is zero. */
static void every_size_from_the_mandatory_part_on_is_taken(void **state)
{
	const struct pt_config full = full_config();

	(void)state;
	for (size_t size = 0; size <= sizeof(full); size++) {
		uint8_t *user = malloc(sizeof(full)); /* the size field must be readable */
		struct pt_config config, expected;

		assert_non_null(user);
		memcpy(user, &full, sizeof(full));
		memcpy(user, &size, sizeof(size));
		if (size < offsetof(struct pt_config, decode)) {
			assert_int_equal(pt_config_from_user(&config, (struct pt_config *)user),
			                 -pte_bad_config);
		} else {
			memset(&expected, 0, sizeof(expected));
			memcpy(&expected, user, size);
			assert_int_equal(pt_config_from_user(&config, (struct pt_config *)user), 0);
			assert_memory_equal(&config, &expected, sizeof(config));
		}
		free(user);
	}
}

static void a_larger_struct_is_cut(void **state)
{
	struct {
		struct pt_config config;
		uint8_t more[32];
	} user = {.config = full_config()};
	struct pt_config config;

	(void)state;
	user.config.size = sizeof(user);
	assert_int_equal(pt_config_from_user(&config, &user.config), 0);
	assert_int_equal(config.size, sizeof(config));
	assert_int_equal(config.addr_filter.addr0_a, user.config.addr_filter.addr0_a);
}

static void a_buffer_must_make_sense(void **state)
{
	struct pt_config user = full_config(), config;

	(void)state;
	assert_int_equal(pt_config_from_user(&config, NULL), -pte_invalid);
	assert_int_equal(pt_config_from_user(NULL, &user), -pte_invalid);
	user.begin = NULL;
	assert_int_equal(pt_config_from_user(&config, &user), -pte_invalid);
	user = full_config();
	user.end = NULL;
	assert_int_equal(pt_config_from_user(&config, &user), -pte_invalid);
	user = full_config();
	user.end = user.begin;
	user.begin = buffer + 1;
	assert_int_equal(pt_config_from_user(&config, &user), -pte_invalid);
	user.begin = buffer; /* empty is fine */
	assert_int_equal(pt_config_from_user(&config, &user), 0);
}

static void a_struct_is_handed_out_as_far_as_the_caller_knows_it(void **state)
{
	const uint8_t known[4] = {1, 2, 3, 4};
	uint8_t user[8];

	(void)state;
	for (size_t size = 0; size <= sizeof(user); size++) {
		memset(user, 0xee, sizeof(user));
		pt_copy_to_user(user, size, known, sizeof(known));
		for (size_t i = 0; i < sizeof(user); i++)
			assert_int_equal(user[i], i >= size ? 0xee : i < sizeof(known) ? known[i] : 0);
	}
}

/* The errata as bits, in the order of struct pt_errata. */
enum {
	bdm70 = 1 << 0,
	bdm64 = 1 << 1,
	skd007 = 1 << 2,
	skd022 = 1 << 3,
	skd010 = 1 << 4,
	skl014 = 1 << 5,
	apl12 = 1 << 6,
	apl11 = 1 << 7,
	skl168 = 1 << 8,
	skz84 = 1 << 9,
};

static const struct {
	uint16_t family;
	uint8_t model;
	uint32_t errata;
} processors[] = {
        {6, 61, bdm70 | bdm64}, /* Broadwell */
        {6, 71, bdm70 | bdm64},
        {6, 79, bdm70 | bdm64},
        {6, 86, bdm70 | bdm64},
        {6, 78, bdm70 | skd007 | skd022 | skd010 | skl014 | skl168}, /* Skylake */
        {6, 94, bdm70 | skd007 | skd022 | skd010 | skl014 | skl168},
        {6, 142, bdm70 | skd007 | skd022 | skd010 | skl014 | skl168}, /* Kaby Lake */
        {6, 158, bdm70 | skd007 | skd022 | skd010 | skl014 | skl168},
        {6, 165, bdm70 | skd007 | skd022 | skd010 | skl014 | skl168},
        {6, 166, bdm70 | skd007 | skd022 | skd010 | skl014 | skl168},
        {6, 85, bdm70 | skl014 | skd022 | skz84},  /* Skylake server */
        {6, 106, bdm70 | skl014 | skd022 | skz84}, /* Ice Lake server */
        {6, 108, bdm70 | skl014 | skd022 | skz84},
        {6, 143, bdm70 | skd022 | skz84}, /* Sapphire Rapids */
        {6, 207, bdm70 | skd022 | skz84},
        {6, 173, bdm70 | skd022 | skz84},
        {6, 174, bdm70 | skd022 | skz84},
        {19, 1, bdm70 | skd022 | skz84},
        {6, 102, bdm70 | skl014 | skd022},
        {6, 125, bdm70 | skl014 | skd022},
        {6, 126, bdm70 | skl014 | skd022},
        {6, 140, bdm70 | skl014 | skd022},
        {6, 141, bdm70 | skl014 | skd022},
        {6, 167, bdm70 | skl014 | skd022},
        {6, 168, bdm70 | skl014 | skd022},
        {6, 151, bdm70 | skd022 | apl11}, /* Alder Lake */
        {6, 154, bdm70 | skd022 | apl11},
        {6, 186, bdm70 | skd022 | apl11},
        {6, 183, bdm70 | skd022 | apl11},
        {6, 191, bdm70 | skd022 | apl11},
        {6, 197, bdm70 | skd022 | apl11},
        {6, 198, bdm70 | skd022 | apl11},
        {6, 181, bdm70 | skd022 | apl11},
        {6, 170, bdm70 | skd022 | apl11},
        {6, 172, bdm70 | skd022 | apl11},
        {6, 189, bdm70 | skd022 | apl11},
        {6, 204, bdm70 | skd022 | apl11},
        {6, 213, bdm70 | skd022 | apl11},
        {18, 1, bdm70 | skd022 | apl11},
        {18, 3, bdm70 | skd022 | apl11},
        {6, 92, apl12 | apl11}, /* Goldmont */
        {6, 95, apl12 | apl11},
        {6, 122, apl11},
        {6, 134, apl11},
        {6, 150, apl11},
        {6, 156, apl11},
        {6, 182, apl11},
        {6, 175, apl11},
        {6, 221, apl11},
};

static void every_processor_has_its_errata(void **state)
{
	size_t count = sizeof(processors) / sizeof(*processors), known = 0;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		struct pt_cpu cpu = {
		        .vendor = pcv_intel, .family = processors[i].family, .model = processors[i].model};
		struct pt_errata errata;
		uint32_t bits[sizeof(errata) / sizeof(uint32_t)];

		memset(&errata, 0xff, sizeof(errata));
		assert_int_equal(pt_cpu_errata(&errata, &cpu), 0);
		memcpy(bits, &errata, sizeof(errata));
		assert_int_equal(bits[0], processors[i].errata);
		for (size_t word = 1; word < sizeof(bits) / sizeof(*bits); word++)
			assert_int_equal(bits[word], 0);
	}
	/* and there are no others */
	for (unsigned family = 0; family < 300; family++) {
		for (unsigned model = 0; model < 256; model++) {
			struct pt_cpu cpu = {pcv_intel, (uint16_t)family, (uint8_t)model, 0};
			struct pt_errata errata;

			known += pt_cpu_errata(&errata, &cpu) == 0;
		}
	}
	assert_int_equal(known, count);
}

static void an_unknown_processor_has_no_errata(void **state)
{
	static const struct pt_cpu unknown[] = {{pcv_intel, 6, 1, 0},
	                                        {pcv_intel, 6 + 256, 61, 0},
	                                        {pcv_unknown, 6, 61, 0},
	                                        {pcv_intel, 0, 0, 0}};
	static const struct pt_errata none;

	(void)state;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++) {
		struct pt_errata errata;

		memset(&errata, 0xff, sizeof(errata));
		assert_int_equal(pt_cpu_errata(&errata, &unknown[i]), -pte_bad_cpu);
		assert_memory_equal(&errata, &none, sizeof(errata));
		assert_int_equal(pt_cpu_errata(NULL, &unknown[i]), -pte_invalid);
		assert_int_equal(pt_cpu_errata(&errata, NULL), -pte_invalid);
	}
}

static void the_version_is_the_headers(void **state)
{
	struct pt_version version = pt_library_version();

	(void)state;
	assert_int_equal(version.major, 2);
	assert_int_equal(version.minor, 3);
	assert_int_equal((version.major << 8) + version.minor, LIBIPT_VERSION);
	assert_int_equal(LIBIPT_VERSION, 0x203);
	assert_non_null(version.ext);
}

static void every_error_has_its_text(void **state)
{
	(void)state;
	for (int code = pte_ok; code <= pte_bad_cpu; code++) {
		const char *text = pt_errstr((enum pt_error_code)code);

		assert_non_null(text);
		assert_string_not_equal(text, "");
		for (int other = pte_ok; other < code; other++)
			assert_string_not_equal(text, pt_errstr((enum pt_error_code)other));
	}
	assert_non_null(pt_errstr((enum pt_error_code)(pte_bad_cpu + 1)));
	assert_non_null(pt_errstr((enum pt_error_code) - 1));
}

static void results_tell_their_error(void **state)
{
	(void)state;
	assert_int_equal(pt_errcode(0), pte_ok);
	assert_int_equal(pt_errcode(17), pte_ok);
	assert_int_equal(pt_errcode(-pte_eos), pte_eos);
}

static void execution_modes_have_their_bits(void **state)
{
	static const struct {
		enum pt_exec_mode mode;
		uint32_t csl, csd;
	} modes[] = {{ptem_16bit, 0, 0}, {ptem_32bit, 0, 1}, {ptem_64bit, 1, 0}, {ptem_unknown, 1, 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		struct pt_packet_mode_exec packet = pt_set_exec_mode(modes[i].mode);

		assert_int_equal(packet.csl, modes[i].csl);
		assert_int_equal(packet.csd, modes[i].csd);
		assert_int_equal(packet.iflag, 0);
		assert_int_equal(pt_get_exec_mode(&packet), modes[i].mode);
	}
}

static void ptw_sizes(void **state)
{
	(void)state;
	assert_int_equal(pt_ptw_size(0), 4);
	assert_int_equal(pt_ptw_size(1), 8);
	assert_int_equal(pt_ptw_size(2), -pte_bad_packet);
	assert_int_equal(pt_ptw_size(3), -pte_bad_packet);
	assert_int_equal(pt_ptw_size(4), -pte_internal);
}

static void a_new_asid_fits_any(void **state)
{
	struct pt_asid asid;

	(void)state;
	pt_asid_init(&asid);
	assert_int_equal(asid.size, sizeof(asid));
	assert_int_equal(asid.cr3, pt_asid_no_cr3);
	assert_int_equal(asid.vmcs, pt_asid_no_vmcs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(init_zeroes_and_sets_the_size),
	        cmocka_unit_test(every_size_from_the_mandatory_part_on_is_taken),
	        cmocka_unit_test(a_larger_struct_is_cut),
	        cmocka_unit_test(a_buffer_must_make_sense),
	        cmocka_unit_test(a_struct_is_handed_out_as_far_as_the_caller_knows_it),
	        cmocka_unit_test(every_processor_has_its_errata),
	        cmocka_unit_test(an_unknown_processor_has_no_errata),
	        cmocka_unit_test(the_version_is_the_headers),
	        cmocka_unit_test(every_error_has_its_text),
	        cmocka_unit_test(results_tell_their_error),
	        cmocka_unit_test(execution_modes_have_their_bits),
	        cmocka_unit_test(ptw_sizes),
	        cmocka_unit_test(a_new_asid_fits_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
