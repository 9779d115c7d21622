/* Clocks: perf's formula, exactly, over the whole range of the counter; and the way back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sb/clock.h>

/* As perf_event_open(2) writes it, in 64 bits that wrap. */
static uint64_t kernel_formula(const struct sb_clock *clock, uint64_t tsc)
{
	uint64_t quot = tsc >> clock->time_shift;
	uint64_t rem = tsc & (((uint64_t)1 << clock->time_shift) - 1);

	return clock->time_zero + quot * clock->time_mult + ((rem * clock->time_mult) >> clock->time_shift);
}

static const struct sb_clock corpus = {31, 1022611261, 7000000000};
static const struct sb_clock wrapped_zero = {31, 581029125, 18444502336406842448u};
static const struct sb_clock fast = {1, UINT32_MAX, 0}; /* 2^31 ns per count */
static const struct sb_clock slow = {63, 1, 12345};     /* 2^63 counts per ns */
static const struct sb_clock identity = {0, 1, 0};
static const struct sb_clock far_negative = {31, 1073741824, (uint64_t)INT64_MIN};
static const struct sb_clock *const clocks[] = {&corpus, &wrapped_zero, &fast,
                                                &slow,   &identity,     &far_negative};
enum { nclocks = sizeof(clocks) / sizeof(clocks[0]) };

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Counts of all magnitudes. */
static uint64_t random_count(uint64_t *state)
{
	uint64_t count = next_random(state);

	return count >> (next_random(state) % 64);
}

static void a_time_is_what_the_kernel_s_formula_gives(void **state)
{
	uint64_t seed = 88172645463325252u;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		uint64_t tsc = random_count(&seed) >> 3;

		assert_int_equal(sb_clock_tsc_to_ns(&corpus, tsc), kernel_formula(&corpus, tsc));
	}
}

/* time_zero is a wrapped negative number: the counter started before the clock. */
static void a_counter_that_is_ahead_of_the_clock_converts(void **state)
{
	const uint64_t tsc = 13405904338441920u;

	(void)state;
	assert_int_equal(sb_clock_tsc_to_ns(&wrapped_zero, tsc), kernel_formula(&wrapped_zero, tsc));
	assert_true(sb_clock_tsc_to_ns(&wrapped_zero, tsc) < (uint64_t)1 << 62);
	/* Before the clock's zero there is no time. */
	assert_int_equal(sb_clock_tsc_to_ns(&wrapped_zero, 1), 0);
}

static void the_known_values(void **state)
{
	(void)state;
	/* 2.1 GHz: 2,100,000,000 counts are a second. */
	assert_int_equal(sb_clock_tsc_to_ns(&corpus, 2100000000), 8000000000);
	assert_int_equal(sb_clock_tsc_to_ns(&corpus, 0), 7000000000);
	assert_int_equal(sb_clock_ns_to_tsc(&corpus, 7000000000), 0);
	assert_int_equal(sb_clock_ns_to_tsc(&corpus, 6999999999), 0);
	assert_int_equal(sb_clock_ns_to_tsc(&corpus, 7000000001), 3);
	assert_int_equal(sb_clock_ns_to_tsc(&identity, 42), 42);
	/* Records that perf made up at the start have time 0. */
	assert_int_equal(sb_clock_ns_to_tsc(&wrapped_zero, 0), 0);
}

static void time_never_goes_back(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int c = 0; c < nclocks; c++) {
		for (int i = 0; i < 20000; i++) {
			uint64_t a = random_count(&seed), b = random_count(&seed);
			uint64_t low = a < b ? a : b, high = a < b ? b : a;

			assert_true(sb_clock_tsc_to_ns(clocks[c], low) <=
			            sb_clock_tsc_to_ns(clocks[c], high));
			assert_true(sb_clock_ns_to_tsc(clocks[c], low) <=
			            sb_clock_ns_to_tsc(clocks[c], high));
		}
	}
}

static void the_count_of_a_time_is_the_first_that_reaches_it(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int c = 0; c < nclocks; c++) {
		for (int i = 0; i < 20000; i++) {
			uint64_t ns = random_count(&seed);
			uint64_t tsc = sb_clock_ns_to_tsc(clocks[c], ns);

			if (tsc)
				assert_true(sb_clock_tsc_to_ns(clocks[c], tsc - 1) < ns);
			if (tsc < UINT64_MAX)
				assert_true(sb_clock_tsc_to_ns(clocks[c], tsc) >= ns);
		}
	}
}

static void there_and_back_never_overshoots(void **state)
{
	uint64_t seed = 99;

	(void)state;
	for (int c = 0; c < nclocks; c++) {
		for (int i = 0; i < 20000; i++) {
			uint64_t tsc = random_count(&seed);
			uint64_t ns = sb_clock_tsc_to_ns(clocks[c], tsc);

			assert_true(sb_clock_ns_to_tsc(clocks[c], ns) <= tsc);
			if (ns && ns < UINT64_MAX)
				assert_int_equal(
				        sb_clock_tsc_to_ns(clocks[c], sb_clock_ns_to_tsc(clocks[c], ns)), ns);
		}
	}
}

static void the_ends_of_the_range_saturate(void **state)
{
	(void)state;
	assert_int_equal(sb_clock_tsc_to_ns(&fast, UINT64_MAX), UINT64_MAX);
	assert_int_equal(sb_clock_ns_to_tsc(&slow, UINT64_MAX), UINT64_MAX);
	assert_int_equal(sb_clock_ns_to_tsc(&far_negative, UINT64_MAX), UINT64_MAX);
}

static void a_clock_that_is_not_known_converts_nothing(void **state)
{
	const struct sb_clock none = {0}, nonsense = {64, 1, 5};

	(void)state;
	assert_int_equal(sb_clock_tsc_to_ns(&none, 1000), 0);
	assert_int_equal(sb_clock_ns_to_tsc(&none, 1000), 0);
	assert_int_equal(sb_clock_tsc_to_ns(&nonsense, 1000), 0);
	assert_int_equal(sb_clock_ns_to_tsc(&nonsense, 1000), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_time_is_what_the_kernel_s_formula_gives),
	        cmocka_unit_test(a_counter_that_is_ahead_of_the_clock_converts),
	        cmocka_unit_test(the_known_values),
	        cmocka_unit_test(time_never_goes_back),
	        cmocka_unit_test(the_count_of_a_time_is_the_first_that_reaches_it),
	        cmocka_unit_test(there_and_back_never_overshoots),
	        cmocka_unit_test(the_ends_of_the_range_saturate),
	        cmocka_unit_test(a_clock_that_is_not_known_converts_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
