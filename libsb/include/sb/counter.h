/* sb/counter.h - counters that are attached to processes.
 *
 * A counter counts one event (see <sb/event.h>): in the processes that it is attached to, with all their
 * threads, those that begin later included, and, when asked for, the processes that they start; or on a CPU,
 * whoever runs there. Its value is the sum over all. A counter is known by a number, from 1 on, which belongs
 * to the process that allocated it, and not to those that this one forks.
 *
 * While a counter is attached, started or stopped, the targets' threads are stopped (ptrace(2)), so that none
 * of them can begin another one unseen; they go on within milliseconds. The caller's own threads cannot be
 * stopped: what they start in that moment may be missed. Processes that somebody traces already, or
 * of which a thread hangs in the kernel for three seconds, cannot be attached to.
 *
 * Threads may use counters at the same time.
 */
#ifndef SB_COUNTER_H
#define SB_COUNTER_H

#include <stdint.h>
#include <sys/types.h>

#include <sb/error.h>
#include <sb/export.h>

/* Functions return them negative. */
enum sb_counter_errcode {
	sb_counter_ok,
	sb_counter_busy,    /* it is running; or another counter that follows the process has its hardware */
	sb_counter_exists,  /* it follows that process already, be it as a descendant */
	sb_counter_invalid, /* a system-scope counter, a bad pid or event, no such counter; detach: not
	                       attached there */
	sb_counter_not_permitted,
	sb_counter_no_process, /* no such process; the caller owns no counters; detach: nobody follows it */
	sb_counter_no_memory,
	sb_counter_io, /* the operating system said no; the text holds its reason */
	sb_counter_errcodes
};
sb_export const char *sb_counter_strerror(int code); /* of a negative code, or zero */

enum sb_counter_scope {
	sb_counter_process, /* attached to processes */
	sb_counter_system,  /* of a CPU */
};

enum sb_counter_flag {
	sb_counter_descendants = 1 << 0, /* processes that the targets have started, or will start, too */
	sb_counter_owner_only = 1 << 1,  /* never attached to others than the caller */
};

/* Allocates a counter of @event, for a @cpu in system scope (-1: that of "cpu=N" in @event, which in process
 * scope counts there alone); it does not run. @err (may be NULL) says what is wrong. Its number, or a
 * negative enum sb_counter_errcode. */
sb_export int sb_counter_allocate(const char *event, enum sb_counter_scope scope, unsigned int flags, int cpu,
                                  struct sb_error *err);
/* Detaches it from all, and forgets it. */
sb_export int sb_counter_release(int counter);

/* @pid 0: the caller. The counter may not be running. What was counted in a process that is detached is lost.
 * Zero or a negative enum sb_counter_errcode. */
sb_export int sb_counter_attach(int counter, pid_t pid, struct sb_error *err);
sb_export int sb_counter_detach(int counter, pid_t pid, struct sb_error *err);

/* Sets it running, or at rest. Twice does no harm. */
sb_export int sb_counter_start(int counter);
sb_export int sb_counter_stop(int counter);

/* What was counted so far, also while it runs and of threads that ended. Where more events are wanted than
 * the hardware counts at a time, *enabled and *running (ns, summed like the value; each may be NULL) say by
 * how much it is too low. */
sb_export int sb_counter_read(int counter, uint64_t *value, uint64_t *enabled, uint64_t *running);

#endif
