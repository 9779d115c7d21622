/* test_resync_whole.c - pt_blk_resync_whole(): behind an error, decoding goes on only at an address that a
 * packet holds as a whole; parts of addresses complete what may have been damaged.
 *
 * The code is at 0x1000: nop; jmp *%rax; je 1003; syscall. What is at 0x5000 is not known. An address after
 * '~' is written in two bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <intel-pt-run.h>

#include "support/stream.h"
#include "support/trace.h"

static const char code[] = "\x90\xff\xe0\x74\xfe\x0f\x05";

struct fixture {
	struct stream stream;
	struct program program;
	struct pt_image *image;
	struct pt_block_decoder *decoder;
};

static int setup(void **state)
{
	static struct fixture fixture;

	fixture = (struct fixture){0};
	program_write(&fixture.program, code, sizeof(code) - 1);
	fixture.image = program_image(&fixture.program, 0x1000);
	stream_write(&fixture.stream, "psb exec:64 fup:1000 psbend");
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	pt_blk_free_decoder(fixture->decoder);
	pt_image_free(fixture->image);
	program_remove(&fixture->program);
	return 0;
}

/* Fetches events; returns the status of the first block that could not be had, the address of the first that
 * could in *ip. */
static int run_on(struct fixture *fixture, int status, uint64_t *ip)
{
	struct pt_event event;
	struct pt_block block;

	*ip = 0;
	while (status >= 0) {
		if (status & pts_event_pending) {
			status = pt_blk_event(fixture->decoder, &event, sizeof(event));
			continue;
		}
		if (status & pts_eos)
			break;
		block = (struct pt_block){0};
		status = pt_blk_next(fixture->decoder, &block, sizeof(block));
		if (!*ip && block.ninsn)
			*ip = block.ip;
	}
	return status;
}

/* Runs into missing code, and then goes on at @ip. */
static void assert_goes_on_at(struct fixture *fixture, const char *trace, uint64_t ip)
{
	struct pt_config config;
	uint64_t first;

	stream_write(&fixture->stream, trace);
	config = stream_config(&fixture->stream);
	fixture->decoder = pt_blk_alloc_decoder(&config);
	assert_non_null(fixture->decoder);
	assert_int_equal(pt_blk_set_image(fixture->decoder, fixture->image), 0);
	assert_int_equal(run_on(fixture, pt_blk_sync_forward(fixture->decoder), &first), -pte_nomap);
	assert_int_equal(first, 0x1000);
	run_on(fixture, pt_blk_resync_whole(fixture->decoder), &first);
	assert_int_equal(first, ip);
}

static void parts_of_addresses_are_passed_over(void **state)
{
	assert_goes_on_at(*state, "tip:5000 tnt:1 tip:~1001 tip:~1003 tip:1003 tnt:0", 0x1003);
}

/* The packet was read ahead when the error was found. */
static void a_whole_address_that_was_read_counts(void **state)
{
	assert_goes_on_at(*state, "tip:5000 tip:1003 tnt:0", 0x1003);
}

/* Parts behind a whole address complete that one. */
static void parts_behind_a_whole_address_are_good(void **state)
{
	assert_goes_on_at(*state, "tip:5000 tnt:1 tip:~1001 tip:1001 tip:~1003 tnt:0", 0x1001);
}

/* As when a program whose code is missing is interrupted: where it was is not known, but where the kernel
 * begins. */
static void an_interrupt_leads_to_its_target(void **state)
{
	assert_goes_on_at(*state, "tip:5000 tnt:1 fup:~5002 tip:1003 tnt:0", 0x1003);
}

static void an_interrupt_that_was_read_leads_there_too(void **state)
{
	assert_goes_on_at(*state, "tip:5000 fup:~5002 tip:1003 tnt:0", 0x1003);
}

static void an_interrupt_behind_a_part_is_not_passed_over(void **state)
{
	assert_goes_on_at(*state, "tip:5000 tnt:1 tip:~5004 fup:~5002 tip:1003 tnt:0", 0x1003);
}

/* The packets that come with an interrupt hold at its target. */
static void what_else_the_interrupt_changes_holds(void **state)
{
	struct fixture *fixture = *state;
	struct pt_asid asid = {.size = sizeof(asid)};

	assert_goes_on_at(fixture, "tip:5000 tnt:1 fup:~5002 pip:7000,0 tip:1003 tnt:0", 0x1003);
	assert_int_equal(pt_blk_asid(fixture->decoder, &asid, sizeof(asid)), 0);
	assert_int_equal(asid.cr3, 0x7000);
}

static void an_interrupt_to_a_part_is_passed_over(void **state)
{
	assert_goes_on_at(*state, "tip:5000 tnt:1 fup:~5002 tip:~1001 tip:~1003 pgd:- pge:1003 tnt:0",
	                  0x1003);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(parts_of_addresses_are_passed_over),
	        TEST(a_whole_address_that_was_read_counts),
	        TEST(parts_behind_a_whole_address_are_good),
	        TEST(an_interrupt_leads_to_its_target),
	        TEST(an_interrupt_that_was_read_leads_there_too),
	        TEST(an_interrupt_behind_a_part_is_not_passed_over),
	        TEST(what_else_the_interrupt_changes_holds),
	        TEST(an_interrupt_to_a_part_is_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
