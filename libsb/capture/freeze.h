/* freeze.h - stops all threads of processes for a moment, so that what is looked at does not change. */
#ifndef SB_FREEZE_H
#define SB_FREEZE_H

#include <stddef.h>
#include <sys/types.h>

#include <sb/error.h>

struct freeze_thread {
	pid_t pid, tid;
};

/* Threads that are stopped, of processes in the order in which they were found. */
struct freeze {
	struct freeze_thread *thread; /* owned */
	size_t count, capacity;
	pid_t *process; /* owned */
	size_t nprocesses, process_capacity;
};

/* Stops @pid, and with @descendants all processes that it has started, and they; the threads of the calling
 * process itself are only listed. By the calling thread, which must also thaw it. Zero, or -errno: ESRCH,
 * EPERM, ENOMEM; nothing is stopped then. */
int freeze_process(struct freeze *freeze, pid_t pid, int descendants);
/* They go on. */
void freeze_thaw(struct freeze *freeze);

#endif
