/* elsewhere.c - see elsewhere.h. */
#include "replay/elsewhere.h"

#include <stdlib.h>

#include "system/arena.h"

enum {
	entries_per_question = 1 << 7, /* that are looked at, on the average */
	entries_first = 1 << 12        /* more, once */
};

void elsewhere_fini(struct elsewhere *elsewhere)
{
	free(elsewhere->cpu);
	elsewhere->cpu = NULL;
}

/* Whether @index is the first stream of its CPU, and that is not @cpu. */
static int is_another(const struct sb_aux_stream *stream, size_t index, int32_t cpu)
{
	for (size_t i = 0; i < index; ++i)
		if (stream[i].cpu == stream[index].cpu)
			return 0;
	return stream[index].cpu != cpu;
}

/* Without a clock schedules say nothing, and where records were lost, they do not say all. */
static int is_known(const struct replay_world *world, int32_t cpu)
{
	size_t nlost;

	sb_system_lost(world->system, &nlost);
	return cpu >= 0 && !nlost && sb_perfdata_info(world->perfdata)->clock.time_mult;
}

int elsewhere_open(struct elsewhere *elsewhere, const struct replay_world *world, int32_t cpu)
{
	size_t count;
	const struct sb_aux_stream *stream = sb_perfdata_streams(world->perfdata, &count);

	elsewhere->is_open = 1;
	elsewhere->is_unknown = !is_known(world, cpu);
	if (elsewhere->is_unknown)
		return 0;
	elsewhere->cpu = calloc(count, sizeof(*elsewhere->cpu));
	if (!elsewhere->cpu)
		return -sbe_nomem;
	elsewhere->work = entries_first;
	for (size_t i = 0; i < count; ++i)
		if (is_another(stream, i, cpu)) {
			struct elsewhere_cpu *other = &elsewhere->cpu[elsewhere->ncpus++];

			other->sched = system_schedule_in_use(world->system, stream[i].cpu, &other->nscheds,
			                                      &other->use);
		}
	return 0;
}

static uint64_t *seen_of(struct elsewhere *elsewhere, int32_t tid)
{
	return &elsewhere->seen[(uint32_t)tid * 0x9e3779b1u >> 22];
}

static void see(struct elsewhere *elsewhere, int32_t tid, uint64_t time)
{
	uint64_t *seen = seen_of(elsewhere, tid);

	if (*seen < time)
		*seen = time;
}

/* Up to .now. How many entries. */
static size_t pass(struct elsewhere *elsewhere, struct elsewhere_cpu *other)
{
	const size_t before = other->npassed;
	size_t i = before;

	for (; i < other->nscheds && other->sched[i].time <= elsewhere->now; ++i) {
		see(elsewhere, other->sched[i].tid, other->sched[i].time);
		see(elsewhere, other->sched[i].prev_tid, other->sched[i].time);
	}
	other->npassed = i;
	if (i != before)
		schedule_use_note(&other->use, before ? before - 1 : 0, i + 1);
	return i - before;
}

/* What came before the first question is no matter. */
static void begin(struct elsewhere *elsewhere, struct elsewhere_cpu *other)
{
	other->npassed = array_above(other->sched, other->nscheds, sizeof(*other->sched), elsewhere->now);
	schedule_use_around(&other->use, other->npassed);
}

static void go(struct elsewhere *elsewhere, uint64_t now)
{
	const int is_first = !elsewhere->from;
	uint64_t count = 0;

	elsewhere->now = now;
	if (is_first)
		elsewhere->from = now;
	for (size_t i = 0; i < elsewhere->ncpus; ++i) {
		if (is_first)
			begin(elsewhere, &elsewhere->cpu[i]);
		else
			count += pass(elsewhere, &elsewhere->cpu[i]);
	}
	elsewhere->work += entries_per_question;
	/* Far more happens there than here: to know it is not worth that. */
	elsewhere->is_unknown = count + elsewhere->ncpus > elsewhere->work;
	elsewhere->work -= elsewhere->is_unknown ? 0 : count + elsewhere->ncpus;
}

int elsewhere_since(struct elsewhere *elsewhere, int32_t tid, uint64_t since, uint64_t now)
{
	if (elsewhere->is_unknown)
		return 1;
	go(elsewhere, now);
	return elsewhere->is_unknown || since < elsewhere->from || *seen_of(elsewhere, tid) >= since;
}
