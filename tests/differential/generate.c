/* generate.c - see generate.h. */
#include "generate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "program.h"
#include "walk.h"

void generate(struct diff_case *c, uint64_t seed)
{
	struct random random = {seed};
	struct program program;

	memset(c, 0, sizeof(*c));
	snprintf(c->name, sizeof(c->name), "seed %" PRIu64, seed);
	program_make(&program, &random);
	program_add(&program, c, &random);
	walk_case(c, &program, &random);
}
