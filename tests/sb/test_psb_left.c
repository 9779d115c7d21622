/* test_psb_left.c - an interrupt that is told right behind a PSB broke off the flow in front of it, and
 * nothing else did.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "replay/psb_left.h"
#include "support/trace.h"

enum { HERE = 0x401000, ELSEWHERE = 0x401010, HANDLER = 0x402000 };

/* PSB+ of a CPU that executes the code at @ip. */
static struct trace begin(uint64_t ip)
{
	struct trace trace = {.size = 0};

	trace_tnt(&trace, "tn"); /* what comes before does not matter */
	trace_psb(&trace);
	trace_tsc(&trace, 1000);
	trace_mode64(&trace);
	trace_ip(&trace, ppt_fup, ip);
	trace_psbend(&trace);
	return trace;
}

/* What is found at the one PSB of the trace. */
static uint64_t found(const struct trace *trace)
{
	struct pt_config config = trace_config(trace);
	struct pt_packet_decoder *decoder = pt_pkt_alloc_decoder(&config);
	const uint64_t left = psb_left(decoder, 1);

	pt_pkt_free_decoder(decoder);
	return left;
}

static void what_is_broken_off_at_once(void **state)
{
	struct trace trace = begin(HERE);

	(void)state;
	trace_ip(&trace, ppt_fup, HERE);
	trace_ip_suppressed(&trace, ppt_tip_pgd);
	assert_int_equal(found(&trace), HERE);

	trace = begin(HERE);
	trace_mtc(&trace, 3);
	trace_ip(&trace, ppt_fup, HERE);
	trace_pip(&trace, 0x5000);
	trace_ip(&trace, ppt_tip, HANDLER);
	assert_int_equal(found(&trace), HERE);
}

/* Nothing is found when a FUP for @ip and a TIP.PGD follow. */
static void assert_goes_on(struct trace trace, uint64_t ip)
{
	trace_ip(&trace, ppt_fup, ip);
	trace_ip_suppressed(&trace, ppt_tip_pgd);
	assert_int_equal(found(&trace), 0);
}

static void what_goes_on_before(void **state)
{
	struct trace trace = begin(HERE);

	(void)state;
	assert_goes_on(trace, ELSEWHERE); /* without a branch */
	trace_tnt(&trace, "t");
	assert_goes_on(trace, HERE);
	trace = begin(HERE);
	trace_ip(&trace, ppt_tip, HERE);
	assert_goes_on(trace, HERE);
	trace = begin(HERE);
	trace_ovf(&trace);
	assert_goes_on(trace, HERE);
	/* The next PSB's own. */
	trace = begin(HERE);
	trace_psb(&trace);
	assert_goes_on(trace, HERE);
}

static void what_is_something_else(void **state)
{
	struct trace trace = begin(HERE);

	(void)state;
	/* Where a transaction began. */
	trace_tsx(&trace, 1, 0);
	assert_goes_on(trace, HERE);
	/* Where something was written to the trace. */
	trace = begin(HERE);
	trace_ptw(&trace, 1);
	assert_goes_on(trace, HERE);
	trace = begin(HERE);
	trace_ip(&trace, ppt_fup, HERE);
	trace_tnt(&trace, "t");
	assert_int_equal(found(&trace), 0);
	/* No more is there. */
	trace = begin(HERE);
	trace_ip(&trace, ppt_fup, HERE);
	assert_int_equal(found(&trace), 0);
}

static void where_tracing_is_off(void **state)
{
	struct trace trace = {.size = 0};

	(void)state;
	trace_tnt(&trace, "t");
	trace_start(&trace, 1000);
	trace_ip(&trace, ppt_tip_pge, HERE);
	assert_goes_on(trace, HERE);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	        cmocka_unit_test(what_is_broken_off_at_once),
	        cmocka_unit_test(what_goes_on_before),
	        cmocka_unit_test(what_is_something_else),
	        cmocka_unit_test(where_tracing_is_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
