/* tracee_run.c - runs a stopped thread along a path of user code: to a breakpoint at its end, by
 * single steps, or by computing a branch; see tracee_mm.h for why. */
#include "tracee.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

/* After so many computed branches in a row the thread has to run, so that signals get to it. */
enum { UNRUN_MAX = 64 };
#define FLAG_TF UINT64_C(0x100)

static int system_error(struct sb_error *err, const struct tracee *t, const char *what)
{
	return sb_error_set(err, -sbe_io, NULL, UINT64_MAX, "%s, thread %d: %s", what, t->tid,
	                    strerror(errno));
}

int stops_a_group(int signal)
{
	return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

int tracee_get_regs(struct tracee *t, struct sb_error *err)
{
	if (t->regs_known)
		return 0;
	if (ptrace(PTRACE_GETREGS, t->tid, NULL, &t->regs)) {
		if (errno == ESRCH)
			return 0;
		return system_error(err, t, "reading registers");
	}
	t->regs_known = 1;
	t->regs_changed = 0;
	return 0;
}

/* Whether a request failed because the thread was killed; that will be reported. */
static int was_killed(struct tracee *t, long result)
{
	if (!result || errno != ESRCH)
		return 0;
	t->regs_changed = 0;
	return 1;
}

int tracee_resume(struct tracee *t, int request, struct sb_error *err)
{
	long signal = t->pending_signal, result;

	t->pending_signal = 0;
	if (t->regs_changed) {
		result = ptrace(PTRACE_SETREGS, t->tid, NULL, &t->regs);
		if (was_killed(t, result))
			return 0;
		if (result)
			return system_error(err, t, "writing registers");
	}
	result = ptrace((enum __ptrace_request)request, t->tid, NULL, (void *)signal);
	if (was_killed(t, result))
		return 0;
	if (result)
		return system_error(err, t, "resuming");
	t->regs_known = t->regs_changed = 0;
	return 0;
}

/* Goes on in user space until the next stop, which comes at once. */
static int run_to_stop(struct tracee *t, int request, struct sb_error *err)
{
	int status = tracee_resume(t, request, err);

	if (status < 0)
		return status;
	t->unrun = 0;
	while (waitpid(t->tid, &t->status, __WALL) < 0) {
		if (errno != EINTR)
			return system_error(err, t, "waiting");
	}
	if (!WIFSTOPPED(t->status))
		return 0;
	return tracee_get_regs(t, err);
}

static int is_trap(int status)
{
	/* No event, and not a system call's (PTRACE_O_TRACESYSGOOD). */
	return WIFSTOPPED(status) && status >> 8 == SIGTRAP;
}

static int is_syscall_stop(int status)
{
	return WIFSTOPPED(status) && status >> 8 == (SIGTRAP | 0x80);
}

/* A SIGTRAP that somebody sent, or that the program's own INT3 caused. */
static int is_foreign_trap(const struct tracee *t)
{
	siginfo_t info;

	if (ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &info))
		return 0;
	return info.si_code <= 0 || info.si_code == SI_KERNEL;
}

/* Single steps */

static int stop_result(struct tracee *t, struct tracee_run_result *result)
{
	t->has_status = 1;
	result->stopped = 1;
	result->next = t->regs.rip;
	return 0;
}

/* The address of an instruction of the path, or of what follows it. */
static uint64_t address_of(const struct code_path *path, uint32_t index)
{
	return index < path->ninsns ? path->insn[index].ip : path->end_ip;
}

/* Judges what a step of the path's instruction @index came to. */
static void step_result(const struct tracee *t, uint32_t index, struct tracee_run_result *result)
{
	const struct code_path *path = result->path;
	const struct traced_insn *insn = &path->insn[index];
	uint64_t next = t->regs.rip, after = insn->ip + insn->length, target = address_of(path, index + 1);

	if (insn->kind == ik_cond)
		target = path->branch.target;
	result->next = next;
	if (insn->kind == ik_other && next == insn->ip)
		return; /* an iteration of a REP */
	if (insn->kind == ik_other && next != after)
		result->moved = 1;
	else if (insn->kind == ik_cond && next != after && next != target)
		result->moved = 1;
	else if ((insn->kind == ik_jump || insn->kind == ik_call) && next != target)
		result->moved = 1;
	else
		result->nretired++;
}

/* RDTSC reads the clock of the recording: a program that notes times in files can be understood. */
static void show_counter(struct tracee *t)
{
	t->regs.rax = t->counter & UINT32_MAX;
	t->regs.rdx = t->counter >> 32;
	t->regs_changed = 1;
}

/* PUSHF writes down that it was stepped: POPF would take that for the program's wish. */
static void hide_trap_flag(const struct tracee *t)
{
	uint8_t byte = (uint8_t)((t->regs.eflags & ~FLAG_TF) >> 8);
	const struct iovec local = {&byte, 1}, remote = {(void *)(uintptr_t)(t->regs.rsp + 1), 1};

	process_vm_writev(t->tid, &local, 1, &remote, 1, 0);
}

/* What stepping changes for the program, which is not to notice. */
static void set_right(struct tracee *t, uint8_t rule, uint64_t flags_before)
{
	if (rule == br_counter)
		show_counter(t);
	else if (rule == br_pushf && !(flags_before & FLAG_TF))
		hide_trap_flag(t);
}

static int step(struct tracee *t, uint32_t index, struct tracee_run_result *result, struct sb_error *err)
{
	const struct traced_insn *insn = &result->path->insn[index];
	const uint64_t flags = t->regs.eflags;
	uint32_t before = result->nretired;
	int status;

	tracee_mm_unplant(t->process->mm, t->tid, insn->ip, insn->length);
	status = run_to_stop(t, PTRACE_SINGLESTEP, err);
	if (status < 0)
		return status;
	if (!is_trap(t->status))
		return stop_result(t, result);
	if (insn->kind == ik_far && is_foreign_trap(t)) {
		result->nretired++;
		return stop_result(t, result);
	}
	step_result(t, index, result);
	if (result->path->end == path_step && index + 1 == result->path->ninsns && result->nretired > before)
		set_right(t, result->path->branch.rule, flags);
	if (result->nretired == before && !result->moved && is_foreign_trap(t))
		return stop_result(t, result);
	return 0;
}

/* An instruction that cannot be decoded: the program knows better, or it faults. */
static int step_blindly(struct tracee *t, struct tracee_run_result *result, struct sb_error *err)
{
	int status = run_to_stop(t, PTRACE_SINGLESTEP, err);

	if (status < 0)
		return status;
	if (!is_trap(t->status) || is_foreign_trap(t))
		return stop_result(t, result);
	result->moved = 1;
	result->next = t->regs.rip;
	return 0;
}

/* Running with breakpoints */

static int lost_control(const struct tracee *t, const struct code_path *path, struct sb_error *err)
{
	return sb_error_set(err, -sbe_unsupported, NULL, UINT64_MAX,
	                    "thread %d left the path from %#llx for %#llx; does its code change behind the "
	                    "tracer's back?",
	                    t->tid, (unsigned long long)path->start, (unsigned long long)t->regs.rip);
}

/* Stopped at t->regs.rip, which is on the path or behind it: what has retired? */
static int retired_before(struct tracee *t, uint32_t count, struct tracee_run_result *result,
                          struct sb_error *err)
{
	for (uint32_t i = 0; i <= count; i++) {
		if (address_of(result->path, i) != t->regs.rip)
			continue;
		result->nretired = i;
		result->next = t->regs.rip;
		return 0;
	}
	return lost_control(t, result->path, err);
}

/* A stop that was not planned. */
static int run_interrupted(struct tracee *t, uint32_t count, struct tracee_run_result *result,
                           struct sb_error *err)
{
	struct tracee_mm *mm = t->process->mm;
	int status;

	if (!t->regs_known) /* gone */
		return stop_result(t, result);
	if (is_trap(t->status) && tracee_mm_is_planted(mm, t->regs.rip - 1)) {
		/* One that could not be removed when its thread died. */
		t->regs.rip--;
		t->regs_changed = 1;
		tracee_mm_unplant(mm, t->tid, t->regs.rip, 1);
		return retired_before(t, count, result, err);
	}
	status = retired_before(t, count, result, err);
	return status < 0 ? status : stop_result(t, result);
}

/* Runs the path's first @count instructions, up to a breakpoint. */
static int run_to_breakpoint(struct tracee *t, uint32_t count, struct tracee_run_result *result,
                             struct sb_error *err)
{
	const struct code_path *path = result->path;
	struct tracee_mm *mm = t->process->mm;
	uint64_t address = address_of(path, count);
	int last = count + 1 == path->ninsns && path->end == path_branch;
	int keep = last || tracee_mm_is_planted(mm, address);
	int status;

	if (!tracee_mm_plant(mm, t->tid, address))
		return step(t, 0, result, err);
	status = run_to_stop(t, PTRACE_SYSCALL, err);
	if (status < 0)
		return status;
	if (t->regs_known && t->regs.rip == address + 1) {
		t->regs.rip = address;
		t->regs_changed = 1;
		result->nretired = count;
		result->next = address;
		if (!is_trap(t->status)) /* SIGKILL was faster */
			stop_result(t, result);
	} else {
		status = run_interrupted(t, count, result, err);
	}
	if (!keep)
		tracee_mm_unplant(mm, t->tid, address, 1);
	return status;
}

static int run_to_syscall(struct tracee *t, struct tracee_run_result *result, struct sb_error *err)
{
	const struct code_path *path = result->path;
	uint32_t last = path->ninsns - 1;
	int status = run_to_stop(t, PTRACE_SYSCALL, err);

	if (status < 0)
		return status;
	if (!is_syscall_stop(t->status))
		return run_interrupted(t, last, result, err);
	if (t->regs.rip != path->insn[last].ip + path->insn[last].length)
		return lost_control(t, path, err);
	result->nretired = path->ninsns;
	return stop_result(t, result);
}

/* The last instruction of a path. */
static int finish_path(struct tracee *t, struct tracee_run_result *result, struct sb_error *err)
{
	const struct code_path *path = result->path;
	uint32_t last = path->ninsns - 1;

	if (path->end == path_branch && t->unrun < UNRUN_MAX &&
	    !branch_outcome(t, &path->insn[last], &path->branch)) {
		result->nretired++;
		result->next = t->regs.rip;
		return 0;
	}
	return step(t, last, result, err);
}

static int run_path(struct tracee *t, uint32_t limit, struct tracee_run_result *result, struct sb_error *err)
{
	const struct code_path *path = result->path;
	uint32_t count = limit < path->ninsns ? limit : path->ninsns;
	int whole = count == path->ninsns, status;

	if (path->end == path_syscall && whole)
		return run_to_syscall(t, result, err);
	if (path->end == path_cut || !whole)
		return run_to_breakpoint(t, count, result, err);
	if (count > 1) {
		status = run_to_breakpoint(t, count - 1, result, err);
		if (status < 0 || result->stopped || result->nretired != count - 1)
			return status;
	}
	return finish_path(t, result, err);
}

int tracee_run(struct tracee *t, enum tracee_mode mode, uint32_t limit, struct tracee_run_result *result,
               struct sb_error *err)
{
	int status = tracee_get_regs(t, err);

	memset(result, 0, sizeof(*result));
	if (status < 0)
		return status;
	if (!t->regs_known) {
		/* It was killed while it was stopped: nothing but its end is to come. */
		status = run_to_stop(t, PTRACE_SYSCALL, err);
		return status < 0 ? status : stop_result(t, result);
	}
	result->next = t->regs.rip;
	status = tracee_mm_path(t->process->mm, t->tid, t->regs.rip, &result->path, err);
	if (status < 0)
		return status;
	if (result->path->end == path_blind)
		return step_blindly(t, result, err);
	if (result->path->end == path_syscall && result->path->ninsns == 1)
		return run_to_syscall(t, result, err);
	if (mode == tm_steps || result->path->careful || result->path->fleeting)
		return step(t, 0, result, err);
	return run_path(t, limit, result, err);
}
