/* scheduler.c - threads on virtual CPUs: one queue for all CPUs, slices of random length, a random
 * choice among the first of the queue, so that threads wander. */
#include "tracer.h"

enum { SLICE_LEAST = 1000, SLICE_SPREAD = 6000, CHOICE = 4, AHEAD = 2000 };

void make_ready(struct tracer *tracer, struct tracee *t)
{
	t->place = tp_ready;
	t->next_ready = NULL;
	if (tracer->ready_last)
		tracer->ready_last->next_ready = t;
	else
		tracer->ready_first = t;
	tracer->ready_last = t;
	tracer->nready++;
}

static struct tracee *take_ready(struct tracer *tracer)
{
	struct tracee *t = tracer->ready_first, *before = NULL;
	uint32_t limit = tracer->nready < CHOICE ? tracer->nready : CHOICE, skip;

	if (!t)
		return NULL;
	for (skip = random_below(&tracer->random, limit); skip; skip--) {
		before = t;
		t = t->next_ready;
	}
	if (before)
		before->next_ready = t->next_ready;
	else
		tracer->ready_first = t->next_ready;
	if (tracer->ready_last == t)
		tracer->ready_last = before;
	t->next_ready = NULL;
	tracer->nready--;
	return t;
}

static int put_on(struct tracer *tracer, struct vcpu *cpu, struct tracee *t, enum switch_reason reason)
{
	cpu->slice = SLICE_LEAST + random_below(&cpu->random, SLICE_SPREAD);
	return vcpu_switch(tracer, cpu, t, reason);
}

int fill_idle_cpus(struct tracer *tracer)
{
	uint32_t ncpus = tracer->config->ncpus, first = random_below(&tracer->random, ncpus);

	for (uint32_t i = 0; i < ncpus && tracer->nready; i++) {
		struct vcpu *cpu = &tracer->cpu[(first + i) % ncpus];
		int status;

		if (cpu->current)
			continue;
		status = put_on(tracer, cpu, take_ready(tracer), sr_sleeps);
		if (status < 0)
			return status;
	}
	return 0;
}

struct vcpu *next_cpu(struct tracer *tracer, uint64_t *until)
{
	struct vcpu *behind = NULL;

	*until = UINT64_MAX;
	for (uint32_t i = 0; i < tracer->config->ncpus; i++) {
		struct vcpu *cpu = &tracer->cpu[i];

		if (!cpu->current)
			continue;
		if (!behind || cpu->clock < behind->clock) {
			if (behind)
				*until = behind->clock;
			behind = cpu;
		} else if (cpu->clock < *until) {
			*until = cpu->clock;
		}
	}
	if (!behind)
		return NULL;
	/* Alone, it still has to look up from time to time, for those who sleep. */
	if (*until > behind->clock + AHEAD)
		*until = behind->clock + AHEAD;
	*until += AHEAD;
	return behind;
}

int leave_cpu(struct tracer *tracer, struct vcpu *cpu, enum switch_reason reason)
{
	struct tracee *next = take_ready(tracer);

	if (cpu->current)
		cpu->current->tsc = cpu->clock;
	return put_on(tracer, cpu, next, reason);
}

int end_slice(struct tracer *tracer, struct vcpu *cpu)
{
	struct tracee *t = cpu->current;
	int status;

	cpu->slice = SLICE_LEAST + random_below(&cpu->random, SLICE_SPREAD);
	vcpu_interrupt(cpu, t->regs.rip);
	if (!tracer->nready || random_below(&cpu->random, 2))
		return 0;
	status = leave_cpu(tracer, cpu, sr_preempted);
	if (status >= 0)
		make_ready(tracer, t);
	return status;
}
