/* fuzz_records.c - sb_record_parse(), and what shows records: any bytes, as the records of an event of any
 * format; and formats of tracepoints.
 *
 * A record that is taken has all its fields inside of it, each of them readable. What the index passes
 * without parsing, because of its size, would be taken. */
#include <stdlib.h>
#include <string.h>

#include <sb/record_fields.h>

#include "record/record_parse.h"
#include "record/tracing_data.h"
#include "support/check.h"
#include "support/input.h"
#include "support/target.h"

/* What the fields are checked against. */
struct inside {
	const struct sb_record *record;
	uint64_t sum; /* of all that was read */
	int depth;
};

static int lies_in(const uint8_t *bytes, uint64_t count, const void *object, uint64_t size)
{
	const uint8_t *begin = object;

	return bytes >= begin && bytes <= begin + size && count <= size &&
	       (uint64_t)(bytes - begin) <= size - count;
}

/* In the record's bytes, or, of what is short, copied. */
static void check_bytes(struct inside *inside, const uint8_t *bytes, uint64_t count)
{
	const struct sb_record *record = inside->record;

	FUZZ_CHECK(lies_in(bytes, count, record->bytes, record->size) ||
	                   lies_in(bytes, count, record, sizeof(*record)),
	           "a field is outside of its record");
	for (uint64_t i = 0; i < count; i++)
		inside->sum += bytes[i];
}

static void on_field(void *context, const struct sb_field *field)
{
	struct inside *inside = context;

	FUZZ_CHECK(field->name && *field->name, "a field without a name");
	switch (field->kind) {
	case sb_field_bytes:
		check_bytes(inside, field->u.bytes, field->count);
		break;
	case sb_field_numbers:
		FUZZ_CHECK(field->count <= UINT16_MAX, "%llu numbers", (unsigned long long)field->count);
		check_bytes(inside, field->u.bytes, 8 * field->count);
		break;
	case sb_field_string:
		inside->sum += strlen(field->u.text);
		break;
	default:
		inside->sum += field->u.u;
	}
}

static void on_list(void *context, const char *name)
{
	struct inside *inside = context;

	FUZZ_CHECK(name && inside->depth++ == 0, "a list in a list");
}

static void on_group(void *context)
{
	struct inside *inside = context;

	FUZZ_CHECK(inside->depth++ == 1, "a group outside of a list");
}

static void on_group_end(void *context)
{
	struct inside *inside = context;

	FUZZ_CHECK(inside->depth-- == 2, "no group ends here");
}

static void on_list_end(void *context)
{
	struct inside *inside = context;

	FUZZ_CHECK(inside->depth-- == 1, "no list ends here");
}

static void check_record(const struct sb_record *record, FILE *null)
{
	struct inside inside = {.record = record};
	const struct sb_field_visitor visitor = {.context = &inside,
	                                         .field = on_field,
	                                         .begin_list = on_list,
	                                         .begin_group = on_group,
	                                         .end_group = on_group_end,
	                                         .end_list = on_list_end};

	sb_record_visit(record, &visitor);
	FUZZ_CHECK(inside.depth == 0, "a list has no end");
	for (uint64_t kind = 0; kind < 9; kind++)
		inside.sum += sb_record_namespace(record, kind).ino;
	sb_record_print(null, record);
	FUZZ_CHECK(fprintf(null, "%llu\n", (unsigned long long)inside.sum) > 0, "no output");
}

/* The bytes stand at the end of memory of their own. Returns the record's size, or 0. */
static size_t parse_one(const uint8_t *bytes, size_t size, const struct sb_sample_format *format,
                        const struct record_sizes *sizes, FILE *null)
{
	uint8_t *copy = malloc(size ? size : 1);
	struct sb_error err = {0};
	struct sb_record record;
	size_t used = 0;
	int status;

	FUZZ_CHECK(copy, "no memory");
	if (size)
		memcpy(copy, bytes, size);
	if (sb_record_parse(&record, copy, size, NULL, "file", 0, NULL) == 0)
		check_record(&record, null);
	status = sb_record_parse(&record, copy, size, format, "file", 0, &err);
	if (status == 0) {
		check_record(&record, null);
		used = record.size;
	} else {
		FUZZ_CHECK(status == -sbe_truncated || status == -sbe_format, "status %d", status);
		FUZZ_CHECK(err.code == status && *err.text, "an error without a text");
	}
	if (size >= 8 && copy[0] < RECORD_KERNEL_TYPES && !(copy[1] | copy[2] | copy[3])) {
		const uint32_t claimed = copy[6] | (uint32_t)copy[7] << 8, right = sizes->right_from[copy[0]];

		FUZZ_CHECK(!right || claimed < right || claimed > size || status == 0,
		           "its size makes it right, but it is not taken: %s", err.text);
	}
	free(copy);
	return used;
}

static void fuzz_record_bytes(struct fuzz_input *in, FILE *null)
{
	const uint8_t flags = fuzz_u8(in);
	const struct sb_sample_format format = {.sample_type = fuzz_u64(in),
	                                        .sample_id_all = flags & 1,
	                                        .type_only = flags >> 1 & 1,
	                                        .read_format = fuzz_u64(in),
	                                        .branch_sample_type = fuzz_u64(in),
	                                        .sample_regs_user = fuzz_u64(in),
	                                        .sample_regs_intr = fuzz_u64(in)};
	const struct record_trailer trailer = record_trailer(&format);
	struct record_sizes sizes;
	size_t used = 1;

	record_sizes(&sizes, &trailer);
	while (in->pos < in->end && used) {
		used = parse_one(in->pos, (size_t)(in->end - in->pos), &format, &sizes, null);
		in->pos += used;
	}
}

static void check_tracepoint(const struct tracing_data *data, const struct sb_tracepoint *tracepoint,
                             const uint8_t *raw, uint64_t raw_size, FILE *null)
{
	struct sb_record sample = {.type = 9, .u.sample = {.raw = raw, .raw_size = raw_size}};
	uint64_t value;

	FUZZ_CHECK(tracepoint->name && tracepoint->system, "a tracepoint without a name");
	FUZZ_CHECK(tracing_data_by_id(data, tracepoint->id)->id == tracepoint->id,
	           "it is not found by its id");
	FUZZ_CHECK(tracing_data_by_name(data, tracepoint->system, tracepoint->name), "nor by its name");
	for (size_t i = 0; i < tracepoint->nfields; i++) {
		FUZZ_CHECK(sb_tracepoint_find(tracepoint, tracepoint->field[i].name), "a field is not found");
		sb_tracepoint_value(&tracepoint->field[i], raw, raw_size, &value);
	}
	sb_tracepoint_print(null, tracepoint, &sample);
}

static void fuzz_tracing_data(struct fuzz_input *in, FILE *null)
{
	const size_t size = (size_t)(in->end - in->pos);
	uint8_t *copy = malloc(size ? size : 1);
	struct tracing_data data = {0};

	FUZZ_CHECK(copy, "no memory");
	if (size)
		memcpy(copy, in->pos, size);
	tracing_data_read(&data, copy, size);
	FUZZ_CHECK(data.ntracepoints <= size, "%zu tracepoints in %zu bytes", data.ntracepoints, size);
	for (size_t i = 0; i < data.ntracepoints; i++)
		check_tracepoint(&data, &data.tracepoint[i], copy, size < 64 ? size : 64, null);
	tracing_data_free(&data);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, data + size};
	FILE *null = fopen("/dev/null", "w");

	FUZZ_CHECK(null, "no /dev/null");
	if (fuzz_below(&in, 4) == 3)
		fuzz_tracing_data(&in, null);
	else
		fuzz_record_bytes(&in, null);
	fclose(null);
	return 0;
}
