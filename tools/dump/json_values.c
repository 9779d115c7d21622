/* json_values.c - see json_values.h. */
#include "dump/json_values.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sink/text.h"

static const char digits[] = "0123456789abcdef";

json_t *json_hex(uint64_t value)
{
	char text[64] = "0x";

	return json_stringn(text, (size_t)(text_hex(text + 2, value) - text));
}

json_t *json_unsigned(uint64_t value)
{
	char text[24];

	if (value <= INT64_MAX)
		return json_integer((json_int_t)value);
	snprintf(text, sizeof(text), "%" PRIu64, value);
	return json_string(text);
}

json_t *json_bytes(const uint8_t *bytes, uint64_t size)
{
	char *text = malloc(2 * size + 1);
	json_t *string;
	size_t n = 0;

	if (!text)
		return NULL;
	for (uint64_t i = 0; i < size; i++) {
		text[n++] = digits[bytes[i] >> 4];
		text[n++] = digits[bytes[i] & 0xf];
	}
	string = json_stringn(text, n);
	free(text);
	return string;
}

static json_t *escaped(const char *text)
{
	const size_t size = strlen(text);
	char *copy = malloc(4 * size + 1), *at = copy;
	json_t *string;

	if (!copy)
		return NULL;
	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		if (*p < 0x80) {
			*at++ = (char)*p;
			continue;
		}
		*at++ = '\\';
		*at++ = 'x';
		*at++ = digits[*p >> 4];
		*at++ = digits[*p & 0xf];
	}
	string = json_stringn(copy, (size_t)(at - copy));
	free(copy);
	return string;
}

json_t *json_text(const char *text)
{
	json_t *string = json_string(text);

	return string ? string : escaped(text);
}
