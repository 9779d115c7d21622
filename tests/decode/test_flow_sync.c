/* test_flow_sync.c - which PSB the block decoder goes to, and which one it says it went to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <intel-pt.h>

#include "support/trace.h"

/* A PSB+ that says no more than that tracing is off. */
static void one_segment(struct trace *trace)
{
	trace_psb(trace);
	trace_psbend(trace);
}

static uint64_t sync_offset(const struct pt_block_decoder *decoder)
{
	uint64_t offset = UINT64_MAX;

	assert_int_equal(pt_blk_get_sync_offset(decoder, &offset), 0);
	return offset;
}

static struct pt_block_decoder *make(const struct trace *trace)
{
	const struct pt_config config = trace_config(trace);
	struct pt_block_decoder *decoder = pt_blk_alloc_decoder(&config);

	assert_non_null(decoder);
	return decoder;
}

/* Synchronising reads ahead over a PSB+ that says nothing: the search went back to the same PSB for ever. */
static void backward_gets_to_the_beginning(void **state)
{
	struct trace trace = {0};
	struct pt_block_decoder *decoder;
	uint64_t second;

	(void)state;
	one_segment(&trace);
	second = trace.size;
	one_segment(&trace);
	decoder = make(&trace);
	assert_true(pt_blk_sync_backward(decoder) >= 0);
	assert_int_equal(sync_offset(decoder), second);
	assert_true(pt_blk_sync_backward(decoder) >= 0);
	assert_int_equal(sync_offset(decoder), 0);
	assert_int_equal(pt_blk_sync_backward(decoder), -pte_eos);
	pt_blk_free_decoder(decoder);
}

/* Backward counts from where decoding stands, not from where it began. */
static void backward_begins_where_decoding_stands(void **state)
{
	struct trace trace = {0};
	struct pt_block_decoder *decoder;
	struct pt_event event;
	struct pt_block block;
	int status;
	uint64_t second;

	(void)state;
	one_segment(&trace);
	trace_stop(&trace);
	second = trace.size;
	one_segment(&trace);
	trace_stop(&trace);
	decoder = make(&trace);
	assert_int_equal(pt_blk_sync_set(decoder, second), pts_event_pending | pts_ip_suppressed);
	status = pt_blk_event(decoder, &event, sizeof(event));
	assert_true(status >= 0 && !(status & pts_event_pending));
	assert_int_equal(event.type, ptev_stop);
	assert_int_equal(pt_blk_next(decoder, &block, sizeof(block)), -pte_eos);
	assert_int_equal(pt_blk_sync_forward(decoder), -pte_eos);
	assert_true(pt_blk_sync_backward(decoder) >= 0);
	assert_int_equal(sync_offset(decoder), second);
	assert_true(pt_blk_sync_backward(decoder) >= 0);
	assert_int_equal(sync_offset(decoder), 0);
	pt_blk_free_decoder(decoder);
}

/* The synchronisation point is where the decoder was synchronised, not the PSB that it passed last. */
static void passing_a_psb_does_not_move_the_synchronisation_point(void **state)
{
	struct trace trace = {0};
	struct pt_block_decoder *decoder;
	struct pt_event event;
	int status;

	(void)state;
	one_segment(&trace);
	trace_stop(&trace);
	one_segment(&trace);
	decoder = make(&trace);
	status = pt_blk_sync_forward(decoder);
	while (status >= 0 && status & pts_event_pending)
		status = pt_blk_event(decoder, &event, sizeof(event));
	assert_int_equal(status, pts_ip_suppressed | pts_eos);
	assert_int_equal(sync_offset(decoder), 0);
	pt_blk_free_decoder(decoder);
}

/* No further PSB: what was pending is not to be had any more. */
static void events_are_gone_with_the_synchronisation(void **state)
{
	struct trace trace = {0};
	struct pt_block_decoder *decoder;
	struct pt_event event;
	struct pt_block block;

	(void)state;
	one_segment(&trace);
	trace_stop(&trace);
	decoder = make(&trace);
	assert_int_equal(pt_blk_sync_forward(decoder), pts_event_pending | pts_ip_suppressed);
	assert_int_equal(pt_blk_sync_forward(decoder), -pte_eos);
	assert_int_equal(pt_blk_event(decoder, &event, sizeof(event)), -pte_nosync);
	assert_int_equal(pt_blk_next(decoder, &block, sizeof(block)), -pte_nosync);
	pt_blk_free_decoder(decoder);
}

/* Going on behind an interrupt that does not tell where it went looked at the event once more: a NULL
 * pointer. */
static void resync_behind_an_event_that_failed(void **state)
{
	struct trace trace = {0};
	struct pt_block_decoder *decoder;
	struct pt_event event;
	int status;

	(void)state;
	one_segment(&trace);
	trace_mode64(&trace);
	trace_ip(&trace, ppt_tip_pge, 0x1000);
	trace_ip(&trace, ppt_fup, 0x1000);
	trace_ip_suppressed(&trace, ppt_tip);
	decoder = make(&trace);
	status = pt_blk_sync_forward(decoder);
	while (status >= 0 && status & pts_event_pending)
		status = pt_blk_event(decoder, &event, sizeof(event));
	assert_int_equal(status, -pte_noip);
	assert_int_equal(pt_blk_resync(decoder), -pte_eos);
	pt_blk_free_decoder(decoder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(backward_gets_to_the_beginning),
	        cmocka_unit_test(backward_begins_where_decoding_stands),
	        cmocka_unit_test(passing_a_psb_does_not_move_the_synchronisation_point),
	        cmocka_unit_test(events_are_gone_with_the_synchronisation),
	        cmocka_unit_test(resync_behind_an_event_that_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
