/* Reading through an image: across mappings, from the callback, from files that are not what they were,
 * and at sizes at which lists, 16-bit counts and quadratic insertion would show. */
#include "image_fixture.h"

#include <fcntl.h>
#include <time.h>
#include <pthread.h>
#include <unistd.h>

static void expect_read(struct image_fixture *f, uint64_t vaddr, uint16_t size, int expected, int isid,
                        const uint8_t *bytes)
{
	uint8_t buffer[0x200];
	int got_isid = -1;

	assert_true(size <= sizeof(buffer));
	assert_int_equal(pt_image_read(f->image, &got_isid, buffer, size, NULL, vaddr), expected);
	if (expected < 0)
		return;
	assert_int_equal(got_isid, isid);
	assert_memory_equal(buffer, bytes, (size_t)expected);
}

static void a_read_goes_on_in_the_next_mapping(void **state)
{
	struct image_fixture *f = *state;
	int first = map_cached(f, 0x100, 0x10, NULL, 0x1000), second = map_cached(f, 0x8000, 4, NULL, 0x1010);
	uint8_t expected[0x30];

	map_file(f, 0x9000, 0x10, NULL, 0x1014);
	memcpy(expected, f->code.content + 0x100, 0x10);
	memcpy(expected + 0x10, f->code.content + 0x8000, 4);
	memcpy(expected + 0x14, f->code.content + 0x9000, 0x10);
	expect_read(f, 0x1000, 15, 15, first, expected);
	expect_read(f, 0x100c, 15, 15, first, expected + 0xc);
	expect_read(f, 0x1010, 2, 2, second, expected + 0x10);
	expect_read(f, 0x101f, 15, 5, 0, expected + 0x1f);
	expect_read(f, 0x1000, 0x100, 0x24, first, expected);
	expect_read(f, 0xfff, 15, -pte_nomap, 0, NULL);
	expect_read(f, 0x1024, 15, -pte_nomap, 0, NULL);
}

static void a_read_ends_with_the_address_space(void **state)
{
	struct image_fixture *f = *state;

	map_file(f, 0x100, 0x10, NULL, -0x10ull);
	map_file(f, 0x200, 0x10, NULL, 0);
	expect_read(f, -0x10ull, 0x20, 0x10, 0, f->code.content + 0x100);
	expect_read(f, -1ull, 15, 1, 0, f->code.content + 0x10f);
}

/* A callback that serves address-dependent bytes below @end, and notes what it was asked. */
struct memory {
	uint64_t end;
	int result; /* instead, if not zero */
	int calls;
	size_t size;
	uint64_t ip;
	struct pt_asid asid;
};

static int read_memory(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip, void *context)
{
	struct memory *memory = context;
	size_t n = 0;

	memory->calls++;
	memory->size = size;
	memory->ip = ip;
	memory->asid = *asid;
	if (memory->result)
		return memory->result;
	for (; n < size && ip + n < memory->end; n++)
		buffer[n] = (uint8_t)(ip + n);
	return (int)n;
}

static void the_callback_serves_what_is_not_mapped(void **state)
{
	static const uint8_t served[] = {0xfe, 0xff, 0x00, 0x01};
	struct memory memory = {.end = 0x2004};
	struct image_fixture *f = *state;
	uint8_t buffer[15];
	int isid = -1;

	assert_int_equal(pt_image_set_callback(NULL, read_memory, &memory), -pte_invalid);
	assert_int_equal(pt_image_set_callback(f->image, read_memory, &memory), 0);
	map_cached(f, 0, 0x100, NULL, 0x1000);
	expect_read(f, 0x1ffe, 4, 4, 0, served);
	assert_int_equal(memory.calls, 1);
	/* What is mapped is not asked for. */
	expect_read(f, 0x1000, 15, 15, 1, f->code.content);
	assert_int_equal(memory.calls, 1);
	/* It sees the address space in full. */
	assert_int_equal(pt_image_read(f->image, &isid, buffer, 15, ASID(3, 4), 0x1000), 15);
	assert_int_equal(pt_image_read(f->image, &isid, buffer, 4, ASID(3, 4), 0x1200), 4);
	assert_int_equal(memory.asid.size, sizeof(struct pt_asid));
	assert_int_equal(memory.asid.cr3, 3);
	assert_int_equal(memory.asid.vmcs, 4);
	/* It may have less than was asked for, or nothing. */
	expect_read(f, 0x2002, 15, 2, 0, (const uint8_t[]){0x02, 0x03});
	expect_read(f, 0x2004, 15, -pte_nomap, 0, NULL);
	assert_int_equal(pt_image_set_callback(f->image, NULL, NULL), 0);
	expect_read(f, 0x1ffe, 4, -pte_nomap, 0, NULL);
}

/* As gdb does it: all that was asked for, or an error. */
static int all_or_nothing(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip,
                          void *context)
{
	struct memory *memory = context;

	return ip + size <= memory->end ? read_memory(buffer, size, asid, ip, context) : -pte_nomap;
}

static void all_bytes_come_from_a_callback_that_gives_all_or_nothing(void **state)
{
	const uint64_t ends[] = {0x2000, 0x2001, 0x2345};
	struct image_fixture *f = *state;

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		struct memory memory = {.end = ends[i]};

		assert_int_equal(pt_image_set_callback(f->image, all_or_nothing, &memory), 0);
		for (uint16_t left = 1; left < 80; left++) {
			uint8_t served[80];

			for (uint16_t n = 0; n < left; n++)
				served[n] = (uint8_t)(memory.end - left + n);
			expect_read(f, memory.end - left, 64, left < 64 ? left : 64, 0, served);
		}
		expect_read(f, memory.end, 64, -pte_nomap, 0, NULL);
	}
}

static void mappings_and_callback_join_in_one_read(void **state)
{
	struct memory memory = {.end = 0x3000};
	struct image_fixture *f = *state;
	uint8_t expected[12];
	int isid;

	assert_int_equal(pt_image_set_callback(f->image, read_memory, &memory), 0);
	isid = map_cached(f, 0x100, 4, NULL, 0x1000);
	map_cached(f, 0x200, 4, NULL, 0x1008);
	memcpy(expected, f->code.content + 0x100, 4);
	memcpy(expected + 4, (const uint8_t[]){4, 5, 6, 7}, 4);
	memcpy(expected + 8, f->code.content + 0x200, 4);
	expect_read(f, 0x1000, 12, 12, isid, expected);
	/* It was asked for the hole only: a live memory may differ from the file. */
	assert_int_equal(memory.ip, 0x1004);
	assert_int_equal(memory.size, 4);
}

static void errors_of_the_callback_are_passed_on(void **state)
{
	struct memory memory = {.result = -pte_bad_context};
	struct image_fixture *f = *state;

	assert_int_equal(pt_image_set_callback(f->image, read_memory, &memory), 0);
	map_file(f, 0x100, 4, NULL, 0x1000);
	expect_read(f, 0x2000, 4, -pte_bad_context, 0, NULL);
	/* Not when there were bytes before. */
	expect_read(f, 0x1002, 4, 2, 0, f->code.content + 0x102);
	/* It cannot have read more than there is room for. */
	memory.result = 5;
	expect_read(f, 0x2000, 4, -pte_internal, 0, NULL);
}

static void a_file_that_changed_is_not_read(void **state)
{
	struct memory memory = {.end = UINT64_MAX};
	struct image_fixture *f = *state;

	assert_int_equal(pt_image_set_callback(f->image, read_memory, &memory), 0);
	map_file(f, 0x100, 0x100, NULL, 0x1000);
	map_file(f, 0x200, 0x100, NULL, 0x1100);
	expect_read(f, 0x1000, 15, 15, 0, f->code.content + 0x100);
	assert_int_equal(truncate(f->code.file, code_file_size - 1), 0);
	/* Mapped before: stays. Not yet mapped: refused, and not guessed by the callback. */
	expect_read(f, 0x1000, 15, 15, 0, f->code.content + 0x100);
	expect_read(f, 0x1100, 15, -pte_bad_image, 0, NULL);
	expect_read(f, 0x10fe, 15, 2, 0, f->code.content + 0x1fe);
	assert_int_equal(unlink(f->code.file), 0);
	expect_read(f, 0x1100, 15, -pte_bad_image, 0, NULL);
	assert_int_equal(memory.calls, 0);
}

static void a_file_that_changed_is_another_file(void **state)
{
	struct image_fixture *f = *state;
	char *file = temp_dir_write(&f->code.dir, "changes", "before", 6);
	uint8_t buffer[6];
	int isid;

	for (uint64_t i = 0; i < 3; i++) {
		if (i == 1)
			free(temp_dir_write(&f->code.dir, "changes", "behind it", 9));
		assert_int_equal(pt_image_add_file(f->image, file, 0, 6, NULL, 0x1000 + i * 0x1000), 0);
	}
	assert_int_equal(pt_image_read(f->image, &isid, buffer, 6, NULL, 0x1000), -pte_bad_image);
	expect_read(f, 0x2000, 6, 6, 0, (const uint8_t *)"behind");
	expect_read(f, 0x3000, 6, 6, 0, (const uint8_t *)"behind");
	assert_int_equal(pt_image_remove_by_filename(f->image, file, NULL), 3);
	free(file);
}

static void sections_of_more_than_4_gib_can_be_split(void **state)
{
	const uint64_t size = 6ull << 30, base = 0x100000000000, hole = base + (5ull << 30);
	struct image_fixture *f = *state;
	char *file = temp_dir_write(&f->code.dir, "sparse", "", 0);
	int fd = open(file, O_WRONLY);

	if (ftruncate(fd, (off_t)size) < 0)
		skip();
	assert_int_equal(pwrite(fd, "tail", 4, (off_t)(size - 4)), 4);
	close(fd);
	assert_int_equal(pt_image_add_file(f->image, file, 0, size, NULL, base), 0);
	map_file(f, 0x100, 0x100, NULL, hole);
	expect_read(f, base + size - 4, 15, 4, 0, (const uint8_t *)"tail");
	expect_read(f, hole, 15, 15, 0, f->code.content + 0x100);
	assert_int_equal(pt_image_lookup(f->image, NULL, hole - 1)->end, hole);
	assert_int_equal(pt_image_lookup(f->image, NULL, hole + 0x100)->section->offset,
	                 (5ull << 30) + 0x100);
	free(file);
}

/* Maps @count pieces, each @step pieces behind the one before, and finds all of them. */
static void map_and_find(struct image_fixture *f, uint64_t count, uint64_t step)
{
	for (uint64_t n = 0; n < count; n++) {
		uint64_t i = n * step % count;

		map_cached(f, i % 1000, 16, NULL, 0x400000 + i * 32);
	}
	for (uint64_t i = 0; i < count; i++) {
		uint64_t vaddr = 0x400000 + i * 32;

		expect_piece(f, f->image, NULL, vaddr, vaddr + 16, i % 1000);
		expect_hole(f->image, NULL, vaddr + 16);
	}
	assert_int_equal(pt_image_remove_by_asid(f->image, NULL), count);
}

static void more_mappings_than_16_bits_count_are_found(void **state)
{
	map_and_find(*state, 70000, 1);
}

static void mappings_may_come_in_any_order(void **state)
{
	map_and_find(*state, 100000, 99999); /* from the last to the first */
	map_and_find(*state, 100000, 12347);
}

/* Of this process: the others that a busy machine runs do not count. */
static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* What adding, finding, cutting and removing one of @count mappings costs. */
static double time_per_mapping(struct image_fixture *f, uint64_t count)
{
	const double before = seconds();

	for (uint64_t n = 0; n < count; n++)
		map_cached(f, n * 12347 % count % 1000, 16, NULL, 0x400000 + n * 12347 % count * 32);
	for (uint64_t n = 0; n < count; n++)
		map_cached(f, 0, 1, NULL, 0x400000 + n * 12347 % count * 32 + 4);
	for (uint64_t n = 0; n < count; n++)
		expect_hole(f->image, NULL, 0x400000 + n * 32 + 16);
	assert_int_equal(pt_image_remove_by_filename(f->image, f->code.file, NULL), 3 * count);
	return (seconds() - before) / (double)count;
}

/* Were anything linear in their number, a hundred times as many would cost a hundred times as much each.
 * Caches cost something: a factor of 20 leaves them room, even on a busy machine. */
static void the_cost_of_a_mapping_hardly_grows_with_their_number(void **state)
{
	double few = time_per_mapping(*state, 1000), many = time_per_mapping(*state, 100000);

	/* What others do to the caches may hit one of them alone. */
	for (int again = 0; again < 3 && many >= 20 * few; again++) {
		few = time_per_mapping(*state, 1000);
		many = time_per_mapping(*state, 100000);
	}
	print_message("%.2f us per mapping among 1000, %.2f among 100000\n", few * 1e6, many * 1e6);
	assert_true(many < 20 * few);
}

static void a_hundred_thousand_address_spaces_are_found(void **state)
{
	enum { count = 100000 };
	struct image_fixture *f = *state;

	for (uint64_t i = 0; i < count; i++)
		map_cached(f, i % 1000, 16, ASID(i << 12, ANY), 0x400000);
	for (uint64_t i = 0; i < count; i++) {
		expect_piece(f, f->image, ASID(i << 12, ANY), 0x400000, 0x400010, i % 1000);
		expect_piece(f, f->image, ASID(i << 12, 5), 0x400000, 0x400010, i % 1000);
		expect_hole(f->image, ASID((i << 12) + 1, ANY), 0x400000);
	}
	/* One for all replaces every one of them. */
	map_cached(f, 0x5000, 32, NULL, 0x400000);
	expect_piece(f, f->image, ASID(7 << 12, ANY), 0x400000, 0x400020, 0x5000);
}

/* Threads that decode share an image that nobody changes; each has images of its own besides. */
struct reader {
	struct image_fixture *fixture;
	unsigned int number;
	int wrong;
};

static void *read_all(void *argument)
{
	struct reader *r = argument;
	struct image_fixture *f = r->fixture;
	struct pt_image *own = pt_image_alloc(NULL);

	r->wrong += pt_image_copy(own, f->image);
	for (unsigned int n = 0; n < 2000; n++) {
		uint64_t i = (n * 77 + r->number * 500) % 2000;
		uint8_t shared_bytes[40], own_bytes[40];
		int isid, shared, private;

		r->wrong += pt_image_add_cached(own, f->cache, 1, NULL) < 0;
		shared = pt_image_read(f->image, &isid, shared_bytes, 40, NULL, 0x400000 + i * 40);
		private = pt_image_read(own, &isid, own_bytes, 40, NULL, 0x400000 + i * 40);
		r->wrong += shared != 40 || memcmp(shared_bytes, f->code.content + i * 40, 40) != 0;
		r->wrong += private != 40 || memcmp(own_bytes, f->code.content + i * 40, 40) != 0;
	}
	pt_image_free(own);
	return NULL;
}

static void threads_read_the_same_image(void **state)
{
	struct image_fixture *f = *state;
	struct reader reader[4];
	pthread_t thread[4];

	for (uint64_t i = 0; i < 2000; i++)
		map_cached(f, i * 40, 40, NULL, 0x400000 + i * 40);
	for (unsigned int i = 0; i < 4; i++) {
		reader[i] = (struct reader){.fixture = f, .number = i};
		assert_int_equal(pthread_create(&thread[i], NULL, read_all, &reader[i]), 0);
	}
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(thread[i], NULL), 0);
		assert_int_equal(reader[i].wrong, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        IMAGE_TEST(a_read_goes_on_in_the_next_mapping),
	        IMAGE_TEST(a_read_ends_with_the_address_space),
	        IMAGE_TEST(the_callback_serves_what_is_not_mapped),
	        IMAGE_TEST(all_bytes_come_from_a_callback_that_gives_all_or_nothing),
	        IMAGE_TEST(mappings_and_callback_join_in_one_read),
	        IMAGE_TEST(errors_of_the_callback_are_passed_on),
	        IMAGE_TEST(a_file_that_changed_is_not_read),
	        IMAGE_TEST(a_file_that_changed_is_another_file),
	        IMAGE_TEST(sections_of_more_than_4_gib_can_be_split),
	        IMAGE_TEST(more_mappings_than_16_bits_count_are_found),
	        IMAGE_TEST(mappings_may_come_in_any_order),
	        IMAGE_TEST(the_cost_of_a_mapping_hardly_grows_with_their_number),
	        IMAGE_TEST(a_hundred_thousand_address_spaces_are_found),
	        IMAGE_TEST(threads_read_the_same_image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
