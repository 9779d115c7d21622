/* jit_code.h - the code that the recorded processes made themselves: finds their jitdumps, and tells the
 * system model what stood where.
 *
 * A process says where its dump is by mapping it executable ("jit-PID.dump", which holds no code that runs);
 * callers may name dumps, too. What a dump says becomes code in the epochs of the process's address space:
 * intervals of time, so that any number of decoders may look at any moments in any order.
 *
 * Time. A piece of code is there before it first runs, and old code does not run after it has been
 * overwritten: so the dump's time only matters where one piece came over another, where a new epoch begins.
 * Around such a moment, for as long as the trace's time is not exact, what is there is not known.
 * The times must be counts of the processor (TSC) for that; a dump with times of CLOCK_MONOTONIC, which no
 * trace has, serves where nothing was ever overwritten. What was moved away stays in its old place until
 * something else comes there, as threads may still be on their way through it; so it does when the dump ends.
 */
#ifndef SB_JIT_CODE_H
#define SB_JIT_CODE_H

#include <sb/binary.h>
#include <sb/perfdata.h>

#include "system/system.h"

struct jit_code;

/* Reads the dumps @named. Those that the recording names are found through @resolver; it and @clock must
 * stay. Zero or a negative code. */
int jit_code_new(struct jit_code **jit, struct sb_resolver *resolver, const struct sb_perfdata_info *info,
                 const char *const *named, size_t nnamed, struct sb_error *err);
void jit_code_free(struct jit_code *jit); /* NULL is fine */

/* For system_build(). */
const struct system_coder *jit_code_coder(const struct jit_code *jit);

/* When the system has been built: whether dumps may have been taken from the wrong place, as it was not known
 * yet in which containers, with roots of their own, the processes were. Then it has to be built once more,
 * with what the first one, @known, says about that; NULL: from now on, nobody is asked. */
int jit_code_needs_containers(const struct jit_code *jit);
void jit_code_use_containers(struct jit_code *jit, const struct sb_system *known);

/* When the system has been built: appends to @text what is known about code at @ip of @pid that is missing.
 * Any thread may ask. */
void jit_code_explain(struct jit_code *jit, int32_t pid, uint64_t ip, char *text, size_t size);

#endif
