/* name_watch.c - names of threads: what the kernel tells perf of them, when a thread names itself (prctl),
 * when another one of its process does (/proc/PID/task/TID/comm), and at exec. */
#include "tracer.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "capture/fd_path.h"
#include "capture/shortage.h"

static int report(struct tracer *tracer, struct vcpu *cpu, const struct tracee *named, int exec)
{
	struct sb_write_sample sample = vcpu_sample(tracer, cpu, cpu->current);
	const pid_t pid = named->process->pid;
	char path[64], comm[64] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, named->tid);
	file = fopen(path, "re");
	if (!file && is_shortage(errno))
		return fail_short(errno, path, tracer->err);
	if (file) {
		if (fgets(comm, sizeof(comm), file))
			comm[strcspn(comm, "\n")] = '\0';
		fclose(file);
	}
	return sb_write_comm(tracer->writer, &sample, pid, named->tid, comm, exec, tracer->err);
}

/* The thread whose name the file is that the call has written to; NULL: none, as a rule. */
static const struct tracee *named_by_file(const struct tracer *tracer, const struct tracee *t)
{
	const struct tracee *named;
	char path[PATH_MAX], end[8] = "";
	int pid, tid;

	if ((long long)t->regs.rax <= 0 || fd_path(t->tid, (int)t->call.rdi, path) < 0)
		return NULL;
	if (sscanf(path, "/proc/%d/task/%d/%7s", &pid, &tid, end) != 3) {
		if (sscanf(path, "/proc/%d/%7s", &pid, end) != 2)
			return NULL;
		tid = pid;
	}
	named = strcmp(end, "comm") ? NULL : thread_find(tracer, tid);
	return named && named->process ? named : NULL;
}

int names_after_call(struct tracer *tracer, struct vcpu *cpu)
{
	const struct tracee *t = cpu->current, *named = NULL;

	switch (t->call.orig_rax) {
	case SYS_prctl:
		if (t->call.rdi == PR_SET_NAME)
			named = t;
		break;
	case SYS_write:
	case SYS_pwrite64:
	case SYS_writev:
		named = named_by_file(tracer, t);
		break;
	default:
		break;
	}
	return named ? report(tracer, cpu, named, 0) : 0;
}

int names_after_exec(struct tracer *tracer, struct vcpu *cpu)
{
	return report(tracer, cpu, cpu->current, 1);
}
