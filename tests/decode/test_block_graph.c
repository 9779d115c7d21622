/* The block graph: basic blocks of a section, found once, linked, and the same at any load address. */
#include "image_fixture.h"

#include <fcntl.h>
#include <unistd.h>

#include "code/block_graph.h"
#include "support/trace.h"

/* A section of @size bytes of code. */
static struct pt_section *make(struct image_fixture *f, const char *name, const void *bytes, size_t size)
{
	char *file = temp_dir_write(&f->code.dir, name, bytes, size);
	struct pt_section *section = NULL;

	assert_int_equal(pt_section_make(&section, file, 0, size), 0);
	free(file);
	return section;
}

static const struct pt_node *node_at(struct pt_section *section, uint64_t offset, enum pt_exec_mode mode)
{
	const struct pt_node *node = NULL;

	assert_int_equal(pt_graph_node(&node, section, offset, mode), 0);
	return node;
}

static void a_block_ends_with_its_branch(void **state)
{
	/* 0: nop; mov eax, imm32; jz +3 */
	static const uint8_t code[] = {0x90, 0xb8, 1, 0, 0, 0, 0x74, 3, 0x90, 0x90, 0x90, 0xc3};
	struct pt_section *section = make(*state, "code_", code, sizeof(code));
	const struct pt_node *node = node_at(section, 0, ptem_64bit), *next, *taken;

	assert_int_equal(node->ninsn, 3);
	assert_int_equal(node->size, 8);
	assert_int_equal(node->last, 6);
	assert_int_equal(node->kind, pt_kind_cond);
	assert_memory_equal(node->length, ((uint8_t[]){1, 5, 2}), 3);
	assert_int_equal(pt_graph_next(&next, section, node), 0);
	assert_int_equal(next->offset, 8);
	assert_int_equal(next->kind, pt_kind_ret);
	assert_int_equal(pt_graph_taken(&taken, section, node), 0);
	assert_int_equal(taken->offset, 11);
	/* The same ones again, now along the links. */
	assert_ptr_equal(node_at(section, 0, ptem_64bit), node);
	assert_int_equal(pt_graph_next(&next, section, node), 0);
	assert_ptr_equal(next, node_at(section, 8, ptem_64bit));
	assert_int_equal(pt_graph_taken(&taken, section, node), 0);
	assert_ptr_equal(taken, node_at(section, 11, ptem_64bit));
	pt_section_put(section);
}

static void modes_have_blocks_of_their_own(void **state)
{
	static const uint8_t code[] = {0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 0xc3};
	struct pt_section *section = make(*state, "code_", code, sizeof(code));

	assert_int_equal(node_at(section, 0, ptem_64bit)->length[0], 10);
	assert_int_equal(node_at(section, 0, ptem_32bit)->length[0], 1);
	assert_int_equal(node_at(section, 0, ptem_64bit)->length[0], 10);
	pt_section_put(section);
}

static void what_leads_out_of_the_section_is_not_linked(void **state)
{
	static const uint8_t forward[] = {0xeb, 0x10}, backward[] = {0xeb, 0x80}, through[] = {0x90};
	struct pt_section *section = make(*state, "forward", forward, sizeof(forward));
	const struct pt_node *node;

	assert_int_equal(pt_graph_taken(&node, section, node_at(section, 0, ptem_64bit)), -pte_nomap);
	assert_int_equal(pt_graph_node(&node, section, 2, ptem_64bit), -pte_nomap);
	assert_int_equal(pt_graph_node(&node, section, UINT64_MAX, ptem_64bit), -pte_nomap);
	pt_section_put(section);
	section = make(*state, "backward", backward, sizeof(backward));
	assert_int_equal(pt_graph_taken(&node, section, node_at(section, 0, ptem_64bit)), -pte_nomap);
	pt_section_put(section);
	section = make(*state, "through", through, sizeof(through));
	assert_int_equal(node_at(section, 0, ptem_64bit)->kind, pt_kind_fall);
	assert_int_equal(pt_graph_next(&node, section, node_at(section, 0, ptem_64bit)), -pte_nomap);
	pt_section_put(section);
}

/* Where a 16-bit branch of 32-bit code and an absolute jump lead depends on the load address. */
static void targets_that_are_not_relative_are_not_linked(void **state)
{
	static const uint8_t code[] = {0x66, 0xeb, 0x00, 0xd5, 0x00, 0xa1, 5, 0, 0, 0, 0, 0, 0, 0, 0x90};
	struct pt_section *section = make(*state, "code_", code, sizeof(code));
	const struct pt_node *word = node_at(section, 0, ptem_32bit), *absolute, *node;

	assert_int_equal(pt_graph_taken(&node, section, word), -pte_nomap);
	assert_int_equal(pt_node_taken_ip(word, 0x12340000), 0x0003);
	assert_int_equal(pt_node_next_ip(word, 0xfffffffe), 0x0001);
	absolute = node_at(section, 3, ptem_64bit);
	assert_int_equal(absolute->kind, pt_kind_jump);
	assert_int_equal(pt_graph_taken(&node, section, absolute), -pte_nomap);
	assert_int_equal(pt_node_taken_ip(absolute, 0x400003), 5);
	pt_section_put(section);
}

static void a_block_ends_before_what_is_no_instruction(void **state)
{
	static const uint8_t code[] = {0x90, 0x06, 0x90, 0x48};
	struct pt_section *section = make(*state, "code_", code, sizeof(code));
	const struct pt_node *node;

	assert_int_equal(node_at(section, 0, ptem_64bit)->kind, pt_kind_fall);
	assert_int_equal(node_at(section, 0, ptem_64bit)->size, 1);
	assert_int_equal(pt_graph_node(&node, section, 1, ptem_64bit), -pte_bad_insn);
	/* Cut by the section's end. */
	assert_int_equal(node_at(section, 2, ptem_64bit)->kind, pt_kind_fall);
	assert_int_equal(node_at(section, 3, ptem_64bit)->kind, pt_kind_split);
	assert_int_equal(node_at(section, 3, ptem_64bit)->ninsn, 0);
	pt_section_put(section);
}

static void a_long_block_is_cut(void **state)
{
	uint8_t code[1000];
	struct pt_section *section;
	const struct pt_node *node;
	uint64_t ninsn = 0;

	memset(code, 0x90, sizeof(code));
	code[sizeof(code) - 1] = 0xc3;
	section = make(*state, "long", code, sizeof(code));
	for (node = node_at(section, 0, ptem_64bit); node->kind == pt_kind_fall;
	     ninsn += node->ninsn, node = node_at(section, ninsn, ptem_64bit))
		assert_int_equal(node->ninsn, pt_node_max_insn);
	assert_int_equal(ninsn + node->ninsn, sizeof(code));
	assert_int_equal(node->kind, pt_kind_ret);
	pt_section_put(section);
}

static void a_file_that_is_gone_has_no_blocks(void **state)
{
	struct image_fixture *f = *state;
	struct pt_section *section = make(f, "gone", "\xc3", 1);
	char *file = temp_dir_path(&f->code.dir, "gone");
	const struct pt_node *node;

	assert_int_equal(unlink(file), 0);
	assert_int_equal(pt_graph_node(&node, section, 0, ptem_64bit), -pte_bad_image);
	pt_section_put(section);
	free(file);
}

/* Sections may be many and small: what is known of one must not cost more than a few pages. */
static void a_small_section_has_a_small_graph(void **state)
{
	struct pt_section *section = make(*state, "code_", "\x90\xc3", 2);

	node_at(section, 0, ptem_64bit);
	assert_true(pt_block_graph_size(atomic_load(&section->graph)) < 4096);
	pt_section_put(section);
}

/* Blocks at every offset of more than one region of 16 MiB, and of one line of 64 bytes. */
static void blocks_are_found_wherever_they_start(void **state)
{
	struct image_fixture *f = *state;
	const uint64_t size = (5ull << 30) + 64;
	char *file = temp_dir_write(&f->code.dir, "sparse", "\x90\xc3", 2);
	struct pt_section *section;

	if (truncate(file, (off_t)size) < 0)
		skip();
	assert_int_equal(pt_section_make(&section, file, 0, size), 0);
	for (uint64_t offset = 0; offset < size - 64; offset += size / 61)
		assert_int_equal(node_at(section, offset, ptem_64bit)->offset, offset);
	for (uint64_t offset = size - 64; offset < size; offset++)
		assert_int_equal(node_at(section, offset, ptem_64bit)->offset, offset);
	assert_int_equal(node_at(section, 0, ptem_64bit)->kind, pt_kind_ret);
	/* Memory follows what was executed, not the section's size. */
	assert_true(pt_block_graph_size(atomic_load(&section->graph)) < 16u << 20);
	pt_section_put(section);
	free(file);
}

/* ---- code at the end of its addresses, through a decoder ------------------------------------------ */

static void trace_from(struct trace *trace, enum pt_exec_mode mode, uint64_t ip)
{
	trace->size = 0;
	trace_psb(trace);
	trace->bytes[trace->size++] = 0x99; /* MODE.Exec */
	trace->bytes[trace->size++] = mode == ptem_64bit ? 1 : mode == ptem_32bit ? 2 : 0;
	trace_ip(trace, ppt_fup, ip);
	trace_psbend(trace);
	trace_tnt(trace, "n");
}

/* Executes code at @ip in @mode until it ends or errs; the addresses must be the @count ones at @expected. */
static void expect_path(struct pt_image *image, enum pt_exec_mode mode, uint64_t ip, const uint64_t *expected,
                        size_t count)
{
	struct pt_insn_decoder *decoder;
	struct pt_config config;
	struct trace trace;
	int status;

	trace_from(&trace, mode, ip);
	config = trace_config(&trace);
	decoder = pt_insn_alloc_decoder(&config);
	assert_non_null(decoder);
	assert_int_equal(pt_insn_set_image(decoder, image), 0);
	status = pt_insn_sync_forward(decoder);
	for (size_t i = 0; i < count; i++) {
		struct pt_insn insn;
		struct pt_event event;

		while (status >= 0 && (status & pts_event_pending))
			status = pt_insn_event(decoder, &event, sizeof(event));
		assert_true(status >= 0);
		status = pt_insn_next(decoder, &insn, sizeof(insn));
		assert_int_equal(insn.ip, expected[i]);
		assert_int_not_equal(insn.size, 0);
	}
	pt_insn_free_decoder(decoder);
}

#define EXPECT_PATH(image, mode, ...)                                                                        \
	do {                                                                                                 \
		static const uint64_t path_[] = {__VA_ARGS__};                                               \
		expect_path(image, mode, path_[0], path_, sizeof(path_) / sizeof(path_[0]));                 \
	} while (0)

/* @size bytes of @bytes at @vaddr. */
static void map_bytes(struct image_fixture *f, const char *name, const void *bytes, size_t size,
                      uint64_t vaddr)
{
	char *file = temp_dir_write(&f->code.dir, name, bytes, size);

	assert_int_equal(pt_image_add_file(f->image, file, 0, size, NULL, vaddr), 0);
	free(file);
}

/* Instructions one after the other: from 0xfffffffe on over 4 GiB, whether the mapping ends there or not. */
static void code_of_32_bits_goes_on_at_zero(void **state)
{
	struct image_fixture *f = *state;

	map_bytes(f, "high", "\x90\x90\x90\x90\x90\xeb\xfe", 7, 0xfffffffc);
	map_bytes(f, "low", "\x90\x90\x90", 3, 0);
	EXPECT_PATH(f->image, ptem_32bit, 0xfffffffe, 0xffffffff, 0, 1, 2);
	EXPECT_PATH(f->image, ptem_64bit, 0xfffffffe, 0xffffffff, 0x100000000, 0x100000001);
}

static void code_of_16_bits_goes_on_at_zero(void **state)
{
	struct image_fixture *f = *state;

	map_bytes(f, "all", f->code.content, code_file_size, 0);
	map_bytes(f, "high", "\x90\x90\x90\x90", 4, 0xfffe);
	map_bytes(f, "low", "\x90\x90\x90", 3, 0);
	EXPECT_PATH(f->image, ptem_16bit, 0xfffe, 0xffff, 0, 1, 2);
	EXPECT_PATH(f->image, ptem_32bit, 0xfffe, 0xffff, 0x10000, 0x10001);
}

/* jmp over the end and back, in mappings that do not and do reach over it. */
static void branches_of_32_bits_wrap(void **state)
{
	struct image_fixture *f = *state;

	map_bytes(f, "high", "\xeb\x0e", 2, 0xfffffff0);
	map_bytes(f, "low", "\xeb\xee", 2, 0);
	EXPECT_PATH(f->image, ptem_32bit, 0xfffffff0, 0, 0xfffffff0);
	map_bytes(f, "over", "\xeb\x0e\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90", 18,
	          0xfffffff0);
	EXPECT_PATH(f->image, ptem_32bit, 0xfffffff0, 0, 0xfffffff0);
	EXPECT_PATH(f->image, ptem_64bit, 0xfffffff0, 0x100000000, 0x100000001);
}

static void branches_of_a_word_go_to_the_first_64_kib(void **state)
{
	struct image_fixture *f = *state;

	map_bytes(f, "high", "\x66\xeb\x01\xcc\xcc", 5, 0x20000);
	map_bytes(f, "low", "\x90\xeb\xfe", 3, 4);
	EXPECT_PATH(f->image, ptem_32bit, 0x20000, 4, 5);
}

static void an_absolute_jump_goes_to_its_address(void **state)
{
	struct image_fixture *f = *state;

	map_bytes(f, "high", "\xd5\x00\xa1\x00\x10\x00\x00\x00\x00\x00\x00", 11, 0x20000);
	map_bytes(f, "low", "\x90\xeb\xfe", 3, 0x1000);
	EXPECT_PATH(f->image, ptem_64bit, 0x20000, 0x1000, 0x1001);
}

/* Where the section's offsets need more than 32 bits: a branch over 4 GiB and back, and through it. */
static void sections_of_more_than_4_gib_are_executed(void **state)
{
	struct image_fixture *f = *state;
	const uint64_t size = 6ull << 30;
	char *file = temp_dir_write(&f->code.dir, "sparse", "", 0);
	int fd = open(file, O_WRONLY);

	if (ftruncate(fd, (off_t)size) < 0)
		skip();
	assert_int_equal(pwrite(fd, "\xeb\x0e", 2, (off_t)((4ull << 30) - 8)), 2);
	assert_int_equal(pwrite(fd, "\x90\xeb\xef", 3, (off_t)((4ull << 30) + 8)), 3);
	close(fd);
	assert_int_equal(pt_image_add_file(f->image, file, 0, size, NULL, 0x7f0000000000), 0);
	EXPECT_PATH(f->image, ptem_64bit, 0x7f00fffffff8, 0x7f0100000008, 0x7f0100000009, 0x7f00fffffffa,
	            0x7f00fffffffc);
	free(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        IMAGE_TEST(a_block_ends_with_its_branch),
	        IMAGE_TEST(modes_have_blocks_of_their_own),
	        IMAGE_TEST(what_leads_out_of_the_section_is_not_linked),
	        IMAGE_TEST(targets_that_are_not_relative_are_not_linked),
	        IMAGE_TEST(a_block_ends_before_what_is_no_instruction),
	        IMAGE_TEST(a_long_block_is_cut),
	        IMAGE_TEST(a_file_that_is_gone_has_no_blocks),
	        IMAGE_TEST(a_small_section_has_a_small_graph),
	        IMAGE_TEST(blocks_are_found_wherever_they_start),
	        IMAGE_TEST(code_of_32_bits_goes_on_at_zero),
	        IMAGE_TEST(code_of_16_bits_goes_on_at_zero),
	        IMAGE_TEST(branches_of_32_bits_wrap),
	        IMAGE_TEST(branches_of_a_word_go_to_the_first_64_kib),
	        IMAGE_TEST(an_absolute_jump_goes_to_its_address),
	        IMAGE_TEST(sections_of_more_than_4_gib_are_executed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
