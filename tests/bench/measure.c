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

/* Passes until @least_seconds went by; the seconds of one, or -1. */
static double sample(const struct contestant *contestant, double least_seconds, struct samples *samples)
{
	double start = now(), end;
	unsigned passes = 0;

	do {
		struct tally tally = {0};

		if (contestant->pass(contestant->context, &tally) < 0)
			return -1;
		compare_tally(samples, &tally, !passes && !samples->n);
		++passes;
		end = now();
	} while (end - start < least_seconds);
	return (end - start) / passes;
}

static double least_of(const double *spent, unsigned n)
{
	double least = spent[0];

	for (unsigned i = 1; i < n; ++i)
		if (spent[i] < least)
			least = spent[i];
	return least;
}

static int goes_on(const struct measure_options *options, unsigned round, const double *spent, unsigned n)
{
	return round < options->rounds || (round < max_rounds && least_of(spent, n) < options->more_seconds);
}

int measure(const struct measure_options *options, const struct contestant *contestant, unsigned n,
            struct samples *samples)
{
	double *spent = calloc(n, sizeof(*spent));

	if (!spent)
		return -1;
	memset(samples, 0, n * sizeof(*samples));
	for (unsigned i = 0; i < n && options->warm_up; ++i) {
		struct tally ignored = {0};

		if (contestant[i].pass(contestant[i].context, &ignored) < 0)
			goto failed;
	}
	for (unsigned round = 0; goes_on(options, round, spent, n); ++round)
		for (unsigned i = 0; i < n; ++i) {
			double start = now(), seconds;

			if (round && spent[i] > options->most_seconds)
				continue;
			seconds = sample(&contestant[i], options->least_seconds, &samples[i]);
			if (seconds < 0)
				goto failed;
			samples[i].value[samples[i].n++] = seconds;
			spent[i] += now() - start;
		}
	free(spent);
	return 0;

failed:
	free(spent);
	return -1;
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
