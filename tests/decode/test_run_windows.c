/* test_run_windows.c - ways that the same bytes of trace must not lead the same: other callers, another depth
 * of calls, another last IP, address space or image; and the cache when it is full.
 *
 * Each trace repeats its windows, so that they are recorded and then found. flow_text() asserts that
 * instructions, blocks and runs say the same; run_use(), that there were paths out of the cache.
 */
#include "run_fixture.h"

/* All faces agree up to the end of the trace; so many paths with a number came at least, unless the test was
 * started with another cache. */
static void check(struct fixture *fixture, uint32_t least)
{
	struct pt_config config;

	stream_write(&fixture->stream, "pgd:- pad pad pad pad pad pad pad pad");
	config = stream_config(&fixture->stream);
	flow_text(&fixture->flow, &config, fixture->image);
	assert_non_null(strstr(fixture->flow.text, "[disabled] eos"));
	for (int inside = 0; inside < 2; ++inside) {
		const struct run_use use = run_use(&config, fixture->image, inside);

		assert_int_equal(use.status, -pte_eos);
		if (!fixture->limit)
			assert_true(use.numbered >= least);
	}
}

/* How often the word stands in the flow. */
static int count(const struct fixture *fixture, const char *word)
{
	const char *text = fixture->flow.text;
	int n = 0;

	while ((text = strstr(text, word))) {
		text += strlen(word);
		++n;
	}
	return n;
}

static void windows_of_tnt_and_tip(void **state)
{
	struct fixture *fixture = *state;

	load(fixture, "\x90\x74\xfd\xff\xe0", 5); /* nop; je 1000; jmp *rax */
	stream_write(&fixture->stream, "pge:1000");
	repeat(fixture, 8, "tnt:111111 tnt:1110 tip:1000 tnt:0 tip:~1001 tnt:10 tip:1000");
	stream_write(&fixture->stream, "tnt:0");
	check(fixture, 10);
	assert_int_equal(count(fixture, "1003 "), 8 * 3 + 1);
}

/* The same packets with more and with fewer PADs behind them; and up to four packets, of which the second
 * address replaces less than the first, as much, or more. */
static void pads_and_packets_in_a_window(void **state)
{
	static const char *const parts[] = {
	        "tnt:0 tip:~1000 pad pad pad",
	        "tnt:0 tip:~1000",
	        "tnt:0 tip:~1000 pad",
	        "tnt:0 tip:~1000 pad pad pad pad pad pad pad pad pad pad",
	        "tnt:0 tip:~1001 tnt:11 tnt:11 pad",
	        "tnt:0 tip:~1001 tnt:10 tip:~1000",
	        "tnt:0 tip:~1000 tnt:0 tip:1000",
	        "tnt:0 tip:1000 tnt:0 tip:~1000 pad",
	        "tnt:0 tip:7001000 tnt:0 tip:~1000 pad pad tnt:0 tip:1000",
	};
	struct fixture *fixture = *state;
	uint32_t roll = 1;

	load(fixture, "\x90\x74\xfd\xff\xe0", 5);
	assert_int_equal(pt_image_add_file(fixture->image, fixture->program.path, 0, 5, NULL, 0x7001000), 0);
	stream_write(&fixture->stream, "pge:1000");
	for (int i = 0; i < 300; ++i) {
		roll = roll * 1664525u + 1013904223u;
		stream_write(&fixture->stream, parts[(roll >> 16) % 9]);
	}
	stream_write(&fixture->stream, "tnt:0");
	check(fixture, 100);
}

/* Rows of windows that come again and again, in any order, with what stands between them: whatever was found
 * one behind the other, it leads along the same way. */
static void rows_of_windows(void **state)
{
	static const char *const parts[] = {
	        "tnt:111111 tnt:111111 tnt:111111 tnt:1110 tip:1000",
	        "tnt:111111 tnt:111111 tnt:111110 tip:1000",
	        "tnt:0 tip:1001 tnt:10 tip:1000 tnt:110 tip:~1000",
	        "tnt:0 pad pad tip:1000 pad tnt:0 tip:1000",
	        "mtc:0",
	        "tnt:0 pgd:- pad pge:1000 tnt:0 pgd:- pge:1000",
	        "tnt:10 tip:1000 tnt:0 tip:1001 tnt:0 tip:1000",
	};
	struct fixture *fixture = *state;
	uint32_t roll = 1;

	load(fixture, "\x90\x74\xfd\xff\xe0", 5);
	stream_write(&fixture->stream, "pge:1000");
	for (int i = 0; i < 300; ++i) {
		roll = roll * 1664525u + 1013904223u;
		/* At first mostly one after the other. */
		stream_write(&fixture->stream,
		             parts[(roll >> 24) % 256 < 160 ? (uint32_t)i % 7 : (roll >> 16) % 7]);
	}
	stream_write(&fixture->stream, "tnt:0");
	check(fixture, 100);
}

static void long_tnts(void **state)
{
	struct fixture *fixture = *state;

	load(fixture, "\x90\x74\xfd\xff\xe0", 5);
	stream_write(&fixture->stream, "pge:1000");
	repeat(fixture, 5, "tnt:111 tnt64:1111111111111111110 tip:1000 tnt:0 tip:1000");
	stream_write(&fixture->stream, "tnt:0");
	check(fixture, 4);
}

/* The TIP stands behind bits of branches that come after it. */
static void deferred_tips(void **state)
{
	struct fixture *fixture = *state;

	load(fixture, "\x90\x74\xfd\xff\xe0", 5);
	stream_write(&fixture->stream, "pge:1000");
	repeat(fixture, 6, "tnt:10110 tip:1000 tnt:0 tip:1001 tnt:010 tip:1000 tip:1000 tip:1000");
	stream_write(&fixture->stream, "tnt:0");
	check(fixture, 4);
}

/* 1000: je 1002; ret. Callers at 1100 + 10 i: call 1000; jmp *rax. 2000: jmp *rax. */
static void many_callers(void **state)
{
	enum { callers = 14 };
	struct fixture *fixture = *state;
	uint8_t code[0x1002] = {0x74, 0x00, 0xc3};
	char text[160];

	for (int i = 0; i < callers; ++i) {
		const int32_t at = 0x100 + 0x10 * i, back = -(at + 5);

		code[at] = 0xe8;
		memcpy(code + at + 1, &back, sizeof(back));
		memcpy(code + at + 5, "\xff\xe0", 2);
	}
	memcpy(code + 0x1000, "\xff\xe0", 2);
	load(fixture, code, sizeof(code));
	stream_write(&fixture->stream, "pge:2000");
	for (int i = 0; i < 6 * callers; ++i) {
		snprintf(text, sizeof(text), "tip:%x tnt:0 tnt:1 tip:2000",
		         0x1100 + 0x10 * (i * 5 % callers));
		stream_write(&fixture->stream, text);
	}
	check(fixture, 60);
	for (int i = 0; i < callers; ++i) {
		snprintf(text, sizeof(text), " %x 1000 1002 %x 2000 ", 0x1100 + 0x10 * i, 0x1105 + 0x10 * i);
		assert_int_equal(count(fixture, text), 6);
	}
}

/* 1000: je 1008; call 1000; ret; 1008: ret. Called from 1009: call 1000; jmp *rax, so deeply that the oldest
 * calls are forgotten: their returns are not compressed. */
static void deep_calls(void **state)
{
	enum { depth = 80, remembered = 64 };
	static const uint8_t code[] = "\x74\x06\xe8\xf9\xff\xff\xff\xc3\xc3\xe8\xf2\xff\xff\xff\xff\xe0";
	struct fixture *fixture = *state;

	load(fixture, code, sizeof(code) - 1);
	stream_write(&fixture->stream, "pge:1009");
	for (int round = 0; round < 5; ++round) {
		repeat(fixture, depth, "tnt:0");
		stream_write(&fixture->stream, "tnt:1");
		repeat(fixture, remembered, "tnt:1");
		repeat(fixture, depth - remembered, "tip:1007");
		stream_write(&fixture->stream, "tip:100e tip:1009");
	}
	stream_write(&fixture->stream, "tnt:1 tnt:1");
	check(fixture, 100);
	assert_int_equal(count(fixture, " 1008 "), 6);
	assert_int_equal(count(fixture, "1007 "), 5 * depth);
}

/* What was forgotten is not there again, however it was come to. */
static void one_return_too_many(void **state)
{
	enum { depth = 80, remembered = 64 };
	static const uint8_t code[] = "\x74\x06\xe8\xf9\xff\xff\xff\xc3\xc3\xe8\xf2\xff\xff\xff\xff\xe0";
	struct fixture *fixture = *state;
	struct pt_config config;

	load(fixture, code, sizeof(code) - 1);
	stream_write(&fixture->stream, "pge:1009");
	for (int round = 0; round < 4; ++round) {
		repeat(fixture, depth, "tnt:0");
		stream_write(&fixture->stream, "tnt:1");
		repeat(fixture, remembered, "tnt:1");
		repeat(fixture, depth - remembered, "tip:1007");
		stream_write(&fixture->stream, "tip:100e tip:1009");
	}
	repeat(fixture, depth, "tnt:0");
	stream_write(&fixture->stream, "tnt:1");
	repeat(fixture, remembered + 3, "tnt:1");
	stream_write(&fixture->stream, "pad pad pad pad pad pad pad pad");
	config = stream_config(&fixture->stream);
	flow_text(&fixture->flow, &config, fixture->image);
	assert_non_null(strstr(fixture->flow.text, "retstack_empty"));
}

/* Without return compression calls are never taken off, and the stack is always full. */
static void calls_without_return_compression(void **state)
{
	struct fixture *fixture = *state;

	load(fixture, "\xe8\x02\x00\x00\x00\xff\xe0\xc3", 8); /* call 1007; jmp *rax; 1007: ret */
	stream_write(&fixture->stream, "pge:1000");
	repeat(fixture, 90, "tip:1005 tip:1000");
	stream_write(&fixture->stream, "tnt:1");
	check(fixture, 100);
	assert_int_equal(count(fixture, "1007 1005 "), 91);
}

/* Addresses of 4 bytes: what stands above them is that of the last one. */
static void addresses_in_part(void **state)
{
	struct fixture *fixture = *state;
	int high = 0;

	load(fixture, "\x90\x74\xfd\xff\xe0", 5);
	assert_int_equal(pt_image_add_file(fixture->image, fixture->program.path, 0, 5, NULL, 0x700000001000),
	                 0);
	stream_write(&fixture->stream, "pge:1000");
	for (int i = 0; i < 6; ++i) {
		repeat(fixture, 3, "tnt:1110 raw:4d00100000 tnt:10 tip:~1001");
		stream_write(&fixture->stream, i % 2 ? "tnt:0 tip:1000" : "tnt:0 tip:700000001000");
		high += i % 2 ? 0 : 3;
	}
	stream_write(&fixture->stream, "tnt:0");
	check(fixture, 10);
	assert_true(count(fixture, "700000001003 ") >= high);
}

/* Two address spaces have other code at one address. */
static void address_spaces(void **state)
{
	struct fixture *fixture = *state;
	struct pt_asid asid;

	program_write(&fixture->program, "\x90\x74\xfd\x0f\x05", 5);
	program_write(&fixture->other, "\x66\x90\x74\xfc\x0f\x05", 6);
	fixture->image = pt_image_alloc(NULL);
	for (int i = 0; i < 2; ++i) {
		pt_asid_init(&asid);
		asid.cr3 = i ? 0x2000 : 0x1000;
		assert_int_equal(pt_image_add_file(fixture->image,
		                                   i ? fixture->other.path : fixture->program.path, 0, 6,
		                                   &asid, 0x1000),
		                 0);
	}
	for (int i = 0; i < 10; ++i) {
		stream_write(&fixture->stream, i % 2 ? "pip:2000" : "pip:1000");
		stream_write(&fixture->stream, "pge:1000 tnt:111111 tnt:111111 tnt:1110 pgd:-");
	}
	stream_write(&fixture->stream, "pip:1000 pge:1000 tnt:0");
	check(fixture, 10);
	assert_int_equal(count(fixture, "1001 "), 5 * 16 + 1);
	assert_int_equal(count(fixture, "1002 "), 5 * 16);
}

/* What runs in a transaction says so, and is not what ran outside. */
static void transactions(void **state)
{
	struct fixture *fixture = *state;

	load(fixture, "\x90\x74\xfd\xff\xe0", 5);
	stream_write(&fixture->stream, "pge:1000");
	repeat(fixture, 6, "tnt:111111 tsx:1,0 fup:1000 tnt:111111 tsx:0,0 fup:1000");
	stream_write(&fixture->stream, "tnt:0");
	check(fixture, 3);
}

/* Overflows and PSBs empty the return stack, in the middle of windows that come again. */
static void overflows_and_psbs(void **state)
{
	struct fixture *fixture = *state;

	load(fixture, "\xe8\x03\x00\x00\x00\x74\xf9\x90\x74\x00\xc3",
	     11); /* call 1008; je 1000; 1008: je; ret */
	stream_write(&fixture->stream, "pge:1000");
	repeat(fixture, 5,
	       "tnt:011011 tnt:011011 tnt:0 psb exec:64 fup:100a psbend tip:1005 tnt:1 "
	       "tnt:011011 ovf fup:1000 tnt:0 tnt:11");
	stream_write(&fixture->stream, "tnt:010");
	check(fixture, 8);
}

/* ---- A cache that is full, or whose image is another one -------------------------------------------- */

/* It is emptied, and says so; until then its paths stay: run_use() looks. */
static void a_full_cache_is_emptied(void **state)
{
	struct fixture *fixture = *state;
	struct pt_config config;
	struct run_use use;

	load(fixture, "\x90\x74\xfd\xff\xe0", 5);
	setenv("SBTRACE_RUN_CACHE", "3", 1);
	stream_clear(&fixture->stream);
	stream_write(&fixture->stream, "psb tsc:100 exec:64 psbend pge:1000");
	repeat(fixture, 6,
	       "tsc:100 tnt:111110 tip:1000 tsc:200 tnt:1 tnt:111 tsc:100 tnt:11 tnt:1111 tsc:200 tnt:110 tip:1000");
	repeat(fixture, 6,
	       "tsc:100 tnt:111 tnt:1 tnt:11 tnt:1 tnt:1111 tnt:1 tsc:200 tnt:1 tnt:1 tnt:10 tip:1000");
	stream_write(&fixture->stream, "tnt:0");
	check(fixture, 0);
	config = stream_config(&fixture->stream);
	use = run_use(&config, fixture->image, 0);
	assert_true(use.emptied > 0);
	assert_true(use.numbered > 0);
	assert_true(use.numbers > 3);
}

/* What came last before it was emptied, behind an event, is no guess for what comes first. */
static void a_cache_is_emptied_while_tracing_is_off(void **state)
{
	static const char *const parts[] = {"tnt:01", "tnt:101", "tnt:1101", "tnt:11101", "tnt:111101"};
	struct fixture *fixture = *state;

	/* call 1008; jmp *rax; nop; 1008: je 1008; ret */
	load(fixture, "\xe8\x03\x00\x00\x00\xff\xe0\x90\x74\xfe\xc3", 11);
	setenv("SBTRACE_RUN_CACHE", "3", 1);
	for (int i = 0; i < 100; ++i) {
		stream_write(&fixture->stream, "pge:1000 tnt:1 tsc:100");
		stream_write(&fixture->stream, parts[i / 4 % 5]);
		stream_write(&fixture->stream, "pgd:2000 pad");
	}
	stream_write(&fixture->stream, "pge:1000 tnt:01");
	check(fixture, 0);
	assert_int_equal(count(fixture, "[enabled]"), 101);
}

/* Between runs, and back: what was learnt of one does not count for the other. */
static void images_are_exchanged(void **state)
{
	struct fixture *fixture = *state;
	struct pt_block_decoder *decoder;
	struct pt_config config;
	struct pt_image *other;
	uint64_t blocks[2] = {0}, insns[2] = {0};
	int status;

	load(fixture, "\x90\x74\xfd\x0f\x05", 5);              /* nop; je 1000 */
	program_write(&fixture->other, "\x90\x90\x74\xfc", 4); /* nop; nop; je 1000 */
	other = program_image(&fixture->other, 0x1000);
	stream_clear(&fixture->stream);
	stream_write(&fixture->stream, "psb tsc:100 exec:64 psbend pge:1000");
	repeat(fixture, 12, "tsc:100 tnt:111111 tnt:111111 tsc:200 tnt:111111 tnt:111111");
	config = stream_config(&fixture->stream);
	decoder = pt_blk_alloc_decoder(&config);
	pt_blk_set_image(decoder, fixture->image);
	status = pt_blk_sync_forward(decoder);
	for (int i = 0; status >= 0; i = !i) {
		struct pt_event event;
		struct pt_run run;

		while (status >= 0 && (status & pts_event_pending))
			status = pt_blk_event(decoder, &event, sizeof(event));

		pt_blk_set_image(decoder, i ? other : fixture->image);
		status = pt_blk_run(decoder, &run, sizeof(run));
		for (uint32_t p = 0; status >= 0 && p < run.npaths; ++p) {
			blocks[i] += run.path[p]->nblocks;
			insns[i] += run.path[p]->ninsn;
		}
	}
	assert_int_equal(status, -pte_eos);
	pt_blk_free_decoder(decoder);
	pt_image_free(other);
	assert_true(blocks[0] > 100);
	assert_true(blocks[1] > 100);
	assert_int_equal(insns[0], 2 * blocks[0]);
	assert_int_equal(insns[1], 3 * blocks[1]);
}

/* Also at one that brings no event, and without a cache. */
static void runs_end_at_psbs(void **state)
{
	static const char *const limits[] = {"0", "3", "65536"};
	struct fixture *fixture = *state;
	struct pt_config config;

	load(fixture, "\x90\x74\xfd\x0f\x05", 5);
	stream_write(&fixture->stream, "pge:1000 tnt:111 psb psbend tnt:1111");
	config = stream_config(&fixture->stream);
	for (size_t i = 0; i < 3; ++i) {
		struct pt_block_decoder *decoder;
		uint64_t passed, read;
		struct pt_run run;

		setenv("SBTRACE_RUN_CACHE", limits[i], 1);
		decoder = pt_blk_alloc_decoder(&config);
		pt_blk_set_image(decoder, fixture->image);
		pt_blk_set_run_events(decoder, 1);
		assert_true(pt_blk_sync_forward(decoder) >= 0);
		assert_true(pt_blk_run(decoder, &run, sizeof(run)) >= 0);
		assert_int_equal(run.nblocks, 3);
		assert_int_equal(pt_blk_get_psb_offset(decoder, &passed, &read), 0);
		assert_true(passed > 0);
		assert_int_equal(passed, read);
		pt_blk_run(decoder, &run, sizeof(run));
		assert_true(run.nblocks >= 4);
		pt_blk_free_decoder(decoder);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(windows_of_tnt_and_tip, setup, teardown),
	        cmocka_unit_test_setup_teardown(pads_and_packets_in_a_window, setup, teardown),
	        cmocka_unit_test_setup_teardown(rows_of_windows, setup, teardown),
	        cmocka_unit_test_setup_teardown(long_tnts, setup, teardown),
	        cmocka_unit_test_setup_teardown(deferred_tips, setup, teardown),
	        cmocka_unit_test_setup_teardown(many_callers, setup, teardown),
	        cmocka_unit_test_setup_teardown(deep_calls, setup, teardown),
	        cmocka_unit_test_setup_teardown(one_return_too_many, setup, teardown),
	        cmocka_unit_test_setup_teardown(calls_without_return_compression, setup, teardown),
	        cmocka_unit_test_setup_teardown(addresses_in_part, setup, teardown),
	        cmocka_unit_test_setup_teardown(address_spaces, setup, teardown),
	        cmocka_unit_test_setup_teardown(transactions, setup, teardown),
	        cmocka_unit_test_setup_teardown(overflows_and_psbs, setup, teardown),
	        cmocka_unit_test_setup_teardown(a_full_cache_is_emptied, setup, teardown),
	        cmocka_unit_test_setup_teardown(a_cache_is_emptied_while_tracing_is_off, setup, teardown),
	        cmocka_unit_test_setup_teardown(runs_end_at_psbs, setup, teardown),
	        cmocka_unit_test_setup_teardown(images_are_exchanged, setup, teardown),
	};

	return cmocka_run_group_tests_name("run windows", tests, NULL, NULL);
}
