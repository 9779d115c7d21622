/* Records that perf itself writes, laid out as perf.data-file-format.txt says; each as it is printed, which
 * tells all fields. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <linux/perf_event.h>
#include <cmocka.h>

#include "sb/record_checks.h"

enum { MISC_BUILD_ID_SIZE = 1 << 15 };

static void compose_header_attr(struct bytes *b)
{
	size_t at = begin_record(b, SB_RECORD_HEADER_ATTR, 0);

	put32(b, 2);
	put32(b, 72); /* its size */
	put64(b, 372);
	put64(b, 1);
	put64(b, 0x10007);
	put64(b, 4);
	while (b->size < at + 8 + 72)
		put8(b, 0);
	put64(b, 101);
	put64(b, 102);
	end_record(b, at);
}

static void compose_event_type(struct bytes *b)
{
	size_t at = begin_record(b, SB_RECORD_EVENT_TYPE, 0);

	put64(b, 3);
	put_text(b, "cycles", 64);
	end_record(b, at);
}

static void compose_tracing_data(struct bytes *b)
{
	size_t at = begin_record(b, SB_RECORD_TRACING_DATA, 0);

	put32(b, 0x1003);
	put32(b, 0);
	end_record(b, at);
}

static void compose_build_id(struct bytes *b)
{
	size_t at = begin_record(b, SB_RECORD_BUILD_ID, MISC_BUILD_ID_SIZE);

	put32(b, UINT32_MAX);
	for (unsigned int i = 0; i < 20; i++)
		put8(b, 0xa0 + i);
	put32(b, 16); /* of them count */
	put_text(b, "/usr/bin/true", 8);
	end_record(b, at);
}

static void compose_id_index(struct bytes *b)
{
	size_t at = begin_record(b, SB_RECORD_ID_INDEX, 0);

	put64(b, 1);
	put64(b, 101);
	put64(b, 0);
	put64(b, 3);
	put64(b, UINT64_MAX);
	put64(b, 77); /* of a guest */
	put64(b, 2);
	end_record(b, at);
}

static void compose_auxtrace_error(struct bytes *b)
{
	size_t at = begin_record(b, SB_RECORD_AUXTRACE_ERROR, 0);

	put32(b, 1);
	put32(b, 5);
	put32(b, 2);
	put32(b, 30);
	put32(b, 31);
	put32(b, 2); /* the format */
	put64(b, 0x401000);
	put64(b, 555);
	put_text(b, "No instruction", 64);
	put32(b, 77);
	put32(b, 1);
	end_record(b, at);
}

static void compose_thread_map(struct bytes *b)
{
	size_t at = begin_record(b, SB_RECORD_THREAD_MAP, 0);

	put64(b, 2);
	put64(b, 30);
	put_text(b, "bash", 16);
	put64(b, 31);
	memcpy(b->data + b->size, "sixteen letters.and no NUL", 16);
	b->size += 16;
	end_record(b, at);
}

static void compose_cpu_list(struct bytes *b)
{
	size_t at = begin_record(b, SB_RECORD_CPU_MAP, 0);

	put16(b, 0);
	put16(b, 5);
	put16(b, UINT16_MAX); /* any CPU */
	for (unsigned int cpu = 2; cpu < 5; cpu++)
		put16(b, cpu);
	put16(b, 7);
	put16(b, 0);
	end_record(b, at);
}

static void compose_cpu_mask(struct bytes *b)
{
	size_t at = begin_record(b, SB_RECORD_CPU_MAP, 0);

	put16(b, 1);
	put16(b, 2);
	put16(b, 8);
	put32(b, 0); /* so that the words are aligned, but for the type */
	put64(b, 0x800000000000000b);
	put64(b, 3);
	put(b, 0, 6);
	end_record(b, at);
}

static void compose_cpu_short_mask(struct bytes *b)
{
	size_t at = begin_record(b, SB_RECORD_CPU_MAP, 0);

	put16(b, 1);
	put16(b, 1);
	put16(b, 4);
	put32(b, 0x80000001);
	put(b, 0, 6);
	end_record(b, at);
}

static void compose_cpu_range(struct bytes *b)
{
	size_t at = begin_record(b, SB_RECORD_CPU_MAP, 0);

	put16(b, 2);
	put8(b, 1);
	put8(b, 0);
	put16(b, 4);
	put16(b, 9);
	end_record(b, at);
}

static void compose_stat_config(struct bytes *b)
{
	size_t at = begin_record(b, SB_RECORD_STAT_CONFIG, 0);

	put64(b, 2);
	for (unsigned int i = 0; i < 4; i++)
		put64(b, i);
	end_record(b, at);
}

static void compose_stat(struct bytes *b)
{
	size_t at = begin_record(b, SB_RECORD_STAT, 0);

	put64(b, 101);
	put32(b, UINT32_MAX);
	put32(b, 1);
	put64(b, 4000);
	put64(b, 500);
	put64(b, 400);
	end_record(b, at);
}

static void compose_stat_round(struct bytes *b)
{
	size_t at = begin_record(b, SB_RECORD_STAT_ROUND, 0);

	put64(b, 1);
	put64(b, 100200300);
	end_record(b, at);
}

static void compose_update(struct bytes *b, uint64_t kind)
{
	const size_t at = begin_record(b, SB_RECORD_EVENT_UPDATE, 0);

	put64(b, kind);
	put64(b, 101);
	if (kind == SB_EVENT_UPDATE_SCALE)
		put64(b, 0x3fe0000000000000); /* 0.5 */
	else if (kind == SB_EVENT_UPDATE_CPUS)
		put64(b, 0x0000000200010000); /* a list of CPU 2 */
	else
		put_text(b, "msec", 8);
	end_record(b, at);
}

static void compose_unit(struct bytes *b)
{
	compose_update(b, SB_EVENT_UPDATE_UNIT);
}

static void compose_scale(struct bytes *b)
{
	compose_update(b, SB_EVENT_UPDATE_SCALE);
}

static void compose_name(struct bytes *b)
{
	compose_update(b, SB_EVENT_UPDATE_NAME);
}

static void compose_cpus(struct bytes *b)
{
	compose_update(b, SB_EVENT_UPDATE_CPUS);
}

static void compose_header_feature(struct bytes *b)
{
	size_t at = begin_record(b, SB_RECORD_HEADER_FEATURE, 0);

	put64(b, 5);
	put32(b, 4);
	put_text(b, "6.1", 4);
	end_record(b, at);
}

static void compose_compressed(struct bytes *b)
{
	size_t at = begin_record(b, SB_RECORD_COMPRESSED, 0);

	put64(b, 0x28b52ffd);
	end_record(b, at);
}

static void compose_compressed2(struct bytes *b)
{
	size_t at = begin_record(b, SB_RECORD_COMPRESSED2, 0);

	put64(b, 5);
	put64(b, 0x28b52ffd);
	end_record(b, at);
}

static void compose_unknown(struct bytes *b)
{
	size_t at = begin_record(b, 200, 0);

	put64(b, 0x0706050403020100);
	end_record(b, at);
}

static const struct {
	struct composed type;
	const char *printed; /* behind the columns */
} own[] = {
        {{"HEADER_ATTR", compose_header_attr, 64},
         "HEADER_ATTR attr_size 72 attr_type 2 config 0x174 sample_type 0x10007 read_format 0x4 ids 0x65,0x66"},
        {{"EVENT_TYPE", compose_event_type, 8}, "EVENT_TYPE id 0x3 name \"cycles\""},
        {{"TRACING_DATA", compose_tracing_data, 4}, "TRACING_DATA size 0x1003"},
        {{"BUILD_ID", compose_build_id, 28},
         "BUILD_ID pid -1 build_id a0a1a2a3a4a5a6a7a8a9aaabacadaeaf filename \"/usr/bin/true\""},
        {{"ID_INDEX", compose_id_index, 40},
         "ID_INDEX ids [id 101 idx 0 cpu 3 tid -1 machine_pid 77 vcpu 2]"},
        {{"AUXTRACE_ERROR", compose_auxtrace_error, 40},
         "AUXTRACE_ERROR auxtrace_type 1 code 5 cpu 2 pid 30 tid 31 ip 0x401000 at 555 machine_pid 77 vcpu 1 "
         "text \"No instruction\""},
        {{"THREAD_MAP", compose_thread_map, 56},
         "THREAD_MAP threads [tid 30 name \"bash\"] [tid 31 name \"sixteen letters.\"]"},
        {{"CPU_MAP", compose_cpu_list, 14},
         "CPU_MAP map \"list\" cpus [first -1 last -1] [first 2 last 4] [first 7 last 7]"},
        {{"CPU_MAP", compose_cpu_mask, 26},
         "CPU_MAP map \"mask\" cpus [first 0 last 1] [first 3 last 3] [first 63 last 65]"},
        {{"CPU_MAP", compose_cpu_short_mask, 10},
         "CPU_MAP map \"mask\" cpus [first 0 last 0] [first 31 last 31]"},
        {{"CPU_MAP", compose_cpu_range, 8}, "CPU_MAP map \"range\" any_cpu cpus [first 4 last 9]"},
        {{"STAT_CONFIG", compose_stat_config, 40}, "STAT_CONFIG config [tag 0 value 1] [tag 2 value 3]"},
        {{"STAT", compose_stat, 40}, "STAT id 101 cpu -1 thread 1 value 4000 enabled 500 running 400"},
        {{"STAT_ROUND", compose_stat_round, 16}, "STAT_ROUND round_type 1 at 100200300"},
        {{"EVENT_UPDATE", compose_unit, 17}, "EVENT_UPDATE id 101 unit \"msec\""},
        {{"EVENT_UPDATE", compose_scale, 24}, "EVENT_UPDATE id 101 scale 0.5"},
        {{"EVENT_UPDATE", compose_name, 17}, "EVENT_UPDATE id 101 name \"msec\""},
        {{"EVENT_UPDATE", compose_cpus, 22}, "EVENT_UPDATE id 101 map \"list\" cpus [first 2 last 2]"},
        {{"HEADER_FEATURE", compose_header_feature, 8}, "HEADER_FEATURE feature 5 bytes 04000000362e3100"},
        {{"COMPRESSED", compose_compressed, 0}, "COMPRESSED size 0x8"},
        {{"COMPRESSED2", compose_compressed2, 13}, "COMPRESSED2 size 0x5"},
        {{"unknown", compose_unknown, 0}, "unknown type 200 body 0001020304050607"},
};
enum { nown = sizeof(own) / sizeof(own[0]) };

static void each_with_its_fields(void **state)
{
	(void)state;
	for (int i = 0; i < nown; i++) {
		struct bytes b = {0};
		char expected[512];
		char *line;

		own[i].type.compose(&b);
		snprintf(expected, sizeof(expected), "0x100\t-\t-\t-\t%s", own[i].printed);
		line = printed(&b);
		assert_string_equal(line, expected);
		free(line);
	}
}

static void cut_or_changed(void **state)
{
	struct composed types[nown];

	(void)state;
	for (int i = 0; i < nown; i++)
		types[i] = own[i].type;
	check_cuts(types, nown);
	check_sizes(types, nown);
	check_random_bytes(types, nown);
}

static void assert_refused(void (*compose)(struct bytes *), size_t at, uint64_t value, size_t size)
{
	struct bytes b = {0};

	compose(&b);
	patch(&b, at, value, size);
	assert_int_equal(parse_code(&b, NULL), -sbe_format);
}

static void counts_and_sizes_that_cannot_be(void **state)
{
	(void)state;
	assert_refused(compose_header_attr, 12, 96, 4);
	assert_refused(compose_header_attr, 12, 73, 4);
	assert_refused(compose_header_attr, 12, UINT32_MAX, 4);
	assert_refused(compose_build_id, 32, 21, 1);
	assert_refused(compose_thread_map, 8, 3, 8);
	assert_refused(compose_thread_map, 8, UINT64_MAX / 24 + 2, 8);
	assert_refused(compose_cpu_list, 10, 7, 2);
	assert_refused(compose_cpu_list, 8, 3, 2);
	assert_refused(compose_cpu_mask, 10, 3, 2);
	assert_refused(compose_cpu_mask, 12, 2, 2);
	assert_refused(compose_cpu_mask, 12, 0x108, 2);
	assert_refused(compose_stat_config, 8, 3, 8);
	assert_refused(compose_compressed2, 8, 9, 8);
}

static void a_range_may_be_empty(void **state)
{
	struct bytes b = {0};
	struct sb_record r;
	uint32_t position = 0;
	int32_t cpu;

	(void)state;
	compose_cpu_range(&b);
	patch(&b, 12, 10, 2);
	r = parse(&b);
	assert_int_equal(sb_cpu_map_next(&r.u.cpu_map, &position, &cpu), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(each_with_its_fields),
	        cmocka_unit_test(cut_or_changed),
	        cmocka_unit_test(counts_and_sizes_that_cannot_be),
	        cmocka_unit_test(a_range_may_be_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
