/* test_resolve.c - from a recorded mapping to a file: where it is looked for, and which file is refused. */
#include "resolve_fixture.h"

#include <sys/auxv.h>

#include "binary/resolver.h"

/* ---- Where ------------------------------------------------------------------------------------ */

static void roots_are_asked_in_order(void **state)
{
	struct fixture *fixture = *state;

	write_file(fixture, "r1/prog", fixture->self.file_size);
	write_file(fixture, "r2/prog", fixture->self.file_size);
	assert_found(fixture, "r1/prog");
}

static void the_second_root_has_what_the_first_lacks(void **state)
{
	struct fixture *fixture = *state;

	write_file(fixture, "r2/prog", fixture->self.file_size);
	assert_found(fixture, "r2/prog");
}

static void nowhere_is_no_binary(void **state)
{
	struct fixture *fixture = *state;

	assert_missing(fixture, sb_gap_no_binary);
	fixture->map.filename = "relative";
	assert_missing(fixture, sb_gap_no_binary);
	fixture->map.filename = "/prog (deleted)";
	write_file(fixture, "r1/prog (deleted)", fixture->self.file_size);
	assert_missing(fixture, sb_gap_no_binary);
}

static void the_host_comes_last(void **state)
{
	struct fixture *fixture = *state;
	struct sb_error err = {0};
	char self[4096];
	const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(length > 0);
	self[length] = '\0';
	fixture->map.filename = self;
	assert_missing(fixture, sb_gap_no_binary);
	sb_resolver_free(fixture->resolver);
	assert_int_equal(sb_resolver_new(&fixture->resolver, NULL, 0, 0, &err), 0);
	assert_string_equal(find(fixture)->path, self);
}

static void a_root_must_be_a_directory(void **state)
{
	struct fixture *fixture = *state;
	struct sb_resolver *resolver = NULL;
	struct sb_error err = {0};
	char *path = temp_dir_path(&fixture->dir, "nowhere");
	const char *roots[] = {path};

	assert_int_equal(sb_resolver_new(&resolver, roots, 1, 0, &err), -sbe_not_found);
	assert_string_equal(err.file, path);
	roots[0] = "/dev/null";
	assert_int_equal(sb_resolver_new(&resolver, roots, 1, 0, &err), -sbe_invalid);
	free(path);
}

/* ---- Confinement ------------------------------------------------------------------------------ */

static void dots_do_not_lead_out_of_a_root(void **state)
{
	struct fixture *fixture = *state;

	write_file(fixture, "outside", fixture->self.file_size);
	fixture->map.filename = "/../outside";
	assert_missing(fixture, sb_gap_no_binary);
	write_file(fixture, "r1/prog", fixture->self.file_size);
	fixture->map.filename = "/../../../../../../prog";
	assert_found(fixture, "r1/prog");
}

static void links_do_not_lead_out_of_a_root(void **state)
{
	struct fixture *fixture = *state;
	char *outside = temp_dir_path(&fixture->dir, "outside");

	write_file(fixture, "outside", fixture->self.file_size);
	make_link(fixture, "../outside", "r1/prog");
	make_link(fixture, outside, "r2/prog");
	assert_missing(fixture, sb_gap_no_binary);
	free(outside);
}

static void links_within_a_root_are_followed(void **state)
{
	struct fixture *fixture = *state;

	make_dir(fixture, "r1/usr");
	write_file(fixture, "r1/usr/prog-1.2", fixture->self.file_size);
	make_link(fixture, "/usr/prog-1.2", "r1/prog");
	assert_found(fixture, "r1/usr/prog-1.2");
}

static void only_regular_files_are_opened(void **state)
{
	struct fixture *fixture = *state;
	char *fifo = temp_dir_path(&fixture->dir, "r1/prog");

	assert_int_equal(mkfifo(fifo, 0666), 0);
	assert_missing(fixture, sb_gap_no_binary);
	fixture->map.filename = "/";
	assert_missing(fixture, sb_gap_no_binary);
	free(fifo);
}

/* ---- Does it fit? ------------------------------------------------------------------------------ */

static void a_file_that_ends_before_its_mapping_is_refused(void **state)
{
	struct fixture *fixture = *state;

	write_file(fixture, "r1/prog", fixture->self.code_offset + fixture->self.code_size - PAGE);
	assert_missing(fixture, sb_gap_binary_mismatch);
}

static void an_empty_file_is_refused(void **state)
{
	struct fixture *fixture = *state;

	write_file(fixture, "r1/prog", 0);
	assert_missing(fixture, sb_gap_binary_mismatch);
}

static void a_code_segment_of_another_size_is_refused(void **state)
{
	struct fixture *fixture = *state;

	write_file(fixture, "r1/prog", fixture->self.file_size);
	fixture->map.recorded_size -= PAGE;
	assert_missing(fixture, sb_gap_binary_mismatch);
	fixture->map.recorded_size += 2 * PAGE;
	assert_missing(fixture, sb_gap_binary_mismatch);
}

static void a_segment_that_is_no_code_is_refused(void **state)
{
	struct fixture *fixture = *state;

	assert_true(fixture->self.code_offset > 0);
	write_file(fixture, "r1/prog", fixture->self.file_size);
	fixture->map.pgoff = fixture->map.recorded_pgoff = 0;
	fixture->map.recorded_size = PAGE;
	assert_missing(fixture, sb_gap_binary_mismatch);
}

static void a_part_of_a_recorded_mapping_is_a_part_of_the_file(void **state)
{
	struct fixture *fixture = *state;
	const struct sb_binary *binary;

	write_file(fixture, "r1/prog", fixture->self.file_size);
	fixture->map.begin += PAGE;
	fixture->map.pgoff += PAGE;
	fixture->map.end = fixture->map.begin + 100;
	binary = find(fixture);
	assert_int_equal(binary->missing, sb_gap_none);
	assert_int_equal(binary->offset, fixture->self.code_offset + PAGE);
	assert_int_equal(binary->size, 100);
}

static void a_file_that_is_not_elf_fits_by_its_size(void **state)
{
	struct fixture *fixture = *state;
	static const char bytes[PAGE + 1];

	free(temp_dir_write(&fixture->dir, "r1/prog", bytes, sizeof(bytes)));
	fixture->map.pgoff = fixture->map.recorded_pgoff = PAGE;
	fixture->map.recorded_size = PAGE;
	fixture->map.end = fixture->map.begin + PAGE;
	assert_int_equal(find(fixture)->size, 1);
	fixture->map.recorded_size = 2 * PAGE;
	assert_missing(fixture, sb_gap_binary_mismatch);
	fixture->map.recorded_pgoff = fixture->map.pgoff = UINT64_MAX - PAGE + 1;
	assert_missing(fixture, sb_gap_binary_mismatch);
}

static void a_recorded_build_id_decides(void **state)
{
	struct fixture *fixture = *state;

	if (!fixture->self.build_id_size)
		skip();
	write_file(fixture, "r1/prog", fixture->self.file_size);
	fixture->map.build_id_size = fixture->self.build_id_size;
	memcpy(fixture->map.build_id, fixture->self.build_id, sizeof(fixture->map.build_id));
	assert_found(fixture, "r1/prog");
	fixture->map.build_id[0] ^= 1;
	assert_missing(fixture, sb_gap_binary_mismatch);
}

static void a_recorded_build_id_finds_the_right_file_in_a_later_root(void **state)
{
	struct fixture *fixture = *state;

	if (!fixture->self.build_id_size)
		skip();
	free(temp_dir_write(&fixture->dir, "r1/prog", "x", 1));
	write_file(fixture, "r2/prog", fixture->self.file_size);
	assert_missing(fixture, sb_gap_binary_mismatch);
	fixture->map.build_id_size = fixture->self.build_id_size;
	memcpy(fixture->map.build_id, fixture->self.build_id, sizeof(fixture->map.build_id));
	assert_found(fixture, "r2/prog");
}

static void build_ids_are_read(void **state)
{
	struct fixture *fixture = *state;
	struct sb_error err = {0};
	uint8_t id[20];

	assert_int_equal(sb_elf_build_id("/proc/self/exe", id, &err), fixture->self.build_id_size);
	assert_memory_equal(id, fixture->self.build_id, fixture->self.build_id_size);
	assert_int_equal(sb_elf_build_id("/dev/null", id, &err), 0);
	assert_int_equal(sb_elf_build_id("/nowhere", id, &err), -sbe_io);
	assert_string_equal(err.file, "/nowhere");
}

/* A file that is cut anywhere, or has any header, gives an answer. */
static void damaged_elf_files_do_no_harm(void **state)
{
	struct fixture *fixture = *state;
	uint32_t random = 7;

	fixture->map.build_id_size = 20;
	for (int i = 0; i < 300; ++i) {
		char name[32];

		for (int k = 0; k < 4; ++k) {
			random = random * 1664525u + 1013904223u;
			fixture->self.bytes[(random >> 8) % 1024] = (uint8_t)(random >> 24);
		}
		memcpy(fixture->self.bytes, ELFMAG, SELFMAG);
		snprintf(name, sizeof(name), "r1/prog%d", i);
		write_file(fixture, name, i % 3 ? fixture->self.file_size : (size_t)i * 10);
		fixture->map.filename = name + 2;
		fixture->map.build_id_size = i % 2 ? 20 : 0;
		find(fixture);
	}
}

/* ---- Not from a file --------------------------------------------------------------------------- */

static void memory_without_a_file_is_anonymous(void **state)
{
	static const char *const names[] = {"//anon",
	                                    "[heap]",
	                                    "[stack]",
	                                    "[stack:12]",
	                                    "/memfd:jit (deleted)",
	                                    "[anon:jit]",
	                                    "[uprobes]",
	                                    "/dev/zero (deleted)",
	                                    ""};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
		fixture->map.filename = names[i];
		assert_missing(fixture, sb_gap_anonymous);
	}
}

static void the_vdso_comes_from_a_root(void **state)
{
	static const char *const names[] = {"r2/vdso", "r2/vdso.so", "r2/[vdso]", "r1/vdso"};
	struct fixture *fixture = *state;

	fixture->map = (struct sb_map){
	        .begin = 0x7000, .end = 0x9000, .filename = "[vdso]", .recorded_size = 0x2000};
	assert_missing(fixture, sb_gap_no_binary);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
		sb_resolver_free(fixture->resolver);
		open_roots(fixture);
		write_file(fixture, names[i], 0x1800);
		assert_found(fixture, names[i]);
	}
}

static void this_machines_vdso_serves_when_its_size_fits(void **state)
{
	struct fixture *fixture = *state;
	const struct sb_binary *binary;
	struct sb_error err = {0};
	char *path;
	FILE *file;
	uint8_t byte;

	if (!getauxval(AT_SYSINFO_EHDR))
		skip();
	sb_resolver_free(fixture->resolver);
	assert_int_equal(sb_resolver_new(&fixture->resolver, NULL, 0, 0, &err), 0);
	fixture->map = (struct sb_map){
	        .begin = 0x7000, .end = 0x7000 + 0x2000, .filename = "[vdso]", .recorded_size = 0x2000};
	binary = find(fixture);
	if (binary->missing == sb_gap_binary_mismatch)
		skip(); /* a kernel whose vdso has another size */
	assert_int_equal(binary->missing, sb_gap_none);
	path = strdup(binary->path);
	file = fopen(path, "rb");
	assert_non_null(file);
	for (size_t i = 0; i < binary->size; ++i) {
		assert_int_equal(fread(&byte, 1, 1, file), 1);
		assert_int_equal(byte, ((const uint8_t *)getauxval(AT_SYSINFO_EHDR))[i]);
	}
	fclose(file);
	fixture->map.recorded_size = 0x10000;
	assert_missing(fixture, sb_gap_binary_mismatch);
	sb_resolver_free(fixture->resolver);
	assert_int_equal(sb_resolver_new(&fixture->resolver, NULL, 0, 0, &err), 0);
	/* Vdsos of different kernels have one size more often than not. */
	fixture->map.recorded_size = 0x2000;
	resolver_recorded_on(fixture->resolver, "6.1.0-other");
	assert_missing(fixture, sb_gap_binary_mismatch);
	sb_resolver_free(fixture->resolver);
	fixture->resolver = NULL;
	assert_int_not_equal(access(path, F_OK), 0);
	free(path);
}

static void answers_are_remembered(void **state)
{
	struct fixture *fixture = *state;
	const struct sb_binary *first;

	write_file(fixture, "r1/prog", fixture->self.file_size);
	first = find(fixture);
	fixture->map.begin += 0x10000;
	fixture->map.end += 0x10000;
	assert_ptr_equal(find(fixture), first);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	        TEST(roots_are_asked_in_order),
	        TEST(the_second_root_has_what_the_first_lacks),
	        TEST(nowhere_is_no_binary),
	        TEST(the_host_comes_last),
	        TEST(a_root_must_be_a_directory),
	        TEST(dots_do_not_lead_out_of_a_root),
	        TEST(links_do_not_lead_out_of_a_root),
	        TEST(links_within_a_root_are_followed),
	        TEST(only_regular_files_are_opened),
	        TEST(a_file_that_ends_before_its_mapping_is_refused),
	        TEST(an_empty_file_is_refused),
	        TEST(a_code_segment_of_another_size_is_refused),
	        TEST(a_segment_that_is_no_code_is_refused),
	        TEST(a_part_of_a_recorded_mapping_is_a_part_of_the_file),
	        TEST(a_file_that_is_not_elf_fits_by_its_size),
	        TEST(a_recorded_build_id_decides),
	        TEST(a_recorded_build_id_finds_the_right_file_in_a_later_root),
	        TEST(build_ids_are_read),
	        TEST(damaged_elf_files_do_no_harm),
	        TEST(memory_without_a_file_is_anonymous),
	        TEST(the_vdso_comes_from_a_root),
	        TEST(this_machines_vdso_serves_when_its_size_fits),
	        TEST(answers_are_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
