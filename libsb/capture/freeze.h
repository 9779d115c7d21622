/* freeze.h - stops all threads of processes for a moment, so that what is looked at does not change. */
#ifndef SB_FREEZE_H
#define SB_FREEZE_H

#include <stddef.h>
#include <sys/types.h>

#include <sb/error.h>

struct freeze_thread {
	pid_t pid, tid;
	int error; /* it goes on, since it could not be stopped: errno says why; 0: it is stopped */
};

/* How long one thread may take: then it hangs in the kernel, and nobody knows for how much longer. */
enum { freeze_patience_ms = 3000, freeze_little_patience_ms = 100 };

/* Threads that are stopped, of processes in the order in which they were found. */
struct freeze {
	struct freeze_thread *thread; /* owned */
	size_t count, capacity;
	pid_t *process; /* owned */
	size_t nprocesses, process_capacity;
	size_t nleft;              /* of the threads, those that go on: */
	struct freeze_thread left; /* the first of them */
	unsigned int patience_ms;
	struct freezer *freezer; /* owned: who stops them; NULL: nobody needed to */
};

/* Stops @pid, and with @descendants all processes that it has started, and they; the threads of the calling
 * process itself are only listed. What cannot be stopped goes on, and is in the list: EPERM, somebody traces
 * it, or the caller may not; ETIMEDOUT, it took longer than @patience_ms, and has none of it any more. Zero,
 * or -errno: ESRCH (also of a thread that is no process), or a shortage (shortage.h); nothing is stopped
 * then. */
int freeze_process(struct freeze *freeze, pid_t pid, int descendants, unsigned int patience_ms);
/* They go on. */
void freeze_thaw(struct freeze *freeze);
/* What freeze_thread.error means, in words: "thread 12 of process 11 cannot be stopped: " goes before it. */
const char *freeze_reason(int error);

#endif
