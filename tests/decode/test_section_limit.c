/* The limit of a section cache: what it keeps mapped of sections that nobody uses, and what it never
 * touches. Whether a file is mapped is asked of the kernel. */
#include "image_fixture.h"

#include <stdio.h>
#include <unistd.h>

#include "code/block_graph.h"
#include "code/section_cache.h"

/* How many mappings of @file the process has. */
static int mappings_of(const char *file)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096 + 200];
	int count = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		count += strstr(line, file) != NULL;
	fclose(maps);
	return count;
}

/* Another file of @size bytes; the caller frees its path. */
static char *make_file(struct image_fixture *f, const char *name, size_t size)
{
	return temp_dir_write(&f->code.dir, name, f->code.content, size);
}

static int add(struct image_fixture *f, const char *file, uint64_t vaddr)
{
	int isid = pt_iscache_add_file(f->cache, file, 0, UINT64_MAX, vaddr);

	assert_true(isid > 0);
	return isid;
}

static void expect_readable(struct image_fixture *f, int isid, uint64_t vaddr, uint64_t size)
{
	uint8_t buffer[code_file_size];

	assert_int_equal(pt_iscache_read(f->cache, buffer, size, isid, vaddr), size);
	assert_memory_equal(buffer, f->code.content, size);
}

static void without_a_limit_everything_stays(void **state)
{
	struct image_fixture *f = *state;
	int isid = add(f, f->code.file, 0x1000);

	assert_int_equal(mappings_of(f->code.file), 0);
	expect_readable(f, isid, 0x1000, code_file_size);
	assert_int_equal(mappings_of(f->code.file), 1);
}

/* Small files are copied, but not any number of them. */
static void copies_take_so_much_and_no_more(void **state)
{
	enum { size = 250000, count = 40, copied = (8 << 20) / size };
	struct image_fixture *f = *state;
	char *file[count], name[16];
	int isid[count];

	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "file%d.", i);
		file[i] = make_file(f, name, size);
		isid[i] = add(f, file[i], 0x1000);
		expect_readable(f, isid[i], 0x1000, size);
		assert_int_equal(mappings_of(file[i]), i >= copied);
	}
	/* What is given back is there for others. */
	assert_int_equal(pt_iscache_set_limit(f->cache, 0), 0);
	assert_int_equal(pt_iscache_set_limit(f->cache, UINT64_MAX), 0);
	expect_readable(f, isid[count - 1], 0x1000, size);
	assert_int_equal(mappings_of(file[count - 1]), 0);
	for (int i = 0; i < count; i++)
		free(file[i]);
}

static void with_a_limit_of_zero_nothing_stays(void **state)
{
	struct image_fixture *f = *state;
	int isid = add(f, f->code.file, 0x1000);

	assert_int_equal(pt_iscache_set_limit(f->cache, 0), 0);
	for (int i = 0; i < 3; i++) {
		expect_readable(f, isid, 0x1000, code_file_size);
		assert_int_equal(mappings_of(f->code.file), 0);
	}
}

static void a_lower_limit_counts_at_once(void **state)
{
	struct image_fixture *f = *state;

	expect_readable(f, add(f, f->code.file, 0x1000), 0x1000, code_file_size);
	assert_int_equal(pt_iscache_set_limit(f->cache, code_file_size), 0);
	assert_int_equal(mappings_of(f->code.file), 1);
	assert_int_equal(pt_iscache_set_limit(f->cache, code_file_size - 1), 0);
	assert_int_equal(mappings_of(f->code.file), 0);
}

static void the_least_recently_used_goes_first(void **state)
{
	struct image_fixture *f = *state;
	char *file[3];
	int isid[3];

	for (int i = 0; i < 3; i++) {
		file[i] = make_file(f, (const char *[]){"one", "two", "three"}[i], 300000);
		isid[i] = add(f, file[i], 0x1000);
	}
	assert_int_equal(pt_iscache_set_limit(f->cache, 600000), 0);
	expect_readable(f, isid[0], 0x1000, 300000);
	expect_readable(f, isid[1], 0x1000, 300000);
	expect_readable(f, isid[0], 0x1000, 300000); /* used again: now the newest */
	expect_readable(f, isid[2], 0x1000, 300000);
	assert_int_equal(mappings_of(file[0]), 1);
	assert_int_equal(mappings_of(file[1]), 0);
	assert_int_equal(mappings_of(file[2]), 1);
	/* Comes back when it is needed, in place of the oldest. */
	expect_readable(f, isid[1], 0x1000, 300000);
	assert_int_equal(mappings_of(file[0]), 0);
	assert_int_equal(mappings_of(file[1]), 1);
	for (int i = 0; i < 3; i++)
		free(file[i]);
}

static void one_that_is_too_large_does_not_push_out_the_others(void **state)
{
	struct image_fixture *f = *state;
	char *small = make_file(f, "small", 300000);

	assert_int_equal(pt_iscache_set_limit(f->cache, 350000), 0);
	expect_readable(f, add(f, small, 0x1000), 0x1000, 300000);
	expect_readable(f, add(f, f->code.file, 0x1000), 0x1000, code_file_size);
	assert_int_equal(mappings_of(small), 1);
	assert_int_equal(mappings_of(f->code.file), 0);
	free(small);
}

/* A file stays mapped as long as one of its pieces is kept or used. */
static void pieces_of_a_file_share_its_mapping(void **state)
{
	struct image_fixture *f = *state;
	int head = pt_iscache_add_file(f->cache, f->code.file, 0, 1000, 0x1000);
	int tail = pt_iscache_add_file(f->cache, f->code.file, 0, 2000, 0x8000);

	assert_int_equal(pt_iscache_set_limit(f->cache, 2500), 0);
	expect_readable(f, head, 0x1000, 1000);
	expect_readable(f, tail, 0x8000, 2000);
	assert_int_equal(mappings_of(f->code.file), 1);
	assert_int_equal(pt_iscache_set_limit(f->cache, 1999), 0);
	assert_int_equal(mappings_of(f->code.file), 0);
}

static void what_an_image_uses_is_not_touched(void **state)
{
	struct image_fixture *f = *state;
	struct pt_image *other = pt_image_alloc(NULL);
	int isid = map_cached(f, 0, code_file_size, NULL, 0x1000);
	uint8_t buffer[16];

	assert_int_equal(pt_image_add_cached(other, f->cache, isid, NULL), 0);
	assert_int_equal(pt_iscache_set_limit(f->cache, 0), 0);
	assert_int_equal(pt_image_read(f->image, &isid, buffer, 16, NULL, 0x1000), 16);
	pt_image_remove_by_asid(other, NULL);
	expect_readable(f, isid, 0x1000, code_file_size);
	assert_int_equal(mappings_of(f->code.file), 1);
	/* The last image lets go. */
	pt_image_remove_by_asid(f->image, NULL);
	assert_int_equal(mappings_of(f->code.file), 0);
	pt_image_free(other);
}

static void what_a_decoder_holds_is_not_touched(void **state)
{
	struct image_fixture *f = *state;
	struct pt_section *section;
	uint64_t vaddr;
	int isid = add(f, f->code.file, 0x1000), errcode = 0;

	assert_int_equal(pt_iscache_set_limit(f->cache, 0), 0);
	assert_int_equal(pt_iscache_lookup(f->cache, isid, &section, &vaddr), 0);
	assert_non_null(pt_section_bytes(section, &errcode));
	expect_readable(f, isid, 0x1000, 1000);
	assert_int_equal(mappings_of(f->code.file), 1);
	pt_section_put(section);
	assert_int_equal(mappings_of(f->code.file), 0);
}

static void what_is_left_of_a_piece_that_was_cut_is_in_use(void **state)
{
	struct image_fixture *f = *state;

	map_cached(f, 0, 0x2000, NULL, 0x1000);
	map_file(f, 0x8000, 0x100, NULL, 0x1800);
	assert_int_equal(pt_iscache_set_limit(f->cache, 0), 0);
	expect_piece(f, f->image, NULL, 0x1000, 0x1800, 0);
	expect_piece(f, f->image, NULL, 0x1900, 0x3000, 0x900);
	assert_int_equal(mappings_of(f->code.file), 1);
	pt_image_remove_by_asid(f->image, NULL);
	assert_int_equal(mappings_of(f->code.file), 0);
}

/* One instruction; made anew for a section that lost its graph. */
static const struct pt_node *first_node(struct pt_section *section)
{
	const struct pt_node *node = NULL;

	assert_int_equal(pt_graph_node(&node, section, 0, ptem_64bit), 0);
	assert_int_equal(node->kind, pt_kind_jump);
	return node;
}

static void what_was_learned_of_the_code_counts_and_goes(void **state)
{
	struct image_fixture *f = *state;
	char *file = temp_dir_write(&f->code.dir, "jump", "\xeb\xfe", 2);
	struct pt_section *section;
	uint64_t vaddr;
	int isid = add(f, file, 0x1000);

	assert_int_equal(pt_iscache_lookup(f->cache, isid, &section, &vaddr), 0);
	first_node(section);
	pt_section_put(section);
	assert_non_null(atomic_load(&section->graph));
	/* The bytes are few, the graph is not. */
	assert_int_equal(pt_iscache_set_limit(f->cache, 10), 0);
	assert_null(atomic_load(&section->graph));
	assert_int_equal(mappings_of(file), 0);
	assert_int_equal(pt_iscache_lookup(f->cache, isid, &section, &vaddr), 0);
	first_node(section);
	pt_section_put(section);
	free(file);
}

static void a_file_that_changed_meanwhile_is_refused(void **state)
{
	struct image_fixture *f = *state;
	char *file = make_file(f, "changes", 1000);
	int isid = add(f, file, 0x1000);
	uint8_t buffer[4];

	expect_readable(f, isid, 0x1000, 1000);
	free(make_file(f, "changes", 900));
	assert_int_equal(pt_iscache_read(f->cache, buffer, 4, isid, 0x1000), 4); /* still mapped */
	assert_int_equal(pt_iscache_set_limit(f->cache, 0), 0);
	assert_int_equal(pt_iscache_read(f->cache, buffer, 4, isid, 0x1000), -pte_bad_image);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(pt_iscache_read(f->cache, buffer, 4, isid, 0x1000), -pte_bad_image);
	free(file);
}

static void sections_in_use_outlive_their_cache(void **state)
{
	struct image_fixture *f = *state;
	int isid = map_cached(f, 0, 0x1000, NULL, 0x1000);
	uint8_t buffer[16];

	expect_readable(f, isid, 0x1000, 0x1000);
	map_cached(f, 0x1000, 0x1000, NULL, 0x2000);
	expect_readable(f, add(f, f->code.file, 0x9000), 0x9000, 0x1000); /* unused, kept */
	pt_iscache_free(f->cache);
	f->cache = NULL;
	assert_int_equal(mappings_of(f->code.file), 1);
	assert_int_equal(pt_image_read(f->image, &isid, buffer, 16, NULL, 0x2000), 16);
	pt_image_remove_by_asid(f->image, NULL);
	assert_int_equal(mappings_of(f->code.file), 0);
}

/* More users than 16 bits count, and back to none. */
static void seventy_thousand_images_use_a_section(void **state)
{
	enum { count = 70000 };
	struct image_fixture *f = *state;
	struct pt_image **image = calloc(count, sizeof(struct pt_image *));
	int isid = add(f, f->code.file, 0x1000);
	uint8_t byte;

	assert_int_equal(pt_iscache_set_limit(f->cache, 0), 0);
	for (int i = 0; i < count; i++) {
		image[i] = pt_image_alloc(NULL);
		assert_int_equal(pt_image_add_cached(image[i], f->cache, isid, NULL), 0);
		assert_int_equal(pt_image_read(image[i], &isid, &byte, 1, NULL, 0x1000), 1);
	}
	assert_int_equal(mappings_of(f->code.file), 1);
	for (int i = 0; i < count; i++) {
		assert_int_equal(pt_image_read(image[i], &isid, &byte, 1, NULL, 0x1001), 1);
		assert_int_equal(byte, f->code.content[1]);
		pt_image_free(image[i]);
	}
	assert_int_equal(mappings_of(f->code.file), 0);
	free(image);
}

static void a_limit_needs_a_cache(void **state)
{
	(void)state;
	assert_int_equal(pt_iscache_set_limit(NULL, 0), -pte_invalid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        IMAGE_TEST(without_a_limit_everything_stays),
	        IMAGE_TEST(copies_take_so_much_and_no_more),
	        IMAGE_TEST(with_a_limit_of_zero_nothing_stays),
	        IMAGE_TEST(a_lower_limit_counts_at_once),
	        IMAGE_TEST(the_least_recently_used_goes_first),
	        IMAGE_TEST(one_that_is_too_large_does_not_push_out_the_others),
	        IMAGE_TEST(pieces_of_a_file_share_its_mapping),
	        IMAGE_TEST(what_an_image_uses_is_not_touched),
	        IMAGE_TEST(what_a_decoder_holds_is_not_touched),
	        IMAGE_TEST(what_is_left_of_a_piece_that_was_cut_is_in_use),
	        IMAGE_TEST(what_was_learned_of_the_code_counts_and_goes),
	        IMAGE_TEST(a_file_that_changed_meanwhile_is_refused),
	        IMAGE_TEST(sections_in_use_outlive_their_cache),
	        IMAGE_TEST(seventy_thousand_images_use_a_section),
	        IMAGE_TEST(a_limit_needs_a_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
