/* Bytes of a file or a record, put together by hand: little-endian, as the format says. */
#ifndef TEST_BYTES_H
#define TEST_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { BYTES_MAX = 16384 };

struct bytes {
	uint8_t data[BYTES_MAX];
	size_t size;
};

static inline void put(struct bytes *b, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		b->data[b->size++] = (uint8_t)(value >> (8 * i));
}

static inline void put8(struct bytes *b, uint64_t value)
{
	put(b, value, 1);
}

static inline void put16(struct bytes *b, uint64_t value)
{
	put(b, value, 2);
}

static inline void put32(struct bytes *b, uint64_t value)
{
	put(b, value, 4);
}

static inline void put64(struct bytes *b, uint64_t value)
{
	put(b, value, 8);
}

/* The string with its NUL, padded to @unit. */
static inline void put_text(struct bytes *b, const char *text, size_t unit)
{
	size_t length = strlen(text) + 1;

	memcpy(b->data + b->size, text, length);
	b->size += length;
	for (; length % unit; length++)
		b->data[b->size++] = 0;
}

static inline void patch(struct bytes *b, size_t at, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		b->data[at + i] = (uint8_t)(value >> (8 * i));
}

/* A perf record: its header, whose size end_record() sets. Returns where it begins. */
static inline size_t begin_record(struct bytes *b, uint32_t type, uint16_t misc)
{
	size_t at = b->size;

	put32(b, type);
	put16(b, misc);
	put16(b, 0);
	return at;
}

static inline void end_record(struct bytes *b, size_t at)
{
	patch(b, at + 6, b->size - at, 2);
}

/* The trailer of sample_type TID | TIME | CPU | IDENTIFIER. */
static inline void put_trailer(struct bytes *b, uint32_t pid, uint32_t tid, uint64_t time, uint32_t cpu,
                               uint64_t id)
{
	put32(b, pid);
	put32(b, tid);
	put64(b, time);
	put32(b, cpu);
	put32(b, 0);
	put64(b, id);
}

#endif
