/* form_text.c - packets as aligned columns: offset, bytes (when asked for), name, payload, last IP, time.
 *
 * Names inside of PSB+ are indented. What is not known is a dash. Most packets are single bytes, such as
 * TNT.8, and what is to be said of those is kept ready; so are the last two columns, which change seldom.
 */
#include "dump/form.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump/packet_fields.h"
#include "sink/text.h"

enum {
	bytes_width = 32, /* the digits of a PSB */
	name_width = 11,  /* "  mode.exec" */
	payload_width = 47,
	middle_width = name_width + 2 + payload_width + 2,
	ip_width = 16,
	line_most = 512,
};

struct text_state {
	unsigned int offset_width; /* 8 or 16 */
	bool tail_valid, has_ip, has_tsc;
	uint64_t ip, tsc;
	unsigned int tail_length;
	char tail[64]; /* last IP and time, with the newline */
	/* name and payload of packets of one byte, outside of PSB+ */
	bool has_middle[256];
	char middle[256][middle_width];
};

static int text_open(struct dump_writer *writer)
{
	writer->state = calloc(1, sizeof(struct text_state));
	return writer->state ? 0 : -1;
}

static void text_close(struct dump_writer *writer)
{
	free(writer->state);
}

static int text_begin(struct dump_writer *writer)
{
	struct text_state *state = writer->state;

	state->offset_width = writer->stream.end > UINT32_MAX ? 16 : 8;
	state->tail_valid = false;
	if (writer->stream.cpu >= 0)
		return output_printf(writer->output, "# cpu %" PRId32 "\n", writer->stream.cpu);
	if (writer->stream.tid >= 0)
		return output_printf(writer->output, "# thread %" PRId32 "\n", writer->stream.tid);
	return 0;
}

/* Blanks from @at up to @column bytes behind @begin. */
static char *pad_to(char *at, char *begin, unsigned int column)
{
	const unsigned int used = (unsigned int)(at - begin);

	if (used >= column)
		return at;
	memset(at, ' ', column - used);
	return begin + column;
}

static char *separate(char *at)
{
	memcpy(at, "  ", 2);
	return at + 2;
}

/* Of a number with 16 digits, the last ones. Writes 16 bytes, of which the next writer takes the rest. */
static char *put_hex(char *at, uint64_t value, unsigned int digits)
{
	const uint64_t all[4] = {text_hex8((uint32_t)(value >> 32)), text_hex8((uint32_t)value), 0, 0};

	memcpy(at, (const char *)all + 16 - digits, 16);
	return at + digits;
}

static char *put_bytes(char *at, const uint8_t *bytes, uint64_t size)
{
	char *begin = at;

	for (uint64_t i = 0; i < size && i < bytes_width / 2; i++)
		at = put_hex(at, bytes[i], 2);
	return separate(pad_to(at, begin, bytes_width));
}

static char *put_name(char *at, const char *name, bool indented)
{
	char *begin = at;
	const size_t length = strlen(name);

	if (indented)
		at = separate(at);
	memcpy(at, name, length);
	return separate(pad_to(at + length, begin, name_width));
}

static char *put_field(char *at, const struct packet_field *field)
{
	const size_t length = strlen(field->name);

	if (!field->bare) {
		memcpy(at, field->name, length);
		at += length;
		if (field->kind == field_flag)
			return at;
		*at++ = '=';
	}
	return field_text(at, field);
}

static char *put_payload(char *at, const struct packet_fields *fields)
{
	char *begin = at;

	for (unsigned int i = 0; i < fields->count; i++) {
		const struct packet_field *field = &fields->field[i];

		if (field->kind == field_flag && !field->value)
			continue;
		if (at != begin)
			*at++ = ' ';
		at = put_field(at, field);
	}
	return separate(pad_to(at, begin, payload_width));
}

static char *put_middle(char *at, const struct dump_packet *packet)
{
	struct packet_fields fields;

	packet_fields(&fields, packet->packet);
	return put_payload(put_name(at, fields.name, packet->in_psb_header), &fields);
}

static char *put_ready_middle(char *at, struct text_state *state, const struct dump_packet *packet)
{
	const uint8_t byte = *packet->bytes;

	if (!state->has_middle[byte]) {
		put_middle(at, packet);
		memcpy(state->middle[byte], at, middle_width);
		state->has_middle[byte] = true;
	}
	memcpy(at, state->middle[byte], middle_width);
	return at + middle_width;
}

static void make_tail(struct text_state *state, const struct dump_packet *packet, bool no_time)
{
	char *at = state->tail;

	state->has_ip = packet->has_ip;
	state->has_tsc = packet->has_tsc;
	state->ip = packet->ip;
	state->tsc = packet->tsc;
	state->tail_valid = true;
	if (packet->has_ip)
		at = put_hex(at, packet->ip, ip_width);
	else
		*at++ = '-';
	if (!no_time) {
		at = separate(pad_to(at, state->tail, ip_width));
		if (packet->has_tsc)
			at = text_u64(at, packet->tsc);
		else
			*at++ = '-';
	}
	*at++ = '\n';
	state->tail_length = (unsigned int)(at - state->tail);
}

static char *put_tail(char *at, struct text_state *state, const struct dump_packet *packet, bool no_time)
{
	if (!state->tail_valid || state->has_ip != packet->has_ip || state->ip != packet->ip ||
	    state->has_tsc != packet->has_tsc || state->tsc != packet->tsc)
		make_tail(state, packet, no_time);
	memcpy(at, state->tail, sizeof(state->tail));
	return at + state->tail_length;
}

static int text_packet(void *context, const struct dump_packet *packet)
{
	struct dump_writer *writer = context;
	struct text_state *state = writer->state;
	char *at = output_room(writer->output, line_most);

	if (!at)
		return -1;
	at = separate(put_hex(at, packet->offset, state->offset_width));
	if (writer->raw)
		at = put_bytes(at, packet->bytes, packet->size);
	if (packet->size == 1 && !packet->in_psb_header)
		at = put_ready_middle(at, state, packet);
	else
		at = put_middle(at, packet);
	at = put_tail(at, state, packet, writer->no_time);
	output_advance(writer->output, at);
	return 0;
}

static int text_skip(void *context, const struct dump_skip *skip)
{
	struct dump_writer *writer = context;
	const struct text_state *state = writer->state;
	char *at = output_room(writer->output, line_most);

	if (!at)
		return -1;
	at = separate(put_hex(at, skip->offset, state->offset_width));
	if (writer->raw)
		at = put_bytes(at, skip->bytes, skip->size);
	at = put_name(at, skip->damage ? "error" : "skipped", false);
	output_advance(writer->output, at);
	return output_printf(writer->output, "%s: %" PRIu64 " byte%s left out\n", skip->reason, skip->size,
	                     skip->size == 1 ? "" : "s");
}

const struct dump_form_type dump_form_text = {
        .form = {text_packet, text_skip},
        .open = text_open,
        .begin = text_begin,
        .close = text_close,
};
