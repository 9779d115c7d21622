/* Traced code when memory is short, and how often it asks the system for mappings: the linker leads calls of
 * the functions below here (see CMakeLists.txt), where one of them can be made to fail. */
#include "image_fixture.h"

#include <errno.h>
#include <sys/mman.h>

#include "code/block_graph.h"
#include "code/section_cache.h"
#include "support/trace.h"

void *__wrap_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);
char *__wrap_strdup(const char *string);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
int __wrap_munmap(void *address, size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_malloc(size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
char *__real_strdup(const char *string);
void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *address, size_t size);

/* The calls until one fails; zero: none does. */
static int until_failure;
static int mmaps, munmaps;

static bool fails(void)
{
	return until_failure && --until_failure == 0;
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
	return fails() ? NULL : __real_reallocarray(old, count, size);
}

char *__wrap_strdup(const char *string)
{
	return fails() ? NULL : __real_strdup(string);
}

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	mmaps++;
	if (fails()) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return __real_mmap(address, size, protection, flags, fd, offset);
}

int __wrap_munmap(void *address, size_t size)
{
	munmaps++;
	return __real_munmap(address, size);
}

/* Does @what with a fresh fixture again and again, each time one call further until one fails. It returns
 * -pte_nomem as long as a call fails, and the same with enough memory once more must succeed. */
typedef int what_fn(struct image_fixture *f);

static void expect_nomem(what_fn *what)
{
	for (int n = 1; n < 1000; n++) {
		void *state = NULL;
		int status, left;

		image_setup(&state);
		until_failure = n;
		status = what(state);
		left = until_failure;
		until_failure = 0;
		assert_int_equal(status, left ? 0 : -pte_nomem);
		if (!left)
			assert_int_equal(what(state), 0);
		image_teardown(&state);
		if (left) {
			assert_true(n > 1);
			return;
		}
	}
	fail();
}

static int make_and_free_cache(struct image_fixture *f)
{
	struct pt_image_section_cache *cache = pt_iscache_alloc("name");

	(void)f;
	pt_iscache_free(cache);
	return cache ? 0 : -pte_nomem;
}

static int make_and_free_image(struct image_fixture *f)
{
	struct pt_image *image = pt_image_alloc("name");

	(void)f;
	pt_image_free(image);
	return image ? 0 : -pte_nomem;
}

static int add_to_cache(struct image_fixture *f)
{
	int isid = pt_iscache_add_file(f->cache, f->code.file, 0x100, 0x100, 0x1000);

	assert_true(isid < 0 || isid == 1);
	return isid < 0 ? isid : 0;
}

/* So many that all tables grow. */
static int add_many_to_cache(struct image_fixture *f)
{
	for (uint64_t i = 0; i < 40; i++) {
		int isid = pt_iscache_add_file(f->cache, f->code.file, i, 0x100, i);

		if (isid < 0)
			return isid;
	}
	return 0;
}

static int read_from_cache(struct image_fixture *f)
{
	uint8_t buffer[4];
	int status = add_to_cache(f);

	if (status == 0)
		status = pt_iscache_read(f->cache, buffer, 4, 1, 0x1000);
	return status == 4 ? 0 : status;
}

/* Which is copied, not mapped. */
static int read_small_file(struct image_fixture *f)
{
	char *file = temp_dir_write(&f->code.dir, "small", f->code.content, 100);
	const int isid = pt_iscache_add_file(f->cache, file, 10, 90, 0x1000);
	uint8_t buffer[90];
	int status = isid < 0 ? isid : pt_iscache_read(f->cache, buffer, 90, isid, 0x1000);

	free(file);
	if (status == 90)
		assert_memory_equal(buffer, f->code.content + 10, 90);
	return status == 90 ? 0 : status;
}

static int add_file(struct image_fixture *f)
{
	return pt_image_add_file(f->image, f->code.file, 0x100, 0x100, NULL, 0x1000);
}

/* An old mapping is cut in two: what remains is right whatever happens. */
static int split_mapping(struct image_fixture *f)
{
	const struct pt_mapping *mapping;
	int status;

	if (!pt_image_lookup(f->image, NULL, 0x5000)) {
		const int limit = until_failure;

		until_failure = 0;
		map_file(f, 0, 0x1000, NULL, 0x5000);
		until_failure = limit;
	}
	status = pt_image_add_file(f->image, f->code.file, 0x3000, 0x100, NULL, 0x5800);
	mapping = pt_image_lookup(f->image, NULL, 0x5000);
	assert_true(mapping->end == 0x6000 || mapping->end == 0x5800);
	mapping = pt_image_lookup(f->image, NULL, 0x5800);
	assert_true(status < 0 || mapping->section->offset == 0x3000);
	return status;
}

static int copy_image(struct image_fixture *f)
{
	struct pt_image *from = f->image, *to;
	const int limit = until_failure;
	int ignored;

	until_failure = 0;
	to = pt_image_alloc(NULL);
	map_file(f, 0, 0x1000, NULL, 0x5000);
	until_failure = limit;
	ignored = pt_image_copy(to, from);
	assert_int_equal(!pt_image_lookup(to, NULL, 0x5000), ignored);
	pt_image_free(to);
	return ignored ? -pte_nomem : 0;
}

static int decode_block(struct image_fixture *f)
{
	const struct pt_node *node;
	struct pt_section *section;
	int status;

	if (f->code.content[0] != 0xc3) {
		const int limit = until_failure;

		until_failure = 0;
		f->code.content[0] = 0xc3;
		free(temp_dir_write(&f->code.dir, "code", f->code.content, code_file_size));
		until_failure = limit;
	}
	status = pt_section_make(&section, f->code.file, 0, 100);
	if (status < 0)
		return status;
	status = pt_graph_node(&node, section, 0, ptem_64bit);
	pt_section_put(section);
	return status;
}

static void short_memory_is_an_error_and_nothing_else(void **state)
{
	static what_fn *const what[] = {
	        make_and_free_cache, make_and_free_image, add_to_cache, add_many_to_cache,
	        read_from_cache,     read_small_file,     add_file,     split_mapping,
	        copy_image,          decode_block};

	(void)state;
	for (size_t i = 0; i < sizeof(what) / sizeof(what[0]); i++)
		expect_nomem(what[i]);
}

/* ---- how often is mapped ---------------------------------------------------------------------------- */

/* Two sections that jump to each other, many times. */
static void decode_ping_pong(struct image_fixture *f, struct trace *trace)
{
	struct pt_config config = trace_config(trace);
	struct pt_insn_decoder *decoder = pt_insn_alloc_decoder(&config);
	int status, jumps = 0;

	assert_int_equal(pt_insn_set_image(decoder, f->image), 0);
	for (status = pt_insn_sync_forward(decoder); status >= 0;) {
		struct pt_event event;
		struct pt_insn insn;

		if (status & pts_event_pending) {
			status = pt_insn_event(decoder, &event, sizeof(event));
			continue;
		}
		status = pt_insn_next(decoder, &insn, sizeof(insn));
		jumps += insn.iclass == ptic_jump;
	}
	assert_true(jumps >= 200);
	pt_insn_free_decoder(decoder);
}

static void a_change_of_section_maps_nothing_whatever_the_limit_is(void **state)
{
	static const uint64_t limit[] = {0, 1, UINT64_MAX};
	static const uint8_t code[300000] = {0xff, 0xe0}; /* a small file would be copied */
	struct image_fixture *f = *state;
	struct trace trace = {.size = 0};
	char *file[2];

	trace_psb(&trace);
	trace_mode64(&trace);
	trace_ip(&trace, ppt_fup, 0x1000);
	trace_psbend(&trace);
	for (uint64_t i = 0; i < 200; i++)
		trace_ip(&trace, ppt_tip, i % 2 ? 0x1000 : 0x2000);
	for (int i = 0; i < 2; i++)
		file[i] = temp_dir_write(&f->code.dir, i ? "pong" : "ping", code, sizeof(code));
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(pt_iscache_set_limit(f->cache, limit[i]), 0);
		for (uint64_t k = 0; k < 2; k++) {
			int isid = pt_iscache_add_file(f->cache, file[k], 0, 2, 0x1000 + k * 0x1000);

			assert_int_equal(pt_image_add_cached(f->image, f->cache, isid, NULL), 0);
		}
		mmaps = 0;
		munmaps = 0;
		decode_ping_pong(f, &trace);
		assert_int_equal(mmaps, 2);
		assert_int_equal(munmaps, 0);
		pt_image_remove_by_asid(f->image, NULL);
		assert_int_equal(munmaps, i < 2 ? 2 : 0);
	}
	free(file[0]);
	free(file[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(short_memory_is_an_error_and_nothing_else),
	        IMAGE_TEST(a_change_of_section_maps_nothing_whatever_the_limit_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
