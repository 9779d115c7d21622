/* test_run.c - pt_blk_run(): what comes with the blocks; and where PSBs are.
 *
 * The code is at 0x1000: nop; je 1000; nop; jmp 1006; 1006: syscall.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include <intel-pt-run.h>

#include "support/run_blocks.h"
#include "support/trace.h"

static const char code[] = "\x90\x74\xfd\x90\xeb\x00\x0f\x05";

struct fixture {
	struct trace trace;
	struct program program;
	struct pt_image *image;
	struct pt_block_decoder *decoder;
};

static int setup(void **state)
{
	static struct fixture fixture;

	memset(&fixture, 0, sizeof(fixture));
	program_write(&fixture.program, code, sizeof(code) - 1);
	fixture.image = program_image(&fixture.program, 0x1000);
	trace_start(&fixture.trace, 100);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	pt_blk_free_decoder(fixture->decoder);
	pt_image_free(fixture->image);
	program_remove(&fixture->program);
	return 0;
}

/* Synchronised, and past the first events. */
static int start(struct fixture *fixture)
{
	struct pt_config config = trace_config(&fixture->trace);
	struct pt_event event;
	int status;

	fixture->decoder = pt_blk_alloc_decoder(&config);
	assert_non_null(fixture->decoder);
	pt_blk_set_image(fixture->decoder, fixture->image);
	status = pt_blk_sync_forward(fixture->decoder);
	while (status >= 0 && (status & pts_event_pending))
		status = pt_blk_event(fixture->decoder, &event, sizeof(event));
	return status;
}

static void all_blocks_up_to_the_next_event(void **state)
{
	struct fixture *fixture = *state;
	struct pt_run run;

	trace_ip(&fixture->trace, ppt_tip_pge, 0x1000);
	trace_tnt(&fixture->trace, "ttn");
	trace_ip_suppressed(&fixture->trace, ppt_tip_pgd);
	assert_int_equal(start(fixture), 0);
	assert_int_equal(pt_blk_run(fixture->decoder, &run, sizeof(run)), pts_event_pending);
	assert_int_equal(run.nblocks, 5);
	assert_int_equal(run.ninsn, 9);
	assert_int_equal(run.has_tsc, 1);
	assert_int_equal(run.tsc, 100);
	assert_int_equal(run_block(&run, 2)->ip, 0x1000);
	assert_int_equal(run_block(&run, 2)->end_ip, 0x1001);
	assert_int_equal(run_block(&run, 3)->ip, 0x1003);
	assert_int_equal(run_block(&run, 3)->ninsn, 2);
	assert_int_equal(run_block(&run, 3)->length[1], 2);
	assert_int_equal(run_block(&run, 3)->iclass, ptic_jump);
	assert_int_equal(run_block(&run, 4)->iclass, ptic_far_call);
	assert_int_equal(run_block(&run, 4)->mode, ptem_64bit);
}

static void behind_the_last_packet_nothing_is_proven(void **state)
{
	struct fixture *fixture = *state;
	struct pt_run run;

	trace_ip(&fixture->trace, ppt_tip_pge, 0x1000);
	trace_tnt(&fixture->trace, "n");
	assert_int_equal(start(fixture), 0);
	assert_int_equal(pt_blk_run(fixture->decoder, &run, sizeof(run)), -pte_eos);
	assert_int_equal(run.nblocks, 3);
	assert_int_equal(run_block(&run, 0)->flags & ptrf_unproven, 0);
	assert_true(run_block(&run, 1)->flags & ptrf_unproven);
	assert_true(run_block(&run, 2)->flags & ptrf_unproven);
}

static void an_error_comes_with_the_blocks_before_it(void **state)
{
	struct fixture *fixture = *state;
	struct pt_run run;

	trace_ip(&fixture->trace, ppt_tip_pge, 0x1000);
	trace_tnt(&fixture->trace, "tn");
	trace_ptw(&fixture->trace, 1); /* there is no PTWRITE */
	trace_ip(&fixture->trace, ppt_fup, 0x1003);
	assert_int_equal(start(fixture), 0);
	assert_int_equal(pt_blk_run(fixture->decoder, &run, sizeof(run)), -pte_bad_query);
	assert_int_equal(run.nblocks, 4);
	assert_int_equal(pt_blk_run(fixture->decoder, &run, sizeof(run)), -pte_bad_query);
	assert_int_equal(run.nblocks, 0);
}

static void psbs_are_told_as_they_are_read(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t begin = fixture->trace.size;
	uint64_t passed = 1, read = 1, sync = 1;
	struct pt_event event;
	struct pt_run run;
	int status;

	trace_ip(&fixture->trace, ppt_tip_pge, 0x1000);
	trace_tnt(&fixture->trace, "n");
	trace_ip_suppressed(&fixture->trace, ppt_tip_pgd);
	trace_start(&fixture->trace, 200);
	status = start(fixture);
	assert_int_equal(status, 0);
	assert_int_equal(pt_blk_get_psb_offset(fixture->decoder, &passed, &read), 0);
	assert_int_equal(passed, 0);
	assert_int_equal(read, 0);
	assert_int_equal(pt_blk_run(fixture->decoder, &run, sizeof(run)), pts_event_pending);
	assert_int_equal(pt_blk_event(fixture->decoder, &event, sizeof(event)),
	                 pts_event_pending | pts_ip_suppressed);
	assert_int_equal(pt_blk_get_psb_offset(fixture->decoder, &passed, &read), 0);
	assert_int_equal(passed, 0);
	assert_true(read > begin);
	assert_int_equal(pt_blk_event(fixture->decoder, &event, sizeof(event)), pts_ip_suppressed | pts_eos);
	assert_int_equal(pt_blk_get_psb_offset(fixture->decoder, &passed, &read), 0);
	assert_int_equal(passed, read);
	assert_int_equal(pt_blk_get_sync_offset(fixture->decoder, &sync), 0);
	assert_int_equal(sync, 0);
}

/* Jumps from one to the next, and from the last one to the first, while TNT bits wait: refused as soon as a
 * way without trace is too long, not after each of its blocks was given a thousand times. */
static void circles_end_while_trace_waits(void **state)
{
	enum { jumps = 70001, most = (1 << 20) + 1024, back = -(2 * (jumps - 1) + 5) };
	static uint8_t circle[2 * jumps + 3];
	struct fixture *fixture = *state;
	uint64_t nblocks = 0;
	struct pt_run run;
	int status;

	for (size_t i = 0; i < jumps; ++i)
		circle[2 * i] = 0xeb;
	circle[2 * (jumps - 1)] = 0xe9;
	memcpy(circle + 2 * (jumps - 1) + 1, &(int32_t){back}, sizeof(int32_t));
	program_remove(&fixture->program);
	pt_image_free(fixture->image);
	program_write(&fixture->program, circle, sizeof(circle));
	fixture->image = program_image(&fixture->program, 0x1000);
	trace_ip(&fixture->trace, ppt_tip_pge, 0x1000);
	trace_tnt(&fixture->trace, "ttn");
	assert_int_equal(start(fixture), 0);
	do {
		status = pt_blk_run(fixture->decoder, &run, sizeof(run));
		nblocks += run.nblocks;
	} while (status >= 0);
	assert_int_equal(status, -pte_bad_query);
	assert_true(nblocks >= jumps);
	assert_true(nblocks <= most);
}

/* Runs and events up to the end of the trace. */
static void assert_time_goes_on(struct pt_block_decoder *decoder, int status, uint64_t end)
{
	uint64_t last = 0;

	while (status >= 0 && !(status & pts_eos)) {
		struct pt_event event;
		struct pt_run run;

		if (status & pts_event_pending) {
			status = pt_blk_event(decoder, &event, sizeof(event));
			assert_true(event.tsc >= last);
			last = event.tsc;
		} else {
			status = pt_blk_run(decoder, &run, sizeof(run));
			assert_true(run.tsc >= last);
			last = run.tsc;
			for (uint32_t i = 0; i < run.nevents; i++) {
				assert_true(run.event[i].event.tsc >= last);
				last = run.event[i].event.tsc;
			}
			for (uint32_t i = 0; i < run.ntimes; i++) {
				assert_true(run.time[i].tsc >= run.tsc);
				last = run.time[i].tsc > last ? run.time[i].tsc : last;
			}
		}
	}
	assert_int_equal(last, end);
}

/* Also where a run is full (of blocks or of paths), and the next one has only an event, behind which a later
 * TSC was read. */
static void time_does_not_run_ahead_of_events(void **state)
{
	enum { most = 1100 };
	struct fixture *fixture = *state;
	int status;

	for (int nblocks = 1; nblocks < most; nblocks++) {
		fixture->trace.size = 0;
		trace_start(&fixture->trace, 100);
		trace_ip(&fixture->trace, ppt_tip_pge, 0x1000);
		for (int i = 0; i < nblocks; i++)
			trace_tnt(&fixture->trace, "t");
		trace_ovf(&fixture->trace);
		trace_tsc(&fixture->trace, 200);
		trace_ip(&fixture->trace, ppt_fup, 0x1000);
		trace_tnt(&fixture->trace, "t");
		status = start(fixture);
		assert_time_goes_on(fixture->decoder, status, 200);
		pt_blk_free_decoder(fixture->decoder);
		fixture->decoder = NULL;
	}
}

/* As many as a run can hold, and more; behind a block, so that start() leaves them to runs. */
static void nor_of_events_inside(void **state)
{
	enum { most = 150 };
	struct fixture *fixture = *state;
	int status;

	trace_ip(&fixture->trace, ppt_tip_pge, 0x1000);
	trace_tnt(&fixture->trace, "t");
	for (uint64_t i = 1; i <= most; i++) {
		trace_ovf(&fixture->trace);
		trace_tsc(&fixture->trace, 100 + 10 * i);
		trace_ip(&fixture->trace, ppt_fup, 0x1000);
	}
	trace_tnt(&fixture->trace, "t");
	status = start(fixture);
	assert_int_equal(pt_blk_set_run_events(fixture->decoder, 1), 0);
	assert_time_goes_on(fixture->decoder, status, 100 + 10 * most);
}

static void bad_arguments(void **state)
{
	struct fixture *fixture = *state;
	struct pt_config config = trace_config(&fixture->trace);
	struct pt_run run;
	uint64_t offset;

	fixture->decoder = pt_blk_alloc_decoder(&config);
	assert_int_equal(pt_blk_run(NULL, &run, sizeof(run)), -pte_invalid);
	assert_int_equal(pt_blk_run(fixture->decoder, NULL, sizeof(run)), -pte_invalid);
	assert_int_equal(pt_blk_run(fixture->decoder, &run, sizeof(run)), -pte_nosync);
	assert_int_equal(pt_blk_get_psb_offset(NULL, &offset, &offset), -pte_invalid);
	assert_int_equal(pt_blk_get_psb_offset(fixture->decoder, NULL, &offset), -pte_invalid);
	assert_int_equal(pt_blk_get_psb_offset(fixture->decoder, &offset, NULL), -pte_invalid);
	assert_int_equal(pt_blk_get_psb_offset(fixture->decoder, &offset, &offset), -pte_nosync);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(all_blocks_up_to_the_next_event, setup, teardown),
	        cmocka_unit_test_setup_teardown(behind_the_last_packet_nothing_is_proven, setup, teardown),
	        cmocka_unit_test_setup_teardown(an_error_comes_with_the_blocks_before_it, setup, teardown),
	        cmocka_unit_test_setup_teardown(psbs_are_told_as_they_are_read, setup, teardown),
	        cmocka_unit_test_setup_teardown(circles_end_while_trace_waits, setup, teardown),
	        cmocka_unit_test_setup_teardown(time_does_not_run_ahead_of_events, setup, teardown),
	        cmocka_unit_test_setup_teardown(nor_of_events_inside, setup, teardown),
	        cmocka_unit_test_setup_teardown(bad_arguments, setup, teardown),
	};

	return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
