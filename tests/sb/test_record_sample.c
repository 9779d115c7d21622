/* SAMPLE, with each field that sample_type can ask for, in the order in which the kernel writes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <linux/perf_event.h>
#include <cmocka.h>

#include "sb/record_checks.h"

enum {
	HW_INDEX = 1 << 17,  /* PERF_SAMPLE_BRANCH_HW_INDEX */
	COUNTERS = 1 << 19,  /* PERF_SAMPLE_BRANCH_COUNTERS */
	CGROUP = 1 << 21,    /* PERF_SAMPLE_CGROUP */
	DATA_PAGE = 1 << 22, /* PERF_SAMPLE_DATA_PAGE_SIZE */
	CODE_PAGE = 1 << 23, /* PERF_SAMPLE_CODE_PAGE_SIZE */
	AUX = 1 << 20,       /* PERF_SAMPLE_AUX */
	ALL = (1 << 24) - 1
};

static const struct sb_sample_format everything = {
        .sample_type = ALL,
        .sample_id_all = 1,
        .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_ID,
        .branch_sample_type = HW_INDEX | COUNTERS,
        .sample_regs_user = 0x101,
        .sample_regs_intr = 1,
};

static void put_counts(struct bytes *b)
{
	put64(b, 2); /* counters */
	put64(b, 900);
	for (unsigned int i = 0; i < 4; i++)
		put64(b, 50 + i); /* value, id */
}

static void put_stacks(struct bytes *b)
{
	put64(b, 2); /* user registers, 64-bit */
	put64(b, 0x11);
	put64(b, 0x12);
	put64(b, 16); /* stack */
	put64(b, 0x21);
	put64(b, 0x22);
	put64(b, 8);
}

static void put_branches(struct bytes *b)
{
	put64(b, 1);
	put64(b, 77);
	put64(b, 0x401000);
	put64(b, 0x402000);
	put64(b, 1);
	put64(b, 0xc0); /* its counters */
}

static void put_up_to_raw(struct bytes *b)
{
	put64(b, 15); /* IDENTIFIER */
	put64(b, 0x401111);
	put32(b, 11);
	put32(b, 12);
	put64(b, 1300);
	put64(b, 0xadd5); /* ADDR */
	put64(b, 15);     /* ID */
	put64(b, 16);     /* STREAM_ID */
	put32(b, 14);     /* CPU */
	put32(b, 0);
	put64(b, 4000); /* PERIOD */
	put_counts(b);
	put64(b, 2); /* CALLCHAIN */
	put64(b, (uint64_t)-512);
	put64(b, 0x401111);
	put32(b, 12); /* RAW */
	put_text(b, "raw bytes", 12);
}

static void compose_sample(struct bytes *b)
{
	size_t at = begin_record(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);

	put_up_to_raw(b);
	put_branches(b);
	put_stacks(b);
	put64(b, 31); /* WEIGHT */
	put64(b, 32); /* DATA_SRC */
	put64(b, 33); /* TRANSACTION */
	put64(b, 0);  /* interrupted registers: none */
	put64(b, 35); /* PHYS_ADDR */
	put64(b, 36); /* CGROUP */
	put64(b, 37); /* DATA_PAGE_SIZE */
	put64(b, 38); /* CODE_PAGE_SIZE */
	put64(b, 8);
	put_text(b, "aux.aux", 8);
	end_record(b, at);
}

static int parse_as(struct sb_record *record, const struct bytes *b, const struct sb_sample_format *format)
{
	memset(record, 0, sizeof(*record));
	return sb_record_parse(record, b->data, b->size, format, "file", 0x100, NULL);
}

static void every_field_of_a_sample(void **state)
{
	const struct sb_sample *s;
	struct bytes b = {0};
	struct sb_record r;

	(void)state;
	compose_sample(&b);
	assert_int_equal(parse_as(&r, &b, &everything), 0);
	s = &r.u.sample;
	assert_int_equal(s->has, ALL);
	assert_int_equal(r.sample.has, PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
	                                       PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU);
	assert_int_equal(r.sample.pid, 11);
	assert_int_equal(r.sample.tid, 12);
	assert_int_equal(r.sample.time, 1300);
	assert_int_equal(r.sample.id, 15);
	assert_int_equal(r.sample.stream_id, 16);
	assert_int_equal(r.sample.cpu, 14);
	assert_int_equal(s->ip, 0x401111);
	assert_int_equal(s->addr, 0xadd5);
	assert_int_equal(s->period, 4000);
	assert_int_equal(s->read_size, 48);
	assert_int_equal(s->nips, 2);
	assert_int_equal(s->ips[8], 0x11);
	assert_int_equal(s->raw_size, 12);
	assert_string_equal(s->raw, "raw bytes");
	assert_int_equal(s->nbranches, 1);
	assert_int_equal(s->branch_hw_idx, 77);
	assert_int_equal(s->branches[9], 0x20);
	assert_int_equal(s->user_abi, 2);
	assert_int_equal(s->user_regs[8], 0x12);
	assert_int_equal(s->stack_size, 16);
	assert_int_equal(s->stack[8], 0x22);
	assert_int_equal(s->stack_dyn_size, 8);
	assert_int_equal(s->weight, 31);
	assert_int_equal(s->data_src, 32);
	assert_int_equal(s->transaction, 33);
	assert_int_equal(s->intr_abi, 0);
	assert_int_equal(s->phys_addr, 35);
	assert_int_equal(s->cgroup, 36);
	assert_int_equal(s->data_page_size, 37);
	assert_int_equal(s->code_page_size, 38);
	assert_int_equal(s->aux_size, 8);
	assert_string_equal(s->aux, "aux.aux");
	assert_ptr_equal(s->aux + 8, b.data + b.size);
}

static void only_the_type_is_known(void **state)
{
	struct sb_sample_format format = everything;
	struct bytes b = {0};
	struct sb_record r;

	(void)state;
	format.type_only = 1;
	compose_sample(&b);
	assert_int_equal(parse_as(&r, &b, &format), 0);
	assert_int_equal(r.u.sample.period, 4000);
	/* How long READ is, nobody knows. */
	assert_int_equal(r.u.sample.has, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
	                                         PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
	                                         PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
	                                         PERF_SAMPLE_PERIOD);
}

static void fields_of_the_future(void **state)
{
	struct sb_sample_format format = everything;
	struct bytes b = {0};
	struct sb_record r;

	(void)state;
	format.sample_type |= 1 << 25;
	compose_sample(&b);
	assert_int_equal(parse_as(&r, &b, &format), 0);
	assert_int_equal(r.u.sample.has, ALL & ~AUX);
	assert_int_equal(r.u.sample.code_page_size, 38);
}

static void no_format_no_fields(void **state)
{
	FILE *null = fopen("/dev/null", "w");
	struct bytes b = {0};
	struct sb_record r;

	(void)state;
	compose_sample(&b);
	assert_int_equal(parse_as(&r, &b, NULL), 0);
	assert_int_equal(r.u.sample.has, 0);
	assert_int_equal(r.sample.has, 0);
	/* Of a READ, who was counted; not what. */
	patch(&b, 0, PERF_RECORD_READ, 4);
	assert_int_equal(parse_as(&r, &b, NULL), 0);
	assert_int_equal(r.u.read.pid, 15);
	assert_int_equal(r.u.read.size, 0);
	sb_record_print(null, &r);
	fclose(null);
}

/* Each of these counts more than there is, up to sums that wrap. */
static void counts_that_are_too_high(void **state)
{
	static const size_t at[] = {80, 80 + 48, 80 + 48 + 24, 80 + 48 + 24 + 16,
	                            80 + 48 + 24 + 16 + 48 + 24};
	static const uint64_t value[] = {UINT32_MAX, UINT64_MAX, UINT64_MAX / 8 + 2, UINT64_MAX / 24 + 2};

	(void)state;
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		for (size_t j = 0; j < sizeof(value) / sizeof(value[0]); j++) {
			struct bytes b = {0};
			struct sb_record r;

			compose_sample(&b);
			patch(&b, at[i], value[j], at[i] == 80 + 48 + 24 ? 4 : 8);
			assert_int_equal(parse_as(&r, &b, &everything), -sbe_format);
		}
	}
}

static void cut_anywhere(void **state)
{
	struct sb_error err;
	struct bytes b = {0};
	struct sb_record r;
	size_t full;

	(void)state;
	compose_sample(&b);
	full = b.size;
	for (size_t size = 8; size < full; size++) {
		uint8_t *copy = malloc(size);

		patch(&b, 6, size, 2);
		memcpy(copy, b.data, size);
		assert_int_equal(sb_record_parse(&r, copy, size, &everything, "file", 0x100, &err),
		                 -sbe_format);
		assert_non_null(strstr(err.text, "SAMPLE"));
		free(copy);
	}
}

static void what_a_read_holds(void **state)
{
	struct bytes b = {0};
	struct sb_record r;
	size_t at = begin_record(&b, PERF_RECORD_READ, 0);

	(void)state;
	put32(&b, 30);
	put32(&b, 31);
	put_counts(&b);
	for (unsigned int i = 0; i < 6; i++)
		put64(&b, i); /* the trailer, with ID and STREAM_ID */
	end_record(&b, at);
	assert_int_equal(parse_as(&r, &b, &everything), 0);
	assert_int_equal(r.u.read.size, 48);
	assert_int_equal(r.u.read.values[8], 900 & 0xff);
	patch(&b, 16, 3, 8);
	assert_int_equal(parse_as(&r, &b, &everything), -sbe_format);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(every_field_of_a_sample),  cmocka_unit_test(only_the_type_is_known),
	        cmocka_unit_test(fields_of_the_future),     cmocka_unit_test(no_format_no_fields),
	        cmocka_unit_test(counts_that_are_too_high), cmocka_unit_test(cut_anywhere),
	        cmocka_unit_test(what_a_read_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
