/* test_replay_late.c - who runs where a processor says when it enters user space only up to the next MTC
 * packet.
 *
 * MTCs come every 8000 ns, the first one at 88000. On the CPU, 1 runs since 50000, and 2 since 84000.
 */
#include "replay_fixture.h"

#include "replay/late_time.h"

/* jne .  syscall */
static const uint8_t loop[] = {0x75, 0xfe, 0x0f, 0x05};

static int setup_mtc(void **state)
{
	return setup_traces(state, 1, PT_CONFIG, 1000);
}

static int setup_cyc(void **state)
{
	return setup_traces(state, 1, PT_CONFIG | PT_CONFIG_MTC | SB_PT_CONFIG_CYC, 1000);
}

static void has_loop(struct fixture *fixture, int32_t pid, uint64_t address)
{
	has_file(fixture, "/loop", loop, sizeof(loop));
	maps(fixture, 0, pid, address, "/loop");
}

/* Process 1, which has code at 5000, runs up to 84000, then 2, which has it at @second. */
static void switched(struct fixture *fixture, uint64_t second)
{
	has_loop(fixture, 1, 0x5000);
	has_loop(fixture, 2, second);
	switches(fixture, 0, 50000, 0, 1);
	switches(fixture, 0, 84000, 1, 2);
}

static void begin_psb(struct trace *trace)
{
	trace_psb(trace);
	trace_tsc(trace, 80000);
	trace_tma(trace, 80, 0);
	trace_mode64(trace);
}

static void start(struct trace *trace)
{
	begin_psb(trace);
	trace_psbend(trace);
}

/* Tracing is on. */
static void start_at(struct trace *trace, uint64_t ip)
{
	begin_psb(trace);
	trace_ip(trace, ppt_fup, ip);
	trace_psbend(trace);
}

/* A stretch without any MTC. */
static void trace_short(struct trace *trace, uint64_t ip)
{
	trace_ip(trace, ppt_tip_pge, ip);
	trace_tnt(trace, "n");
	trace_disabled(trace);
}

/* The same, right behind a TSC packet. */
static void trace_stamped(struct trace *trace, uint16_t ctc, uint64_t ip)
{
	trace_tsc(trace, 1000ull * ctc);
	trace_tma(trace, ctc, 0);
	trace_short(trace, ip);
}

static void told(struct fixture *fixture, const struct trace *trace, const char *flow)
{
	traced(fixture, 0, trace->bytes, trace->size);
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, flow);
}

/* Tracing stays on up to 88000: nobody was switched to since it was turned on, so 2 was before. */
static void what_is_recorded_before_the_next_mtc_came_before(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	switched(fixture, 0x5000);
	start(&trace);
	trace_ip(&trace, ppt_tip_pge, 0x5000);
	trace_tnt(&trace, "t");
	trace_mtc(&trace, 11);
	trace_tnt(&trace, "n");
	trace_disabled(&trace);
	told(fixture, &trace, "0/2/2@80000: 5000; 0/2/2@88000: 5000 5002");
	assert_string_equal(fixture->gaps, "");
}

/* It is turned off before that: 1 or 2, both have code there. Behind the MTC, it is 2. */
static void without_an_mtc_nobody_knows(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	switched(fixture, 0x5000);
	start(&trace);
	trace_short(&trace, 0x5000);
	trace_mtc(&trace, 11);
	trace_short(&trace, 0x5000);
	told(fixture, &trace, "0/2/2@88000: 5000 5002");
	assert_gap(fixture, sb_gap_unknown_process);
}

/* Only one of them has code there. What was before the switch cannot come behind it again. */
static void without_an_mtc_addresses_may_tell(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	switched(fixture, 0x6000);
	start(&trace);
	trace_short(&trace, 0x5000);
	trace_short(&trace, 0x6000);
	trace_mtc(&trace, 11);
	trace_short(&trace, 0x6000);
	told(fixture, &trace, "0/1/1@80000: 5000 5002; 0/2/2@80000: 6000 6002; 0/2/2@88000: 6000 6002");
	assert_string_equal(fixture->gaps, "");
}

/* A tracer in software says when. */
static void a_tsc_packet_right_before_is_exact(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	switched(fixture, 0x5000);
	start(&trace);
	trace_stamped(&trace, 83, 0x5000);
	trace_stamped(&trace, 85, 0x5000);
	told(fixture, &trace, "0/1/1@83000: 5000 5002; 0/2/2@85000: 5000 5002");
	assert_string_equal(fixture->gaps, "");
}

/* Thread 1 of process 1 runs up to 84000, then its thread 2; in the end, there is another file. */
static void two_threads(struct fixture *fixture)
{
	const struct sb_write_sample begin = sample(0, 1, 10000), out = sample(0, 1, 84000),
	                             in = {.pid = 1, .tid = 2, .time = 84001};

	has_loop(fixture, 1, 0x5000);
	assert_int_equal(sb_write_fork(fixture->writer, &begin, 1, 1, 2, 1, NULL), 0);
	switches(fixture, 0, 50000, 0, 1);
	assert_int_equal(sb_write_switch(fixture->writer, &out, 1, 0, 1, 2, NULL), 0);
	assert_int_equal(sb_write_switch(fixture->writer, &in, 0, 0, 1, 1, NULL), 0);
	maps(fixture, 200000, 1, 0x5000, "/other");
}

/* What it has mapped is asked for before who runs is, and the decoder reads on meanwhile. */
static void a_tsc_packet_right_before_is_exact_wherever_the_decoder_is(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	two_threads(fixture);
	trace_start(&trace, 80000);
	for (uint64_t time = 83000; time <= 85000; time += 2000) {
		trace_enabled(&trace, time, 0x5000);
		trace.bytes[trace.size++] = 0; /* PAD */
		trace_tnt(&trace, "n");
		trace_disabled(&trace);
	}
	trace_tsc(&trace, 90000);
	told(fixture, &trace, "0/1/1@83000: 5000 5002; 0/1/2@85000: 5000 5002");
	assert_string_equal(fixture->gaps, "");
}

/* But a CPU that awakes says so, too, and then switches. */
static void an_idle_cpu_awakes_before_it_switches(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_loop(fixture, 1, 0x5000);
	has_loop(fixture, 2, 0x5000);
	switches(fixture, 0, 50000, 1, 0);
	switches(fixture, 0, 84000, 0, 2);
	start(&trace);
	trace_stamped(&trace, 83, 0x5000);
	told(fixture, &trace, "0/2/2@83000: 5000 5002");
	assert_string_equal(fixture->gaps, "");
}

/* Tracing is turned on where the process has no code, and by a part of an address only: nobody sees that it
 * was, and it may be 2 since then. */
static void who_entered_within_a_gap_is_not_known(void **state)
{
	static const uint8_t part[] = {0x31, 0x00, 0x90}; /* TIP.PGE, two bytes of an address */
	struct fixture *fixture = *state;
	struct trace trace = {0};

	switched(fixture, 0x5000);
	start_at(&trace, 0x9000);
	trace_disabled(&trace);
	memcpy(trace.bytes + trace.size, part, sizeof(part));
	trace.size += sizeof(part);
	trace_ip(&trace, ppt_tip, 0x5000);
	trace_tnt(&trace, "n");
	trace_disabled(&trace);
	told(fixture, &trace, "");
}

/* It stays on: as long as it does, it is 1. */
static void who_was_there_before_a_gap_still_is(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	switched(fixture, 0x5000);
	start_at(&trace, 0x9000);
	trace_ip(&trace, ppt_tip, 0x5000);
	trace_tnt(&trace, "n");
	trace_disabled(&trace);
	told(fixture, &trace, "0/1/1@80000: 5000 5002");
}

/* What an overflow has dropped may have been a switch. */
static void who_comes_behind_an_overflow_is_not_known(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	switched(fixture, 0x5000);
	start_at(&trace, 0x5000);
	trace_tnt(&trace, "t");
	trace_ovf(&trace);
	trace_ip(&trace, ppt_fup, 0x5000);
	trace_tnt(&trace, "n");
	trace_disabled(&trace);
	told(fixture, &trace, "0/1/1@80000: 5000");
}

/* 1 runs, and an overflow comes that is over at 83000. */
static void loses_some(struct fixture *fixture, struct trace *trace)
{
	switched(fixture, 0x5000);
	start_at(trace, 0x5000);
	trace_tnt(trace, "t");
	trace_ovf(trace);
	trace_tsc(trace, 83000);
	trace_tma(trace, 83, 0);
}

/* The TSC packet behind it says when. */
static void who_goes_on_behind_an_overflow_is_known(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	loses_some(fixture, &trace);
	trace_ip(&trace, ppt_fup, 0x5000);
	trace_tnt(&trace, "n");
	trace_disabled(&trace);
	trace_stamped(&trace, 85, 0x5000);
	told(fixture, &trace, "0/1/1@80000: 5000; 0/1/1@83000: 5000 5002; 0/2/2@85000: 5000 5002");
	assert_string_equal(fixture->gaps, "overflow+0");
}

/* It ended in the kernel, which is left later: nobody knows when. */
static void the_time_of_an_overflow_is_not_that_of_what_comes_later(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	loses_some(fixture, &trace);
	trace_short(&trace, 0x5000);
	trace_mtc(&trace, 11);
	trace_short(&trace, 0x5000);
	told(fixture, &trace, "0/1/1@80000: 5000; 0/2/2@88000: 5000 5002");
	/* Unless it is told, too. */
	teardown(state);
	setup_mtc(state);
	fixture = *state;
	trace.size = 0;
	loses_some(fixture, &trace);
	trace_stamped(&trace, 83, 0x5000);
	trace_stamped(&trace, 85, 0x5000);
	told(fixture, &trace, "0/1/1@80000: 5000; 0/1/1@83000: 5000 5002; 0/2/2@85000: 5000 5002");
}

/* With CYC packets: an overflow, behind which user space goes on before the time is told, by a PSB at @tsc.
 */
static void goes_on_before_the_time_is_told(struct fixture *fixture, uint64_t tsc, const char *flow)
{
	struct trace trace = {0};

	switched(fixture, 0x5000);
	start_at(&trace, 0x5000);
	trace_tnt(&trace, "t");
	trace_ovf(&trace);
	trace_ip(&trace, ppt_fup, 0x5000);
	trace_psb(&trace);
	trace_tsc(&trace, tsc);
	trace_tma(&trace, (uint16_t)(tsc / 1000), 0);
	trace_mode64(&trace);
	trace_ip(&trace, ppt_fup, 0x5000);
	trace_psbend(&trace);
	trace_tnt(&trace, "n");
	trace_disabled(&trace);
	told(fixture, &trace, flow);
	assert_string_equal(fixture->gaps, "overflow+0");
}

/* Nobody was switched to since it went on. */
static void who_goes_on_behind_an_overflow_is_who_runs_when_the_time_is_told(void **state)
{
	goes_on_before_the_time_is_told(*state, 90000, "0/1/1@80000: 5000; 0/2/2@90000: 5000 5002");
}

/* 2 runs only later. */
static void who_goes_on_behind_an_overflow_may_be_who_ran_before(void **state)
{
	goes_on_before_the_time_is_told(*state, 83000, "0/1/1@80000: 5000; 0/1/1@83000: 5000 5002");
}

/* The decoder reads ahead: while it stays where it is, the time may go on, and another MTC is due next. */
static void the_next_packet_has_the_time_of_the_mtc_that_is_due(void **state)
{
	struct late_tsc next = late_tsc_unknown;
	struct pt_block_decoder *decoder;
	struct trace trace = {0};
	struct pt_config config;

	(void)state;
	start(&trace);
	trace_ip(&trace, ppt_tip_pge, 0x5000);
	trace_mtc(&trace, 11);
	trace_tsc(&trace, 89000);
	config = trace_config(&trace);
	decoder = pt_blk_alloc_decoder(&config);
	assert_non_null(decoder);
	assert_true(pt_blk_sync_forward(decoder) >= 0);
	assert_int_equal(late_time_until(decoder, 88000, &next), 88000);
	assert_int_equal(late_time_until(decoder, 96000, &next), 96000);
	/* It is not known which one is due. */
	assert_int_equal(late_time_until(decoder, 0, &next), 89000);
	pt_blk_free_decoder(decoder);
}

/* je .  syscall: taken where the loop goes on, and the other way round. */
static const uint8_t other_loop[] = {0x74, 0xfe, 0x0f, 0x05};

/* Process 1 maps another file over its code at 84000. */
static void replaced(struct fixture *fixture)
{
	has_loop(fixture, 1, 0x5000);
	has_loop(fixture, 1, 0x6000);
	has_file(fixture, "/other", other_loop, sizeof(other_loop));
	switches(fixture, 0, 50000, 0, 1);
	maps(fixture, 84000, 1, 0x5000, "/other");
}

/* It enters user space at 80000 or later, but before 88000: nobody knows which of both is there. All else is.
 */
static void what_is_mapped_before_the_next_mtc_may_have_come(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	replaced(fixture);
	start(&trace);
	trace_short(&trace, 0x6000);
	trace_short(&trace, 0x5000);
	trace_mtc(&trace, 11);
	trace_short(&trace, 0x5000);
	told(fixture, &trace, "0/1/1@80000: 6000 6002; 0/1/1@88000: 5000 5002");
	assert_gap(fixture, sb_gap_anonymous);
	assert_string_equal(fixture->gap.detail,
	                    "other code came there, and the trace's time does not say exactly when");
}

/* Another MTC comes before the file does. */
static void what_is_mapped_behind_the_next_mtc_has_not_come(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_loop(fixture, 1, 0x5000);
	switches(fixture, 0, 50000, 0, 1);
	maps(fixture, 89000, 1, 0x5000, "/other");
	start(&trace);
	trace_short(&trace, 0x5000);
	trace_mtc(&trace, 11);
	trace_short(&trace, 0x5000);
	told(fixture, &trace, "0/1/1@80000: 5000 5002");
	assert_gap(fixture, sb_gap_anonymous);
}

/* Who is alone maps nothing while it runs: what is there when it enters user space stays. */
static void what_is_mapped_at_a_tsc_packet_is_known(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	replaced(fixture);
	start(&trace);
	trace_stamped(&trace, 83, 0x5000);
	trace_stamped(&trace, 85, 0x5000);
	told(fixture, &trace, "0/1/1@83000: 5000 5002; 0/1/1@85000: 5000 5002");
	assert_string_equal(fixture->gaps, "");
}

/* A thread of its process may map it meanwhile, and time goes on before that. */
static void what_another_thread_maps_may_come_at_any_time(void **state)
{
	struct fixture *fixture = *state;
	const struct sb_write_sample begin = sample(0, 1, 10000);
	struct trace trace = {0};

	has_loop(fixture, 1, 0x5000);
	has_file(fixture, "/other", other_loop, sizeof(other_loop));
	assert_int_equal(sb_write_fork(fixture->writer, &begin, 1, 1, 2, 1, NULL), 0);
	switches(fixture, 0, 50000, 0, 1);
	maps(fixture, 92000, 1, 0x5000, "/other");
	start(&trace);
	trace_ip(&trace, ppt_tip_pge, 0x5000);
	trace_tnt(&trace, "t");
	trace_mtc(&trace, 11);
	trace_tnt(&trace, "n");
	trace_disabled(&trace);
	trace_mtc(&trace, 12);
	trace_short(&trace, 0x5000);
	told(fixture, &trace, "0/1/1@80000: 5000; 0/1/1@96000: 5000 5002");
	assert_gap(fixture, sb_gap_anonymous);
}

/* An overflow comes, and user space goes on, before a PSB tells the time: the other file may have come. */
static void code_goes_on_before_the_time_is_told(struct fixture *fixture, uint64_t tsc, const char *flow)
{
	struct trace trace = {0};

	replaced(fixture);
	start_at(&trace, 0x5000);
	trace_tnt(&trace, "t");
	trace_ovf(&trace);
	trace_ip(&trace, ppt_fup, 0x5000);
	trace_tnt(&trace, "n");
	trace_disabled(&trace);
	trace_psb(&trace);
	trace_tsc(&trace, tsc);
	trace_mode64(&trace);
	trace_psbend(&trace);
	trace_short(&trace, 0x6000);
	told(fixture, &trace, flow);
}

static void what_an_overflow_hides_may_have_been_mapped(void **state)
{
	struct fixture *fixture = *state;

	code_goes_on_before_the_time_is_told(fixture, 90000, "0/1/1@80000: 5000; 0/1/1@90000: 6000 6002");
	assert_non_null(strstr(fixture->details, "other code came there"));
}

static void what_is_mapped_later_than_an_overflow_has_not_come(void **state)
{
	struct fixture *fixture = *state;

	code_goes_on_before_the_time_is_told(fixture, 83000,
	                                     "0/1/1@80000: 5000 5000 5002; 0/1/1@83000: 6000 6002");
	assert_string_equal(fixture->gaps, "overflow+0");
}

/* User space is left and entered again where the process has no code, so nobody sees that it was: at 0x5000,
 * the other file may have come by then, or not. */
static void entered_within_a_gap(struct fixture *fixture, uint64_t tsc, const char *flow)
{
	struct trace trace = {0};

	replaced(fixture);
	start_at(&trace, 0x9000);
	trace_disabled(&trace);
	if (tsc)
		trace_tsc(&trace, tsc);
	trace_short(&trace, 0x5000);
	trace_psb(&trace);
	trace_tsc(&trace, 90000);
	trace_mode64(&trace);
	trace_psbend(&trace);
	trace_short(&trace, 0x6000);
	told(fixture, &trace, flow);
}

static void what_is_mapped_while_the_flow_is_lost_may_have_come(void **state)
{
	entered_within_a_gap(*state, 0, "0/1/1@90000: 6000 6002");
}

/* A TSC packet says when it was entered. */
static void what_is_mapped_at_a_tsc_packet_is_known_behind_a_gap(void **state)
{
	entered_within_a_gap(*state, 83000, "0/1/1@83000: 5000 5002; 0/1/1@90000: 6000 6002");
}

/* Of 2, no record tells what it had there before it maps the file. */
static void what_a_stranger_maps_before_the_next_mtc_may_have_come(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_loop(fixture, 1, 0x6000);
	switches(fixture, 0, 50000, 0, 2);
	maps(fixture, 60000, 2, 0x7000, "/loop");
	maps(fixture, 84000, 2, 0x5000, "/loop");
	start(&trace);
	trace_short(&trace, 0x5000);
	trace_mtc(&trace, 11);
	trace_short(&trace, 0x5000);
	told(fixture, &trace, "0/2/2@88000: 5000 5002");
	assert_non_null(strstr(fixture->details, "other code came there"));
}

int main(void)
{
#define TEST(name)     cmocka_unit_test_setup_teardown(name, setup_mtc, teardown)
#define TEST_CYC(name) cmocka_unit_test_setup_teardown(name, setup_cyc, teardown)
#define TEST_TSC(name) cmocka_unit_test_setup_teardown(name, setup_late, teardown)
	const struct CMUnitTest tests[] = {
	        TEST(what_is_recorded_before_the_next_mtc_came_before),
	        TEST(without_an_mtc_nobody_knows),
	        TEST(without_an_mtc_addresses_may_tell),
	        TEST(a_tsc_packet_right_before_is_exact),
	        TEST_TSC(a_tsc_packet_right_before_is_exact_wherever_the_decoder_is),
	        TEST(an_idle_cpu_awakes_before_it_switches),
	        TEST(who_entered_within_a_gap_is_not_known),
	        TEST(who_was_there_before_a_gap_still_is),
	        TEST(who_comes_behind_an_overflow_is_not_known),
	        TEST(who_goes_on_behind_an_overflow_is_known),
	        TEST(the_time_of_an_overflow_is_not_that_of_what_comes_later),
	        cmocka_unit_test(the_next_packet_has_the_time_of_the_mtc_that_is_due),
	        TEST_CYC(who_goes_on_behind_an_overflow_is_who_runs_when_the_time_is_told),
	        TEST_CYC(who_goes_on_behind_an_overflow_may_be_who_ran_before),
	        TEST(what_is_mapped_before_the_next_mtc_may_have_come),
	        TEST(what_is_mapped_behind_the_next_mtc_has_not_come),
	        TEST(what_is_mapped_at_a_tsc_packet_is_known),
	        TEST(what_another_thread_maps_may_come_at_any_time),
	        TEST_TSC(what_is_mapped_while_the_flow_is_lost_may_have_come),
	        TEST_TSC(what_is_mapped_at_a_tsc_packet_is_known_behind_a_gap),
	        TEST(what_a_stranger_maps_before_the_next_mtc_may_have_come),
	        TEST_CYC(what_an_overflow_hides_may_have_been_mapped),
	        TEST_TSC(what_an_overflow_hides_may_have_been_mapped),
	        TEST_CYC(what_is_mapped_later_than_an_overflow_has_not_come),
	        TEST_TSC(what_is_mapped_later_than_an_overflow_has_not_come),
	        TEST(what_is_mapped_later_than_an_overflow_has_not_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
