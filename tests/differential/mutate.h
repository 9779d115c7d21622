/* Damage: changes a case's trace at random, by bytes and by packets. The truth is lost. */
#ifndef DIFF_MUTATE_H
#define DIFF_MUTATE_H

#include "case.h"
#include "random.h"

void mutate(struct diff_case *c, struct random *random);

/* Leaves a piece of the trace, of at most @size bytes, that begins at a PSB if there is one. */
void mutate_cut(struct diff_case *c, struct random *random, size_t size);

#endif
