/* test_cr3_before.c - which page tables were in force at a place of the trace: the answer does not depend on
 * where it was asked before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "replay/user_stretch.h"
#include "support/trace.h"

enum { A = 0x5000, B = 0x7000, CODE = 0x401000, PLACES_MAX = 64 };

/* PSBs, changes of the page tables, and whatever makes them unknown. */
static struct trace recorded(void)
{
	struct trace trace = {.size = 0};

	trace_psb(&trace);
	trace_pip(&trace, A);
	trace_psbend(&trace);
	trace_tnt(&trace, "tn");
	trace_pip(&trace, B);
	trace_ip(&trace, ppt_tip, CODE);
	trace_psb(&trace); /* which does not tell them: nobody knows */
	trace_psbend(&trace);
	trace_tnt(&trace, "t");
	trace_pip(&trace, A);
	trace_ovf(&trace);
	trace_ip(&trace, ppt_fup, CODE);
	trace_pip(&trace, B);
	trace_ip_suppressed(&trace, ppt_tip_pgd);
	trace_tnt(&trace, "t");
	return trace;
}

/* Where each packet begins, behind the first. Returns how many. */
static size_t find_places(const struct trace *trace, uint64_t place[PLACES_MAX])
{
	struct pt_config config = trace_config(trace);
	struct pt_packet_decoder *decoder = pt_pkt_alloc_decoder(&config);
	struct pt_packet packet;
	size_t count = 0;

	assert_true(pt_pkt_sync_set(decoder, 0) >= 0);
	while (count < PLACES_MAX && pt_pkt_next(decoder, &packet, sizeof(packet)) > 0)
		assert_true(pt_pkt_get_offset(decoder, &place[count++]) >= 0);
	pt_pkt_free_decoder(decoder);
	return count;
}

static uint64_t asked_anew(struct pt_packet_decoder *decoder, uint64_t offset)
{
	struct cr3_place last = {.offset = UINT64_MAX};

	return cr3_before(decoder, offset, &last);
}

static void what_packets_say(void **state)
{
	static const uint64_t expected[] = {0, A, A, A, B, B, 0, 0, 0, A, 0, 0, B, 0, 0};
	const struct trace trace = recorded();
	const struct pt_config config = trace_config(&trace);
	struct pt_packet_decoder *decoder = pt_pkt_alloc_decoder(&config);
	uint64_t place[PLACES_MAX];
	const size_t count = find_places(&trace, place);

	(void)state;
	assert_int_equal(count, sizeof(expected) / sizeof(expected[0]));
	for (size_t i = 0; i + 1 < count; ++i)
		assert_int_equal(asked_anew(decoder, place[i]), expected[i]);
	pt_pkt_free_decoder(decoder);
}

/* Forward and back, by steps of any length. */
static void wherever_it_was_asked_before(void **state)
{
	const struct trace trace = recorded();
	const struct pt_config config = trace_config(&trace);
	struct pt_packet_decoder *decoder = pt_pkt_alloc_decoder(&config);
	uint64_t place[PLACES_MAX];
	const size_t count = find_places(&trace, place) - 1;

	(void)state;
	for (size_t first = 0; first < count; ++first) {
		for (size_t second = 0; second < count; ++second) {
			struct cr3_place last = {.offset = UINT64_MAX};

			cr3_before(decoder, place[first], &last);
			assert_int_equal(cr3_before(decoder, place[second], &last),
			                 asked_anew(decoder, place[second]));
			assert_int_equal(cr3_before(decoder, place[count - 1], &last),
			                 asked_anew(decoder, place[count - 1]));
		}
	}
	pt_pkt_free_decoder(decoder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(what_packets_say),
	        cmocka_unit_test(wherever_it_was_asked_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
