/* test_packet_psb.c - searching PSB packets, against a search that looks at every place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "packet/psb_search.h"

static void put_row(uint8_t *bytes, size_t pairs)
{
	for (size_t i = 0; i < pairs; i++) {
		bytes[2 * i] = 0x02;
		bytes[2 * i + 1] = 0x82;
	}
}

static int obvious_psb_at(const uint8_t *bytes, size_t size, size_t at)
{
	uint8_t psb[pt_psb_size];

	put_row(psb, 8);
	return size - at >= sizeof(psb) && memcmp(bytes + at, psb, sizeof(psb)) == 0;
}

/* Offsets; @size when there is none. */
static size_t obvious_forward(const uint8_t *bytes, size_t size, size_t from)
{
	size_t at = from;

	while (at < size && !obvious_psb_at(bytes, size, at))
		at++;
	while (at < size && obvious_psb_at(bytes, size, at + 2 < size ? at + 2 : size))
		at += 2;
	return at;
}

static size_t obvious_backward(const uint8_t *bytes, size_t to, size_t size)
{
	for (size_t at = to + 1; at-- > 0;) {
		if (obvious_psb_at(bytes, to, at))
			return at;
	}
	return size;
}

static void compare_everywhere(const uint8_t *bytes, size_t size)
{
	const uint8_t *end = bytes + size;

	for (size_t at = 0; at <= size; at++) {
		const uint8_t *psb = pt_psb_forward(bytes + at, end);

		assert_int_equal(psb ? (size_t)(psb - bytes) : size, obvious_forward(bytes, size, at));
		psb = pt_psb_backward(bytes + at, bytes);
		assert_int_equal(psb ? (size_t)(psb - bytes) : size, obvious_backward(bytes, at, size));
		assert_int_equal(pt_psb_at(bytes + at, end), obvious_psb_at(bytes, size, at));
	}
}

static void a_psb_is_found_at_any_place(void **state)
{
	(void)state;
	for (size_t at = 0; at < 88; at++) {
		for (size_t after = 0; after < 88; after += at < 16 ? 1 : 5) {
			size_t size = at + pt_psb_size + after;
			uint8_t *bytes = calloc(1, size); /* of the very size: for the sanitizer */

			assert_non_null(bytes);
			put_row(bytes + at, 8);
			assert_ptr_equal(pt_psb_forward(bytes, bytes + size), bytes + at);
			assert_ptr_equal(pt_psb_backward(bytes + size, bytes), bytes + at);
			compare_everywhere(bytes, size);
			free(bytes);
		}
	}
}

static void a_psb_that_is_cut_off_is_not_found(void **state)
{
	uint8_t bytes[pt_psb_size];

	(void)state;
	put_row(bytes, 8);
	assert_null(pt_psb_forward(bytes + 1, bytes + 16));
	assert_null(pt_psb_forward(bytes, bytes + 15));
	assert_null(pt_psb_backward(bytes + 15, bytes));
	assert_null(pt_psb_backward(bytes + 16, bytes + 1));
	assert_null(pt_psb_forward(bytes, bytes));
	assert_null(pt_psb_backward(bytes, bytes));
}

/* A TIP whose payload ends in 02 82, and the PSB behind it. */
static void what_looks_like_a_psb_before_a_psb_is_not_one(void **state)
{
	uint8_t bytes[64] = {0x2d, 0x02, 0x82};

	(void)state;
	put_row(bytes + 3, 8);
	bytes[19] = 0x02; /* PSBEND */
	bytes[20] = 0x23;
	assert_ptr_equal(pt_psb_forward(bytes, bytes + sizeof(bytes)), bytes + 3);
	assert_ptr_equal(pt_psb_backward(bytes + sizeof(bytes), bytes), bytes + 3);
	compare_everywhere(bytes, sizeof(bytes));
}

static uint32_t next_random(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static void rows_of_any_length_with_flaws(void **state)
{
	uint32_t seed = 2463534242;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		uint8_t bytes[160];
		size_t flaws = next_random(&seed) % 8;

		put_row(bytes, sizeof(bytes) / 2);
		for (size_t i = 0; i < flaws; i++)
			bytes[next_random(&seed) % sizeof(bytes)] =
			        (uint8_t)(next_random(&seed) & 1 ? 0x82 : 0x02);
		compare_everywhere(bytes, sizeof(bytes));
	}
}

/* Every word of 8 bytes looks promising, and none leads to a PSB. */
static void hostile_bytes_take_linear_time(void **state)
{
	size_t size = 64u << 20;
	uint8_t *bytes = malloc(size);
	clock_t begin = clock();

	(void)state;
	assert_non_null(bytes);
	put_row(bytes, size / 2);
	for (size_t i = 15; i < size; i += 16)
		bytes[i] = 0x83;
	assert_null(pt_psb_forward(bytes, bytes + size));
	assert_null(pt_psb_backward(bytes + size, bytes));

	put_row(bytes, size / 2); /* one long row */
	assert_ptr_equal(pt_psb_forward(bytes, bytes + size), bytes + size - pt_psb_size);
	assert_ptr_equal(pt_psb_backward(bytes + size, bytes), bytes + size - pt_psb_size);
	assert_true((clock() - begin) / CLOCKS_PER_SEC < 30);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_psb_is_found_at_any_place),
	        cmocka_unit_test(a_psb_that_is_cut_off_is_not_found),
	        cmocka_unit_test(what_looks_like_a_psb_before_a_psb_is_not_one),
	        cmocka_unit_test(rows_of_any_length_with_flaws),
	        cmocka_unit_test(hostile_bytes_take_linear_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
