/* tracee.h - a traced thread and its process, and running it along a path of code.
 *
 * A thread is *stopped* (ptrace-stop, its registers can be had) or *running in the kernel*: while it
 * is in user space it only ever runs inside of tracee_run(), which waits for it.
 */
#ifndef SB_CAPTURE_TRACEE_H
#define SB_CAPTURE_TRACEE_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include <sb/error.h>

#include <sb/record.h>

#include "tracee_mm.h"

struct tracee_process {
	struct tracee_process *next;
	pid_t pid, ppid;
	uint32_t nthreads;
	int own_affinity; /* it has chosen its processors itself */
	struct tracee_mm *mm;
};

enum tracee_place {
	tp_new,   /* its first stop or its parent's report is still to come */
	tp_ready, /* in the queue for a virtual CPU */
	tp_on_cpu,
	tp_blocked /* in the kernel, on no virtual CPU */
};

/* Where a thread is, as was reported last. */
struct tracee_member {
	uint64_t cgroup; /* 0: not reported */
	struct sb_namespace namespaces[7];
	int due;    /* to be looked at before it goes on */
	int forked; /* its namespaces are to be reported anyhow, as the kernel does */
};

struct tracee {
	struct tracee *next; /* all of them */
	struct tracee *next_ready;
	pid_t tid;
	struct tracee_process *process; /* NULL until the parent's report */
	enum tracee_place place;
	uint64_t tsc;     /* it does nothing before */
	uint64_t counter; /* what it reads from the time stamp counter */

	int has_status; /* a stop was reported and not yet dealt with: */
	int status;     /* waitpid(2)'s */

	struct user_regs_struct regs;
	int regs_known, regs_changed; /* they are those of the tracee; or ours, to be written */

	int in_syscall;               /* its entry was reported, its exit not */
	int restarting;               /* the kernel may run the system call again */
	int entering_handler;         /* the next SIGTRAP is the entry of a signal handler */
	int pending_signal;           /* to be delivered when it goes on */
	uint32_t unrun;               /* paths in a row that were only computed */
	struct user_regs_struct call; /* registers at the system call's entry */
	struct tracee_member member;
};

/* What running along a path came to. */
struct tracee_run_result {
	const struct code_path *path;
	uint32_t nretired; /* instructions of the path that retired */
	uint64_t next;     /* where user space goes on */
	int moved;         /* control got to @next without the instruction before it: not a branch */
	int stopped;       /* t->status has a stop that is to be dealt with */
};

/* How to run: with breakpoints at branches, or every instruction by PTRACE_SINGLESTEP. */
enum tracee_mode { tm_paths, tm_steps };

/* Runs at most @limit (>= 1) instructions from t->regs.rip on; it may be fewer. */
int tracee_run(struct tracee *t, enum tracee_mode mode, uint32_t limit, struct tracee_run_result *result,
               struct sb_error *err);

/* Whether PTRACE_EVENT_STOP with that signal is of a process that is stopped as a whole (job control). */
int stops_a_group(int signal);

/* Reads the registers of a stopped thread, if they are not known. A thread that is gone has none:
 * returns 0 as well, for its end will be reported. */
int tracee_get_regs(struct tracee *t, struct sb_error *err);

/* Lets it go on with @request (PTRACE_SYSCALL, PTRACE_SINGLESTEP, PTRACE_CONT, PTRACE_LISTEN) and its
 * pending signal. */
int tracee_resume(struct tracee *t, int request, struct sb_error *err);

/* Computes where the branch at the end of a path goes and does it to the registers (and the
 * stack). Returns 0, or -1 when the processor has to do it. */
int branch_outcome(struct tracee *t, const struct traced_insn *insn, const struct branch_info *branch);

#endif
