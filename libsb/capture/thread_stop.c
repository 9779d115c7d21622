/* thread_stop.c - deals with one ptrace-stop of the thread on a CPU; see ptrace(2).
 *
 * Every way into the kernel and out of it comes through here. A thread that the kernel keeps
 * leaves its CPU. What it does in the kernel is reported to perf when it is on a CPU again.
 */
#include "tracer.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "capture/shortage.h"

enum {
	PATIENCE = 150000, /* ns that a system call may take without leaving the CPU */
	ERESTART_FIRST = 512,
	ERESTART_LAST = 516 /* kernel-internal results: perhaps once more */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int await_kernel(struct tracer *tracer, struct tracee *t)
{
	uint64_t begin = now_ns();

	do {
		pid_t tid = waitpid(t->tid, &t->status, __WALL | WNOHANG);

		if (tid == t->tid)
			return 1;
		if (tid < 0 && errno != EINTR) {
			/* Taken over by an exec, or gone. The wheel will hear of it. */
			return errno == ECHILD ? 0
			                       : sb_error_set(tracer->err, -sbe_io, NULL, UINT64_MAX,
			                                      "waitpid: %s", strerror(errno));
		}
		sched_yield();
	} while (now_ns() - begin < PATIENCE);
	return 0;
}

/* Lets the kernel go on with the thread: to the next stop, or to sleep. */
static int go_on(struct tracer *tracer, struct vcpu *cpu, int request)
{
	struct tracee *t = cpu->current;
	int status = tracee_resume(t, request, tracer->err);

	if (status < 0)
		return status;
	status = await_kernel(tracer, t);
	if (status < 0)
		return status;
	cpu->clock += 100 + random_below(&cpu->random, 600);
	if (status) {
		t->has_status = 1;
		return 0;
	}
	t->place = tp_blocked;
	return leave_cpu(tracer, cpu, sr_sleeps);
}

/* System calls */

static int is_exec(const struct tracee *t)
{
	return t->call.orig_rax == SYS_execve || t->call.orig_rax == SYS_execveat;
}

static int syscall_entry(struct tracer *tracer, struct vcpu *cpu)
{
	struct tracee *t = cpu->current;
	int status;

	t->in_syscall = 1;
	t->call = t->regs;
	maps_before_call(t);
	if (!is_exec(t) || t->process->nthreads == 1)
		return go_on(tracer, cpu, PTRACE_SYSCALL);
	/* It waits for the other threads to die, and comes back with the name of their leader. */
	status = tracee_resume(t, PTRACE_SYSCALL, tracer->err);
	if (status < 0)
		return status;
	t->place = tp_blocked;
	return leave_cpu(tracer, cpu, sr_sleeps);
}

static int may_restart(const struct user_regs_struct *regs)
{
	long long result = (long long)regs->rax;

	return (long long)regs->orig_rax >= 0 && result <= -ERESTART_FIRST && result >= -ERESTART_LAST;
}

/* Whether the process may have become one that is not to be dumped: by prctl(2), or as it has other
 * privileges. */
static int may_hide(const struct user_regs_struct *call)
{
	switch (call->orig_rax) {
	case SYS_prctl:
		return call->rdi == PR_SET_DUMPABLE;
	case SYS_unshare:
	case SYS_setns:
	case SYS_capset:
	case SYS_setuid:
	case SYS_setgid:
	case SYS_setreuid:
	case SYS_setregid:
	case SYS_setresuid:
	case SYS_setresgid:
	case SYS_setfsuid:
	case SYS_setfsgid:
		return 1;
	default:
		return 0;
	}
}

/* Who is not to be dumped is not for us to look into any more, unless we are privileged: neither could its
 * code be read, nor could breakpoints be taken out of it. */
static int check_hidden(struct tracer *tracer, const struct tracee *t)
{
	uint8_t byte;
	const struct iovec local = {&byte, 1}, remote = {(void *)(uintptr_t)t->regs.rip, 1};

	if (!may_hide(&t->call) || process_vm_readv(t->tid, &local, 1, &remote, 1, 0) == 1 || errno != EPERM)
		return 0;
	return sb_error_set(tracer->err, -sbe_unsupported, NULL, UINT64_MAX,
	                    "process %d does not let itself be looked into any more (PR_SET_DUMPABLE of "
	                    "prctl(2), or another user namespace): only root can record it",
	                    t->process->pid);
}

static int syscall_exit(struct tracer *tracer, struct vcpu *cpu)
{
	struct tracee *t = cpu->current;
	int status = check_hidden(tracer, t);

	if (status < 0)
		return status;
	t->in_syscall = 0;
	affinity_after_call(tracer, t);
	members_after_call(tracer, t);
	status = maps_after_call(tracer, cpu);
	if (status >= 0)
		status = names_after_call(tracer, cpu);
	if (status < 0 || !may_restart(&t->regs))
		return status;
	t->restarting = 1;
	return go_on(tracer, cpu, PTRACE_SYSCALL);
}

/* The kernel went back over the instruction: it retires once more. */
static int syscall_again(struct tracer *tracer, struct vcpu *cpu)
{
	struct tracee *t = cpu->current;
	struct tracee_run_result run = {.nretired = 1, .next = t->regs.rip};
	int status;

	t->restarting = 0;
	/* SYSCALL and INT 0x80 have two bytes each. */
	status = tracee_mm_path(t->process->mm, t->tid, t->regs.rip - 2, &run.path, tracer->err);
	if (status < 0)
		return status;
	if (run.path->ninsns != 1 || run.path->end != path_syscall)
		return sb_error_set(tracer->err, -sbe_unsupported, NULL, UINT64_MAX,
		                    "thread %d: no system call before %#llx", t->tid, t->regs.rip);
	return vcpu_retire(tracer, cpu, &run);
}

static int syscall_stop(struct tracer *tracer, struct vcpu *cpu)
{
	struct tracee *t = cpu->current;
	int status = 0;

	if (t->in_syscall)
		return syscall_exit(tracer, cpu);
	if (t->restarting)
		status = syscall_again(tracer, cpu);
	return status < 0 ? status : syscall_entry(tracer, cpu);
}

/* Signals */

/* Whether the program has a handler for it: 1; 0; or an error. */
static int is_caught(const struct tracer *tracer, const struct tracee *t, int signal)
{
	char path[64], line[256];
	uint64_t caught = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", t->tid);
	file = fopen(path, "re");
	if (!file && is_shortage(errno))
		return fail_short(errno, path, tracer->err);
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "SigCgt: %" SCNx64, &caught) == 1)
			break;
	}
	if (file)
		fclose(file);
	return caught >> (signal - 1) & 1;
}

static int signal_stop(struct tracer *tracer, struct vcpu *cpu, int signal)
{
	struct tracee *t = cpu->current;
	const int caught = is_caught(tracer, t, signal);

	if (caught < 0)
		return caught;
	t->pending_signal = signal;
	if (!caught) {
		/* Ignored, deadly or stopping: we hear of the latter two when it goes on. */
		return t->restarting ? go_on(tracer, cpu, PTRACE_SYSCALL) : 0;
	}
	vcpu_interrupt(cpu, t->regs.rip);
	t->restarting = 0;
	t->entering_handler = 1;
	return go_on(tracer, cpu, PTRACE_SINGLESTEP);
}

static int trap_stop(struct tracer *tracer, struct vcpu *cpu)
{
	struct tracee *t = cpu->current;

	if (!t->entering_handler)
		return signal_stop(tracer, cpu, SIGTRAP);
	t->entering_handler = 0;
	return 0;
}

static int group_stop(struct tracer *tracer, struct vcpu *cpu)
{
	struct tracee *t = cpu->current;
	int signal = WSTOPSIG(t->status), status;

	if (!stops_a_group(signal))
		return t->restarting ? go_on(tracer, cpu, PTRACE_SYSCALL) : 0;
	vcpu_interrupt(cpu, t->regs.rip);
	status = tracee_resume(t, PTRACE_LISTEN, tracer->err);
	if (status < 0)
		return status;
	t->place = tp_blocked;
	return leave_cpu(tracer, cpu, sr_sleeps);
}

/* Life and death */

static int clone_shares(const struct tracee *t, uint64_t what)
{
	uint64_t flags = 0;

	switch (t->call.orig_rax) {
	case SYS_vfork:
		flags = CLONE_VM;
		break;
	case SYS_clone:
		flags = t->call.rdi;
		break;
	case SYS_clone3:
		flags = (uint64_t)ptrace(PTRACE_PEEKDATA, t->tid, (void *)(uintptr_t)t->call.rdi, NULL);
		break;
	default:
		break;
	}
	return !!(flags & what);
}

static int child_process(struct tracer *tracer, const struct tracee *parent, struct tracee *child)
{
	struct tracee_process *process = parent->process;
	struct tracee_mm *mm;

	if (clone_shares(parent, CLONE_THREAD)) {
		child->process = process;
		process->nthreads++;
		return 0;
	}
	mm = clone_shares(parent, CLONE_VM) ? tracee_mm_ref(process->mm) : tracee_mm_fork(process->mm);
	if (mm)
		child->process = process_add(tracer, child->tid, process->pid, mm);
	if (!child->process)
		return out_of_memory(tracer);
	child->process->nthreads = 1;
	child->process->own_affinity = process->own_affinity;
	return 0;
}

static int forked(struct tracer *tracer, struct vcpu *cpu)
{
	struct tracee *t = cpu->current, *child;
	struct sb_write_sample sample;
	unsigned long tid = 0;
	int status;

	if (!ptrace(PTRACE_GETEVENTMSG, t->tid, NULL, &tid) && tid) {
		child = thread_find(tracer, (pid_t)tid);
		if (!child)
			child = thread_add(tracer, (pid_t)tid);
		if (!child)
			return out_of_memory(tracer);
		status = child_process(tracer, t, child);
		if (status < 0)
			return status;
		members_fork(child, t);
		sample = vcpu_sample(tracer, cpu, t);
		status = sb_write_fork(tracer->writer, &sample, child->process->pid, t->process->pid,
		                       child->tid, t->tid, tracer->err);
		if (status < 0)
			return status;
		child->tsc = cpu->clock;
		if (child->has_status)
			make_ready(tracer, child);
	}
	return go_on(tracer, cpu, PTRACE_SYSCALL);
}

static int executed(struct tracer *tracer, struct vcpu *cpu)
{
	int status = names_after_exec(tracer, cpu);

	/* Somebody may have moved it. */
	cpu->current->member.due = 1;
	if (status >= 0)
		status = maps_after_exec(tracer, cpu);
	return status < 0 ? status : go_on(tracer, cpu, PTRACE_SYSCALL);
}

/* At PTRACE_EVENT_EXIT, or when it is already gone. */
static int ended(struct tracer *tracer, struct vcpu *cpu)
{
	struct tracee *t = cpu->current;
	struct tracee_process *process = t->process;
	struct sb_write_sample sample;
	int status;

	vcpu_interrupt(cpu, t->regs.rip);
	sample = vcpu_sample(tracer, cpu, t);
	status = sb_write_exit(tracer->writer, &sample, process->pid, process->ppid, t->tid, process->ppid,
	                       tracer->err);
	if (status >= 0 && WIFSTOPPED(t->status)) {
		t->pending_signal = 0;
		status = tracee_resume(t, PTRACE_CONT, tracer->err);
	}
	if (status >= 0)
		status = leave_cpu(tracer, cpu, sr_exited);
	if (status >= 0)
		thread_remove(tracer, t);
	return status;
}

static int event_stop(struct tracer *tracer, struct vcpu *cpu, int event)
{
	switch (event) {
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		return forked(tracer, cpu);
	case PTRACE_EVENT_EXEC:
		return executed(tracer, cpu);
	case PTRACE_EVENT_EXIT:
		return ended(tracer, cpu);
	case PTRACE_EVENT_STOP:
		return group_stop(tracer, cpu);
	default:
		return go_on(tracer, cpu, PTRACE_SYSCALL);
	}
}

/* Only 64-bit code can be followed. */
static int check_mode(struct tracer *tracer, const struct tracee *t)
{
	enum { USER_CODE_64 = 0x33 };

	if (!t->regs_known || t->regs.cs == USER_CODE_64)
		return 0;
	return sb_error_set(tracer->err, -sbe_unsupported, NULL, UINT64_MAX,
	                    "process %d runs 32-bit code, which cannot be recorded", t->process->pid);
}

int handle_stop(struct tracer *tracer, struct vcpu *cpu)
{
	struct tracee *t = cpu->current;
	int status, event = t->status >> 16;

	t->has_status = 0;
	if (!WIFSTOPPED(t->status))
		return ended(tracer, cpu);
	status = tracee_get_regs(t, tracer->err);
	if (status >= 0)
		status = check_mode(tracer, t);
	if (status < 0)
		return status;
	if (event)
		return event_stop(tracer, cpu, event);
	if (WSTOPSIG(t->status) == (SIGTRAP | 0x80))
		return syscall_stop(tracer, cpu);
	if (WSTOPSIG(t->status) == SIGTRAP)
		return trap_stop(tracer, cpu);
	return signal_stop(tracer, cpu, WSTOPSIG(t->status));
}
