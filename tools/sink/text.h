/* tools/sink/text.h - numbers as text, fast: each function writes at @at and returns the end.
 * They may write past that end, by up to text_slack bytes, which the next one overwrites. */
#ifndef TOOLS_SINK_TEXT_H
#define TOOLS_SINK_TEXT_H

#include <stdint.h>
#include <string.h>

#include <sb/replay.h>

enum { text_slack = 32 };

static inline char *text_u64(char *at, uint64_t value)
{
	char digits[20];
	unsigned int n = sizeof(digits);

	do {
		digits[--n] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	memcpy(at, digits + n, sizeof(digits) - n);
	return at + (sizeof(digits) - n);
}

/* @text as it is. */
static inline char *text_put(char *at, const char *text)
{
	const size_t size = strlen(text);

	memcpy(at, text, size);
	return at + size;
}

static inline char *text_i64(char *at, int64_t value)
{
	if (value < 0)
		*at++ = '-';
	return text_u64(at, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

static inline char *text_i32(char *at, int32_t value)
{
	return text_i64(at, value);
}

/* The eight hexadecimal digits of @value, as eight bytes of a number whose top byte comes first:
 * the nibbles are spread in three steps, then all become letters at once. */
static inline uint64_t text_hex8(uint32_t value)
{
	uint64_t x = value, above_nine;

	x = (x & 0xffff0000) << 16 | (x & 0xffff);
	x = (x & 0x0000ff000000ff00) << 8 | (x & 0x000000ff000000ff);
	x = (x & 0x00f000f000f000f0) << 4 | (x & 0x000f000f000f000f);
	above_nine = (x + 0x0606060606060606) >> 4 & 0x0101010101010101;
	x += 0x3030303030303030 + above_nine * ('a' - '0' - 10);
	return __builtin_bswap64(x);
}

/* Without leading zeros. */
static inline char *text_hex(char *at, uint64_t value)
{
	uint64_t digits[4] = {text_hex8((uint32_t)(value >> 32)), text_hex8((uint32_t)value), 0, 0};
	unsigned int n = value ? (67 - (unsigned int)__builtin_clzll(value)) / 4 : 1;

	memcpy(at, (const char *)digits + 16 - n, 16);
	return at + n;
}

/* "cpu\tpid\ttid\ttsc\t", made anew only where it changes. Zeroed at first. */
struct text_prefix {
	int32_t cpu, pid, tid;
	uint32_t ids;    /* length up to the tab before the time; 0: not made yet */
	uint32_t length; /* of it all */
	uint64_t tsc;
	char text[96]; /* at most 57 are used */
};

/* Whether it changed. */
static inline int text_prefix_set(struct text_prefix *prefix, const struct sb_flow *flow)
{
	char *at = prefix->text + prefix->ids;

	if (!prefix->ids || prefix->tid != flow->tid || prefix->pid != flow->pid ||
	    prefix->cpu != flow->cpu) {
		prefix->cpu = flow->cpu;
		prefix->pid = flow->pid;
		prefix->tid = flow->tid;
		at = text_i32(prefix->text, flow->cpu);
		*at++ = '\t';
		at = text_i32(at, flow->pid);
		*at++ = '\t';
		at = text_i32(at, flow->tid);
		*at++ = '\t';
		prefix->ids = (uint32_t)(at - prefix->text);
	} else if (prefix->tsc == flow->tsc) {
		return 0;
	}
	prefix->tsc = flow->tsc;
	at = text_u64(at, flow->tsc);
	*at++ = '\t';
	prefix->length = (uint32_t)(at - prefix->text);
	return 1;
}

#endif
