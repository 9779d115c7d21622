/* thread_turn.c - lets the thread on a virtual CPU go on for a while. */
#include "tracer.h"

static int run(struct tracer *tracer, struct vcpu *cpu)
{
	enum tracee_mode mode = tracer->config->single_step ? tm_steps : tm_paths;
	struct tracee *t = cpu->current;
	struct tracee_run_result result;
	uint64_t ip;
	int status;

	t->counter = cpu->clock;
	status = tracee_run(t, mode, cpu->slice, &result, tracer->err);
	if (status < 0)
		return status;
	if (result.path) {
		status = vcpu_retire(tracer, cpu, &result);
		if (status < 0)
			return status;
	}
	if (result.moved) {
		/* Transactions that abort and the like: the instruction before @next did not
		 * retire. Nobody can tell that from an interrupt that returns elsewhere. */
		ip = result.nretired < result.path->ninsns ? result.path->insn[result.nretired].ip
		                                           : result.path->start;
		vcpu_interrupt(cpu, ip);
	}
	if (cpu->slice > result.nretired)
		cpu->slice -= result.nretired ? result.nretired : 1;
	else
		cpu->slice = 0;
	return 0;
}

int take_turn(struct tracer *tracer, struct vcpu *cpu, uint64_t until)
{
	struct tracee *t = cpu->current;

	while (cpu->current == t && cpu->clock <= until) {
		int status = members_report(tracer, cpu);

		if (status < 0)
			return status;
		if (t->has_status)
			status = handle_stop(tracer, cpu);
		else if (!cpu->slice)
			status = end_slice(tracer, cpu);
		else
			status = run(tracer, cpu);
		if (status < 0)
			return status;
	}
	return 0;
}
