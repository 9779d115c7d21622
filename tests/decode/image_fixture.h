/* What the image tests share: an image over a file of known bytes, and short names for its calls. */
#ifndef IMAGE_FIXTURE_H
#define IMAGE_FIXTURE_H

#include <stdarg.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "code/image.h"
#include "support/code_file.h"

struct image_fixture {
	struct code_file code;
	struct pt_image *image;
	struct pt_image_section_cache *cache;
};

static inline int image_setup(void **state)
{
	struct image_fixture *f = calloc(1, sizeof(*f));

	code_file_make(&f->code);
	f->image = pt_image_alloc("image");
	f->cache = pt_iscache_alloc(NULL);
	*state = f;
	return 0;
}

static inline int image_teardown(void **state)
{
	struct image_fixture *f = *state;

	pt_image_free(f->image);
	pt_iscache_free(f->cache);
	code_file_remove(&f->code);
	free(f);
	return 0;
}

#define IMAGE_TEST(name) cmocka_unit_test_setup_teardown(name, image_setup, image_teardown)

/* An asid as a value: ASID(1, ANY). */
#define ANY               0xffffffffffffffffull
#define ASID(cr3_, vmcs_) (&(struct pt_asid){.size = sizeof(struct pt_asid), .cr3 = (cr3_), .vmcs = (vmcs_)})

static inline void map_file(struct image_fixture *f, uint64_t offset, uint64_t size,
                            const struct pt_asid *asid, uint64_t vaddr)
{
	assert_int_equal(pt_image_add_file(f->image, f->code.file, offset, size, asid, vaddr), 0);
}

/* The same through the cache; returns the isid. */
static inline int map_cached(struct image_fixture *f, uint64_t offset, uint64_t size,
                             const struct pt_asid *asid, uint64_t vaddr)
{
	int isid = pt_iscache_add_file(f->cache, f->code.file, offset, size, vaddr);

	assert_true(isid > 0);
	assert_int_equal(pt_image_add_cached(f->image, f->cache, isid, asid), 0);
	return isid;
}

/* [begin, end) is mapped in @image as one piece and shows the file from @offset on. */
static inline void expect_piece(const struct image_fixture *f, struct pt_image *image,
                                const struct pt_asid *asid, uint64_t begin, uint64_t end, uint64_t offset)
{
	const struct pt_mapping *mapping = pt_image_lookup(image, asid, begin);
	const uint8_t *bytes;
	int errcode = 0;

	assert_non_null(mapping);
	assert_int_equal(mapping->begin, begin);
	assert_int_equal(mapping->end, end);
	assert_int_equal(mapping->section->size, end - begin);
	assert_ptr_equal(pt_image_lookup(image, asid, end - 1), mapping);
	bytes = pt_section_bytes(mapping->section, &errcode);
	assert_non_null(bytes);
	assert_memory_equal(bytes, f->code.content + offset, end - begin);
}

static inline void expect_hole(struct pt_image *image, const struct pt_asid *asid, uint64_t vaddr)
{
	assert_null(pt_image_lookup(image, asid, vaddr));
}

#endif
