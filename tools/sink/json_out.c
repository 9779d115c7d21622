/* json_out.c - see json_out.h. */
#include "sink/json_out.h"

#include <inttypes.h>
#include <string.h>

int json_out_string(struct output *output, const char *text, size_t most)
{
	static const char digit[] = "0123456789abcdef";
	char *at;

	if (!text)
		return output_printf(output, "null");
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

int json_out_number(struct output *output, uint64_t number)
{
	return output_printf(output, number >> 53 ? "\"%" PRIu64 "\"" : "%" PRIu64, number);
}

int json_out_named_string(struct output *output, const char *name, const char *text, size_t most)
{
	output_printf(output, ",\"%s\":", name);
	return json_out_string(output, text, most);
}

int json_out_named_number(struct output *output, const char *name, uint64_t number)
{
	output_printf(output, ",\"%s\":", name);
	return json_out_number(output, number);
}

int json_out_named_address(struct output *output, const char *name, uint64_t address)
{
	return output_printf(output, ",\"%s\":\"0x%" PRIx64 "\"", name, address);
}
