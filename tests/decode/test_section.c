/* Sections: a range of a file that is mapped at first use, once, and never serves bytes of a file that
 * is not the one it was made from. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "code/section.h"
#include "intel-pt.h"
#include "support/code_file.h"

static int setup(void **state)
{
	struct code_file *f = calloc(1, sizeof(*f));

	code_file_make(f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	code_file_remove(*state);
	free(*state);
	return 0;
}

static struct pt_section *make(const char *file, uint64_t offset, uint64_t size)
{
	struct pt_section *section = NULL;

	assert_int_equal(pt_section_make(&section, file, offset, size), 0);
	return section;
}

static const uint8_t *bytes_of(struct pt_section *section)
{
	int errcode = 0;
	const uint8_t *bytes = pt_section_bytes(section, &errcode);

	assert_non_null(bytes);
	return bytes;
}

static int error_of(struct pt_section *section)
{
	int errcode = 0;

	assert_null(pt_section_bytes(section, &errcode));
	return errcode;
}

static void any_range_gives_the_bytes_of_the_file(void **state)
{
	static const uint64_t range[][2] = {
	        {0, code_file_size},     {0, 1},     {1, 1}, {4095, 2}, {4096, 4096}, {4097, 5},
	        {code_file_size - 1, 1}, {123, 9000}};
	struct code_file *f = *state;

	for (size_t i = 0; i < sizeof(range) / sizeof(*range); i++) {
		struct pt_section *section = make(f->file, range[i][0], range[i][1]);

		assert_int_equal(section->size, range[i][1]);
		assert_memory_equal(bytes_of(section), f->content + range[i][0], range[i][1]);
		pt_section_put(section);
	}
}

static void the_size_is_cut_at_the_end_of_the_file(void **state)
{
	struct code_file *f = *state;
	struct pt_section *section = make(f->file, code_file_size - 10, UINT64_MAX);

	assert_int_equal(section->size, 10);
	assert_memory_equal(bytes_of(section), f->content + code_file_size - 10, 10);
	pt_section_put(section);
}

static void impossible_ranges_and_files_are_refused(void **state)
{
	struct code_file *f = *state;
	struct pt_section *section = NULL;
	char *missing = temp_dir_path(&f->dir, "missing"), *fifo = temp_dir_path(&f->dir, "fifo");
	char *empty = temp_dir_write(&f->dir, "empty", "", 0);

	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(pt_section_make(&section, NULL, 0, 1), -pte_invalid);
	assert_int_equal(pt_section_make(&section, f->file, 0, 0), -pte_invalid);
	assert_int_equal(pt_section_make(&section, f->file, code_file_size, 1), -pte_invalid);
	assert_int_equal(pt_section_make(&section, f->file, UINT64_MAX, 1), -pte_invalid);
	assert_int_equal(pt_section_make(&section, empty, 0, 1), -pte_invalid);
	assert_int_equal(pt_section_make(&section, missing, 0, 1), -pte_invalid);
	assert_int_equal(pt_section_make(&section, f->dir.path, 0, 1), -pte_invalid);
	assert_int_equal(pt_section_make(&section, "/dev/zero", 0, 1), -pte_invalid);
	/* Nobody writes into the fifo: opening it as a file would wait for ever. */
	assert_int_equal(pt_section_make(&section, fifo, 0, 1), -pte_invalid);
	assert_null(section);
	free(missing);
	free(fifo);
	free(empty);
}

static void a_file_that_disappears_before_its_first_use_is_an_error(void **state)
{
	struct code_file *f = *state;
	struct pt_section *section = make(f->file, 0, 100);

	assert_int_equal(unlink(f->file), 0);
	assert_int_equal(error_of(section), -pte_bad_image);
	/* A fifo in its place must not block either. */
	assert_int_equal(mkfifo(f->file, 0600), 0);
	assert_int_equal(error_of(section), -pte_bad_image);
	pt_section_put(section);
}

static void a_file_that_changed_before_its_first_use_is_refused(void **state)
{
	struct code_file *f = *state;
	struct pt_section *section = make(f->file, 0, 100);
	const struct timespec original[2] = {
	        {.tv_sec = section->file->mtime_sec, .tv_nsec = section->file->mtime_nsec},
	        {.tv_sec = section->file->mtime_sec, .tv_nsec = section->file->mtime_nsec}};
	const struct timespec later[2] = {
	        {.tv_sec = section->file->mtime_sec, .tv_nsec = section->file->mtime_nsec},
	        {.tv_sec = section->file->mtime_sec + 1, .tv_nsec = section->file->mtime_nsec}};

	/* Same size, other time. */
	assert_int_equal(utimensat(AT_FDCWD, f->file, later, 0), 0);
	assert_int_equal(error_of(section), -pte_bad_image);
	/* Same time, other size. */
	assert_int_equal(truncate(f->file, code_file_size - 1), 0);
	assert_int_equal(utimensat(AT_FDCWD, f->file, original, 0), 0);
	assert_int_equal(error_of(section), -pte_bad_image);
	/* Both as before: good again; errors are not remembered. */
	assert_int_equal(truncate(f->file, code_file_size), 0);
	assert_int_equal(utimensat(AT_FDCWD, f->file, original, 0), 0);
	assert_memory_equal(bytes_of(section), f->content, 100);
	pt_section_put(section);
}

static void a_mapping_stays_as_long_as_the_section(void **state)
{
	struct code_file *f = *state;
	struct pt_section *section = make(f->file, 5000, 100), *slice;
	const uint8_t *bytes = bytes_of(section);

	assert_int_equal(unlink(f->file), 0);
	assert_ptr_equal(bytes_of(pt_section_get(section)), bytes);
	pt_section_put(section);
	assert_memory_equal(bytes, f->content + 5000, 100);
	/* A piece that is cut off now still has its bytes, and outlives what it was cut from. */
	assert_int_equal(pt_section_slice(&slice, section, 10, 20), 0);
	pt_section_put(section);
	assert_memory_equal(bytes_of(slice), f->content + 5010, 20);
	pt_section_put(slice);
}

static void slices_of_slices_see_their_range_of_the_file(void **state)
{
	struct code_file *f = *state;
	struct pt_section *whole = make(f->file, 100, 9000), *outer, *inner;

	assert_int_equal(pt_section_slice(&outer, whole, 1000, 4000), 0);
	assert_int_equal(pt_section_slice(&inner, outer, 3000, 1000), 0);
	assert_int_equal(outer->offset, 1100);
	assert_int_equal(inner->offset, 4100);
	assert_string_equal(inner->file->name, f->file);
	pt_section_put(outer);
	pt_section_put(whole);
	assert_memory_equal(bytes_of(inner), f->content + 4100, 1000);
	pt_section_put(inner);
}

static void a_slice_cannot_exceed_its_parent(void **state)
{
	struct code_file *f = *state;
	struct pt_section *whole = make(f->file, 100, 50), *slice = NULL;

	assert_int_equal(pt_section_slice(&slice, whole, 0, 0), -pte_invalid);
	assert_int_equal(pt_section_slice(&slice, whole, 50, 1), -pte_invalid);
	assert_int_equal(pt_section_slice(&slice, whole, 1, 50), -pte_invalid);
	assert_int_equal(pt_section_slice(&slice, whole, 1, UINT64_MAX), -pte_invalid);
	assert_null(slice);
	pt_section_put(whole);
}

static void sections_of_more_than_4_gib_are_whole(void **state)
{
	const uint64_t size = (5ull << 30) + 3, tail = size - 16;
	struct code_file *f = *state;
	char *file = temp_dir_write(&f->dir, "sparse", "head", 4);
	struct pt_section *section;
	int fd;

	if (truncate(file, (off_t)size) < 0)
		skip();
	fd = open(file, O_WRONLY);
	assert_int_equal(pwrite(fd, f->content, 16, (off_t)tail), 16);
	close(fd);

	section = make(file, 0, UINT64_MAX);
	assert_int_equal(section->size, size);
	assert_memory_equal(bytes_of(section), "head", 4);
	assert_memory_equal(bytes_of(section) + tail, f->content, 16);
	pt_section_put(section);
	free(file);
}

static void references_are_not_counted_in_16_bits(void **state)
{
	struct code_file *f = *state;
	struct pt_section *section = make(f->file, 0, 100);

	for (int i = 0; i < 100000; i++)
		pt_section_get(section);
	for (int i = 0; i < 100000; i++)
		pt_section_put(section);
	assert_memory_equal(bytes_of(section), f->content, 100);
	pt_section_put(section);
	pt_section_put(NULL);
}

static void *ask_for_bytes(void *section)
{
	int errcode;

	return (void *)(uintptr_t)pt_section_bytes(section, &errcode);
}

static void threads_that_race_for_the_first_use_get_one_mapping(void **state)
{
	struct code_file *f = *state;

	for (int round = 0; round < 100; round++) {
		struct pt_section *section = make(f->file, 1, 9000), *slice;
		pthread_t thread[4];
		void *seen[4];

		assert_int_equal(pt_section_slice(&slice, section, 10, 10), 0);
		for (int i = 0; i < 4; i++)
			assert_int_equal(
			        pthread_create(&thread[i], NULL, ask_for_bytes, i % 2 ? slice : section), 0);
		for (int i = 0; i < 4; i++)
			assert_int_equal(pthread_join(thread[i], &seen[i]), 0);
		assert_ptr_equal(seen[0], seen[2]);
		assert_ptr_equal(seen[1], seen[3]);
		assert_ptr_equal((uint8_t *)seen[0] + 10, seen[1]);
		assert_memory_equal(seen[0], f->content + 1, 9000);
		pt_section_put(slice);
		pt_section_put(section);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(any_range_gives_the_bytes_of_the_file),
	        TEST(the_size_is_cut_at_the_end_of_the_file),
	        TEST(impossible_ranges_and_files_are_refused),
	        TEST(a_file_that_disappears_before_its_first_use_is_an_error),
	        TEST(a_file_that_changed_before_its_first_use_is_refused),
	        TEST(a_mapping_stays_as_long_as_the_section),
	        TEST(slices_of_slices_see_their_range_of_the_file),
	        TEST(a_slice_cannot_exceed_its_parent),
	        TEST(sections_of_more_than_4_gib_are_whole),
	        TEST(references_are_not_counted_in_16_bits),
	        TEST(threads_that_race_for_the_first_use_get_one_mapping),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
