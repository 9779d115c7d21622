/* Images: what lies where after mappings were added, cut, split, copied and removed. */
#include "image_fixture.h"

static void an_image_has_a_name_or_none(void **state)
{
	struct image_fixture *f = *state;
	struct pt_image *nameless = pt_image_alloc(NULL);

	assert_string_equal(pt_image_name(f->image), "image");
	assert_null(pt_image_name(nameless));
	assert_null(pt_image_name(NULL));
	pt_image_free(nameless);
	pt_image_free(NULL);
}

static void impossible_mappings_are_refused(void **state)
{
	struct image_fixture *f = *state;
	char *missing = temp_dir_path(&f->code.dir, "missing");

	assert_int_equal(pt_image_add_file(NULL, f->code.file, 0, 1, NULL, 0), -pte_invalid);
	assert_int_equal(pt_image_add_file(f->image, NULL, 0, 1, NULL, 0), -pte_invalid);
	assert_int_equal(pt_image_add_file(f->image, f->code.file, code_file_size, 1, NULL, 0), -pte_invalid);
	assert_int_equal(pt_image_add_file(f->image, missing, 0, 1, NULL, 0), -pte_invalid);
	assert_int_equal(pt_image_add_file(f->image, f->code.dir.path, 0, 1, NULL, 0), -pte_invalid);
	assert_int_equal(pt_image_add_cached(NULL, f->cache, 1, NULL), -pte_invalid);
	assert_int_equal(pt_image_add_cached(f->image, NULL, 1, NULL), -pte_invalid);
	assert_int_equal(pt_image_add_cached(f->image, f->cache, 1, NULL), -pte_bad_image);
	expect_hole(f->image, NULL, 0);
	free(missing);
}

static void an_empty_mapping_maps_nothing(void **state)
{
	struct image_fixture *f = *state;

	map_file(f, 0, 0, NULL, 0x1000);
	map_cached(f, 0, 0, NULL, 0x1000);
	expect_hole(f->image, NULL, 0x1000);
	assert_int_equal(pt_image_remove_by_asid(f->image, NULL), 0);
	/* But its place must exist. */
	assert_int_equal(pt_image_add_file(f->image, f->code.file, code_file_size, 0, NULL, 0), -pte_invalid);
	assert_int_equal(pt_image_add_file(f->image, "/nowhere", 0, 0, NULL, 0), -pte_invalid);
}

static void a_mapping_is_cut_at_the_end_of_the_file(void **state)
{
	struct image_fixture *f = *state;

	map_file(f, code_file_size - 0x10, 0x1000, NULL, 0x1000);
	expect_piece(f, f->image, NULL, 0x1000, 0x1010, code_file_size - 0x10);
	expect_hole(f->image, NULL, 0xfff);
	expect_hole(f->image, NULL, 0x1010);
}

/* An old mapping of [0x1000, 0x2000), file offset 0, meets a new one, file offset 0x8000. */
static void a_later_mapping_replaces_what_it_overlaps(void **state)
{
	static const struct {
		uint64_t begin, end;            /* of the new one */
		uint64_t left_end, right_begin; /* of what remains of the old one; zero: nothing */
	} row[] = {
	        {0x0000, 0x1000, 0, 0x1000},      /* touches the left end */
	        {0x0000, 0x1001, 0, 0x1001},      /* covers the first byte */
	        {0x0800, 0x1800, 0, 0x1800},      /* covers the left half */
	        {0x1000, 0x1800, 0, 0x1800},      /* the same, flush */
	        {0x1400, 0x1800, 0x1400, 0x1800}, /* the middle */
	        {0x1800, 0x1801, 0x1800, 0x1801}, /* one byte */
	        {0x1800, 0x2000, 0x1800, 0},      /* the right half, flush */
	        {0x1800, 0x2800, 0x1800, 0},      /* the right half */
	        {0x1fff, 0x3000, 0x1fff, 0},      /* the last byte */
	        {0x2000, 0x3000, 0x2000, 0},      /* touches the right end */
	        {0x1000, 0x2000, 0, 0},           /* exactly */
	        {0x0fff, 0x2001, 0, 0},           /* more than all */
	};
	struct image_fixture *f = *state;

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		map_file(f, 0, 0x1000, NULL, 0x1000);
		map_file(f, 0x8000, row[i].end - row[i].begin, NULL, row[i].begin);

		expect_piece(f, f->image, NULL, row[i].begin, row[i].end, 0x8000);
		if (row[i].left_end)
			expect_piece(f, f->image, NULL, 0x1000, row[i].left_end, 0);
		if (row[i].right_begin)
			expect_piece(f, f->image, NULL, row[i].right_begin, 0x2000,
			             row[i].right_begin - 0x1000);
		pt_image_remove_by_asid(f->image, NULL);
	}
}

static void one_mapping_replaces_many(void **state)
{
	struct image_fixture *f = *state;

	for (uint64_t i = 0; i < 16; i++)
		map_file(f, i * 0x100, 0x100, NULL, 0x1000 + i * 0x100);
	map_file(f, 0x8000, 0xd80, NULL, 0x1180);
	expect_piece(f, f->image, NULL, 0x1000, 0x1100, 0);
	expect_piece(f, f->image, NULL, 0x1100, 0x1180, 0x100);
	expect_piece(f, f->image, NULL, 0x1180, 0x1f00, 0x8000);
	expect_piece(f, f->image, NULL, 0x1f00, 0x2000, 0xf00);
}

static void pieces_keep_their_isid(void **state)
{
	struct image_fixture *f = *state;
	int outer = map_cached(f, 0, 0x1000, NULL, 0x1000),
	    inner = map_cached(f, 0x1000, 0x100, NULL, 0x1800);

	assert_int_not_equal(outer, inner);
	assert_int_equal(pt_image_lookup(f->image, NULL, 0x1000)->isid, outer);
	assert_int_equal(pt_image_lookup(f->image, NULL, 0x1800)->isid, inner);
	assert_int_equal(pt_image_lookup(f->image, NULL, 0x1900)->isid, outer);
	map_file(f, 0, 0x100, NULL, 0x1800);
	assert_int_equal(pt_image_lookup(f->image, NULL, 0x1800)->isid, 0);
}

static void images_share_cached_sections_and_keep_them(void **state)
{
	struct image_fixture *f = *state;
	struct pt_image *other = pt_image_alloc(NULL);
	int isid = map_cached(f, 0x100, 0x1000, NULL, 0x1000);

	assert_int_equal(pt_image_add_cached(other, f->cache, isid, ASID(7, ANY)), 0);
	map_cached(f, 0x100, 0x1000, NULL, 0x7000);
	assert_ptr_equal(pt_image_lookup(other, ASID(7, ANY), 0x1000)->section,
	                 pt_image_lookup(f->image, NULL, 0x1000)->section);
	assert_ptr_equal(pt_image_lookup(f->image, NULL, 0x7000)->section,
	                 pt_image_lookup(f->image, NULL, 0x1000)->section);
	pt_iscache_free(f->cache);
	f->cache = NULL;
	expect_piece(f, other, ASID(7, ANY), 0x1000, 0x2000, 0x100);
	pt_image_free(other);
}

static void mappings_end_with_the_address_space(void **state)
{
	struct image_fixture *f = *state;

	map_file(f, 0x100, 0x1000, NULL, -0x1000ull); /* ends at 2^64 exactly */
	expect_piece(f, f->image, NULL, -0x1000ull, 0, 0x100);
	map_file(f, 0x5000, 0x1000, NULL, -0x800ull); /* would go beyond */
	expect_piece(f, f->image, NULL, -0x1000ull, -0x800ull, 0x100);
	expect_piece(f, f->image, NULL, -0x800ull, 0, 0x5000);
	map_cached(f, 0x6000, 0x1000, NULL, -1ull); /* a single byte is left */
	expect_piece(f, f->image, NULL, -0x800ull, -1ull, 0x5000);
	expect_piece(f, f->image, NULL, -1ull, 0, 0x6000);
	expect_hole(f->image, NULL, 0);

	map_file(f, 0, 0x1000, NULL, 0);
	expect_piece(f, f->image, NULL, 0, 0x1000, 0);
	expect_piece(f, f->image, NULL, -1ull, 0, 0x6000);
}

static void a_copy_of_a_split_image_is_the_same(void **state)
{
	struct image_fixture *f = *state;
	struct pt_image *copy = pt_image_alloc(NULL);
	int isid = map_cached(f, 0, 0x1000, NULL, 0x1000);

	map_file(f, 0x8000, 0x100, NULL, 0x1800);
	map_file(f, 0x9000, 0x100, ASID(5, ANY), 0x4000);
	assert_int_equal(pt_image_copy(copy, f->image), 0);
	pt_image_free(f->image);
	f->image = copy;

	expect_piece(f, copy, NULL, 0x1000, 0x1800, 0);
	expect_piece(f, copy, NULL, 0x1800, 0x1900, 0x8000);
	expect_piece(f, copy, NULL, 0x1900, 0x2000, 0x900);
	expect_hole(copy, NULL, 0x2000);
	expect_piece(f, copy, ASID(5, 1), 0x4000, 0x4100, 0x9000);
	expect_hole(copy, ASID(6, 1), 0x4000);
	assert_int_equal(pt_image_lookup(copy, NULL, 0x1900)->isid, isid);
}

static void a_copy_is_added_over_what_is_there(void **state)
{
	struct image_fixture *f = *state;
	struct pt_image *into = pt_image_alloc(NULL);

	assert_int_equal(pt_image_add_file(into, f->code.file, 0x4000, 0x3000, NULL, 0x0), 0);
	map_file(f, 0, 0x1000, NULL, 0x1000);
	assert_int_equal(pt_image_copy(into, f->image), 0);
	expect_piece(f, into, NULL, 0, 0x1000, 0x4000);
	expect_piece(f, into, NULL, 0x1000, 0x2000, 0);
	expect_piece(f, into, NULL, 0x2000, 0x3000, 0x6000);
	assert_int_equal(pt_image_copy(into, into), 0);
	expect_piece(f, into, NULL, 0x1000, 0x2000, 0);
	assert_int_equal(pt_image_copy(NULL, into), -pte_invalid);
	assert_int_equal(pt_image_copy(into, NULL), -pte_invalid);
	pt_image_free(into);
}

static void removal_counts_pieces(void **state)
{
	struct image_fixture *f = *state;
	char *other = temp_dir_write(&f->code.dir, "other", "0123456789abcdef", 16);

	map_file(f, 0, 0x1000, NULL, 0x1000);
	assert_int_equal(pt_image_add_file(f->image, other, 0, 16, NULL, 0x1800), 0);
	assert_int_equal(pt_image_remove_by_filename(f->image, "other", NULL), 0); /* not the name given */
	assert_int_equal(pt_image_remove_by_filename(f->image, f->code.file, NULL), 2);
	assert_int_equal(pt_image_remove_by_filename(f->image, f->code.file, NULL), 0);
	expect_hole(f->image, NULL, 0x1000);
	expect_hole(f->image, NULL, 0x1fff);
	assert_non_null(pt_image_lookup(f->image, NULL, 0x1800));
	assert_int_equal(pt_image_remove_by_asid(f->image, NULL), 1);
	assert_int_equal(pt_image_remove_by_asid(f->image, NULL), 0);
	expect_hole(f->image, NULL, 0x1800);

	assert_int_equal(pt_image_remove_by_filename(NULL, other, NULL), -pte_invalid);
	assert_int_equal(pt_image_remove_by_filename(f->image, NULL, NULL), -pte_invalid);
	assert_int_equal(pt_image_remove_by_asid(NULL, NULL), -pte_invalid);
	free(other);
}

/* libipt.so 2.0.5 removes from all address spaces that match, not only from an equal one. */
static void removal_follows_the_address_space(void **state)
{
	struct image_fixture *f = *state;

	map_file(f, 0, 0x100, ASID(5, ANY), 0x1000);
	map_file(f, 0, 0x100, ASID(6, ANY), 0x1000);
	assert_int_equal(pt_image_remove_by_asid(f->image, ASID(7, ANY)), 0);
	assert_int_equal(pt_image_remove_by_filename(f->image, f->code.file, ASID(5, 7)), 1);
	expect_hole(f->image, ASID(5, ANY), 0x1000);
	expect_piece(f, f->image, ASID(6, ANY), 0x1000, 0x1100, 0);
	map_file(f, 0, 0x100, ASID(5, ANY), 0x1000);
	assert_int_equal(pt_image_remove_by_asid(f->image, NULL), 2);
}

static void address_spaces_are_apart(void **state)
{
	struct image_fixture *f = *state;

	map_file(f, 0x1000, 0x100, ASID(1, ANY), 0x1000);
	map_file(f, 0x2000, 0x100, ASID(2, ANY), 0x1000);
	map_file(f, 0x3000, 0x100, ASID(2, 9), 0x5000);
	expect_piece(f, f->image, ASID(1, ANY), 0x1000, 0x1100, 0x1000);
	expect_piece(f, f->image, ASID(1, 9), 0x1000, 0x1100, 0x1000);
	expect_piece(f, f->image, ASID(2, 8), 0x1000, 0x1100, 0x2000);
	expect_hole(f->image, ASID(3, ANY), 0x1000);
	expect_piece(f, f->image, ASID(2, 9), 0x5000, 0x5100, 0x3000);
	expect_piece(f, f->image, ASID(ANY, 9), 0x5000, 0x5100, 0x3000);
	expect_piece(f, f->image, NULL, 0x5000, 0x5100, 0x3000);
	expect_hole(f->image, ASID(2, 8), 0x5000);
	expect_hole(f->image, ASID(1, 9), 0x5000);
}

static void an_exact_match_wins(void **state)
{
	struct image_fixture *f = *state;

	/* These do not match each other, so both stay; an unknown vmcs asks for either. */
	map_file(f, 0x1000, 0x100, ASID(1, 1), 0x1000);
	map_file(f, 0x2000, 0x100, ASID(1, 2), 0x1000);
	expect_piece(f, f->image, ASID(1, 1), 0x1000, 0x1100, 0x1000);
	expect_piece(f, f->image, ASID(1, 2), 0x1000, 0x1100, 0x2000);
	assert_non_null(pt_image_lookup(f->image, ASID(1, ANY), 0x1000));
	/* This one matches (1, 1) and (1, 2), replaces a part of both, and is what the question names. */
	map_file(f, 0x3000, 0x80, ASID(1, ANY), 0x1000);
	expect_piece(f, f->image, ASID(1, ANY), 0x1000, 0x1080, 0x3000);
	expect_piece(f, f->image, ASID(1, 1), 0x1000, 0x1080, 0x3000);
	expect_piece(f, f->image, ASID(1, 2), 0x1080, 0x1100, 0x2080);
	/* (2, any) is not touched by an address space it does not match. */
	map_file(f, 0x4000, 0x100, ASID(2, ANY), 0x1000);
	expect_piece(f, f->image, ASID(1, ANY), 0x1000, 0x1080, 0x3000);
}

/* Only fields that the caller's struct has in full are read. */
static void an_asid_of_any_size_is_understood(void **state)
{
	static const struct {
		size_t size;
		uint64_t cr3, vmcs;
	} row[] = {{0, ANY, ANY}, {8, ANY, ANY}, {15, ANY, ANY}, {16, 5, ANY},
	           {23, 5, ANY},  {24, 5, 6},    {64, 5, 6}};
	struct image_fixture *f = *state;

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct pt_asid asid = {.size = row[i].size, .cr3 = 5, .vmcs = 6};

		map_file(f, 0, 0x10, &asid, 0x1000);
		expect_piece(f, f->image, ASID(row[i].cr3, row[i].vmcs), 0x1000, 0x1010, 0);
		assert_true((row[i].cr3 == ANY) == !!pt_image_lookup(f->image, ASID(4, 6), 0x1000));
		assert_true((row[i].vmcs == ANY) == !!pt_image_lookup(f->image, ASID(5, 7), 0x1000));
		pt_image_remove_by_asid(f->image, NULL);
	}
}

static void every_change_is_a_new_generation(void **state)
{
	struct image_fixture *f = *state;
	struct pt_image *other = pt_image_alloc(NULL);
	uint64_t seen[8];
	size_t n = 0;

	seen[n++] = pt_image_generation(other);
	seen[n++] = pt_image_generation(f->image);
	map_file(f, 0, 0x100, NULL, 0x1000);
	seen[n++] = pt_image_generation(f->image);
	map_cached(f, 0, 0x100, NULL, 0x1000);
	seen[n++] = pt_image_generation(f->image);
	assert_int_equal(pt_image_copy(other, f->image), 0);
	seen[n++] = pt_image_generation(other);
	assert_int_equal(pt_image_set_callback(f->image, NULL, NULL), 0);
	seen[n++] = pt_image_generation(f->image);
	pt_image_remove_by_asid(f->image, NULL);
	seen[n++] = pt_image_generation(f->image);
	for (size_t i = 0; i < n; i++) {
		assert_int_not_equal(seen[i], 0);
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(seen[i], seen[k]);
	}
	/* Asking changes nothing. */
	expect_hole(f->image, NULL, 0x1000);
	assert_int_equal(pt_image_generation(f->image), seen[n - 1]);
	pt_image_free(other);
}

/* ---- random changes, held against a painted model ---------------------------------------------- */

enum { cells = 400, keys = 9, model_base = 0x10000 };

static const uint64_t model_field[3] = {1, 2, ANY};

/* Per address space and address the file offset that is mapped there, plus one; zero: none. */
struct model {
	uint32_t cell[keys][cells];
};

static bool keys_match(int a, int b)
{
	return (a / 3 == b / 3 || a / 3 == 2 || b / 3 == 2) && (a % 3 == b % 3 || a % 3 == 2 || b % 3 == 2);
}

static const struct pt_asid *model_asid(struct pt_asid *asid, int key)
{
	*asid = *ASID(model_field[key / 3], model_field[key % 3]);
	return asid;
}

static void model_add(struct model *m, int key, uint32_t begin, uint32_t size, uint32_t offset)
{
	for (uint32_t i = 0; i < size; i++) {
		for (int other = 0; other < keys; other++)
			if (keys_match(key, other))
				m->cell[other][begin + i] = 0;
		m->cell[key][begin + i] = offset + i + 1;
	}
}

static void expect_model(const struct image_fixture *f, struct pt_image *image, const struct model *m)
{
	for (int key = 0; key < keys; key++) {
		for (uint32_t i = 0; i < cells; i++) {
			const struct pt_mapping *mapping;
			struct pt_asid asid;
			uint32_t cell = m->cell[key][i];
			int errcode = 0;

			for (int other = 0; !cell && other < keys; other++)
				if (keys_match(key, other))
					cell = m->cell[other][i];
			mapping = pt_image_lookup(image, model_asid(&asid, key), model_base + i);
			assert_int_equal(!mapping, !cell);
			/* Which one of several is given for a partly unknown asid is not specified. */
			if (!cell || ((key / 3 == 2 || key % 3 == 2) && !m->cell[key][i]))
				continue;
			assert_int_equal(mapping->section->offset + (model_base + i - mapping->begin),
			                 cell - 1);
			assert_int_equal(
			        pt_section_bytes(mapping->section, &errcode)[model_base + i - mapping->begin],
			        f->code.content[cell - 1]);
		}
	}
}

static void random_changes_agree_with_a_painted_model(void **state)
{
	struct image_fixture *f = *state;
	struct model *m = calloc(1, sizeof(*m));
	struct pt_image *copy;

	srand(20240501);
	for (int round = 0; round < 400; round++) {
		uint32_t begin = (uint32_t)rand() % cells, size = 1 + (uint32_t)rand() % 60;
		uint32_t offset = (uint32_t)rand() % 90000;
		int key = rand() % keys;
		struct pt_asid asid;

		if (size > cells - begin)
			size = cells - begin;
		if (round % 3)
			map_cached(f, offset, size, model_asid(&asid, key), model_base + begin);
		else
			map_file(f, offset, size, model_asid(&asid, key), model_base + begin);
		model_add(m, key, begin, size, offset);
		if (round % 100 == 99) {
			assert_true(pt_image_remove_by_asid(f->image, model_asid(&asid, key)) > 0);
			for (int other = 0; other < keys; other++)
				if (keys_match(key, other))
					memset(m->cell[other], 0, sizeof(m->cell[other]));
		}
		expect_model(f, f->image, m);
	}
	copy = pt_image_alloc(NULL);
	assert_int_equal(pt_image_copy(copy, f->image), 0);
	expect_model(f, copy, m);
	pt_image_free(copy);
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        IMAGE_TEST(an_image_has_a_name_or_none),
	        IMAGE_TEST(impossible_mappings_are_refused),
	        IMAGE_TEST(an_empty_mapping_maps_nothing),
	        IMAGE_TEST(a_mapping_is_cut_at_the_end_of_the_file),
	        IMAGE_TEST(a_later_mapping_replaces_what_it_overlaps),
	        IMAGE_TEST(one_mapping_replaces_many),
	        IMAGE_TEST(pieces_keep_their_isid),
	        IMAGE_TEST(images_share_cached_sections_and_keep_them),
	        IMAGE_TEST(mappings_end_with_the_address_space),
	        IMAGE_TEST(a_copy_of_a_split_image_is_the_same),
	        IMAGE_TEST(a_copy_is_added_over_what_is_there),
	        IMAGE_TEST(removal_counts_pieces),
	        IMAGE_TEST(removal_follows_the_address_space),
	        IMAGE_TEST(address_spaces_are_apart),
	        IMAGE_TEST(an_exact_match_wins),
	        IMAGE_TEST(an_asid_of_any_size_is_understood),
	        IMAGE_TEST(every_change_is_a_new_generation),
	        IMAGE_TEST(random_changes_agree_with_a_painted_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
