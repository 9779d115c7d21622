/* member_watch.c - which cgroup and namespaces threads are in: what the kernel tells perf of them. It reports
 * namespaces when they are entered and at each fork, cgroups when they are made; and samples tell who is in
 * which, for which reason there is one whenever a thread turns out to be in another one than before. */
#include "tracer.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>

#include "capture/namespaces.h"

/* A cgroup that nobody has been in before gets its record. */
static int introduce(struct tracer *tracer, const struct sb_write_sample *sample, const struct cgroup *cgroup)
{
	const int is_new = cgroups_meet(tracer->cgroups, cgroup->id);

	if (is_new < 0)
		return out_of_memory(tracer);
	return is_new ? sb_write_cgroup(tracer->writer, sample, cgroup->id, cgroup->path, tracer->err) : 0;
}

static int report_namespaces(struct tracer *tracer, struct vcpu *cpu)
{
	struct tracee *t = cpu->current;
	struct sb_namespace now[NR_NAMESPACES];
	struct sb_write_sample sample;

	_Static_assert(sizeof(t->member.namespaces) == sizeof(now), "as many as a record has");
	if (namespaces_read(t->process->pid, t->tid, now) ||
	    (!t->member.forked && !memcmp(now, t->member.namespaces, sizeof(now))))
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
	int status;

	if (cgroups_of(tracer->cgroups, t->process->pid, t->tid, &cgroup) || t->member.cgroup == cgroup.id)
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
		if (call_failed(t) || !cgroups_moves(t->process->pid, (int)t->call.rdi))
			return;
		for (struct tracee *other = tracer->threads; other; other = other->next)
			other->member.due = 1;
		return;
	default:
		return;
	}
}

/* Process 1 tells which namespaces are the machine's. */
int members_begin(struct tracer *tracer)
{
	struct tracee *t = thread_find(tracer, tracer->command);
	struct sb_namespace init[NR_NAMESPACES];
	struct cgroup cgroup;
	int status = 0;

	tracer->cgroups = cgroups_open();
	if (!tracer->cgroups)
		return out_of_memory(tracer);
	if (!namespaces_read(1, 1, init))
		status = sb_write_namespaces(tracer->writer, NULL, 1, 1, init, NR_NAMESPACES, tracer->err);
	if (status >= 0 && t && !namespaces_read(t->tid, t->tid, t->member.namespaces))
		status = sb_write_namespaces(tracer->writer, NULL, t->tid, t->tid, t->member.namespaces,
		                             NR_NAMESPACES, tracer->err);
	/* Those that processes are in before they come here. */
	if (status >= 0 && t && !cgroups_of(tracer->cgroups, t->tid, t->tid, &cgroup))
		status = introduce(tracer, NULL, &cgroup);
	if (t)
		t->member.due = 1;
	return status;
}
