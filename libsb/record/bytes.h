/* bytes.h - little-endian loads and stores at any alignment.
 *
 * perf.data is written in the byte order of the recording machine; files of the other order are
 * refused when they are opened, so that everything behind that door is little-endian.
 */
#ifndef LIBSB_RECORD_BYTES_H
#define LIBSB_RECORD_BYTES_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t load_u16(const uint8_t *p)
{
	uint16_t value;

	memcpy(&value, p, sizeof(value));
	return le16toh(value);
}

static inline uint32_t load_u32(const uint8_t *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return le32toh(value);
}

static inline int32_t load_i32(const uint8_t *p)
{
	return (int32_t)load_u32(p);
}

static inline uint64_t load_u64(const uint8_t *p)
{
	uint64_t value;

	memcpy(&value, p, sizeof(value));
	return le64toh(value);
}

static inline void store_u16(uint8_t *p, uint16_t value)
{
	value = htole16(value);
	memcpy(p, &value, sizeof(value));
}

static inline void store_u32(uint8_t *p, uint32_t value)
{
	value = htole32(value);
	memcpy(p, &value, sizeof(value));
}

static inline void store_u64(uint8_t *p, uint64_t value)
{
	value = htole64(value);
	memcpy(p, &value, sizeof(value));
}

#endif
