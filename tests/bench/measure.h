/* measure.h - how long contestants take, in turns.
 *
 * In each round every contestant runs once, so that whatever else the machine does hits all of them. A short
 * pass is repeated until the clock can be trusted; one sample is the time of a pass then. Passes that have
 * nothing warm to lose, as those of commands, take turns within a round: a machine's speed may be another one
 * a tenth of a second later.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdint.h>

enum { max_rounds = 99 };

/* What one pass counted; the same each time, or something is wrong. */
struct tally {
	uint64_t items; /* what a sample is divided by */
	uint64_t insns;
	uint64_t sum;      /* of addresses or the like, to tell the right items from as many wrong ones */
	uint64_t peak_kib; /* of a command; the highest of all passes is kept */
};

struct contestant {
	const char *name;
	/* Adds to *tally. Zero, or -1: could not run, which a message on stderr explained. */
	int (*pass)(void *context, struct tally *tally);
	void *context;
};

struct samples {
	double value[max_rounds]; /* one per round */
	unsigned n;
	struct tally tally; /* of one pass */
	int unsteady;       /* passes counted differently */
};

struct measure_options {
	unsigned rounds;
	double least_seconds; /* of a sample: passes are repeated until then */
	double more_seconds;  /* of each contestant: until then, there are more rounds, up to max_rounds */
	double most_seconds;  /* of a contestant: after that it runs no further rounds (but one) */
	int warm_up;          /* one pass that is not measured */
	int by_passes;        /* contestants take turns by the pass, rather than by the sample */
};

/* Seconds per pass of each contestant into samples[]. Zero, or -1: one could not run. */
int measure(const struct measure_options *options, const struct contestant *contestant, unsigned n,
            struct samples *samples);

double samples_median(const struct samples *samples);
/* The median of the rounds' ratios: both sides of one have seen the machine at about the same speed, which
 * those of two medians need not have. Where one had more rounds, the ratio of the medians. Zero: none. */
double samples_ratio(const struct samples *numerator, const struct samples *denominator);
double samples_least(const struct samples *samples);

/* Each value times @factor. */
struct samples samples_scaled(const struct samples *samples, double factor);

#endif
