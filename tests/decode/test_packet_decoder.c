/* test_packet_decoder.c - the public packet decoder: life cycle, synchronisation, offsets, next.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/trace.h"

enum { first_psb = 3, second_psb = 24, trace_end = 42 };

/* Three PADs, PSB, PSBEND, a TIP.PGD, then a second PSB with its PSBEND, at the offsets above. */
static void make_trace(struct trace *trace)
{
	trace->size = 0;
	memset(trace->bytes, 0, sizeof(trace->bytes));
	trace->size = first_psb;
	trace_psb(trace);
	trace_psbend(trace);
	trace_ip(trace, ppt_tip_pgd, 0);
	trace->size = second_psb; /* TIP.PGD is shortened to two bytes of address */
	trace->bytes[first_psb + 18] = 0x21;
	trace_psb(trace);
	trace_psbend(trace);
	assert_int_equal(trace->size, trace_end);
}

static struct pt_packet_decoder *decoder_for(struct trace *trace)
{
	struct pt_config config;
	struct pt_packet_decoder *decoder;

	make_trace(trace);
	config = trace_config(trace);
	decoder = pt_pkt_alloc_decoder(&config);
	assert_non_null(decoder);
	return decoder;
}

static uint64_t offset_of(const struct pt_packet_decoder *decoder)
{
	uint64_t offset = UINT64_MAX;

	assert_int_equal(pt_pkt_get_offset(decoder, &offset), 0);
	return offset;
}

static uint64_t sync_offset_of(const struct pt_packet_decoder *decoder)
{
	uint64_t offset = UINT64_MAX;

	assert_int_equal(pt_pkt_get_sync_offset(decoder, &offset), 0);
	return offset;
}

static void a_new_decoder_is_not_synchronised(void **state)
{
	struct trace trace;
	struct pt_packet_decoder *decoder = decoder_for(&trace);
	struct pt_packet packet;
	uint64_t offset;

	(void)state;
	assert_int_equal(pt_pkt_next(decoder, &packet, sizeof(packet)), -pte_nosync);
	assert_int_equal(pt_pkt_get_offset(decoder, &offset), -pte_nosync);
	assert_int_equal(pt_pkt_get_sync_offset(decoder, &offset), -pte_nosync);
	pt_pkt_free_decoder(decoder);
}

static void forward_goes_from_psb_to_psb(void **state)
{
	struct trace trace;
	struct pt_packet_decoder *decoder = decoder_for(&trace);

	(void)state;
	assert_int_equal(pt_pkt_sync_forward(decoder), 0);
	assert_int_equal(offset_of(decoder), first_psb);
	assert_int_equal(sync_offset_of(decoder), first_psb);
	assert_int_equal(pt_pkt_sync_forward(decoder), 0);
	assert_int_equal(offset_of(decoder), second_psb);
	assert_int_equal(pt_pkt_sync_forward(decoder), -pte_eos);
	assert_int_equal(offset_of(decoder), second_psb);
	pt_pkt_free_decoder(decoder);
}

static void backward_goes_from_psb_to_psb(void **state)
{
	struct trace trace;
	struct pt_packet_decoder *decoder = decoder_for(&trace);

	(void)state;
	assert_int_equal(pt_pkt_sync_backward(decoder), 0);
	assert_int_equal(offset_of(decoder), second_psb);
	assert_int_equal(pt_pkt_sync_backward(decoder), 0);
	assert_int_equal(offset_of(decoder), first_psb);
	assert_int_equal(pt_pkt_sync_backward(decoder), -pte_eos);
	assert_int_equal(sync_offset_of(decoder), first_psb);
	pt_pkt_free_decoder(decoder);
}

static void a_psb_reached_by_reading_is_found_by_forward(void **state)
{
	struct trace trace;
	struct pt_packet_decoder *decoder = decoder_for(&trace);
	struct pt_packet packet;

	(void)state;
	assert_int_equal(pt_pkt_sync_forward(decoder), 0);
	while (offset_of(decoder) < second_psb)
		assert_true(pt_pkt_next(decoder, &packet, sizeof(packet)) > 0);
	assert_int_equal(offset_of(decoder), second_psb);
	assert_int_equal(sync_offset_of(decoder), first_psb);
	assert_int_equal(pt_pkt_sync_forward(decoder), 0);
	assert_int_equal(sync_offset_of(decoder), second_psb);
	pt_pkt_free_decoder(decoder);
}

static void a_psb_behind_us_is_found_by_backward(void **state)
{
	struct trace trace;
	struct pt_packet_decoder *decoder = decoder_for(&trace);
	struct pt_packet packet;

	(void)state;
	assert_int_equal(pt_pkt_sync_forward(decoder), 0);
	assert_int_equal(pt_pkt_next(decoder, &packet, sizeof(packet)), 16);
	assert_int_equal(pt_pkt_sync_backward(decoder), 0);
	assert_int_equal(offset_of(decoder), first_psb);
	pt_pkt_free_decoder(decoder);
}

static void set_moves_anywhere_within_the_trace(void **state)
{
	struct trace trace;
	struct pt_packet_decoder *decoder = decoder_for(&trace);
	struct pt_packet packet;

	(void)state;
	assert_int_equal(pt_pkt_sync_set(decoder, 1), 0);
	assert_int_equal(offset_of(decoder), 1);
	assert_int_equal(sync_offset_of(decoder), 1);
	assert_int_equal(pt_pkt_next(decoder, &packet, sizeof(packet)), 1);
	assert_int_equal(packet.type, ppt_pad);
	assert_int_equal(pt_pkt_sync_set(decoder, 1), 0);
	assert_int_equal(pt_pkt_sync_forward(decoder), 0); /* no PSB at 1: none is skipped */
	assert_int_equal(offset_of(decoder), first_psb);

	assert_int_equal(pt_pkt_sync_set(decoder, trace_end), 0);
	assert_int_equal(pt_pkt_next(decoder, &packet, sizeof(packet)), -pte_eos);
	assert_int_equal(pt_pkt_sync_set(decoder, trace_end + 1), -pte_eos);
	assert_int_equal(pt_pkt_sync_set(decoder, UINT64_MAX), -pte_eos);
	assert_int_equal(offset_of(decoder), trace_end);
	pt_pkt_free_decoder(decoder);
}

static void next_gives_packet_after_packet(void **state)
{
	static const struct {
		enum pt_packet_type type;
		int size;
	} expected[] = {{ppt_psb, 16}, {ppt_psbend, 2}, {ppt_tip_pgd, 3}, {ppt_psb, 16}, {ppt_psbend, 2}};
	struct trace trace;
	struct pt_packet_decoder *decoder = decoder_for(&trace);
	struct pt_packet packet;

	(void)state;
	assert_int_equal(pt_pkt_sync_forward(decoder), 0);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		assert_int_equal(pt_pkt_next(decoder, &packet, sizeof(packet)), expected[i].size);
		assert_int_equal(packet.type, expected[i].type);
		assert_int_equal(packet.size, expected[i].size);
	}
	assert_int_equal(pt_pkt_next(decoder, &packet, sizeof(packet)), -pte_eos);
	pt_pkt_free_decoder(decoder);
}

static void an_error_leaves_the_decoder_where_it_is(void **state)
{
	struct trace trace;
	struct pt_packet_decoder *decoder = decoder_for(&trace);
	struct pt_packet packet = {.type = ppt_tsc};

	(void)state;
	trace.bytes[0] = 0x05; /* no such opcode */
	assert_int_equal(pt_pkt_sync_set(decoder, 0), 0);
	assert_int_equal(pt_pkt_next(decoder, &packet, sizeof(packet)), -pte_bad_opc);
	assert_int_equal(pt_pkt_next(decoder, &packet, sizeof(packet)), -pte_bad_opc);
	assert_int_equal(offset_of(decoder), 0);
	assert_int_equal(packet.type, ppt_tsc);
	pt_pkt_free_decoder(decoder);
}

static void as_much_is_written_as_the_caller_knows(void **state)
{
	struct trace trace;
	struct pt_packet_decoder *decoder = decoder_for(&trace);
	struct {
		struct pt_packet packet;
		uint8_t more[8];
	} large;
	static const uint8_t zeros[8];

	(void)state;
	memset(&large, 0xee, sizeof(large));
	assert_int_equal(pt_pkt_sync_forward(decoder), 0);
	assert_int_equal(pt_pkt_next(decoder, &large.packet, sizeof(large)), 16);
	assert_int_equal(large.packet.type, ppt_psb);
	assert_memory_equal(large.more, zeros, sizeof(zeros));

	memset(&large, 0xee, sizeof(large));
	assert_int_equal(pt_pkt_next(decoder, &large.packet, 4), 2);
	assert_int_equal(large.packet.type, ppt_psbend);
	assert_int_equal(large.packet.size, 0xee);
	pt_pkt_free_decoder(decoder);
}

/* The packet at the beginning of @bytes, in a struct of @size bytes. */
static int next_of(uint8_t *bytes, size_t nbytes, const struct pt_errata *errata, void *packet, size_t size)
{
	struct pt_packet_decoder *decoder;
	struct pt_config config;
	int status;

	pt_config_init(&config);
	config.begin = bytes;
	config.end = bytes + nbytes;
	config.errata = *errata;
	decoder = pt_pkt_alloc_decoder(&config);
	assert_non_null(decoder);
	assert_int_equal(pt_pkt_sync_set(decoder, 0), 0);
	memset(packet, 0xee, size);
	status = pt_pkt_next(decoder, packet, size);
	pt_pkt_free_decoder(decoder);
	return status;
}

/* With room behind, at the end, and for a caller with another struct, packets are read in different ways. */
static void check_each_way(uint8_t *bytes, size_t nbytes, const struct pt_errata *errata)
{
	struct pt_packet packet, last;
	struct {
		struct pt_packet packet;
		uint8_t more[8];
	} large;
	int size = next_of(bytes, nbytes, errata, &packet, sizeof(packet));

	assert_int_equal(next_of(bytes, nbytes, errata, &large, sizeof(large)), size);
	assert_memory_equal(&packet, &large.packet, sizeof(packet));
	if (size < 0)
		return;
	assert_int_equal(size, packet.size);
	if (errata->skd007 && packet.type == ppt_cyc) /* what is behind it tells where it ends */
		return;
	assert_int_equal(next_of(bytes, (size_t)size, errata, &last, sizeof(last)), size);
	assert_memory_equal(&packet, &last, sizeof(packet));
	if (size > 1)
		assert_int_equal(next_of(bytes, (size_t)size - 1, errata, &last, sizeof(last)), -pte_eos);
}

static void a_packet_is_the_same_wherever_it_stands(void **state)
{
	static const struct pt_errata errata[] = {{0}, {.skd007 = 1, .skz84 = 1}};
	uint8_t bytes[24];
	uint32_t random = 1;

	(void)state;
	for (uint32_t i = 0; i < 2 * 65536; ++i) {
		for (size_t k = 0; k < sizeof(bytes); ++k) {
			random = random * 1664525 + 1013904223;
			bytes[k] = (uint8_t)(random >> 24);
		}
		bytes[0] = (uint8_t)i;
		bytes[1] = (uint8_t)(i >> 8);
		check_each_way(bytes, sizeof(bytes), &errata[i >> 16]);
		bytes[2] = 0xf3; /* behind 02, an OVF */
		check_each_way(bytes, sizeof(bytes), &errata[i >> 16]);
	}
}

static void null_is_refused(void **state)
{
	struct trace trace;
	struct pt_packet_decoder *decoder = decoder_for(&trace);
	struct pt_packet packet;
	uint64_t offset;

	(void)state;
	assert_null(pt_pkt_alloc_decoder(NULL));
	pt_pkt_free_decoder(NULL);
	assert_int_equal(pt_pkt_sync_forward(NULL), -pte_invalid);
	assert_int_equal(pt_pkt_sync_backward(NULL), -pte_invalid);
	assert_int_equal(pt_pkt_sync_set(NULL, 0), -pte_invalid);
	assert_int_equal(pt_pkt_get_offset(NULL, &offset), -pte_invalid);
	assert_int_equal(pt_pkt_get_offset(decoder, NULL), -pte_invalid);
	assert_int_equal(pt_pkt_get_sync_offset(NULL, &offset), -pte_invalid);
	assert_int_equal(pt_pkt_get_sync_offset(decoder, NULL), -pte_invalid);
	assert_int_equal(pt_pkt_next(NULL, &packet, sizeof(packet)), -pte_invalid);
	assert_int_equal(pt_pkt_next(decoder, NULL, sizeof(packet)), -pte_invalid);
	assert_null(pt_pkt_get_config(NULL));
	assert_ptr_equal(pt_pkt_get_config(decoder)->begin, trace.bytes);
	pt_pkt_free_decoder(decoder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_new_decoder_is_not_synchronised),
	        cmocka_unit_test(forward_goes_from_psb_to_psb),
	        cmocka_unit_test(backward_goes_from_psb_to_psb),
	        cmocka_unit_test(a_psb_reached_by_reading_is_found_by_forward),
	        cmocka_unit_test(a_psb_behind_us_is_found_by_backward),
	        cmocka_unit_test(set_moves_anywhere_within_the_trace),
	        cmocka_unit_test(next_gives_packet_after_packet),
	        cmocka_unit_test(an_error_leaves_the_decoder_where_it_is),
	        cmocka_unit_test(as_much_is_written_as_the_caller_knows),
	        cmocka_unit_test(a_packet_is_the_same_wherever_it_stands),
	        cmocka_unit_test(null_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
