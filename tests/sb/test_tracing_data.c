/* Formats of tracepoints, out of TRACING_DATA put together as perf writes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "record/tracing_data.h"
#include "support/bytes.h"

static const char sched_switch[] = "name: sched_switch\n"
                                   "ID: 372\n"
                                   "format:\n"
                                   "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                                   "\n"
                                   "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
                                   "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
                                   "\n"
                                   "print fmt: \"field:int no;\toffset:1;\tsize:4;\tsigned:1;\"\n";

static const char odd[] = "name: odd\n"
                          "ID: 7\n"
                          "format:\n"
                          "\tfield:__data_loc char[] where;\toffset:8;\tsize:4;\tsigned:0;\n"
                          "\tfield:__u8 mac[6];\toffset:12;\tsize:6;\tsigned:0;\n"
                          "\tfield:const char * pointer;\toffset:24;\tsize:8;\tsigned:0;\n"
                          "\tfield:cut;\toffset:24\n"
                          "\tfield:int far;\toffset:70000;\tsize:4;\tsigned:1;\n"
                          "\tfield:;\toffset:1;\tsize:4;\tsigned:1;\n"
                          "\tfield:bool last;\toffset:32;\tsize:1;\tsigned:0;";

static void put_file(struct bytes *b, const char *text)
{
	put64(b, strlen(text));
	memcpy(b->data + b->size, text, strlen(text));
	b->size += strlen(text);
}

static void compose(struct bytes *b)
{
	static const uint8_t magic[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};

	memcpy(b->data, magic, sizeof(magic));
	b->size = sizeof(magic);
	put_text(b, "0.6", 1);
	put8(b, 0); /* little-endian */
	put8(b, 8);
	put32(b, 4096);
	put_text(b, "header_page", 1);
	put_file(b, "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n");
	put_text(b, "header_event", 1);
	put_file(b, "");
	put32(b, 1);
	put_file(b, "name: function\nID: 1\n");
	put32(b, 2);
	put_text(b, "sched", 1);
	put32(b, 1);
	put_file(b, sched_switch);
	put_text(b, "net", 1);
	put32(b, 1);
	put_file(b, odd);
	put32(b, 0); /* kallsyms and printk formats: none */
	put32(b, 0);
}

static void assert_field(const struct sb_tracepoint *tracepoint, const char *name, uint32_t offset,
                         uint32_t size, enum sb_tracepoint_kind kind, int is_signed)
{
	const struct sb_tracepoint_field *field = sb_tracepoint_find(tracepoint, name);

	assert_non_null(field);
	assert_int_equal(field->offset, offset);
	assert_int_equal(field->size, size);
	assert_int_equal(field->kind, kind);
	assert_int_equal(field->is_signed, is_signed);
}

static void formats_by_number_and_by_name(void **state)
{
	const struct sb_tracepoint *tracepoint;
	struct tracing_data data = {0};
	struct bytes b = {0};

	(void)state;
	compose(&b);
	assert_null(tracing_data_read(&data, b.data, b.size));
	assert_int_equal(data.ntracepoints, 2);
	tracepoint = tracing_data_by_id(&data, 372);
	assert_non_null(tracepoint);
	assert_ptr_equal(tracepoint, tracing_data_by_name(&data, "sched", "sched_switch"));
	assert_int_equal(tracepoint->nfields, 3);
	assert_field(tracepoint, "common_type", 0, 2, sb_tracepoint_number, 0);
	assert_field(tracepoint, "prev_comm", 8, 16, sb_tracepoint_text, 0);
	assert_field(tracepoint, "prev_pid", 24, 4, sb_tracepoint_number, 1);
	assert_null(sb_tracepoint_find(tracepoint, "no"));
	assert_null(tracing_data_by_id(&data, 1));
	assert_null(tracing_data_by_name(&data, "net", "sched_switch"));
	tracing_data_free(&data);
}

static void fields_that_are_no_plain_numbers(void **state)
{
	const struct sb_tracepoint *tracepoint;
	struct tracing_data data = {0};
	struct bytes b = {0};

	(void)state;
	compose(&b);
	assert_null(tracing_data_read(&data, b.data, b.size));
	tracepoint = tracing_data_by_name(&data, "net", "odd");
	assert_int_equal(tracepoint->nfields, 4);
	assert_field(tracepoint, "where", 8, 4, sb_tracepoint_other, 0);
	assert_field(tracepoint, "mac", 12, 6, sb_tracepoint_other, 0);
	assert_field(tracepoint, "pointer", 24, 8, sb_tracepoint_number, 0);
	assert_field(tracepoint, "last", 32, 1, sb_tracepoint_number, 0);
	tracing_data_free(&data);
}

static void values(void **state)
{
	static const uint8_t raw[] = {0xfe, 0xff, 0xff, 0xff, 1, 2, 3, 4, 5};
	struct sb_tracepoint_field field = {"n", 0, 4, sb_tracepoint_number, 1};
	uint64_t value;

	(void)state;
	assert_int_equal(sb_tracepoint_value(&field, raw, sizeof(raw), &value), 1);
	assert_int_equal((int64_t)value, -2);
	field.is_signed = 0;
	assert_int_equal(sb_tracepoint_value(&field, raw, sizeof(raw), &value), 1);
	assert_int_equal(value, 0xfffffffe);
	field.offset = 5;
	assert_int_equal(sb_tracepoint_value(&field, raw, sizeof(raw), &value), 1);
	assert_int_equal(value, 0x05040302);
	field.offset = 6;
	assert_int_equal(sb_tracepoint_value(&field, raw, sizeof(raw), &value), 0);
	field.offset = UINT32_MAX;
	assert_int_equal(sb_tracepoint_value(&field, raw, sizeof(raw), &value), 0);
	field = (struct sb_tracepoint_field){"n", 1, 8, sb_tracepoint_number, 1};
	assert_int_equal(sb_tracepoint_value(&field, raw, sizeof(raw), &value), 1);
	assert_int_equal(value, 0x0504030201ffffff);
	field.kind = sb_tracepoint_other;
	assert_int_equal(sb_tracepoint_value(&field, raw, sizeof(raw), &value), 0);
}

/* Whatever is missing at the end, what came before is kept. */
static void cut_anywhere(void **state)
{
	struct bytes b = {0};
	size_t most = 0;

	(void)state;
	compose(&b);
	for (size_t size = 0; size < b.size - 8; size++) {
		struct tracing_data data = {0};
		uint8_t *copy = malloc(size ? size : 1);

		memcpy(copy, b.data, size);
		assert_non_null(tracing_data_read(&data, copy, size));
		assert_true(data.ntracepoints >= most && data.ntracepoints <= 2);
		most = data.ntracepoints;
		tracing_data_free(&data);
		free(copy);
	}
	assert_int_equal(most, 1);
}

static void sizes_that_wrap(void **state)
{
	struct bytes b = {0};

	(void)state;
	compose(&b);
	for (size_t at = 0; at + 8 < b.size; at++) {
		struct tracing_data data = {0};
		struct bytes changed = b;

		patch(&changed, at, UINT64_MAX, 8);
		tracing_data_read(&data, changed.data, changed.size);
		tracing_data_free(&data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(formats_by_number_and_by_name),
	        cmocka_unit_test(fields_that_are_no_plain_numbers),
	        cmocka_unit_test(values),
	        cmocka_unit_test(cut_anywhere),
	        cmocka_unit_test(sizes_that_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
