/* test_replay_image.c - images per epoch: made once, shared by who shares an epoch, and never too many. */
#include "replay_fixture.h"

#include <linux/perf_event.h>

#include "code/image.h"
#include "replay/image_build.h"
#include "system/system.h"

enum { PROCESSES = 6 };

static void add_map(struct sb_system *system, uint64_t time, int32_t pid, uint64_t addr, const char *filename)
{
	struct sb_record record = {.type = PERF_RECORD_MMAP2};

	record.sample.has = PERF_SAMPLE_TIME;
	record.sample.time = time;
	record.u.mmap.pid = pid;
	record.u.mmap.tid = pid;
	record.u.mmap.addr = addr;
	record.u.mmap.len = 0x1000;
	record.u.mmap.prot = PROT_EXEC;
	record.u.mmap.is_mmap2 = 1;
	record.u.mmap.filename = filename;
	assert_int_equal(system_record(system, &record), 0);
}

static const struct sb_epoch *epoch_of(const struct sb_system *system, int32_t pid)
{
	return sb_space_epoch(sb_system_space(system, pid, 100), 100);
}

struct images {
	struct sb_system *system;
	struct sb_resolver *resolver;
	struct pt_image_section_cache *sections;
	struct image_builder builder;
};

static void open_images(struct images *images, struct fixture *fixture, size_t limit)
{
	has_file(fixture, "/a", "\x90\xc3", 2);
	images->system = system_new(0);
	for (int32_t pid = 1; pid <= PROCESSES; ++pid)
		add_map(images->system, 0, pid, 0x1000, "/a");
	assert_int_equal(system_seal(images->system, 0), 0);
	assert_int_equal(sb_resolver_new(&images->resolver, fixture->options.root, 1, 1, NULL), 0);
	images->sections = pt_iscache_alloc(NULL);
	assert_int_equal(image_builder_init(&images->builder, images->resolver, images->sections,
	                                    sb_system_nepochs(images->system), limit, NULL),
	                 0);
}

static void close_images(struct images *images)
{
	image_builder_fini(&images->builder);
	pt_iscache_free(images->sections);
	sb_resolver_free(images->resolver);
	sb_system_free(images->system);
}

static void an_epoch_has_one_image(void **state)
{
	struct images images;

	open_images(&images, *state, 100);
	for (int32_t pid = 1; pid <= PROCESSES; ++pid) {
		const struct sb_epoch *epoch = epoch_of(images.system, pid);
		struct pt_image *image = image_builder_get(&images.builder, epoch);

		assert_non_null(image);
		assert_ptr_equal(image_builder_get(&images.builder, epoch), image);
		assert_ptr_not_equal(image, image_builder_get(&images.builder, NULL));
	}
	assert_int_equal(images.builder.count, PROCESSES);
	close_images(&images);
}

static void unknown_processes_have_an_image_without_code(void **state)
{
	struct images images;
	struct pt_image *empty;

	open_images(&images, *state, 100);
	empty = image_builder_get(&images.builder, NULL);
	assert_non_null(empty);
	assert_ptr_equal(image_builder_get(&images.builder, NULL), empty);
	close_images(&images);
}

static void the_images_used_last_are_kept(void **state)
{
	struct images images;
	struct pt_image *first;

	open_images(&images, *state, 2);
	first = image_builder_get(&images.builder, epoch_of(images.system, 1));
	for (int32_t pid = 2; pid <= PROCESSES; ++pid) {
		assert_non_null(image_builder_get(&images.builder, epoch_of(images.system, pid)));
		assert_ptr_equal(image_builder_get(&images.builder, epoch_of(images.system, 1)), first);
		assert_true(images.builder.count <= 2);
	}
	close_images(&images);
}

/* A process of many mappings, one of which is replaced again and again: what is not executed costs nothing,
 * nor what is past. */
static void images_follow_what_is_executed(void **state)
{
	enum { MAPPINGS = 10000, CHANGES = 1000 };
	struct fixture *fixture = *state;
	struct image_builder builder;
	struct pt_image_section_cache *sections = pt_iscache_alloc(NULL);
	struct sb_resolver *resolver;
	struct sb_system *system = system_new(0);
	const struct sb_space *space;

	has_file(fixture, "/a", "\x90\xc3", 2);
	has_file(fixture, "/b", "\x90\xc3", 2);
	for (uint64_t i = 1; i <= MAPPINGS; ++i)
		add_map(system, 1, 5, i * 0x1000, "/a");
	for (uint64_t time = 2; time < 2 + CHANGES; ++time)
		add_map(system, time, 5, 0x5000, time % 2 ? "/a" : "/b");
	assert_int_equal(system_seal(system, 0), 0);
	space = sb_system_space(system, 5, 2);
	assert_int_equal(space->nepochs, 1 + CHANGES);
	assert_int_equal(sb_resolver_new(&resolver, fixture->options.root, 1, 1, NULL), 0);
	assert_int_equal(
	        image_builder_init(&builder, resolver, sections, sb_system_nepochs(system), 1 << 20, NULL),
	        0);
	for (uint64_t time = 2; time < 2 + CHANGES; ++time) {
		struct pt_image *image = image_builder_get(&builder, sb_space_epoch(space, time));
		const struct pt_mapping *first = pt_image_lookup(image, NULL, 0x1000);
		const struct pt_mapping *replaced = pt_image_lookup(image, NULL, 0x5001);

		assert_non_null(first);
		assert_non_null(replaced);
		assert_ptr_equal(pt_image_lookup(image, NULL, 0x5000), replaced);
		assert_int_equal(first->section == replaced->section, time % 2);
		assert_null(pt_image_lookup(image, NULL, 0x5002)); /* behind the file's end */
		assert_null(pt_image_lookup(image, NULL, 0x100));
	}
	/* Of the epochs that have ended, hardly any image is left; and whoever goes back gets it again. */
	assert_in_range(builder.count, 2, 4);
	assert_int_equal(builder.parts, 3 * builder.count);
	assert_non_null(pt_image_lookup(image_builder_get(&builder, sb_space_epoch(space, 2)), NULL, 0x5001));
	assert_int_equal(builder.nisids, 3); /* "/a" at two addresses, "/b" */
	image_builder_fini(&builder);
	pt_iscache_free(sections);
	sb_resolver_free(resolver);
	sb_system_free(system);
}

/* However many processes there are, and however much they execute. */
static void what_images_take_is_bounded(void **state)
{
	enum { LIMIT = 9 };
	struct images images;

	open_images(&images, *state, LIMIT);
	for (unsigned round = 0; round < 3; ++round) {
		for (int32_t pid = 1; pid <= PROCESSES; ++pid) {
			struct pt_image *image =
			        image_builder_get(&images.builder, epoch_of(images.system, pid));
			const size_t before = images.builder.parts;

			assert_true(before <= LIMIT);
			assert_non_null(pt_image_lookup(image, NULL, 0x1000));
			assert_non_null(pt_image_lookup(image, NULL, 0x1001));
			assert_true(images.builder.parts <= before + 1);
		}
	}
	assert_true(images.builder.count >= 2);
	close_images(&images);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	        TEST(an_epoch_has_one_image),        TEST(unknown_processes_have_an_image_without_code),
	        TEST(the_images_used_last_are_kept), TEST(images_follow_what_is_executed),
	        TEST(what_images_take_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
