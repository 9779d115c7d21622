/* json_out.c - see json_out.h. */
#include "sink/json_out.h"

#include <stdbool.h>
#include <string.h>

#include "sink/text.h"

int json_out_string(struct output *output, const char *text, size_t most)
{
	static const char digit[] = "0123456789abcdef";
	char *at;

	if (!text)
		return output_puts(output, "null");
	at = output_room(output, 7 * most + 3);
	if (!at)
		return -1;
	*at++ = '"';
	for (size_t i = 0; i < most && text[i]; i++) {
		const unsigned char c = (unsigned char)text[i];
		const int prints = c >= 0x20 && c < 0x7f && c != '\\';

		if (prints && !strchr("\"<>&'", c)) {
			*at++ = (char)c;
			continue;
		}
		memcpy(at, prints ? "\\u00" : "\\\\x", 4);
		at += prints ? 4 : 3;
		*at++ = digit[c >> 4];
		*at++ = digit[c & 15];
	}
	*at++ = '"';
	output_advance(output, at);
	return 0;
}

enum { number_most = 22 };

static char *put_name(char *at, const char *name)
{
	at = text_put(at, ",\"");
	at = text_put(at, name);
	return text_put(at, "\":");
}

static char *put_number(char *at, uint64_t number)
{
	const bool is_text = number >> 53;

	if (is_text)
		*at++ = '"';
	at = text_u64(at, number);
	if (is_text)
		*at++ = '"';
	return at;
}

/* For a name and what comes with it, but for a string. */
static char *room_for(struct output *output, const char *name)
{
	return output_room(output, strlen(name) + 4 + number_most + text_slack);
}

int json_out_number(struct output *output, uint64_t number)
{
	char *at = room_for(output, "");

	if (!at)
		return -1;
	output_advance(output, put_number(at, number));
	return 0;
}

int json_out_named_string(struct output *output, const char *name, const char *text, size_t most)
{
	char *at = room_for(output, name);

	if (!at)
		return -1;
	output_advance(output, put_name(at, name));
	return json_out_string(output, text, most);
}

int json_out_named_number(struct output *output, const char *name, uint64_t number)
{
	char *at = room_for(output, name);

	if (!at)
		return -1;
	output_advance(output, put_number(put_name(at, name), number));
	return 0;
}

int json_out_named_integer(struct output *output, const char *name, int32_t number)
{
	char *at = room_for(output, name);

	if (!at)
		return -1;
	output_advance(output, text_i32(put_name(at, name), number));
	return 0;
}

int json_out_named_address(struct output *output, const char *name, uint64_t address)
{
	char *at = room_for(output, name);

	if (!at)
		return -1;
	at = text_put(put_name(at, name), "\"0x");
	at = text_hex(at, address);
	*at++ = '"';
	output_advance(output, at);
	return 0;
}
