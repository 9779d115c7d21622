/* result.h - rows of results, in a JSON file that several programs may add to; bench_table prints it. */
#ifndef BENCH_RESULT_H
#define BENCH_RESULT_H

#include <stdint.h>

#include "measure.h"

/* What has to be reached: @at_least for the sake, @aim by design. */
enum goal {
	goal_none,
	goal_times,  /* at least so many times as fast as the other: samples_ratio(its, ours) */
	goal_within, /* at most so many times the other: samples_ratio(ours, its) */
	goal_value,  /* at most so much, in the row's unit */
	goal_rate    /* at least so many items per second */
};

struct result_side {
	const char *name;
	struct samples samples; /* in the row's unit; n zero: there is none */
	double mb_per_s;        /* of trace, 10^6 bytes; zero: does not apply */
	double items_per_s;     /* zero: does not apply */
};

struct result {
	const char *measure, *input, *unit;
	struct result_side other, ours;
	enum goal goal;
	double at_least, aim;
	char note[256];
};

struct results;

/* Goes on with the rows of an earlier program that FILE holds. NULL with a message on stderr. */
struct results *results_open(const char *path);
/* Prints a line on stderr, too, so that one sees what is going on. A row whose two sides differ in what they
 * counted (@must_agree: compare insns, and sum where both have one) is marked. */
void results_add(struct results *results, const struct result *result, int must_agree);
/* The row could not be measured, and why. */
void results_skip(struct results *results, const char *measure, const char *input, const char *why);
/* Writes the file, if there are rows. Zero; 1: rows are marked; -1 with a message. */
int results_close(struct results *results);

/* Is "MEASURE INPUT" chosen by the pattern of --only (fnmatch, anywhere in it, NULL: all)? */
int result_chosen(const char *only, const char *measure, const char *input);

#endif
