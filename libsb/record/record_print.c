/* record_print.c - a record as one line of text: "name value" for each field, a flag's name when it is set,
 * lists as [name value ...] [...].
 *
 * What a recording says in strings is data, so bytes that a terminal could take for a command are
 * written as \xNN.
 */
#include <sb/record_fields.h>

#include <linux/perf_event.h>

#include "record/bytes.h"
#include "record/field_put.h"
#include "record/text_put.h"

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
	struct text text;
	int at_begin; /* of a group: no space before the next field */
};

static void print_string(struct text *text, const char *string)
{
	const char *p;

	text_char(text, '"');
	for (p = string; *p; p++) {
		unsigned char c = (unsigned char)*p;

		if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
			text_char(text, (char)c);
			continue;
		}
		text_put(text, "\\x");
		text_byte(text, c);
	}
	text_char(text, '"');
}

static void print_bytes(struct text *text, const uint8_t *bytes, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		text_byte(text, bytes[i]);
	if (!count)
		text_char(text, '-');
}

static void print_numbers(struct text *text, const uint8_t *bytes, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		if (i)
			text_char(text, ',');
		text_hex(text, load_u64(bytes + 8 * i));
	}
	if (!count)
		text_char(text, '-');
}

static void print_real(struct text *text, double value)
{
	char digits[32];

	snprintf(digits, sizeof(digits), "%g", value);
	text_put(text, digits);
}

static void print_value(struct text *text, const struct sb_field *field)
{
	switch (field->kind) {
	case sb_field_signed:
		text_signed(text, field->u.i);
		break;
	case sb_field_unsigned:
		text_unsigned(text, field->u.u);
		break;
	case sb_field_hex:
		text_hex(text, field->u.u);
		break;
	case sb_field_real:
		print_real(text, field->u.real);
		break;
	case sb_field_string:
		print_string(text, field->u.text);
		break;
	case sb_field_bytes:
		print_bytes(text, field->u.bytes, field->count);
		break;
	case sb_field_numbers:
		print_numbers(text, field->u.bytes, field->count);
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
	if (!printer->at_begin)
		text_char(&printer->text, ' ');
	text_put(&printer->text, field->name);
	printer->at_begin = 0;
	if (field->kind == sb_field_flag)
		return;
	text_char(&printer->text, ' ');
	print_value(&printer->text, field);
}

static void print_list(void *context, const char *name)
{
	struct printer *printer = context;

	text_char(&printer->text, ' ');
	text_put(&printer->text, name);
}

static void print_group(void *context)
{
	struct printer *printer = context;

	text_put(&printer->text, " [");
	printer->at_begin = 1;
}

static void print_group_end(void *context)
{
	struct printer *printer = context;

	text_char(&printer->text, ']');
	printer->at_begin = 0;
}

static void print_list_end(void *context)
{
	(void)context;
}

static void print_sample(struct text *text, const struct sb_sample_id *sample)
{
	text_char(text, '\t');
	if (sample->has & PERF_SAMPLE_CPU)
		text_unsigned(text, sample->cpu);
	else
		text_char(text, '-');
	text_char(text, '\t');
	if (sample->has & PERF_SAMPLE_TID) {
		text_signed(text, sample->pid);
		text_char(text, '/');
		text_signed(text, sample->tid);
	} else {
		text_char(text, '-');
	}
	text_char(text, '\t');
	if (sample->has & PERF_SAMPLE_TIME)
		text_unsigned(text, sample->time);
	else
		text_char(text, '-');
	text_char(text, '\t');
}

static void begin(struct printer *printer, FILE *out)
{
	printer->text.out = out;
	printer->text.used = 0;
	printer->at_begin = 0;
}

static struct sb_field_visitor visitor_of(struct printer *printer)
{
	return (struct sb_field_visitor){printer,     print_field,     print_list,
	                                 print_group, print_group_end, print_list_end};
}

void sb_record_print(FILE *out, const struct sb_record *record)
{
	struct printer printer;
	const struct sb_field_visitor visitor = visitor_of(&printer);

	begin(&printer, out);
	text_hex(&printer.text, record->offset);
	print_sample(&printer.text, &record->sample);
	text_put(&printer.text, sb_record_name(record->type));
	sb_record_visit(record, &visitor);
	text_flush(&printer.text);
}

void sb_tracepoint_print(FILE *out, const struct sb_tracepoint *tracepoint, const struct sb_record *sample)
{
	struct printer printer;
	const struct sb_field_visitor visitor = visitor_of(&printer);

	begin(&printer, out);
	text_put(&printer.text, " tracepoint ");
	print_string(&printer.text, tracepoint->system);
	text_char(&printer.text, ':');
	print_string(&printer.text, tracepoint->name);
	sb_tracepoint_visit(tracepoint, sample, &visitor);
	text_flush(&printer.text);
}
