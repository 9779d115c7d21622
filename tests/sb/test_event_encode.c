/* test_event_encode.c - from an event's string to numbers: what the arguments promise, each error, and that
 * the whole string stands for the same. That PMUs of sysfs are encoded right is for
 * tests/tools/test_events_perf.sh.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/perf_event.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sb/event.h>

#include "support/sysfs_tree.h"
#include "support/temp_dir.h"

static struct temp_dir dir;
static char *sysfs;

static int make_tree(void **state)
{
	(void)state;
	temp_dir_make(&dir);
	sysfs = sysfs_tree_make(&dir, SOURCE_DIR "/tests/data/sysfs/skylake");
	return setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
}

static int remove_tree(void **state)
{
	(void)state;
	free(sysfs);
	temp_dir_remove(&dir);
	return 0;
}

static int encode(const char *str, enum sb_event_target target, struct perf_event_attr *attr)
{
	struct sb_error err = {0};
	struct sb_event_perf event = {.attr = attr, .size = sizeof(event), .sysfs = sysfs, .err = &err};
	const int status = sb_event_encode(str, sb_event_user, target, &event);

	assert_int_equal(status < 0, err.code < 0);
	assert_int_equal(status < 0, err.text[0] != '\0');
	return status;
}

/* ---- What comes out --------------------------------------------------------------------------- */

static void software_events(void **state)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};

	(void)state;
	assert_int_equal(encode("cs:k", sb_event_target_perf, &attr), 0);
	assert_int_equal(attr.type, PERF_TYPE_SOFTWARE);
	assert_int_equal(attr.config, PERF_COUNT_SW_CONTEXT_SWITCHES);
	assert_int_equal(attr.exclude_user, 1);
	assert_int_equal(attr.exclude_kernel, 0);
	assert_int_equal(attr.exclude_hv, 1);
	assert_int_equal(encode("dummy", sb_event_target_perf, &attr), 0);
	assert_int_equal(attr.config, PERF_COUNT_SW_DUMMY);
	assert_int_equal(attr.exclude_user, 0);
	assert_int_equal(attr.exclude_kernel, 1);
}

static void modifiers_of_the_perf_interface(void **state)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	struct sb_event_perf event = {.attr = &attr, .size = sizeof(event), .sysfs = sysfs};

	(void)state;
	assert_int_equal(
	        sb_event_encode("intel_pt/cyc/uDe:period=1000:cpu=3", 0, sb_event_target_perf_ext, &event),
	        0);
	assert_int_equal(attr.pinned, 1);
	assert_int_equal(attr.exclusive, 1);
	assert_int_equal(attr.sample_period, 1000);
	assert_int_equal(attr.freq, 0);
	assert_int_equal(event.cpu, 3);
	assert_int_equal(encode("page-faults:upp:freq=99", sb_event_target_perf_ext, &attr), 0);
	assert_int_equal(attr.precise_ip, 2);
	assert_int_equal(attr.sample_freq, 99);
	assert_int_equal(attr.freq, 1);
}

/* All that an event does not say stays as the caller has it. */
static void only_known_fields_are_touched(void **state)
{
	struct perf_event_attr attr, before;

	(void)state;
	memset(&attr, 0xa5, sizeof(attr));
	attr.size = sizeof(attr);
	before = attr;
	assert_int_equal(encode("intel_pt/tsc/k", sb_event_target_perf_ext, &attr), 0);
	before.type = attr.type;
	before.config = attr.config;
	before.config1 = attr.config1;
	before.config2 = attr.config2;
	before.exclude_user = 1;
	before.exclude_kernel = 0;
	before.exclude_hv = 1;
	assert_memory_equal(&attr, &before, sizeof(attr));
	assert_int_equal(attr.type, 8);
	assert_int_equal(attr.config1, 0);
}

static void nothing_changes_on_failure(void **state)
{
	struct perf_event_attr attr, before;

	(void)state;
	memset(&attr, 0x5a, sizeof(attr));
	before = attr;
	assert_true(encode("intel_pt/nothing/k", sb_event_target_perf, &attr) < 0);
	assert_true(encode("nothing", sb_event_target_perf, &attr) < 0);
	assert_true(encode("cs:period=1", sb_event_target_perf, &attr) < 0);
	assert_memory_equal(&attr, &before, sizeof(attr));
}

/* The first of a list; commas between slashes are of the event. */
static void the_first_of_a_list(void **state)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};

	(void)state;
	assert_int_equal(encode("intel_pt/tsc,mtc/u,cs:u,dummy", sb_event_target_perf, &attr), 0);
	assert_int_equal(attr.type, 8);
	assert_int_equal(encode("cs:u,intel_pt//,", sb_event_target_perf, &attr), 0);
	assert_int_equal(attr.config, PERF_COUNT_SW_CONTEXT_SWITCHES);
}

/* Whatever is said, the whole string says it, too, and all the rest. */
static void the_whole_string_is_the_same_event(void **state)
{
	static const char *const events[] = {"intel_pt//",
	                                     "intel_pt/cyc,mtc_period=6/uk",
	                                     "intel_pt/config=0xffff000000000400/k",
	                                     "cpu/mem-loads/up",
	                                     "uncore_imc_0/one-core,filter=0xa5/",
	                                     "cs:uD",
	                                     "dummy:u:period=17",
	                                     "cpu/config=1,config1=2,config2=3/"};

	(void)state;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); ++i) {
		struct perf_event_attr attr = {.size = sizeof(attr)}, again = {.size = sizeof(again)};
		char *whole = NULL, *same = NULL;
		struct sb_event_perf event = {
		        .attr = &attr, .fstr = &whole, .size = sizeof(event), .sysfs = sysfs};

		assert_int_equal(sb_event_encode(events[i], sb_event_user, sb_event_target_perf_ext, &event),
		                 0);
		event.attr = &again;
		event.fstr = &same;
		if (sb_event_encode(whole, sb_event_kernel, sb_event_target_perf_ext, &event))
			fail_msg("%s: %s is no event", events[i], whole);
		assert_memory_equal(&attr, &again, sizeof(attr));
		assert_string_equal(whole, same);
		free(whole);
		free(same);
	}
}

static void raw_codes(void **state)
{
	uint64_t room[4] = {0, 0, 0, 0x77};
	struct sb_event_codes event = {.size = sizeof(event), .sysfs = sysfs};

	(void)state;
	assert_int_equal(
	        sb_event_encode("uncore_imc_0/one-core,filter=0x5a/", 0, sb_event_target_none, &event), 0);
	assert_int_equal(event.count, 2);
	assert_int_equal(event.codes[0], 1);
	assert_int_equal(event.codes[1], 0x50a);
	free(event.codes);
	event.codes = room;
	event.count = 3;
	assert_int_equal(
	        sb_event_encode("cpu/config=1,config1=2,config2=3/", 0, sb_event_target_none, &event), 0);
	assert_int_equal(event.count, 3);
	assert_ptr_equal(event.codes, room);
	assert_int_equal(room[2], 3);
	assert_int_equal(room[3], 0x77);
	event.count = 2;
	assert_int_equal(
	        sb_event_encode("cpu/config=1,config1=2,config2=3/", 0, sb_event_target_none, &event),
	        -sb_event_too_small);
}

/* Named events are libpfm4's, for both targets. */
static void as_libpfm4(void **state)
{
	static const char *const events[] = {"skl::INST_RETIRED:ANY_P:u",
	                                     "skl::BR_MISP_RETIRED:ALL_BRANCHES:k:c=2", "skl::L2_RQSTS:MISS",
	                                     "amd64_fam17h_zen2::RETIRED_INSTRUCTIONS", "perf::CYCLES"};

	(void)state;
	assert_int_equal(pfm_initialize(), PFM_SUCCESS);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); ++i) {
		struct perf_event_attr attr = {.size = sizeof(attr)}, expected = {.size = sizeof(expected)};
		pfm_perf_encode_arg_t perf = {.size = sizeof(perf), .attr = &expected};
		pfm_pmu_encode_arg_t raw = {.size = sizeof(raw)};
		struct sb_event_codes codes = {.size = sizeof(codes)};

		assert_int_equal(pfm_get_os_event_encoding(events[i], PFM_PLM3, PFM_OS_PERF_EVENT, &perf),
		                 PFM_SUCCESS);
		assert_int_equal(encode(events[i], sb_event_target_perf, &attr), 0);
		expected.size = attr.size;
		assert_memory_equal(&attr, &expected, sizeof(attr));
		assert_int_equal(pfm_get_os_event_encoding(events[i], PFM_PLM3, PFM_OS_NONE, &raw),
		                 PFM_SUCCESS);
		assert_int_equal(sb_event_encode(events[i], sb_event_user, sb_event_target_none, &codes), 0);
		assert_int_equal(codes.count, raw.count);
		assert_memory_equal(codes.codes, raw.codes, (size_t)raw.count * sizeof(*raw.codes));
		assert_int_equal(codes.idx, raw.idx);
		free(codes.codes);
		free(raw.codes);
	}
}

/* Without levels in the string or by the caller, they stay as they are, whoever knows the event; and the
 * whole string names none. */
static void levels_that_nobody_names(void **state)
{
	static const char *const events[] = {"cs", "intel_pt//", "skl::INST_RETIRED:ANY_P", "perf::CYCLES"};

	(void)state;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); ++i)
		for (unsigned int bits = 0; bits < 8; ++bits) {
			struct perf_event_attr attr = {.size = sizeof(attr),
			                               .exclude_user = bits & 1,
			                               .exclude_kernel = bits >> 1 & 1,
			                               .exclude_hv = bits >> 2 & 1};
			char *whole = NULL;
			struct sb_event_perf event = {
			        .attr = &attr, .fstr = &whole, .size = sizeof(event), .sysfs = sysfs};

			assert_int_equal(sb_event_encode(events[i], 0, sb_event_target_perf, &event), 0);
			if (attr.exclude_user != (bits & 1) || attr.exclude_kernel != (bits >> 1 & 1) ||
			    attr.exclude_hv != (bits >> 2 & 1))
				fail_msg("%s: other levels than %u", events[i], bits);
			if (strstr(whole, ":u=") || strstr(whole, ":k=") || strstr(whole, ":h="))
				fail_msg("%s: %s", events[i], whole);
			free(whole);
		}
}

/* But those that are named count. */
static void levels_of_the_string(void **state)
{
	static const char *const events[] = {"skl::INST_RETIRED:ANY_P:u", "perf::CYCLES:u", "cs:u"};

	(void)state;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); ++i) {
		struct perf_event_attr attr = {.size = sizeof(attr), .exclude_user = 1};
		struct sb_event_perf event = {.attr = &attr, .size = sizeof(event), .sysfs = sysfs};

		assert_int_equal(sb_event_encode(events[i], 0, sb_event_target_perf, &event), 0);
		assert_int_equal(attr.exclude_user, 0);
		assert_int_equal(attr.exclude_kernel, 1);
	}
}

static void what_an_index_is_of(void **state)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	struct sb_event_perf event = {.attr = &attr, .size = sizeof(event), .sysfs = sysfs};
	struct sb_event_info info = {.size = sizeof(info)};

	(void)state;
	assert_int_equal(sb_event_encode("faults", sb_event_user, sb_event_target_perf, &event), 0);
	assert_int_equal(sb_event_find(event.idx, &info), 0);
	assert_string_equal(info.event, "page-faults");
	assert_int_equal(sb_event_encode("intel_pt//", sb_event_user, sb_event_target_perf, &event), 0);
	assert_int_equal(sb_event_find(event.idx, &info), 0);
	assert_int_equal(info.type, 8);
	assert_int_equal(sb_event_encode("skl::INST_RETIRED", sb_event_user, sb_event_target_perf, &event),
	                 0);
	assert_int_equal(sb_event_find(event.idx, &info), 0);
	assert_string_equal(info.pmu, "skl");
	assert_string_equal(info.event, "INST_RETIRED");
	assert_int_equal(sb_event_find(-1, &info), -sb_event_not_found);
	assert_int_equal(sb_event_find(1 << 29 | 4711, &info), -sb_event_not_found);
}

/* ---- What is wrong ---------------------------------------------------------------------------- */

static void each_error(void **state)
{
	static const struct {
		const char *event;
		int code;
	} wrong[] = {
	        {"", -sb_event_invalid},
	        {"cs dummy", -sb_event_invalid},
	        {"{cs,dummy}", -sb_event_invalid},
	        {"intel_pt/tsc", -sb_event_invalid},
	        {"no-such-event", -sb_event_not_found},
	        {"no_such_pmu/event/", -sb_event_not_found},
	        {"../intel_pt/tsc/", -sb_event_not_found},
	        {"./tsc/", -sb_event_not_found},
	        {"skl::NO_SUCH_EVENT", -sb_event_not_found},
	        {"intel_pt/color/", -sb_event_bad_attr},
	        {"intel_pt/=1/", -sb_event_bad_attr},
	        {"intel_pt/ptw/", -sb_event_bad_attr},
	        {"intel_pt/../type/", -sb_event_bad_attr},
	        {"intel_pt//x", -sb_event_bad_attr},
	        {"cs:", -sb_event_bad_attr},
	        {"cs:user", -sb_event_bad_attr},
	        {"cs:color=1", -sb_event_bad_attr},
	        {"skl::INST_RETIRED:NO_SUCH_UMASK", -sb_event_bad_attr},
	        {"intel_pt/tsc=2/", -sb_event_bad_value},
	        {"intel_pt/tsc=yes/", -sb_event_bad_value},
	        {"intel_pt/tsc=-1/", -sb_event_bad_value},
	        {"intel_pt/mtc_period=5/", -sb_event_bad_value},
	        {"intel_pt/psb_period=6/", -sb_event_bad_value},
	        {"cpu/cpu-cycles=3/", -sb_event_bad_value},
	        {"cs:precise=4", -sb_event_bad_value},
	        {"cs:period", -sb_event_bad_value},
	        {"intel_pt/tsc,tsc=0/", -sb_event_set_twice},
	        {"cs:uu", -sb_event_set_twice},
	        {"skl::INST_RETIRED:ANY_P:c=1:c=2", -sb_event_set_twice},
	        {"cpu//", -sb_event_missing},
	        {"uncore_imc_0/one-core/", -sb_event_missing},
	        {"cs:period=1:freq=1", -sb_event_combination},
	        {"skl::INST_RETIRED:ANY_P:c=999", -sb_event_bad_value},
	        {"skl::FP_ARITH", -sb_event_missing},
	        {"skl::CYCLE_ACTIVITY:STALLS_TOTAL:CYCLES_L2_PENDING", -sb_event_combination},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
		struct perf_event_attr attr = {.size = sizeof(attr)};
		const int given = encode(wrong[i].event, sb_event_target_perf_ext, &attr);

		if (given != wrong[i].code)
			fail_msg("%s: expected: %s, given: %s", wrong[i].event,
			         sb_event_strerror(wrong[i].code), sb_event_strerror(given));
	}
}

/* What only the perf interface has is unknown to the hardware alone. */
static void modifiers_of_another_target(void **state)
{
	static const char *const events[] = {"cs:period=1", "cs:freq=1",     "cs:precise=1", "cs:pinned",
	                                     "cs:excl",     "cs:cpu=1",      "intel_pt//D",  "intel_pt//p",
	                                     "cs:D",        "intel_pt//:e=1"};

	(void)state;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); ++i) {
		struct perf_event_attr attr = {.size = sizeof(attr)};
		struct sb_event_codes codes = {.size = sizeof(codes), .sysfs = sysfs};

		assert_int_equal(encode(events[i], sb_event_target_perf, &attr), -sb_event_bad_attr);
		assert_int_equal(sb_event_encode(events[i], sb_event_user, sb_event_target_none, &codes),
		                 -sb_event_bad_attr);
		assert_null(codes.codes);
	}
}

/* The other argument has a size, too. */
static void wrong_codes(void **state)
{
	struct {
		struct sb_event_codes event;
		uint64_t newer;
	} later = {.event = {.size = sizeof(later)}, .newer = 1};
	char *text = sysfs;

	(void)state;
	assert_int_equal(sb_event_encode("cs", 0, sb_event_target_none, &later.event), -sb_event_invalid);
	later.newer = 0;
	assert_int_equal(sb_event_encode("cs", 0, sb_event_target_none, &later.event), 0);
	assert_int_equal(later.event.count, 1);
	free(later.event.codes);
	later.event = (struct sb_event_codes){.size = sizeof(later.event.codes)};
	assert_int_equal(sb_event_encode("cs", 0, sb_event_target_none, &later.event), -sb_event_too_small);
	later.event = (struct sb_event_codes){.count = -1};
	assert_int_equal(sb_event_encode("cs", 0, sb_event_target_none, &later.event), -sb_event_invalid);
	later.event = (struct sb_event_codes){.fstr = &text};
	assert_int_equal(sb_event_encode("cs", 0, sb_event_target_none, &later.event), -sb_event_invalid);
	/* Without a size it is the first version. */
	later.event = (struct sb_event_codes){.count = 0};
	assert_int_equal(sb_event_encode("cs", 0, sb_event_target_none, &later.event), 0);
	free(later.event.codes);
}

static void wrong_arguments(void **state)
{
	struct {
		struct sb_event_perf event;
		uint64_t newer;
	} later = {.newer = 0};
	struct perf_event_attr attr = {.size = sizeof(attr)};
	struct sb_event_codes codes = {.size = sizeof(codes)};
	char *text = attr.size ? (char *)"" : NULL;

	(void)state;
	assert_int_equal(sb_event_encode(NULL, 0, sb_event_target_perf, &later.event), -sb_event_invalid);
	assert_int_equal(sb_event_encode("cs", 0, sb_event_target_perf, NULL), -sb_event_invalid);
	assert_int_equal(sb_event_encode("cs", 0, (enum sb_event_target)77, &later.event), -sb_event_invalid);
	assert_int_equal(sb_event_encode("cs", 2, sb_event_target_perf, &later.event), -sb_event_invalid);
	later.event = (struct sb_event_perf){.size = sizeof(later.event)};
	assert_int_equal(sb_event_encode("cs", 0, sb_event_target_perf, &later.event), -sb_event_invalid);
	later.event.attr = &attr;
	later.event.size = sizeof(later.event.attr);
	assert_int_equal(sb_event_encode("cs", 0, sb_event_target_perf, &later.event), -sb_event_too_small);
	later.event.size = 0;
	assert_int_equal(sb_event_encode("cs", 0, sb_event_target_perf, &later.event), 0);
	later.event.size = sizeof(later);
	assert_int_equal(sb_event_encode("cs", 0, sb_event_target_perf, &later.event), 0);
	later.newer = 1;
	assert_int_equal(sb_event_encode("cs", 0, sb_event_target_perf, &later.event), -sb_event_invalid);
	later.event.size = sizeof(later.event);
	later.event.fstr = &text;
	assert_int_equal(sb_event_encode("cs", 0, sb_event_target_perf, &later.event), -sb_event_invalid);
	codes.count = 1;
	assert_int_equal(sb_event_encode("cs", 0, sb_event_target_none, &codes), -sb_event_invalid);
}

/* fup_on_ptw without ptw: the kernel says no to it. */
static void the_kernel_would_refuse(void **state)
{
	char *path;
	FILE *file;
	struct perf_event_attr attr = {.size = sizeof(attr)};

	(void)state;
	assert_true(asprintf(&path, "%s/bus/event_source/devices/intel_pt/caps/ptwrite", sysfs) > 0);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("1\n", file);
	fclose(file);
	assert_int_equal(encode("intel_pt/fup_on_ptw/", sb_event_target_perf, &attr), -sb_event_combination);
	assert_int_equal(encode("intel_pt/fup_on_ptw,ptw/", sb_event_target_perf, &attr), 0);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("0\n", file);
	fclose(file);
	free(path);
}

/* ---- No memory -------------------------------------------------------------------------------- */

static int no_memory;

FILE *__real_open_memstream(char **text, size_t *size);
FILE *__wrap_open_memstream(char **text, size_t *size);

FILE *__wrap_open_memstream(char **text, size_t *size)
{
	return no_memory ? NULL : __real_open_memstream(text, size);
}

static void out_of_memory(void **state)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};

	(void)state;
	no_memory = 1;
	assert_int_equal(encode("cs", sb_event_target_perf, &attr), -sb_event_nomem);
	assert_int_equal(encode("intel_pt//", sb_event_target_perf, &attr), -sb_event_nomem);
	no_memory = 0;
	assert_int_equal(encode("intel_pt//", sb_event_target_perf, &attr), 0);
}

/* ---- What there is ------------------------------------------------------------------------------ */

struct seen {
	int pt, alias, scale, software, named;
};

static int see(void *context, const char *pmu, const char *name, const char *about)
{
	struct seen *seen = context;

	seen->pt += !strcmp(name, "intel_pt/mtc_period=/") && !strcmp(about, "config:14-17");
	seen->alias += !strcmp(name, "cpu/cpu-cycles/");
	seen->scale += strstr(name, ".scale") != NULL;
	seen->software += !strcmp(pmu, "software") && !strcmp(name, "context-switches");
	seen->named += strstr(name, "::") != NULL;
	return 0;
}

static int enough(void *context, const char *pmu, const char *name, const char *about)
{
	(void)pmu;
	(void)name;
	(void)about;
	return ++*(int *)context == 3 ? 42 : 0;
}

static void what_there_is(void **state)
{
	struct seen seen = {0};
	int count = 0;

	(void)state;
	assert_int_equal(sb_event_list(sysfs, see, &seen), 0);
	assert_int_equal(seen.pt, 1);
	assert_int_equal(seen.alias, 1);
	assert_int_equal(seen.scale, 0);
	assert_int_equal(seen.software, 1);
	assert_true(seen.named > 0);
	assert_int_equal(sb_event_list(sysfs, enough, &count), 42);
	assert_int_equal(count, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(software_events),
	        cmocka_unit_test(modifiers_of_the_perf_interface),
	        cmocka_unit_test(only_known_fields_are_touched),
	        cmocka_unit_test(nothing_changes_on_failure),
	        cmocka_unit_test(the_first_of_a_list),
	        cmocka_unit_test(the_whole_string_is_the_same_event),
	        cmocka_unit_test(raw_codes),
	        cmocka_unit_test(as_libpfm4),
	        cmocka_unit_test(levels_that_nobody_names),
	        cmocka_unit_test(levels_of_the_string),
	        cmocka_unit_test(what_an_index_is_of),
	        cmocka_unit_test(each_error),
	        cmocka_unit_test(modifiers_of_another_target),
	        cmocka_unit_test(wrong_codes),
	        cmocka_unit_test(wrong_arguments),
	        cmocka_unit_test(the_kernel_would_refuse),
	        cmocka_unit_test(out_of_memory),
	        cmocka_unit_test(what_there_is),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
