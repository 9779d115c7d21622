/* A result struct as callers of different versions have it: of a size of their own, with bytes behind it that
 * nobody may write to. */
#ifndef FUZZ_GUARDED_H
#define FUZZ_GUARDED_H

#include <stdint.h>
#include <string.h>

#include "check.h"

enum { guarded_max = 160, guarded_byte = 0x5a };

struct guarded {
	_Alignas(16) uint8_t bytes[guarded_max];
};

static inline void *guarded_begin(struct guarded *result)
{
	memset(result->bytes, guarded_byte, sizeof(result->bytes));
	return result->bytes;
}

/* After a call with @size, of a library whose struct has @known bytes. @written: the call succeeded. */
static inline void guarded_check(const struct guarded *result, size_t size, size_t known, int written)
{
	for (size_t i = size; i < guarded_max; i++)
		FUZZ_CHECK(result->bytes[i] == guarded_byte, "byte %zu of %zu was written to", i, size);
	for (size_t i = known; written && i < size; i++)
		FUZZ_CHECK(!result->bytes[i], "byte %zu, which the library does not know, is not zero", i);
}

#endif
