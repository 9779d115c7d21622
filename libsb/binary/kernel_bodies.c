/* kernel_bodies.c - see kernel_bodies.h. */
#include "binary/kernel_bodies.h"

#include <stdlib.h>

#include <sb/error.h>

#include "system/arena.h"

enum { BODIES_MAX = 1 << 21 };

int kernel_bodies_add(struct kernel_bodies *bodies, const struct kernel_body *body)
{
	if (bodies->count == BODIES_MAX)
		return -sbe_unsupported;
	if (array_reserve(&bodies->body, &bodies->capacity, bodies->count, sizeof(*body)) < 0)
		return -sbe_nomem;
	bodies->body[bodies->count++] = *body;
	return 0;
}

/* First nothing is known there, then what is. */
int kernel_bodies_add_code(struct kernel_bodies *bodies, uint64_t from, struct kernel_code *code)
{
	struct kernel_body body = {.from = from, .to = UINT64_MAX, .begin = code->begin, .size = code->size};
	uint64_t at = code->begin, size;
	int status;

	if (array_reserve(&bodies->code, &bodies->code_capacity, bodies->ncodes, sizeof(*code)) < 0) {
		kernel_code_free(code);
		return -sbe_nomem;
	}
	bodies->code[bodies->ncodes++] = *code;
	status = kernel_bodies_add(bodies, &body);
	for (; status == 0 && (size = kernel_code_next(code, &at)); at += size) {
		body.begin = at;
		body.size = size;
		body.bytes = code->bytes + (at - code->begin);
		status = kernel_bodies_add(bodies, &body);
	}
	return status;
}

void kernel_bodies_free(struct kernel_bodies *bodies)
{
	for (size_t i = 0; i < bodies->ncodes; ++i)
		kernel_code_free(&bodies->code[i]);
	free(bodies->code);
	free(bodies->body);
	*bodies = (struct kernel_bodies){0};
}
