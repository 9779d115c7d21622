/* A jitdump that a test writes record by record. */
#ifndef TEST_JITDUMP_BYTES_H
#define TEST_JITDUMP_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct dump_bytes {
	uint8_t *byte; /* owned */
	size_t size, room;
};

/* The header, at time 0. */
void dump_begin(struct dump_bytes *bytes, uint32_t pid, uint64_t flags);
void dump_end(struct dump_bytes *bytes);

void dump_load(struct dump_bytes *bytes, uint64_t time, uint32_t pid, uint64_t at, const char *name,
               const void *code, size_t size, uint64_t index);
void dump_move(struct dump_bytes *bytes, uint64_t time, uint32_t pid, uint64_t from, uint64_t to,
               uint64_t size, uint64_t index);
/* Any record of @size bytes, zeros behind its prefix. */
void dump_other(struct dump_bytes *bytes, uint32_t type, uint64_t time, uint32_t size);

#endif
