/* test_time.c - time from TSC, TMA, MTC, CYC and CBR; Intel SDM vol. 3, "Timing Packets".
 *
 * The machine: TSC 2.1 GHz, crystal clock with 84 TSC ticks each (CPUID 15h: 168 / 2), MTC every
 * 8 crystal ticks (672 TSC ticks), nominal ratio 21.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "event/time.h"
#include "packet/packet_read.h"

static struct pt_config machine(void)
{
	struct pt_config config;

	pt_config_init(&config);
	config.cpuid_0x15_eax = 2;
	config.cpuid_0x15_ebx = 168;
	config.mtc_freq = 3;
	config.nom_freq = 21;
	return config;
}

static uint64_t now(const struct pt_time *time)
{
	uint64_t tsc = 0;

	assert_int_equal(pt_time_query(time, &tsc, NULL, NULL), 0);
	return tsc;
}

static void there_is_no_time_before_the_first_tsc(void **state)
{
	struct pt_config config = machine();
	struct pt_time time;
	uint32_t lost_mtc = 1, lost_cyc = 0;
	uint64_t tsc = 1;

	(void)state;
	pt_time_init(&time);
	assert_int_equal(pt_time_query(&time, &tsc, NULL, NULL), -pte_no_time);
	pt_time_update_cyc(&time, 4, &config);
	assert_int_equal(pt_time_query(&time, &tsc, &lost_mtc, &lost_cyc), -pte_no_time);
	assert_int_equal(lost_cyc, 1);
	pt_time_update_tsc(&time, 1000);
	assert_int_equal(pt_time_query(&time, &tsc, &lost_mtc, &lost_cyc), 0);
	assert_int_equal(tsc, 1000);
	assert_int_equal(lost_mtc, 0);
	assert_int_equal(lost_cyc, 0);
}

/* Where TSC packets are not enabled, time is relative: it begins at the first MTC. */
static void without_tsc_time_is_relative(void **state)
{
	struct pt_config config = machine();
	struct pt_time time;
	uint64_t tsc = 1;

	(void)state;
	pt_time_init(&time);
	pt_time_update_mtc(&time, 4, &config);
	assert_int_equal(pt_time_query(&time, &tsc, NULL, NULL), -pte_no_time);
	assert_int_equal(tsc, 0);
	pt_time_update_mtc(&time, 5, &config);
	pt_time_update_mtc(&time, 7, &config);
	assert_int_equal(pt_time_query(&time, &tsc, NULL, NULL), -pte_no_time);
	assert_int_equal(tsc, 3 * 672);
	pt_time_update_cbr(&time, 42, &config);
	pt_time_update_cyc(&time, 100, &config);
	pt_time_query(&time, &tsc, NULL, NULL);
	assert_int_equal(tsc, 3 * 672 + 50);
}

static void tma_needs_the_tsc_that_it_belongs_to(void **state)
{
	struct pt_config config = machine();
	struct pt_time time;

	(void)state;
	pt_time_init(&time);
	assert_int_equal(pt_time_update_tma(&time, 5, 6, &config), -pte_bad_context);
	pt_time_update_tsc(&time, 1000000);
	assert_int_equal(pt_time_update_tma(&time, 5, 6, &config), 0);
	assert_int_equal(pt_time_update_tma(&time, 5, 6, &config), -pte_bad_context);
}

/* Between TSC and TMA there may be a CYC: TMA still tells about the TSC packet's time. */
static void tma_tells_about_its_tsc(void **state)
{
	struct pt_config config = machine();
	struct pt_time time;

	(void)state;
	pt_time_init(&time);
	pt_time_update_cbr(&time, 21, &config);
	pt_time_update_tsc(&time, 1000000);
	pt_time_update_cyc(&time, 100, &config);
	pt_time_update_tma(&time, 0x1000, 0, &config);
	pt_time_update_mtc(&time, 0x01, &config);
	assert_int_equal(now(&time), 1000000 + 672);
}

/* The first MTC behind TMA is known as well. */
static void cycles_do_not_run_past_the_first_mtc(void **state)
{
	struct pt_config config = machine();
	struct pt_time time;

	(void)state;
	pt_time_init(&time);
	pt_time_update_tsc(&time, 1000000);
	pt_time_update_tma(&time, 0x1005, 20, &config);
	pt_time_update_cbr(&time, 21, &config);
	pt_time_update_cyc(&time, 5000, &config);
	assert_int_equal(now(&time), 1000000 - 20 + 3 * 84 - 1);
}

/* An MTC makes up for the cycles that were lost before it. */
static void lost_cycles_count_since_the_last_mtc(void **state)
{
	struct pt_config config = machine();
	struct pt_time time;
	uint32_t lost = 0;
	uint64_t tsc;

	(void)state;
	pt_time_init(&time);
	pt_time_update_tsc(&time, 1000000);
	pt_time_update_tma(&time, 0x1000, 0, &config);
	pt_time_update_cyc(&time, 0, &config); /* nothing is lost */
	pt_time_update_cyc(&time, 100, &config);
	pt_time_query(&time, &tsc, NULL, &lost);
	assert_int_equal(lost, 1);
	pt_time_update_mtc(&time, 1, &config);
	pt_time_query(&time, &tsc, NULL, &lost);
	assert_int_equal(lost, 0);
}

/* Two ticks a cycle. Of the 336 cycles before the third MTC, a PSB swallowed 240. */
static uint64_t after_a_psb(const struct pt_config *config)
{
	struct pt_time time;

	pt_time_init(&time);
	pt_time_update_tsc(&time, 1000000);
	pt_time_update_tma(&time, 0x1000, 0, config);
	pt_time_update_mtc(&time, 1, config);
	pt_time_update_cyc(&time, 336, config);
	pt_time_update_mtc(&time, 2, config);
	pt_time_update_cyc(&time, 96, config);
	pt_time_psb(&time, config);
	pt_time_update_mtc(&time, 3, config);
	pt_time_update_cyc(&time, 50, config);
	return now(&time) - (1000000 + 3 * 672);
}

static void erratum_skl168_cycles_before_a_psb_calibrate_nothing(void **state)
{
	struct pt_config config = machine();

	(void)state;
	assert_int_equal(after_a_psb(&config), 50 * 672 / 96); /* it believes them */
	config.errata.skl168 = 1;
	assert_int_equal(after_a_psb(&config), 50 * 2);
}

/* TMA: CTC is 0x1005 and 20 TSC ticks have passed since. The next MTC edge is at CTC 0x1008, three crystal
 * ticks after 0x1005: 1000000 - 20 + 3 * 84. */
static void mtc_counts_from_tma(void **state)
{
	struct pt_config config = machine();
	struct pt_time time;

	(void)state;
	pt_time_init(&time);
	pt_time_update_tsc(&time, 1000000);
	pt_time_update_tma(&time, 0x1005, 20, &config);
	assert_int_equal(now(&time), 1000000);
	pt_time_update_mtc(&time, 0x01, &config);
	assert_int_equal(now(&time), 1000000 - 20 + 3 * 84);
	pt_time_update_mtc(&time, 0x02, &config);
	assert_int_equal(now(&time), 1000000 - 20 + 3 * 84 + 672);
	/* Three MTCs on: two were lost. */
	pt_time_update_mtc(&time, 0x05, &config);
	assert_int_equal(now(&time), 1000000 - 20 + 3 * 84 + 4 * 672);
}

static void mtc_wraps_at_eight_bits(void **state)
{
	struct pt_config config = machine();
	struct pt_time time;

	(void)state;
	pt_time_init(&time);
	pt_time_update_tsc(&time, 1000000);
	pt_time_update_tma(&time, 0x07f8, 0, &config);
	pt_time_update_mtc(&time, 0x00, &config);
	assert_int_equal(now(&time), 1000000 + 672);
	for (unsigned int i = 1; i <= 600; ++i) {
		pt_time_update_mtc(&time, (uint8_t)i, &config);
		assert_int_equal(now(&time), 1000000 + 672 * (i + 1));
	}
}

/* With period 11, MTC shows CTC bits 11..18, of which TMA has only 11..15. */
static void only_the_bits_that_tma_has_count_at_first(void **state)
{
	struct pt_config config = machine();
	struct pt_time time;

	(void)state;
	config.mtc_freq = 11;
	pt_time_init(&time);
	pt_time_update_tsc(&time, 100000000);
	pt_time_update_tma(&time, 0xf800, 0, &config);
	pt_time_update_mtc(&time, 0xe0, &config); /* low five bits: from 11111 to 00000 */
	assert_int_equal(now(&time), 100000000 + 2048 * 84);
	pt_time_update_mtc(&time, 0xe2, &config);
	assert_int_equal(now(&time), 100000000 + 3 * 2048 * 84);
}

static void mtc_without_tma_is_lost(void **state)
{
	struct pt_config config = machine();
	struct pt_time time;
	uint32_t lost = 0;
	uint64_t tsc;

	(void)state;
	pt_time_init(&time);
	pt_time_update_tsc(&time, 1000);
	pt_time_update_mtc(&time, 1, &config);
	assert_int_equal(pt_time_query(&time, &tsc, &lost, NULL), 0);
	assert_int_equal(tsc, 1000);
	assert_int_equal(lost, 1);
}

/* At core:bus ratio 42 and nominal ratio 21 a core cycle is half a TSC tick. */
static void cycles_count_by_the_core_bus_ratio(void **state)
{
	struct pt_config config = machine();
	struct pt_time time;

	(void)state;
	pt_time_init(&time);
	pt_time_update_tsc(&time, 1000);
	pt_time_update_cbr(&time, 42, &config);
	pt_time_update_cyc(&time, 100, &config);
	assert_int_equal(now(&time), 1050);
	pt_time_update_cyc(&time, 1, &config);
	pt_time_update_cyc(&time, 1, &config);
	assert_int_equal(now(&time), 1051);
}

static void cycles_without_a_ratio_are_lost(void **state)
{
	struct pt_config config = machine();
	struct pt_time time;
	uint32_t lost = 0;
	uint64_t tsc;

	(void)state;
	pt_time_init(&time);
	pt_time_update_tsc(&time, 1000);
	pt_time_update_cyc(&time, 100, &config);
	assert_int_equal(pt_time_query(&time, &tsc, NULL, &lost), 0);
	assert_int_equal(tsc, 1000);
	assert_int_equal(lost, 1);
}

static void cycles_do_not_run_past_the_next_mtc(void **state)
{
	struct pt_config config = machine();
	struct pt_time time;

	(void)state;
	pt_time_init(&time);
	pt_time_update_tsc(&time, 1000000);
	pt_time_update_tma(&time, 0x1000, 0, &config);
	pt_time_update_cbr(&time, 21, &config);
	pt_time_update_mtc(&time, 0x01, &config);
	pt_time_update_cyc(&time, 5000, &config);
	assert_int_equal(now(&time), 1000000 + 2 * 672 - 1);
	pt_time_update_mtc(&time, 0x02, &config);
	assert_int_equal(now(&time), 1000000 + 2 * 672);
}

/* CBR says one tick a cycle; from one MTC to the next there were only 336 cycles: two ticks each. */
static void two_mtcs_calibrate_the_cycle(void **state)
{
	struct pt_config config = machine();
	struct pt_time time;

	(void)state;
	pt_time_init(&time);
	pt_time_update_tsc(&time, 1000000);
	pt_time_update_tma(&time, 0x1000, 0, &config);
	pt_time_update_cbr(&time, 21, &config);
	pt_time_update_mtc(&time, 0x01, &config);
	pt_time_update_cyc(&time, 336, &config);
	pt_time_update_mtc(&time, 0x02, &config);
	pt_time_update_cyc(&time, 100, &config);
	assert_int_equal(now(&time), 1000000 + 2 * 672 + 200);
}

static void an_overflow_breaks_the_chain_of_mtcs(void **state)
{
	struct pt_config config = machine();
	struct pt_time time;
	uint32_t lost = 0;
	uint64_t tsc;

	(void)state;
	pt_time_init(&time);
	pt_time_update_tsc(&time, 1000000);
	pt_time_update_tma(&time, 0x1000, 0, &config);
	pt_time_update_mtc(&time, 0x01, &config);
	pt_time_overflow(&time, 0);
	pt_time_update_mtc(&time, 0x20, &config);
	assert_int_equal(pt_time_query(&time, &tsc, &lost, NULL), 0);
	assert_int_equal(tsc, 1000000 + 672);
	assert_int_equal(lost, 1);
}

/* TMA may name a clock edge before time zero. */
static void a_base_before_zero_does_not_wrap(void **state)
{
	struct pt_config config = machine();
	struct pt_time time;

	(void)state;
	pt_time_init(&time);
	pt_time_update_tsc(&time, 100);
	pt_time_update_tma(&time, 0x1007, 256, &config);
	pt_time_update_mtc(&time, 0x01, &config);
	assert_int_equal(now(&time), 100);
}

static uint32_t roll(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* CYCs and MTCs, mostly in pairs, with PADs and now and then something odd between them. */
static void make_row(uint8_t *row, size_t size, uint8_t ctc, uint32_t *seed)
{
	size_t n = 0;

	while (n + 16 < size) {
		const uint32_t kind = roll(seed) % 64;

		if (kind < 3) {
			row[n++] = 0; /* PAD */
		} else if (kind == 3) {
			row[n++] = (uint8_t)(roll(seed) << 3 | 3); /* CYC of one byte */
		} else if (kind == 4) {
			ctc = (uint8_t)(ctc + roll(seed) % 2); /* an MTC is lost */
		} else {
			row[n++] = (uint8_t)(roll(seed) << 3 | 7);
			row[n++] = kind == 5 ? 0 : (uint8_t)(roll(seed) << 1);
			if (kind == 6)
				continue;
			row[n++] = 0x59;
			row[n++] = ++ctc;
		}
	}
	memset(row + n, 0, size - n);
}

/* One packet after the other, as far as @end. */
static void take_row(struct pt_time *time, const uint8_t *pos, const uint8_t *end,
                     const struct pt_config *config)
{
	while (pos < end) {
		struct pt_packet packet;
		const int size = pt_packet_read(&packet, pos, config);

		assert_true(size > 0);
		assert_true(pt_time_update(time, &packet, config) >= 0);
		pos += size;
	}
}

static void a_row_of_mtcs_is_as_its_packets_one_by_one(void **state)
{
	struct pt_config config = machine();
	uint32_t seed = 1, longest = 0;
	uint8_t row[512];

	(void)state;
	config.begin = row;
	config.end = row + sizeof(row);
	for (int turn = 0; turn < 2000; ++turn) {
		const uint8_t ctc = (uint8_t)roll(&seed), *last = NULL, *end;
		struct pt_time time, slow;

		make_row(row, sizeof(row), ctc, &seed);
		memset(&time, 0, sizeof(time));
		pt_time_init(&time);
		pt_time_update_cbr(&time, 21, &config);
		pt_time_update_tsc(&time, 1000000);
		assert_true(pt_time_update_tma(&time, (uint16_t)(ctc << 3), 5, &config) >= 0);
		pt_time_update_mtc(&time, ctc, &config);
		slow = time;
		end = pt_time_skip(&time, row, &config, &last);
		assert_true(end >= row && end <= row + sizeof(row));
		if (end == row)
			continue;
		assert_ptr_equal(last, end - 2);
		assert_int_equal(*last, 0x59);
		take_row(&slow, row, end, &config);
		assert_memory_equal(&time, &slow, sizeof(time));
		if (end - row > longest)
			longest = (uint32_t)(end - row);
	}
	assert_true(longest > 128);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(there_is_no_time_before_the_first_tsc),
	        cmocka_unit_test(without_tsc_time_is_relative),
	        cmocka_unit_test(tma_needs_the_tsc_that_it_belongs_to),
	        cmocka_unit_test(tma_tells_about_its_tsc),
	        cmocka_unit_test(cycles_do_not_run_past_the_first_mtc),
	        cmocka_unit_test(lost_cycles_count_since_the_last_mtc),
	        cmocka_unit_test(erratum_skl168_cycles_before_a_psb_calibrate_nothing),
	        cmocka_unit_test(mtc_counts_from_tma),
	        cmocka_unit_test(mtc_wraps_at_eight_bits),
	        cmocka_unit_test(only_the_bits_that_tma_has_count_at_first),
	        cmocka_unit_test(mtc_without_tma_is_lost),
	        cmocka_unit_test(cycles_count_by_the_core_bus_ratio),
	        cmocka_unit_test(cycles_without_a_ratio_are_lost),
	        cmocka_unit_test(cycles_do_not_run_past_the_next_mtc),
	        cmocka_unit_test(two_mtcs_calibrate_the_cycle),
	        cmocka_unit_test(an_overflow_breaks_the_chain_of_mtcs),
	        cmocka_unit_test(a_base_before_zero_does_not_wrap),
	        cmocka_unit_test(a_row_of_mtcs_is_as_its_packets_one_by_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
