/* Little-endian numbers in a packet, at any alignment. */
#ifndef PT_BYTES_H
#define PT_BYTES_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t pt_get16(const uint8_t *pos)
{
	uint16_t value;

	memcpy(&value, pos, sizeof(value));
	return le16toh(value);
}

static inline uint32_t pt_get32(const uint8_t *pos)
{
	uint32_t value;

	memcpy(&value, pos, sizeof(value));
	return le32toh(value);
}

static inline uint64_t pt_get64(const uint8_t *pos)
{
	uint64_t value;

	memcpy(&value, pos, sizeof(value));
	return le64toh(value);
}

static inline uint64_t pt_get40(const uint8_t *pos)
{
	return pt_get32(pos) | (uint64_t)pos[4] << 32;
}

static inline uint64_t pt_get48(const uint8_t *pos)
{
	return pt_get32(pos) | (uint64_t)pt_get16(pos + 4) << 32;
}

static inline uint64_t pt_get56(const uint8_t *pos)
{
	return pt_get48(pos) | (uint64_t)pos[6] << 48;
}

/* Writes the low @size bytes (at most 8) of @value. */
static inline void pt_put(uint8_t *pos, uint64_t value, size_t size)
{
	value = htole64(value);
	memcpy(pos, &value, size);
}

#endif
