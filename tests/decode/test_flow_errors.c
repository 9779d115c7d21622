/* Where flow goes on behind an error: at the next PSB, or the one before, whatever its header says, and never
 * in circles. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include <intel-pt-run.h>

#include "support/flow_text.h"

/* After an error, sync_forward goes to the next PSB, be it one that was read ahead but not reached. */
static void resynchronising_after_an_error(void **state)
{
	static const char code[] = "\x90\x74\xfd\x90\x0f\x05";
	struct trace trace = {0};
	struct program file;
	struct pt_config config;
	struct pt_image *image;
	struct pt_block_decoder *decoder;
	struct pt_event event;
	struct pt_block block;
	uint64_t sync = 0;
	int status;

	(void)state;
	trace_start(&trace, 100);
	trace_ip(&trace, ppt_tip_pge, 0x1000);
	trace_psb(&trace);
	trace_mode64(&trace);
	trace_ip(&trace, ppt_fup, 0x1003); /* not reachable without a TNT bit */
	trace_psbend(&trace);
	trace_ip_suppressed(&trace, ppt_tip_pgd);
	program_write(&file, code, sizeof(code) - 1);
	image = program_image(&file, 0x1000);
	config = trace_config(&trace);
	decoder = pt_blk_alloc_decoder(&config);
	pt_blk_set_image(decoder, image);
	status = pt_blk_sync_forward(decoder);
	do {
		if (status & pts_event_pending)
			status = pt_blk_event(decoder, &event, sizeof(event));
		else
			status = pt_blk_next(decoder, &block, sizeof(block));
	} while (status >= 0);
	assert_int_equal(status, -pte_bad_query);
	assert_int_equal(pt_blk_next(decoder, &block, sizeof(block)), -pte_bad_query);

	status = pt_blk_sync_forward(decoder);
	assert_true(status >= 0);
	assert_int_equal(pt_blk_get_sync_offset(decoder, &sync), 0);
	assert_true(sync > 0);
	while (status & pts_event_pending)
		status = pt_blk_event(decoder, &event, sizeof(event));
	assert_int_equal(pt_blk_next(decoder, &block, sizeof(block)), pts_event_pending);
	assert_int_equal(block.ip, 0x1003);
	assert_int_equal(block.ninsn, 2);
	assert_int_equal(block.disabled, 1);
	assert_int_equal(pt_blk_sync_forward(decoder), -pte_eos);

	/* Backward from the end: the last PSB, then the first, then none. */
	assert_true(pt_blk_sync_backward(decoder) >= 0);
	assert_int_equal(pt_blk_get_sync_offset(decoder, &sync), 0);
	assert_true(sync > 0);
	assert_true(pt_blk_sync_backward(decoder) >= 0);
	assert_int_equal(pt_blk_get_sync_offset(decoder, &sync), 0);
	assert_int_equal(sync, 0);
	assert_int_equal(pt_blk_sync_backward(decoder), -pte_eos);
	assert_int_equal(pt_blk_sync_set(decoder, 3), -pte_nosync);
	pt_blk_free_decoder(decoder);
	pt_image_free(image);
	program_remove(&file);
}

/* Found by fuzzing: the search went back to the broken header for ever. */
static void a_broken_psb_header_is_passed_over(void **state)
{
	struct trace trace = {0};
	struct pt_config config;
	struct pt_block_decoder *decoder;
	uint64_t sync = 0;

	(void)state;
	trace_psb(&trace);
	trace.bytes[trace.size++] = 0x05; /* no packet */
	trace_psb(&trace);
	trace_psbend(&trace);
	config = trace_config(&trace);
	decoder = pt_blk_alloc_decoder(&config);
	assert_int_equal(pt_blk_sync_forward(decoder), -pte_bad_opc);
	assert_int_equal(pt_blk_sync_forward(decoder), pts_ip_suppressed | pts_eos);
	assert_int_equal(pt_blk_get_sync_offset(decoder, &sync), 0);
	assert_int_equal(sync, 17);
	assert_int_equal(pt_blk_sync_forward(decoder), -pte_eos);
	pt_blk_free_decoder(decoder);
}

/* Backward from a PSB whose header is broken goes to the one before it, not in circles. */
static void a_broken_psb_header_is_passed_over_backward(void **state)
{
	struct trace trace = {0};
	struct pt_config config;
	struct pt_block_decoder *decoder;
	uint64_t sync = 1;

	(void)state;
	trace_psb(&trace);
	trace_psbend(&trace);
	trace_psb(&trace);
	trace.bytes[trace.size++] = 0x05; /* no packet */
	config = trace_config(&trace);
	decoder = pt_blk_alloc_decoder(&config);
	assert_int_equal(pt_blk_sync_backward(decoder), -pte_bad_opc);
	assert_int_equal(pt_blk_sync_backward(decoder), pts_ip_suppressed);
	assert_int_equal(pt_blk_get_sync_offset(decoder, &sync), 0);
	assert_int_equal(sync, 0);
	assert_int_equal(pt_blk_sync_backward(decoder), -pte_eos);
	pt_blk_free_decoder(decoder);
}

/* A PSB+ that says nothing is passed like any other: after an error, decoding goes on behind it. */
static void an_empty_psb_header_is_not_decoded_twice(void **state)
{
	struct trace trace = {0};
	struct program program;
	struct pt_config config;
	struct pt_image *image;
	struct pt_block_decoder *decoder;
	struct pt_event event;
	struct pt_block block;
	int status, nblocks = 0;

	(void)state;
	trace_start(&trace, 100);
	trace_psb(&trace);
	trace_psbend(&trace);
	trace_mode64(&trace);
	trace_ip(&trace, ppt_tip_pge, 0x1000);
	trace_tnt(&trace, "t");
	trace.bytes[trace.size++] = 0x05; /* no packet */
	program_write(&program, "\x90\x74\xfd", 3);
	image = program_image(&program, 0x1000);
	config = trace_config(&trace);
	decoder = pt_blk_alloc_decoder(&config);
	pt_blk_set_image(decoder, image);
	while ((status = pt_blk_sync_forward(decoder)) >= 0) {
		while (status >= 0) {
			if (status & pts_event_pending) {
				status = pt_blk_event(decoder, &event, sizeof(event));
				continue;
			}
			status = pt_blk_next(decoder, &block, sizeof(block));
			nblocks += block.ninsn != 0;
		}
		assert_int_equal(status, -pte_bad_opc);
	}
	assert_int_equal(status, -pte_eos);
	assert_int_equal(nblocks, 1);
	pt_blk_free_decoder(decoder);
	pt_image_free(image);
	program_remove(&program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(resynchronising_after_an_error),
	        cmocka_unit_test(a_broken_psb_header_is_passed_over),
	        cmocka_unit_test(a_broken_psb_header_is_passed_over_backward),
	        cmocka_unit_test(an_empty_psb_header_is_not_decoded_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
