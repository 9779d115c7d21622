/* Which packets the software tracer writes for which instructions: hand-made programs, expected
 * streams. Packets are read back by libdecode's packet decoder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "capture/pt_gen.h"

enum { BASE_TSC = 6720 }; /* a CTC tick and an MTC begin here */

struct stream {
	struct pt_gen gen;
	uint64_t tsc;
	size_t shown; /* bytes already compared */
};

static void start(struct stream *stream, struct pt_gen_config config)
{
	if (!config.psb_period)
		config.psb_period = 4096;
	config.ctc_num = 168;
	config.ctc_den = 2;
	config.mtc_freq = 3;
	config.cbr = 21;
	memset(stream, 0, sizeof(*stream));
	stream->tsc = BASE_TSC;
	assert_int_equal(pt_gen_init(&stream->gen, &config), 0);
}

static void enable(struct stream *stream, uint64_t ip)
{
	pt_gen_enable(&stream->gen, stream->tsc, ip);
}

/* Every instruction takes one tick. */
static int retire(struct stream *stream, enum insn_kind kind, uint64_t ip, uint8_t length, uint64_t next)
{
	struct traced_insn insn = {.ip = ip, .length = length, .kind = (uint8_t)kind};

	stream->tsc++;
	return pt_gen_retire(&stream->gen, stream->tsc, &insn, next);
}

static void outcomes(struct stream *stream, const char *text)
{
	for (; *text; text++)
		assert_int_equal(retire(stream, ik_cond, 0x1000, 2, *text == 't' ? 0x1000 : 0x1002), 1);
}

static void system_call(struct stream *stream)
{
	retire(stream, ik_far, 0x1000, 2, 0x1002);
	pt_gen_disable(&stream->gen, stream->tsc);
}

static void show_ip(char *text, size_t room, const char *name, const struct pt_packet_ip *ip)
{
	static const char *const bits[] = {"none", "16", "32", "s48", "48", "?", "64"};

	if (ip->ipc == pt_ipc_suppressed)
		snprintf(text, room, "%s", name);
	else
		snprintf(text, room, "%s.%s(%llx)", name, bits[ip->ipc], (unsigned long long)ip->ip);
}

static void show_tnt(char *text, size_t room, const char *name, const struct pt_packet_tnt *tnt)
{
	char outcome[64] = "";

	for (uint8_t i = 0; i < tnt->bit_size; i++)
		outcome[i] = tnt->payload >> (tnt->bit_size - 1 - i) & 1 ? 't' : 'n';
	snprintf(text, room, "%s(%s)", name, outcome);
}

static void show_packet(char *text, size_t room, const struct pt_packet *packet)
{
	switch (packet->type) {
	case ppt_psb:
		snprintf(text, room, "psb");
		break;
	case ppt_psbend:
		snprintf(text, room, "psbend");
		break;
	case ppt_ovf:
		snprintf(text, room, "ovf");
		break;
	case ppt_pad:
		snprintf(text, room, "pad");
		break;
	case ppt_mode:
		snprintf(text, room, "mode");
		break;
	case ppt_cbr:
		snprintf(text, room, "cbr(%u)", packet->payload.cbr.ratio);
		break;
	case ppt_tsc:
		snprintf(text, room, "tsc(%llu)", (unsigned long long)packet->payload.tsc.tsc);
		break;
	case ppt_tma:
		snprintf(text, room, "tma(%u,%u)", packet->payload.tma.ctc, packet->payload.tma.fc);
		break;
	case ppt_mtc:
		snprintf(text, room, "mtc(%u)", packet->payload.mtc.ctc);
		break;
	case ppt_cyc:
		snprintf(text, room, "cyc(%llu)", (unsigned long long)packet->payload.cyc.value);
		break;
	case ppt_tnt_8:
		show_tnt(text, room, "tnt", &packet->payload.tnt);
		break;
	case ppt_tnt_64:
		show_tnt(text, room, "tnt64", &packet->payload.tnt);
		break;
	case ppt_tip:
		show_ip(text, room, "tip", &packet->payload.ip);
		break;
	case ppt_tip_pge:
		show_ip(text, room, "pge", &packet->payload.ip);
		break;
	case ppt_tip_pgd:
		show_ip(text, room, "pgd", &packet->payload.ip);
		break;
	case ppt_fup:
		show_ip(text, room, "fup", &packet->payload.ip);
		break;
	default:
		snprintf(text, room, "?");
		break;
	}
}

/* What was written since the last time. */
static void expect(struct stream *stream, const char *expected)
{
	char text[4096] = "";
	size_t used = 0;
	struct pt_packet packet;
	struct pt_packet_decoder *decoder;
	struct pt_config config;

	assert_int_equal(stream->gen.error, 0);
	pt_config_init(&config);
	config.begin = stream->gen.buffer;
	config.end = stream->gen.buffer + stream->gen.size;
	decoder = pt_pkt_alloc_decoder(&config);
	assert_non_null(decoder);
	assert_int_equal(pt_pkt_sync_set(decoder, stream->shown), 0);
	while (pt_pkt_next(decoder, &packet, sizeof(packet)) > 0 && used < sizeof(text) - 128) {
		if (used)
			text[used++] = ' ';
		show_packet(text + used, sizeof(text) - used, &packet);
		used += strlen(text + used);
	}
	pt_pkt_free_decoder(decoder);
	stream->shown = stream->gen.size;
	assert_string_equal(text, expected);
}

static void stop(struct stream *stream)
{
	pt_gen_fini(&stream->gen);
}

static void test_tracing_begins_with_psb_and_time(void **state)
{
	struct stream s;

	(void)state;
	start(&s, (struct pt_gen_config){.retcomp = 1});
	enable(&s, 0x7f0012345678);
	expect(&s, "psb tsc(6720) cbr(21) psbend tsc(6720) mode pge.s48(7f0012345678)");
	s.tsc = 7000;
	system_call(&s);
	expect(&s, "pgd");
	s.tsc = 8000;
	enable(&s, 0x7f0012345680);
	expect(&s, "tsc(8000) pge.16(5680)");
	stop(&s);
}

static void test_tma_is_written_with_mtc_only(void **state)
{
	struct stream s;

	(void)state;
	start(&s, (struct pt_gen_config){.mtc = 1});
	s.tsc = BASE_TSC + 100;
	enable(&s, 0x1000);
	expect(&s, "psb tsc(6820) tma(81,16) cbr(21) psbend tsc(6820) tma(81,16) mode pge.s48(1000)");
	stop(&s);
}

static void test_six_outcomes_make_a_packet(void **state)
{
	struct stream s;

	(void)state;
	start(&s, (struct pt_gen_config){.retcomp = 1});
	enable(&s, 0x1000);
	outcomes(&s, "tnnttn");
	outcomes(&s, "tt");
	retire(&s, ik_jump, 0x1000, 2, 0x2000); /* direct: nothing to say */
	retire(&s, ik_other, 0x2000, 2, 0x2002);
	system_call(&s);
	expect(&s, "psb tsc(6720) cbr(21) psbend tsc(6720) mode pge.s48(1000) tnt(tnnttn) tnt(tt) pgd");
	stop(&s);
}

static void test_indirect_branches_are_tips_with_compressed_addresses(void **state)
{
	struct stream s;

	(void)state;
	start(&s, (struct pt_gen_config){.retcomp = 1});
	enable(&s, 0x1000);
	outcomes(&s, "t");
	expect(&s, "psb tsc(6720) cbr(21) psbend tsc(6720) mode pge.s48(1000)");
	retire(&s, ik_jump_indirect, 0x1000, 2, 0x2000);
	retire(&s, ik_call_indirect, 0x2000, 2, 0x12000);
	retire(&s, ik_jump_indirect, 0x12000, 2, 0x700000012000);
	retire(&s, ik_jump_indirect, 0x12000, 2, 0xffff800000000000);
	retire(&s, ik_jump_indirect, 0x12000, 2, 0x1234800000000000); /* not canonical */
	expect(&s, "tnt(t) tip.16(2000) tip.32(12000) tip.s48(700000012000) tip.s48(800000000000) "
	           "tip.64(1234800000000000)");
	stop(&s);
}

static void test_returns_to_the_call_are_an_outcome(void **state)
{
	struct stream s;

	(void)state;
	start(&s, (struct pt_gen_config){.retcomp = 1});
	enable(&s, 0x1000);
	s.shown = s.gen.size;
	retire(&s, ik_call, 0x1000, 5, 0x2000);
	retire(&s, ik_ret, 0x2000, 1, 0x1005);
	retire(&s, ik_call_indirect, 0x1005, 5, 0x2000);
	retire(&s, ik_ret, 0x2000, 1, 0x100a);
	retire(&s, ik_ret, 0x100a, 1, 0x3000); /* nobody called */
	expect(&s, "tnt(t) tip.16(2000) tnt(t) tip.16(3000)");
	stop(&s);
}

static void test_returns_are_tips_without_compression(void **state)
{
	struct stream s;

	(void)state;
	start(&s, (struct pt_gen_config){.retcomp = 0});
	enable(&s, 0x1000);
	s.shown = s.gen.size;
	retire(&s, ik_call, 0x1000, 5, 0x2000);
	retire(&s, ik_ret, 0x2000, 1, 0x1005);
	expect(&s, "tip.16(1005)");
	stop(&s);
}

static void test_call_of_the_next_instruction_is_no_call(void **state)
{
	struct stream s;

	(void)state;
	start(&s, (struct pt_gen_config){.retcomp = 1});
	enable(&s, 0x1000);
	s.shown = s.gen.size;
	retire(&s, ik_call, 0x1000, 5, 0x1005);
	retire(&s, ik_ret, 0x1005, 1, 0x1005);
	expect(&s, "tip.16(1005)");
	stop(&s);
}

/* The return stack has 64 places; the oldest call falls out. */
static void test_deep_calls(void **state)
{
	struct stream s;
	uint64_t depth;

	(void)state;
	start(&s, (struct pt_gen_config){.retcomp = 1});
	enable(&s, 0x10000);
	s.shown = s.gen.size;
	for (depth = 0; depth < 65; depth++)
		retire(&s, ik_call, 0x10000 + 16 * depth, 5, 0x10000 + 16 * (depth + 1));
	for (depth = 65; depth-- > 1;)
		retire(&s, ik_ret, 0x10000 + 16 * (depth + 1), 1, 0x10005 + 16 * depth);
	system_call(&s);
	expect(&s, "tnt(tttttt) tnt(tttttt) tnt(tttttt) tnt(tttttt) tnt(tttttt) tnt(tttttt) tnt(tttttt) "
	           "tnt(tttttt) tnt(tttttt) tnt(tttttt) tnt(tttt) pgd");
	enable(&s, 0x10010);
	s.shown = s.gen.size;
	retire(&s, ik_ret, 0x10010, 1, 0x10005);
	expect(&s, "tip.16(5)");
	stop(&s);
}

/* After a return to somewhere else, decoders disagree on what is on top: no compression until both
 * kinds of them would be right. */
static void test_returns_are_compressed_only_where_all_decoders_agree(void **state)
{
	struct stream s;

	(void)state;
	start(&s, (struct pt_gen_config){.retcomp = 1});
	enable(&s, 0x1000);
	s.shown = s.gen.size;
	retire(&s, ik_call, 0x1000, 5, 0x2000);
	retire(&s, ik_call, 0x2000, 5, 0x3000);
	retire(&s, ik_ret, 0x3000, 1, 0x4000); /* one keeps 2005, the other drops it */
	retire(&s, ik_ret, 0x4000, 1, 0x2005);
	retire(&s, ik_ret, 0x2005, 1, 0x1005);
	retire(&s, ik_call, 0x1005, 5, 0x2000);
	retire(&s, ik_ret, 0x2000, 1, 0x100a);
	system_call(&s);
	expect(&s, "tip.16(4000) tip.16(2005) tip.16(1005) tnt(t) pgd");
	stop(&s);
}

static void test_calls_are_remembered_while_tracing_is_off(void **state)
{
	struct stream s;

	(void)state;
	start(&s, (struct pt_gen_config){.retcomp = 1});
	enable(&s, 0x1000);
	retire(&s, ik_call, 0x1000, 5, 0x2000);
	system_call(&s);
	enable(&s, 0x2000);
	s.shown = s.gen.size;
	retire(&s, ik_ret, 0x2000, 1, 0x1005);
	system_call(&s);
	expect(&s, "tnt(t) pgd");
	stop(&s);
}

static void test_psb_repeats_the_state_and_forgets_calls(void **state)
{
	struct stream s;

	(void)state;
	start(&s, (struct pt_gen_config){.retcomp = 1, .psb_period = 256});
	enable(&s, 0x1000);
	retire(&s, ik_call, 0x1000, 5, 0x2000);
	/* 5 bytes each, with both addresses beyond 16 bits of each other */
	while (s.gen.size - s.gen.last_psb < 250)
		retire(&s, ik_jump_indirect, 0x2000, 2, s.gen.last_ip ^ 0x10000);
	s.shown = s.gen.size;
	s.tsc = 8000;
	retire(&s, ik_jump_indirect, 0x2000, 2, 0x7000ffff2000);
	expect(&s, "tip.s48(7000ffff2000) psb tsc(8001) cbr(21) mode fup.s48(7000ffff2000) psbend");
	retire(&s, ik_ret, 0x7000ffff2000, 1, 0x1005);
	expect(&s, "tip.s48(1005)");
	stop(&s);
}

static void test_interrupts_tell_where(void **state)
{
	struct stream s;

	(void)state;
	start(&s, (struct pt_gen_config){.retcomp = 1});
	enable(&s, 0x1000);
	s.shown = s.gen.size;
	outcomes(&s, "tn");
	retire(&s, ik_other, 0x1002, 3, 0x1005);
	pt_gen_interrupt(&s.gen, s.tsc, 0x1005);
	s.tsc = 9000;
	enable(&s, 0x5000); /* a handler */
	expect(&s, "tnt(tn) fup.16(1005) pgd tsc(9000) pge.16(5000)");
	stop(&s);
}

/* 84 ticks are a CTC tick, 8 of them an MTC period: 672 ticks. */
static void test_mtc_comes_between_the_outcomes_around_it(void **state)
{
	struct stream s;

	(void)state;
	start(&s, (struct pt_gen_config){.retcomp = 1, .mtc = 1});
	enable(&s, 0x1000);
	s.shown = s.gen.size;
	outcomes(&s, "tt");
	s.tsc = BASE_TSC + 670;
	outcomes(&s, "nt"); /* at 671 and 672 */
	s.tsc = BASE_TSC + 3 * 672;
	system_call(&s);
	expect(&s, "tnt(ttn) mtc(11) tnt(t) mtc(12) mtc(13) pgd");
	stop(&s);
}

static void test_cyc_counts_the_ticks_between_packets(void **state)
{
	struct stream s;

	(void)state;
	start(&s, (struct pt_gen_config){.retcomp = 1, .mtc = 1, .cyc = 1});
	enable(&s, 0x1000);
	s.shown = s.gen.size;
	outcomes(&s, "tttttt"); /* the packet leaves with the sixth */
	s.tsc = BASE_TSC + 670;
	outcomes(&s, "nt");
	retire(&s, ik_jump_indirect, 0x1000, 2, 0x2000);
	pt_gen_interrupt(&s.gen, s.tsc + 5, 0x2000);
	expect(&s,
	       "cyc(6) tnt(tttttt) cyc(666) tnt(n) mtc(11) cyc(1) tnt(t) tip.16(2000) cyc(5) fup.16(2000) pgd");
	stop(&s);
}

static void test_long_tnt_has_the_tips_behind_it(void **state)
{
	struct stream s;

	(void)state;
	start(&s, (struct pt_gen_config){.retcomp = 1, .tnt64 = 1});
	enable(&s, 0x1000);
	s.shown = s.gen.size;
	retire(&s, ik_jump_indirect, 0x1000, 2, 0x2000); /* nothing is pending: at once */
	outcomes(&s, "tntnt");
	retire(&s, ik_jump_indirect, 0x1000, 2, 0x3000);
	outcomes(&s, "nn");
	retire(&s, ik_call_indirect, 0x1000, 2, 0x4000);
	retire(&s, ik_ret, 0x4000, 1, 0x1002);
	system_call(&s);
	expect(&s, "tip.16(2000) tnt64(tntntnnt) tip.16(3000) tip.16(4000) pgd");
	stop(&s);
}

/* A decoder would take the bit behind it as the RET's own. */
static void test_uncompressed_returns_are_not_deferred(void **state)
{
	struct stream s;

	(void)state;
	start(&s, (struct pt_gen_config){.retcomp = 1, .tnt64 = 1});
	enable(&s, 0x1000);
	s.shown = s.gen.size;
	outcomes(&s, "tnt");
	retire(&s, ik_ret, 0x1000, 1, 0x6000);
	outcomes(&s, "n");
	system_call(&s);
	expect(&s, "tnt(tnt) tip.16(6000) tnt(n) pgd");
	stop(&s);
}

static void test_long_tnt_holds_47(void **state)
{
	struct stream s;

	(void)state;
	start(&s, (struct pt_gen_config){.retcomp = 1, .tnt64 = 1});
	enable(&s, 0x1000);
	s.shown = s.gen.size;
	for (int i = 0; i < 8; i++)
		outcomes(&s, "tntnnn");
	expect(&s, "tnt64(tntnnntntnnntntnnntntnnntntnnntntnnntntnnntntnn)");
	stop(&s);
}

/* Brings a stream to the point where an overflow begins: behind a packet. */
static void overflow(struct stream *s)
{
	start(s, (struct pt_gen_config){.retcomp = 1, .overflow_every = 100, .seed = 7});
	enable(s, 0x1000);
	retire(s, ik_call, 0x1000, 5, 0x2000);
	while (!s->gen.overflowed)
		assert_int_equal(retire(s, ik_jump_indirect, 0x2000, 2, 0x2000), 1);
	s->shown = s->gen.size;
}

static void test_overflow_ends_at_an_instruction(void **state)
{
	struct stream s;
	uint32_t lost = 0;

	(void)state;
	overflow(&s);
	while (s.gen.overflowed) {
		assert_int_equal(retire(&s, ik_jump_indirect, 0x2000, 2, 0x2000), 0);
		lost++;
	}
	assert_in_range(lost, 100, 999);
	s.tsc++;
	char expected[64];

	snprintf(expected, sizeof(expected), "ovf tsc(%llu) fup.s48(2000)", (unsigned long long)s.tsc - 1);
	expect(&s, expected);
	assert_int_equal(retire(&s, ik_ret, 0x2000, 1, 0x1005), 1); /* the call is forgotten */
	expect(&s, "tip.16(1005)");
	stop(&s);
}

/* Whoever comes back, if anybody does, has lost nothing. */
static void test_overflow_ends_in_the_kernel(void **state)
{
	struct stream s;

	(void)state;
	overflow(&s);
	assert_int_equal(retire(&s, ik_cond, 0x2000, 2, 0x2002), 0);
	assert_int_equal(retire(&s, ik_far, 0x2002, 2, 0x2004), 0);
	s.tsc = 9000;
	pt_gen_disable(&s.gen, s.tsc);
	expect(&s, "ovf tsc(9000)");
	s.tsc = 9999;
	enable(&s, 0x2004);
	expect(&s, "tsc(9999) pge.s48(2004)");
	assert_int_equal(retire(&s, ik_cond, 0x2004, 2, 0x2006), 1);
	assert_int_equal(s.gen.noverflows, 1);
	stop(&s);
}

static void test_overflow_ends_at_an_interrupt(void **state)
{
	struct stream s;

	(void)state;
	overflow(&s);
	s.tsc = 9000;
	pt_gen_interrupt(&s.gen, s.tsc, 0x2000);
	expect(&s, "ovf tsc(9000)");
	stop(&s);
}

static void test_the_stream_can_be_taken_in_pieces(void **state)
{
	struct stream s;

	(void)state;
	start(&s, (struct pt_gen_config){.retcomp = 1});
	enable(&s, 0x1000);
	pt_gen_pad(&s.gen, 8);
	assert_int_equal(s.gen.size % 8, 0);
	pt_gen_drop(&s.gen, s.gen.size);
	assert_int_equal(s.gen.size, 0);
	retire(&s, ik_jump_indirect, 0x1000, 2, 0x2000);
	pt_gen_pad(&s.gen, 8);
	expect(&s, "tip.16(2000) pad pad pad pad pad");
	stop(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_tracing_begins_with_psb_and_time),
	        cmocka_unit_test(test_tma_is_written_with_mtc_only),
	        cmocka_unit_test(test_six_outcomes_make_a_packet),
	        cmocka_unit_test(test_indirect_branches_are_tips_with_compressed_addresses),
	        cmocka_unit_test(test_returns_to_the_call_are_an_outcome),
	        cmocka_unit_test(test_returns_are_tips_without_compression),
	        cmocka_unit_test(test_call_of_the_next_instruction_is_no_call),
	        cmocka_unit_test(test_deep_calls),
	        cmocka_unit_test(test_returns_are_compressed_only_where_all_decoders_agree),
	        cmocka_unit_test(test_calls_are_remembered_while_tracing_is_off),
	        cmocka_unit_test(test_psb_repeats_the_state_and_forgets_calls),
	        cmocka_unit_test(test_interrupts_tell_where),
	        cmocka_unit_test(test_mtc_comes_between_the_outcomes_around_it),
	        cmocka_unit_test(test_cyc_counts_the_ticks_between_packets),
	        cmocka_unit_test(test_long_tnt_has_the_tips_behind_it),
	        cmocka_unit_test(test_uncompressed_returns_are_not_deferred),
	        cmocka_unit_test(test_long_tnt_holds_47),
	        cmocka_unit_test(test_overflow_ends_at_an_instruction),
	        cmocka_unit_test(test_overflow_ends_in_the_kernel),
	        cmocka_unit_test(test_overflow_ends_at_an_interrupt),
	        cmocka_unit_test(test_the_stream_can_be_taken_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
