/* heap_use_huge_pages(): what is allocated from then on is where the kernel has been asked for huge pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heap.h"

/* Whether the mapping with @address is one for huge pages; -1: nobody knows. */
static int has_huge_pages(const void *address)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	const uintptr_t wanted = (uintptr_t)address;
	char line[512];
	int inside = 0, has = -1;

	while (file && has < 0 && fgets(line, sizeof(line), file)) {
		uintptr_t begin, end;

		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2)
			inside = wanted >= begin && wanted < end;
		else if (inside && !strncmp(line, "VmFlags:", 8))
			has = strstr(line, " hg") != NULL;
	}
	if (file)
		fclose(file);
	return has;
}

/* glibc's own, and a kernel that has huge pages. */
static int is_possible(void)
{
	void *block = malloc(1);
	const int is_in_heap = (uintptr_t)block < (uintptr_t)sbrk(0) &&
	                       (uintptr_t)sbrk(0) - (uintptr_t)block < (uintptr_t)1 << 30;

	free(block);
	return is_in_heap && access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) == 0;
}

static void blocks_have_huge_pages(void **state)
{
	enum {
		size = 100000,
		count = 30
	}; /* larger than what was free before, smaller than what is mapped */
	unsigned char *block[count];

	(void)state;
	if (!is_possible()) {
		print_message("another malloc(), or a kernel without huge pages\n");
		skip();
	}
	heap_use_huge_pages(2);
	for (size_t i = 0; i < count; ++i) {
		block[i] = malloc(size);
		assert_non_null(block[i]);
		memset(block[i], (int)i, size);
	}
	for (size_t i = 2; i < count; ++i)
		assert_int_equal(has_huge_pages(block[i]), 1);
	for (size_t i = 0; i < count; ++i) {
		assert_int_equal(block[i][0], i);
		assert_int_equal(block[i][size - 1], i);
		free(block[i]);
	}
}

/* As when a job is run again, to verify it. */
static void twice_takes_no_more(void **state)
{
	const void *end = sbrk(0);

	(void)state;
	heap_use_huge_pages(2);
	if (is_possible())
		assert_ptr_equal(sbrk(0), end);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(blocks_have_huge_pages),
	        cmocka_unit_test(twice_takes_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
