/* orphans.c - threads whose parent was killed before it could tell of them. */
#include "tracer.h"

#include "capture/proc_stat.h"
#include "capture/shortage.h"

/* Zero, also when it is gone; or an error, when we cannot look. */
static int read_parents(struct tracer *tracer, pid_t tid, pid_t *pid, pid_t *ppid)
{
	struct proc_stat stat = {0};
	int status = proc_leader_of(pid, tid);

	*ppid = 0;
	if (status >= 0)
		status = proc_stat_of(&stat, tid);
	if (status < 0)
		return fail_short(-status, "/proc", tracer->err);
	if (!*pid)
		*pid = tid;
	*ppid = stat.parent;
	return 0;
}

/* The mappings of a child whose parent is not known any more. */
static struct tracee_mm *unknown_mm(pid_t tid)
{
	struct tracee_mm *mm = tracee_mm_new();

	if (mm && exec_maps_read(&mm->maps, tid, NULL) >= 0)
		return mm;
	tracee_mm_unref(mm);
	return NULL;
}

static int adopt(struct tracer *tracer, struct tracee *t)
{
	struct tracee_process *parent;
	struct vcpu *cpu = &tracer->cpu[0];
	struct sb_write_sample sample;
	pid_t pid, ppid;
	int status;

	status = read_parents(tracer, t->tid, &pid, &ppid);
	if (status < 0)
		return status;
	t->process = process_find(tracer, pid);
	parent = t->process ? t->process : process_find(tracer, ppid);
	if (!t->process)
		t->process = process_add(tracer, pid, ppid,
		                         parent ? tracee_mm_fork(parent->mm) : unknown_mm(t->tid));
	if (!t->process || !t->process->mm)
		return out_of_memory(tracer);
	t->process->nthreads++;
	members_fork(t, NULL);
	sample = vcpu_sample(tracer, cpu, NULL);
	if (parent) {
		sample.pid = parent->pid;
		sample.tid = parent->pid;
	}
	status = sb_write_fork(tracer->writer, &sample, pid, sample.pid, t->tid, sample.tid, tracer->err);
	t->tsc = cpu->clock;
	make_ready(tracer, t);
	return status < 0 ? status : 1;
}

int adopt_orphans(struct tracer *tracer)
{
	int found = 0;

	for (struct tracee *t = tracer->threads; t; t = t->next) {
		int status = 0;

		if (!t->process && t->has_status)
			status = adopt(tracer, t);
		if (status < 0)
			return status;
		found |= status;
	}
	return found;
}
