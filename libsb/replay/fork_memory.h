/* fork_memory.h - whether children got a copy of their parent's memory or the memory itself, by the trace.
 *
 * A child comes to user space first where the system call returns that made it, when it is switched to for
 * the first time. Which call that is, and often what it was asked for, the code before that place says.
 */
#ifndef SB_FORK_MEMORY_H
#define SB_FORK_MEMORY_H

#include <sb/binary.h>
#include <sb/perfdata.h>
#include <sb/system.h>

#include "system/kin.h"

/* Puts what the trace says into @count facts, sorted by time; others stay as they are. @slack: ns by which
 * the trace's time may be wrong. Zero or -sbe_nomem. */
int fork_memory_find(const struct sb_perfdata *perfdata, const struct sb_system *system,
                     struct sb_resolver *resolver, uint64_t slack, struct fork_fact *fact, size_t count);

#endif
