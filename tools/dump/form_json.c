/* form_json.c - packets as JSON lines: an object for each. The schema is in sbtrace-dump(1).
 *
 * Numbers that may need more than 53 bits, which is where many readers of JSON begin to round, are strings
 * of hexadecimal digits; time stamp counts are numbers nevertheless, as they are to be compared.
 */
#include "dump/form.h"

#include <jansson.h>

#include "dump/json_values.h"
#include "dump/packet_fields.h"
#include "sink/text.h"

enum { json_line_most = 4096, json_bytes_most = 256 };

/* As many as a line has room for. */
static json_t *first_bytes(const uint8_t *bytes, uint64_t size)
{
	return json_bytes(bytes, size < json_bytes_most ? size : json_bytes_most);
}

static json_t *field_value(const struct packet_field *field)
{
	char text[field_text_most + text_slack];

	if (field->kind == field_decimal && field->value <= INT64_MAX)
		return json_integer((json_int_t)field->value);
	if (field->kind == field_flag)
		return json_boolean(field->value);
	return json_stringn(text, (size_t)(field_text(text, field) - text));
}

/* What packets and places left out have in common. */
static json_t *line_new(const struct dump_writer *writer, uint64_t offset, uint64_t size)
{
	json_t *line = json_object();

	if (writer->stream.cpu >= 0)
		json_object_set_new(line, "cpu", json_integer(writer->stream.cpu));
	else if (writer->stream.tid >= 0)
		json_object_set_new(line, "tid", json_integer(writer->stream.tid));
	json_object_set_new(line, "offset", json_integer((json_int_t)offset));
	json_object_set_new(line, "size", json_integer((json_int_t)size));
	return line;
}

/* Takes @line over. */
static int line_write(struct dump_writer *writer, json_t *line)
{
	char *at = output_room(writer->output, json_line_most);
	size_t size = at && line ? json_dumpb(line, at, json_line_most - 1, JSON_COMPACT) : 0;

	json_decref(line);
	if (!size || size >= json_line_most)
		return -1;
	at[size] = '\n';
	output_advance(writer->output, at + size + 1);
	return 0;
}

static json_t *fields_object(const struct packet_fields *fields)
{
	json_t *object = json_object();

	for (unsigned int i = 0; i < fields->count; i++)
		json_object_set_new(object, fields->field[i].name, field_value(&fields->field[i]));
	return object;
}

static int json_packet(void *context, const struct dump_packet *packet)
{
	struct dump_writer *writer = context;
	json_t *line = line_new(writer, packet->offset, packet->size);
	struct packet_fields fields;

	packet_fields(&fields, packet->packet);
	json_object_set_new(line, "name", json_string(fields.name));
	if (packet->in_psb_header)
		json_object_set_new(line, "header", json_true());
	json_object_set_new(line, "fields", fields_object(&fields));
	if (writer->raw)
		json_object_set_new(line, "bytes", first_bytes(packet->bytes, packet->size));
	json_object_set_new(line, "ip", packet->has_ip ? json_hex(packet->ip) : json_null());
	if (!writer->no_time)
		json_object_set_new(line, "tsc",
		                    packet->has_tsc ? json_integer((json_int_t)packet->tsc) : json_null());
	return line_write(writer, line);
}

static int json_skip(void *context, const struct dump_skip *skip)
{
	struct dump_writer *writer = context;
	json_t *line = line_new(writer, skip->offset, skip->size);

	json_object_set_new(line, skip->damage ? "error" : "skipped", json_string(skip->reason));
	if (writer->raw)
		json_object_set_new(line, "bytes", first_bytes(skip->bytes, skip->size));
	return line_write(writer, line);
}

const struct dump_form_type dump_form_json = {
        .form = {json_packet, json_skip},
};
