/* proto_wire.h - protocol buffers, as they are written: fields of a message, one after the other, in a buffer
 * that grows. Format: protobuf.dev, "Encoding". */
#ifndef TOOLS_SINK_PROTO_WIRE_H
#define TOOLS_SINK_PROTO_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "output.h"

struct proto {
	uint8_t *bytes; /* owned; free() it at the end */
	size_t used, capacity;
	bool failed; /* no memory: nothing is written any more */
};

/* A field with a number, and one with bytes. */
void proto_number(struct proto *proto, uint32_t field, uint64_t value);
void proto_bytes(struct proto *proto, uint32_t field, const void *bytes, size_t size);

static inline void proto_text(struct proto *proto, uint32_t field, const char *text)
{
	proto_bytes(proto, field, text, strlen(text));
}

/* A field that is a message of less than 256 MiB: what is written between is in it. */
size_t proto_open(struct proto *proto, uint32_t field);
void proto_close(struct proto *proto, size_t opened);

/* Writes all to @output and empties the buffer. Zero, or negative: broken, or there was no memory. */
int proto_flush(struct proto *proto, struct output *output);

#endif
