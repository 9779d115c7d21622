/* measure.c - see measure.h. */
#include "measure.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void compare_tally(struct samples *samples, const struct tally *tally, int first)
{
	uint64_t peak = samples->tally.peak_kib > tally->peak_kib ? samples->tally.peak_kib : tally->peak_kib;

	if (!first && (samples->tally.items != tally->items || samples->tally.insns != tally->insns ||
	               samples->tally.sum != tally->sum))
		samples->unsteady = 1;
	samples->tally = *tally;
	samples->tally.peak_kib = peak;
}

/* A contestant's part of a round, and of all. */
struct turn {
	double seconds; /* of this round's passes */
	unsigned passes;
	unsigned row; /* so many passes, less one, before the clock is read again */
	double spent; /* in all rounds */
};

/* Passes until the clock is read. That takes a twentieth of the shortest one: there are more of them, then.
 * Zero, or -1. */
static int pass_row(const struct contestant *contestant, struct turn *turn, struct samples *samples)
{
	const double start = now(), long_enough = 1e-4;
	double spent;

	for (unsigned i = 0; i <= turn->row; ++i) {
		struct tally tally = {0};

		if (contestant->pass(contestant->context, &tally) < 0)
			return -1;
		compare_tally(samples, &tally, !turn->passes && !samples->n);
		turn->passes += 1;
	}
	spent = now() - start;
	turn->seconds += spent;
	if (spent < long_enough)
		turn->row = 2 * turn->row + 1;
	return 0;
}

/* Whether it takes part in this round, and has to run once more. */
static int wants_more(const struct measure_options *options, const struct turn *turn, unsigned round)
{
	if (round && turn->spent > options->most_seconds)
		return 0;
	return !turn->passes || turn->seconds < options->least_seconds;
}

/* One pass of each that wants more, until nobody does. Zero, or -1. */
static int pass_in_turns(const struct measure_options *options, const struct contestant *contestant,
                         unsigned n, unsigned round, struct turn *turn, struct samples *samples)
{
	for (unsigned ran = n; ran;) {
		ran = 0;
		for (unsigned i = 0; i < n; ++i) {
			if (!wants_more(options, &turn[i], round))
				continue;
			if (pass_row(&contestant[i], &turn[i], &samples[i]) < 0)
				return -1;
			ran += 1;
		}
	}
	return 0;
}

/* Zero, or -1. */
static int run_round(const struct measure_options *options, const struct contestant *contestant, unsigned n,
                     unsigned round, struct turn *turn, struct samples *samples)
{
	const unsigned together = options->by_passes ? n : 1;

	for (unsigned i = 0; i < n; ++i)
		turn[i] = (struct turn){.spent = turn[i].spent};
	for (unsigned i = 0; i < n; i += together)
		if (pass_in_turns(options, contestant + i, together, round, turn + i, samples + i) < 0)
			return -1;
	for (unsigned i = 0; i < n; ++i) {
		if (turn[i].passes)
			samples[i].value[samples[i].n++] = turn[i].seconds / turn[i].passes;
		turn[i].spent += turn[i].seconds;
	}
	return 0;
}

static double least_spent(const struct turn *turn, unsigned n)
{
	double least = turn[0].spent;

	for (unsigned i = 1; i < n; ++i)
		if (turn[i].spent < least)
			least = turn[i].spent;
	return least;
}

static int goes_on(const struct measure_options *options, unsigned round, const struct turn *turn, unsigned n)
{
	return round < options->rounds ||
	       (round < max_rounds && least_spent(turn, n) < options->more_seconds);
}

int measure(const struct measure_options *options, const struct contestant *contestant, unsigned n,
            struct samples *samples)
{
	struct turn *turn = calloc(n, sizeof(*turn));
	int status = turn ? 0 : -1;

	memset(samples, 0, n * sizeof(*samples));
	for (unsigned i = 0; i < n && options->warm_up && !status; ++i) {
		struct tally ignored = {0};

		status = contestant[i].pass(contestant[i].context, &ignored);
	}
	for (unsigned round = 0; !status && goes_on(options, round, turn, n); ++round)
		status = run_round(options, contestant, n, round, turn, samples);
	free(turn);
	return status;
}

static int by_value(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

double samples_median(const struct samples *samples)
{
	struct samples sorted = *samples;
	unsigned middle = sorted.n / 2;

	if (!sorted.n)
		return 0;
	qsort(sorted.value, sorted.n, sizeof(double), by_value);
	return sorted.n % 2 ? sorted.value[middle] : (sorted.value[middle - 1] + sorted.value[middle]) / 2;
}

double samples_ratio(const struct samples *numerator, const struct samples *denominator)
{
	struct samples ratios = *numerator;
	const double median = samples_median(denominator);

	for (unsigned i = 0; i < denominator->n && i < ratios.n; ++i) {
		if (denominator->value[i] <= 0)
			return 0;
		ratios.value[i] /= denominator->value[i];
	}
	if (ratios.n == denominator->n)
		return samples_median(&ratios);
	return median > 0 ? samples_median(numerator) / median : 0;
}

double samples_least(const struct samples *samples)
{
	double least = samples->value[0];

	for (unsigned i = 1; i < samples->n; ++i)
		if (samples->value[i] < least)
			least = samples->value[i];
	return samples->n ? least : 0;
}

struct samples samples_scaled(const struct samples *samples, double factor)
{
	struct samples scaled = *samples;

	for (unsigned i = 0; i < scaled.n; ++i)
		scaled.value[i] *= factor;
	return scaled;
}
