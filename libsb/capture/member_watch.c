/* member_watch.c - which cgroup and namespaces threads are in: what the kernel tells perf of them. It reports
 * namespaces when they are entered and at each fork, cgroups when they are made; and samples tell who is in
 * which, for which reason there is one whenever a thread turns out to be in another one than before. */
#include "tracer.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "capture/namespaces.h"
#include "capture/shortage.h"

/* A cgroup that nobody has been in before gets its record. */
static int introduce(struct tracer *tracer, const struct sb_write_sample *sample, const struct cgroup *cgroup)
{
	const int is_new = cgroups_meet(tracer->cgroups, cgroup->id);

	if (is_new < 0)
		return out_of_memory(tracer);
	return is_new ? sb_write_cgroup(tracer->writer, sample, cgroup->id, cgroup->path, tracer->err) : 0;
}

/* As a rule, the thread is gone, or there are no cgroups. */
static int not_read(struct tracer *tracer, pid_t tid, int status)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", tid);
	return is_shortage(-status) ? fail_short(-status, path, tracer->err) : 0;
}

static int report_namespaces(struct tracer *tracer, struct vcpu *cpu)
{
	struct tracee *t = cpu->current;
	struct sb_namespace now[NR_NAMESPACES];
	struct sb_write_sample sample;
	const int status = namespaces_read(t->process->pid, t->tid, now);

	_Static_assert(sizeof(t->member.namespaces) == sizeof(now), "as many as a record has");
	if (status < 0)
		return not_read(tracer, t->tid, status);
	if (!t->member.forked && !memcmp(now, t->member.namespaces, sizeof(now)))
		return 0;
	memcpy(t->member.namespaces, now, sizeof(now));
	sample = vcpu_sample(tracer, cpu, t);
	return sb_write_namespaces(tracer->writer, &sample, t->process->pid, t->tid, now, NR_NAMESPACES,
	                           tracer->err);
}

static int report_cgroup(struct tracer *tracer, struct vcpu *cpu)
{
	struct tracee *t = cpu->current;
	struct sb_write_sample sample;
	struct cgroup cgroup;
	int status = cgroups_of(tracer->cgroups, t->process->pid, t->tid, &cgroup);

	if (status < 0)
		return not_read(tracer, t->tid, status);
	if (t->member.cgroup == cgroup.id)
		return 0;
	t->member.cgroup = cgroup.id;
	sample = vcpu_sample(tracer, cpu, t);
	status = introduce(tracer, &sample, &cgroup);
	if (status < 0)
		return status;
	sample = vcpu_sample(tracer, cpu, t);
	return sb_write_cgroup_sample(tracer->writer, &sample, t->regs_known ? t->regs.rip : 0, cgroup.id,
	                              tracer->err);
}

int members_report(struct tracer *tracer, struct vcpu *cpu)
{
	struct tracee *t = cpu->current;
	int status;

	if (!t->member.due)
		return 0;
	status = report_namespaces(tracer, cpu);
	if (status >= 0)
		status = report_cgroup(tracer, cpu);
	t->member.due = t->member.forked = 0;
	return status;
}

void members_fork(struct tracee *child, const struct tracee *parent)
{
	if (parent)
		child->member = parent->member;
	child->member.due = child->member.forked = 1;
}

static int call_failed(const struct tracee *t)
{
	return (long long)t->regs.rax < 0;
}

void members_after_call(struct tracer *tracer, struct tracee *t)
{
	switch (t->call.orig_rax) {
	case SYS_unshare:
	case SYS_setns:
		t->member.due = 1;
		return;
	case SYS_write:
	case SYS_pwrite64:
	case SYS_writev:
		if (call_failed(t) || !cgroups_moves(t->tid, (int)t->call.rdi))
			return;
		for (struct tracee *other = tracer->threads; other; other = other->next)
			other->member.due = 1;
		return;
	default:
		return;
	}
}

/* Where a process is before it all begins: a record of its namespaces, if they can be known. */
static int begin_namespaces(struct tracer *tracer, pid_t pid, struct sb_namespace namespaces[NR_NAMESPACES])
{
	const int status = namespaces_read(pid, pid, namespaces);

	if (status < 0)
		return not_read(tracer, pid, status);
	return sb_write_namespaces(tracer->writer, NULL, pid, pid, namespaces, NR_NAMESPACES, tracer->err);
}

/* The cgroup that processes are in before they come to another one. */
static int begin_cgroup(struct tracer *tracer, pid_t pid)
{
	struct cgroup cgroup;
	const int status = cgroups_of(tracer->cgroups, pid, pid, &cgroup);

	return status < 0 ? not_read(tracer, pid, status) : introduce(tracer, NULL, &cgroup);
}

/* Process 1 tells which namespaces are the machine's. */
int members_begin(struct tracer *tracer)
{
	struct tracee *t = thread_find(tracer, tracer->command);
	struct sb_namespace init[NR_NAMESPACES];
	int status = cgroups_open(&tracer->cgroups);

	if (status < 0)
		return fail_short(-status, "/proc/self/mountinfo", tracer->err);
	status = begin_namespaces(tracer, 1, init);
	if (status >= 0 && t)
		status = begin_namespaces(tracer, t->tid, t->member.namespaces);
	if (status >= 0 && t)
		status = begin_cgroup(tracer, t->tid);
	if (t)
		t->member.due = 1;
	return status;
}
