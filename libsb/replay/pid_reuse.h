/* pid_reuse.h - processes whose numbers somebody else may have got while records were lost.
 *
 * When the records of a process' end and of a later fork are both lost, the number goes on as if nothing had
 * happened, and what the first one had mapped would be taken to be the other's. But the kernel gives numbers
 * in turn: from the number of the last fork on, it comes no farther than by one for each fork that was lost.
 * Only who has one of these may be somebody else.
 */
#ifndef SB_PID_REUSE_H
#define SB_PID_REUSE_H

#include "system/system.h"

/* *reuse: owned by the caller; by time. Zero or -sbe_nomem. */
int pid_reuse_find(const struct sb_system *system, struct pid_reuse **reuse, size_t *count);

#endif
