/* What a report tells of who ran when is the same, whether turns come one by one in the order of time, or
 * those of a thread as one as far as the report takes them so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sink/report_runs.h"

enum { cpus = 2, stretches = 3000, turns_most = 20 };

/* A thread's turns on one CPU, one after the other. */
struct stretch {
	struct sb_flow_turn turn[turns_most];
	size_t count;
};

static uint64_t random_below(uint64_t *seed, uint64_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (*seed >> 33) % below;
}

static void make(struct stretch *stretch, uint64_t *seed, int32_t cpu, uint64_t *tsc)
{
	static const struct sb_container container[2];
	static const struct sb_membership membership[] = {
	        {.container = NULL}, {.container = &container[0]}, {.container = &container[1]}};
	const struct sb_membership *where = random_below(seed, 4) ? &membership[random_below(seed, 3)] : NULL;
	const int32_t pid = (int32_t)random_below(seed, 5);

	stretch->count = 1 + random_below(seed, turns_most);
	for (size_t i = 0; i < stretch->count; i++) {
		const uint64_t ninsn = random_below(seed, 1000);

		*tsc += random_below(seed, 300);
		stretch->turn[i] = (struct sb_flow_turn){.tsc = *tsc,
		                                         .tsc_to = *tsc,
		                                         .ninsn = ninsn,
		                                         .ninsn_kernel = random_below(seed, ninsn + 1),
		                                         .membership = where,
		                                         .cpu = cpu,
		                                         .pid = pid,
		                                         .tid = pid,
		                                         .nblocks = (uint32_t)random_below(seed, 50)};
	}
	*tsc += random_below(seed, 3000);
}

static struct sb_flow_turn as_one(const struct sb_flow_turn *turn, size_t count)
{
	struct sb_flow_turn all = turn[0];

	for (size_t i = 1; i < count; i++) {
		all.tsc_to = turn[i].tsc_to;
		all.ninsn += turn[i].ninsn;
		all.ninsn_kernel += turn[i].ninsn_kernel;
		all.nblocks += turn[i].nblocks;
	}
	return all;
}

/* The first one of a CPU's, and what follows on it as one if it may be. How many came so. */
static size_t add_next(struct report_runs *runs, const struct stretch *stretch, size_t at, int together)
{
	const struct sb_flow_turn *turn = stretch->turn;
	const size_t others = stretch->count - 1;
	struct sb_flow_turn all;

	assert_int_equal(report_runs_add(runs, &turn[at], 1), 0);
	if (!together || at || !others)
		return 1;
	all = as_one(turn + 1, others);
	if (all.tsc_to >= report_runs_until(runs, turn->cpu))
		return 1;
	assert_int_equal(report_runs_add(runs, &all, 1), 0);
	return stretch->count;
}

/* How many came together with others. */
static size_t run(struct report_runs *runs, struct stretch stretch[cpus][stretches], int together)
{
	size_t next[cpus] = {0}, at[cpus] = {0}, joined = 0;

	for (;;) {
		int first = -1;
		size_t count;

		for (int cpu = 0; cpu < cpus; cpu++)
			if (next[cpu] < stretches &&
			    (first < 0 || stretch[cpu][next[cpu]].turn[at[cpu]].tsc <
			                          stretch[first][next[first]].turn[at[first]].tsc))
				first = cpu;
		if (first < 0)
			return joined;
		count = add_next(runs, &stretch[first][next[first]], at[first], together);
		joined += count - 1;
		at[first] += count;
		if (at[first] == stretch[first][next[first]].count) {
			next[first]++;
			at[first] = 0;
		}
	}
}

static void assert_same(const struct report_runs *a, const struct report_runs *b)
{
	assert_int_equal(a->first, b->first);
	assert_int_equal(a->last, b->last);
	assert_int_equal(a->nprocesses, b->nprocesses);
	for (uint32_t i = 0; i < a->nprocesses; i++) {
		const struct report_process *one = &a->process[i], *other = &b->process[i];

		assert_int_equal(one->pid, other->pid);
		assert_int_equal(one->user, other->user);
		assert_int_equal(one->kernel, other->kernel);
		assert_int_equal(one->nblocks, other->nblocks);
		assert_int_equal(one->first, other->first);
		assert_int_equal(one->last, other->last);
		assert_ptr_equal(one->container, other->container);
	}
	assert_int_equal(a->time.shift, b->time.shift);
	assert_int_equal(a->time.ncpus, b->time.ncpus);
	for (size_t i = 0; i < a->time.ncpus; i++) {
		assert_int_equal(a->time.cpu[i].count, b->time.cpu[i].count);
		assert_memory_equal(a->time.cpu[i].entry, b->time.cpu[i].entry,
		                    a->time.cpu[i].count * sizeof(*a->time.cpu[i].entry));
	}
}

static void turns_may_come_as_one(void **state)
{
	static struct stretch stretch[cpus][stretches];
	static const struct sb_clock no_clock;
	const struct sink_context context = {.clock = &no_clock};

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct report_runs one_by_one, together;
		uint64_t random = seed;

		for (int32_t cpu = 0; cpu < cpus; cpu++) {
			uint64_t tsc = 1000 + (uint64_t)cpu;

			for (size_t i = 0; i < stretches; i++)
				make(&stretch[cpu][i], &random, cpu, &tsc);
		}
		report_runs_init(&one_by_one, &context);
		report_runs_init(&together, &context);
		/* From narrow bins, which become wider, to wide ones. */
		one_by_one.time.shift = together.time.shift = 6 + (uint32_t)seed % 10;
		assert_int_equal(run(&one_by_one, stretch, 0), 0);
		assert_true(run(&together, stretch, 1) > 0);
		assert_int_equal(report_runs_finish(&one_by_one), 0);
		assert_int_equal(report_runs_finish(&together), 0);
		assert_same(&one_by_one, &together);
		report_runs_free(&one_by_one);
		report_runs_free(&together);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(turns_may_come_as_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
