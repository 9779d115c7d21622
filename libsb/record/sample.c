/* sample.c - SAMPLE and READ, whose layout is the event's: a row per field, in the order in which the kernel
 * writes them, each there when its bit is in sample_type.
 *
 * The order is that of perf_event_open(2) with CGROUP, DATA_PAGE_SIZE and CODE_PAGE_SIZE before AUX, which
 * comes last. A field of a kernel that is newer than this table may be anywhere behind CODE_PAGE_SIZE: then
 * AUX is not looked for.
 */
#include "record/record_body.h"

#include <linux/perf_event.h>

#include "record/bytes.h"

/* Bits that this tree's oldest supported kernel headers may lack. */
enum {
	SAMPLE_KNOWN_BITS = 25,        /* ... PERF_SAMPLE_WEIGHT_STRUCT */
	READ_LOST = 1 << 4,            /* PERF_FORMAT_LOST */
	BRANCH_HW_INDEX = 1 << 17,     /* PERF_SAMPLE_BRANCH_HW_INDEX */
	BRANCH_COUNTERS = 1 << 19,     /* PERF_SAMPLE_BRANCH_COUNTERS */
	SAMPLE_WEIGHT_STRUCT = 1 << 24 /* PERF_SAMPLE_WEIGHT_STRUCT */
};

static const char ends_inside[] = "it ends inside of its fields";

/* What is left of the record's body. */
struct fields {
	const uint8_t *at;
	size_t left;
	const struct sb_sample_format *format;
};

/* @count times @size bytes; NULL when they are not there. */
static const uint8_t *take(struct fields *fields, uint64_t count, uint64_t size)
{
	const uint8_t *at = fields->at;

	if (count > fields->left / size)
		return NULL;
	fields->at += count * size;
	fields->left -= (size_t)(count * size);
	return at;
}

static int take_u64(struct fields *fields, uint64_t *value)
{
	const uint8_t *at = take(fields, 1, 8);

	if (at)
		*value = load_u64(at);
	return at != NULL;
}

/* A u64, and so many times @size bytes. */
static int take_counted(struct fields *fields, uint64_t *count, const uint8_t **bytes, uint64_t size)
{
	if (!take_u64(fields, count))
		return 0;
	*bytes = take(fields, *count, size);
	return *bytes != NULL;
}

static int take_tid(struct fields *fields, struct sb_record *record)
{
	const uint8_t *at = take(fields, 1, 8);

	if (!at)
		return 0;
	record->sample.pid = load_i32(at);
	record->sample.tid = load_i32(at + 4);
	return 1;
}

static int take_cpu(struct fields *fields, struct sb_record *record)
{
	const uint8_t *at = take(fields, 1, 8);

	if (at)
		record->sample.cpu = load_u32(at);
	return at != NULL;
}

/* The values of a counter, or of a group of them. */
static int take_counts(struct fields *fields, const uint8_t **values, uint64_t *size)
{
	const uint64_t format = fields->format->read_format;
	const uint64_t times = (uint64_t)__builtin_popcountll(
	        format & (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING));
	const uint64_t each = 1 + (uint64_t)__builtin_popcountll(format & (PERF_FORMAT_ID | READ_LOST));
	const uint8_t *begin = fields->at;
	uint64_t count = 1;
	int there;

	if (format & PERF_FORMAT_GROUP)
		there = take_u64(fields, &count) && take(fields, times, 8) && take(fields, count, 8 * each);
	else
		there = take(fields, times + each, 8) != NULL;
	*values = begin;
	*size = (uint64_t)(fields->at - begin);
	return there;
}

static int take_read(struct fields *fields, struct sb_record *record)
{
	return take_counts(fields, &record->u.sample.read, &record->u.sample.read_size);
}

static int take_callchain(struct fields *fields, struct sb_record *record)
{
	return take_counted(fields, &record->u.sample.nips, &record->u.sample.ips, 8);
}

/* The size has 32 bits; it is such that the next field is aligned. */
static int take_raw(struct fields *fields, struct sb_record *record)
{
	const uint8_t *at = take(fields, 1, 4);

	if (!at)
		return 0;
	record->u.sample.raw_size = load_u32(at);
	record->u.sample.raw = take(fields, record->u.sample.raw_size, 1);
	return record->u.sample.raw != NULL;
}

static int take_branches(struct fields *fields, struct sb_record *record)
{
	struct sb_sample *sample = &record->u.sample;

	sample->branch_hw_idx = UINT64_MAX;
	if (!take_u64(fields, &sample->nbranches))
		return 0;
	if ((fields->format->branch_sample_type & BRANCH_HW_INDEX) &&
	    !take_u64(fields, &sample->branch_hw_idx))
		return 0;
	sample->branches = take(fields, sample->nbranches, 24);
	if (sample->branches && (fields->format->branch_sample_type & BRANCH_COUNTERS))
		return take(fields, sample->nbranches, 8) != NULL;
	return sample->branches != NULL;
}

static int take_regs(struct fields *fields, uint64_t mask, uint64_t *abi, const uint8_t **regs,
                     uint64_t *nregs)
{
	if (!take_u64(fields, abi))
		return 0;
	*nregs = *abi ? (uint64_t)__builtin_popcountll(mask) : 0;
	*regs = take(fields, *nregs, 8);
	return *regs != NULL;
}

static int take_user_regs(struct fields *fields, struct sb_record *record)
{
	struct sb_sample *sample = &record->u.sample;

	return take_regs(fields, fields->format->sample_regs_user, &sample->user_abi, &sample->user_regs,
	                 &sample->user_nregs);
}

static int take_intr_regs(struct fields *fields, struct sb_record *record)
{
	struct sb_sample *sample = &record->u.sample;

	return take_regs(fields, fields->format->sample_regs_intr, &sample->intr_abi, &sample->intr_regs,
	                 &sample->intr_nregs);
}

static int take_stack(struct fields *fields, struct sb_record *record)
{
	struct sb_sample *sample = &record->u.sample;

	sample->stack_dyn_size = 0;
	if (!take_counted(fields, &sample->stack_size, &sample->stack, 1))
		return 0;
	return !sample->stack_size || take_u64(fields, &sample->stack_dyn_size);
}

static int take_aux(struct fields *fields, struct sb_record *record)
{
	return take_counted(fields, &record->u.sample.aux_size, &record->u.sample.aux, 1);
}

struct field {
	uint64_t bit;
	int needs_more;                                               /* than sample_type */
	int (*take)(struct fields *fields, struct sb_record *record); /* NULL: a u64 ... */
	size_t at;                                                    /* ... which belongs there */
};

#define FIELD_AT(field) offsetof(struct sb_record, field)

static const struct field rows[] = {
        {PERF_SAMPLE_IDENTIFIER, 0, NULL, FIELD_AT(sample.id)},
        {PERF_SAMPLE_IP, 0, NULL, FIELD_AT(u.sample.ip)},
        {PERF_SAMPLE_TID, 0, take_tid, 0},
        {PERF_SAMPLE_TIME, 0, NULL, FIELD_AT(sample.time)},
        {PERF_SAMPLE_ADDR, 0, NULL, FIELD_AT(u.sample.addr)},
        {PERF_SAMPLE_ID, 0, NULL, FIELD_AT(sample.id)},
        {PERF_SAMPLE_STREAM_ID, 0, NULL, FIELD_AT(sample.stream_id)},
        {PERF_SAMPLE_CPU, 0, take_cpu, 0},
        {PERF_SAMPLE_PERIOD, 0, NULL, FIELD_AT(u.sample.period)},
        {PERF_SAMPLE_READ, 1, take_read, 0},
        {PERF_SAMPLE_CALLCHAIN, 0, take_callchain, 0},
        {PERF_SAMPLE_RAW, 0, take_raw, 0},
        {PERF_SAMPLE_BRANCH_STACK, 1, take_branches, 0},
        {PERF_SAMPLE_REGS_USER, 1, take_user_regs, 0},
        {PERF_SAMPLE_STACK_USER, 0, take_stack, 0},
        {PERF_SAMPLE_WEIGHT | SAMPLE_WEIGHT_STRUCT, 0, NULL, FIELD_AT(u.sample.weight)},
        {PERF_SAMPLE_DATA_SRC, 0, NULL, FIELD_AT(u.sample.data_src)},
        {PERF_SAMPLE_TRANSACTION, 0, NULL, FIELD_AT(u.sample.transaction)},
        {PERF_SAMPLE_REGS_INTR, 1, take_intr_regs, 0},
        {PERF_SAMPLE_PHYS_ADDR, 0, NULL, FIELD_AT(u.sample.phys_addr)},
        {1 << 21 /* PERF_SAMPLE_CGROUP */, 0, NULL, FIELD_AT(u.sample.cgroup)},
        {1 << 22 /* PERF_SAMPLE_DATA_PAGE_SIZE */, 0, NULL, FIELD_AT(u.sample.data_page_size)},
        {1 << 23 /* PERF_SAMPLE_CODE_PAGE_SIZE */, 0, NULL, FIELD_AT(u.sample.code_page_size)},
        {1 << 20 /* PERF_SAMPLE_AUX */, 0, take_aux, 0},
};

static int take_field(const struct field *field, struct fields *fields, struct sb_record *record)
{
	uint64_t value;

	if (field->take)
		return field->take(fields, record);
	if (!take_u64(fields, &value))
		return 0;
	memcpy((char *)record + field->at, &value, sizeof(value));
	return 1;
}

const char *parse_sample(struct sb_record *record, const uint8_t *body, size_t size)
{
	struct fields fields = {.at = body, .left = size, .format = record->format};
	const uint64_t type = fields.format->sample_type;

	record->u.sample.has = 0;
	record->u.sample.is_sched_switch = 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct field *row = &rows[i];

		if (!(type & row->bit))
			continue;
		if (row->needs_more && fields.format->type_only)
			break;
		if (row->take == take_aux && type >> SAMPLE_KNOWN_BITS)
			break;
		if (!take_field(row, &fields, record))
			return ends_inside;
		record->u.sample.has |= type & row->bit;
	}
	record->sample.has = record->u.sample.has & (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
	                                             PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU);
	if (record->u.sample.has & PERF_SAMPLE_IDENTIFIER)
		record->sample.has |= PERF_SAMPLE_ID;
	return NULL;
}

const char *parse_read(struct sb_record *record, const uint8_t *body, size_t size)
{
	struct fields fields = {.at = body + 8, .left = size - 8, .format = record->format};

	record->u.read.pid = load_i32(body);
	record->u.read.tid = load_i32(body + 4);
	record->u.read.values = fields.at;
	record->u.read.size = 0;
	if (fields.format->type_only)
		return NULL;
	return take_counts(&fields, &record->u.read.values, &record->u.read.size) ? NULL : ends_inside;
}
