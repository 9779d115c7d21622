/* jitdump_bytes.c - see jitdump_bytes.h. */
#include "support/jitdump_bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void add(struct dump_bytes *bytes, const void *added, size_t size)
{
	while (bytes->size + size > bytes->room) {
		bytes->room = bytes->room ? 2 * bytes->room : 4096;
		bytes->byte = realloc(bytes->byte, bytes->room);
		assert_non_null(bytes->byte);
	}
	memcpy(bytes->byte + bytes->size, added, size);
	bytes->size += size;
}

static void add_u32(struct dump_bytes *bytes, uint32_t value)
{
	add(bytes, &value, sizeof(value));
}

static void add_u64(struct dump_bytes *bytes, uint64_t value)
{
	add(bytes, &value, sizeof(value));
}

static void add_prefix(struct dump_bytes *bytes, uint32_t type, uint64_t size, uint64_t time)
{
	add_u32(bytes, type);
	add_u32(bytes, (uint32_t)size);
	add_u64(bytes, time);
}

void dump_begin(struct dump_bytes *bytes, uint32_t pid, uint64_t flags)
{
	memset(bytes, 0, sizeof(*bytes));
	add_u32(bytes, 0x4a695444);
	add_u32(bytes, 1);
	add_u32(bytes, 40);
	add_u32(bytes, 62);
	add_u32(bytes, 0);
	add_u32(bytes, pid);
	add_u64(bytes, 0);
	add_u64(bytes, flags);
}

void dump_end(struct dump_bytes *bytes)
{
	free(bytes->byte);
	memset(bytes, 0, sizeof(*bytes));
}

void dump_load(struct dump_bytes *bytes, uint64_t time, uint32_t pid, uint64_t at, const char *name,
               const void *code, size_t size, uint64_t index)
{
	add_prefix(bytes, 0, 56 + strlen(name) + 1 + size, time);
	add_u32(bytes, pid);
	add_u32(bytes, pid);
	add_u64(bytes, at);
	add_u64(bytes, at);
	add_u64(bytes, size);
	add_u64(bytes, index);
	add(bytes, name, strlen(name) + 1);
	add(bytes, code, size);
}

void dump_move(struct dump_bytes *bytes, uint64_t time, uint32_t pid, uint64_t from, uint64_t to,
               uint64_t size, uint64_t index)
{
	add_prefix(bytes, 1, 64, time);
	add_u32(bytes, pid);
	add_u32(bytes, pid);
	add_u64(bytes, to);
	add_u64(bytes, from);
	add_u64(bytes, to);
	add_u64(bytes, size);
	add_u64(bytes, index);
}

void dump_other(struct dump_bytes *bytes, uint32_t type, uint64_t time, uint32_t size)
{
	add_prefix(bytes, type, size, time);
	for (uint32_t i = 16; i < size; ++i)
		add(bytes, "", 1);
}
