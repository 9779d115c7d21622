/* proto_wire.c - see proto_wire.h. */
#include "sink/proto_wire.h"

#include <stdlib.h>

enum wire_type { wire_varint = 0, wire_bytes = 2 };

/* Bytes of a length that is not known yet: a varint may have more than it needs. */
enum { length_bytes = 4, varint_most = 10 };

static uint8_t *room(struct proto *proto, size_t size)
{
	if (!proto->failed && proto->capacity - proto->used < size) {
		const size_t wanted = 2 * (proto->used + size) + 256;
		uint8_t *bigger = realloc(proto->bytes, wanted);

		if (bigger) {
			proto->bytes = bigger;
			proto->capacity = wanted;
		}
		proto->failed = !bigger;
	}
	return proto->failed ? NULL : proto->bytes + proto->used;
}

static uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (uint8_t)(value | 0x80);
	*at++ = (uint8_t)value;
	return at;
}

static uint8_t *put_tag(uint8_t *at, uint32_t field, enum wire_type type)
{
	return put_varint(at, (uint64_t)field << 3 | type);
}

void proto_number(struct proto *proto, uint32_t field, uint64_t value)
{
	uint8_t *at = room(proto, 2 * varint_most);

	if (!at)
		return;
	at = put_varint(put_tag(at, field, wire_varint), value);
	proto->used = (size_t)(at - proto->bytes);
}

void proto_bytes(struct proto *proto, uint32_t field, const void *bytes, size_t size)
{
	uint8_t *at = room(proto, 2 * varint_most + size);

	if (!at)
		return;
	at = put_varint(put_tag(at, field, wire_bytes), size);
	memcpy(at, bytes, size);
	proto->used = (size_t)(at - proto->bytes) + size;
}

size_t proto_open(struct proto *proto, uint32_t field)
{
	uint8_t *at = room(proto, varint_most + length_bytes);

	if (!at)
		return 0;
	at = put_tag(at, field, wire_bytes);
	proto->used = (size_t)(at - proto->bytes) + length_bytes;
	return proto->used;
}

void proto_close(struct proto *proto, size_t opened)
{
	size_t length = proto->used - opened;
	uint8_t *at = proto->bytes + opened - length_bytes;

	if (proto->failed)
		return;
	for (int i = 0; i < length_bytes - 1; i++, length >>= 7)
		*at++ = (uint8_t)(length | 0x80);
	*at = (uint8_t)(length & 0x7f);
}

int proto_flush(struct proto *proto, struct output *output)
{
	if (proto->failed)
		return -1;
	if (output_write(output, (const char *)proto->bytes, proto->used))
		return -1;
	proto->used = 0;
	return 0;
}
