/* test_clock.c - the clock of <intel-pt-time.h> goes as the event decoder's does: a trace with timing packets
 * in any order, and branches in between, of which each has the same time either way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <intel-pt-time.h>

enum { trace_size = 1 << 16 };

struct fixture {
	uint8_t bytes[trace_size];
	struct pt_config config;
	struct pt_encoder *encoder;
	uint32_t seed;
	uint32_t apart; /* timing packets to a branch, on average */
};

static uint32_t draw(struct fixture *fixture, uint32_t limit)
{
	fixture->seed ^= fixture->seed << 13;
	fixture->seed ^= fixture->seed >> 17;
	fixture->seed ^= fixture->seed << 5;
	return fixture->seed % limit;
}

static int put(struct fixture *fixture, const struct pt_packet *packet)
{
	return pt_enc_next(fixture->encoder, packet);
}

static int put_header(struct fixture *fixture, uint64_t tsc)
{
	const struct pt_packet header[] = {
	        {.type = ppt_psb},
	        {.type = ppt_tsc, .payload.tsc.tsc = tsc},
	        {.type = ppt_tma, .payload.tma = {.ctc = 0x100, .fc = 5}},
	        {.type = ppt_cbr, .payload.cbr.ratio = (uint8_t)(10 + draw(fixture, 30))},
	        {.type = ppt_fup, .payload.ip = {.ipc = pt_ipc_full, .ip = 0x1000}},
	        {.type = ppt_psbend},
	};
	int status = 0;

	for (size_t i = 0; i < sizeof(header) / sizeof(header[0]) && status >= 0; i++)
		status = put(fixture, &header[i]);
	return status;
}

static int put_any(struct fixture *fixture, uint64_t *tsc, uint8_t *ctc)
{
	*tsc += draw(fixture, 1000);
	switch (draw(fixture, 40)) {
	case 0:
		return put_header(fixture, *tsc);
	case 1:
		return put(fixture, &(struct pt_packet){.type = ppt_tsc, .payload.tsc.tsc = *tsc});
	case 2: /* a TMA belongs to the TSC before it */
		put(fixture, &(struct pt_packet){.type = ppt_tsc, .payload.tsc.tsc = *tsc});
		return put(fixture,
		           &(struct pt_packet){.type = ppt_tma, .payload.tma.ctc = (uint16_t)(*ctc << 3)});
	case 3:
		return put(fixture, &(struct pt_packet){.type = ppt_cbr,
		                                        .payload.cbr.ratio = (uint8_t)draw(fixture, 40)});
	case 4:
		put(fixture, &(struct pt_packet){.type = ppt_ovf});
		return put(fixture, &(struct pt_packet){.type = ppt_fup, .payload.ip.ipc = pt_ipc_sext_48});
	default:
		break;
	}
	if (draw(fixture, 3))
		return put(fixture,
		           &(struct pt_packet){.type = ppt_cyc, .payload.cyc.value = draw(fixture, 500)});
	if (draw(fixture, 9) == 0)
		put(fixture, &(struct pt_packet){.type = ppt_pad});
	*ctc = (uint8_t)(*ctc + 1 + (draw(fixture, 9) == 0));
	return put(fixture, &(struct pt_packet){.type = ppt_mtc, .payload.mtc.ctc = *ctc});
}

static void write_trace(struct fixture *fixture)
{
	uint64_t tsc = 1000000, size;
	uint8_t ctc = 0x20;
	int status;

	pt_config_init(&fixture->config);
	fixture->config.begin = fixture->bytes;
	fixture->config.end = fixture->bytes + trace_size;
	fixture->encoder = pt_alloc_encoder(&fixture->config);
	assert_non_null(fixture->encoder);
	status = put_header(fixture, tsc);
	while (status >= 0) {
		status = put_any(fixture, &tsc, &ctc);
		if (status >= 0 && !draw(fixture, fixture->apart))
			status = put(fixture,
			             &(struct pt_packet){.type = ppt_tnt_8,
			                                 .payload.tnt = {.bit_size = 1, .payload = 1}});
	}
	assert_int_equal(pt_enc_get_offset(fixture->encoder, &size), 0);
	fixture->config.end = fixture->bytes + size;
	pt_free_encoder(fixture->encoder);
}

/* The next branch's time as events tell it: 0 at the end. */
static int next_event(struct pt_event_decoder *decoder, struct pt_event *event)
{
	int status;

	do
		status = pt_evt_next(decoder, event, sizeof(*event));
	while (status >= 0 && event->type != ptev_tnt);
	return status >= 0;
}

static int next_packet(struct pt_packet_decoder *decoder, struct pt_clock *clock)
{
	struct pt_packet packet;
	int status;

	do {
		status = pt_pkt_next(decoder, &packet, sizeof(packet));
		if (status > 0)
			assert_in_range(pt_clock_packet(clock, &packet), 0, 1);
	} while (status > 0 && packet.type != ppt_tnt_8);
	return status > 0;
}

static void compare(struct fixture *fixture)
{
	struct pt_event_decoder *events = pt_evt_alloc_decoder(&fixture->config);
	struct pt_packet_decoder *packets = pt_pkt_alloc_decoder(&fixture->config);
	struct pt_clock *clock = pt_clock_alloc(&fixture->config);
	unsigned int branches = 0, moved = 0;
	uint64_t last = 0;
	struct pt_event event;

	assert_int_equal(pt_evt_sync_forward(events), 0);
	assert_int_equal(pt_pkt_sync_forward(packets), 0);
	while (next_packet(packets, clock)) {
		uint64_t tsc;
		uint32_t lost_mtc, lost_cyc;

		assert_true(next_event(events, &event));
		assert_int_equal(pt_clock_time(clock, &tsc, &lost_mtc, &lost_cyc), 0);
		assert_int_equal(event.has_tsc, 1);
		assert_int_equal(event.tsc, tsc);
		assert_int_equal(event.lost_mtc, lost_mtc);
		assert_int_equal(event.lost_cyc, lost_cyc);
		branches++;
		moved += tsc != last;
		last = tsc;
	}
	assert_false(next_event(events, &event));
	assert_true(branches > 10000 / fixture->apart);
	assert_true(moved > branches / 4);
	pt_evt_free_decoder(events);
	pt_pkt_free_decoder(packets);
	pt_clock_free(clock);
}

/* Behind each timing packet a branch, or long rows of them: these are read at once. */
static void every_branch_has_the_time_that_events_have(void **state)
{
	static const uint32_t ratio[][2] = {{2, 168}, {3, 168}, {1, 80}, {9, 2}};
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	(void)state;
	assert_non_null(fixture);
	fixture->seed = 1;
	for (uint32_t round = 0; round < 16; round++) {
		fixture->apart = round & 1 ? 12 : 1;
		write_trace(fixture);
		fixture->config.cpuid_0x15_eax = ratio[round / 4][0];
		fixture->config.cpuid_0x15_ebx = ratio[round / 4][1];
		fixture->config.mtc_freq = 3;
		fixture->config.nom_freq = 21;
		fixture->config.flags.variant.event.keep_tcal_on_ovf = (round & 2) != 0;
		compare(fixture);
	}
	free(fixture);
}

static void what_cannot_be_is_refused(void **state)
{
	uint8_t bytes[1] = {0};
	struct pt_packet packet = {.type = ppt_pad};
	struct pt_config config;
	struct pt_clock *clock;
	uint64_t tsc;

	(void)state;
	pt_config_init(&config);
	assert_null(pt_clock_alloc(NULL));
	assert_null(pt_clock_alloc(&config));
	config.begin = bytes;
	config.end = bytes + 1;
	clock = pt_clock_alloc(&config);
	assert_non_null(clock);
	assert_int_equal(pt_clock_packet(NULL, &packet), -pte_invalid);
	assert_int_equal(pt_clock_packet(clock, NULL), -pte_invalid);
	assert_int_equal(pt_clock_packet(clock, &packet), 0);
	assert_int_equal(pt_clock_time(NULL, &tsc, NULL, NULL), -pte_invalid);
	assert_int_equal(pt_clock_time(clock, NULL, NULL, NULL), -pte_invalid);
	assert_int_equal(pt_clock_time(clock, &tsc, NULL, NULL), -pte_no_time);
	pt_clock_free(clock);
	pt_clock_free(NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	        cmocka_unit_test(every_branch_has_the_time_that_events_have),
	        cmocka_unit_test(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
