/* test_run_ground.c - what paths of the run cache stand on: they come again wherever the same sections stand
 * at the same addresses, and nowhere else.
 *
 * A trace is made of equal rounds, each from where tracing is enabled to where it is disabled. Between
 * rounds, a test changes what is mapped, or which image is used. What comes out is told as the number of
 * instructions of each round, and is, address by address, what comes out without a cache: with all three
 * faces.
 */
#include <inttypes.h>

#include "flow/run_cache.h"
#include "intel-pt-filler.h"
#include "run_fixture.h"

/* Three instructions twelve times over, or two; then one. All go the way of the same trace. */
static const char two_insns[] = "\x90\x74\xfd\x0f\x05";       /* nop; je -1; syscall */
static const char three_insns[] = "\x90\x90\x74\xfc\x0f\x05"; /* nop; nop; je -2; syscall */
static const char *const loop = "pge:1000 tnt:111111 tnt:111110 pgd:-";

enum face { face_runs, face_blocks, face_insns, nfaces };

struct ground {
	struct fixture base;
	struct program two, three, more[8];
	size_t nmore;
	unsigned nops; /* so many come in mappings of their own */
	struct pt_image_section_cache *cache;
	struct pt_image *image[80];
	size_t nimages;

	/* What is decoded, and how. */
	enum face face;
	struct pt_block_decoder *blocks;
	struct pt_insn_decoder *insns;
	void (*change)(struct ground *ground, unsigned round);

	char rounds[1024], addresses[1 << 20];
	size_t nrounds, naddresses;
	unsigned round, ninsn;
	unsigned known[64];  /* paths with a number, by round */
	uint64_t number[64]; /* that of the first one */
	uint64_t asked[64];  /* of the filler, in order */
	unsigned nasked;
};

static int set_up(void **state)
{
	static struct ground ground;
	struct fixture *base;

	memset(&ground, 0, sizeof(ground));
	setup(state);
	base = *state;
	ground.base = *base;
	program_write(&ground.two, two_insns, sizeof(two_insns) - 1);
	program_write(&ground.three, three_insns, sizeof(three_insns) - 1);
	ground.cache = pt_iscache_alloc(NULL);
	*state = &ground;
	return 0;
}

static void free_images(struct ground *ground)
{
	while (ground->nimages)
		pt_image_free(ground->image[--ground->nimages]);
}

static int tear_down(void **state)
{
	struct ground *ground = *state;

	free_images(ground);
	pt_iscache_free(ground->cache);
	program_remove(&ground->two);
	program_remove(&ground->three);
	while (ground->nmore)
		program_remove(&ground->more[--ground->nmore]);
	*state = &ground->base;
	return teardown(state);
}

static struct pt_image *new_image(struct ground *ground)
{
	struct pt_image *image = pt_image_alloc(NULL);

	assert_non_null(image);
	assert_true(ground->nimages < sizeof(ground->image) / sizeof(ground->image[0]));
	ground->image[ground->nimages++] = image;
	return image;
}

static const char *more_code(struct ground *ground, const void *code, size_t size)
{
	struct program *program = &ground->more[ground->nmore++];

	program_write(program, code, size);
	return program->path;
}

static void add(struct pt_image *image, const char *path, uint64_t vaddr)
{
	assert_int_equal(pt_image_add_file(image, path, 0, UINT64_MAX, NULL, vaddr), 0);
}

/* Out of the section cache: the same section wherever it is added. */
static void add_shared(struct ground *ground, struct pt_image *image, const char *path, uint64_t vaddr)
{
	const int isid = pt_iscache_add_file(ground->cache, path, 0, UINT64_MAX, vaddr);

	assert_true(isid > 0);
	assert_int_equal(pt_image_add_cached(image, ground->cache, isid, NULL), 0);
}

static void use_image(struct ground *ground, struct pt_image *image)
{
	if (ground->insns)
		pt_insn_set_image(ground->insns, image);
	else
		pt_blk_set_image(ground->blocks, image);
}

/* ---- Decoding ---------------------------------------------------------------------------------- */

static void tell(struct ground *ground, uint64_t ip, uint64_t more)
{
	const size_t left = sizeof(ground->addresses) - ground->naddresses;

	ground->naddresses += (size_t)snprintf(ground->addresses + ground->naddresses, left,
	                                       "%" PRIx64 "+%" PRIx64 " ", ip, more);
	assert_true(ground->naddresses < sizeof(ground->addresses));
}

static int next_run(struct ground *ground)
{
	struct pt_run run;
	const int status = pt_blk_run(ground->blocks, &run, sizeof(run));

	for (uint32_t p = 0; p < run.npaths; ++p) {
		const struct pt_run_path *path = run.path[p];

		if (path->id != ptr_no_id && ground->round < 64 && !ground->known[ground->round]++)
			ground->number[ground->round] = path->id;
		for (uint32_t b = 0; b < path->nblocks; ++b) {
			uint64_t ip = path->block[b].ip;

			for (uint32_t n = 0; n < path->block[b].ninsn; ip += path->block[b].length[n++])
				tell(ground, ip, path->block[b].mode);
		}
	}
	ground->ninsn += (unsigned)run.ninsn;
	return status;
}

static int next_item(struct ground *ground)
{
	struct pt_block block = {0};
	struct pt_insn insn = {0};
	int status;

	if (ground->face == face_runs)
		return next_run(ground);
	if (ground->face == face_blocks) {
		status = pt_blk_next(ground->blocks, &block, sizeof(block));
		ground->ninsn += block.ninsn;
		if (block.ninsn)
			tell(ground, block.ip, block.end_ip << 16 | (uint64_t)block.isid);
		return status;
	}
	status = pt_insn_next(ground->insns, &insn, sizeof(insn));
	ground->ninsn += insn.size != 0;
	if (insn.size)
		tell(ground, insn.ip, (uint64_t)insn.raw[0] << 32 | (uint64_t)insn.isid << 8 | insn.size);
	return status;
}

static void end_round(struct ground *ground, const char *text)
{
	ground->nrounds +=
	        (size_t)snprintf(ground->rounds + ground->nrounds, sizeof(ground->rounds) - ground->nrounds,
	                         "%s%u%s", ground->round ? " " : "", ground->ninsn, text);
	ground->round += 1;
	ground->ninsn = 0;
}

static int next_event(struct ground *ground)
{
	struct pt_event event;
	const int status = ground->insns ? pt_insn_event(ground->insns, &event, sizeof(event))
	                                 : pt_blk_event(ground->blocks, &event, sizeof(event));

	if (status >= 0 && event.type == ptev_disabled) {
		end_round(ground, "");
		if (ground->change)
			ground->change(ground, ground->round);
	}
	return status;
}

static void decode(struct ground *ground, enum face face, struct pt_image *image)
{
	const struct pt_config config = stream_config(&ground->base.stream);
	int status;

	ground->face = face;
	ground->nrounds = ground->naddresses = 0;
	ground->round = ground->ninsn = ground->nasked = 0;
	memset(ground->known, 0, sizeof(ground->known));
	ground->blocks = face == face_insns ? NULL : pt_blk_alloc_decoder(&config);
	ground->insns = face == face_insns ? pt_insn_alloc_decoder(&config) : NULL;
	use_image(ground, image);
	status = ground->insns ? pt_insn_sync_forward(ground->insns) : pt_blk_sync_forward(ground->blocks);
	while (status >= 0)
		status = status & pts_event_pending ? next_event(ground) : next_item(ground);
	if (status != -pte_eos)
		end_round(ground, status == -pte_nomap ? " nomap" : " error");
	pt_insn_free_decoder(ground->insns);
	pt_blk_free_decoder(ground->blocks);
}

/* Decodes images that @make makes, with the cache and without; the rounds must be as @expected says. Which
 * paths came again is that of the runs. */
static void check(struct ground *ground, struct pt_image *(*make)(struct ground *),
                  void (*change)(struct ground *, unsigned), const char *expected)
{
	static struct ground off;

	ground->change = change;
	stream_write(&ground->base.stream, "pad pad pad pad pad pad pad pad");
	for (int face = nfaces; face--;) {
		setenv("SBTRACE_RUN_CACHE", "0", 1);
		decode(ground, (enum face)face, make(ground));
		free_images(ground);
		off = *ground;
		restore_limit(&ground->base);
		decode(ground, (enum face)face, make(ground));
		free_images(ground);
		assert_string_equal(ground->rounds, expected);
		assert_string_equal(ground->addresses, off.addresses);
		assert_int_equal(ground->nasked, off.nasked);
		assert_memory_equal(ground->asked, off.asked, sizeof(off.asked));
	}
}

/* Whether the cache is neither off nor tiny. */
static int has_cache(const struct ground *ground)
{
	return !ground->base.limit;
}

/* ---- Changes of an image ------------------------------------------------------------------------- */

static struct pt_image *make_two(struct ground *ground)
{
	struct pt_image *image = new_image(ground);

	add(image, ground->two.path, 0x1000);
	return image;
}

static void overlay(struct ground *ground, unsigned round)
{
	if (round == 6)
		add(ground->image[0], ground->three.path, 0x1000);
	if (round == 10)
		add(ground->image[0], ground->two.path, 0x1000);
}

static void what_was_overlaid_does_not_come_again(void **state)
{
	struct ground *ground = *state;

	repeat(&ground->base, 12, loop);
	check(ground, make_two, overlay, "25 25 25 25 25 25 37 37 37 37 25 25");
}

/* All but the first byte: the first instruction stays what it was. */
static void overlay_the_rest(struct ground *ground, unsigned round)
{
	if (round == 6)
		add(ground->image[0], ground->more[0].path, 0x1001);
}

static void what_was_cut_does_not_come_again(void **state)
{
	struct ground *ground = *state;

	repeat(&ground->base, 12, loop);
	more_code(ground, three_insns + 1, 5);
	check(ground, make_two, overlay_the_rest, "25 25 25 25 25 25 37 37 37 37 37 37");
}

static void remove_it(struct ground *ground, unsigned round)
{
	if (round == 6)
		assert_int_equal(pt_image_remove_by_filename(ground->image[0], ground->two.path, NULL), 1);
}

static void what_was_removed_does_not_come_again(void **state)
{
	struct ground *ground = *state;

	repeat(&ground->base, 8, loop);
	check(ground, make_two, remove_it, "25 25 25 25 25 25 0 nomap");
}

/* Something else is mapped, and unmapped: the paths stay. */
static void change_elsewhere(struct ground *ground, unsigned round)
{
	if (round & 1)
		add(ground->image[0], ground->three.path, 0x9000);
	else
		pt_image_remove_by_filename(ground->image[0], ground->three.path, NULL);
}

static void what_stands_elsewhere_does_not_matter(void **state)
{
	struct ground *ground = *state;

	repeat(&ground->base, 12, loop);
	check(ground, make_two, change_elsewhere, "25 25 25 25 25 25 25 25 25 25 25 25");
	for (unsigned round = 4; has_cache(ground) && round < 12; ++round) {
		assert_true(ground->known[round] > 0);
		assert_int_equal(ground->number[round], ground->number[4]);
	}
}

/* ---- Other images -------------------------------------------------------------------------------- */

/* The last one is a stranger to the others. */
static struct pt_image *make_many(struct ground *ground)
{
	for (int i = 0; i < 79; ++i) {
		struct pt_image *image = new_image(ground);

		add_shared(ground, image, ground->two.path, 0x1000);
		add(image, ground->three.path, 0x8000 + (uint64_t)i * 0x10);
	}
	add(new_image(ground), ground->three.path, 0x1000);
	return ground->image[0];
}

static void use_next_image(struct ground *ground, unsigned round)
{
	use_image(ground, ground->image[round == 10 ? 79 : round % 79]);
}

/* More than views that are remembered. */
static void a_path_comes_in_all_images_that_have_its_code(void **state)
{
	struct ground *ground = *state;
	char expected[1024] = "25";

	repeat(&ground->base, 100, loop);
	for (int round = 1; round < 100; ++round)
		strcat(expected, round == 10 ? " 37" : " 25");
	check(ground, make_many, use_next_image, expected);
	for (unsigned round = 4; has_cache(ground) && round < 64; ++round) {
		assert_true(ground->known[round] > 0);
		assert_int_equal(ground->number[round] == ground->number[4], round != 10);
	}
}

/* At the same address, code that takes the same way: each has its own path, and more images than paths of one
 * place are kept. */
static struct pt_image *make_strangers(struct ground *ground)
{
	for (int i = 0; i < 10; ++i)
		add(new_image(ground), i & 1 ? ground->three.path : ground->two.path, 0x1000);
	return ground->image[0];
}

static void use_next_stranger(struct ground *ground, unsigned round)
{
	use_image(ground, ground->image[round % 10]);
}

static void paths_of_one_place_differ_by_their_code(void **state)
{
	struct ground *ground = *state;
	char expected[1024] = "25";
	unsigned changed = 0;

	repeat(&ground->base, 60, loop);
	for (int round = 1; round < 60; ++round)
		strcat(expected, round & 1 ? " 37" : " 25");
	check(ground, make_strangers, use_next_stranger, expected);
	/* Some stay, the others give way to each other. */
	for (unsigned round = 50; has_cache(ground) && round < 60; ++round)
		changed += ground->number[round] != ground->number[round - 10];
	assert_true(!has_cache(ground) || (changed > 0 && changed < 10));
}

/* The same section one byte further down: at 1000 stands what stood at 1001. */
static struct pt_image *make_moved(struct ground *ground)
{
	add_shared(ground, new_image(ground), ground->three.path, 0x1000);
	add_shared(ground, new_image(ground), ground->three.path, 0xfff);
	return ground->image[0];
}

static void use_moved(struct ground *ground, unsigned round)
{
	use_image(ground, ground->image[round / 6 & 1]);
}

static void the_same_section_at_another_address_is_other_code(void **state)
{
	struct ground *ground = *state;

	/* nop; nop; je 1000; syscall - or, from the second byte on: nop; je fff; syscall */
	repeat(&ground->base, 18, "pge:1000 tnt:111111 tnt:111110 pgd:-");
	check(ground, make_moved, use_moved, "37 37 37 37 37 37 36 36 36 36 36 36 37 37 37 37 37 37");
}

/* ---- Several mappings ------------------------------------------------------------------------------ */

/* nop in a mapping of its own; and behind it one of two others. */
static struct pt_image *make_parts(struct ground *ground)
{
	struct pt_image *image = new_image(ground);

	add(image, ground->more[0].path, 0x1000);
	add(image, ground->more[1].path, 0x1001);
	return image;
}

static void change_second_part(struct ground *ground, unsigned round)
{
	if (round == 6 || round == 12)
		add(ground->image[0], ground->more[round == 6 ? 2 : 1].path, 0x1001);
}

/* So few rounds of the loop that the flow need not let go of sections in between. */
static const char *const short_loop = "pge:1000 tnt:110 pgd:-";

static void a_path_stands_on_all_that_it_goes_through(void **state)
{
	struct ground *ground = *state;

	repeat(&ground->base, 18, short_loop);
	more_code(ground, two_insns, 1);
	more_code(ground, two_insns + 1, 4);
	more_code(ground, three_insns + 1, 5);
	check(ground, make_parts, change_second_part, "7 7 7 7 7 7 10 10 10 10 10 10 7 7 7 7 7 7");
	assert_true(ground->known[5] > 0 || !has_cache(ground));
}

/* One nop each, and the rest of the loop. */
static struct pt_image *make_pieces(struct ground *ground)
{
	struct pt_image *image = new_image(ground);
	const uint64_t nnops = ground->nops;

	for (uint64_t i = 0; i < nnops; ++i)
		add(image, ground->more[0].path, 0x1000 + i);
	add(image, ground->more[1].path, 0x1000 + nnops);
	return image;
}

static void a_path_through_too_many_is_not_kept(void **state)
{
	struct ground *ground = *state;

	repeat(&ground->base, 8, short_loop);
	more_code(ground, "\x90", 1);
	more_code(ground, "\x74\xfb\x0f\x05", 4); /* je 1000; syscall, behind three nops */
	ground->nops = pt_ground_max - 1;
	check(ground, make_pieces, NULL, "13 13 13 13 13 13 13 13");
	assert_true(ground->known[7] > 0 || !has_cache(ground));
	more_code(ground, "\x74\xfa\x0f\x05", 4); /* behind four */
	program_remove(&ground->more[1]);
	ground->more[1] = ground->more[--ground->nmore];
	ground->nops = pt_ground_max;
	check(ground, make_pieces, NULL, "16 16 16 16 16 16 16 16");
	assert_int_equal(ground->known[7], 0);
}

/* ---- Address spaces and modes ---------------------------------------------------------------------- */

static void add_in(struct pt_image *image, const char *path, uint64_t vaddr, uint64_t cr3)
{
	struct pt_asid asid;

	pt_asid_init(&asid);
	asid.cr3 = cr3;
	assert_int_equal(pt_image_add_file(image, path, 0, UINT64_MAX, &asid, vaddr), 0);
}

static struct pt_image *make_spaces(struct ground *ground)
{
	struct pt_image *image = new_image(ground);

	add_in(image, ground->two.path, 0x1000, 0x1000);
	add_in(image, ground->three.path, 0x1000, 0x2000);
	add(image, ground->two.path, 0x5000);
	return image;
}

static void address_spaces_have_paths_of_their_own(void **state)
{
	struct ground *ground = *state;

	for (int i = 0; i < 6; ++i) {
		stream_write(&ground->base.stream, "pip:1000");
		repeat(&ground->base, 1, loop);
		stream_write(&ground->base.stream, "pip:2000");
		repeat(&ground->base, 1, loop);
	}
	check(ground, make_spaces, NULL, "25 37 25 37 25 37 25 37 25 37 25 37");
}

static void address_spaces_share_what_stands_in_all(void **state)
{
	struct ground *ground = *state;

	for (int i = 0; i < 8; ++i) {
		char pip[32];

		snprintf(pip, sizeof(pip), "pip:%x000", i + 1);
		stream_write(&ground->base.stream, pip);
		stream_write(&ground->base.stream, "pge:5000 tnt:111111 tnt:111110 pgd:-");
	}
	check(ground, make_spaces, NULL, "25 25 25 25 25 25 25 25");
	for (unsigned round = 4; has_cache(ground) && round < 8; ++round)
		assert_int_equal(ground->number[round], ground->number[4]);
	assert_true(ground->known[7] > 0 || !has_cache(ground));
}

/* Which of two spaces is meant, the trace does not say: the way decides where it comes to. */
static struct pt_image *make_unsure(struct ground *ground)
{
	struct pt_image *image = new_image(ground);

	add_in(image, ground->more[0].path, 0x1000, 0x2000);
	add_in(image, ground->two.path, 0x1002, 0x1000);
	return image;
}

static void nothing_is_kept_where_addresses_mean_two_things(void **state)
{
	struct ground *ground = *state;

	repeat(&ground->base, 8, "pge:1000 tnt:111111 tnt:111110 pgd:- pge:1002 tnt:111111 tnt:111110 pgd:-");
	/* In the first: jmp 1002; nop; nop; je 1002; syscall. At 1002, the second comes first. */
	more_code(ground, "\xeb\x00\x90\x90\x74\xfc\x0f\x05", 8);
	check(ground, make_unsure, NULL, "38 25 38 25 38 25 38 25 38 25 38 25 38 25 38 25");
	assert_int_equal(ground->known[15], 0);
}

static struct pt_image *make_modes(struct ground *ground)
{
	struct pt_image *image = new_image(ground);

	add(image, ground->more[0].path, 0x1000);
	return image;
}

static void modes_have_paths_of_their_own(void **state)
{
	struct ground *ground = *state;

	/* 64 bit: xchg rax, rax; je. 32 bit: dec eax; nop; je */
	more_code(ground, "\x48\x90\x74\xfc\xcd\x80", 6);
	for (int i = 0; i < 6; ++i) {
		stream_write(&ground->base.stream, "exec:64");
		repeat(&ground->base, 1, loop);
		stream_write(&ground->base.stream, "exec:32");
		repeat(&ground->base, 1, loop);
	}
	check(ground, make_modes, NULL, "25 37 25 37 25 37 25 37 25 37 25 37");
}

/* ---- Fillers, and files that go ----------------------------------------------------------------------- */

static int fill(struct pt_image *image, const struct pt_asid *asid, uint64_t ip, void *context)
{
	struct ground *ground = context;

	(void)asid;
	assert_true(ground->nasked < 64);
	ground->asked[ground->nasked++] = ip;
	if (ip == 0x1000)
		add_shared(ground, image, ground->more[0].path, 0xfff);
	else if (ip == 0x1001)
		add_shared(ground, image, ground->more[1].path, 0x1001);
	else
		return 0;
	return 1;
}

static struct pt_image *make_filled(struct ground *ground)
{
	for (int i = 0; i < 12; ++i)
		pt_image_set_filler(new_image(ground), fill, ground);
	return ground->image[0];
}

static void use_next_filled(struct ground *ground, unsigned round)
{
	use_image(ground, ground->image[round / 2 % 12]);
}

/* No filler is asked for more, or sooner, than on foot; then the paths of other images come here, too. */
static void a_filler_is_asked_as_if_there_were_no_cache(void **state)
{
	struct ground *ground = *state;

	more_code(ground, "\x90\x90", 2);
	more_code(ground, two_insns + 1, 4);
	repeat(&ground->base, 24, short_loop);
	check(ground, make_filled, use_next_filled, "7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7");
	assert_int_equal(ground->nasked, 24);
	for (unsigned round = 5; has_cache(ground) && round < 24; round += 2) {
		assert_true(ground->known[round] > 0);
		assert_int_equal(ground->number[round], ground->number[5]);
	}
}

/* A section that nobody uses is let go of at once; when it is used again, its file is gone. */
static void remove_file(struct ground *ground, unsigned round)
{
	if (round == 6) {
		use_image(ground, NULL);
		free_images(ground);
		add(new_image(ground), ground->three.path, 0x1000);
		use_image(ground, ground->image[0]);
	} else if (round == 8) { /* two rounds: the decoder keeps what it handed out last */
		program_remove(&ground->more[0]);
		ground->nmore = 0;
		assert_int_equal(pt_image_add_cached(new_image(ground), ground->cache, 1, NULL), 0);
		use_image(ground, ground->image[1]);
	}
}

static struct pt_image *make_removed(struct ground *ground)
{
	pt_iscache_free(ground->cache);
	ground->cache = pt_iscache_alloc(NULL);
	pt_iscache_set_limit(ground->cache, 0);
	if (!ground->nmore)
		more_code(ground, two_insns, 5);
	add_shared(ground, new_image(ground), ground->more[0].path, 0x1000);
	return ground->image[0];
}

static void code_whose_file_is_gone_does_not_come_again(void **state)
{
	struct ground *ground = *state;

	repeat(&ground->base, 10, loop);
	check(ground, make_removed, remove_file, "25 25 25 25 25 25 37 37 0 error");
}

/* ---- Room ---------------------------------------------------------------------------------------------- */

static void grounds_have_an_end(void **state)
{
	struct pt_run_grounds grounds;
	struct pt_run_ground ground = {.count = 1};
	int number = 0, count = 0;

	(void)state;
	assert_int_equal(pt_grounds_init(&grounds), 0);
	for (int times = 0; times < 2; ++times) {
		for (count = 0; number >= 0 && count < 100000; ++count) {
			ground.mapping[0].section = (uint64_t)count;
			number = pt_grounds_number(&grounds, &ground);
			if (number >= 0)
				assert_int_equal(number, count);
		}
		assert_in_range(count, 1000, 10000);
		ground.mapping[0].section = 17;
		assert_int_equal(pt_grounds_number(&grounds, &ground), 17);
		ground.mapping[0].begin = 1; /* not the same */
		assert_int_equal(pt_grounds_number(&grounds, &ground), -1);
		ground.mapping[0].begin = 0;
		pt_grounds_clear(&grounds);
		number = 0;
	}
	pt_grounds_fini(&grounds);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(what_was_overlaid_does_not_come_again),
	        TEST(what_was_cut_does_not_come_again),
	        TEST(what_was_removed_does_not_come_again),
	        TEST(what_stands_elsewhere_does_not_matter),
	        TEST(a_path_comes_in_all_images_that_have_its_code),
	        TEST(paths_of_one_place_differ_by_their_code),
	        TEST(the_same_section_at_another_address_is_other_code),
	        TEST(a_path_stands_on_all_that_it_goes_through),
	        TEST(a_path_through_too_many_is_not_kept),
	        TEST(address_spaces_have_paths_of_their_own),
	        TEST(address_spaces_share_what_stands_in_all),
	        TEST(nothing_is_kept_where_addresses_mean_two_things),
	        TEST(modes_have_paths_of_their_own),
	        TEST(a_filler_is_asked_as_if_there_were_no_cache),
	        TEST(code_whose_file_is_gone_does_not_come_again),
	        cmocka_unit_test(grounds_have_an_end),
	};

	return cmocka_run_group_tests_name("run grounds", tests, NULL, NULL);
}
