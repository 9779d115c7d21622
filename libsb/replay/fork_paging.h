/* fork_paging.h - whether children got a copy of their parent's memory or the memory itself, by page tables.
 *
 * Where the kernel is traced, PIP packets name the page tables (CR3) that are in force. Each memory has its
 * own as long as it lasts: who runs under the same ones as its parent, while both live and neither called
 * execve(2), has the same memory, and who runs under others has a copy.
 */
#ifndef SB_FORK_PAGING_H
#define SB_FORK_PAGING_H

#include <sb/perfdata.h>
#include <sb/system.h>

#include "system/kin.h"

/* Puts what page tables say into those of @count facts that are not known; others stay as they are. @slack:
 * ns by which the trace's time may be wrong. Zero or -sbe_nomem. */
int fork_paging_find(const struct sb_perfdata *perfdata, const struct sb_system *system, uint64_t slack,
                     struct fork_fact *fact, size_t count);

#endif
