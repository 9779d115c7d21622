/* lost_switch.c - see lost_switch.h. */
#include "system/lost_switch.h"

#include <stdlib.h>
#include <string.h>

#include "bisect.h"
#include "system/schedule.h"

/* ns: closer to a switch, the clocks of two CPUs may disagree which was first. */
enum { SAME_TIME = 1000 };

/* A thread was on a CPU then. */
struct proof {
	uint64_t time;
	int32_t tid;
	uint32_t cpu;
};

struct proofs {
	struct proof *of; /* by thread and time */
	size_t count, capacity;
};

/* Entries that come of signs. */
struct signs {
	struct sb_sched *of;
	size_t count, capacity;
};

/* ---- What a schedule says itself ---------------------------------------------------------------- */

/* Switches with records, in one schedule or the other; and those that must have been without. */
struct losses {
	size_t nboth, nsingle, nswitches, nlost;
};

static struct losses losses_of(const struct cpu_schedule *cpu)
{
	const uint32_t first = cpu->nscheds ? cpu->sched->records & SCHED_BOTH : 0;

	return (struct losses){.nboth = cpu->count.nboth + (first == SCHED_BOTH),
	                       .nsingle = switch_count_single(&cpu->count, cpu->sched, cpu->nscheds),
	                       .nswitches = cpu->count.nswitches + (first != 0),
	                       .nlost = cpu->count.nlost};
}

/* Somebody may have run between two switches who came and went without a record. Where one switch in so many
 * is lost, it is the square of that for two that follow each other: how many would that be? Threads that wait
 * for each other in a loop stop in one place every few times. */
static enum switch_losses judge(const struct losses *losses)
{
	enum { UNLIKELY = 16, PLACES = 4 };
	const size_t nunseen = losses->nlost * losses->nlost;

	if (!losses->nswitches || nunseen * UNLIKELY / PLACES >= losses->nswitches)
		return !losses->nswitches || losses->nlost ? switch_losses_many : switch_losses_none;
	if (nunseen * UNLIKELY >= losses->nswitches)
		return switch_losses_some;
	return losses->nlost || (losses->nboth && losses->nsingle) ? switch_losses_few : switch_losses_none;
}

/* ---- Proofs ------------------------------------------------------------------------------------- */

static int add_proof(struct proofs *proofs, uint32_t cpu, uint64_t time, int32_t tid)
{
	if (tid <= 0 || !time)
		return 0;
	if (array_reserve(&proofs->of, &proofs->capacity, proofs->count, sizeof(*proofs->of)) < 0)
		return -sbe_nomem;
	proofs->of[proofs->count++] = (struct proof){time, tid, cpu};
	return 0;
}

static int add_proofs_of(struct proofs *proofs, struct cpu_schedule *cpu, uint32_t number)
{
	int status = 0;

	for (size_t i = 0; i < cpu->nscheds && status == 0; ++i) {
		schedule_pass(cpu, i);
		status = add_proof(proofs, number, cpu->sched[i].time, cpu->sched[i].prev_tid);
		if (status == 0)
			status = add_proof(proofs, number, cpu->sched[i].time, cpu->sched[i].tid);
	}
	for (size_t i = 0; i < cpu->nseen && status == 0; ++i)
		status = add_proof(proofs, number, cpu->seen[i].time, cpu->seen[i].tid);
	return status;
}

static int by_thread_and_time(const void *left, const void *right)
{
	const struct proof *a = left, *b = right;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

/* The first time behind @from, and before @to, at which @tid was on another CPU; UINT64_MAX: it was not. */
static uint64_t seen_elsewhere(const struct proofs *proofs, int32_t tid, uint32_t cpu, uint64_t from,
                               uint64_t to)
{
	struct bisect at = {.high = proofs->count};

	while (bisect_more(&at)) {
		const struct proof *proof = &proofs->of[at.middle];

		bisect_go(&at, proof->tid < tid || (proof->tid == tid && proof->time <= from));
	}
	for (size_t i = at.low; i < proofs->count && proofs->of[i].tid == tid && proofs->of[i].time < to; ++i)
		if (proofs->of[i].cpu != cpu)
			return proofs->of[i].time;
	return UINT64_MAX;
}

static const struct sb_seen nobody = {0, -1, -1};

/* ---- Signs -------------------------------------------------------------------------------------- */

static int add_sign(struct signs *signs, const struct sb_seen *now, const struct sb_seen *before)
{
	if (array_reserve(&signs->of, &signs->capacity, signs->count, sizeof(*signs->of)) < 0)
		return -sbe_nomem;
	signs->of[signs->count++] = (struct sb_sched){.time = now->time,
	                                              .pid = now->pid,
	                                              .tid = now->tid,
	                                              .prev_pid = before->pid,
	                                              .prev_tid = before->tid,
	                                              .records = sb_sched_other};
	return 0;
}

/* Whoever made a record between two switches and is not who was switched to. */
static int add_seen(struct signs *signs, const struct cpu_schedule *cpu)
{
	int status = 0;

	for (size_t i = 0; i < cpu->nseen && status == 0; ++i) {
		const struct sb_seen *seen = &cpu->seen[i];
		const size_t behind = array_above(cpu->sched, cpu->nscheds, sizeof(*cpu->sched), seen->time);
		const struct sb_sched *before = behind ? &cpu->sched[behind - 1] : NULL;

		if (!before || before->pid != seen->pid || before->tid != seen->tid)
			status = add_sign(signs, seen, &nobody);
	}
	return status;
}

/* Whoever ended is not who runs from then on. */
static int add_ends(struct signs *signs, const struct cpu_schedule *cpu)
{
	int status = 0;

	for (size_t i = 0; i < cpu->nended && status == 0; ++i)
		status = add_sign(signs, &(struct sb_seen){cpu->ended[i].time, -1, -1}, &cpu->ended[i]);
	return status;
}

/* Whoever was switched to, and was on another CPU before the next switch. */
static int add_absences(struct signs *signs, struct cpu_schedule *cpu, uint32_t number,
                        const struct proofs *proofs)
{
	int status = 0;

	for (size_t i = 0; i < cpu->nscheds && status == 0; ++i) {
		const struct sb_sched *entry = &cpu->sched[i];
		const uint64_t end = i + 1 < cpu->nscheds ? entry[1].time : UINT64_MAX;
		uint64_t time;

		schedule_pass(cpu, i);
		if (entry->tid <= 0 || end < entry->time + 2 * SAME_TIME)
			continue;
		time = seen_elsewhere(proofs, entry->tid, number, entry->time + SAME_TIME, end - SAME_TIME);
		if (time != UINT64_MAX)
			status = add_sign(signs, &(struct sb_seen){time, -1, -1}, &nobody);
	}
	return status;
}

static int add_to_schedule(struct cpu_schedule *cpu, const struct signs *signs)
{
	if (!signs->count)
		return 0;
	if (spill_array_reserve(&cpu->spill, &cpu->sched, &cpu->sched_capacity, cpu->nscheds, signs->count,
	                        sizeof(*cpu->sched)) < 0)
		return -sbe_nomem;
	memcpy(cpu->sched + cpu->nscheds, signs->of, signs->count * sizeof(*signs->of));
	cpu->nscheds += signs->count;
	return array_sort(cpu->sched, cpu->nscheds, sizeof(*cpu->sched));
}

/* First who was seen, then who was not there: what is concluded then depends on what was seen. */
static int complete(struct cpu_schedule *cpu, uint32_t number, const struct proofs *proofs)
{
	struct losses losses = losses_of(cpu);
	struct signs signs = {0};
	int status = add_seen(&signs, cpu);

	losses.nlost += signs.count;
	if (status == 0 && (signs.count || judge(&losses) != switch_losses_none))
		status = add_ends(&signs, cpu);
	if (status == 0)
		status = add_to_schedule(cpu, &signs);
	signs.count = 0;
	if (status == 0)
		status = add_absences(&signs, cpu, number, proofs);
	losses.nlost += signs.count;
	if (status == 0)
		status = add_to_schedule(cpu, &signs);
	cpu->losses = judge(&losses);
	free(signs.of);
	return status;
}

int lost_switch_find(struct schedule *schedule)
{
	struct proofs proofs = {0};
	int status = 0, is_any = 0;

	for (size_t i = 0; i < schedule->ncpus; ++i) {
		struct cpu_schedule *cpu = &schedule->cpu[i];
		const struct losses losses = losses_of(cpu);

		cpu->losses = judge(&losses);
		is_any |= cpu->nscheds && cpu->losses != switch_losses_none && !cpu->foreign_tids;
	}
	for (size_t i = 0; i < schedule->ncpus && status == 0 && is_any; ++i)
		status = add_proofs_of(&proofs, &schedule->cpu[i], (uint32_t)i);
	if (proofs.count)
		qsort(proofs.of, proofs.count, sizeof(*proofs.of), by_thread_and_time);
	for (size_t i = 0; i < schedule->ncpus && status == 0 && is_any; ++i)
		if (!schedule->cpu[i].foreign_tids)
			status = complete(&schedule->cpu[i], (uint32_t)i, &proofs);
	free(proofs.of);
	return status;
}
