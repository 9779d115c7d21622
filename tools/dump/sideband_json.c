/* sideband_json.c - records as JSON lines: an object for each, and one for the counts. The schema is in
 * sbtrace-dump(1).
 *
 * What is to be read in hexadecimal is a string, as for packets (form_json.c).
 */
#include "dump/sideband.h"

#include <jansson.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <sb/record_fields.h>

#include "dump/json_values.h"

/* What the fields of a record go into. */
struct nest {
	json_t *fields, *list, *group;
};

static json_t *numbers_array(const uint8_t *bytes, uint64_t count)
{
	json_t *array = json_array();

	for (uint64_t i = 0; i < count; i++, bytes += 8) {
		uint64_t value = 0;

		for (unsigned int byte = 0; byte < 8; byte++)
			value |= (uint64_t)bytes[byte] << (8 * byte);
		json_array_append_new(array, json_hex(value));
	}
	return array;
}

static json_t *field_value(const struct sb_field *field)
{
	switch (field->kind) {
	case sb_field_signed:
		return json_integer(field->u.i);
	case sb_field_unsigned:
		return json_unsigned(field->u.u);
	case sb_field_hex:
		return json_hex(field->u.u);
	case sb_field_real:
		return isfinite(field->u.real) ? json_real(field->u.real) : json_null();
	case sb_field_flag:
		return json_boolean(field->u.is_set);
	case sb_field_string:
		return json_text(field->u.text);
	case sb_field_bytes:
		return json_bytes(field->u.bytes, field->count);
	case sb_field_numbers:
		return numbers_array(field->u.bytes, field->count);
	}
	return json_null();
}

static void on_field(void *context, const struct sb_field *field)
{
	const struct nest *nest = context;

	json_object_set_new(nest->group ? nest->group : nest->fields, field->name, field_value(field));
}

static void on_list(void *context, const char *name)
{
	struct nest *nest = context;

	nest->list = json_array();
	json_object_set_new(nest->fields, name, nest->list);
}

static void on_group(void *context)
{
	struct nest *nest = context;

	nest->group = json_object();
	json_array_append_new(nest->list, nest->group);
}

static void on_group_end(void *context)
{
	((struct nest *)context)->group = NULL;
}

static void on_list_end(void *context)
{
	((struct nest *)context)->list = NULL;
}

/* Of the record; or, of a SAMPLE, those of its tracepoint. */
static json_t *fields_object(const struct sb_record *record, const struct sb_tracepoint *tracepoint)
{
	struct nest nest = {.fields = json_object()};
	const struct sb_field_visitor visitor = {&nest,    on_field,     on_list,
	                                         on_group, on_group_end, on_list_end};

	if (tracepoint)
		sb_tracepoint_visit(tracepoint, record, &visitor);
	else
		sb_record_visit(record, &visitor);
	return nest.fields;
}

static json_t *tracepoint_object(const struct sb_record *record, const struct sb_tracepoint *tracepoint)
{
	return json_pack("{so,so,so}", "system", json_text(tracepoint->system), "name",
	                 json_text(tracepoint->name), "fields", fields_object(record, tracepoint));
}

static int write_piece(const char *bytes, size_t size, void *context)
{
	struct output *output = context;

	for (size_t done = 0; done < size;) {
		const size_t piece = size - done < output_most ? size - done : output_most;
		char *at = output_room(output, piece);

		if (!at)
			return -1;
		memcpy(at, bytes + done, piece);
		output_advance(output, at + piece);
		done += piece;
	}
	return 0;
}

/* Takes @line over. */
static int write_line(struct sideband_writer *writer, json_t *line)
{
	int status = line ? json_dump_callback(line, write_piece, writer->output, JSON_COMPACT) : -1;

	json_decref(line);
	return status < 0 ? -1 : write_piece("\n", 1, writer->output);
}

static void set_sample(json_t *line, const struct sb_sample_id *sample)
{
	if (sample->has & PERF_SAMPLE_CPU)
		json_object_set_new(line, "cpu", json_integer(sample->cpu));
	if (sample->has & PERF_SAMPLE_TID) {
		json_object_set_new(line, "pid", json_integer(sample->pid));
		json_object_set_new(line, "tid", json_integer(sample->tid));
	}
	if (sample->has & PERF_SAMPLE_TIME)
		json_object_set_new(line, "time", json_unsigned(sample->time));
	if (sample->has & PERF_SAMPLE_ID)
		json_object_set_new(line, "id", json_unsigned(sample->id));
	if (sample->has & PERF_SAMPLE_STREAM_ID)
		json_object_set_new(line, "stream_id", json_unsigned(sample->stream_id));
}

static int json_file(struct sideband_writer *writer, const char *file)
{
	return write_line(writer, json_pack("{so}", "file", json_text(file)));
}

static int json_record(struct sideband_writer *writer, const struct sb_record *record)
{
	const struct sb_tracepoint *tracepoint = sb_perfdata_tracepoint(writer->perfdata, record);
	json_t *line = json_object();

	json_object_set_new(line, "offset", json_unsigned(record->offset));
	json_object_set_new(line, "size", json_integer(record->size));
	json_object_set_new(line, "type", json_string(sb_record_name(record->type)));
	json_object_set_new(line, "misc", json_hex(record->misc));
	set_sample(line, &record->sample);
	json_object_set_new(line, "fields", fields_object(record, NULL));
	if (tracepoint)
		json_object_set_new(line, "tracepoint", tracepoint_object(record, tracepoint));
	if (writer->raw)
		json_object_set_new(line, "bytes", json_bytes(record->bytes, record->size));
	return write_line(writer, line);
}

static int json_bpf(struct sideband_writer *writer, const struct sb_bpf_image *image)
{
	char name[sizeof(image->name) + 1] = "";
	json_t *line = json_object();

	memcpy(name, image->name, sizeof(image->name));
	json_object_set_new(line, "bpf_program", json_integer(image->program));
	json_object_set_new(line, "function", json_integer(image->function));
	json_object_set_new(line, "addr", json_hex(image->begin));
	json_object_set_new(line, "size", json_unsigned(image->size));
	json_object_set_new(line, "tag", json_bytes(image->tag, sizeof(image->tag)));
	json_object_set_new(line, "name", json_text(name));
	if (writer->raw)
		json_object_set_new(line, "bytes", json_bytes(image->bytes, image->size));
	return write_line(writer, line);
}

static int json_end(struct sideband_writer *writer, const struct sideband_counts *counts)
{
	json_t *types = json_object();

	for (uint32_t type = 0; type < dump_types; type++)
		if (counts->type[type])
			json_object_set_new(types, sb_record_name(type), json_unsigned(counts->type[type]));
	return write_line(writer,
	                  json_pack("{so,so}", "records", types, "total", json_unsigned(counts->total)));
}

const struct sideband_form sideband_json = {NULL, json_file, json_record, json_bpf, json_end, NULL};
