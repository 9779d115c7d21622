/* test_run_cache.c - the run cache: which windows of trace lead where, and what else that depends on.
 *
 * Each trace repeats its windows, so that they are recorded and then found. flow_text() asserts that
 * instructions, blocks and runs say the same; run_use(), that there were paths out of the cache.
 */
#include <inttypes.h>

#include "flow/run_cache.h"
#include "run_fixture.h"

/* All faces agree; so many paths with a number came at least, unless the cache is off or tiny. */
static void check(struct fixture *fixture, uint32_t least)
{
	const struct pt_config config = stream_config(&fixture->stream);

	flow_text(&fixture->flow, &config, fixture->image);
	for (int inside = 0; inside < 2; ++inside) {
		const struct run_use use = run_use(&config, fixture->image, inside);

		if (!getenv("SBTRACE_RUN_CACHE"))
			assert_true(use.numbered >= least);
	}
}

/* Given the last status, the next. */
static int fetch_events(struct pt_block_decoder *decoder, int status)
{
	struct pt_event event;

	while (status >= 0 && (status & pts_event_pending))
		status = pt_blk_event(decoder, &event, sizeof(event));
	return status;
}

/* ---- Code from a callback --------------------------------------------------------------------- */

/* 1000: jmp *rax; 1010: nop; je 1010; 1013: syscall */
static int read_jump(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip, void *context)
{
	static const uint8_t code[0x15] = {
	        [0] = 0xff, 0xe0, [0x10] = 0x90, 0x74, 0xfd, 0x0f, 0x05,
	};
	size_t n = 0;

	(void)asid;
	(void)context;
	for (; n < size && ip - 0x1000 + n < sizeof(code); ++n)
		buffer[n] = code[ip - 0x1000 + n];
	return n ? (int)n : -pte_nomap;
}

/* A run ends behind each block of such code: here with all TNT bits left, but behind the TIP. */
static void a_deferred_tip_is_taken_once(void **state)
{
	struct fixture *fixture = *state;

	fixture->image = pt_image_alloc(NULL);
	assert_int_equal(pt_image_set_callback(fixture->image, read_jump, NULL), 0);
	stream_write(&fixture->stream, "pge:1000 tnt:10 tip:1010 pgd:-");
	check(fixture, 0);
	assert_string_equal(fixture->flow.text, "[enabled] 1000 1010 1011 1010 1011 1013 [disabled] eos");
}

/* ---- Queries in the middle of paths -------------------------------------------------------------- */

/* Addresses, one after the other; with the position asked for behind each, which leaves the path. */
static void list_insns(const struct pt_config *config, struct pt_image *image, int asks, char *text,
                       size_t size)
{
	struct pt_insn_decoder *decoder = pt_insn_alloc_decoder(config);
	struct pt_event event;
	size_t used = 0;
	int status;

	assert_non_null(decoder);
	pt_insn_set_image(decoder, image);
	status = pt_insn_sync_forward(decoder);
	while (status >= 0) {
		struct pt_insn insn;
		uint64_t offset;

		if (status & pts_event_pending) {
			status = pt_insn_event(decoder, &event, sizeof(event));
			continue;
		}
		status = pt_insn_next(decoder, &insn, sizeof(insn));
		if (insn.size)
			used += (size_t)snprintf(text + used, size - used, "%" PRIx64 " ", insn.ip);
		assert_true(used < size);
		if (asks)
			assert_int_equal(pt_insn_get_offset(decoder, &offset), 0);
	}
	assert_int_equal(status, -pte_eos);
	pt_insn_free_decoder(decoder);
}

/* The same windows behind another last IP, which the TIP behind them replaces in part. */
static void a_path_that_is_left_leaves_the_last_ip(void **state)
{
	struct fixture *fixture = *state;
	static char plain[16384], asked[16384];
	struct program there;
	struct pt_config config;

	load(fixture, "\x90\x74\xfd\xff\xe0\xff\xe0", 7);         /* nop; je 1000; jmp *rax; jmp *rax */
	program_write(&there, "\xe9\xfb\xff\xff\xf8\xff\xe0", 7); /* jmp 1000; jmp *rax */
	assert_int_equal(pt_image_add_file(fixture->image, there.path, 0, 7, NULL, 0x7001000), 0);
	stream_write(&fixture->stream, "pge:1000");
	repeat(fixture, 4,
	       "tnt:111111 tnt:111111 tnt:111110 tip:~1005 tip:7001000 "
	       "tnt:111111 tnt:111111 tnt:111110 tip:~1005 tip:1000");
	stream_write(&fixture->stream, "pad pad pad pad pad pad pad pad");
	check(fixture, 10);
	config = stream_config(&fixture->stream);
	list_insns(&config, fixture->image, 0, plain, sizeof(plain));
	list_insns(&config, fixture->image, 1, asked, sizeof(asked));
	assert_string_equal(asked, plain);
	assert_non_null(strstr(plain, " 7001005 "));
	program_remove(&there);
}

/* Time that passed before a packet has not passed for who has not come to the branch that needs it. */
static void time_passes_at_the_branch(void **state)
{
	static const uint64_t times[] = {0x100, 0x200, 0x200, 0x200};
	struct fixture *fixture = *state;
	struct pt_insn_decoder *decoder;
	struct pt_config config;
	uint64_t time = 0, n = 0;
	int status;

	load(fixture, "\xeb\x00\x90\x74\xfb", 5); /* jmp 1002; nop; je 1000 */
	stream_write(&fixture->stream, "tsc:100 pge:1000");
	repeat(fixture, 6, "tsc:200 tnt:1 tsc:100 tnt:1");
	stream_write(&fixture->stream, "tsc:200 tnt:0 pad pad pad pad pad pad pad pad");
	config = stream_config(&fixture->stream);
	decoder = pt_insn_alloc_decoder(&config);
	pt_insn_set_image(decoder, fixture->image);
	status = pt_insn_sync_forward(decoder);
	while (status >= 0 && n < 36) {
		struct pt_insn insn;
		struct pt_event event;

		if (status & pts_event_pending) {
			status = pt_insn_event(decoder, &event, sizeof(event));
			continue;
		}
		status = pt_insn_next(decoder, &insn, sizeof(insn));
		assert_int_equal(pt_insn_time(decoder, &time, NULL, NULL), 0);
		/* behind the jump, the time before; behind the branch, that of its packet, until the next */
		assert_int_equal(time, n / 3 % 2 ? 0x300 - times[n % 3] : times[n % 3]);
		++n;
	}
	assert_int_equal(n, 36);
	pt_insn_free_decoder(decoder);
}

/* Addresses, each with the time behind it. */
static void list_times(const struct pt_config *config, struct pt_image *image, char *text, size_t size)
{
	struct pt_insn_decoder *decoder = pt_insn_alloc_decoder(config);
	struct pt_event event;
	struct pt_insn insn;
	size_t used = 0;
	int status;

	assert_non_null(decoder);
	pt_insn_set_image(decoder, image);
	status = pt_insn_sync_forward(decoder);
	while (status >= 0) {
		uint64_t time = 0;

		if (status & pts_event_pending) {
			status = pt_insn_event(decoder, &event, sizeof(event));
			continue;
		}
		status = pt_insn_next(decoder, &insn, sizeof(insn));
		pt_insn_time(decoder, &time, NULL, NULL);
		used += (size_t)snprintf(text + used, size - used, "%" PRIx64 "@%" PRIx64 " ", insn.ip, time);
		assert_true(used < size);
	}
	assert_int_equal(status, -pte_eos);
	pt_insn_free_decoder(decoder);
}

/* It passes before the TNT or TIP, or before what is read ahead of it: as if there were no cache. */
static void time_before_what_comes_with_a_branch(void **state)
{
	struct fixture *fixture = *state;
	static char cached[8192], on_foot[8192];
	struct pt_config config;

	load(fixture, "\x90\x74\xfd\xeb\x00\xff\xe0", 7); /* nop; je 1000; jmp 1005; jmp *rax */
	stream_write(&fixture->stream, "tsc:100 pge:1000");
	repeat(fixture, 6, "tnt:111111 tsc:200 psb fup:1000 psbend tnt:111111 tsc:100");
	repeat(fixture, 6, "tnt:111110 tsc:200 exec:64 tsc:300 tip:1000 tsc:100");
	stream_write(&fixture->stream, "tnt:111111 pad pad pad pad pad pad pad pad");
	config = stream_config(&fixture->stream);
	list_times(&config, fixture->image, cached, sizeof(cached));
	setenv("SBTRACE_RUN_CACHE", "0", 1);
	list_times(&config, fixture->image, on_foot, sizeof(on_foot));
	assert_string_equal(cached, on_foot);
}

/* In the middle of a path: nothing of the old buffer counts any more. */
static void another_buffer_ends_the_path(void **state)
{
	static const uint8_t nothing[1];
	struct fixture *fixture = *state;
	struct pt_block_decoder *decoder;
	struct pt_config config;
	struct pt_block block;
	uint64_t offset;

	load(fixture, "\x90\x74\xfd\x0f\x05", 5); /* nop; je 1000; syscall */
	stream_write(&fixture->stream, "pge:1000");
	repeat(fixture, 10, "tnt:111111");
	config = stream_config(&fixture->stream);
	for (int calls = 1; calls < 40; ++calls) {
		decoder = pt_blk_alloc_decoder(&config);
		pt_blk_set_image(decoder, fixture->image);
		assert_true(fetch_events(decoder, pt_blk_sync_forward(decoder)) >= 0);
		for (int i = 0; i < calls; ++i)
			assert_int_equal(pt_blk_next(decoder, &block, sizeof(block)), 0);
		assert_int_equal(pt_blk_set_buffer(decoder, nothing, nothing), 0);
		assert_int_equal(pt_blk_get_offset(decoder, &offset), -pte_nosync);
		assert_int_equal(pt_blk_next(decoder, &block, sizeof(block)), -pte_nosync);
		assert_int_equal(pt_blk_sync_forward(decoder), -pte_eos);
		pt_blk_free_decoder(decoder);
	}
}

/* The status that comes with the last instruction before a byte that no packet begins with. */
static int last_status(const struct pt_config *config, struct pt_image *image)
{
	struct pt_insn_decoder *decoder = pt_insn_alloc_decoder(config);
	struct pt_event event;
	struct pt_insn insn;
	int status, last = 0;

	assert_non_null(decoder);
	pt_insn_set_image(decoder, image);
	status = pt_insn_sync_forward(decoder);
	while (status >= 0) {
		insn.size = 0;
		status = status & pts_event_pending ? pt_insn_event(decoder, &event, sizeof(event))
		                                    : pt_insn_next(decoder, &insn, sizeof(insn));
		last = insn.size ? status : last;
	}
	pt_insn_free_decoder(decoder);
	return last;
}

static void an_error_comes_with_the_same_instruction(void **state)
{
	static const char *const between[] = {"pad", "tsc:200", "mtc:5"};

	for (size_t i = 0; i < sizeof(between) / sizeof(between[0]); ++i) {
		struct fixture *fixture = *state;
		struct pt_config config;
		int cached;

		teardown(state);
		setup(state);
		load(fixture, "\x90\x74\xfd\x0f\x05", 5); /* nop; je 1000; syscall */
		stream_write(&fixture->stream, "tsc:100 pge:1000");
		repeat(fixture, 10, "tnt:111111");
		stream_write(&fixture->stream, between[i]);
		stream_write(&fixture->stream, "raw:05 pad pad pad pad pad pad pad pad");
		config = stream_config(&fixture->stream);
		cached = last_status(&config, fixture->image);
		setenv("SBTRACE_RUN_CACHE", "0", 1);
		assert_int_equal(cached, last_status(&config, fixture->image));
		assert_int_equal(cached, i == 1 ? 0 : -pte_bad_opc);
	}
}

static struct pt_block_decoder *behind_blocks(const struct pt_config *config, struct pt_image *image,
                                              int nblocks)
{
	struct pt_block_decoder *decoder = pt_blk_alloc_decoder(config);
	struct pt_block block;

	assert_non_null(decoder);
	pt_blk_set_image(decoder, image);
	assert_true(fetch_events(decoder, pt_blk_sync_forward(decoder)) >= 0);
	while (nblocks--)
		assert_int_equal(pt_blk_next(decoder, &block, sizeof(block)), 0);
	return decoder;
}

/* A block further on in the same path is another state. */
static void a_state_is_that_behind_the_last_block(void **state)
{
	struct fixture *fixture = *state;
	struct pt_config config;

	load(fixture, "\x90\x74\xfd\x0f\x05", 5); /* nop; je 1000; syscall */
	stream_write(&fixture->stream, "pge:1000");
	repeat(fixture, 10, "tnt:111111");
	config = stream_config(&fixture->stream);
	for (int n = 1; n < 40; ++n) {
		struct pt_block_decoder *decoder = behind_blocks(&config, fixture->image, n);
		struct pt_block_decoder *other = behind_blocks(&config, fixture->image, n + 1);
		struct pt_run_state *saved = pt_blk_save_state(decoder);

		assert_non_null(saved);
		assert_int_equal(pt_blk_is_in_state(decoder, saved), 1);
		assert_int_equal(pt_blk_is_in_state(other, saved), 0);
		pt_run_state_free(saved);
		pt_blk_free_decoder(decoder);
		pt_blk_free_decoder(other);
	}
}

/* ---- Room -------------------------------------------------------------------------------------- */

/* A path of many long blocks. */
static struct pt_run_record long_path(uint32_t window)
{
	enum { nblocks = 512, ninsn = 255 };
	static uint8_t length[ninsn];
	static struct pt_run_block block[nblocks];
	struct pt_run_record record = {.entry = {.window = window, .size = 4}, .block = block};

	for (int i = 0; i < nblocks; ++i)
		block[i] = (struct pt_run_block){.length = length, .ninsn = ninsn};
	record.entry.path.nblocks = nblocks;
	record.entry.path.ninsn = nblocks * ninsn;
	return record;
}

/* They fill the cache before there are as many paths as it may hold. */
static void long_paths_are_not_kept_without_end(void **state)
{
	static struct pt_run_cache cache;
	const struct pt_return_stack stack = {0};
	uint32_t npaths;

	(void)state;
	assert_int_equal(pt_run_cache_init(&cache, 8192), 0);
	for (int times = 0; times < 2; ++times) {
		for (npaths = 0; !cache.full && npaths < 8192; ++npaths) {
			const struct pt_run_record record = long_path(npaths + 1);

			const int kept = pt_run_cache_add(&cache, &record, &stack) != NULL;

			assert_int_equal(kept, !cache.full);
		}
		assert_in_range(npaths, 100, 300);
		pt_run_cache_clear(&cache);
	}
	pt_run_cache_fini(&cache);
}

/* ---- An event that is due when a run begins ------------------------------------------------------ */

/* That of a MOV CR3, which also disabled tracing: behind the event it must be known still. */
static void a_run_may_begin_with_the_event_of_mov_cr3(void **state)
{
	struct fixture *fixture = *state;
	struct pt_block_decoder *decoder;
	struct pt_config config;
	struct pt_run run;

	load(fixture, "\x0f\x22\xd8\x90\x74\xfd", 6); /* mov cr3, rax; nop; je 1003 */
	stream_write(&fixture->stream, "pge:1000 pip:1000 pgd:-");
	check(fixture, 0);
	assert_string_equal(fixture->flow.text, "[enabled] 1000 [paging] [disabled] eos");
	config = stream_config(&fixture->stream);
	decoder = pt_blk_alloc_decoder(&config);
	pt_blk_set_image(decoder, fixture->image);
	assert_true(fetch_events(decoder, pt_blk_sync_forward(decoder)) >= 0);
	assert_int_equal(pt_blk_run(decoder, &run, sizeof(run)), pts_event_pending);
	assert_int_equal(run.ninsn, 1);
	pt_blk_set_run_events(decoder, 1);
	assert_int_equal(pt_blk_run(decoder, &run, sizeof(run)), -pte_eos);
	assert_int_equal(run.ninsn, 0);
	assert_int_equal(run.nevents, 2);
	assert_int_equal(run.event[1].event.type, ptev_disabled);
	pt_blk_free_decoder(decoder);
}

/* ---- After an error ---------------------------------------------------------------------------- */

/* The flow went on at a TIP; that tracing is enabled, the trace has not said, and means otherwise: a MODE.TSX
 * then holds at once. What windows say does not change that. */
static void a_flow_that_was_resynchronised_is_not_like_another(void **state)
{
	struct fixture *fixture = *state;
	struct pt_block_decoder *decoder;
	struct pt_config config;
	int status, syncs = 0, suppressed = 0;

	load(fixture, "\xff\xe0\xff\xe0", 4); /* jmp *rax; jmp *rax */
	stream_write(&fixture->stream, "tip:1000 tip:1000");
	repeat(fixture, 5, "tip:1002 tip:1000");
	stream_write(&fixture->stream, "tip:1002 tsx:1,0 fup:1002 pad pad pad pad pad pad pad pad");
	config = stream_config(&fixture->stream);
	decoder = pt_blk_alloc_decoder(&config);
	pt_blk_set_image(decoder, fixture->image);
	pt_blk_set_run_events(decoder, 1);
	status = pt_blk_sync_forward(decoder);
	for (;;) {
		struct pt_run run;

		if (status < 0 && syncs++)
			break;
		if (status < 0)
			status = pt_blk_resync(decoder);
		assert_true(status >= 0);
		status = pt_blk_run(decoder, &run, sizeof(run));
		for (uint32_t i = 0; i < run.nevents; ++i)
			suppressed += run.event[i].event.type == ptev_tsx && run.event[i].event.ip_suppressed;
	}
	assert_int_equal(suppressed, 1);
	pt_blk_free_decoder(decoder);
}

/* ---- Chains ---------------------------------------------------------------------------------------- */

/* Blocks from the first PSB to the end. */
static uint32_t count_blocks(struct pt_block_decoder *decoder)
{
	int status = pt_blk_sync_set(decoder, 0);
	uint32_t count = 0;

	while ((status = fetch_events(decoder, status)) >= 0) {
		struct pt_block block;

		status = pt_blk_next(decoder, &block, sizeof(block));
		count += status >= 0 || block.ninsn;
	}
	assert_int_equal(status, -pte_eos);
	return count;
}

/* Now and then chains are judged; what is passed then belongs to what came before and behind it, too. */
static void nothing_is_lost_where_chains_are_judged(void **state)
{
	enum { places = 64, rounds = 256, passes = 40, start = 64 };
	static uint8_t trace[start + 6 * places * rounds];
	struct fixture *fixture = *state;
	struct pt_block_decoder *decoder;
	uint8_t code[16 * places] = {0}, *to = trace;
	struct pt_config config;

	for (uint32_t i = 0; i < places; ++i)
		memcpy(code + 16 * i, "\x74\x00\xff\xe0", 4); /* je; jmp *rax */
	load(fixture, code, sizeof(code));
	stream_write(&fixture->stream, "pge:1000");
	memcpy(to, fixture->stream.bytes, fixture->stream.size);
	to += fixture->stream.size;
	for (uint32_t i = 1; i <= places * rounds; ++i) {
		const uint32_t ip = 0x1000 + i % places * 16;

		memcpy(to, (const uint8_t[]){0x06, 0x4d, ip & 0xff, ip >> 8 & 0xff, 0, 0}, 6); /* TNT, TIP */
		to += 6;
	}
	config = stream_config(&fixture->stream);
	config.begin = trace;
	config.end = to;
	decoder = pt_blk_alloc_decoder(&config);
	assert_non_null(decoder);
	pt_blk_set_image(decoder, fixture->image);
	for (uint32_t i = 0; i < passes; ++i)
		/* two for each visit, and one up to where the trace ends */
		assert_int_equal(count_blocks(decoder), 2 * places * rounds + 1);
	pt_blk_free_decoder(decoder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(a_deferred_tip_is_taken_once, setup, teardown),
	        cmocka_unit_test_setup_teardown(a_path_that_is_left_leaves_the_last_ip, setup, teardown),
	        cmocka_unit_test_setup_teardown(time_passes_at_the_branch, setup, teardown),
	        cmocka_unit_test_setup_teardown(time_before_what_comes_with_a_branch, setup, teardown),
	        cmocka_unit_test_setup_teardown(an_error_comes_with_the_same_instruction, setup, teardown),
	        cmocka_unit_test_setup_teardown(a_state_is_that_behind_the_last_block, setup, teardown),
	        cmocka_unit_test_setup_teardown(another_buffer_ends_the_path, setup, teardown),
	        cmocka_unit_test(long_paths_are_not_kept_without_end),
	        cmocka_unit_test_setup_teardown(a_run_may_begin_with_the_event_of_mov_cr3, setup, teardown),
	        cmocka_unit_test_setup_teardown(a_flow_that_was_resynchronised_is_not_like_another, setup,
	                                        teardown),
	        cmocka_unit_test_setup_teardown(nothing_is_lost_where_chains_are_judged, setup, teardown),
	};

	return cmocka_run_group_tests_name("run cache", tests, NULL, NULL);
}
