/* vcpu.c - a virtual CPU: an Intel PT stream, a clock, and the records of what runs on it. */
#include "tracer.h"

#include <stdlib.h>
#include <string.h>

/* Close to the recordings that real machines of this kind make: 476 s after they were started. */
#define FIRST_TSC UINT64_C(0xe8e1c00000)

enum {
	CTC_NUM = 168,
	CTC_DEN = 2,
	MTC_FREQ = 3,
	CBR = 21,
	FLUSH_SIZE = 1 << 16,
	PSB_PERIOD = 4096,
};

uint32_t random_below(uint64_t *state, uint32_t limit)
{
	/* xorshift64* */
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (uint32_t)(((*state * UINT64_C(0x2545f4914f6cdd1d)) >> 32) * limit >> 32);
}

/* Seeds that differ in one bit shall give streams that have nothing in common (splitmix64). */
static uint64_t mix_seed(uint64_t seed)
{
	seed += UINT64_C(0x9e3779b97f4a7c15);
	seed = (seed ^ seed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	seed = (seed ^ seed >> 27) * UINT64_C(0x94d049bb133111eb);
	return (seed ^ seed >> 31) | 1;
}

static int gen_failed(struct tracer *tracer, const struct vcpu *cpu, int status)
{
	if (status == -pte_nomem)
		return out_of_memory(tracer);
	return sb_error_set(tracer->err, -sbe_decode, NULL, UINT64_MAX, "writing the trace of CPU %u: %s",
	                    cpu->id, pt_errstr(pt_errcode(status)));
}

static int vcpu_init(struct tracer *tracer, struct vcpu *cpu)
{
	const struct sb_software_tracer_config *config = tracer->config;
	struct pt_gen_config gen = {
	        .psb_period = config->psb_period ? config->psb_period : PSB_PERIOD,
	        .overflow_every = config->overflow_every,
	        .ctc_num = CTC_NUM,
	        .ctc_den = CTC_DEN,
	        .mtc_freq = MTC_FREQ,
	        .cbr = CBR,
	        .retcomp = !config->no_retcomp,
	        .mtc = config->mtc,
	        .cyc = config->cyc,
	        .tnt64 = config->tnt64,
	        .seed = mix_seed(config->seed + 1000 + cpu->id),
	};
	struct sb_write_sample sample;
	int status;

	cpu->random = mix_seed(config->seed + cpu->id);
	status = pt_gen_init(&cpu->gen, &gen);
	if (status < 0)
		return gen_failed(tracer, cpu, status);
	cpu->clock = FIRST_TSC + random_below(&cpu->random, 8000);
	sample = vcpu_sample(tracer, cpu, NULL);
	return sb_write_itrace_start(tracer->writer, &sample, 0, 0, tracer->err);
}

int vcpus_init(struct tracer *tracer)
{
	tracer->random = mix_seed(tracer->config->seed + 2000);
	tracer->cpu = calloc(tracer->config->ncpus, sizeof(*tracer->cpu));
	if (!tracer->cpu)
		return out_of_memory(tracer);
	for (uint32_t i = 0; i < tracer->config->ncpus; i++) {
		int status;

		tracer->cpu[i].id = i;
		status = vcpu_init(tracer, &tracer->cpu[i]);
		if (status < 0)
			return status;
	}
	return 0;
}

void vcpus_fini(struct tracer *tracer)
{
	for (uint32_t i = 0; tracer->cpu && i < tracer->config->ncpus; i++)
		pt_gen_fini(&tracer->cpu[i].gen);
	free(tracer->cpu);
	tracer->cpu = NULL;
}

struct sb_write_sample vcpu_sample(struct tracer *tracer, struct vcpu *cpu, const struct tracee *t)
{
	struct sb_write_sample sample = {.cpu = cpu->id};

	if (cpu->clock < tracer->round) /* it was idle for long */
		cpu->clock = tracer->round;
	cpu->clock += 30 + random_below(&cpu->random, 60);
	if (t) {
		sample.pid = t->process->pid;
		sample.tid = t->tid;
	}
	sample.time = sb_clock_tsc_to_ns(&tracer->clock, cpu->clock);
	if (cpu->clock > tracer->newest_record)
		tracer->newest_record = cpu->clock;
	return sample;
}

static void retire_one(struct tracer *tracer, struct vcpu *cpu, const struct traced_insn *insn, uint64_t next)
{
	const struct tracee *t = cpu->current;
	struct pt_gen *gen = &cpu->gen;

	if (!gen->enabled) {
		cpu->clock += 100 + random_below(&cpu->random, 200);
		pt_gen_enable(gen, cpu->clock, insn->ip);
	}
	cpu->clock += 1 + random_below(&cpu->random, 4);
	if (pt_gen_retire(gen, cpu->clock, insn, next)) {
		tracer->result->ninsn++;
		if (tracer->truth)
			truth_file_add(tracer->truth, cpu->id, t->process->pid, t->tid, cpu->clock, insn->ip);
	} else {
		tracer->result->nlost++;
	}
	if (insn->kind == ik_far) {
		cpu->clock += 1 + random_below(&cpu->random, 20);
		pt_gen_disable(gen, cpu->clock);
		cpu->clock += 200 + random_below(&cpu->random, 400);
	}
}

int vcpu_retire(struct tracer *tracer, struct vcpu *cpu, const struct tracee_run_result *run)
{
	const struct code_path *path = run->path;

	for (uint32_t i = 0; i < run->nretired; i++) {
		uint64_t next = i + 1 < path->ninsns ? path->insn[i + 1].ip : run->next;

		retire_one(tracer, cpu, &path->insn[i], next);
	}
	if (cpu->gen.error)
		return gen_failed(tracer, cpu, cpu->gen.error);
	return vcpu_flush(tracer, cpu, 0);
}

void vcpu_interrupt(struct vcpu *cpu, uint64_t ip)
{
	if (!cpu->gen.enabled)
		return;
	cpu->clock += 1 + random_below(&cpu->random, 20);
	pt_gen_interrupt(&cpu->gen, cpu->clock, ip);
	cpu->clock += 200 + random_below(&cpu->random, 1000);
}

int vcpu_switch(struct tracer *tracer, struct vcpu *cpu, struct tracee *next, enum switch_reason reason)
{
	struct tracee *prev = cpu->current;
	struct sb_write_sample sample;
	int32_t pid = 0, tid = 0;
	int status;

	if (next && next->tsc > cpu->clock)
		cpu->clock = next->tsc;
	sample = vcpu_sample(tracer, cpu, prev);
	if (reason == sr_exited)
		sample.pid = sample.tid = -1; /* the kernel has no name for it any more */
	if (next) {
		pid = next->process->pid;
		tid = next->tid;
	}
	status = sb_write_switch(tracer->writer, &sample, 1, reason == sr_preempted, pid, tid, tracer->err);
	if (status < 0)
		return status;
	cpu->clock += random_below(&cpu->random, 400);
	pid = sample.pid;
	tid = sample.tid;
	sample = vcpu_sample(tracer, cpu, next);
	status = sb_write_switch(tracer->writer, &sample, 0, 0, pid, tid, tracer->err);
	cpu->clock += random_below(&cpu->random, 400);
	cpu->current = next;
	if (next)
		next->place = tp_on_cpu;
	tracer->result->nswitches++;
	return status;
}

int vcpu_flush(struct tracer *tracer, struct vcpu *cpu, int all)
{
	struct pt_gen *gen = &cpu->gen;
	struct sb_write_sample sample;
	size_t size;
	int status;

	if (!gen->size || (!all && gen->size < FLUSH_SIZE))
		return 0;
	/* Whole packets, and nothing for the writer to pad. */
	pt_gen_pad(gen, 8);
	size = gen->size;
	sample = vcpu_sample(tracer, cpu, cpu->current);
	status = sb_write_aux(tracer->writer, &sample, cpu->aux_offset, size, 0, tracer->err);
	if (status < 0)
		return status;
	status = sb_write_auxtrace(tracer->writer, cpu->id, cpu->clock, gen->buffer, size, tracer->err);
	if (status < 0)
		return status;
	cpu->aux_offset += size;
	tracer->result->trace_bytes += size;
	pt_gen_drop(gen, size);
	return 0;
}
