/* test_crossing.c - execution goes to and fro between the halves of the address space, as between a program
 * and the kernel: whoever asked is told before anything is read there, and may exchange the image.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <intel-pt-run.h>

#include "support/flow_text.h"
#include "support/stream.h"

#define KERNEL 0xffffffff80001000ull
#define USER   0x1000ull

/* 1000: nop; je 1000; jmp *rax */
static const uint8_t code[] = {0x90, 0x74, 0xfd, 0xff, 0xe0};

struct fixture {
	struct stream stream;
	struct program program;
	struct pt_image *low, *high, *both;
	struct pt_block_decoder *decoder;
	int swap;      /* exchange images when told; else both are in one */
	uint64_t last; /* the address that was told last */
	unsigned int told, blocks, runs;
	int error; /* what the callback returns */
};

static int setup(void **state)
{
	static struct fixture fixture;

	memset(&fixture, 0, sizeof(fixture));
	program_write(&fixture.program, code, sizeof(code));
	fixture.low = program_image(&fixture.program, USER);
	fixture.high = program_image(&fixture.program, KERNEL);
	fixture.both = program_image(&fixture.program, USER);
	assert_int_equal(pt_image_add_file(fixture.both, fixture.program.path, 0, sizeof(code), NULL, KERNEL),
	                 0);
	stream_write(&fixture.stream, "psb exec:64 psbend");
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	pt_blk_free_decoder(fixture->decoder);
	pt_image_free(fixture->low);
	pt_image_free(fixture->high);
	pt_image_free(fixture->both);
	program_remove(&fixture->program);
	return 0;
}

static int on_crossing(void *context, uint64_t ip)
{
	struct fixture *fixture = context;

	fixture->told += 1;
	fixture->last = ip;
	if (fixture->error)
		return fixture->error;
	assert_int_equal(pt_blk_sync_forward(fixture->decoder), -pte_invalid);
	return !fixture->swap ? 0
	                      : pt_blk_set_image(fixture->decoder, ip >> 63 ? fixture->high : fixture->low);
}

static void start(struct fixture *fixture, int swap)
{
	struct pt_config config = stream_config(&fixture->stream);

	fixture->swap = swap;
	fixture->decoder = pt_blk_alloc_decoder(&config);
	assert_non_null(fixture->decoder);
	assert_int_equal(pt_blk_set_crossing(fixture->decoder, on_crossing, fixture), 0);
	assert_int_equal(pt_blk_set_image(fixture->decoder, swap ? NULL : fixture->both), 0);
}

/* All blocks of a run lie in the half that was told last. */
static void take_run(struct fixture *fixture, const struct pt_run *run)
{
	fixture->runs += 1;
	for (uint32_t i = 0; i < run->npaths; ++i)
		for (uint32_t k = 0; k < run->path[i]->nblocks; ++k)
			assert_int_equal(run->path[i]->block[k].ip >> 63, fixture->last >> 63);
	fixture->blocks += run->nblocks;
}

static int decode_runs(struct fixture *fixture, int inside)
{
	int status;

	assert_int_equal(pt_blk_set_run_events(fixture->decoder, inside), 0);
	status = pt_blk_sync_forward(fixture->decoder);
	while (status >= 0 && !(status & pts_eos)) {
		struct pt_run run;
		struct pt_event event;

		if (!inside && (status & pts_event_pending)) {
			status = pt_blk_event(fixture->decoder, &event, sizeof(event));
			continue;
		}
		status = pt_blk_run(fixture->decoder, &run, sizeof(run));
		take_run(fixture, &run);
	}
	return status;
}

static int decode_blocks(struct fixture *fixture)
{
	int status = pt_blk_sync_forward(fixture->decoder);

	while (status >= 0 && !(status & pts_eos)) {
		struct pt_block block;
		struct pt_event event;

		if (status & pts_event_pending) {
			status = pt_blk_event(fixture->decoder, &event, sizeof(event));
			continue;
		}
		status = pt_blk_next(fixture->decoder, &block, sizeof(block));
		if (!block.ninsn)
			continue;
		assert_int_equal(block.ip >> 63, fixture->last >> 63);
		fixture->blocks += 1;
	}
	return status;
}

enum { TIMES = 40 };

/* Two blocks in each half, each time round; with packets that make windows across the crossing. */
static void write_to_and_fro(struct fixture *fixture)
{
	stream_write(&fixture->stream, "pge:1000");
	for (int i = 0; i < TIMES; ++i)
		stream_write(&fixture->stream, "tnt:10 tip:ffffffff80001000 tnt:10 tip:1000");
	stream_write(&fixture->stream, "tnt:0 pgd:- pad pad pad pad pad pad pad pad");
}

enum { BLOCKS = 2 * TIMES * 3 + 2, CROSSINGS = 2 * TIMES + 1 };

static void check_end(struct fixture *fixture, int status)
{
	assert_true(status == -pte_eos || (status >= 0 && (status & pts_eos)));
	assert_int_equal(fixture->told, CROSSINGS);
	assert_int_equal(fixture->blocks, BLOCKS);
	pt_blk_free_decoder(fixture->decoder);
	fixture->decoder = NULL;
	fixture->told = fixture->blocks = 0;
}

static void runs_tell_each_crossing(void **state)
{
	struct fixture *fixture = *state;

	write_to_and_fro(fixture);
	for (int swap = 0; swap < 2; ++swap)
		for (int inside = 0; inside < 2; ++inside) {
			start(fixture, swap);
			check_end(fixture, decode_runs(fixture, inside));
		}
}

static void blocks_tell_each_crossing(void **state)
{
	struct fixture *fixture = *state;

	write_to_and_fro(fixture);
	for (int swap = 0; swap < 2; ++swap) {
		start(fixture, swap);
		check_end(fixture, decode_blocks(fixture));
	}
}

/* The second pass of the same decoder finds its ways in the cache. */
static void cached_ways_tell_as_well(void **state)
{
	struct fixture *fixture = *state;
	int status;

	write_to_and_fro(fixture);
	start(fixture, 1);
	for (int pass = 0; pass < 3; ++pass) {
		struct pt_config config = stream_config(&fixture->stream);

		assert_int_equal(pt_blk_set_buffer(fixture->decoder, config.begin, config.end), 0);
		fixture->told = fixture->blocks = 0;
		status = decode_runs(fixture, 1);
	}
	check_end(fixture, status);
}

/* Behind a PSB, nobody says in which half execution was: it is told again. */
static void told_again_behind_a_psb(void **state)
{
	struct fixture *fixture = *state;

	stream_write(&fixture->stream, "pge:1000 tnt:1 psb exec:64 fup:1000 psbend tnt:10 tip:1000 pgd:-");
	start(fixture, 1);
	decode_runs(fixture, 1);
	assert_int_equal(fixture->told, 2);
	assert_int_equal(fixture->last, 0x1000);
}

/* A virtual machine has its own addresses, however much they look like those before: whoever asked is told
 * when execution comes there, and when it comes back. */
static void a_virtual_machine_is_told(void **state)
{
	struct fixture *fixture = *state;

	stream_write(&fixture->stream, "pge:1000 fup:1000 pip:20000,1 tip:1000 tnt:1");
	start(fixture, 1);
	assert_int_equal(pt_blk_is_non_root(fixture->decoder), 0);
	decode_runs(fixture, 1);
	assert_int_equal(fixture->told, 2);
	assert_int_equal(pt_blk_is_non_root(fixture->decoder), 1);
	pt_blk_free_decoder(fixture->decoder);
	stream_write(&fixture->stream, "fup:1000 pip:20000,0 tip:1000 pgd:-");
	start(fixture, 1);
	fixture->told = 0;
	decode_runs(fixture, 1);
	assert_int_equal(fixture->told, 3);
	assert_int_equal(pt_blk_is_non_root(fixture->decoder), 0);
	assert_int_equal(pt_blk_is_non_root(NULL), -pte_invalid);
}

static void errors_are_handed_on(void **state)
{
	struct fixture *fixture = *state;
	struct pt_run run;

	write_to_and_fro(fixture);
	start(fixture, 1);
	fixture->error = -pte_nomem;
	assert_int_equal(pt_blk_set_run_events(fixture->decoder, 1), 0);
	assert_true(pt_blk_sync_forward(fixture->decoder) >= 0);
	assert_true(pt_blk_run(fixture->decoder, &run, sizeof(run)) >= 0);
	assert_true(run.nevents > 0); /* that tracing was enabled, and what PSB+ says */
	assert_int_equal(pt_blk_run(fixture->decoder, &run, sizeof(run)), -pte_nomem);
	assert_int_equal(run.nblocks, 0);
	assert_int_equal(pt_blk_set_crossing(NULL, on_crossing, fixture), -pte_invalid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(runs_tell_each_crossing, setup, teardown),
	        cmocka_unit_test_setup_teardown(blocks_tell_each_crossing, setup, teardown),
	        cmocka_unit_test_setup_teardown(cached_ways_tell_as_well, setup, teardown),
	        cmocka_unit_test_setup_teardown(told_again_behind_a_psb, setup, teardown),
	        cmocka_unit_test_setup_teardown(a_virtual_machine_is_told, setup, teardown),
	        cmocka_unit_test_setup_teardown(errors_are_handed_on, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
