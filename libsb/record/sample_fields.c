/* sample_fields.c - the fields of SAMPLE and READ, by name. */
#include "record/field_put.h"

#include <linux/perf_event.h>

#include "record/bytes.h"

/* @at: a row of u64 that read_format names; the next one. */
static const uint8_t *put_count(const struct sb_field_visitor *visitor, uint64_t there, const char *name,
                                const uint8_t *at)
{
	if (!there)
		return at;
	put_unsigned(visitor, name, load_u64(at));
	return at + 8;
}

/* What a counter counted, and who it is. */
static void put_counter(const struct sb_field_visitor *visitor, uint64_t format, const uint8_t *at)
{
	at = put_count(visitor, 1, "value", at);
	if (!(format & PERF_FORMAT_GROUP)) {
		at = put_count(visitor, format & PERF_FORMAT_TOTAL_TIME_ENABLED, "enabled", at);
		at = put_count(visitor, format & PERF_FORMAT_TOTAL_TIME_RUNNING, "running", at);
	}
	at = put_count(visitor, format & PERF_FORMAT_ID, "id", at);
	put_count(visitor, format & 1 << 4 /* PERF_FORMAT_LOST */, "lost", at);
}

static void put_counters(const struct sb_field_visitor *visitor, const struct sb_sample_format *format,
                         const uint8_t *at, uint64_t size)
{
	const uint64_t read_format = format->read_format;
	const uint64_t each =
	        8 * (1 + (uint64_t)__builtin_popcountll(read_format & (PERF_FORMAT_ID | 1 << 4)));
	uint64_t nr;

	if (!size)
		return;
	if (!(read_format & PERF_FORMAT_GROUP)) {
		put_counter(visitor, read_format, at);
		return;
	}
	nr = load_u64(at);
	at = put_count(visitor, read_format & PERF_FORMAT_TOTAL_TIME_ENABLED, "enabled", at + 8);
	at = put_count(visitor, read_format & PERF_FORMAT_TOTAL_TIME_RUNNING, "running", at);
	visitor->begin_list(visitor->context, "counters");
	for (; nr; nr--, at += each) {
		visitor->begin_group(visitor->context);
		put_counter(visitor, read_format, at);
		visitor->end_group(visitor->context);
	}
	visitor->end_list(visitor->context);
}

void read_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_pid_tid(visitor, record->u.read.pid, record->u.read.tid);
	if (record->u.read.size)
		put_counters(visitor, record->format, record->u.read.values, record->u.read.size);
}

static void put_read(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_counters(visitor, record->format, record->u.sample.read, record->u.sample.read_size);
}

static void put_ips(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_numbers(visitor, "ips", record->u.sample.ips, record->u.sample.nips);
}

static void put_raw(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_bytes(visitor, "raw", record->u.sample.raw, record->u.sample.raw_size);
}

static void put_branches(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	const struct sb_sample *sample = &record->u.sample;
	const uint8_t *at = sample->branches;

	if (sample->branch_hw_idx != UINT64_MAX)
		put_unsigned(visitor, "branch_hw_idx", sample->branch_hw_idx);
	visitor->begin_list(visitor->context, "branches");
	for (uint64_t i = 0; i < sample->nbranches; i++, at += 24) {
		visitor->begin_group(visitor->context);
		put_hex(visitor, "from", load_u64(at));
		put_hex(visitor, "to", load_u64(at + 8));
		put_hex(visitor, "flags", load_u64(at + 16));
		visitor->end_group(visitor->context);
	}
	visitor->end_list(visitor->context);
}

static void put_user_regs(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_unsigned(visitor, "user_abi", record->u.sample.user_abi);
	put_numbers(visitor, "user_regs", record->u.sample.user_regs, record->u.sample.user_nregs);
}

static void put_stack(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_unsigned(visitor, "stack_size", record->u.sample.stack_size);
	put_unsigned(visitor, "stack_dyn_size", record->u.sample.stack_dyn_size);
	put_bytes(visitor, "stack", record->u.sample.stack,
	          record->u.sample.stack_dyn_size < record->u.sample.stack_size
	                  ? record->u.sample.stack_dyn_size
	                  : record->u.sample.stack_size);
}

static void put_intr_regs(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_unsigned(visitor, "intr_abi", record->u.sample.intr_abi);
	put_numbers(visitor, "intr_regs", record->u.sample.intr_regs, record->u.sample.intr_nregs);
}

static void put_aux(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_unsigned(visitor, "aux_size", record->u.sample.aux_size);
}

/* In the order of the record. Bits that older headers lack are given by number. */
static const struct {
	uint64_t bit;
	const char *name; /* of a number ... */
	int is_hex;
	size_t at; /* ... which is there; or */
	fields_of *put;
} rows[] = {
        {PERF_SAMPLE_IP, "ip", 1, offsetof(struct sb_sample, ip), NULL},
        {PERF_SAMPLE_ADDR, "addr", 1, offsetof(struct sb_sample, addr), NULL},
        {PERF_SAMPLE_PERIOD, "period", 0, offsetof(struct sb_sample, period), NULL},
        {PERF_SAMPLE_READ, NULL, 0, 0, put_read},
        {PERF_SAMPLE_CALLCHAIN, NULL, 0, 0, put_ips},
        {PERF_SAMPLE_RAW, NULL, 0, 0, put_raw},
        {PERF_SAMPLE_BRANCH_STACK, NULL, 0, 0, put_branches},
        {PERF_SAMPLE_REGS_USER, NULL, 0, 0, put_user_regs},
        {PERF_SAMPLE_STACK_USER, NULL, 0, 0, put_stack},
        {PERF_SAMPLE_WEIGHT | 1 << 24, "weight", 0, offsetof(struct sb_sample, weight), NULL},
        {PERF_SAMPLE_DATA_SRC, "data_src", 1, offsetof(struct sb_sample, data_src), NULL},
        {PERF_SAMPLE_TRANSACTION, "transaction", 1, offsetof(struct sb_sample, transaction), NULL},
        {PERF_SAMPLE_REGS_INTR, NULL, 0, 0, put_intr_regs},
        {PERF_SAMPLE_PHYS_ADDR, "phys_addr", 1, offsetof(struct sb_sample, phys_addr), NULL},
        {1 << 21, "cgroup", 0, offsetof(struct sb_sample, cgroup), NULL},
        {1 << 22, "data_page_size", 1, offsetof(struct sb_sample, data_page_size), NULL},
        {1 << 23, "code_page_size", 1, offsetof(struct sb_sample, code_page_size), NULL},
        {1 << 20, NULL, 0, 0, put_aux},
};

void sample_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	const struct sb_sample *sample = &record->u.sample;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t value;

		if (!(sample->has & rows[i].bit))
			continue;
		if (rows[i].put) {
			rows[i].put(visitor, record);
			continue;
		}
		memcpy(&value, (const char *)sample + rows[i].at, sizeof(value));
		if (rows[i].is_hex)
			put_hex(visitor, rows[i].name, value);
		else
			put_unsigned(visitor, rows[i].name, value);
	}
}

static void put_tracepoint_field(const struct sb_field_visitor *visitor,
                                 const struct sb_tracepoint_field *field, const struct sb_sample *sample)
{
	char text[256] = "";
	uint64_t value;

	if (sample->raw_size < field->size || field->offset > sample->raw_size - field->size)
		return;
	if (sb_tracepoint_value(field, sample->raw, sample->raw_size, &value)) {
		if (field->is_signed)
			put_signed(visitor, field->name, (int64_t)value);
		else
			put_unsigned(visitor, field->name, value);
	} else if (field->kind == sb_tracepoint_text) {
		memcpy(text, sample->raw + field->offset,
		       field->size < sizeof(text) ? field->size : sizeof(text) - 1);
		put_string(visitor, field->name, text);
	} else {
		put_bytes(visitor, field->name, sample->raw + field->offset, field->size);
	}
}

void sb_tracepoint_visit(const struct sb_tracepoint *tracepoint, const struct sb_record *sample,
                         const struct sb_field_visitor *visitor)
{
	for (size_t i = 0; i < tracepoint->nfields; i++)
		put_tracepoint_field(visitor, &tracepoint->field[i], &sample->u.sample);
}
