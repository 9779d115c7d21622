/* text_put.h - pieces of text on their way to a FILE: gathered, as millions of records have ten numbers each,
 * and stdio takes longer for a digit than it takes to find one. What is left goes out with text_flush(). */
#ifndef SB_TEXT_PUT_H
#define SB_TEXT_PUT_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct text {
	FILE *out;
	size_t used;
	char bytes[1024];
};

enum { TEXT_NUMBER_MAX = 20 }; /* digits of a number */

static inline void text_flush(struct text *text)
{
	fwrite(text->bytes, 1, text->used, text->out);
	text->used = 0;
}

static inline char *text_room(struct text *text, size_t size)
{
	if (sizeof(text->bytes) - text->used < size)
		text_flush(text);
	return text->bytes + text->used;
}

static inline void text_char(struct text *text, char c)
{
	*text_room(text, 1) = c;
	text->used += 1;
}

static inline void text_put(struct text *text, const char *string)
{
	const size_t size = strlen(string);

	if (size > sizeof(text->bytes)) {
		text_flush(text);
		fwrite(string, 1, size, text->out);
		return;
	}
	memcpy(text_room(text, size), string, size);
	text->used += size;
}

static inline void text_unsigned(struct text *text, uint64_t value)
{
	char digit[TEXT_NUMBER_MAX];
	size_t at = sizeof(digit);

	do
		digit[--at] = (char)('0' + value % 10);
	while (value /= 10);
	memcpy(text_room(text, sizeof(digit)), digit + at, sizeof(digit) - at);
	text->used += sizeof(digit) - at;
}

static inline void text_signed(struct text *text, int64_t value)
{
	if (value < 0)
		text_char(text, '-');
	text_unsigned(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* With 0x in front. */
static inline void text_hex(struct text *text, uint64_t value)
{
	const unsigned int digits = value ? (67 - (unsigned int)__builtin_clzll(value)) / 4 : 1;
	char *at = text_room(text, 2 + TEXT_NUMBER_MAX);

	at[0] = '0';
	at[1] = 'x';
	for (unsigned int i = 0; i < digits; ++i)
		at[2 + i] = "0123456789abcdef"[value >> 4 * (digits - 1 - i) & 15];
	text->used += 2 + digits;
}

/* Two digits. */
static inline void text_byte(struct text *text, uint8_t byte)
{
	char *at = text_room(text, 2);

	at[0] = "0123456789abcdef"[byte >> 4];
	at[1] = "0123456789abcdef"[byte & 15];
	text->used += 2;
}

#endif
