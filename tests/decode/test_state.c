/* test_state.c - pt_blk_save_state() and pt_blk_is_in_state(): whether two decoders go on alike. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "intel-pt-run.h"
#include "support/trace.h"

/* 1000 jne 1000  1002 call 1007  1007 nop  1008 ret */
static const uint8_t code[] = {0x75, 0xfe, 0xe8, 0x00, 0x00, 0x00, 0x00, 0x90, 0xc3};

struct fixture {
	struct program program;
	struct pt_image *image;
	struct trace trace;
	uint64_t psb[3]; /* where they are */
};

static void put_psb(struct fixture *fixture, int n, uint64_t tsc)
{
	struct trace *trace = &fixture->trace;

	fixture->psb[n] = trace->size;
	trace_psb(trace);
	trace_tsc(trace, tsc);
	trace_mode64(trace);
	trace_ip(trace, ppt_fup, 0x1000);
	trace_psbend(trace);
}

static int setup(void **state)
{
	static struct fixture fixture;

	fixture = (struct fixture){0};
	program_write(&fixture.program, code, sizeof(code));
	fixture.image = program_image(&fixture.program, 0x1000);
	put_psb(&fixture, 0, 100);
	trace_tnt(&fixture.trace, "ttt");
	put_psb(&fixture, 1, 200);
	trace_tnt(&fixture.trace, "tt");
	put_psb(&fixture, 2, 300);
	trace_tnt(&fixture.trace, "t");
	trace_ip_suppressed(&fixture.trace, ppt_tip_pgd);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	pt_image_free(fixture->image);
	program_remove(&fixture->program);
	return 0;
}

static int fetch_events(struct pt_block_decoder *decoder, int status)
{
	struct pt_event event;

	while (status >= 0 && status & pts_event_pending)
		status = pt_blk_event(decoder, &event, sizeof(event));
	return status;
}

/* A decoder that began at one PSB, and has come to another one. */
static struct pt_block_decoder *decoder_at(struct fixture *fixture, int from, int to)
{
	struct pt_config config = trace_config(&fixture->trace);
	struct pt_block_decoder *decoder = pt_blk_alloc_decoder(&config);
	uint64_t passed = 0, read;
	struct pt_run run;
	int status;

	assert_non_null(decoder);
	assert_int_equal(pt_blk_set_image(decoder, fixture->image), 0);
	status = fetch_events(decoder, pt_blk_sync_set(decoder, fixture->psb[from]));
	for (;;) {
		assert_true(status >= 0);
		assert_int_equal(pt_blk_get_psb_offset(decoder, &passed, &read), 0);
		if (passed >= fixture->psb[to])
			break;
		status = fetch_events(decoder, pt_blk_run(decoder, &run, sizeof(run)));
	}
	assert_int_equal(passed, fixture->psb[to]);
	return decoder;
}

static int is_in_state_of(struct fixture *fixture, int from, int to, int other_from, int other_to)
{
	struct pt_block_decoder *decoder = decoder_at(fixture, from, to);
	struct pt_block_decoder *other = decoder_at(fixture, other_from, other_to);
	struct pt_run_state *state = pt_blk_save_state(other);
	int is;

	assert_non_null(state);
	assert_int_equal(pt_blk_is_in_state(other, state), 1);
	is = pt_blk_is_in_state(decoder, state);
	pt_run_state_free(state);
	pt_blk_free_decoder(decoder);
	pt_blk_free_decoder(other);
	return is;
}

static void who_comes_to_a_psb_is_as_who_begins_there(void **state)
{
	assert_int_equal(is_in_state_of(*state, 0, 1, 1, 1), 1);
	assert_int_equal(is_in_state_of(*state, 0, 2, 2, 2), 1);
	assert_int_equal(is_in_state_of(*state, 1, 2, 0, 2), 1);
}

static void another_place_is_another_state(void **state)
{
	assert_int_equal(is_in_state_of(*state, 0, 1, 0, 2), 0);
	assert_int_equal(is_in_state_of(*state, 0, 0, 1, 1), 0);
}

static void behind_the_psb_it_is_another_state(void **state)
{
	struct pt_block_decoder *decoder = decoder_at(*state, 0, 1);
	struct pt_run_state *saved = pt_blk_save_state(decoder);
	struct pt_run run;

	assert_non_null(saved);
	assert_true(pt_blk_run(decoder, &run, sizeof(run)) >= 0);
	assert_int_equal(pt_blk_is_in_state(decoder, saved), 0);
	pt_run_state_free(saved);
	pt_blk_free_decoder(decoder);
}

static void what_is_not_there_is_refused(void **state)
{
	struct pt_block_decoder *decoder = decoder_at(*state, 0, 0);

	assert_null(pt_blk_save_state(NULL));
	assert_int_equal(pt_blk_is_in_state(decoder, NULL), -pte_invalid);
	assert_int_equal(pt_blk_is_in_state(NULL, NULL), -pte_invalid);
	pt_run_state_free(NULL);
	pt_blk_free_decoder(decoder);
}

/* Once more from the same place, with other code: the first decoder goes on as if nothing had been. */
static void another_decoder_goes_on_from_the_same_place(void **state)
{
	/* 1000 nop  1001 nop  1002 nop  1003 jne 1000 */
	static const uint8_t other_code[] = {0x90, 0x90, 0x90, 0x75, 0xfb};
	struct fixture *fixture = *state;
	struct pt_block_decoder *decoder = decoder_at(fixture, 0, 1), *scout = decoder_at(fixture, 0, 0);
	struct pt_run_state *saved = pt_blk_save_state(decoder);
	struct program program;
	struct pt_image *image;
	struct pt_run run, tried;

	assert_non_null(saved);
	program_write(&program, other_code, sizeof(other_code));
	image = program_image(&program, 0x1000);
	assert_int_equal(pt_blk_set_image(scout, image), 0);
	assert_int_equal(pt_blk_copy_state(scout, decoder), 0);
	assert_int_equal(pt_blk_is_in_state(scout, saved), 1);
	assert_true(pt_blk_run(scout, &tried, sizeof(tried)) >= 0);
	assert_int_equal(tried.ninsn, 8);
	assert_int_equal(tried.tsc, 200);
	assert_int_equal(pt_blk_is_in_state(decoder, saved), 1);
	assert_true(pt_blk_run(decoder, &run, sizeof(run)) >= 0);
	assert_int_equal(run.ninsn, 2);
	assert_int_equal(run.path[0]->block[0].end_ip, 0x1000);
	pt_run_state_free(saved);
	pt_blk_free_decoder(scout);
	pt_blk_free_decoder(decoder);
	pt_image_free(image);
	program_remove(&program);
}

/* Runs until it fails; all instructions before. */
static uint64_t run_to_failure(struct pt_block_decoder *decoder, int *errcode)
{
	struct pt_run run;
	uint64_t ninsn = 0;
	int status = 0;

	do {
		status = fetch_events(decoder, status);
		if (status >= 0)
			status = pt_blk_run(decoder, &run, sizeof(run));
		ninsn += run.ninsn;
	} while (status >= 0);
	*errcode = status;
	return ninsn;
}

/* The code at 1002 is not there at first. Who goes on is not told apart from who always had it; and who is a
 * copy can do the same. */
static void with_code_that_was_missing_it_goes_on(void **state)
{
	struct fixture *fixture = *state;
	struct pt_config config;
	struct pt_block_decoder *decoder, *scout;
	struct pt_image *part = pt_image_alloc(NULL);
	uint64_t rest;
	int errcode, expected;

	fixture->trace.size = 0;
	put_psb(fixture, 0, 100);
	trace_tnt(&fixture->trace, "ntn"); /* on; the return, which comes back to 1007, and needs more */
	put_psb(fixture, 1, 200);
	decoder = decoder_at(fixture, 0, 0);
	rest = run_to_failure(decoder, &expected) - 1;
	assert_true(rest > 0);
	pt_blk_free_decoder(decoder);
	decoder = decoder_at(fixture, 0, 0);
	config = trace_config(&fixture->trace);
	scout = pt_blk_alloc_decoder(&config);
	assert_int_equal(pt_image_add_file(part, fixture->program.path, 0, 2, NULL, 0x1000), 0);
	assert_int_equal(pt_blk_set_image(decoder, part), 0);
	assert_int_equal(pt_blk_set_image(scout, fixture->image), 0);
	assert_int_equal(pt_blk_retry(NULL), -pte_invalid);
	assert_int_equal(pt_blk_retry(decoder), -pte_invalid);
	assert_int_equal(run_to_failure(decoder, &errcode), 1);
	assert_int_equal(errcode, -pte_nomap);
	assert_int_equal(pt_blk_copy_state(scout, decoder), -pte_nomap);
	assert_int_equal(pt_blk_retry(scout), 0);
	assert_int_equal(run_to_failure(scout, &errcode), rest);
	assert_int_equal(errcode, expected);
	assert_int_equal(pt_blk_retry(scout), -pte_invalid);
	/* As long as there is no code, it fails again. */
	assert_int_equal(pt_blk_retry(decoder), 0);
	assert_int_equal(run_to_failure(decoder, &errcode), 0);
	assert_int_equal(errcode, -pte_nomap);
	assert_int_equal(pt_image_add_file(part, fixture->program.path, 2, sizeof(code) - 2, NULL, 0x1002),
	                 0);
	assert_int_equal(pt_blk_retry(decoder), 0);
	assert_int_equal(run_to_failure(decoder, &errcode), rest);
	assert_int_equal(errcode, expected);
	pt_blk_free_decoder(scout);
	pt_blk_free_decoder(decoder);
	pt_image_free(part);
}

static void a_state_is_copied_from_who_was_synchronised(void **state)
{
	struct fixture *fixture = *state;
	struct pt_config config = trace_config(&fixture->trace);
	struct pt_block_decoder *decoder = decoder_at(fixture, 0, 0), *none = pt_blk_alloc_decoder(&config);

	assert_int_equal(pt_blk_copy_state(decoder, none), -pte_invalid);
	assert_int_equal(pt_blk_copy_state(decoder, decoder), -pte_invalid);
	assert_int_equal(pt_blk_copy_state(decoder, NULL), -pte_invalid);
	assert_int_equal(pt_blk_copy_state(NULL, decoder), -pte_invalid);
	assert_int_equal(pt_blk_copy_state(none, decoder), 0);
	pt_blk_free_decoder(none);
	pt_blk_free_decoder(decoder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(who_comes_to_a_psb_is_as_who_begins_there, setup, teardown),
	        cmocka_unit_test_setup_teardown(another_place_is_another_state, setup, teardown),
	        cmocka_unit_test_setup_teardown(behind_the_psb_it_is_another_state, setup, teardown),
	        cmocka_unit_test_setup_teardown(what_is_not_there_is_refused, setup, teardown),
	        cmocka_unit_test_setup_teardown(another_decoder_goes_on_from_the_same_place, setup, teardown),
	        cmocka_unit_test_setup_teardown(with_code_that_was_missing_it_goes_on, setup, teardown),
	        cmocka_unit_test_setup_teardown(a_state_is_copied_from_who_was_synchronised, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
