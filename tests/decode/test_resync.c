/* test_resync.c - pt_blk_resync() and pt_insn_resync(): where decoding goes on after an error.
 *
 * The code is at 0x1000: nop; jmp *%rax; je 1003; syscall. What is at 0x5000 is not known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/trace.h"

static const char code[] = "\x90\xff\xe0\x74\xfe\x0f\x05";

struct fixture {
	struct trace trace;
	struct program program;
	struct pt_image *image;
	struct pt_block_decoder *blocks;
	struct pt_insn_decoder *insns;
};

static int setup(void **state)
{
	static struct fixture fixture;

	memset(&fixture, 0, sizeof(fixture));
	program_write(&fixture.program, code, sizeof(code) - 1);
	fixture.image = program_image(&fixture.program, 0x1000);
	trace_psb(&fixture.trace);
	trace_tsc(&fixture.trace, 100);
	trace_mode64(&fixture.trace);
	trace_ip(&fixture.trace, ppt_fup, 0x1000);
	trace_psbend(&fixture.trace);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	pt_blk_free_decoder(fixture->blocks);
	pt_insn_free_decoder(fixture->insns);
	pt_image_free(fixture->image);
	program_remove(&fixture->program);
	return 0;
}

static void open_decoders(struct fixture *fixture)
{
	struct pt_config config = trace_config(&fixture->trace);

	fixture->blocks = pt_blk_alloc_decoder(&config);
	fixture->insns = pt_insn_alloc_decoder(&config);
	assert_non_null(fixture->blocks);
	assert_non_null(fixture->insns);
	pt_blk_set_image(fixture->blocks, fixture->image);
	pt_insn_set_image(fixture->insns, fixture->image);
}

/* Both decoders run into @errcode; the last event on the way. */
static struct pt_event run_into(struct fixture *fixture, int blk_status, int insn_status, int errcode)
{
	struct pt_event event = {.type = ptev_mnt};
	struct pt_block block;
	struct pt_insn insn;

	while (blk_status >= 0) {
		if (blk_status & pts_event_pending)
			blk_status = pt_blk_event(fixture->blocks, &event, sizeof(event));
		else
			blk_status = pt_blk_next(fixture->blocks, &block, sizeof(block));
	}
	assert_int_equal(blk_status, errcode);
	while (insn_status >= 0) {
		if (insn_status & pts_event_pending)
			insn_status = pt_insn_event(fixture->insns, &event, sizeof(event));
		else
			insn_status = pt_insn_next(fixture->insns, &insn, sizeof(insn));
	}
	assert_int_equal(insn_status, errcode);
	return event;
}

static void start(struct fixture *fixture, int errcode)
{
	open_decoders(fixture);
	run_into(fixture, pt_blk_sync_forward(fixture->blocks), pt_insn_sync_forward(fixture->insns),
	         errcode);
}

/* After resync, the next instruction of both is at @ip. */
static void goes_on_at(struct fixture *fixture, uint64_t ip)
{
	struct pt_block block = {0};
	struct pt_insn insn = {0};

	assert_int_equal(pt_blk_resync(fixture->blocks) & ~pts_eos, 0);
	pt_blk_next(fixture->blocks, &block, sizeof(block));
	assert_int_equal(block.ip, ip);
	assert_true(block.ninsn > 0);
	assert_int_equal(block.resynced, 1);
	assert_int_equal(pt_insn_resync(fixture->insns) & ~pts_eos, 0);
	pt_insn_next(fixture->insns, &insn, sizeof(insn));
	assert_int_equal(insn.ip, ip);
	assert_true(insn.size > 0);
	assert_int_equal(insn.resynced, 1);
}

static void both_resync_to(struct fixture *fixture, int status)
{
	assert_int_equal(pt_blk_resync(fixture->blocks), status);
	assert_int_equal(pt_insn_resync(fixture->insns), status);
}

/* Both take the event that is pending, behind which they have @status. */
static struct pt_event both_take(struct fixture *fixture, int status)
{
	struct pt_event event;

	assert_int_equal(pt_insn_event(fixture->insns, &event, sizeof(event)), status);
	assert_int_equal(pt_blk_event(fixture->blocks, &event, sizeof(event)), status);
	return event;
}

static void behind_missing_code_comes_the_next_tip(void **state)
{
	struct fixture *fixture = *state;
	struct pt_event event;

	trace_ip(&fixture->trace, ppt_tip, 0x5000);
	trace_tnt(&fixture->trace, "tnt");
	trace_ip(&fixture->trace, ppt_tip, 0x1003);
	trace_tnt(&fixture->trace, "n");
	trace_ip_suppressed(&fixture->trace, ppt_tip_pgd);
	start(fixture, -pte_nomap);
	goes_on_at(fixture, 0x1003);
	event = run_into(fixture, 0, 0, -pte_eos);
	assert_int_equal(event.type, ptev_disabled);
}

static void a_tip_that_does_not_fit_is_where_it_goes_on(void **state)
{
	struct fixture *fixture = *state;

	trace_ip(&fixture->trace, ppt_tip, 0x1003);
	trace_ip(&fixture->trace, ppt_tip, 0x1001); /* but je needs a TNT bit */
	trace_ip(&fixture->trace, ppt_tip, 0x1000);
	start(fixture, -pte_bad_query);
	goes_on_at(fixture, 0x1001);
}

/* A TNT-64 tells of a processor that defers TIPs: the bit of je at 1003 may be one of those before its
 * address. Behind an interrupt, none can be. */
static void behind_bits_an_address_may_be_deferred(void **state)
{
	struct fixture *fixture = *state;
	struct pt_event event;

	trace_ip(&fixture->trace, ppt_tip, 0x5000);
	trace_tnt_64(&fixture->trace, "tntn");
	trace_ip(&fixture->trace, ppt_tip, 0x1003);
	trace_tnt(&fixture->trace, "t");
	trace_ip(&fixture->trace, ppt_fup, 0x5003);
	trace_ip(&fixture->trace, ppt_tip, 0x1000);
	start(fixture, -pte_nomap);
	both_resync_to(fixture, pts_event_pending);
	event = both_take(fixture, pts_eos);
	assert_int_equal(event.type, ptev_async_branch);
	run_into(fixture, 0, 0, -pte_eos);
}

/* So it may be where no TNT is long, as the TIP.PGD may have made both go. */
static void where_no_tnt_is_long_what_comes_behind_tells(void **state)
{
	struct fixture *fixture = *state;

	trace_ip(&fixture->trace, ppt_tip, 0x5000);
	trace_tnt(&fixture->trace, "tn");
	trace_ip(&fixture->trace, ppt_tip, 0x1003);
	trace_ip_suppressed(&fixture->trace, ppt_tip_pgd);
	trace_ip(&fixture->trace, ppt_tip_pge, 0x1001);
	start(fixture, -pte_nomap);
	both_resync_to(fixture, pts_event_pending | pts_ip_suppressed);
	teardown(state);
	setup(state);
	/* It does not write like that: another TIP made its TNT go, and nothing else.
	 * FIXME: it does where that other TIP is a RET's that is not compressed. With no TNT-64 nearby, that
	 * is the same trace; then je at 1003 used the bit before its address, and where it goes on is wrong
	 * without a word. */
	fixture = *state;
	trace_ip(&fixture->trace, ppt_tip, 0x5000);
	trace_tnt(&fixture->trace, "tn");
	trace_ip(&fixture->trace, ppt_tip, 0x1003);
	trace_ip_suppressed(&fixture->trace, ppt_tip_pgd);
	trace_ip(&fixture->trace, ppt_tip_pge, 0x5000);
	trace_tnt(&fixture->trace, "t");
	trace_ip(&fixture->trace, ppt_tip, 0x1000);
	trace_tnt(&fixture->trace, "n");
	start(fixture, -pte_nomap);
	goes_on_at(fixture, 0x1003);
}

static void an_interrupt_tells_where_it_came_from(void **state)
{
	struct fixture *fixture = *state;
	struct pt_event event;

	trace_ip(&fixture->trace, ppt_tip, 0x5000);
	trace_ip(&fixture->trace, ppt_fup, 0x5003);
	trace_ip(&fixture->trace, ppt_tip, 0x1003);
	start(fixture, -pte_nomap);
	both_resync_to(fixture, pts_event_pending);
	event = both_take(fixture, pts_eos);
	assert_int_equal(event.type, ptev_async_branch);
	assert_int_equal(event.variant.async_branch.from, 0x5003);
	run_into(fixture, 0, 0, -pte_eos);
}

static void tracing_may_be_turned_off_and_on(void **state)
{
	struct fixture *fixture = *state;
	struct pt_event event;

	trace_ip(&fixture->trace, ppt_tip, 0x5000);
	trace_ip_suppressed(&fixture->trace, ppt_tip_pgd);
	trace_pip(&fixture->trace, 0x7000);
	trace_ip(&fixture->trace, ppt_tip_pge, 0x1001);
	start(fixture, -pte_nomap);
	both_resync_to(fixture, pts_event_pending | pts_ip_suppressed);
	event = both_take(fixture, pts_eos);
	assert_int_equal(event.type, ptev_enabled);
	assert_int_equal(event.variant.enabled.ip, 0x1001);
	assert_int_equal(event.variant.enabled.resumed, 0);
}

static void the_address_space_stays_known(void **state)
{
	struct fixture *fixture = *state;
	struct pt_asid asid;

	trace_ip(&fixture->trace, ppt_tip, 0x5000);
	trace_pip(&fixture->trace, 0x7000);
	trace_ip(&fixture->trace, ppt_tip, 0x1003);
	trace_tnt(&fixture->trace, "n");
	start(fixture, -pte_nomap);
	goes_on_at(fixture, 0x1003);
	assert_int_equal(pt_blk_asid(fixture->blocks, &asid, sizeof(asid)), 0);
	assert_int_equal(asid.cr3, 0x7000);
}

static void behind_an_unreadable_packet_comes_the_next_psb(void **state)
{
	struct fixture *fixture = *state;
	struct pt_event event;

	fixture->trace.bytes[fixture->trace.size++] = 0x05;
	trace_ip(&fixture->trace, ppt_tip, 0x1003);
	trace_psb(&fixture->trace);
	trace_mode64(&fixture->trace);
	trace_ip(&fixture->trace, ppt_fup, 0x1001);
	trace_psbend(&fixture->trace);
	start(fixture, -pte_bad_opc);
	both_resync_to(fixture, pts_event_pending);
	pt_insn_event(fixture->insns, &event, sizeof(event));
	pt_blk_event(fixture->blocks, &event, sizeof(event));
	assert_int_equal(event.status_update, 1);
	assert_int_equal(event.variant.exec_mode.ip, 0x1001);
}

static void without_an_address_it_is_the_end(void **state)
{
	struct fixture *fixture = *state;

	trace_ip(&fixture->trace, ppt_tip, 0x5000);
	trace_tnt(&fixture->trace, "tnt");
	trace_ip_suppressed(&fixture->trace, ppt_tip_pgd);
	start(fixture, -pte_nomap);
	both_resync_to(fixture, -pte_eos);
	both_resync_to(fixture, -pte_eos);
}

/* The reader stays at an overflow whose FUP has no address: there is no way past it but the next PSB. */
static void what_the_reader_refuses_it_does_not_refuse_for_ever(void **state)
{
	struct fixture *fixture = *state;

	trace_ip(&fixture->trace, ppt_tip, 0x5000);
	trace_tnt(&fixture->trace, "tnt");
	trace_ovf(&fixture->trace);
	trace_ip_suppressed(&fixture->trace, ppt_fup);
	start(fixture, -pte_nomap);
	both_resync_to(fixture, -pte_eos);
}

/* A PSB that was passed on the way is not gone back to: what stands behind it would come twice. */
static void a_psb_that_was_passed_stays_behind(void **state)
{
	struct fixture *fixture = *state;
	struct pt_event event;

	trace_ip(&fixture->trace, ppt_tip, 0x5000);
	trace_ip_suppressed(&fixture->trace, ppt_tip_pgd);
	trace_psb(&fixture->trace);
	trace_mode64(&fixture->trace);
	trace_psbend(&fixture->trace);
	trace_ip(&fixture->trace, ppt_tip_pge, 0x1003);
	trace_tnt(&fixture->trace, "n");
	fixture->trace.bytes[fixture->trace.size++] = 0x05;
	start(fixture, -pte_nomap);
	both_resync_to(fixture, pts_event_pending | pts_ip_suppressed);
	event = run_into(fixture, pts_event_pending, pts_event_pending, -pte_bad_opc);
	assert_int_equal(event.type, ptev_enabled);
	both_resync_to(fixture, -pte_eos);
}

static void a_new_decoder_is_synchronised(void **state)
{
	struct fixture *fixture = *state;

	open_decoders(fixture);
	both_resync_to(fixture, pts_event_pending);
	assert_int_equal(pt_blk_resync(NULL), -pte_invalid);
	assert_int_equal(pt_insn_resync(NULL), -pte_invalid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(behind_missing_code_comes_the_next_tip, setup, teardown),
	        cmocka_unit_test_setup_teardown(a_tip_that_does_not_fit_is_where_it_goes_on, setup, teardown),
	        cmocka_unit_test_setup_teardown(behind_bits_an_address_may_be_deferred, setup, teardown),
	        cmocka_unit_test_setup_teardown(where_no_tnt_is_long_what_comes_behind_tells, setup,
	                                        teardown),
	        cmocka_unit_test_setup_teardown(an_interrupt_tells_where_it_came_from, setup, teardown),
	        cmocka_unit_test_setup_teardown(tracing_may_be_turned_off_and_on, setup, teardown),
	        cmocka_unit_test_setup_teardown(the_address_space_stays_known, setup, teardown),
	        cmocka_unit_test_setup_teardown(behind_an_unreadable_packet_comes_the_next_psb, setup,
	                                        teardown),
	        cmocka_unit_test_setup_teardown(without_an_address_it_is_the_end, setup, teardown),
	        cmocka_unit_test_setup_teardown(what_the_reader_refuses_it_does_not_refuse_for_ever, setup,
	                                        teardown),
	        cmocka_unit_test_setup_teardown(a_psb_that_was_passed_stays_behind, setup, teardown),
	        cmocka_unit_test_setup_teardown(a_new_decoder_is_synchronised, setup, teardown),
	};

	return cmocka_run_group_tests_name("resync", tests, NULL, NULL);
}
