/* kernel_code.c - see kernel_code.h. */
#include "binary/kernel_code.h"

#include <stdlib.h>
#include <string.h>

#include <sb/error.h>

int kernel_code_init(struct kernel_code *code, uint64_t begin, uint64_t size)
{
	*code = (struct kernel_code){.begin = begin, .size = size};
	code->bytes = calloc(size ? size : 1, 1);
	code->unknown = calloc(size ? size : 1, 1);
	if (code->bytes && code->unknown)
		return 0;
	kernel_code_free(code);
	return -sbe_nomem;
}

void kernel_code_free(struct kernel_code *code)
{
	free(code->bytes);
	free(code->unknown);
	*code = (struct kernel_code){0};
}

void kernel_code_forget(struct kernel_code *code, uint64_t address, uint64_t size)
{
	for (uint64_t i = 0; i < size; ++i)
		if (kernel_code_has(code, address + i, 1))
			code->unknown[address + i - code->begin] = 1;
}

void kernel_code_put(struct kernel_code *code, uint64_t address, const void *bytes, uint64_t size)
{
	memcpy(code->bytes + (address - code->begin), bytes, size);
	memset(code->unknown + (address - code->begin), 0, size);
}

uint64_t kernel_code_next(const struct kernel_code *code, uint64_t *at)
{
	const uint64_t first = *at - code->begin;
	const uint8_t *known =
	        first < code->size ? memchr(code->unknown + first, 0, code->size - first) : NULL;
	const uint8_t *end;

	if (!known)
		return 0;
	*at = code->begin + (uint64_t)(known - code->unknown);
	end = memchr(known, 1, (size_t)(code->unknown + code->size - known));
	return (uint64_t)((end ? end : code->unknown + code->size) - known);
}
