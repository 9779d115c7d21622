/* tools/sink/printable.h - names come from recordings and files: what a terminal might obey is escaped. */
#ifndef TOOLS_SINK_PRINTABLE_H
#define TOOLS_SINK_PRINTABLE_H

#include <stddef.h>

/* At most @size bytes of @text, each byte that does not print as \xNN, in @to, which has room for four times
 * as much and a zero. Returns @to. */
static inline const char *printable(char *to, const char *text, size_t size)
{
	static const char digit[] = "0123456789abcdef";
	char *at = to;

	for (size_t i = 0; i < size && text[i]; i++) {
		const unsigned char c = (unsigned char)text[i];

		if (c >= 0x20 && c < 0x7f && c != '\\') {
			*at++ = (char)c;
			continue;
		}
		*at++ = '\\';
		*at++ = 'x';
		*at++ = digit[c >> 4];
		*at++ = digit[c & 15];
	}
	*at = '\0';
	return to;
}

#endif
