/* affinity.c - keeps the tracer and all it traces on one processor, where handing over from one to
 * the other costs a fraction of waking another processor up. The command does not see it:
 * sched_getaffinity(2) tells it what it would have been told otherwise. */
#include "tracer.h"

#include <sched.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

void affinity_begin(struct tracer *tracer)
{
	cpu_set_t one;
	int here = sched_getcpu();

	if (here < 0 || here >= CPU_SETSIZE ||
	    sched_getaffinity(0, sizeof(tracer->affinity), &tracer->affinity))
		return;
	CPU_ZERO(&one);
	CPU_SET((size_t)here, &one);
	tracer->pinned = !sched_setaffinity(0, sizeof(one), &one);
}

void affinity_end(struct tracer *tracer)
{
	if (tracer->pinned)
		sched_setaffinity(0, sizeof(tracer->affinity), &tracer->affinity);
	tracer->pinned = 0;
}

void affinity_after_call(const struct tracer *tracer, struct tracee *t)
{
	const struct user_regs_struct *call = &t->call;
	size_t size = (size_t)t->regs.rax;

	if (call->orig_rax == SYS_sched_setaffinity && !t->regs.rax)
		t->process->own_affinity = 1;
	if (call->orig_rax != SYS_sched_getaffinity || (long long)t->regs.rax <= 0 || !tracer->pinned ||
	    t->process->own_affinity || (call->rdi && !thread_find(tracer, (pid_t)call->rdi)))
		return;
	for (size_t at = 0; at + sizeof(long) <= size && at < sizeof(tracer->affinity); at += sizeof(long)) {
		long word;

		memcpy(&word, (const char *)&tracer->affinity + at, sizeof(word));
		ptrace(PTRACE_POKEDATA, t->tid, (void *)(uintptr_t)(call->rdx + at), (void *)word);
	}
}
