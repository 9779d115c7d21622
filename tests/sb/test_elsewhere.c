/* Whether a thread that is back on a CPU was on another one meanwhile, by the schedules of these. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "replay/elsewhere.h"

enum { nentries = 1 << 12 };

static struct sb_sched sched[nentries];

/* Two other CPUs, one of which has so many entries. */
static void begin(struct elsewhere *elsewhere, size_t count, uint64_t work)
{
	*elsewhere = (struct elsewhere){
	        .cpu = calloc(2, sizeof(struct elsewhere_cpu)), .ncpus = 2, .is_open = 1, .work = work};
	assert_non_null(elsewhere->cpu);
	elsewhere->cpu[1].sched = sched;
	elsewhere->cpu[1].nscheds = count;
}

static void who_was_there_meanwhile_is_known(void **state)
{
	struct elsewhere elsewhere;

	(void)state;
	sched[0] = (struct sb_sched){.time = 10, .tid = 7, .prev_tid = 8};
	sched[1] = (struct sb_sched){.time = 20, .tid = 9, .prev_tid = 7};
	sched[2] = (struct sb_sched){.time = 30, .tid = 0, .prev_tid = 9};
	sched[3] = (struct sb_sched){.time = 40, .tid = 7, .prev_tid = 0};
	begin(&elsewhere, 4, 1000);
	/* What was before it was asked first is not known. */
	assert_true(elsewhere_since(&elsewhere, 5, 14, 15));
	assert_false(elsewhere_since(&elsewhere, 5, 15, 16));
	assert_false(elsewhere_since(&elsewhere, 7, 16, 18));
	/* One that came there, one that went from there. */
	assert_true(elsewhere_since(&elsewhere, 9, 18, 25));
	assert_true(elsewhere_since(&elsewhere, 7, 18, 25));
	/* It is back since. */
	assert_false(elsewhere_since(&elsewhere, 7, 21, 29));
	assert_true(elsewhere_since(&elsewhere, 9, 21, 30));
	assert_false(elsewhere_since(&elsewhere, 7, 29, 39));
	assert_true(elsewhere_since(&elsewhere, 7, 39, 40));
	assert_false(elsewhere_since(&elsewhere, 5, 20, 1000));
	elsewhere_fini(&elsewhere);
}

static void where_far_more_happens_nobody_looks(void **state)
{
	struct elsewhere elsewhere;

	(void)state;
	for (size_t i = 0; i < nentries; i++)
		sched[i] = (struct sb_sched){.time = 10 + i, .tid = 7, .prev_tid = 8};
	begin(&elsewhere, nentries, 0);
	assert_true(elsewhere_since(&elsewhere, 5, 1, 2));
	assert_false(elsewhere_since(&elsewhere, 5, 2, 20));
	assert_true(elsewhere_since(&elsewhere, 5, 20, 3000));
	/* Nor later. */
	assert_true(elsewhere_since(&elsewhere, 5, 3000, 3001));
	elsewhere_fini(&elsewhere);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(who_was_there_meanwhile_is_known),
	        cmocka_unit_test(where_far_more_happens_nobody_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
