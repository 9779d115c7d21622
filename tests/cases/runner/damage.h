/* Damage to the trace of a case: what remains must be decoded without crash or hang, by both decoders alike.
 */
#ifndef CASE_DAMAGE_H
#define CASE_DAMAGE_H

#include "program.h"
#include "trace_build.h"

/* Cuts the trace at every byte, and inverts every bit of it, one at a time. Says on stdout where the two
 * flows disagree or do not end. Returns whether there was nothing to say. */
int damage_check(const struct case_file *file, const struct program *program, struct case_trace *trace);

#endif
