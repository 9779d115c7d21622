/* Whole cases out of a number. */
#ifndef DIFF_GENERATE_H
#define DIFF_GENERATE_H

#include "case.h"

/* A program and a valid trace of it, with the truth. The same for the same @seed. */
void generate(struct diff_case *c, uint64_t seed);

#endif
