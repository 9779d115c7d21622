/* test_observer.c - the observer interface, one statement of its manual page at a time.
 *
 *   1000  nop            a loop that runs as long as the trace says "taken"
 *   1001  je 1000
 *   1003  jmp *%rax
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <intel-pt-run.h>

#include "support/trace.h"

static const uint8_t loop_code[] = {0x90, 0x74, 0xfd, 0xff, 0xe0};
/* The same length, but four instructions up to the branch instead of two. */
static const uint8_t other_code[] = {0x74, 0xfe, 0x90, 0xff, 0xe0};

enum { max_calls = 32 };

/* A decoder on the loop, and what its observer saw. */
struct fixture {
	struct trace trace;
	struct program loop, other;
	struct pt_image *image, *other_image;
	struct pt_block_decoder *decoder;
	struct pt_insn_decoder *insn_decoder;

	struct pt_observer obsv;
	uint64_t tick[max_calls];
	int nticks;
	enum pt_decode_state state[max_calls];
	int nstates;
	/* What a callback does beside noting the call. */
	void (*in_tick)(struct fixture *fixture, uint64_t tsc);
	void (*in_state)(struct fixture *fixture, enum pt_decode_state state);
	int result;
};

static int on_tick(struct pt_observer *self, uint64_t tsc, uint32_t lost_mtc, uint32_t lost_cyc)
{
	struct fixture *fixture = self->context;

	(void)lost_mtc;
	(void)lost_cyc;
	assert_true(fixture->nticks < max_calls);
	fixture->tick[fixture->nticks++] = tsc;
	if (fixture->in_tick)
		fixture->in_tick(fixture, tsc);
	return fixture->result;
}

static int on_state(struct pt_observer *self, enum pt_decode_state state)
{
	struct fixture *fixture = self->context;

	assert_true(fixture->nstates < max_calls);
	fixture->state[fixture->nstates++] = state;
	if (fixture->in_state)
		fixture->in_state(fixture, state);
	return 0;
}

/* Enabled at 1000; one iteration at each of 100, 200, 300, 400; disabled at 1000; time 500; enabled, one
 * iteration. */
static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct pt_config config;

	assert_non_null(fixture);
	trace_start(&fixture->trace, 100);
	trace_ip(&fixture->trace, ppt_tip_pge, 0x1000);
	trace_tnt(&fixture->trace, "t");
	for (uint64_t tsc = 200; tsc <= 400; tsc += 100) {
		trace_tsc(&fixture->trace, tsc);
		trace_tnt(&fixture->trace, "t");
	}
	trace_ip(&fixture->trace, ppt_fup, 0x1000);
	trace_ip_suppressed(&fixture->trace, ppt_tip_pgd);
	trace_tsc(&fixture->trace, 500);
	trace_ip(&fixture->trace, ppt_tip_pge, 0x1000);
	trace_tnt(&fixture->trace, "t");
	trace_ip(&fixture->trace, ppt_fup, 0x1000);
	trace_ip_suppressed(&fixture->trace, ppt_tip_pgd);

	program_write(&fixture->loop, loop_code, sizeof(loop_code));
	program_write(&fixture->other, other_code, sizeof(other_code));
	fixture->image = program_image(&fixture->loop, 0x1000);
	fixture->other_image = program_image(&fixture->other, 0x1000);
	config = trace_config(&fixture->trace);
	fixture->decoder = pt_blk_alloc_decoder(&config);
	assert_non_null(fixture->decoder);
	assert_int_equal(pt_blk_set_image(fixture->decoder, fixture->image), 0);

	fixture->obsv.size = sizeof(fixture->obsv);
	fixture->obsv.context = fixture;
	fixture->obsv.tick.callback = on_tick;
	fixture->obsv.state.callback = on_state;
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	pt_blk_free_decoder(fixture->decoder);
	pt_image_free(fixture->image);
	pt_image_free(fixture->other_image);
	program_remove(&fixture->loop);
	program_remove(&fixture->other);
	free(fixture);
	return 0;
}

static void attach(struct fixture *fixture)
{
	assert_int_equal(pt_blk_attach_obsv(fixture->decoder, &fixture->obsv), 0);
}

/* Decodes to the end; the number of instructions, or the first error that is not the end. */
static int decode(struct fixture *fixture)
{
	int status = pt_blk_sync_forward(fixture->decoder), ninsn = 0;

	while (status >= 0) {
		struct pt_block block;
		struct pt_event event;

		if (status & pts_event_pending) {
			status = pt_blk_event(fixture->decoder, &event, sizeof(event));
			continue;
		}
		status = pt_blk_next(fixture->decoder, &block, sizeof(block));
		ninsn += block.ninsn;
	}
	return status == -pte_eos ? ninsn : status;
}

static void ticks_are(const struct fixture *fixture, int n, const uint64_t *tick)
{
	assert_int_equal(fixture->nticks, n);
	for (int i = 0; i < n; ++i)
		assert_int_equal(fixture->tick[i], tick[i]);
}

static void null_arguments_are_invalid(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(pt_blk_attach_obsv(NULL, &fixture->obsv), -pte_invalid);
	assert_int_equal(pt_blk_attach_obsv(fixture->decoder, NULL), -pte_invalid);
	assert_int_equal(pt_insn_attach_obsv(NULL, &fixture->obsv), -pte_invalid);
}

static void attached_twice_is_invalid(void **state)
{
	struct fixture *fixture = *state;
	struct pt_config config = trace_config(&fixture->trace);
	struct pt_insn_decoder *other = pt_insn_alloc_decoder(&config);

	attach(fixture);
	assert_int_equal(pt_blk_attach_obsv(fixture->decoder, &fixture->obsv), -pte_invalid);
	assert_int_equal(pt_insn_attach_obsv(other, &fixture->obsv), -pte_invalid);
	pt_insn_free_decoder(other);
}

static void freeing_the_decoder_detaches(void **state)
{
	struct fixture *fixture = *state;
	struct pt_config config = trace_config(&fixture->trace);
	struct pt_insn_decoder *other = pt_insn_alloc_decoder(&config);

	assert_int_equal(pt_insn_attach_obsv(other, &fixture->obsv), 0);
	pt_insn_free_decoder(other);
	attach(fixture);
}

static void ticks_at_every_change_of_time(void **state)
{
	struct fixture *fixture = *state;

	attach(fixture);
	assert_int_equal(decode(fixture), 10);
	ticks_are(fixture, 5, (const uint64_t[]){100, 200, 300, 400, 500});
}

static void ticks_only_from_the_limit_on(void **state)
{
	struct fixture *fixture = *state;

	fixture->obsv.tick.limit = 300;
	attach(fixture);
	assert_int_equal(decode(fixture), 10);
	ticks_are(fixture, 3, (const uint64_t[]){300, 400, 500});
}

static void state_is_called_when_it_changes(void **state)
{
	struct fixture *fixture = *state;

	attach(fixture);
	assert_int_equal(decode(fixture), 10);
	assert_int_equal(fixture->nstates, 5);
	assert_int_equal(fixture->state[0], ptds_disabled);
	assert_int_equal(fixture->state[1], ptds_enabled);
	assert_int_equal(fixture->state[2], ptds_disabled);
	assert_int_equal(fixture->state[3], ptds_enabled);
	assert_int_equal(fixture->state[4], ptds_disabled);
}

static void synchronising_again_makes_the_state_unknown(void **state)
{
	struct fixture *fixture = *state;

	attach(fixture);
	assert_true(pt_blk_sync_forward(fixture->decoder) >= 0);
	fixture->nstates = 0;
	assert_true(pt_blk_sync_set(fixture->decoder, 0) >= 0);
	assert_int_equal(fixture->nstates, 2);
	assert_int_equal(fixture->state[0], ptds_unknown);
	assert_int_equal(fixture->state[1], ptds_disabled);
}

/* Packets that would have told of a switch may be among those that were lost. */
static void an_overflow_makes_the_state_unknown(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};
	struct pt_config config;
	struct pt_block_decoder *decoder;
	struct pt_event event;
	int status;

	trace_start(&trace, 100);
	trace_ip(&trace, ppt_tip_pge, 0x1000);
	trace_ovf(&trace);
	trace_ip(&trace, ppt_fup, 0x1001);
	config = trace_config(&trace);
	decoder = pt_blk_alloc_decoder(&config);
	pt_blk_set_image(decoder, fixture->image);
	assert_int_equal(pt_blk_attach_obsv(decoder, &fixture->obsv), 0);
	status = pt_blk_sync_forward(decoder);
	while (status & pts_event_pending)
		status = pt_blk_event(decoder, &event, sizeof(event));
	assert_int_equal(event.type, ptev_overflow);
	assert_int_equal(fixture->nstates, 4);
	assert_int_equal(fixture->state[1], ptds_enabled);
	assert_int_equal(fixture->state[2], ptds_unknown);
	assert_int_equal(fixture->state[3], ptds_enabled);
	pt_blk_free_decoder(decoder);
}

static void a_null_callback_is_not_subscribed(void **state)
{
	struct fixture *fixture = *state;

	fixture->obsv.tick.callback = NULL;
	attach(fixture);
	assert_int_equal(decode(fixture), 10);
	assert_int_equal(fixture->nticks, 0);
	assert_int_equal(fixture->nstates, 5);
}

static void several_observers_are_all_called(void **state)
{
	struct fixture *fixture = *state;
	struct fixture second = {.obsv = fixture->obsv};

	second.obsv.context = &second;
	second.obsv.tick.limit = 400;
	attach(fixture);
	assert_int_equal(pt_blk_attach_obsv(fixture->decoder, &second.obsv), 0);
	assert_int_equal(decode(fixture), 10);
	ticks_are(fixture, 5, (const uint64_t[]){100, 200, 300, 400, 500});
	ticks_are(&second, 2, (const uint64_t[]){400, 500});
}

static void a_negative_result_reaches_the_caller(void **state)
{
	struct fixture *fixture = *state;

	fixture->obsv.tick.limit = 200;
	fixture->result = -pte_bad_context;
	attach(fixture);
	assert_int_equal(decode(fixture), -pte_bad_context);
	ticks_are(fixture, 1, (const uint64_t[]){200});
}

static void a_negative_result_in_sync_reaches_the_caller(void **state)
{
	struct fixture *fixture = *state;

	fixture->result = -pte_nomem;
	attach(fixture);
	assert_int_equal(pt_blk_sync_forward(fixture->decoder), -pte_nomem);
}

static void decoding_goes_on_behind_an_observers_error(void **state)
{
	struct fixture *fixture = *state;
	struct pt_block block = {0};
	struct pt_event event;

	fixture->obsv.tick.limit = 200;
	attach(fixture);
	assert_int_equal(pt_blk_sync_forward(fixture->decoder), pts_event_pending | pts_ip_suppressed);
	while (pt_blk_event(fixture->decoder, &event, sizeof(event)) & pts_event_pending)
		;
	assert_int_equal(event.type, ptev_enabled);
	fixture->result = -pte_bad_context;
	/* The block that was complete when the observer failed is handed out together with the error. */
	assert_int_equal(pt_blk_next(fixture->decoder, &block, sizeof(block)), -pte_bad_context);
	assert_int_equal(block.ninsn, 2);
	fixture->result = 0;
	assert_int_equal(pt_blk_next(fixture->decoder, &block, sizeof(block)), 0);
	assert_int_equal(block.ip, 0x1000);
}

static void move_limit_to_400(struct fixture *fixture, uint64_t tsc)
{
	(void)tsc;
	fixture->obsv.tick.limit = 400;
}

static void a_limit_in_the_future_postpones(void **state)
{
	struct fixture *fixture = *state;

	fixture->in_tick = move_limit_to_400;
	attach(fixture);
	assert_int_equal(decode(fixture), 10);
	ticks_are(fixture, 3, (const uint64_t[]){100, 400, 500});
}

static void move_limit_into_the_past(struct fixture *fixture, uint64_t tsc)
{
	fixture->obsv.tick.limit = tsc - 50;
}

static void a_limit_in_the_past_does_not_tick_twice_for_one_moment(void **state)
{
	struct fixture *fixture = *state;

	fixture->in_tick = move_limit_into_the_past;
	attach(fixture);
	assert_int_equal(decode(fixture), 10);
	ticks_are(fixture, 5, (const uint64_t[]){100, 200, 300, 400, 500});
}

static void move_limit_when_disabled(struct fixture *fixture, enum pt_decode_state state)
{
	/* At 400, where the limit was not reached. */
	if (state == ptds_disabled && fixture->nstates > 1)
		fixture->obsv.tick.limit = 350;
}

static void a_limit_that_has_passed_makes_it_due_again(void **state)
{
	struct fixture *fixture = *state;

	fixture->obsv.tick.limit = 1000;
	fixture->in_state = move_limit_when_disabled;
	attach(fixture);
	assert_int_equal(decode(fixture), 10);
	ticks_are(fixture, 2, (const uint64_t[]){400, 500});
}

static void detach_at_300(struct fixture *fixture, uint64_t tsc)
{
	if (tsc < 300)
		return;
	fixture->obsv.tick.callback = NULL;
	fixture->obsv.state.callback = NULL;
}

static void all_callbacks_null_detaches(void **state)
{
	struct fixture *fixture = *state;

	fixture->in_tick = detach_at_300;
	attach(fixture);
	assert_int_equal(decode(fixture), 10);
	ticks_are(fixture, 3, (const uint64_t[]){100, 200, 300});

	/* It may be attached again, to another decoder too. */
	fixture->obsv.tick.callback = on_tick;
	fixture->in_tick = NULL;
	attach(fixture);
	assert_true(pt_blk_sync_set(fixture->decoder, 0) >= 0);
	ticks_are(fixture, 4, (const uint64_t[]){100, 200, 300, 100});
}

static void drop_only_the_tick(struct fixture *fixture, uint64_t tsc)
{
	(void)tsc;
	fixture->obsv.tick.callback = NULL;
}

static void one_callback_may_be_given_up(void **state)
{
	struct fixture *fixture = *state;

	fixture->in_tick = drop_only_the_tick;
	attach(fixture);
	assert_int_equal(decode(fixture), 10);
	assert_int_equal(fixture->nticks, 1);
	assert_int_equal(fixture->nstates, 5);
}

static void call_what_is_allowed(struct fixture *fixture, uint64_t tsc)
{
	struct pt_asid asid;
	uint64_t time, offset;

	if (tsc < 200)
		return;
	assert_int_equal(pt_blk_time(fixture->decoder, &time, NULL, NULL), 0);
	assert_int_equal(time, tsc);
	assert_int_equal(pt_blk_asid(fixture->decoder, &asid, sizeof(asid)), 0);
	assert_int_equal(pt_blk_get_offset(fixture->decoder, &offset), 0);
	assert_int_equal(pt_blk_get_sync_offset(fixture->decoder, &offset), 0);
	assert_non_null(pt_blk_get_config(fixture->decoder));
	assert_ptr_equal(pt_blk_get_image(fixture->decoder), fixture->image);
	assert_int_equal(pt_blk_set_image(fixture->decoder, fixture->image), 0);
}

static void call_what_is_not_allowed(struct fixture *fixture, uint64_t tsc)
{
	struct pt_block block;
	struct pt_event event;
	struct pt_run run;

	(void)tsc;
	assert_int_equal(pt_blk_next(fixture->decoder, &block, sizeof(block)), -pte_invalid);
	assert_int_equal(pt_blk_run(fixture->decoder, &run, sizeof(run)), -pte_invalid);
	assert_int_equal(pt_blk_event(fixture->decoder, &event, sizeof(event)), -pte_invalid);
	assert_int_equal(pt_blk_sync_forward(fixture->decoder), -pte_invalid);
	assert_int_equal(pt_blk_sync_backward(fixture->decoder), -pte_invalid);
	assert_int_equal(pt_blk_sync_set(fixture->decoder, 0), -pte_invalid);
}

static void functions_that_do_not_move_are_allowed_inside(void **state)
{
	struct fixture *fixture = *state;

	fixture->in_tick = call_what_is_allowed;
	attach(fixture);
	assert_int_equal(decode(fixture), 10);
	assert_int_equal(fixture->nticks, 5);
}

static void functions_that_move_are_invalid_inside(void **state)
{
	struct fixture *fixture = *state;

	fixture->in_tick = call_what_is_not_allowed;
	attach(fixture);
	assert_int_equal(decode(fixture), 10);
	assert_int_equal(fixture->nticks, 5);
}

static void swap_at_300(struct fixture *fixture, uint64_t tsc)
{
	if (tsc == 300)
		pt_blk_set_image(fixture->decoder, fixture->other_image);
}

/* With the other image an iteration is one instruction, not two: those at 100 and 200 have two, those at
 * 300, 400 and 500 one. */
static void an_image_swapped_in_a_tick_counts_at_once(void **state)
{
	struct fixture *fixture = *state;

	fixture->in_tick = swap_at_300;
	attach(fixture);
	assert_int_equal(decode(fixture), 2 + 2 + 1 + 1 + 1);
}

static void swap_when_enabled_again(struct fixture *fixture, enum pt_decode_state state)
{
	if (state == ptds_enabled && fixture->nstates > 2)
		pt_blk_set_image(fixture->decoder, fixture->other_image);
}

static void an_image_swapped_in_a_state_change_counts_at_once(void **state)
{
	struct fixture *fixture = *state;

	fixture->in_state = swap_when_enabled_again;
	attach(fixture);
	assert_int_equal(decode(fixture), 4 * 2 + 1);
}

static void change_image_at_300(struct fixture *fixture, uint64_t tsc)
{
	if (tsc == 300)
		assert_int_equal(pt_image_add_file(fixture->image, fixture->other.path, 0, 5, NULL, 0x1000),
		                 0);
}

static void an_image_changed_in_a_tick_counts_at_once(void **state)
{
	struct fixture *fixture = *state;

	fixture->in_tick = change_image_at_300;
	attach(fixture);
	assert_int_equal(decode(fixture), 2 + 2 + 1 + 1 + 1);
}

/* Past the events, which are nobody's here, to the next instruction. */
static int next_insn(struct pt_insn_decoder *decoder, int status, struct pt_insn *insn)
{
	struct pt_event event;

	while (status >= 0 && (status & pts_event_pending))
		status = pt_insn_event(decoder, &event, sizeof(event));
	return status < 0 ? status : pt_insn_next(decoder, insn, sizeof(*insn));
}

static void the_instruction_decoder_has_observers_too(void **state)
{
	struct fixture *fixture = *state;
	struct pt_config config = trace_config(&fixture->trace);
	struct pt_insn_decoder *decoder = pt_insn_alloc_decoder(&config);
	int status, ninsn = 0;

	assert_int_equal(pt_insn_set_image(decoder, fixture->image), 0);
	assert_int_equal(pt_insn_attach_obsv(decoder, &fixture->obsv), 0);
	status = pt_insn_sync_forward(decoder);
	while (status >= 0) {
		struct pt_insn insn = {0};

		status = next_insn(decoder, status, &insn);
		ninsn += insn.size != 0;
	}
	assert_int_equal(status, -pte_eos);
	assert_int_equal(ninsn, 10);
	ticks_are(fixture, 5, (const uint64_t[]){100, 200, 300, 400, 500});
	assert_int_equal(fixture->nstates, 5);
	pt_insn_free_decoder(decoder);
}

/* The context is the code at 0x1000, of five bytes. */
static int read_code(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip, void *context)
{
	const uint8_t *code = context;
	size_t n = 0;

	(void)asid;
	for (; n < size && ip - 0x1000 + n < 5; n++)
		buffer[n] = code[ip - 0x1000 + n];
	return n ? (int)n : -pte_nomap;
}

static void swap_insn_image(struct fixture *fixture, uint64_t tsc)
{
	if (tsc == 300)
		pt_insn_set_image(fixture->insn_decoder, fixture->other_image);
}

/* They were read from the image that was there after the swap: NOP has one byte, 90, and JZ two, 74 and the
 * distance. */
static void bytes_are_those_of_the_image_that_was_decoded(void **state)
{
	struct fixture *fixture = *state;
	struct pt_config config = trace_config(&fixture->trace);
	struct pt_insn_decoder *decoder = pt_insn_alloc_decoder(&config);
	int status, ninsn = 0;

	pt_image_remove_by_asid(fixture->image, NULL);
	pt_image_set_callback(fixture->image, read_code, (void *)loop_code);
	pt_image_remove_by_asid(fixture->other_image, NULL);
	pt_image_set_callback(fixture->other_image, read_code, (void *)other_code);
	fixture->insn_decoder = decoder;
	fixture->in_tick = swap_insn_image;
	assert_int_equal(pt_insn_set_image(decoder, fixture->image), 0);
	assert_int_equal(pt_insn_attach_obsv(decoder, &fixture->obsv), 0);
	status = pt_insn_sync_forward(decoder);
	while (status >= 0) {
		struct pt_insn insn = {0};

		status = next_insn(decoder, status, &insn);
		if (insn.size)
			assert_int_equal(insn.raw[0], insn.size == 1 ? 0x90 : 0x74);
		ninsn += insn.size != 0;
	}
	assert_int_equal(ninsn, 2 + 2 + 1 + 1 + 1);
	pt_insn_free_decoder(decoder);
}

#define observer_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        observer_test(null_arguments_are_invalid),
	        observer_test(attached_twice_is_invalid),
	        observer_test(freeing_the_decoder_detaches),
	        observer_test(ticks_at_every_change_of_time),
	        observer_test(ticks_only_from_the_limit_on),
	        observer_test(state_is_called_when_it_changes),
	        observer_test(synchronising_again_makes_the_state_unknown),
	        observer_test(an_overflow_makes_the_state_unknown),
	        observer_test(a_null_callback_is_not_subscribed),
	        observer_test(several_observers_are_all_called),
	        observer_test(a_negative_result_reaches_the_caller),
	        observer_test(a_negative_result_in_sync_reaches_the_caller),
	        observer_test(decoding_goes_on_behind_an_observers_error),
	        observer_test(a_limit_in_the_future_postpones),
	        observer_test(a_limit_in_the_past_does_not_tick_twice_for_one_moment),
	        observer_test(a_limit_that_has_passed_makes_it_due_again),
	        observer_test(all_callbacks_null_detaches),
	        observer_test(one_callback_may_be_given_up),
	        observer_test(functions_that_do_not_move_are_allowed_inside),
	        observer_test(functions_that_move_are_invalid_inside),
	        observer_test(an_image_swapped_in_a_tick_counts_at_once),
	        observer_test(an_image_swapped_in_a_state_change_counts_at_once),
	        observer_test(an_image_changed_in_a_tick_counts_at_once),
	        observer_test(the_instruction_decoder_has_observers_too),
	        observer_test(bytes_are_those_of_the_image_that_was_decoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
