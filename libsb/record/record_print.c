/* record_print.c - a record as one line of text: "name value" for each field, a flag's name when it is set,
 * lists as [name value ...] [...].
 *
 * What a recording says in strings is data, so bytes that a terminal could take for a command are
 * written as \xNN.
 */
#include <sb/record_fields.h>

#include <inttypes.h>
#include <linux/perf_event.h>

#include "record/bytes.h"
#include "record/field_put.h"

/* What is behind the header of a type whose fields nobody described. */
static void other_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	if (!strcmp(sb_record_name(record->type), "unknown"))
		put_unsigned(visitor, "type", record->type);
	if (record->size > 8)
		put_bytes(visitor, "body", record->bytes + 8, record->size - 8);
}

void sb_record_visit(const struct sb_record *record, const struct sb_field_visitor *visitor)
{
	const uint32_t own = record->type - SB_RECORD_HEADER_ATTR;
	fields_of *fields = NULL;

	if (record->type < kernel_fields_count)
		fields = kernel_fields[record->type];
	else if (record->type >= SB_RECORD_HEADER_ATTR && own < perf_fields_count)
		fields = perf_fields[own];
	(fields ? fields : other_fields)(visitor, record);
}

struct printer {
	FILE *out;
	int at_begin; /* of a group: no space before the next field */
};

static void print_string(FILE *out, const char *string)
{
	const char *p;

	fputc('"', out);
	for (p = string; *p; p++) {
		unsigned char c = (unsigned char)*p;

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			fprintf(out, "\\x%02x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

static void print_bytes(FILE *out, const uint8_t *bytes, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		fprintf(out, "%02x", bytes[i]);
	if (!count)
		fputc('-', out);
}

static void print_numbers(FILE *out, const uint8_t *bytes, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		fprintf(out, "%s0x%" PRIx64, i ? "," : "", load_u64(bytes + 8 * i));
	if (!count)
		fputc('-', out);
}

static void print_value(FILE *out, const struct sb_field *field)
{
	switch (field->kind) {
	case sb_field_signed:
		fprintf(out, "%" PRId64, field->u.i);
		break;
	case sb_field_unsigned:
		fprintf(out, "%" PRIu64, field->u.u);
		break;
	case sb_field_hex:
		fprintf(out, "0x%" PRIx64, field->u.u);
		break;
	case sb_field_real:
		fprintf(out, "%g", field->u.real);
		break;
	case sb_field_string:
		print_string(out, field->u.text);
		break;
	case sb_field_bytes:
		print_bytes(out, field->u.bytes, field->count);
		break;
	case sb_field_numbers:
		print_numbers(out, field->u.bytes, field->count);
		break;
	case sb_field_flag:
		break;
	}
}

static void print_field(void *context, const struct sb_field *field)
{
	struct printer *printer = context;

	if (field->kind == sb_field_flag && !field->u.is_set)
		return;
	fprintf(printer->out, "%s%s", printer->at_begin ? "" : " ", field->name);
	printer->at_begin = 0;
	if (field->kind == sb_field_flag)
		return;
	fputc(' ', printer->out);
	print_value(printer->out, field);
}

static void print_list(void *context, const char *name)
{
	const struct printer *printer = context;

	fprintf(printer->out, " %s", name);
}

static void print_group(void *context)
{
	struct printer *printer = context;

	fputs(" [", printer->out);
	printer->at_begin = 1;
}

static void print_group_end(void *context)
{
	struct printer *printer = context;

	fputc(']', printer->out);
	printer->at_begin = 0;
}

static void print_list_end(void *context)
{
	(void)context;
}

static void print_sample(FILE *out, const struct sb_sample_id *sample)
{
	if (sample->has & PERF_SAMPLE_CPU)
		fprintf(out, "\t%" PRIu32, sample->cpu);
	else
		fputs("\t-", out);
	if (sample->has & PERF_SAMPLE_TID)
		fprintf(out, "\t%" PRId32 "/%" PRId32, sample->pid, sample->tid);
	else
		fputs("\t-", out);
	if (sample->has & PERF_SAMPLE_TIME)
		fprintf(out, "\t%" PRIu64, sample->time);
	else
		fputs("\t-", out);
}

static struct sb_field_visitor visitor_of(struct printer *printer)
{
	return (struct sb_field_visitor){printer,     print_field,     print_list,
	                                 print_group, print_group_end, print_list_end};
}

void sb_record_print(FILE *out, const struct sb_record *record)
{
	struct printer printer = {.out = out};
	const struct sb_field_visitor visitor = visitor_of(&printer);
	const char *name = sb_record_name(record->type);

	fprintf(out, "0x%" PRIx64, record->offset);
	print_sample(out, &record->sample);
	fprintf(out, "\t%s", name);
	sb_record_visit(record, &visitor);
}

void sb_tracepoint_print(FILE *out, const struct sb_tracepoint *tracepoint, const struct sb_record *sample)
{
	struct printer printer = {.out = out};
	const struct sb_field_visitor visitor = visitor_of(&printer);

	fputs(" tracepoint ", out);
	print_string(out, tracepoint->system);
	fputc(':', out);
	print_string(out, tracepoint->name);
	sb_tracepoint_visit(tracepoint, sample, &visitor);
}
