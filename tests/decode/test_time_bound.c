/* pt_blk_time_bound(): until when it is at most what pt_blk_time() says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <intel-pt-run.h>

#include "support/trace.h"

static const uint8_t code[] = {0x90, 0x0f, 0x05};

/* MTCs come every 8 ticks of a crystal, of 100 ticks of the time stamp counter each. */
static struct pt_config config_of(const struct trace *trace)
{
	struct pt_config config = trace_config(trace);

	config.mtc_freq = 3;
	config.cpuid_0x15_eax = 1;
	config.cpuid_0x15_ebx = 100;
	return config;
}

/* PSB+ at 10000, which is 4 ticks of the crystal behind an MTC. */
static void start(struct trace *trace)
{
	trace_psb(trace);
	trace_tsc(trace, 10000);
	trace_tma(trace, 0x54, 0);
	trace_mode64(trace);
	trace_psbend(trace);
}

/* All events but the last, up to where tracing is turned on. */
static struct pt_block_decoder *enabled(const struct trace *trace, struct pt_image *image)
{
	const struct pt_config config = config_of(trace);
	struct pt_block_decoder *decoder = pt_blk_alloc_decoder(&config);
	struct pt_event event = {.type = ptev_tick};
	int status;

	assert_non_null(decoder);
	assert_int_equal(pt_blk_set_image(decoder, image), 0);
	status = pt_blk_sync_forward(decoder);
	while (status >= 0 && status & pts_event_pending && event.type != ptev_enabled)
		status = pt_blk_event(decoder, &event, sizeof(event));
	assert_int_equal(event.type, ptev_enabled);
	return decoder;
}

static void check(const struct trace *trace, uint64_t time, int status, uint64_t bound)
{
	struct program program;
	struct pt_image *image;
	struct pt_block_decoder *decoder;
	uint64_t tsc = 0;

	program_write(&program, code, sizeof(code));
	image = program_image(&program, 0x1000);
	decoder = enabled(trace, image);
	assert_int_equal(pt_blk_time(decoder, &tsc, NULL, NULL), 0);
	assert_int_equal(tsc, time);
	assert_int_equal(pt_blk_time_bound(decoder, &tsc), status);
	if (status == 0)
		assert_int_equal(tsc, bound);
	pt_blk_free_decoder(decoder);
	pt_image_free(image);
	program_remove(&program);
}

static void behind_a_tsc_it_is_the_first_mtc(void **state)
{
	struct trace trace = {0};

	(void)state;
	start(&trace);
	trace_ip(&trace, ppt_tip_pge, 0x1000);
	trace_ip_suppressed(&trace, ppt_tip_pgd);
	check(&trace, 10000, 0, 10400);
}

static void behind_an_mtc_it_is_the_next_one(void **state)
{
	struct trace trace = {0};

	(void)state;
	start(&trace);
	trace_mtc(&trace, 0xb);
	trace_mtc(&trace, 0xd);
	trace_ip(&trace, ppt_tip_pge, 0x1000);
	trace_ip_suppressed(&trace, ppt_tip_pgd);
	check(&trace, 12000, 0, 12800);
}

static void without_tma_it_is_not_known(void **state)
{
	struct trace trace = {0};

	(void)state;
	trace_start(&trace, 10000);
	trace_mtc(&trace, 0xb);
	trace_ip(&trace, ppt_tip_pge, 0x1000);
	trace_ip_suppressed(&trace, ppt_tip_pgd);
	check(&trace, 10000, -pte_no_time, 0);
}

static void wrong_arguments(void **state)
{
	struct trace trace = {0};
	struct pt_config config = trace_config(&trace);
	struct pt_block_decoder *decoder = pt_blk_alloc_decoder(&config);
	uint64_t tsc;

	(void)state;
	assert_non_null(decoder);
	assert_int_equal(pt_blk_time_bound(NULL, &tsc), -pte_invalid);
	assert_int_equal(pt_blk_time_bound(decoder, NULL), -pte_invalid);
	assert_int_equal(pt_blk_time_bound(decoder, &tsc), -pte_no_time);
	pt_blk_free_decoder(decoder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(behind_a_tsc_it_is_the_first_mtc),
	        cmocka_unit_test(behind_an_mtc_it_is_the_next_one),
	        cmocka_unit_test(without_tma_it_is_not_known),
	        cmocka_unit_test(wrong_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
