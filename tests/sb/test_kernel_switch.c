/* test_kernel_switch.c - where the kernel switches threads, found in its code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "binary/kernel_switch.h"
#include "support/temp_dir.h"

#define TEXT 0xffffffff81000000ull

enum { SIZE = 3 << 20, PIECE = 1 << 20 };

static const uint8_t usual[] = {0x55, 0x53, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57, 0x48, 0x89,
                                0xa7, 0x18, 0x15, 0,    0,    0x48, 0x8b, 0xa6, 0x18, 0x15, 0,    0};
static const uint8_t with_flags[] = {0x55, 0x53, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41,
                                     0x57, 0x9c, 0x48, 0x89, 0xa7, 0x18, 0x15, 0,    0,
                                     0x48, 0x8b, 0xa6, 0x18, 0x15, 0,    0};
/* Two places. */
static const uint8_t other[] = {0x55, 0x53, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57, 0x48, 0x89,
                                0xa7, 0x18, 0x15, 0,    0,    0x48, 0x8b, 0xa6, 0x10, 0x15, 0,    0};

static uint8_t bytes[SIZE];

/* In a kernel that has the bytes from @begin on. */
static uint64_t find(uint64_t begin)
{
	struct kernel_region region = {begin, begin + SIZE, 0};
	struct kernel_base base = kernel_base_none();
	struct temp_dir dir;
	uint64_t found;
	char *path;

	temp_dir_make(&dir);
	path = temp_dir_write(&dir, "kcore", bytes, SIZE);
	base.regions = (struct kernel_regions){&region, 1};
	base.code = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(base.code >= 0);
	found = kernel_switch_find(&base);
	close(base.code);
	free(path);
	temp_dir_remove(&dir);
	return found;
}

static void it_is_found_wherever_it_stands(void **state)
{
	static const size_t places[] = {0, 0x3270, PIECE - 1, PIECE - 10, PIECE, SIZE - sizeof(with_flags)};

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); ++i) {
		memset(bytes, 0x55, SIZE);
		memcpy(bytes + places[i], usual, sizeof(usual));
		assert_int_equal(find(TEXT), TEXT + places[i]);
		memset(bytes, 0xcc, SIZE);
		memcpy(bytes + places[i], with_flags, sizeof(with_flags));
		assert_int_equal(find(TEXT), TEXT + places[i]);
	}
}

static void what_is_not_certain_is_not_it(void **state)
{
	(void)state;
	memset(bytes, 0xcc, SIZE);
	assert_int_equal(find(TEXT), 0);
	memcpy(bytes + 0x100, other, sizeof(other));
	memcpy(bytes + SIZE - sizeof(usual) + 1, usual, sizeof(usual) - 1);
	assert_int_equal(find(TEXT), 0);
	memcpy(bytes + 0x200, usual, sizeof(usual));
	assert_int_equal(find(TEXT), TEXT + 0x200);
	/* Not linked code. */
	assert_int_equal(find(0xffff888000000000ull), 0);
	memcpy(bytes + 0x300, with_flags, sizeof(with_flags));
	assert_int_equal(find(TEXT), 0);
}

static void without_code_it_is_nowhere(void **state)
{
	const struct kernel_base base = kernel_base_none();

	(void)state;
	assert_int_equal(kernel_switch_find(&base), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(it_is_found_wherever_it_stands),
	        cmocka_unit_test(what_is_not_certain_is_not_it),
	        cmocka_unit_test(without_code_it_is_nowhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
