/* The section cache: every piece of a file once, under an identifier per piece and load address. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <pthread.h>
#include <unistd.h>
#include <cmocka.h>

#include "code/section_cache.h"
#include "support/code_file.h"

struct fixture {
	struct code_file code;
	struct pt_image_section_cache *cache;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	code_file_make(&f->code);
	f->cache = pt_iscache_alloc("pieces");
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	pt_iscache_free(f->cache);
	code_file_remove(&f->code);
	free(f);
	return 0;
}

static int add(struct fixture *f, uint64_t offset, uint64_t size, uint64_t vaddr)
{
	int isid = pt_iscache_add_file(f->cache, f->code.file, offset, size, vaddr);

	assert_true(isid > 0);
	return isid;
}

/* The section behind @isid; the cache keeps it alive. */
static struct pt_section *section_of(struct fixture *f, int isid)
{
	struct pt_section *section;
	uint64_t vaddr;

	assert_int_equal(pt_iscache_lookup(f->cache, isid, &section, &vaddr), 0);
	pt_section_put(section);
	return section;
}

static void a_cache_has_a_name_or_none(void **state)
{
	struct fixture *f = *state;
	char name[] = "volatile";
	struct pt_image_section_cache *named = pt_iscache_alloc(name), *nameless = pt_iscache_alloc(NULL);

	name[0] = 'V';
	assert_string_equal(pt_iscache_name(named), "volatile");
	assert_string_equal(pt_iscache_name(f->cache), "pieces");
	assert_null(pt_iscache_name(nameless));
	assert_null(pt_iscache_name(NULL));
	pt_iscache_free(named);
	pt_iscache_free(nameless);
	pt_iscache_free(NULL);
}

static void the_same_piece_at_the_same_address_has_the_same_isid(void **state)
{
	struct fixture *f = *state;
	int isid = add(f, 0x1000, 0x1000, 0x400000);

	assert_int_equal(add(f, 0x1000, 0x1000, 0x400000), isid);
	/* Sizes that exceed the file all mean its end. */
	isid = add(f, 0x1000, code_file_size - 0x1000, 0x400000);
	assert_int_equal(add(f, 0x1000, code_file_size, 0x400000), isid);
	assert_int_equal(add(f, 0x1000, UINT64_MAX, 0x400000), isid);
}

static void whatever_differs_gives_another_isid(void **state)
{
	struct fixture *f = *state;
	char *copy = temp_dir_write(&f->code.dir, "copy", f->code.content, code_file_size);
	int isid[] = {
	        add(f, 0x1000, 0x1000, 0x400000),
	        add(f, 0x1001, 0x1000, 0x400000),
	        add(f, 0x1000, 0x1001, 0x400000),
	        add(f, 0x1000, 0x1000, 0x400001),
	        pt_iscache_add_file(f->cache, copy, 0x1000, 0x1000, 0x400000),
	};

	for (size_t i = 0; i < 5; i++) {
		assert_true(isid[i] > 0);
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(isid[i], isid[k]);
	}
	free(copy);
}

static void a_piece_is_shared_by_all_its_load_addresses(void **state)
{
	struct fixture *f = *state;
	struct pt_section *section = section_of(f, add(f, 0x1000, 0x1000, 0x400000));

	assert_ptr_equal(section_of(f, add(f, 0x1000, 0x1000, 0x7f0000000000)), section);
	assert_ptr_not_equal(section_of(f, add(f, 0x1000, 0x1001, 0x400000)), section);
}

static void a_file_that_changed_is_another_file(void **state)
{
	struct fixture *f = *state;
	int before = add(f, 0, 100, 0x1000), after;
	uint8_t buffer[4];

	free(temp_dir_write(&f->code.dir, "code", "new!", 4));
	after = add(f, 0, 4, 0x1000);
	assert_int_not_equal(after, before);
	assert_int_equal(pt_iscache_read(f->cache, buffer, 4, after, 0x1000), 4);
	assert_memory_equal(buffer, "new!", 4);
	assert_int_equal(pt_iscache_read(f->cache, buffer, 4, before, 0x1000), -pte_bad_image);
}

static void impossible_pieces_are_refused(void **state)
{
	struct fixture *f = *state;
	char *missing = temp_dir_path(&f->code.dir, "missing");

	assert_int_equal(pt_iscache_add_file(NULL, f->code.file, 0, 1, 0), -pte_invalid);
	assert_int_equal(pt_iscache_add_file(f->cache, NULL, 0, 1, 0), -pte_invalid);
	assert_int_equal(pt_iscache_add_file(f->cache, f->code.file, code_file_size, 1, 0), -pte_invalid);
	assert_int_equal(pt_iscache_add_file(f->cache, missing, 0, 1, 0), -pte_invalid);
	assert_int_equal(pt_iscache_add_file(f->cache, f->code.dir.path, 0, 1, 0), -pte_invalid);
	free(missing);
}

static void an_empty_piece_has_an_isid_and_no_bytes(void **state)
{
	struct fixture *f = *state;
	int isid = add(f, 0x1000, 0, 0x400000);
	uint8_t buffer[4];

	assert_int_equal(add(f, 0x1000, 0, 0x400000), isid);
	assert_int_equal(pt_iscache_read(f->cache, buffer, 4, isid, 0x400000), -pte_nomap);
}

static void reads_end_where_the_section_ends(void **state)
{
	struct fixture *f = *state;
	int isid = add(f, 0x1000, 0x2000, 0x400000);
	uint8_t buffer[0x3000];

	assert_int_equal(pt_iscache_read(f->cache, buffer, 16, isid, 0x400000), 16);
	assert_memory_equal(buffer, f->code.content + 0x1000, 16);
	assert_int_equal(pt_iscache_read(f->cache, buffer, sizeof(buffer), isid, 0x400001), 0x1fff);
	assert_memory_equal(buffer, f->code.content + 0x1001, 0x1fff);
	assert_int_equal(pt_iscache_read(f->cache, buffer, UINT64_MAX, isid, 0x401fff), 1);
	assert_int_equal(buffer[0], f->code.content[0x2fff]);
}

static void reads_outside_say_why(void **state)
{
	struct fixture *f = *state;
	int isid = add(f, 0x1000, 0x1000, 0x400000);
	uint8_t buffer[16];

	assert_int_equal(pt_iscache_read(f->cache, buffer, 16, isid, 0x3fffff), -pte_nomap);
	assert_int_equal(pt_iscache_read(f->cache, buffer, 16, isid, 0x401000), -pte_nomap);
	assert_int_equal(pt_iscache_read(f->cache, buffer, 16, isid, 0), -pte_nomap);
	assert_int_equal(pt_iscache_read(f->cache, buffer, 16, isid + 1, 0x400000), -pte_bad_image);
	assert_int_equal(pt_iscache_read(f->cache, buffer, 16, 0, 0x400000), -pte_bad_image);
	assert_int_equal(pt_iscache_read(f->cache, buffer, 16, -1, 0x400000), -pte_bad_image);
	assert_int_equal(pt_iscache_read(f->cache, buffer, 0, isid, 0x400000), -pte_invalid);
	assert_int_equal(pt_iscache_read(f->cache, NULL, 16, isid, 0x400000), -pte_invalid);
	assert_int_equal(pt_iscache_read(NULL, buffer, 16, isid, 0x400000), -pte_invalid);
}

static void a_section_ends_with_the_address_space(void **state)
{
	struct fixture *f = *state;
	int isid = add(f, 0, 0x1000, -0x10ull);
	uint8_t buffer[0x100];

	assert_int_equal(section_of(f, isid)->size, 0x10);
	assert_int_equal(pt_iscache_read(f->cache, buffer, sizeof(buffer), isid, -0x8ull), 8);
	assert_memory_equal(buffer, f->code.content + 8, 8);
	assert_int_equal(pt_iscache_read(f->cache, buffer, sizeof(buffer), isid, 0), -pte_nomap);
}

/* 65536 and 65530 are limits that others have: of 16-bit counts, and of mappings per process. */
static void seventy_thousand_pieces_are_found_again(void **state)
{
	enum { count = 70000 };
	struct fixture *f = *state;
	uint8_t buffer[8];

	for (int i = 0; i < count; i++)
		assert_int_equal(add(f, (uint64_t)i, 8, (uint64_t)i << 12), i + 1);
	for (int i = 0; i < count; i++) {
		assert_int_equal(add(f, (uint64_t)i, 8, (uint64_t)i << 12), i + 1);
		assert_int_equal(pt_iscache_read(f->cache, buffer, 8, i + 1, (uint64_t)i << 12), 8);
		assert_memory_equal(buffer, f->code.content + i, 8);
	}
}

/* Each thread adds the same pieces in an order of its own and reads them back. */
struct worker {
	struct fixture *fixture;
	unsigned int step;
	int isid[1000];
	int wrong;
};

static void *add_and_read(void *argument)
{
	struct worker *w = argument;
	struct fixture *f = w->fixture;

	for (unsigned int n = 0; n < 1000; n++) {
		unsigned int i = n * w->step % 1000;
		uint8_t buffer[50];

		w->isid[i] = pt_iscache_add_file(f->cache, f->code.file, i * 50, 50, i * 4096u);
		if (pt_iscache_read(f->cache, buffer, 50, w->isid[i], i * 4096u) != 50 ||
		    memcmp(buffer, f->code.content + i * 50, 50) != 0)
			w->wrong++;
	}
	return NULL;
}

static void threads_agree_on_isids(void **state)
{
	static const unsigned int step[4] = {1, 7, 331, 999};
	struct worker *worker = calloc(4, sizeof(*worker));
	pthread_t thread[4];

	for (int i = 0; i < 4; i++) {
		worker[i].fixture = *state;
		worker[i].step = step[i];
		assert_int_equal(pthread_create(&thread[i], NULL, add_and_read, &worker[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(thread[i], NULL), 0);
		assert_int_equal(worker[i].wrong, 0);
		assert_memory_equal(worker[i].isid, worker[0].isid, sizeof(worker[0].isid));
	}
	free(worker);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(a_cache_has_a_name_or_none),
	        TEST(the_same_piece_at_the_same_address_has_the_same_isid),
	        TEST(whatever_differs_gives_another_isid),
	        TEST(a_piece_is_shared_by_all_its_load_addresses),
	        TEST(a_file_that_changed_is_another_file),
	        TEST(impossible_pieces_are_refused),
	        TEST(an_empty_piece_has_an_isid_and_no_bytes),
	        TEST(reads_end_where_the_section_ends),
	        TEST(reads_outside_say_why),
	        TEST(a_section_ends_with_the_address_space),
	        TEST(seventy_thousand_pieces_are_found_again),
	        TEST(threads_agree_on_isids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
