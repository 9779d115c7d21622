/* Images that are filled while they are used; and what searching in large ones costs, counted in steps. */
#include "image_fixture.h"

#include "code/ordered_tree.h"
#include "intel-pt-filler.h"

enum { nmappings = 10000, size = 0x10, distance = 0x20 };

static const uint64_t base = 0x1000000;

/* A process with many mappings, which its image gets one by one. */
struct process {
	struct image_fixture *f;
	unsigned asked, added;
	uint64_t asked_ip;
	struct pt_asid asid;
};

static uint64_t file_offset(uint64_t index)
{
	return index % 64 * size;
}

static int add_mapping(struct process *process, uint64_t index)
{
	int isid = pt_iscache_add_file(process->f->cache, process->f->code.file, file_offset(index), size,
	                               base + index * distance);

	assert_true(isid > 0);
	return pt_image_add_cached(process->f->image, process->f->cache, isid, NULL);
}

static int fill(struct pt_image *image, const struct pt_asid *asid, uint64_t ip, void *context)
{
	struct process *process = context;
	const uint64_t index = (ip - base) / distance;

	assert_ptr_equal(image, process->f->image);
	process->asked++;
	process->asked_ip = ip;
	process->asid = *asid;
	if (ip < base || index >= nmappings || (ip - base) % distance >= size)
		return 0;
	assert_int_equal(add_mapping(process, index), 0);
	process->added++;
	return 1;
}

static void only_what_is_looked_for_is_added(void **state)
{
	struct process process = {.f = *state};
	struct pt_image *image = process.f->image;
	uint64_t generation;

	assert_int_equal(pt_image_set_filler(image, fill, &process), 0);
	generation = pt_image_generation(image);
	for (uint64_t i = 0; i < nmappings; i += 100)
		for (unsigned again = 0; again < 2; again++)
			expect_piece(process.f, image, NULL, base + i * distance, base + i * distance + size,
			             file_offset(i));
	assert_int_equal(process.asked, nmappings / 100);
	assert_int_equal(process.added, nmappings / 100);
	/* What a decoder knows of the image is still right. */
	assert_int_equal(pt_image_generation(image), generation);
}

static void a_filler_is_told_where_and_in_which_address_space(void **state)
{
	struct process process = {.f = *state};

	assert_int_equal(pt_image_set_filler(process.f->image, fill, &process), 0);
	expect_hole(process.f->image, ASID(5, 6), base + size);
	assert_int_equal(process.asked_ip, base + size);
	assert_int_equal(process.asid.cr3, 5);
	assert_int_equal(process.asid.vmcs, 6);
	expect_hole(process.f->image, NULL, base + size);
	assert_int_equal(process.asked, 2); /* again each time */
	assert_int_equal(pt_image_set_filler(process.f->image, NULL, NULL), 0);
	expect_hole(process.f->image, NULL, base);
	assert_int_equal(process.asked, 2);
	assert_int_equal(pt_image_set_filler(NULL, fill, &process), -pte_invalid);
}

static int give_ff(uint8_t *buffer, size_t wanted, const struct pt_asid *asid, uint64_t ip, void *context)
{
	(void)asid;
	(void)ip;
	(void)context;
	memset(buffer, 0xff, wanted);
	return (int)wanted;
}

static void a_read_is_filled_before_the_callback_is_asked(void **state)
{
	struct process process = {.f = *state};
	uint8_t bytes[2 * distance];
	int isid;

	assert_int_equal(pt_image_set_filler(process.f->image, fill, &process), 0);
	assert_int_equal(pt_image_read(process.f->image, &isid, bytes, sizeof(bytes), NULL, base), size);
	assert_int_equal(pt_image_set_callback(process.f->image, give_ff, NULL), 0);
	assert_int_equal(pt_image_read(process.f->image, &isid, bytes, distance, NULL, base), distance);
	assert_memory_equal(bytes, process.f->code.content, size);
	assert_int_equal(bytes[size], 0xff);
}

/* Adds what stands in the way of another mapping, and what would. */
static int overlap(struct pt_image *image, const struct pt_asid *asid, uint64_t ip, void *context)
{
	struct process *process = context;
	const char *file = process->f->code.file;

	assert_int_equal(pt_image_add_file(image, file, 0, 0x11, asid, ip - 0x10), -pte_invalid);
	assert_int_equal(pt_image_add_file(image, file, 0, 0x11, asid, ip), -pte_invalid);
	assert_int_equal(pt_image_add_file(image, file, 0, 0x100, NULL, ip - 0x80), -pte_invalid);
	assert_int_equal(pt_image_add_file(image, file, 0x40, 0x10, asid, ip), 0);
	expect_hole(image, NULL, ip + 0x1000); /* and is not asked within */
	process->asked++;
	return 1;
}

static void a_filler_cannot_change_what_is_mapped(void **state)
{
	struct process process = {.f = *state};
	struct pt_image *image = process.f->image;
	uint64_t generation;

	map_file(process.f, 0x100, 0x10, NULL, 0x1000);
	map_file(process.f, 0x200, 0x10, NULL, 0x1020);
	assert_int_equal(pt_image_set_filler(image, overlap, &process), 0);
	generation = pt_image_generation(image);
	expect_piece(process.f, image, NULL, 0x1010, 0x1020, 0x40);
	expect_piece(process.f, image, NULL, 0x1000, 0x1010, 0x100);
	expect_piece(process.f, image, NULL, 0x1020, 0x1030, 0x200);
	assert_int_equal(process.asked, 1);
	assert_int_equal(pt_image_generation(image), generation);
	/* Its time is over. */
	map_file(process.f, 0x300, 0x10, NULL, 0x1000);
	assert_int_not_equal(pt_image_generation(image), generation);
}

/* ---- What searching costs --------------------------------------------------------------------- */

struct number {
	struct pt_tree_node node;
	uint64_t value;
};

static unsigned ncompared;

static bool number_less(const struct pt_tree_node *a, const struct pt_tree_node *b)
{
	ncompared++;
	return PT_TREE_ENTRY(a, struct number, node)->value < PT_TREE_ENTRY(b, struct number, node)->value;
}

/* The order in which they come is the worst one for a plain tree. */
static void a_large_tree_is_flat(void **state)
{
	struct number *number = calloc(nmappings, sizeof(*number));
	struct pt_tree_node *root = NULL;

	(void)state;
	ncompared = 0;
	for (uint64_t i = 0; i < nmappings; i++) {
		number[i].value = i;
		pt_tree_insert(&root, &number[i].node, number_less);
	}
	assert_true(ncompared < nmappings * 40);
	for (uint64_t i = 0; i < nmappings; i++) {
		const struct pt_tree_node *node = root;
		unsigned depth = 0;

		for (; node != &number[i].node; depth++)
			node = PT_TREE_ENTRY(node, struct number, node)->value < i ? node->right : node->left;
		assert_true(depth < 60); /* 13 were ideal, a random tree has about 35 */
	}
	free(number);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        IMAGE_TEST(only_what_is_looked_for_is_added),
	        IMAGE_TEST(a_filler_is_told_where_and_in_which_address_space),
	        IMAGE_TEST(a_read_is_filled_before_the_callback_is_asked),
	        IMAGE_TEST(a_filler_cannot_change_what_is_mapped),
	        cmocka_unit_test(a_large_tree_is_flat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
